"""Prometheus's and Grafana's files name what `torqued metrics` gives, and nothing else."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from torqued.server.cli.main import build_parser
from torqued.server.observation.layout import LOOP_TICK
from torqued.server.observation.reader import Batch
from torqued.server.viewers.metrics import SESSION_COUNTERS, Metrics

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE = (DOCKER / "compose.observe.yaml").read_text()
ALERTS = (DOCKER / "observe" / "alerts.yml").read_text()
DASHBOARD = json.loads((DOCKER / "observe" / "grafana" / "torqued.json").read_text())

SESSION = {"session": 7, "law": "pd", "status": ["STALE"], "success_rate": 0.5} | dict.fromkeys(
    SESSION_COUNTERS, 3
)
STATS = {
    "ready": True,
    "uptime": 1.0,
    "unsent": 0,
    "outcomes": {"open": {"ok": 1}},
    "memory": {"resident": 1},
    "servo": {"rate": 1000.0, "stopped": False, "tick": 5, "missed": 0},
    "worker": {"queued": 0, "done": 0, "failed": 0, "deaths": 0},
    "observation": {"recorders": [{"process": 1, "alarm": ""}]},
    "sessions": [SESSION],
}


def given():
    metrics = Metrics("panda", lambda: STATS)
    metrics.add(Batch(loop=np.zeros(3, LOOP_TICK)))
    return {sample.name for family in metrics.collect() for sample in family.samples}


def named(text):
    return set(re.findall(r"torqued_[a-z_]+", text))


def expressions():
    yield ALERTS
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def test_alerts_and_panels_ask_for_what_there_is():
    asked = set().union(*map(named, expressions()))
    assert len(asked) > 10
    assert asked <= given()


def test_panels_do_not_overlap():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken and at["x"] + at["w"] <= 24
        taken |= cells


def test_command_is_the_programs_own_and_files_exist():
    (command,) = re.findall(r'\["(metrics", [^\]]*)\]', COMPOSE)
    build_parser().parse_args([word.strip().strip('"') for word in command.split(",")])
    mounted = re.findall(r"- \./(\S+?):", COMPOSE)
    assert len(mounted) == 5
    assert all((DOCKER / path).is_file() for path in mounted)


def test_nothing_is_open_to_the_network():
    for port in re.findall(r"ports: \[(.*)\]", COMPOSE):
        assert port.startswith('"127.0.0.1:')
    assert not re.search(r"privileged|network_mode: host|pid: host", COMPOSE)


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_prometheus_finds_no_fault():
    file = DOCKER / "observe" / "prometheus.yml"
    done = subprocess.run(["promtool", "check", "config", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
