"""Verdicts, slopes and tables of made-up figures."""

import io

import numpy as np
import pytest
from rich.console import Console

from torqued.benchmarks import budget, report
from torqued.benchmarks.growth import SERIES, Curve
from torqued.benchmarks.machine import cpu_model, this_machine
from torqued.benchmarks.results import Figure, Results
from torqued.benchmarks.timing import Times
from torqued.common.errors import InputError

KERNELS = ("coriolis", "christoffel", "rnea", "crba", "aba", "rnea_derivatives", "aba_derivatives")


def figure(robot, kernel, ours, pinocchio):
    times = [Times(np.full(3, us)) for us in (ours, pinocchio, 9.0, 5.0)]
    return Figure(robot, kernel, *times[:3], times[3] if kernel in ("crba", "aba") else None)


def power_law(exponent, dofs=(5, 10, 20, 40, 80)):
    us = {series: tuple(0.1 * n**exponent for n in dofs) for series in SERIES}
    return Curve("chain", dofs, us)


def results(ours=4.0, robot="chain20"):
    figures = [figure(robot, kernel, ours, 10.0) for kernel in KERNELS]
    return Results(this_machine(), "3 ready in 1.0 s", figures, [power_law(2.0)])


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0])
def test_slope_of_a_power_law_is_its_exponent(exponent):
    assert power_law(exponent).slope("coriolis") == pytest.approx(exponent)


def test_slope_is_fitted_over_the_upper_half_of_the_sizes():
    curve = power_law(2.0)
    us = (77.0, 3.0, *curve.us["coriolis"][2:])
    assert Curve("chain", curve.dofs, {"coriolis": us}).slope("coriolis") == pytest.approx(2.0)


@pytest.mark.parametrize(("ours", "holds"), [(3.4, True), (3.6, False)])
def test_ceiling_decides_whether_the_budget_holds(ours, holds):
    found = figure("chain20", "aba", ours, 10.0)
    assert found.holds is holds
    assert report.verdict(found) == ("0.35 ✓" if holds else "0.35 ✗")


def test_ceiling_that_is_still_to_be_reached_is_marked_so():
    found = figure("chain20", "christoffel", 6.0, 10.0)
    assert not found.holds and found.ahead
    assert report.verdict(found) == "0.50 …"
    assert not figure("chain20", "christoffel", 4.0, 10.0).ahead


def test_only_ceilings_that_there_are_can_be_ahead():
    for robot, kernels in budget.AHEAD.items():
        assert set(kernels) <= set(budget.CEILINGS[robot])


def test_robot_without_a_ceiling_has_no_verdict():
    found = figure("biped20", "coriolis", 99.0, 10.0)
    assert found.ceiling is None
    assert report.verdict(found) == "–"


def test_summary_names_what_missed_the_budget():
    assert report.summary(results(3.0)) == "budget: all 7 ceilings hold"
    assert report.summary(results(5.5)) == (
        "budget: missed by chain20 rnea 0.55, chain20 crba 0.55, chain20 aba 0.55, "
        "chain20 rnea_derivatives 0.55; still to be reached by chain20 coriolis 0.55, "
        "chain20 christoffel 0.55; 7 ceilings in all"
    )
    assert report.summary(results(robot="chain7")).endswith("no ceilings for these robots")


def test_papers_figure_stands_beside_ours():
    rows = report.kernel_sheet(results()).rows
    assert [row[-1] for row in rows] == ["18 [EW21]", "122 [EW21]", "", "", "", "", ""]


def test_terminal_and_markdown_show_the_same_cells():
    for sheet in report.sheets(results()):
        log = Console(file=io.StringIO(), width=120)
        log.print(sheet.to_rich())
        drawn, written = log.file.getvalue(), sheet.to_markdown()
        for row in sheet.rows:
            assert all(cell in drawn and cell in written for cell in row)
            assert f"| {' | '.join(row)} |" in written


def test_other_convention_has_ratios_of_its_own():
    (row,) = report.convention_sheet(results()).rows
    assert row == ("chain20", "5.00", "0.80", "5.00", "0.80")


def test_block_of_a_markdown_file_is_replaced_and_the_rest_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{report.BEGIN}\nold\n{report.END}\n\nafter\n")
    report.require_block(page)
    for _ in range(2):  # once more on its own result
        report.replace_block(page, "new\n")
    assert page.read_text() == f"before\n\n{report.BEGIN}\n\nnew\n\n{report.END}\n\nafter\n"


@pytest.mark.parametrize("text", ["", report.BEGIN, f"{report.END}\n{report.BEGIN}"])
def test_markdown_file_without_a_block_is_refused(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(InputError, match=r"page\.md has no block"):
        report.require_block(page)


def test_documentation_has_the_block(request):
    report.require_block(request.config.rootpath / "docs" / "KERNELS.md")


def test_processor_is_named(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Some CPU @ 3.2 GHz\nflags\t: fpu\n")
    assert cpu_model(cpuinfo) == "Some CPU @ 3.2 GHz"
    assert cpu_model(tmp_path / "missing")
