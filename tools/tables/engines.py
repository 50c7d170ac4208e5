"""Where chunks are computed: here, one after the other on all cores; or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable

from torqued.kernels import Robot
from torqued.server.requests.vectorized import use_threads
from torqued.tools.tables.chunk import compute, table_of
from torqued.tools.tables.plan import Folder, Plan

#: Report how many chunks are done.
Report = Callable[[int], None]


def in_threads(
    plan: Plan, robot: Robot, folder: Folder, threads: int | None, report: Report
) -> None:
    """Chunks that are missing, each on all threads."""
    table = table_of(plan)
    use_threads(robot, threads)
    missing = folder.missing(plan)
    done = plan.chunks - len(missing)
    for k in missing:
        folder.keep(k, compute(plan, robot, k, table.rows(*plan.part(k))))
        done += 1
        report(done)
