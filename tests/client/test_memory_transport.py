"""Frames through a page: its bytes as documented, whole frames under pressure, and its errors."""

import mmap
import os
import sys
import threading

import pytest
from both_ways import way  # noqa: F401 - a fixture
from eventually import PATIENCE, eventually
from golden import FRAMES
from test_protocol_document import marked, rows

from torqued.client import futex
from torqued.client.memory_channel import MemoryChannel, handed_over
from torqued.client.page_layout import OUTPUTS, PageLayout
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


@pytest.fixture
def quick_switches():
    """Threads take turns a hundred times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


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


def test_bytes_of_a_page_are_the_documents(page):
    state = bytearray.fromhex(next(iter(FRAMES.values()))[-1])
    channel = MemoryChannel(page, opened())
    channel.send(state)
    sleeping = threading.Thread(target=channel.wait, args=(PATIENCE,))
    sleeping.start()
    found = mmap.mmap(page, 0)
    eventually(lambda: found[132], pause=0.0)
    shown = bytearray(len(found))
    for start, text in rows(marked("page bytes")):
        data = bytes.fromhex(text.replace(" ", ""))
        shown[int(start) : int(start) + len(data)] = data
    assert found[:] == bytes(shown)
    while sleeping.is_alive():  # it says that it sleeps before it does
        futex.wake(channel.page.address + OUTPUTS)
        sleeping.join(0.01)
    found.close()
    channel.close()


@pytest.mark.parametrize("spin", [0.0, 0.002])
def test_output_that_comes_wakes_who_waits(page, spin):
    channel, daemon = MemoryChannel(page, opened(spin)), mmap.mmap(page, 0)
    found = []
    waiting = threading.Thread(target=lambda: found.append(channel.receive(PATIENCE)))
    waiting.start()
    put_output(daemon, 1, 7)
    while waiting.is_alive():
        futex.wake(channel.page.address + OUTPUTS)
        waiting.join(0.01)
    assert found == [bytes([7]) * OUTPUT_BYTES]
    assert channel.newest() is None
    assert channel.receive(0.001) is None
    daemon.close()
    channel.close()


def test_frames_that_are_read_are_whole(page, quick_switches):
    """A writer without a pause, in a thread that is switched to in the middle of copies."""
    channel, daemon, done = MemoryChannel(page, opened()), mmap.mmap(page, 0), threading.Event()

    def write():
        count = 0
        while not done.is_set():
            count += 1
            put_output(daemon, count, count % 251)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        tried = read = 0

        def is_read():
            nonlocal tried, read
            tried += 1
            if (data := channel.newest()) is not None:
                read += 1
                assert data == data[:1] * OUTPUT_BYTES
            return tried >= 20_000 and read

        eventually(is_read, pause=0.0)
    finally:
        done.set()
        thread.join()
    daemon.close()
    channel.close()


def test_frame_under_way_is_not_read(page):
    channel, daemon = MemoryChannel(page, opened()), mmap.mmap(page, 0)
    put_output(daemon, 1, 1)
    layout = PageLayout.of(STATE_BYTES, OUTPUT_BYTES)
    slot = layout.outputs + layout.output_slot
    daemon[slot : slot + 8] = (2 * 5 + 1).to_bytes(8, "little")  # it has gone round
    assert channel.newest() is None
    put_output(daemon, 5, 5)
    assert channel.newest() == bytes([5]) * OUTPUT_BYTES
    daemon.close()
    channel.close()


def test_glance_leaves_an_output_to_be_received(page):
    channel, daemon = MemoryChannel(page, opened()), mmap.mmap(page, 0)
    put_output(daemon, 1, 3)
    for _ in range(2):
        assert channel.glance() == bytes([3]) * OUTPUT_BYTES
    assert channel.newest() == bytes([3]) * OUTPUT_BYTES
    assert channel.glance() == bytes([3]) * OUTPUT_BYTES
    assert channel.newest() is None
    daemon.close()
    channel.close()


def test_counts_wrap(page):
    channel, daemon = MemoryChannel(page, opened()), mmap.mmap(page, 0)
    channel.page.sent = 0xFFFFFFFF
    channel.send(bytearray(STATE_BYTES))
    assert channel.page.sent == 0
    channel.page.taken = 0xFFFFFFFF
    put_output(daemon, 0, 9)
    assert channel.newest() == bytes([9]) * OUTPUT_BYTES
    daemon.close()
    channel.close()


def test_page_of_another_version_or_size_is_refused(page):
    os.pwrite(page, b"tqrdmem9", 0)
    with pytest.raises(TorquedError, match="of another version"):
        MemoryChannel(page, opened())
    os.ftruncate(page, 512)
    with pytest.raises(TorquedError, match="has not 1024 bytes"):
        MemoryChannel(page, opened())


def test_nobody_to_hand_over_a_page_is_said(tmp_path):
    tmp_path.chmod(0o700)
    with pytest.raises(TorquedError, match=r"no page from .*No such file"):
        handed_over(f"ipc://{tmp_path}/nobody.memory.sock", b"secret")
