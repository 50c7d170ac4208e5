"""Waiting for what does happen: an end of waiting, not a measure of any machine's speed."""

import time

#: Seconds after which it is taken that something will not happen.
PATIENCE = 120


def eventually(condition, patience=PATIENCE, pause=0.01):
    """The first value of `condition()` that counts as true."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, f"it did not happen within {patience:g} s"
        time.sleep(pause)
    return found
