"""The folder for compiled code: where it is, whether it can be trusted, and what is cleared away.

What is in there runs with the rights of the daemon's user. So no one but that user and
root may be able to put something there: neither into the folder, nor by moving another one into
its place.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

#: Code that was not loaded for so long belongs to sources or tools that are gone.
KEPT_DAYS = 30

DAY = 86400.0


def cache_root() -> Path:
    """Where compiled kernels are kept: $TORQUED_CACHE_DIR, else the user's cache folder."""
    configured = os.environ.get("TORQUED_CACHE_DIR")
    if configured:
        return Path(configured)
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "torqued"


def prepare_folder(folder: Path) -> str:
    """Make a folder for compiled code; why it must not be used, or nothing."""
    try:
        folder = folder.absolute()
        _make(folder)
        problem = _not_ours(folder, sticky_allowed=False)
        # As given and as resolved: links lie in their own folders.
        for place in dict.fromkeys([*folder.parents, *folder.resolve().parents]):
            problem = problem or _not_ours(place, sticky_allowed=True)
        if problem:
            return problem
        if not os.access(folder, os.R_OK | os.X_OK):
            return f"cache folder {folder} cannot be used: it is not readable"
    except OSError as error:
        return f"cache folder {folder} cannot be used: {error.strerror}"
    return ""


def _make(folder: Path) -> None:
    """The folder and those above it, each closed to others, whatever the umask."""
    for place in [*reversed(folder.parents), folder]:
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)  # complains where a file has its name


def _not_ours(place: Path, sticky_allowed: bool) -> str:
    """Why other users could have their way with a folder, or nothing.

    In one with the sticky bit, like /tmp, no user can move what belongs to another.
    """
    info = place.stat()
    if info.st_uid not in (os.getuid(), 0):
        return f"cache folder {place} belongs to user {info.st_uid}, not to this one"
    if writable_by := others_who_write(info.st_mode):
        if sticky_allowed and info.st_mode & stat.S_ISVTX:
            return ""
        return (
            f"cache folder {place} is writable by {writable_by}, who could put code there: "
            f"chmod go-w {place}, or name another folder in TORQUED_CACHE_DIR"
        )
    return ""


def others_who_write(mode: int) -> str:
    """Users beside the owner that may write to a file or folder of this mode."""
    if mode & stat.S_IWOTH:
        return "everyone"
    return "its group" if mode & stat.S_IWGRP else ""


def prune(root: Path, days: float = KEPT_DAYS) -> int:
    """Remove compiled code that was not loaded for some days; how many files that were.

    Loading a file renews its time stamp. Other versions of the sources and of the compiler leave
    theirs behind, and would do so for ever.
    """
    oldest, removed = time.time() - days * DAY, 0
    for file in root.glob("kernels-*/*/*"):
        # Another process may be clearing away too, and some files may belong to another user.
        with contextlib.suppress(OSError):
            if file.lstat().st_mtime < oldest:
                file.unlink()
                removed += 1
    for folder in [*root.glob("kernels-*/*"), *root.glob("kernels-*")]:
        with contextlib.suppress(OSError):  # not empty
            folder.rmdir()
    return removed
