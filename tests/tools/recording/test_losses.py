"""Ticks that a recorder was too slow for: the file has as many as its reader missed, no more."""

import os

import numpy as np
import pytest

from support.written_ring import Written, per_ring
from torqued.server.transport.endpoints import Endpoints
from torqued.tools.recording.reader import Reader
from torqued.tools.recording.recording import read_recording
from torqued.tools.recording.recording_file import PIECE, Output, RecordingFile


@pytest.fixture
def written(tmp_path):
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    found = Written(Endpoints(folder, "robot"))
    found.folder = folder
    yield found
    found.close()


def take(reader, file):
    while batch := reader.poll():
        file.add(batch, reader.sessions)


def test_losses_in_the_file_are_the_gaps_between_its_ticks(written, tmp_path):
    reader = Reader("robot", written.folder)
    file = RecordingFile(tmp_path / "file.mcap", reader)
    for rings in (0.5, 2.5, 0.2, 4.0, 0.1):  # what is above 1 does not fit
        written.write(int(rings * per_ring(written)))
        take(reader, file)
    file.finish()
    recording = read_recording(file.path)
    assert set(recording.sessions) == {1, 2}
    for number, session in recording.sessions.items():
        steps = np.diff(session.ticks["index"])
        assert session.from_start and session.ticks["index"][-1] == written.ticks - 1
        assert np.count_nonzero(steps > 1) == 2
        assert recording.lost[number] == reader.lost[number] == int((steps - 1).sum()) > 0
        assert len(session.ticks) + recording.lost[number] == written.ticks
    assert recording.lost[0] == reader.lost_records == recording.lost[1] + recording.lost[2]


def test_nothing_is_lost_when_there_is_time_to_take_it(written, tmp_path):
    reader = Reader("robot", written.folder)
    file = RecordingFile(tmp_path / "file.mcap", reader)
    for _ in range(12):  # several times around the ring
        written.write(per_ring(written) // 2)
        take(reader, file)
    file.finish()
    recording = read_recording(file.path)
    assert recording.lost == {} and reader.lost_records == 0
    for session in recording.sessions.values():
        assert np.array_equal(session.ticks["index"], np.arange(written.ticks))
        assert np.array_equal(session.ticks["x"][:, -1], np.arange(written.ticks))


def test_file_is_written_in_small_pieces_that_follow_each_other(tmp_path, monkeypatch):
    sizes = []

    def write(file, data):
        sizes.append(len(data))
        return real(file, data[: max(1, len(data) - 1)])  # a system may take less, too

    real = os.write
    monkeypatch.setattr(os, "write", write)
    data = np.random.default_rng(0).bytes(5 * PIECE + 100)
    output = Output(tmp_path / "file")
    assert output.write(data) == len(data) == output.size
    output.close()
    assert (tmp_path / "file").read_bytes() == data
    assert max(sizes) == PIECE
