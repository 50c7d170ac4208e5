"""Viewers beside a daemon that serves a session: what Prometheus, PlotJuggler, Foxglove get."""

import json
import os
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import msgpack
import pytest
import zmq
from websockets.sync.client import connect

from support.daemons import daemon_of, free_port
from support.eventually import eventually
from support.viewing import ROBOT, Viewer
from torqued.tools.recording.reader_scheduling import NICENESS

pytestmark = pytest.mark.slow


daemon = daemon_of(ROBOT)


def metrics_at(address):
    """Name with labels → value."""
    with urllib.request.urlopen(address, timeout=60.0) as reply:
        lines = reply.read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


@pytest.fixture(scope="module")
def metrics(daemon, driver):
    with Viewer(daemon, "metrics", "--listen", "127.0.0.1:0") as viewer:
        yield viewer.introduction.split()[-1]


class TestPrometheus:
    def test_ticks_grow_and_histograms_count_them(self, metrics):
        label = f'{{robot="{ROBOT}"}}'

        def counted():
            found = metrics_at(metrics)
            return found if float(found[f"torqued_loop_lateness_seconds_count{label}"]) > 50 else {}

        first = eventually(counted)
        assert first[f"torqued_up{label}"] == "1.0"
        bins = [
            float(first[key]) for key in first if key.startswith("torqued_loop_compute_seconds_b")
        ]
        assert bins == sorted(bins)
        assert bins[-1] == float(first[f"torqued_loop_compute_seconds_count{label}"])
        ticks = f"torqued_loop_ticks_total{label}"
        eventually(lambda: float(metrics_at(metrics)[ticks]) > float(first[ticks]))

    def test_sessions_and_requests(self, metrics, driver):
        found = metrics_at(metrics)
        labels = f'law="pd_plus",robot="{ROBOT}",session="{driver.number}"'
        assert float(found[f"torqued_session_states_total{{{labels}}}"]) > 0
        assert f'torqued_session_status{{bit="STALE",{labels}}}' in found
        opened = f'torqued_requests_total{{operation="open",outcome="ok",robot="{ROBOT}"}}'
        assert float(found[opened]) >= 1.0

    def test_refusals_are_counted_by_their_code(self, metrics, daemon):
        with daemon.client() as client, pytest.raises(Exception, match="law"):
            client.call("open", law="no such law")
        key = f'torqued_requests_total{{operation="open",outcome="bad_field",robot="{ROBOT}"}}'
        assert float(metrics_at(metrics)[key]) >= 1.0

    @pytest.mark.skipif(not shutil.which("prometheus"), reason="prometheus is not installed")
    def test_prometheus_itself_reads_it(self, metrics, tmp_path):
        target = urllib.parse.urlparse(metrics).netloc
        config = tmp_path / "prometheus.yml"
        config.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "1s"},
                    "rule_files": [],
                    "scrape_configs": [
                        {"job_name": "torqued", "static_configs": [{"targets": [target]}]}
                    ],
                }
            )
        )
        port = free_port(1)
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=error",
            ]
        )
        try:
            query = urllib.parse.quote("torqued_loop_ticks_total")
            address = f"http://127.0.0.1:{port}/api/v1/query?query={query}"

            def answer():
                try:
                    with urllib.request.urlopen(address, timeout=60.0) as reply:
                        return json.loads(reply.read())["data"]["result"]
                except OSError:
                    return None  # it is still starting

            (series,) = eventually(answer)
            assert series["metric"]["robot"] == ROBOT
            assert float(series["value"][1]) > 0.0
        finally:
            process.terminate()
            process.wait(60.0)


@pytest.mark.parametrize("command", ["stream", "metrics", "foxglove"])
def test_viewer_stands_back_with_all_of_its_threads(daemon, driver, command):
    options = {"stream": ("--endpoint", "tcp://127.0.0.1:*")}
    with Viewer(daemon, command, *options.get(command, ("--listen", "127.0.0.1:0"))) as viewer:
        threads = [int(path.name) for path in Path(f"/proc/{viewer.process.pid}/task").iterdir()]
        own = os.getpriority(os.PRIO_PROCESS, 0)
        niceness = {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}
    assert len(threads) > 1 and niceness == {min(19, own + NICENESS)}


def test_plotjuggler_gets_topic_map_and_time(daemon, driver):
    with (
        Viewer(daemon, "stream", "--endpoint", "tcp://127.0.0.1:*") as viewer,
        zmq.Context() as context,
        context.socket(zmq.SUB) as socket,
    ):
        socket.linger = 0
        socket.rcvtimeo = 60_000
        socket.subscribe(b"")
        socket.connect(viewer.introduction.split()[-1])
        received = [socket.recv_multipart() for _ in range(20)]
    times = []
    for topic, body, time in received:
        assert topic.decode() == f"{ROBOT}/pd_plus/{driver.number}"
        values = msgpack.unpackb(body)
        assert list(values["q"].values()) == driver.q.tolist()
        assert len(values["tau"]) == 4 and values["status"] == 0
        times.append(float(time))
    assert times == sorted(times) and len(set(times)) == 20


def test_foxglove_gets_transforms_and_joints(daemon, driver):
    with Viewer(daemon, "foxglove", "--listen", "127.0.0.1:0") as viewer:
        address = viewer.introduction.split()[-1]
        with connect(address, subprotocols=["foxglove.sdk.v1"]) as socket:
            channels = {}

            def advertised():
                message = socket.recv(timeout=60.0)
                if isinstance(message, str):
                    known = json.loads(message)
                    if known["op"] == "advertise":
                        channels.update({item["topic"]: item["id"] for item in known["channels"]})
                return {"/tf", f"/{driver.number}/pd_plus"} <= set(channels)

            eventually(advertised)
            wanted = [channels["/tf"], channels[f"/{driver.number}/pd_plus"]]
            subscriptions = [{"id": k, "channelId": one} for k, one in enumerate(wanted)]
            socket.send(json.dumps({"op": "subscribe", "subscriptions": subscriptions}))
            bodies = {}

            def arrived():
                message = socket.recv(timeout=60.0)
                if isinstance(message, bytes) and message[0] == 1:
                    bodies[int.from_bytes(message[1:5], "little")] = message[13:]
                return len(bodies) == 2

            eventually(arrived)
    assert b"world" in bodies[0]
    numbers = json.loads(bodies[1])
    assert numbers["q"] == driver.q.tolist() and len(numbers["tau"]) == 4


@pytest.mark.parametrize("command", ["metrics", "foxglove"])
def test_address_that_is_none_is_refused(command, daemon):
    result = subprocess.run(
        [sys.executable, "-m", "torqued.tools.cli.main", command, "--listen", "nowhere"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert "'nowhere', expected HOST:PORT" in result.stderr
