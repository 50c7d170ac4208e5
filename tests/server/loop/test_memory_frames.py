"""The daemon's side of a page beside the client's: whole frames both ways, and who is woken."""

import threading
import time

import numpy as np
import pytest
from numba import njit

from support.eventually import eventually
from torqued.client.memory.compiled import page_type
from torqued.client.memory.page_layout import DAEMON_SLEEPS, OUTPUTS, STATES, PageLayout
from torqued.kernels.primitives.atomics import fence, load_long, load_word, store_word, swap_long
from torqued.kernels.primitives.system_calls import wake_sleeper
from torqued.server.loop.loop_records import SESSION
from torqued.server.loop.memory_frames import (
    NOTHING,
    TORN,
    WHOLE,
    put_into_page,
    take_from_page,
    wait_for_state,
)
from torqued.server.loop.session_lock import BY_ARRIVALS, BY_LOOP, release, try_acquire

WORDS = 200
FRAME = 8 * WORDS


@njit(nogil=True)
def take(sessions):
    return take_from_page(sessions[0])


@njit(nogil=True)
def put(sessions):
    put_into_page(sessions[0])


@njit(nogil=True)
def put_many(sessions, frame, count):
    """Frames whose words are all the same, one after the other without a pause."""
    for k in range(count):
        frame[:] = k
        put_into_page(sessions[0])


@njit(nogil=True)
def wake(address):
    return wake_sleeper(address)


@njit(nogil=True)
def try_lock(sessions, owner):
    return try_acquire(sessions[0], owner)


@njit(nogil=True)
def wait(sessions, longest, clock):
    wait_for_state(sessions[0], longest, clock)


@njit(nogil=True)
def unlock(sessions):
    release(sessions[0])


@njit
def swapped(address, expected, wanted):
    found = swap_long(address, np.uint64(expected), np.uint64(wanted))
    fence()
    return found, load_long(address)


class Side:
    """A page in this process, and a session's record that leads to it."""

    def __init__(self):
        self.layout = layout = PageLayout.of(FRAME, FRAME)
        self.page = np.zeros(layout.page_bytes // 8, np.uint64)
        self.around = np.zeros(WORDS + 2, np.uint64)  # the session's buffer, and what is beside it
        self.receive, self.send = self.around[1:-1], np.zeros(WORDS, np.uint64)
        self.records = np.zeros(1, SESSION).view(np.recarray)
        record = self.records[0]
        record.page = self.page.ctypes.data
        record.page_states, record.page_state_slot = layout.states, layout.state_slot
        record.page_outputs, record.page_output_slot = layout.outputs, layout.output_slot
        record.receive, record.receive_size = self.receive.ctypes.data, FRAME
        record.send, record.send_size = self.send.ctypes.data, FRAME

    @property
    def words(self):
        return self.page.view(np.uint32)

    def write_state(self, count, value, lock=None):
        slot = (self.layout.states + count % self.layout.slots * self.layout.state_slot) // 8
        self.page[slot + 1 : slot + 1 + WORDS] = value
        self.page[slot] = 2 * count if lock is None else lock
        self.words[STATES // 4] = count

    def client(self):
        """The client's side of the page."""
        return page_type()(self.page, self.layout, FRAME, FRAME, 0.0)


@pytest.fixture
def side():
    return Side()


def test_state_is_taken_once(side):
    assert take(side.records) == NOTHING
    side.write_state(1, 7)
    assert take(side.records) == WHOLE
    assert (side.receive == 7).all()
    assert take(side.records) == NOTHING


def test_state_under_way_is_torn_and_passed_over_once(side):
    side.receive[:] = 3
    side.write_state(1, 7, lock=3)
    assert [take(side.records), take(side.records)] == [TORN, NOTHING]
    side.write_state(2, 8)
    assert take(side.records) == WHOLE


@pytest.mark.parametrize("count", [2**32 - 1, 2**31, 5])
def test_any_count_is_a_slot_of_the_page(side, count):
    side.write_state(count, 9)
    assert take(side.records) == WHOLE
    assert (side.receive == 9).all()


def test_garbage_leads_nowhere(side):
    rng = np.random.default_rng(0)
    for _ in range(500):
        side.page[:] = rng.integers(0, 2**63, len(side.page), np.uint64)
        assert take(side.records) in (TORN, NOTHING)
        side.write_state(int(rng.integers(2**32)), 2**64 - 1)
        assert take(side.records) == WHOLE
    assert side.around[0] == side.around[-1] == 0
    assert int(side.records[0].page_sent) == 0


def test_outputs_that_are_read_are_whole(side):
    count, rounds, read = 200_000, 0, 0
    client = side.client()
    put(side.records)  # compiled

    def is_read():
        """On a busy machine the writer may be done before this thread runs again."""
        nonlocal rounds, read
        writer = threading.Thread(target=put_many, args=(side.records, side.send, count))
        writer.start()
        while writer.is_alive():
            data = client.newest()
            if data is not None:
                read += 1
                assert data == data[:8] * WORDS
        writer.join()
        rounds += 1
        assert int(side.words[OUTPUTS // 4]) == rounds * count + 1
        return read

    eventually(is_read)


def test_states_that_are_taken_are_whole(side):
    client, done, taken = side.client(), threading.Event(), 0

    def write():
        count = 0
        while not done.is_set():
            count += 1
            client.send(count.to_bytes(8, "little") * WORDS)

    writer = threading.Thread(target=write)
    writer.start()

    def is_taken():
        nonlocal taken
        if take(side.records) == WHOLE:
            taken += 1
            assert (side.receive == side.receive[0]).all()
        return taken >= 1000

    try:
        eventually(is_taken, pause=0.0)
    finally:
        done.set()
        writer.join()


def test_one_sleeper_is_woken_at_a_time(side):
    address = side.page.ctypes.data + OUTPUTS
    page = side.client()
    sleepers = [threading.Thread(target=page.wait, args=(60.0,)) for _ in range(3)]
    for sleeper in sleepers:
        sleeper.start()
    woken = 0
    while woken < 3:
        count = wake(np.uint64(address))
        assert count in (0, 1)
        woken += count
        time.sleep(0.001)
    for sleeper in sleepers:
        sleeper.join(60.0)
        assert not sleeper.is_alive()


def test_one_side_holds_the_lock_at_a_time(side):
    lock = np.zeros(1, np.uint64)
    assert try_lock(side.records, BY_LOOP)  # without a lock, only the loop serves
    side.records[0].lock = lock.ctypes.data
    assert try_lock(side.records, BY_ARRIVALS)
    assert not try_lock(side.records, BY_LOOP)
    unlock(side.records)
    assert try_lock(side.records, BY_LOOP)
    assert lock[0] == BY_LOOP


def test_swap_takes_place_where_it_was_expected():
    word = np.array([5], np.uint64)
    assert swapped(word.ctypes.data, 5, 9) == (5, 9)
    assert swapped(word.ctypes.data, 5, 1) == (9, 9)


def test_words_are_stored_and_loaded():
    @njit
    def round_trip(address):
        store_word(address, np.uint32(2**32 - 1))
        return load_word(address)

    word = np.zeros(1, np.uint64)
    assert round_trip(word.ctypes.data) == 2**32 - 1
    assert word[0] == 2**32 - 1


SPIN, SHORT = 2_000_000, 1_000_000  # ns


def test_state_is_watched_for_before_the_thread_sleeps(side):
    record = side.records[0]
    record.spin = SPIN
    wait(side.records, SHORT, np.zeros(2, np.int64))
    assert record.spun >= SPIN


def test_sleep_without_an_end_ends_with_a_state_or_a_wake_up(side):
    def sleeper():
        return threading.Thread(
            target=wait, args=(side.records, 600 * 10**9, np.zeros(2, np.int64)), daemon=True
        )

    wait(side.records, SHORT, np.zeros(2, np.int64))  # compiled
    for spin in (0, SPIN):
        side.records[0].spin = spin
        thread = sleeper()
        thread.start()
        eventually(lambda: side.words[DAEMON_SLEEPS // 4])
        assert thread.is_alive()
        eventually(lambda: wake(np.uint64(side.page.ctypes.data + STATES)))
        thread.join(60.0)
        assert not thread.is_alive()
    side.write_state(1, 7)
    sleeper().run()  # returns at once


def test_who_does_not_spin_never_watches(side):
    record = side.records[0]
    wait(side.records, SHORT, np.zeros(2, np.int64))
    assert record.spun == 0
