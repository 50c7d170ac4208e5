"""Prometheus's and Grafana's files name what `torqued metrics` gives, and nothing else."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from torqued.server.observation.layout import LOOP_TICK
from torqued.tools.cli.main import build_parser
from torqued.tools.recording.reader import Batch
from torqued.tools.viewers.metrics import SESSION_COUNTERS, Metrics

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


#: Series of a daemon that is well, a value a second for 90 s, as promtool writes them.
SESSION_LABELS = 'law="pd",robot="panda",session="7"'
WELL = {
    'torqued_up{robot="panda"}': "1x90",
    'torqued_loop_missed_total{robot="panda"}': "0x90",
    'torqued_loop_lateness_seconds_bucket{le="5e-05",robot="panda"}': "0+1000x90",
    'torqued_loop_lateness_seconds_bucket{le="0.001",robot="panda"}': "0+1000x90",
    'torqued_loop_lateness_seconds_bucket{le="+Inf",robot="panda"}': "0+1000x90",
    f'torqued_session_status{{bit="FALLBACK",{SESSION_LABELS}}}': "0x90",
    f"torqued_session_stale_total{{{SESSION_LABELS}}}": "0x90",
    'torqued_recorder_alarm{process="1",robot="panda"}': "0x90",
    'torqued_worker_deaths_total{robot="panda"}': "0x90",
}
#: Alert → what is different then, and its labels beside robot and severity.
SESSION_OF_IT = {"law": "pd", "session": "7"}
ALARMS = {
    "TorquedDown": ({'torqued_up{robot="panda"}': "0x90"}, {"severity": "critical"}),
    "TorquedMissedTicks": ({'torqued_loop_missed_total{robot="panda"}': "0+5x90"}, {}),
    "TorquedLate": (
        {'torqued_loop_lateness_seconds_bucket{le="5e-05",robot="panda"}': "0+10x150"},
        {},
    ),
    "TorquedFallback": (
        {f'torqued_session_status{{bit="FALLBACK",{SESSION_LABELS}}}': "1x90"},
        SESSION_OF_IT | {"bit": "FALLBACK"},
    ),
    "TorquedStale": (
        {f"torqued_session_stale_total{{{SESSION_LABELS}}}": "0+100x90"},
        SESSION_OF_IT,
    ),
    "TorquedRecorder": (
        {'torqued_recorder_alarm{process="1",robot="panda"}': "1x90"},
        {"process": "1"},
    ),
    "TorquedWorkerDied": ({'torqued_worker_deaths_total{robot="panda"}': "0x30 1x60"}, {}),
}


def tried(series, expected):
    """A test as promtool takes it: series, and which alerts there are after a minute and a half."""
    return {
        "interval": "1s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": "85s", "alertname": name, "exp_alerts": expected.get(name, [])}
            for name in ALARMS
        ],
    }


def unit_tests(folder, tests):
    """What promtool says of the rules; annotations are compared apart from their text."""
    rules = re.sub(r"\n\s+annotations:\n\s+summary: .*", "", ALERTS)
    (folder / "alerts.yml").write_text(rules)
    file = folder / "tests.yml"
    file.write_text(
        json.dumps({"rule_files": ["alerts.yml"], "evaluation_interval": "1s", "tests": tests})
    )
    return subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)


def test_each_rule_has_a_case():
    assert set(re.findall(r"alert: (\w+)", ALERTS)) == set(ALARMS)


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
@pytest.mark.parametrize("name", ALARMS)
def test_an_alert_comes_when_it_should_and_no_other(name, tmp_path):
    change, labels = ALARMS[name]
    given = {"robot": "panda", "severity": "warning"} | labels
    done = unit_tests(tmp_path, [tried(WELL | change, {name: [{"exp_labels": given}]})])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_no_alert_while_all_is_well(tmp_path):
    done = unit_tests(tmp_path, [tried(WELL, {})])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_rules_and_their_texts_are_as_prometheus_takes_them():
    file = DOCKER / "observe" / "alerts.yml"
    done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(ALARMS)} rules found" in done.stdout
