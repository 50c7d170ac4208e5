"""The ring by itself: a compiled writer in a thread, and readers that are fast, slow or late."""

import errno
import json
import os
import re
import threading
import time

import numpy as np
import pytest
from numba import njit, types

from support.eventually import PATIENCE
from support.written_ring import Written, per_ring, session
from torqued.server.loop.ring_writer import begin_record
from torqued.server.observation import ring as rings
from torqued.server.observation.directory import MAX_CLOSED, Directory
from torqued.server.observation.layout import HEADER_BYTES, MARKS, TICK, TICK_HEAD
from torqued.server.observation.observation import Observation
from torqued.server.observation.ring import Ring, RingError, is_in_memory, remove_orphans
from torqued.server.transport.endpoints import Endpoints
from torqued.tools.recording import cursor as cursors
from torqued.tools.recording.reader import Reader, ReaderError


@pytest.fixture
def endpoints(tmp_path):
    tmp_path.chmod(0o700)
    return Endpoints(tmp_path, "robot")


@pytest.fixture
def written(endpoints):
    found = Written(endpoints)
    yield found
    found.close()


def check(ticks):
    """Every number of a record is its index: it is whole."""
    for name in ("tick", "sequence", "status"):
        assert np.array_equal(ticks[name], ticks["index"])
    assert np.array_equal(ticks["x"], np.repeat(ticks["index"][:, None], ticks["x"].shape[1], 1))


def test_reader_gets_every_tick_once_in_order(written, endpoints):
    reader = Reader("robot", endpoints.folder)
    got = {1: [], 2: []}
    for count in (1, 2, 100, 7, 150):
        written.write(count)
        while batch := reader.poll():
            for number, ticks in batch.ticks.items():
                check(ticks)
                got[number].extend(ticks["index"])
            assert not batch.lost
    assert got[1] == got[2] == list(range(written.ticks))
    assert reader.lost == {}


def test_records_go_round_the_end_many_times(written, endpoints):
    reader = Reader("robot", endpoints.folder)
    total = 0
    while written.ring.header.written < 5 * written.ring.size:
        written.write(per_ring(written) // 3)
        while batch := reader.poll():
            check(batch.ticks.get(2, np.zeros(0, reader.sessions[2].dtype)))
            total += len(batch.ticks.get(1, ()))
    assert (total, reader.lost_records) == (written.ticks, 0)


def test_reader_that_falls_behind_is_told_how_many_ticks_it_lost(written, endpoints):
    reader = Reader("robot", endpoints.folder)
    written.write(10)
    assert len(reader.poll().ticks[1]) == 10
    written.write(3 * per_ring(written))
    got = {1: 10, 2: 10}
    lost = {1: 0, 2: 0}
    while batch := reader.poll():
        for number, ticks in batch.ticks.items():
            check(ticks)
            got[number] += len(ticks)
            lost[number] += batch.lost.get(number, 0)
    assert lost[1] > 0 and lost[2] > 0
    assert {n: got[n] + lost[n] for n in got} == {1: written.ticks, 2: written.ticks}
    assert reader.lost == lost and reader.lost_records == sum(lost.values())
    # It goes on with the oldest that are safe, not with the newest.
    assert got[1] > per_ring(written) // 2


def test_reader_that_starts_later_takes_the_backlog_or_what_comes(written, endpoints):
    written.write(2 * per_ring(written))
    late, old = Reader("robot", endpoints.folder), Reader("robot", endpoints.folder, backlog=True)
    assert not late.poll()
    assert len(old.poll().ticks[1]) > per_ring(written) // 2
    written.write(1)
    assert late.poll().ticks[2]["index"].tolist() == [written.ticks - 1]
    assert late.lost == old.lost == {}


def take(reader, got, lost):
    """Count what one poll gives, each record of which has to be whole."""
    batch = reader.poll()
    for number, found in batch.ticks.items():
        check(found)
        got[number] += len(found)
        lost[number] += batch.lost.get(number, 0)
    return batch


@pytest.mark.parametrize("slow", [False, True])
def test_torn_records_are_never_accepted(written, endpoints, monkeypatch, slow):
    """The writer goes round the ring as fast as it can; whatever a reader gets is whole."""
    reader, enough = Reader("robot", endpoints.folder), threading.Event()
    written.write(1)
    got, lost, tries, polls = {1: 0, 2: 0}, {1: 0, 2: 0}, [], 0
    take(reader, got, lost)

    def keep_writing():
        while not enough.is_set():
            written.write(per_ring(written), 5000)

    if slow:  # so long between the copy and its check that the writer often comes round
        monkeypatch.setattr(cursors, "barrier", lambda: tries.append(time.sleep(0.0005)))
    thread = threading.Thread(target=keep_writing)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not enough.is_set():
            assert time.monotonic() < deadline
            # Two looks a poll where nothing is thrown away.
            polls += bool(take(reader, got, lost))
            done = len(tries) > 2 * polls + 20 if slow else min(got.values()) > per_ring(written)
            if done and written.ticks > 20 * per_ring(written):
                enough.set()
    finally:
        enough.set()
        thread.join()
    while reader._is_behind():
        take(reader, got, lost)
    assert {number: got[number] + lost[number] for number in got} == reader._next
    assert reader._next == {1: written.ticks, 2: written.ticks}


def test_record_that_is_too_large_for_the_ring_is_refused_and_counted(written):
    @njit(types.uint64(types.uint64, types.int64))
    def begin(ring, size):
        return begin_record(ring, size, TICK, 1)

    assert begin(written.ring.address, written.ring.size // 2) == 0
    assert written.ring.header.refused == 1
    assert written.ring.header.written == 0


def test_reader_goes_on_with_the_ring_of_the_next_daemon(endpoints):
    first = Written(endpoints)
    reader = Reader("robot", endpoints.folder)
    first.write(5)
    first.close()
    assert not reader.is_open
    second = Written(endpoints)
    second.write(7)
    counts, restarts = [], []
    for _ in range(4):
        if batch := reader.poll():
            counts.append(len(batch.ticks[1]))
            restarts.append(reader.restarts)
    second.close()
    assert counts == [5, 7]
    assert reader.restarts == 1 and reader.lost == {}


def test_daemon_that_died_in_the_middle_of_a_record_holds_no_reader_up(written, endpoints):
    reader = Reader("robot", endpoints.folder, backlog=True)
    written.write(3 * per_ring(written))
    written.ring.header.reserved += 4096  # and nothing more
    while reader.poll():
        pass
    assert reader.lost_records > 0 or reader._next[1] == written.ticks


def test_only_who_may_use_the_sockets_may_read(written, endpoints):
    for path in (written.ring.path, written.directory.path):
        assert path.stat().st_mode & 0o777 == 0o600


def test_group_may_read_and_not_write(tmp_path):
    tmp_path.chmod(0o750)
    written = Written(Endpoints(tmp_path, "robot", str(os.getgid())))
    for path in (written.ring.path, written.directory.path):
        assert path.stat().st_mode & 0o777 == 0o640
        assert path.stat().st_gid == os.getgid()
    written.close()


def test_ring_lies_in_memory(written, endpoints):
    assert is_in_memory(written.ring.path.parent)
    assert not is_in_memory(endpoints.folder) or written.ring.path.parent == endpoints.folder


def test_ring_that_a_killed_daemon_left_is_removed_and_that_of_a_living_one_stays(written):
    orphan = written.ring.path.with_name(written.ring.path.name.replace(".ring", "0.ring"))
    orphan.write_bytes(bytes(100))
    remove_orphans()
    assert written.ring.path.exists()
    if written.ring.path.parent == rings.SHARED_MEMORY:
        assert not orphan.exists()
    orphan.unlink(missing_ok=True)


def test_ring_that_does_not_fit_into_memory_is_an_error(endpoints, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rings.os, "posix_fallocate", full)
    with pytest.raises(RingError, match="No space left"):
        Ring(endpoints, 1, 1_000_000)
    assert not list(endpoints.folder.glob("*.ring"))


def test_missing_foreign_and_newer_rings_are_refused_with_a_sentence(written, endpoints):
    with pytest.raises(ReaderError, match="cannot observe daemon 'other'"):
        Reader("other", endpoints.folder)
    written.ring.header.version = 9
    with pytest.raises(ReaderError, match="version 9, expected a ring of version 2"):
        Reader("robot", endpoints.folder)
    written.ring.header.magic = 0
    with pytest.raises(ReaderError, match="not a ring"):
        Reader("robot", endpoints.folder)
    content = json.loads(written.directory.path.read_text())
    written.directory.path.write_text(json.dumps(content | {"version": 7}))
    with pytest.raises(ReaderError, match="version 7"):
        Reader("robot", endpoints.folder)
    written.directory.path.write_text("{")
    with pytest.raises(ReaderError, match="cannot read"):
        Reader("robot", endpoints.folder)


def test_marks_are_beginnings_of_records(written):
    written.write(4 * per_ring(written))
    header, memory = written.ring.header, written.ring.path.read_bytes()
    oldest = int(header.written) - written.ring.size
    marks = sorted(int(mark) for mark in header.marks if mark >= oldest)
    assert len(marks) > MARKS // 2
    for mark in marks[1:]:
        head = np.frombuffer(memory, TICK_HEAD, 1, HEADER_BYTES + mark % written.ring.size)[0]
        assert head["kind"] == TICK and head["session"] in (1, 2)
        assert head["index"] == head["tick"]


def test_last_closed_sessions_stay_in_the_directory(written, endpoints):
    for number in range(10, 100):
        written.directory.opened(number, session(number, 5))
        written.directory.closed(number)
    found = Reader("robot", endpoints.folder).sessions
    assert {1, 2, 99} <= set(found) and 10 not in found
    assert found[99].closed is not None and found[1].closed is None


def test_reader_says_that_the_memory_of_the_ring_is_full(endpoints, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    observation = Observation(endpoints, 64)
    problem = r"\.ring, 64 MiB: No space left on device"
    assert re.search(problem, observation.statistics()["why_not"])
    assert re.search(problem, caplog.text)
    with pytest.raises(ReaderError, match=problem):
        Reader("robot", endpoints.folder)
    observation.close()
    assert not inodes(endpoints.folder)
    with pytest.raises(ReaderError, match=r"no robot\.directory\.json; is the daemon running"):
        Reader("robot", endpoints.folder)


def inodes(folder):
    return {path: path.stat().st_ino for path in folder.glob("*.json")}


def test_a_change_of_one_session_writes_that_session_alone(written, endpoints):
    """Not those beside it, which may be many and large."""
    directory, folder = written.directory, endpoints.folder
    gains = np.random.default_rng(0).normal(size=(30, 30))
    for number in range(10, 40):
        directory.opened(number, session(number, 5) | {"gains": {"stiffness": gains}})
    own = folder / "robot.session-20.json"
    reader = Reader("robot", folder)
    for change, files in (
        (lambda: directory.changed(20, gains={"stiffness": 2.0 * gains}), {own, directory.path}),
        (lambda: directory.closed(21), {directory.path}),
    ):
        before = inodes(folder)
        change()
        written_again = {path for path, inode in inodes(folder).items() if before[path] != inode}
        assert written_again == files
        assert sum(path.stat().st_size for path in written_again) < 1.5 * own.stat().st_size
        reader.poll()
    assert np.allclose(reader.sessions[20].gains["stiffness"], 2.0 * gains)
    assert np.allclose(reader.sessions[22].gains["stiffness"], gains)
    assert reader.sessions[20].closed is None and reader.sessions[21].closed is not None
    directory.remove()
    assert not inodes(folder)


def test_session_that_leaves_the_directory_takes_its_file_along(written, endpoints):
    reader = Reader("robot", endpoints.folder)
    for number in range(10, 100):
        written.directory.opened(number, session(number, 5))
        written.directory.closed(number)
    assert len(inodes(endpoints.folder)) == 1 + 2 + MAX_CLOSED
    reader.poll()
    assert 99 in reader.sessions and 10 not in reader.sessions


def test_directory_tells_which_processor_is_the_loops(written, endpoints):
    assert Reader("robot", endpoints.folder).processor is None
    Directory(endpoints, written.ring, processor=3).opened(1, session(1, 5))
    assert Reader("robot", endpoints.folder).processor == 3
