"""Ctrl-C where Python cannot answer it: LLVM compiles a kernel for seconds at a stretch.

Python runs a signal's handler in the main thread, and only between two instructions. The signal's
number goes to a file descriptor at once, though (`signal.set_wakeup_fd`), and another thread reads
it there.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def exit_on_signals(leave: Callable[[int], int]) -> Iterator[None]:
    """On a signal the process exits without waiting for the main thread.

    The exit code is `leave(number)`, called in another thread. Only signals with a handler when
    the block begins count, as SIGINT in every Python program; the others keep their effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def watch() -> None:
        while number := os.read(reader, 1):
            if number[0] in ENDING:
                os._exit(leave(number[0]))

    watcher = threading.Thread(target=watch, name="signals", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)
        watcher.join()
        os.close(reader)
