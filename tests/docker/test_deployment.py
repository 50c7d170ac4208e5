"""Image, compose files and systemd unit agree with the program and with each other.

They are proved to work by docker/prove, which needs root and a network; this needs neither.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from torqued.kernels.compilation.target_cpu import KINDS, VARIABLE
from torqued.server.config import load_config
from torqued.tools.cli.main import build_parser

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
#: Files that serve a robot; the one beside them adds what looks at it.
OBSERVE = "compose.observe.yaml"
COMPOSE = {
    path.name: path.read_text()
    for path in sorted(DOCKER.glob("compose*.yaml"))
    if path.name != OBSERVE
}
UNIT = (DOCKER / "torqued@.service").read_text()
ROBOTS = sorted((DOCKER / "robots").glob("*.toml"))

#: Lines that every compose file has, whatever else it says.
SAFE = (
    "read_only: true",
    "network_mode: none",
    'security_opt: ["no-new-privileges:true"]',
    "cap_drop: [ALL]",
    "cap_add: [SYS_NICE, IPC_LOCK]",
    "init: true",
    "memlock: -1",
)


def json_commands(text):
    """Every ["serve", …] or ["torqued", …] list."""
    for found in re.findall(r'\["((?:serve|torqued)", [^\]]*)\]', text):
        words = [word.strip().strip('"') for word in found.split(",")]
        yield words[1:] if words[0] == "torqued" else words


def unit_commands():
    for line in re.findall(r"^Exec\w+=(.*)$", UNIT, re.M):
        program, *arguments = line.split()
        assert program == "/opt/torqued/bin/torqued"
        yield arguments


def commands():
    yield from json_commands(DOCKERFILE)
    for text in COMPOSE.values():
        yield from json_commands(text)
    yield from unit_commands()


@pytest.mark.parametrize("arguments", list(commands()), ids=" ".join)
def test_commands_are_the_programs_own(arguments):
    build_parser().parse_args(arguments)


def test_every_kind_of_command_is_found():
    assert {arguments[0] for arguments in commands()} == {"serve", "ping", "reload"}
    assert len(COMPOSE) == 2


def test_image_runs_as_an_ordinary_user_and_starts_the_daemon():
    last_stage = DOCKERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER torqued$", last_stage, re.M)
    assert re.search(r"useradd .*--uid 10001", last_stage)
    assert 'ENTRYPOINT ["torqued"]' in last_stage
    assert "HEALTHCHECK" in last_stage and 'CMD ["torqued", "ping"]' in last_stage


def test_image_is_built_with_a_python_that_is_new_enough():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = re.search(r"^ARG BASE=python:(\d+)\.(\d+)-slim$", DOCKERFILE, re.M)
    least = re.fullmatch(r">=(\d+)\.(\d+)", project["requires-python"])
    assert tuple(map(int, base.groups())) >= tuple(map(int, least.groups()))


def test_image_compiles_for_the_processor_that_it_runs_for():
    assert len(set(re.findall(r"^ARG CPU=(.*)$", DOCKERFILE, re.M))) == 1
    assert re.search(r"^ARG CPU=(.*)$", DOCKERFILE, re.M)[1] in KINDS
    assert len(re.findall(rf"{VARIABLE}=\$\{{CPU\}}", DOCKERFILE)) == 2
    assert len(re.findall(r"TORQUED_CACHE_DIR=/opt/torqued/cache", DOCKERFILE)) == 2


def test_image_is_made_of_the_wheels_sources_alone():
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.split("/")[0] for path in packages["package-dir"].values()}
    taken = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert ignored[1] == "*"
    assert taken == folders | {"pyproject.toml", "setup.py", "README.md", "LICENSE"}


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_are_safe(name):
    lines = [line.partition(" #")[0].strip() for line in COMPOSE[name].splitlines()]
    assert not [line for line in SAFE if line not in lines]
    assert not re.search(r"privileged|network_mode: host|pid: host", COMPOSE[name])


@pytest.mark.parametrize("name", COMPOSE)
def test_files_that_compose_mounts_exist_and_load(name, tmp_path):
    for path in re.findall(r'"--config", "/etc/torqued/(.*?)"', COMPOSE[name]):
        assert DOCKER / "robots" / path in ROBOTS
    names = re.findall(r"TORQUED_NAME: (\w+)", COMPOSE[name])
    assert len(set(names)) == len(names) > 0


@pytest.mark.parametrize("file", ROBOTS, ids=lambda file: file.name)
def test_priorities_are_within_the_limits_that_are_given(file):
    config = load_config(file, {}, {})
    limits = [int(n) for text in COMPOSE.values() for n in re.findall(r"rtprio: (\d+)", text)]
    limits.append(int(re.search(r"^LimitRTPRIO=(\d+)$", UNIT, re.M)[1]))
    assert 0 < config.priority <= min(limits)
    assert config.lock_memory


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_finds_no_fault_in_the_unit(tmp_path):
    """With a program that exists in place of one that is installed later."""
    unit = tmp_path / "torqued@arm.service"
    unit.write_text(UNIT.replace("/opt/torqued/bin/torqued", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_unit_keeps_its_realtime_and_lets_machine_code_run():
    settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT, re.M))
    assert settings["Type"] == "notify"
    assert settings["LimitMEMLOCK"] == "infinity"
    assert settings["AmbientCapabilities"] == settings["CapabilityBoundingSet"]
    assert settings["RuntimeDirectoryMode"] == "0750"  # what --group demands
    assert not {"RestrictRealtime", "MemoryDenyWriteExecute"} & set(settings)
