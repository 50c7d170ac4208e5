"""Results that a daemon on this machine has left in shared memory.

A reply that says `memory` names a file and tells where in it each array lies. The file is this
user's own; its name is taken away at once, so that the memory is gone with the processes that have
it. When nobody has the arrays any more, the next request offers the memory for its results: new
memory would cost more than they do.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Where such files are, and what their names look like: no reply leads anywhere else.
FOLDER = "/dev/shm"
PREFIX = "torqued-"
NAME = re.compile(rf"{PREFIX}[0-9a-f]{{32}}")
#: Files whose arrays are gone that are kept for the next results.
MAX_SPARE = 2
#: Files offered with requests that are under way, or were given up.
MAX_OFFERED = 16


class NotSharedError(Exception):
    """The memory is not this process's to read."""


class SharedMemory:
    """What one client has got from its daemon."""

    def __init__(self, endpoint: str) -> None:
        #: Whether to ask for it: the daemon may be on this machine.
        self.wanted = endpoint.startswith("ipc://") and os.path.isdir(FOLDER)
        self._spare: list[tuple[str, mmap.mmap]] = []
        self._offered: dict[str, mmap.mmap] = {}

    def offer(self) -> str | bool:
        """What a request says: the name of a file that may be written over, or that any will do."""
        if not self._spare:
            return True
        name, memory = self._spare.pop()
        self._offered[name] = memory
        while len(self._offered) > MAX_OFFERED:
            del self._offered[next(iter(self._offered))]
        return name

    def take_back(self, offered: str | bool | None) -> None:
        """What a request said that has been refused: nobody will write there."""
        memory = self._offered.pop(offered, None) if isinstance(offered, str) else None
        if memory is not None:
            _spare_again(self._spare, str(offered), memory)

    def taken(self, reply: dict[str, Any], offered: str | bool | None) -> dict[str, Any]:
        """A reply with its arrays, wherever they are; `offered` is what its request said.

        Where it said nothing, `memory` in a reply is something else.
        """
        mine = self._offered.pop(offered, None) if isinstance(offered, str) else None
        described = reply.get("memory")
        if not offered or not isinstance(described, Mapping):
            return reply
        rest = {key: value for key, value in reply.items() if key != "memory"}
        try:
            name = described["file"]
            kept = mine if name == offered else None
            memory = kept or _opened(name, described["size"])
            whole: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)
            found = _arrays(described["arrays"], whole)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise NotSharedError(str(error)) from error
        # Arrays and all their views lead to `whole`: with the last of them it goes.
        weakref.finalize(whole, _spare_again, self._spare, name, memory).atexit = False
        return rest | found


def _spare_again(spare: list[tuple[str, mmap.mmap]], name: str, memory: mmap.mmap) -> None:
    if len(spare) < MAX_SPARE:
        spare.append((name, memory))


def _opened(name: Any, size: int) -> mmap.mmap:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"file {name!r} is none of a daemon's")
    path = Path(FOLDER, name)
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_size != size:
            raise ValueError(f"file {name!r} is not what the daemon said")
        path.unlink()
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        return mmap.mmap(file, size, flags=flags, prot=mmap.PROT_READ)
    finally:
        os.close(file)


def _arrays(described: Mapping[str, Any], whole: NDArray[np.uint8]) -> dict[str, Any]:
    """Read-only arrays, as those of a message are; numpy refuses what lies outside."""
    found: dict[str, Any] = {}
    for key, value in described.items():
        if not isinstance(value.get("offset"), int):  # a map, by frame
            found[key] = _arrays(value, whole)
            continue
        offset, shape, strides = value["offset"], value["shape"], value["strides"]
        found[key] = np.ndarray(shape, np.float64, whole, offset, strides)
    return found
