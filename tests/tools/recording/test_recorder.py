"""Recorders of a daemon: what is in their files, and what happens to them."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader

from support.eventually import eventually
from torqued.common.status import LAST
from torqued.tools.cli.record import duration, limit
from torqued.tools.cli.stats import view
from torqued.tools.recording.recording import RecordingError, read_recording
from torqued.tools.recording.recording_file import CHUNK_SECONDS

RECORD = [sys.executable, "-m", "torqued.tools.cli.main", "record", "--robot", "panda"]
N = 7


@pytest.fixture(scope="module")
def daemon(folder, shared_daemons):
    settings = {"record": "true", "record_minutes": 0.2, "record_folder": folder / "flight"}
    with shared_daemons.lend("panda", fresh=True, **settings) as process:
        yield process


@pytest.fixture
def recorder(daemon, tmp_path):
    """Starts recorders into `tmp_path`; none outlives the test."""
    made = []

    def start(*options, **popen):
        command = [*RECORD, "--folder", str(daemon.folder), "--out", str(tmp_path), *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen
        )
        made.append(process)
        eventually(lambda: list(tmp_path.glob("*.mcap")) or process.poll() is not None)
        return process

    yield start
    for process in made:
        process.kill()
        process.communicate()


def drive(client, ticks, law="pd_plus", **options):
    """A session with some motion; its outputs."""
    rng = np.random.default_rng(0)
    neutral = client.hello().neutral
    with client.session(law, **options) as session:
        outputs = [
            session.step(neutral + rng.uniform(-0.05, 0.05, N), rng.uniform(-0.1, 0.1, N))
            for _ in range(ticks)
        ]
    return session.number, outputs


def files(folder):
    return sorted(Path(folder).glob("*.mcap"))


def test_recording_has_every_tick_of_a_session_and_the_robot(client, recorder, tmp_path):
    process = recorder()
    number, outputs = drive(client, 50)
    eventually(lambda: number in read_recording(files(tmp_path)[0]).sessions)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    recording = read_recording(files(tmp_path)[0])
    session = recording.sessions[number]
    assert session.from_start and session.has_all and recording.lost == {}
    assert session.ticks["status"][-1] & LAST
    by_tick = {int(tick["tick"]): tick for tick in session.ticks}
    for output in outputs:
        tick = by_tick[output.tick]
        assert np.array_equal(tick["tau"], output.tau)
        assert tick["time"] - tick["deadline"] == pytest.approx(
            1e9 * (output.time - output.deadline), abs=1e3
        )
    assert np.array_equal(
        session.gains[0].values[: N * N].reshape(N, N), session.info.gains["stiffness"]
    )
    assert "<robot" in recording.robot_text and recording.robot["joints"]
    assert len(recording.loop) > len(session.ticks) // 2


def test_file_is_mcap_with_an_index_schemas_units_and_the_urdf(client, recorder, tmp_path):
    process = recorder("--sessions", "gravity", "--seconds", "2")
    gravity, _ = drive(client, 20, "gravity")
    other, _ = drive(client, 20)
    assert process.wait(60) == 0
    with files(tmp_path)[0].open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        assert summary is not None
        topics = {channel.topic: channel for channel in summary.channels.values()}
        assert f"/sessions/{gravity}" in topics and f"/sessions/{other}" not in topics
        channel = topics[f"/sessions/{gravity}"]
        assert json.loads(channel.metadata["units"])["tau"] == "N m"
        assert summary.schemas[channel.schema_id].encoding == channel.message_encoding == "protobuf"
        (attachment,) = reader.iter_attachments()
        assert attachment.name == "robot.urdf" and b"<robot" in attachment.data
        times = [message.log_time for _, _, message in reader.iter_messages()]
    assert abs(times[-1] - time.time_ns()) < 600e9  # by the wall clock


def test_killed_recorder_loses_at_most_a_second(client, recorder, tmp_path):
    process = recorder()
    neutral = client.hello().neutral
    with client.session("gravity") as session:
        path = files(tmp_path)[0]
        eventually(
            lambda: (session.step(neutral, np.zeros(N)), path.stat().st_size > 2e5)[1], pause=0
        )
        last = session.step(neutral, np.zeros(N))
        # What the recorder saw a second ago is there, however little of the machine it gets now.
        eventually(lambda: recorded(path, session.number) >= last.tick)
        newest = session.step(neutral, np.zeros(N))
        process.kill()
        process.wait()
    found = read_recording(path).sessions[session.number]
    assert found.from_start and found.has_all
    assert last.tick <= found.ticks["tick"][-1] <= newest.tick + 1000
    assert CHUNK_SECONDS <= 1.0


def recorded(path, number):
    sessions = read_recording(path).sessions
    return int(sessions[number].ticks["tick"][-1]) if number in sessions else -1


def test_full_disk_stops_the_recording_with_an_alarm_and_not_the_loop(client, recorder, tmp_path):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    neutral = client.hello().neutral
    with client.session("gravity") as session:  # open before ticks of the loop fill the disk
        process = recorder(preexec_fn=small)
        eventually(
            lambda: (session.step(neutral, np.zeros(N)), process.poll() is not None)[1], pause=0
        )
        assert process.returncode == 2
        assert "recording stopped" in process.stderr.read()
        first = session.step(neutral, np.zeros(N)).tick
        eventually(lambda: session.step(neutral, np.zeros(N)).tick > first + 20)

        def alarm():
            found = client.stats().observation["recorders"]
            return [item["alarm"] for item in found if item["process"] == process.pid]

        assert "File too large" in eventually(alarm)[0]
        assert f"recorder {process.pid}: recording stopped" in view(client.stats().as_dict())
    recording = read_recording(files(tmp_path)[0])  # up to the last whole chunk
    assert recording.sessions[session.number].has_all
    assert files(tmp_path)[0].stat().st_size <= 150_000


def test_files_rotate_and_old_ones_go(client, recorder, tmp_path):
    process = recorder("--rotate", "0.5s", "--keep", "1s")
    neutral = client.hello().neutral
    with client.session("gravity") as session:
        seen = set()

        def several():
            session.step(neutral, np.zeros(N))
            seen.update(files(tmp_path))
            return len(seen) > 6

        eventually(several)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    left = files(tmp_path)
    assert len(left) < len(seen)
    ticks = [read_recording(path).sessions for path in left]
    gains = [item[session.number].gains for item in ticks if session.number in item]
    assert all(gains)  # each file has those in effect
    index = np.concatenate(
        [item[session.number].ticks["index"] for item in ticks if session.number in item]
    )
    assert (np.diff(index) == 1).all()


def test_flight_recorder_keeps_the_last_seconds(daemon, client, tmp_path):
    number, _ = drive(client, 300)
    flight, *_ = eventually(
        lambda: [x for x in client.stats().observation["recorders"] if x["keep"] > 0.0]
    )
    deleted = Path(flight["file"]).with_name("panda-20260101-000000-000.mcap")  # since it was seen
    deleted.symlink_to(tmp_path / "nothing")
    options = ["--folder", str(daemon.folder), "--out", str(tmp_path), "--save-last", "30s"]
    done = subprocess.run([*RECORD, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = files(tmp_path)
    assert path.name.startswith("panda-saved-") and str(path) in done.stdout
    session = read_recording(path).sessions[number]
    assert session.has_all and len(session.ticks) > 100
    assert session.gains


def test_without_a_flight_recorder_saving_says_what_to_do(another, tmp_path):
    daemon = another("--robot", "chain4", name="plain", ring_size=8).start()
    command = [*RECORD[:-1], "plain", "--folder", str(daemon.folder), "--save-last", "60s"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "record = true" in done.stderr


def test_flight_recorder_ends_with_its_daemon_and_finishes_its_file(another, tmp_path):
    settings = {"record": "1", "record_folder": tmp_path}
    daemon = another("--robot", "chain4", name="flown", ring_size=8, **settings).start()
    with daemon.client() as client:
        (report,) = eventually(lambda: client.stats().observation["recorders"])
    daemon.kill()
    eventually(lambda: not Path(f"/proc/{report['process']}").exists())
    with Path(report["file"]).open("rb") as file:
        assert make_reader(file).get_summary() is not None
    assert os.stat(report["file"]).st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "report",
    [
        {"state": "dancing"},
        {"state": "recording", "process": "one"},
        {"state": "recording", "speed": 1},
        {"state": "recording", "alarm": "x" * 5000},
        {"state": "recording", "ticks": True},
        {"state": "recording", "ticks": -1},
        {"state": "recording", "keep": float("nan")},
    ],
)
def test_report_that_makes_no_sense_is_refused(client, report):
    from torqued.client import errors

    with pytest.raises(errors.RequestError) as caught:
        client.recorder(report)
    assert caught.value.code == "bad_field"


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x89MCAP0\r\n"])
def test_what_is_no_recording_is_refused(tmp_path, content):
    path = tmp_path / "x.mcap"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="not a torqued recording"):
        read_recording(path)
    with pytest.raises(RecordingError, match="no such file"):
        read_recording(tmp_path / "y.mcap")


def test_times_and_sizes_of_the_command_line():
    assert (duration("60s"), duration("10min"), duration("1.5h")) == (60.0, 600.0, 5400.0)
    assert limit("1GB") == (0.0, 10**9) and limit("10min") == (600.0, 0)
    with pytest.raises(Exception, match="neither a time"):
        limit("tomorrow")
