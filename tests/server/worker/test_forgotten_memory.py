"""Memory whose clients have left: what the daemon sends to the worker's threads about it."""

from contextlib import closing, contextmanager
from types import SimpleNamespace

from torqued.kernels import Robot
from torqued.server.transport.event_loop import EventLoop
from torqued.server.worker.channel import Channel, pair
from torqued.server.worker.launch import WorkerThread
from torqued.server.worker.worker import Worker

MODEL = Robot.family("chain", 2).model


@contextmanager
def worker_with_thread(model):
    """A worker, one thread of its process, and that thread's end of the channel."""
    mine, theirs = map(Channel, pair())
    with closing(mine), closing(theirs), closing(EventLoop()) as events:
        for end in (mine, theirs):
            end._socket.setblocking(False)
        worker, thread = Worker(events, MODEL), WorkerThread(mine, model)
        worker._process = SimpleNamespace(threads=[thread])
        yield worker, thread, theirs


def test_thread_that_is_starting_gets_no_message():
    with worker_with_thread(None) as (worker, thread, other):
        worker.forget("memory")
        assert other.receive() is None and not thread.forget


def test_thread_that_does_not_read_gets_the_names_later():
    with worker_with_thread(MODEL) as (worker, thread, other):
        given = 0
        while not thread.forget and given < 100_000:
            worker.forget(str(given))
            given += 1
        assert thread.forget  # its channel is full
        while other.receive() is not None:
            pass
        worker.forget("last")
        assert not thread.forget
        assert other.receive().head == {"do": "forget"}
