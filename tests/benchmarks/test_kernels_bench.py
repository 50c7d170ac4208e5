"""`torqued bench kernels --quick` from the outside."""

import json
import subprocess
import sys

import numpy as np
import pytest

from torqued.benchmarks import report
from torqued.tools.cli.main import main

pytestmark = pytest.mark.slow

matplotlib_image = pytest.importorskip("matplotlib.image", reason="of the extra 'bench'")

KERNELS = {
    *("coriolis", "christoffel", "rnea", "crba", "aba"),
    *("rnea_derivatives", "aba_derivatives", "frame_hessian"),
}
PLOTS = {
    "fig2_serial_chains.png",
    "fig3_binary_trees.png",
    "fig4_biped_quadruped.png",
    "ratios.png",
}


def test_quick_run_writes_its_figures_pictures_and_tables(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{report.BEGIN}\n{report.END}\n")
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "torqued.tools.cli.main", "bench", "kernels"),
            *("--quick", "--robots", "chain5", "--json", "figures.json"),
            *("--plot", "plots", "--markdown", "page.md"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    assert "a quick run: its figures are only rough" in done.stdout
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert set(figures) == {"chain5", "machine", "growth"}
    # The peer of second_order is C++, which this run takes only where it is compiled already.
    assert set(figures["chain5"]) - {"second_order"} == KERNELS
    for figure in figures["chain5"].values():
        assert figure["ratio"] == pytest.approx(figure["us"] / figure["pinocchio_us"], rel=1e-12)
    for curve in figures["growth"].values():
        assert set(curve["slopes"]) == {"coriolis", "christoffel", "pinocchio_coriolis"}
        assert len(curve["coriolis_us"]) == len(curve["dofs"]) >= 2
    assert {path.name for path in (tmp_path / "plots").iterdir()} == PLOTS
    for path in (tmp_path / "plots").iterdir():
        pixels = matplotlib_image.imread(path)
        assert 0.005 < np.any(pixels[..., :3] < 0.9, axis=-1).mean() < 0.5
    assert "| chain5 | coriolis | " in page.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--robots", "chain5,pandda"], "robot 'pandda' is not known; did you mean panda?"),
        (["--json", "no/such/folder/f.json"], "--json no/such/folder/f.json: not a file"),
        (["--plot", "/dev/null/plots"], "--plot /dev/null/plots: not a folder"),
        (["--markdown", "missing.md"], "missing.md has no block between the lines"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_measured(
    options, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "kernels", "--quick", *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "measuring" not in captured.out
