"""Pages of sessions in the hands of clients that are hostile or stay silent."""

import ctypes
import mmap
import os
import socket
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from support.daemons import daemon_of, described
from support.eventually import eventually
from torqued.client.endpoints import memory_endpoint
from torqued.client.memory.memory_transport import receive_fd
from torqued.client.memory.page_layout import STATES, PageLayout
from torqued.common.errors import TorquedError
from torqued.common.status import FALLBACK, INVALID
from torqued.kernels.primitives.system_calls import FUTEX_CALL
from torqued.server.loop.loop_records import MAX_SESSIONS
from torqued.server.transport.memory_pages import MAX_CONNECTIONS

PUNCH_HOLE, KEEP_SIZE = 2, 1  # of fallocate

daemon = daemon_of("panda", sessions_per_client=MAX_SESSIONS)


@pytest.fixture(scope="module")
def state(daemon):
    with daemon.client() as client:
        robot = client.hello()
    rng = np.random.default_rng(0)
    return robot.neutral + 0.1 * rng.normal(size=robot.nq), 0.1 * rng.normal(size=robot.nv)


@contextmanager
def page_of(client, **fields):
    """A session's page as a hostile client has it: number, map, descriptor, layout."""
    opened = client.call("open", law="gravity", transport="memory", **fields)
    descriptor = receive_fd(opened.endpoint, opened.owner.encode())
    layout = PageLayout(**opened.memory)
    page = mmap.mmap(descriptor, layout.page_bytes)
    try:
        yield opened.session, page, descriptor, layout
    finally:
        page.close()
        os.close(descriptor)
        client.call("close", session=opened.session)


def test_size_of_a_page_cannot_be_changed(client, state):
    with page_of(client) as (_, _, descriptor, layout):
        for size in (0, layout.page_bytes // 2, 2 * layout.page_bytes):
            with pytest.raises(PermissionError):
                os.ftruncate(descriptor, size)
        with pytest.raises(PermissionError):
            os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_TRUNC)
        # A hole gives memory back, which comes again as zeros when it is next looked at.
        libc = ctypes.CDLL(None, use_errno=True)
        hole = (ctypes.c_int64(0), ctypes.c_int64(layout.page_bytes))
        assert libc.fallocate(descriptor, PUNCH_HOLE | KEEP_SIZE, *hole) == 0
        with client.session("gravity", transport="memory") as other:
            for _ in range(20):
                assert other.step(*state).status & FALLBACK == 0


def test_garbage_harms_only_its_own_session(client, state):
    rng = np.random.default_rng(1)
    with ExitStack() as stack:
        number, page, _, layout = stack.enter_context(page_of(client))
        others = [
            stack.enter_context(client.session("gravity", transport=transport))
            for transport in ("memory", "socket")
        ]
        for _ in range(200):
            page[:] = rng.bytes(layout.page_bytes)
            for other in others:
                output = other.step(*state)
                assert output.status & (FALLBACK | INVALID) == 0
        assert described(client, number)["bad_states"] > 0
        assert described(client, number)["states"] == 0


def test_arrival_thread_moved_to_another_futex_does_not_keep_a_session_open(daemon, client):
    other = mmap.mmap(-1, mmap.PAGESIZE)

    def requeue(page):
        """Have the thread that sleeps on the page's word sleep on one of another memory."""
        source, target = (ctypes.addressof(ctypes.c_char.from_buffer(m)) for m in (page, other))
        syscall = ctypes.CDLL(None).syscall
        FUTEX_REQUEUE, most = 3, ctypes.c_void_p(10)
        words = ctypes.c_void_p(source + STATES), ctypes.c_void_p(target)
        return syscall(FUTEX_CALL, words[0], FUTEX_REQUEUE, 0, most, words[1], 0)

    opened = client.call("open", law="gravity", transport="memory", clock="state")
    descriptor = receive_fd(opened.endpoint, opened.owner.encode())
    page = mmap.mmap(descriptor, opened.memory["page_bytes"])
    os.close(descriptor)
    eventually(lambda: requeue(page) == 1)
    client.call("close", session=opened.session)
    with daemon.client() as another:
        assert another.hello().nv


def test_page_is_not_handed_over_without_its_secret(client):
    with page_of(client), pytest.raises(TorquedError, match="does not know this session"):
        receive_fd(memory_endpoint(client.endpoint), b"torqued-000000000000000000000000")


def test_silent_connections_do_not_keep_others_out(daemon, client, state):
    path = memory_endpoint(daemon.endpoint).removeprefix("ipc://")
    with ExitStack() as stack:
        for _ in range(2 * MAX_CONNECTIONS):
            silent = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            silent.connect(path)
        with client.session("gravity", transport="memory") as session:
            session.step(*state)
