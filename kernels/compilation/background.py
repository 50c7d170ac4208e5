"""Kernels that can wait: compiled by a process of low priority, then loaded in this one.

    background = Background(names)
    background.start()                  # returns at once
    background.ask_for("whole_body")    # a request needs this one: it comes next

The process yields to everything else, but not altogether: on a busy machine a kernel that a request
needs has to be ready some time. It ends with this one, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES, is_cached, quietly

log = logging.getLogger("torqued")

#: How much the process yields; 19 is the most.
NICENESS = 19
#: s between looks for kernels that have become ready.
POLL_INTERVAL = 0.2
#: s between two kernels that are loaded: other threads have the interpreter meanwhile.
PAUSE = 0.002


class Background:
    """Some of the entries, on their way."""

    def __init__(self, names: Sequence[str], off: int | None = None) -> None:
        """`off`: a processor that the process keeps off."""
        self._waiting = list(names)
        self._off = off
        self._closing = threading.Event()
        self._asked: list[str] = []
        self._thread = threading.Thread(target=self._run, name="kernels", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def left(self) -> int:
        """Kernels that are not here yet."""
        return len(self._waiting)

    @property
    def missing(self) -> int:
        """Those of them that are not in the cache either."""
        return sum(not is_cached(name) for name in list(self._waiting))

    @property
    def next(self) -> str:
        """The one that is likely to be compiled now; empty when all are here."""
        waiting, asked = list(self._waiting), list(self._asked)
        return next((name for name in (*asked, *waiting) if name in waiting), "")

    def ask_for(self, name: str) -> None:
        """Have a kernel compiled before others; from any thread."""
        if name not in self._asked:
            self._asked.append(name)

    def close(self) -> None:
        """End the process; what it has finished stays in the cache."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        self._load_what_is_there()
        if not self._waiting or self._closing.is_set():
            return
        with self._process() as process:
            sent = 0
            while self._waiting and not self._closing.wait(POLL_INTERVAL):
                ended = process.poll() is not None
                for name in self._asked[sent:]:
                    sent += 1
                    _tell(process, name)
                self._load_what_is_there()
                if ended:
                    break
        if self._waiting and not self._closing.is_set():
            log.warning(
                "the process that compiles kernels has ended with %d to go: those are compiled "
                "where they are needed first",
                len(self._waiting),
            )
            self._waiting = []

    def _load_what_is_there(self) -> None:
        for name in list(self._waiting):
            if self._closing.is_set():
                return
            if is_cached(name):
                getattr(COMPILED, name)
                self._waiting.remove(name)
                self._closing.wait(PAUSE)

    @contextlib.contextmanager
    def _process(self) -> Iterator[subprocess.Popen[str]]:
        modules = sorted({ENTRIES[name][0].py_func.__module__ for name in ENTRIES})
        order = {"modules": modules, "names": self._waiting, "off": self._off}
        command = [sys.executable, "-m", __name__, json.dumps(order)]
        # Its own group: Ctrl-C in the terminal is for this process, whose end is its too.
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, text=True, process_group=0
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def _tell(process: subprocess.Popen[str], name: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended, which is seen by its exit code
        process.stdin.write(f"{name}\n")
        process.stdin.flush()


def main(given: str) -> None:
    """What the process does: kernels in order, but those first that its input names."""
    import importlib

    order = json.loads(given)
    os.nice(NICENESS)
    others = os.sched_getaffinity(0) - {order["off"]}
    if others:
        os.sched_setaffinity(0, others)
    asked: list[str] = []
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    for module in order["modules"]:
        importlib.import_module(module)
    waiting = list(order["names"])
    while waiting:
        name = next((name for name in asked if name in waiting), waiting[0])
        waiting.remove(name)
        if not is_cached(name):
            with quietly():
                getattr(COMPILED, name)


def _listen(asked: list[str]) -> None:
    """Take names as they come; the input ends with the daemon."""
    for line in sys.stdin:
        asked.append(line.strip())
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
