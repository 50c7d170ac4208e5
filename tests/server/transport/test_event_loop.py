"""What one thread waits for, and what others hand over to it."""

import os
import threading

import pytest

from torqued.server.transport.event_loop import Waiting


@pytest.fixture
def waiting():
    waiting = Waiting()
    yield waiting
    waiting.close()


def test_tasks_run_in_the_thread_that_waits_and_in_order(waiting):
    ran = []

    def hand_over():
        for k in range(100):
            waiting.hand_over(lambda k=k: ran.append((k, threading.get_ident())))

    other = threading.Thread(target=hand_over)
    other.start()
    while len(ran) < 100:
        waiting.wait(1000)
    other.join()
    assert ran == [(k, threading.get_ident()) for k in range(100)]


def test_source_that_another_action_removed_is_left_alone(waiting):
    seen = []
    pipes = [os.pipe(), os.pipe()]
    first, second = pipes[0][0], pipes[1][0]
    waiting.add(first, lambda: (seen.append("first"), waiting.remove(second)))
    waiting.add(second, lambda: (seen.append("second"), waiting.remove(first)))
    for _, write in pipes:
        os.write(write, b"x")
    waiting.wait(1000)
    for ends in pipes:
        for end in ends:
            os.close(end)
    assert len(seen) == 1


def test_waking_after_the_end_does_no_harm():
    waiting = Waiting()
    waiting.close()
    waiting.wake()
    waiting.hand_over(lambda: None)
