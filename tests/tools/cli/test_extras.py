"""Commands where an extra is not installed: one sentence says which, and with it they work."""

import re

import numpy as np
import pytest
from packaging.requirements import Requirement

from support.installations import PROJECT, import_names, imported_from, key, run_with
from torqued.tools.cli import main as cli

STATES = ["states.npz", "--robot", "chain3", "--operation", "dynamics", "--want", "M"]
NOBODY = ["--robot", "nobody", "--folder", "."]

#: Command line → the extra that it takes beyond `server`, and what it says when it has that but
#: no daemon or file (nothing: it does its work).
COMMANDS = {
    ("record", *NOBODY): ("record", "nobody"),
    ("record", "--save-last", "60s", *NOBODY): ("record", "nobody"),
    ("replay", "missing.mcap"): ("record", "missing.mcap"),
    ("plot", "missing.mcap"): ("record", "missing.mcap"),
    ("identify", "missing.mcap", "--frame", "hand"): ("record", "missing.mcap"),
    ("dash", *NOBODY): ("dash", "nobody"),
    ("dash", "missing.mcap"): ("dash", "missing.mcap"),
    ("metrics", *NOBODY): ("observe", "nobody"),
    ("foxglove", *NOBODY): ("observe", "nobody"),
    ("batch", *STATES, "--out", "m.parquet"): ("cluster", ""),
    ("batch", *STATES, "--out", "m.npz", "--engine", "dask"): ("cluster", ""),
    ("bench", "kernels", "--help"): ("bench", ""),
    ("bench", "rtt", "--plot", "."): ("bench", None),
    ("demo", "tracking"): ("demo", None),
    ("models", "check", "chain2", "--picture", "m.png"): ("record", ""),
    ("demo", "--dash"): ("dash", None),
}


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "states.npz", q=rng.normal(size=(4, 3)), v=rng.normal(size=(4, 3)))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS, ids=" ".join)
def test_without_its_extra_a_command_says_what_to_install(line, place):
    extra, _ = COMMANDS[line]
    done = run_with("server", place, *line)
    if "--help" in line:  # explains itself with less
        assert done.returncode == 0
        return
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert re.fullmatch(
        rf"torqued: error: `torqued {line[0]}` needs \S+, which is not installed; "
        rf"install the '{extra}' extra: pip install 'torqued\[{extra}\]'\n",
        done.stderr,
    )
    assert not list(place.glob("m.*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for line, (_, said) in COMMANDS.items() if said is not None], ids=" ".join
)
def test_with_its_extra_a_command_misses_nothing(line, place):
    extra, said = COMMANDS[line]
    done = run_with(extra, place, *line)
    assert "pip install" not in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == (2 if said else 0), done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("command", ["stream", "ping", "top"])
def test_readers_without_an_extra_need_the_client_alone(command, place):
    done = run_with("", place, command, *(NOBODY if command == "stream" else NOBODY[:2]))
    assert done.returncode == 2
    assert "nobody" in done.stderr and "pip install" not in done.stderr


def test_robot_without_the_server_extra_says_what_to_install(place):
    done = run_with("", place, program=("-c", "from torqued.kernels import Robot"))
    assert done.returncode == 1
    assert "ModuleNotFoundError: torqued.kernels.Robot needs" in done.stderr
    assert "pip install 'torqued[server]'" in done.stderr


def test_a_missing_package_is_of_the_extra_that_is_meant_for_the_command():
    assert cli.extra_for("plot", "matplotlib.pyplot") == "record"
    assert cli.extra_for("demo", "matplotlib") == "demo"
    assert cli.extra_for("bench", "matplotlib") == "bench"
    assert cli.extra_for("dash", "lz4.frame") == "dash"
    assert cli.extra_for("demo", "viser") == "dash"
    assert cli.extra_for("record", "numba") == "server"
    assert cli.extra_for("models", "matplotlib") == "record"
    assert cli.extra_for("plot", "moon") is None


def test_extras_that_are_named_exist_and_bring_what_is_missed():
    assert set(cli.OWN_EXTRA) <= set(cli.COMMANDS)
    for module, extras in cli.EXTRAS.items():
        for extra in extras:
            assert module in import_names(extra), f"{extra} does not bring {module}"


#: Packages of extras that no command misses: files alone, one of the client's, and what trimesh
#: reads some meshes with, going without where it is missing.
NEVER_MISSED = {"example-robot-data", "pyzmq", "pycollada", "torqued"}


@pytest.mark.parametrize("extra", sorted(set().union(*cli.EXTRAS.values())))
def test_packages_of_an_extra_lead_to_it(extra):
    for line in PROJECT["optional-dependencies"][extra]:
        name = Requirement(line).name
        if name not in NEVER_MISSED:
            modules = imported_from({key(name)})
            assert any(extra in cli.EXTRAS.get(module, ()) for module in modules), name
