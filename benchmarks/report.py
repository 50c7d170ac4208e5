"""The tables of `torqued bench kernels`, for terminals and for Markdown."""

from __future__ import annotations

from pathlib import Path

from torqued.benchmarks.budget import published
from torqued.benchmarks.contacts import TITLES
from torqued.benchmarks.growth import THEORY
from torqued.benchmarks.results import Figure, Results
from torqued.benchmarks.robots import KERNELS, NOTES
from torqued.benchmarks.sheet import Sheet
from torqued.common.errors import InputError

BEGIN = "<!-- measured: begin (written by `torqued bench kernels --markdown`) -->"
END = "<!-- measured: end -->"


def sheets(results: Results) -> list[Sheet]:
    """All tables of a run."""
    out = [kernel_sheet(results), method_sheet(results)]
    if any(figure.world for figure in results.figures):
        out.append(convention_sheet(results))
    if any(figure.direct for figure in results.figures):
        out.append(contact_sheet(results))
    if results.curves:
        out.append(growth_sheet(results))
    return out


def kernel_sheet(results: Results) -> Sheet:
    rows = []
    for robot in results.robots:
        name = robot
        for figure in _of_robot(results, robot):
            rows.append(
                (
                    name,
                    figure.kernel,
                    f"{figure.ours.us:.2f}",
                    f"{figure.ours.median_us:.2f}",
                    f"{figure.pinocchio.us:.2f}",
                    f"{figure.pinocchio.median_us:.2f}",
                    f"{figure.ratio:.2f}",
                    verdict(figure),
                    published_cell(figure),
                )
            )
            name = ""
    notes = [NOTES[robot] for robot in results.robots if robot in NOTES]
    return Sheet(
        "In-place kernels and Pinocchio, both called from Python, µs",
        (
            *("robot", "kernel"),
            *("torqued", "p50", "Pinocchio", "p50", "ratio", "at most", "paper"),
        ),
        rows,
        texts=2,
        notes=(
            "`coriolis` is M, Ṁ and C in one call and `christoffel` all Γ; Pinocchio computes C "
            "alone in both rows. `crba` fills both triangles of M, Pinocchio's the upper one. "
            "`rnea_derivatives` is ∂τ by q and by v with M, `aba_derivatives` ∂a by q, v and τ, "
            "`second_order` ∂²τ by q q, v v and q v, and ∂M by q, against Pinocchio's C++.",
            "Times are the 10th percentile of windows of 20 calls, p50 their median. "
            "`ratio` is torqued's time over Pinocchio's, `at most` the budget's ceiling; "
            "… stands for one that is still to be reached.",
            *(f"{note[0].upper()}{note[1:]}." for note in notes),
            "Papers: [EW21] table 1, the same families with other bodies; [F16] section 8, RBDL on "
            "a humanoid of 35 DoF. C++ on their processors, so no ratio is taken.",
        ),
    )


def verdict(figure: Figure) -> str:
    if figure.ceiling is None:
        return "–"
    return f"{figure.ceiling:.2f} {'✓' if figure.holds else '…' if figure.ahead else '✗'}"


def published_cell(figure: Figure) -> str:
    paper = published(figure.robot, figure.kernel)
    return f"{paper.us:g} [{paper.source}]" if paper else ""


#: The method of `Robot` for each kernel, in their order.
METHODS = (
    "coriolis_matrix",
    "christoffel",
    "inverse_dynamics",
    "mass_matrix",
    "forward_dynamics",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)


def method_sheet(results: Results) -> Sheet:
    rows = []
    for robot in results.robots:
        times = {figure.kernel: figure.method.us for figure in _of_robot(results, robot)}
        rows.append((robot, *(f"{times[kernel]:.2f}" for kernel in KERNELS)))
    return Sheet(
        "Methods of Robot: input checked, result allocated, µs",
        ("robot", *METHODS),
        rows,
        texts=1,
    )


def convention_sheet(results: Results) -> Sheet:
    rows = []
    for robot in results.robots:
        cells = []
        for figure in _of_robot(results, robot):
            if figure.world:
                cells += [f"{figure.world.us:.2f}", f"{figure.ours.us / figure.world.us:.2f}"]
        rows.append((robot, *cells))
    return Sheet(
        "Pinocchio's crba and aba with its other convention (WORLD), µs",
        ("robot", "crba", "ratio", "aba", "ratio"),
        rows,
        texts=1,
        notes=("The tables above have Pinocchio as it comes, with its convention LOCAL.",),
    )


def contact_sheet(results: Results) -> Sheet:
    rows = []
    for figure in results.figures:
        if figure.direct and figure.null_space:
            times = (figure.ours, figure.direct, figure.null_space, figure.pinocchio, figure.method)
            name = f"{figure.robot}, {TITLES[figure.kernel]}"
            rows.append((name, *(f"{time.us:.2f}" for time in times)))
    return Sheet(
        "Contact dynamics by solver, µs",
        ("robot and contacts", "range space", "direct", "null space", "Pinocchio", "method"),
        rows,
        texts=1,
        notes=(
            "Pinocchio's is `constraintDynamics`, with two proximal iterations where points of a "
            "foot are redundant; torqued's solvers all end in the range space there. `method` is "
            "`Robot.contact_dynamics`, which checks the contacts at each call.",
        ),
    )


def growth_sheet(results: Results) -> Sheet:
    rows = []
    for curve in results.curves:
        order = ("coriolis", "christoffel", "pinocchio_coriolis")
        theory = THEORY[curve.family]
        rows.append(
            (
                curve.family,
                theory["coriolis"],
                theory["christoffel"],
                f"{curve.dofs[0]} … {curve.dofs[-1]}",
                *(f"{curve.slope(series):.2f}" for series in order),
                *(f"{curve.us[series][-1]:.1f}" for series in order),
            )
        )
    return Sheet(
        "Growth with the number N of joints: times ∝ N^x, and µs at the largest N",
        (
            *("family", "C in\ntheory", "Γ in\ntheory", "N", "x of C", "x of Γ"),
            *("x of\nPinocchio's C", "C", "Γ", "Pinocchio's C"),
        ),
        rows,
        texts=3,
        notes=(
            "Exponents x are fitted over the upper half of the sizes. In theory those of binary "
            "trees lie between 1 and 2; the others tend to 2 for C and 3 for Γ as the parts that "
            "only grow with N lose weight. The 8 N³ bytes of Γ outgrow the caches at last, and "
            "then memory sets the pace. C of torqued includes M and Ṁ.",
        ),
    )


def _of_robot(results: Results, robot: str) -> list[Figure]:
    return [figure for figure in results.figures if figure.robot == robot]


def summary(results: Results) -> str:
    """Whether the budget holds, in one line."""
    judged = [figure for figure in results.figures if figure.ceiling is not None]
    if not judged:
        return "budget: it has no ceilings for these robots"
    missed, ahead = (
        ", ".join(
            f"{f.robot} {f.kernel} {f.ratio:.2f}"
            for f in judged
            if not f.holds and f.ahead is still_ahead
        )
        for still_ahead in (False, True)
    )
    later = f"; still to be reached by {ahead}" if ahead else ""
    if missed:
        return f"budget: missed by {missed}{later}; {len(judged)} ceilings in all"
    if ahead:
        return f"budget: no step back{later}; {len(judged)} ceilings in all"
    return f"budget: all {len(judged)} ceilings hold"


def to_markdown(results: Results) -> str:
    """All tables, and what they were measured on."""
    parts = [sheet.to_markdown() for sheet in sheets(results)]
    about = f"Measured on {results.machine}. Kernels: {results.loading}.\n"
    return "\n".join([about, *parts])


def require_block(path: Path) -> None:
    """Raises unless the file has the markers of a generated block."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    start = text.find(BEGIN)
    if start < 0 or text.find(END, start) < 0:
        raise InputError(f"{path} has no block between the lines {BEGIN!r} and {END!r}")


def replace_block(path: Path, content: str) -> None:
    """Put content between the markers of a file."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{content}\n{END}{after}", encoding="utf-8")
