"""`torqued bench rtt`, `loop`, `record`, `soak` and `start` from the outside, in their shortest
form."""

import json
import subprocess
import sys

import pytest

from torqued.benchmarks.loop import CONDITIONS
from torqued.benchmarks.memory_rtt import ROWS
from torqued.tools.cli.main import main

pytestmark = pytest.mark.slow

#: Benchmark → options of a short run, and some of the figures that it writes.
RUNS = {
    "rtt": (("--quick", "--plot", "plots"), {"paced", "back_to_back", "tcp", *ROWS}),
    "loop": (("--quick", "--plot", "plots"), {*CONDITIONS, "ring"}),
    "record": (("--quick",), {"record"}),
    "soak": (
        ("--requests", "500", "--sessions", "3", "--ticks", "100"),
        {"requests", "sessions", "ticks"},
    ),
    "start": (("--quick",), {"import", "warm"}),
}


@pytest.mark.parametrize("name", RUNS)
def test_short_run_writes_its_figures_the_verdict_and_the_machine(name, tmp_path):
    options, figures = RUNS[name]
    program = (sys.executable, "-W", "error", "-m", "torqued.tools.cli.main", "bench", name)
    done = subprocess.run(
        [*program, *options, "--json", "figures.json"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    assert "budget: " in done.stdout and "wrote figures.json" in done.stdout
    found = json.loads((tmp_path / "figures.json").read_text())
    assert set(found) >= figures | {"machine"}
    assert set(found["machine"]) == {"cpu", "cores", "load_average", "date", "versions"}
    for figure in figures:
        if why := found[figure].get("not_measured"):
            assert why.split(",")[0] in done.stdout.replace("\n", " ")
    drawn = [path.name for path in tmp_path.glob("plots/*")]
    assert drawn == ([f"{name}.png"] if "--plot" in options else [])


@pytest.mark.parametrize("name", RUNS)
def test_wrong_place_is_refused_before_anything_is_measured(name, capsys):
    assert main(["bench", name, "--json", "no/such/folder/f.json"]) == 2
    captured = capsys.readouterr()
    assert "--json no/such/folder/f.json: not a file" in captured.err
    assert "measuring" not in captured.out
