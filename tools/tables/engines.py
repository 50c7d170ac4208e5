"""Where chunks are computed: in threads of this process, or on the workers of a Dask cluster.

On a cluster, a task is one chunk, large enough that the scheduler has little to do. Workers that
see the files of the run read and write them themselves, and the task is a number; to others the
states are sent, and their results come back. If a worker dies, Dask gives its chunks to others:
the chunks that it had stored stay, and a chunk that is computed twice is stored once.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.server.requests.vectorized import use_threads
from torqued.tools.tables.chunk import compute, compute_chunk, do_chunk, table_of
from torqued.tools.tables.plan import Folder, Plan

#: Report how many chunks are done.
Report = Callable[[int], None]

#: Pending tasks per worker thread: enough to keep it busy, with few results in memory.
AHEAD = 2
#: Seconds to reach a scheduler.
MAX_SEARCH = 30.0


def in_threads(
    plan: Plan, robot: Robot, folder: Folder, threads: int | None, report: Report
) -> None:
    """Compute the missing chunks one after the other, each on all threads."""
    table = table_of(plan)
    use_threads(robot, threads)
    missing = folder.missing(plan)
    for done, k in enumerate(missing, plan.chunks - len(missing) + 1):
        folder.keep(k, compute(plan, robot, k, table.rows(*plan.part(k))))
        report(done)


@contextlib.contextmanager
def cluster(scheduler: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of one with a worker for each core here."""
    from distributed import Client, LocalCluster

    if scheduler is None:
        nannies = logging.getLogger("distributed.nanny")
        level = nannies.level
        try:
            with (
                LocalCluster(threads_per_worker=1, dashboard_address=None) as local,
                Client(local) as client,
            ):
                yield client
                # All results are stored: it does not matter how long processes take to end.
                nannies.setLevel(logging.ERROR)
        finally:
            nannies.setLevel(level)
        return
    try:
        client = Client(scheduler, timeout=MAX_SEARCH)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot reach --scheduler {scheduler}: {error}") from None
    with client:
        yield client


def on_cluster(client: Any, plan: Plan, model: bytes, folder: Folder, report: Report) -> None:
    """Compute the missing chunks, each on one of the client's workers."""
    from distributed import as_completed

    shared = all_see(client, folder, plan)
    table = table_of(plan)
    missing = folder.missing(plan)

    def submit(k: int) -> Any:
        if shared:
            return client.submit(do_chunk, folder.path.absolute(), k, pure=False)
        states = table.rows(*plan.part(k))
        return client.submit(compute_chunk, plan, model, k, states, pure=False)

    ahead = AHEAD * max(1, sum(client.nthreads().values()))
    under_way = as_completed([submit(k) for k in missing[:ahead]])
    waiting = iter(missing[ahead:])
    for done, task in enumerate(under_way, plan.chunks - len(missing) + 1):
        result = task.result()
        if not shared:
            folder.keep(*result)
        task.release()
        report(done)
        following = next(waiting, None)
        if following is not None:
            under_way.add(submit(following))


def all_see(client: Any, folder: Folder, plan: Plan) -> bool:
    """Whether all workers see the run's folder and its table, under these names."""
    token = folder.path / f"seen-{secrets.token_hex(8)}"
    token.touch()
    try:
        paths = [str(token.absolute()), plan.table]
        answers = client.run(_sees, paths)
        return bool(answers) and all(answers.values())
    finally:
        token.unlink()


def _sees(paths: list[str]) -> bool:
    return all(Path(path).exists() for path in paths)
