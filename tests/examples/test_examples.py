"""The examples run against a real daemon."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.daemons import daemon_of
from torqued.common.status import STATUS

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Seconds for a program that needs a fraction of one, or for npm to fetch four packages.
LONGEST = 600


daemon = daemon_of("chain20")


def output_of(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_python_example(daemon):
    lines = output_of(sys.executable, EXAMPLES / "session.py", daemon.endpoint)
    assert lines[0] == "robot chain20: nq 20, nv 20, 1000 Hz"
    assert lines[-2:] == ["state 100, status OK", "tau = g - d v: True"]


def test_stream_example(daemon):
    lines = output_of(sys.executable, EXAMPLES / "stream.py", daemon.endpoint)
    assert lines[1:3] == ["state 200, status OK", "M (20, 20), J (6, 20), torque (20,)"]
    assert lines[3] == "as requests give it: True"


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory):
    """The Node.js example with its packages installed, apart from the sources."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("Node.js and npm are not installed")
    folder = tmp_path_factory.mktemp("node")
    shutil.copytree(EXAMPLES / "node", folder, dirs_exist_ok=True)
    install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        pytest.skip("npm does not get its packages in time")
    if done.returncode != 0:
        pytest.skip(f"npm cannot install the example's packages: {done.stderr[-200:]}")
    return folder


def test_status_bits_of_the_node_example_are_those_of_the_table():
    source = (EXAMPLES / "node/torqued.mjs").read_text()
    table = source.partition("const STATUS = {")[2].partition("}")[0]
    assert {int(bit): name for bit, name in re.findall(r'(\d+): "(\w+)"', table)} == STATUS


def test_node_example_finds_a_daemon_by_its_name(daemon, node_folder):
    folder, name = daemon.endpoint.removeprefix("ipc://").removesuffix(".sock").rsplit("/", 1)
    environment = os.environ | {"TORQUED_FOLDER": folder}
    node = shutil.which("node")
    lines = output_of(node, "torqued.mjs", name, cwd=node_folder, env=environment)
    assert lines[0] == "robot chain20: nq 20, nv 20, 1000 Hz"


def test_another_language_talks_to_the_daemon_from_the_document_alone(daemon, node_folder):
    lines = output_of(shutil.which("node"), "torqued.mjs", daemon.endpoint, cwd=node_folder)
    assert lines[0] == "robot chain20: nq 20, nv 20, 1000 Hz"
    assert lines[1].startswith("M 20 x 20, M[0][0] ")
    head, error = lines[2].rsplit(" ", 1)
    assert head == "state 100, status [], |tau - (g - d v)|"
    assert float(error) < 1e-9
    assert lines[3] == "refused: bad_field: q: shape (2,), expected (20,)"
