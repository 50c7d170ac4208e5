"""Who is next where several clients have work for the worker."""

from __future__ import annotations

import pytest

from torqued.common.errors import OperationError
from torqued.server.worker.jobs import MAX_JOBS, MAX_OF_ONE, Job, Jobs


def job(client: str, number: int) -> Job:
    return Job("batch", "compute", client, number, b"", lambda head, body: None, print)


def test_one_clients_jobs_keep_their_order():
    jobs = Jobs()
    for number in range(5):
        jobs.put(job("a", number))
    assert [jobs.take([]).identity for _ in range(5)] == [0, 1, 2, 3, 4]


def test_client_with_one_job_does_not_wait_for_all_of_another():
    jobs = Jobs()
    under_way = [job("many", -1)]
    for number in range(4):
        jobs.put(job("many", number))
    jobs.put(job("one", 0))
    order = []
    for _ in range(5):
        under_way.append(jobs.take(under_way))
        order.append((under_way[-1].client, under_way[-1].identity))
    assert order == [("one", 0), ("many", 0), ("many", 1), ("many", 2), ("many", 3)]


def test_clients_take_turns():
    jobs = Jobs()
    for client in ("a", "b"):
        for number in range(3):
            jobs.put(job(client, number))
    under_way = []
    for _ in range(6):
        under_way.append(jobs.take(under_way))
    assert [each.client for each in under_way] == ["a", "b", "a", "b", "a", "b"]


def test_one_client_leaves_room_for_others():
    jobs = Jobs()
    for number in range(MAX_OF_ONE):
        jobs.put(job("greedy", number))
    with pytest.raises(OperationError, match="of this client") as caught:
        jobs.put(job("greedy", MAX_OF_ONE))
    assert caught.value.code == "busy"
    for number in range(MAX_JOBS - MAX_OF_ONE):
        jobs.put(job(f"other {number}", 0))
    with pytest.raises(OperationError, match=f"^{MAX_JOBS} jobs are waiting"):
        jobs.put(job("last", 0))


def test_all_are_taken_at_the_end():
    jobs = Jobs()
    jobs.put(job("a", 0))
    jobs.put(job("b", 1))
    assert [each.identity for each in jobs.take_all()] == [0, 1]
    assert len(jobs) == 0
