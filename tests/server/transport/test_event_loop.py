"""What one thread waits for, and what others hand over to it."""

import os
import threading

import pytest

from support.eventually import PATIENCE, eventually
from torqued.server.transport.event_loop import EventLoop


@pytest.fixture
def events():
    events = EventLoop()
    yield events
    events.close()


def test_tasks_run_in_the_thread_that_waits_and_in_order(events):
    ran = []

    def hand_over():
        for k in range(100):
            events.hand_over(lambda k=k: ran.append((k, threading.get_ident())))

    other = threading.Thread(target=hand_over)
    other.start()

    def all_ran():
        events.wait(1000 * PATIENCE)
        return len(ran) == 100

    eventually(all_ran)
    other.join()
    assert ran == [(k, threading.get_ident()) for k in range(100)]


def test_source_that_another_action_removed_is_left_alone(events):
    seen = []
    pipes = [os.pipe(), os.pipe()]
    first, second = pipes[0][0], pipes[1][0]
    events.add(first, lambda: (seen.append("first"), events.remove(second)))
    events.add(second, lambda: (seen.append("second"), events.remove(first)))
    for _, write in pipes:
        os.write(write, b"x")
    events.wait(1000)
    for ends in pipes:
        for end in ends:
            os.close(end)
    assert len(seen) == 1


def test_waking_ends_a_wait(events):
    waiting = threading.Thread(target=events.wait, args=(1000 * PATIENCE,), daemon=True)
    waiting.start()
    events.wake()
    waiting.join(PATIENCE / 2)
    assert not waiting.is_alive()


def test_waking_after_the_end_does_no_harm():
    events = EventLoop()
    events.close()
    events.wake()
    events.hand_over(lambda: None)


def test_what_an_action_asks_for_is_done_at_once_and_what_others_ask_for_in_turn(events):
    ran = []
    read, write = os.pipe()

    def act():
        os.read(read, 1)
        events.do(lambda: ran.append("mine"))
        ran.append("after it")

    events.add(read, act)
    other = threading.Thread(target=lambda: events.do(lambda: ran.append("another's")))
    other.start()
    other.join()
    assert ran == []
    eventually(lambda: events.wait(1000) or ran == ["another's"])
    os.write(write, b"x")
    eventually(lambda: events.wait(1000) or len(ran) == 3)
    assert ran == ["another's", "mine", "after it"]
    os.close(read)
    os.close(write)
