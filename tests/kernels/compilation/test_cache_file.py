"""Files of compiled code: whole or refused, whoever wrote, cut or moved them."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from torqued.kernels.compilation import cache_file
from torqued.kernels.compilation.cache_file import HEAD, UnusableFileError, is_whole, read, write

CONTENT = bytes(range(256)) * 5
OTHER_USER = 12345


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.nbc"
    write(path, CONTENT)
    return path


def refused(path: Path) -> str:
    with pytest.raises(UnusableFileError) as caught:
        read(path)
    return str(caught.value)


def test_what_was_written_is_read(file):
    assert read(file) == CONTENT
    assert is_whole(file)
    write(file, b"other")
    assert read(file) == b"other"


def test_file_is_closed_to_others_and_leaves_no_draft(file):
    assert file.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_missing_file_is_told_apart_from_a_bad_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")
    assert not is_whole(tmp_path / "none")


@pytest.mark.parametrize("length", [0, 1, HEAD.size - 1, HEAD.size, HEAD.size + 100, -1])
def test_cut_off_file_is_refused(file, length):
    file.write_bytes(file.read_bytes()[:length])
    assert "is damaged: it was cut off" in refused(file)
    assert not is_whole(file)


@pytest.mark.parametrize("place", [0, 8, 16, HEAD.size, HEAD.size + len(CONTENT) - 1])
def test_any_changed_byte_is_noticed(file, place):
    data = bytearray(file.read_bytes())
    data[place] ^= 0x40
    file.write_bytes(data)
    assert "is damaged" in refused(file)


def test_longer_file_is_refused(file):
    file.write_bytes(file.read_bytes() + b"more")
    assert "is damaged" in refused(file)


def test_file_under_the_name_of_another_is_refused(file):
    moved = file.rename(file.with_name("other.nbc"))
    assert "its checksum is wrong" in refused(moved)


@pytest.mark.parametrize(("mode", "whom"), [(0o620, "its group"), (0o602, "everyone")])
def test_file_that_others_can_write_is_refused(file, mode, whom):
    file.chmod(mode)
    assert refused(file) == f"cache file {file} is writable by {whom}"
    assert not is_whole(file)


def test_file_of_another_user_is_refused(file, monkeypatch):
    if os.getuid() == 0:
        os.chown(file, OTHER_USER, -1)
        owner = OTHER_USER
    else:
        owner = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert refused(file) == f"cache file {file} belongs to user {owner}"


def test_link_is_refused(file):
    link = file.with_name("link.nbc")
    link.symlink_to(file)
    assert "cannot be read" in refused(link)


def test_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is not an ordinary file" in refused(tmp_path / "pipe")


def test_failed_write_leaves_the_old_file_and_nothing_else(file, monkeypatch):
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write(file, b"new")
    monkeypatch.undo()
    assert read(file) == CONTENT
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_reading_renews_the_time_stamp_of_an_old_file(file):
    long_ago = time.time() - 20 * cache_file.DAY
    os.utime(file, (long_ago, long_ago))
    read(file)
    assert file.stat().st_mtime > long_ago + cache_file.DAY


def test_one_warning_of_a_kind(monkeypatch):
    monkeypatch.setattr(cache_file, "_told", set())
    with pytest.warns(cache_file.CacheWarning) as caught:
        for _ in range(3):
            cache_file.warn_once("load", "damaged")
        cache_file.warn_once("save", "full")
    assert [str(warning.message) for warning in caught] == ["damaged", "full"]
