"""`torqued bench kernels --quick` from the outside."""

import json
import subprocess
import sys
from types import SimpleNamespace

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


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What one run printed and wrote."""
    place = tmp_path_factory.mktemp("bench")
    page = place / "page.md"
    page.write_text(f"# Page\n\n{report.BEGIN}\n{report.END}\n")
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "torqued.tools.cli.main", "bench", "kernels"),
            *("--quick", "--robots", "chain5", "--json", "figures.json"),
            *("--plot", "plots", "--markdown", "page.md"),
        ],
        capture_output=True,
        text=True,
        cwd=place,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return SimpleNamespace(
        out=done.stdout,
        err=done.stderr,
        json=json.loads((place / "figures.json").read_text()),
        plots={path.name: path for path in (place / "plots").iterdir()},
        page=page.read_text(),
    )


def test_json_has_every_kernel_of_the_robot_beside_machine_and_growth(quick):
    assert set(quick.json) == {"chain5", "machine", "growth"}
    # The peer of second_order is C++, which this run takes only where it is compiled already.
    assert set(quick.json["chain5"]) - {"second_order"} == KERNELS


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_ratio_is_our_time_over_pinocchios(quick, kernel):
    figure = quick.json["chain5"][kernel]
    assert set(figure) == {"us", "pinocchio_us", "ratio"}
    assert figure["us"] > 0.0
    assert figure["ratio"] == pytest.approx(figure["us"] / figure["pinocchio_us"], rel=1e-12)


def test_json_says_what_it_was_measured_on(quick):
    machine = quick.json["machine"]
    assert set(machine) == {"cpu", "cores", "load_average", "date", "versions"}
    assert {"python", "torqued", "numba", "pin"} <= set(machine["versions"])


@pytest.mark.parametrize("family", ["chain", "tree", "biped", "quadruped"])
def test_growth_has_times_for_every_size_and_their_slopes(quick, family):
    curve = quick.json["growth"][family]
    series = {"coriolis", "christoffel", "pinocchio_coriolis"}
    assert set(curve) == {"dofs", "slopes", *(f"{name}_us" for name in series)}
    assert set(curve["slopes"]) == series
    assert len(curve["dofs"]) >= 2
    assert all(len(curve[f"{name}_us"]) == len(curve["dofs"]) for name in series)


def test_plots_are_pictures_with_something_on_them(quick):
    assert set(quick.plots) == PLOTS
    for path in quick.plots.values():
        pixels = matplotlib_image.imread(path)
        height, width = pixels.shape[:2]
        assert height > 500
        assert width > 500
        inked = np.any(pixels[..., :3] < 0.9, axis=-1).mean()
        assert 0.005 < inked < 0.5
        assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 20


def test_output_shows_figures_progress_and_that_they_are_rough(quick):
    assert not quick.err
    assert "measuring robots, sweep 1 of 1" in quick.out
    assert "measuring growth, sweep 1 of 1" in quick.out
    assert "a quick run: its figures are only rough" in quick.out
    for name in ("coriolis", "mass_matrix", "quadruped", "wrote figures.json"):
        assert name in quick.out


def test_markdown_page_has_the_tables(quick):
    assert quick.page.startswith("# Page\n")
    assert "| chain5 | coriolis | " in quick.page
    assert "| chain | N² | N³ | " in quick.page


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
