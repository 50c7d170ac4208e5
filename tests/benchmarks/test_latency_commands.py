"""`torqued bench rtt`, `loop`, `record`, `soak` and `start` from the outside, in their shortest
form."""

import importlib.util
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from torqued.benchmarks.loop import CONDITIONS
from torqued.benchmarks.memory_rtt import ROWS
from torqued.benchmarks.ring_readers import COMMANDS
from torqued.server.loop.records import MAX_SESSIONS
from torqued.tools.cli.main import main

pytestmark = pytest.mark.slow

RTT = {*("p50_us", "p99_us", "max_us", "echo_p50_us", "echo_p99_us", "echo_max_us", "ratio_p50")}
LOOP = {
    *("p50_us", "p99_us", "max_us", "bare_p50_us", "bare_p99_us", "bare_max_us", "ratio_p99"),
    *("ticks", "missed"),
}
GROWTH = {"work", "count", "seconds", "before_kib", "after_kib", "growth_kib"}

#: Benchmark → options of a short run.
OPTIONS = {
    "rtt": ("--quick", "--plot", "plots"),
    "loop": ("--quick", "--plot", "plots"),
    "record": ("--quick",),
    "soak": ("--requests", "500", "--sessions", "3", "--ticks", "100"),
    "start": ("--quick",),
}


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Runs a benchmark once; what it printed and wrote."""
    known = {}

    def run(name):
        if name not in known:
            place = tmp_path_factory.mktemp(name)
            done = subprocess.run(
                [
                    *(sys.executable, "-W", "error", "-m", "torqued.tools.cli.main"),
                    *("bench", name, *OPTIONS[name], "--json", "figures.json"),
                ],
                capture_output=True,
                text=True,
                cwd=place,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            known[name] = SimpleNamespace(
                out=done.stdout,
                err=done.stderr,
                json=json.loads((place / "figures.json").read_text()),
                plots=[path.name for path in place.glob("plots/*")],
            )
        return known[name]

    return run


@pytest.mark.parametrize("pace", ["paced", "back_to_back"])
def test_rtt_has_both_contenders_over_ipc(short, pace):
    figure = short("rtt").json[pace]
    assert set(figure) == RTT
    assert figure["ratio_p50"] == pytest.approx(figure["p50_us"] / figure["echo_p50_us"])
    assert 0.0 < figure["p50_us"] <= figure["p99_us"] <= figure["max_us"]


def test_rtt_has_tcp_or_says_why_not(short):
    tcp = short("rtt").json["tcp"]
    if "not_measured" in tcp:
        assert tcp["not_measured"] in short("rtt").out.replace("\n", "")
    else:
        assert {pace: set(tcp[pace]) for pace in tcp} == {"paced": RTT, "back_to_back": RTT}


@pytest.mark.parametrize("name", ROWS)
def test_rtt_has_rows_in_memory_beside_their_floors_or_says_why_not(short, name):
    figure = short("rtt").json[name]
    if "not_measured" in figure:
        assert name in ("memory_arrival_cpp", "memory_iceoryx2")
        assert figure["not_measured"].split(",")[0] in short("rtt").out.replace("\n", " ")
    else:
        assert set(figure) == {key.replace("echo", "floor") for key in RTT}
        assert figure["ratio_p50"] == pytest.approx(figure["p50_us"] / figure["floor_p50_us"])


@pytest.mark.parametrize("condition", CONDITIONS)
def test_loop_has_both_contenders_under_every_condition(short, condition):
    figure = short("loop").json[condition]
    assert set(figure) == LOOP
    assert figure["ratio_p99"] == pytest.approx(figure["p99_us"] / figure["bare_p99_us"])
    assert figure["ticks"] > 0


def test_loop_has_the_ring_with_all_readers_that_are_installed(short):
    figure = short("loop").json["ring"]
    assert figure["turns"] == 2 and figure["ticks"] > 0
    assert set(figure["readers"]) == {
        command for command, (package, _) in COMMANDS.items() if importlib.util.find_spec(package)
    }
    assert figure["added_us"] == figure["compute_p50_us"] - figure["off_compute_p50_us"]
    assert figure["ratio_p99"] > 0.0 and figure["ratio_by_chance"] > 0.0


def test_record_tells_losses_by_the_numbers_of_ticks(short):
    figure = short("record").json["record"]
    assert figure["lost"] == figure["gaps"]  # none, where the machine gives the recorder time
    assert figure["recorded"] >= MAX_SESSIONS * figure["ticks"] - figure["lost"] > 0
    assert figure["sent"] > 0 and figure["megabytes"] > 0.0
    # Processor time comes in hundredths of a second, of which a busy machine may give none.
    assert figure["share"] >= 0.0
    assert figure["compute_us"][0] <= figure["compute_us"][1]


@pytest.mark.parametrize("work", ["requests", "sessions", "ticks"])
def test_soak_has_memory_before_and_after_each_work(short, work):
    figure = short("soak").json[work]
    assert set(figure) == GROWTH
    assert figure["growth_kib"] == figure["after_kib"] - figure["before_kib"]
    assert figure["before_kib"] > 10_000
    assert figure["count"] >= {"requests": 500, "sessions": 3, "ticks": 100}[work]


def test_start_has_the_import_beside_its_peers_and_a_warm_start(short):
    figures = short("start").json
    assert set(figures) == {"import", "warm", "machine"}
    found = figures["import"]
    assert found["ratio"] == pytest.approx(found["ms"] / found["peers_ms"])
    assert figures["warm"]["s"] > 0.0


@pytest.mark.parametrize("name", OPTIONS)
def test_output_has_the_verdict_and_the_machine(short, name):
    run = short(name)
    assert not run.err
    assert "budget: " in run.out
    assert {"cpu", "cores", "load_average", "date", "versions"} == set(run.json["machine"])
    assert "wrote figures.json" in run.out


@pytest.mark.parametrize("name", ["rtt", "loop"])
def test_distribution_is_drawn(short, name):
    assert short(name).plots == [f"{name}.png"]


@pytest.mark.parametrize("name", OPTIONS)
def test_wrong_place_is_refused_before_anything_is_measured(name, capsys):
    assert main(["bench", name, "--json", "no/such/folder/f.json"]) == 2
    captured = capsys.readouterr()
    assert "--json no/such/folder/f.json: not a file" in captured.err
    assert "measuring" not in captured.out
