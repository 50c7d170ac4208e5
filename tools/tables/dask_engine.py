"""Chunks on the workers of a Dask cluster.

A task is one chunk, large enough that the scheduler has little to do. Workers that see the files
of the run read and write them themselves, and the task is a number; to others the states are sent,
and their results come back. Should a worker die, Dask gives its chunks to others: what it had kept
is kept, and a chunk that is computed twice is kept once.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torqued.common.errors import InputError
from torqued.tools.tables.chunk import compute_chunk, do_chunk, table_of
from torqued.tools.tables.plan import Folder, Plan

#: Pending tasks per worker thread: enough to keep it busy, with few results in memory.
AHEAD = 2
#: Worker deaths before a chunk is given up: the chunk may be the cause.
MAX_DEATHS = 5
#: Seconds to reach a scheduler.
MAX_SEARCH = 30.0


@contextlib.contextmanager
def cluster(scheduler: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of one with a worker for each core here."""
    from distributed import Client, LocalCluster

    if scheduler is None:
        with (
            LocalCluster(threads_per_worker=1, dashboard_address=None) as local,
            Client(local) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=MAX_SEARCH)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot reach --scheduler {scheduler}: {error}") from None
    with client:
        yield client


def on_cluster(
    client: Any, plan: Plan, model: bytes, folder: Folder, report: Callable[[int], None]
) -> None:
    """Chunks that are missing, each on one of the client's workers."""
    from distributed import as_completed

    shared = all_see(client, folder, plan)
    table = table_of(plan)
    missing = folder.missing(plan)
    done = plan.chunks - len(missing)

    def submit(k: int) -> Any:
        if shared:
            return client.submit(do_chunk, folder.path.absolute(), k, pure=False)
        states = table.rows(*plan.part(k))
        return client.submit(compute_chunk, plan, model, k, states, pure=False)

    places = max(1, sum(client.nthreads().values()))
    ahead = AHEAD * places
    under_way = as_completed([submit(k) for k in missing[:ahead]])
    waiting = iter(missing[ahead:])
    for task in under_way:
        result = task.result()
        if not shared:
            folder.keep(*result)
        task.release()
        done += 1
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
