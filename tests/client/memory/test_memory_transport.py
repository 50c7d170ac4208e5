"""The client's side of a page: its bytes as documented, who is woken, and its errors."""

import ctypes
import mmap
import os
import threading

import pytest

from support.eventually import PATIENCE, eventually
from support.golden import FRAMES
from support.protocol_document import marked, rows
from torqued.client.memory import futex
from torqued.client.memory.memory_transport import page_of, receive_fd
from torqued.client.memory.page_layout import OUTPUTS, STATES, PageLayout
from torqued.common.errors import TorquedError

STATE_BYTES, OUTPUT_BYTES = 48, 96


@pytest.fixture
def page():
    layout = PageLayout.of(STATE_BYTES, OUTPUT_BYTES)
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, layout.page_bytes)
    os.pwrite(descriptor, layout.head(), 0)
    yield descriptor
    os.close(descriptor)


def opened(spin=0.0):
    layout = PageLayout.of(STATE_BYTES, OUTPUT_BYTES)
    sizes = {"state_bytes": STATE_BYTES, "output_bytes": OUTPUT_BYTES}
    return {"memory": layout._asdict(), "spin": spin, **sizes}


def put_output(page, count, value):
    """An output as the daemon writes it, of one byte again and again."""
    layout = PageLayout.of(STATE_BYTES, OUTPUT_BYTES)
    slot = layout.outputs + count % layout.slots * layout.output_slot
    page[slot : slot + 8] = (2 * count + 1).to_bytes(8, "little")
    page[slot + 8 : slot + 8 + OUTPUT_BYTES] = bytes([value]) * OUTPUT_BYTES
    page[slot : slot + 8] = (2 * count).to_bytes(8, "little")
    page[OUTPUTS : OUTPUTS + 4] = count.to_bytes(4, "little")


def wake(page):
    """All threads that sleep for an output."""
    futex.wake(ctypes.addressof(ctypes.c_char.from_buffer(page)) + OUTPUTS)


def test_bytes_of_a_page_are_the_documents(page):
    state = bytearray.fromhex(next(iter(FRAMES.values()))[-1])
    transport = page_of(page, opened())
    transport.send(state)
    sleeping = threading.Thread(target=transport.wait, args=(PATIENCE,))
    sleeping.start()
    found = mmap.mmap(page, 0)
    eventually(lambda: found[132], pause=0.0)
    shown = bytearray(len(found))
    for start, text in rows(marked("page bytes")):
        data = bytes.fromhex(text.replace(" ", ""))
        shown[int(start) : int(start) + len(data)] = data
    assert found[:] == bytes(shown)
    while sleeping.is_alive():  # it says that it sleeps before it does
        wake(found)
        sleeping.join(0.01)
    found.close()
    transport.close()


@pytest.mark.parametrize("spin", [0.0, 0.002])
def test_output_that_comes_wakes_who_waits(page, spin):
    transport, daemon = page_of(page, opened(spin)), mmap.mmap(page, 0)
    found = []
    waiting = threading.Thread(target=lambda: found.append(transport.receive(PATIENCE)))
    waiting.start()
    put_output(daemon, 1, 7)
    while waiting.is_alive():
        wake(daemon)
        waiting.join(0.01)
    assert found == [bytes([7]) * OUTPUT_BYTES]
    assert transport.newest() is None
    assert transport.receive(0.001) is None
    daemon.close()
    transport.close()


def test_frame_under_way_is_not_read(page):
    transport, daemon = page_of(page, opened()), mmap.mmap(page, 0)
    put_output(daemon, 1, 1)
    layout = PageLayout.of(STATE_BYTES, OUTPUT_BYTES)
    slot = layout.outputs + layout.output_slot
    daemon[slot : slot + 8] = (2 * 5 + 1).to_bytes(8, "little")  # it has gone round
    assert transport.newest() is None
    put_output(daemon, 5, 5)
    assert transport.newest() == bytes([5]) * OUTPUT_BYTES
    daemon.close()
    transport.close()


def test_counts_wrap(page):
    daemon = mmap.mmap(page, 0)
    for word in (STATES, OUTPUTS):
        daemon[word : word + 4] = b"\xff" * 4
    transport = page_of(page, opened())
    transport.send(bytearray(STATE_BYTES))
    assert daemon[STATES : STATES + 4] == bytes(4)
    assert transport.newest() is None
    put_output(daemon, 0, 9)
    assert transport.newest() == bytes([9]) * OUTPUT_BYTES
    daemon.close()
    transport.close()


def test_wait_leaves_an_output_to_be_received(page):
    transport, daemon = page_of(page, opened()), mmap.mmap(page, 0)
    put_output(daemon, 1, 3)
    transport.wait(PATIENCE)  # there is one
    assert transport.newest() == bytes([3]) * OUTPUT_BYTES
    daemon.close()
    transport.close()


@pytest.mark.parametrize("size", [0, STATE_BYTES - 8, STATE_BYTES + 1])
def test_state_of_another_size_is_refused_and_not_counted(page, size):
    transport, daemon = page_of(page, opened()), mmap.mmap(page, 0)
    with pytest.raises(ValueError, match=f"state frame of {size} bytes, expected {STATE_BYTES}"):
        transport.send(bytearray(size))
    assert daemon[STATES : STATES + 4] == bytes(4)
    daemon.close()
    transport.close()


def test_closed_page_says_so(page):
    transport = page_of(page, opened())
    transport.close()
    transport.close()
    for use in (transport.newest, lambda: transport.receive(0.0), lambda: transport.wait(0.0)):
        with pytest.raises(ValueError, match="is closed"):
            use()
    with pytest.raises(ValueError, match="is closed"):
        transport.send(bytearray(STATE_BYTES))


def test_page_can_be_closed_while_a_thread_waits(page):
    transport, daemon, raised = page_of(page, opened()), mmap.mmap(page, 0), []

    def receive():
        with pytest.raises(ValueError, match="is closed") as error:
            transport.receive(PATIENCE)
        raised.append(error)

    waiting = threading.Thread(target=receive)
    waiting.start()
    eventually(lambda: daemon[132], pause=0.0)
    transport.close()
    while waiting.is_alive():
        wake(daemon)
        waiting.join(0.01)
    assert len(raised) == 1
    daemon.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"slots": 0},
        {"slots": 2**62},
        {"states": 64},
        {"states": 260},
        {"state_slot": 0},
        {"output_slot": 8},
        {"outputs": 2**63},
        {"outputs": 1024},
    ],
)
def test_layout_that_is_not_in_the_page_is_refused(page, wrong):
    described = opened()
    described["memory"] |= wrong
    with pytest.raises(ValueError, match="do not fit into the page"):
        page_of(page, described)


def test_page_of_another_version_or_size_is_refused(page):
    os.pwrite(page, b"tqrdmem9", 0)
    with pytest.raises(TorquedError, match="page of version b'tqrdmem9', expected b'tqrdmem1'"):
        page_of(page, opened())
    os.ftruncate(page, 512)
    with pytest.raises(TorquedError, match="page of 512 bytes, expected 1024"):
        page_of(page, opened())


def test_missing_daemon_is_named(tmp_path):
    tmp_path.chmod(0o700)
    with pytest.raises(TorquedError, match=r"no page from .*No such file"):
        receive_fd(f"ipc://{tmp_path}/nobody.memory.sock", b"secret")
