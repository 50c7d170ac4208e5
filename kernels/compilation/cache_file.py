"""One file of compiled code: written whole or not at all, and read only where it can be trusted.

    8 bytes TORQUED1 | 8 bytes length | 32 bytes SHA-256 of name and content | content

The name is part of the sum, so that a file under another one's name is not taken for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from torqued.kernels.compilation.cache_folder import DAY, others_who_write

MAGIC = b"TORQUED1"
HEAD = struct.Struct("<8sQ32s")


class CacheWarning(UserWarning):
    """The cache of compiled code does not do its work; kernels are compiled without it."""


class UnusableFileError(Exception):
    """A file that must not be loaded, and why."""


_told: set[str] = set()


def warn_once(kind: str, message: str) -> None:
    """One warning of a kind in a process: what befalls one file often befalls hundreds."""
    if kind not in _told:
        _told.add(kind)
        warnings.warn(message, CacheWarning, stacklevel=2)


def write(path: Path, content: bytes) -> None:
    """Put a file in its place. A reader, even after a crash, finds all or nothing."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".draft")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(HEAD.pack(MAGIC, len(content), _checksum(path, content)))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the cause is what matters
            os.unlink(draft)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read(path: Path) -> bytes:
    """What was written. FileNotFoundError: nothing; UnusableFileError: not to be trusted."""
    with _opened(path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        length, checksum = _head(path, descriptor, file.read(HEAD.size))
        content = file.read()
        if len(content) != length or checksum != _checksum(path, content):
            raise UnusableFileError(f"cache file {path} is damaged: its checksum is wrong")
        _renew(descriptor)
        return content


def is_whole(path: Path) -> bool:
    """Whether there is a file that can be trusted and was not cut off; its content is not read."""
    try:
        with _opened(path) as descriptor:
            _head(path, descriptor, os.read(descriptor, HEAD.size))
    except (OSError, UnusableFileError):
        return False
    return True


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor of the file, whose owner and mode have been checked: of it, not of its name."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnusableFileError(f"cache file {path} cannot be read: {error.strerror}") from None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise UnusableFileError(f"cache file {path} is not an ordinary file")
        if info.st_uid not in (os.getuid(), 0):
            raise UnusableFileError(f"cache file {path} belongs to user {info.st_uid}")
        if writable_by := others_who_write(info.st_mode):
            raise UnusableFileError(f"cache file {path} is writable by {writable_by}")
        yield descriptor
    finally:
        os.close(descriptor)


def _head(path: Path, descriptor: int, head: bytes) -> tuple[int, bytes]:
    """Length and checksum, as the head of a file has them."""
    if len(head) == HEAD.size:
        magic, length, checksum = HEAD.unpack(head)
        if magic == MAGIC and os.fstat(descriptor).st_size == HEAD.size + length:
            return length, checksum
    raise UnusableFileError(f"cache file {path} is damaged: it was cut off, or is not a cache file")


def _checksum(path: Path, content: bytes) -> bytes:
    whole = hashlib.sha256(path.name.encode() + b"\0")
    whole.update(content)
    return whole.digest()


def _renew(descriptor: int) -> None:
    """Note that the file was used, at most once a day; see cache_folder.prune."""
    if time.time() - os.fstat(descriptor).st_mtime > DAY:
        with contextlib.suppress(OSError):  # a cache that may only be read is not cleared either
            os.utime(descriptor)
