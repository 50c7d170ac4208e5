import os
import shlex
import subprocess
import sys
import warnings

import pytest
import zmq

from support.in_thread import InThread
from torqued.common.errors import InputError, ModelWarning
from torqued.kernels import Robot
from torqued.server import logs
from torqued.tools.cli import main as cli
from torqued.tools.cli import models


def outcome(capsys, *argv):
    """Exit code, standard output and standard error of `torqued argv…`."""
    try:
        code = cli.main(argv)
    except SystemExit as stop:
        code = stop.code
    return code, *capsys.readouterr()


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself_with_an_example(capsys, name):
    code, out, _ = outcome(capsys, name, "--help")
    assert code == 0
    assert f"usage: torqued {name}" in out
    assert f"example:\n  torqued {name}" in out


def test_help_lists_every_command(capsys):
    code, out, _ = outcome(capsys, "--help")
    assert code == 0
    assert all(f"{name}  " in out for name in cli.COMMANDS)


def test_without_a_command_the_commands_are_listed(capsys):
    code, out, err = outcome(capsys)
    assert (code, out) == (2, "")
    assert all(
        f"{name}  " in err and command.HELP[:20] in err for name, command in cli.COMMANDS.items()
    )


def test_version_is_printed(capsys):
    code, out, _ = outcome(capsys, "--version")
    assert code == 0
    assert out.startswith("torqued 0.")


@pytest.mark.parametrize("argv", [(), ("dance",), ("bench", "nothing"), ("demo", "--seed", "x")])
def test_wrong_usage_exits_with_2(capsys, argv):
    code, out, err = outcome(capsys, *argv)
    assert code == 2
    assert not out
    assert "usage: torqued" in err


@pytest.fixture
def raising(monkeypatch):
    """Makes `torqued models` raise an error."""

    def use(error):
        def run(args):
            raise error

        monkeypatch.setattr(models, "run", run)

    return use


def test_torqueds_own_errors_are_one_message_without_a_traceback(capsys, raising):
    raising(InputError("robot 'x': mass is -1 kg; it must not be negative"))
    expected = "torqued: error: robot 'x': mass is -1 kg; it must not be negative\n"
    assert outcome(capsys, "models") == (2, "", expected)


@pytest.mark.parametrize("error", [ZeroDivisionError(), ModuleNotFoundError(name="moon")])
def test_other_errors_are_not_hidden(raising, error):
    raising(error)
    with pytest.raises(type(error)):
        cli.main(["models"])


def test_interruption_exits_with_130(raising):
    raising(KeyboardInterrupt())
    assert cli.main(["models"]) == 130


def test_missing_dependency_names_the_extra_that_brings_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    code, out, err = outcome(capsys, "compile")
    assert (code, out) == (2, "")
    assert err == (
        "torqued: error: `torqued compile` needs rich.console, which is not installed; "
        "install the 'server' extra: pip install 'torqued[server]'\n"
    )


def plain_installation(*arguments, **environment):
    """A command in a fresh interpreter that finds none of the optional packages."""
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({list(cli.EXTRAS)!r}))\n"
        "from torqued.tools.cli.main import main\n"
        f"sys.exit(main({arguments!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


#: What a controller's machine needs, where only the client is installed.
FOR_CLIENTS = {"ping", "call", "stats", "top", "reload", "keys", "stream"}
#: What has an extra of its own, which brings the server's.
OWN_EXTRA = dict.fromkeys(("record", "replay", "plot", "identify"), "record")
OWN_EXTRA |= {"dash": "dash", "metrics": "observe", "foxglove": "observe"}


@pytest.mark.parametrize("name", sorted(set(cli.COMMANDS) - FOR_CLIENTS))
def test_plain_installation_answers_the_servers_commands_with_the_extra_to_install(name):
    further = {"bench": ["kernels"], "serve": ["--robot", "chain2"]}
    further |= {"replay": ["x.mcap"], "plot": ["x.mcap"]}
    further |= {"excite": ["--robot", "chain2", "--out", "x.npz"]}
    further |= {"identify": ["x.mcap", "--frame", "hand"], "record": ["--robot", "chain2"]}
    further |= {"batch": ["x.npz", "--operation", "dynamics", "--out", "y.npz"]}
    extra = OWN_EXTRA.get(name, "server")
    done = plain_installation(name, *further.get(name, []))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torqued: error: `torqued {name}` needs ")
    assert done.stderr.endswith(f"install the {extra!r} extra: pip install 'torqued[{extra}]'\n")


@pytest.mark.parametrize("begin", ["", "-", "--"])
def test_plain_installation_makes_keys(tmp_path, begin):
    """A client's machine makes its own key, and only the public half travels."""
    server = (begin + zmq.curve_keypair()[0].decode())[:40]
    done = plain_installation("keys", "new", "arm", "--server-key", server, "--keys", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "torqued keys allow arm --rights read --public" in done.stdout
    assert server in (tmp_path / "arm.key").read_text()


def test_plain_installation_talks_to_a_daemon(tmp_path):
    with InThread(Robot.family("chain", 3), tmp_path / "run"):
        for command, said in {
            ("ping",): "thread: ready (",
            ("stats",): "thread: up ",
            ("top", "--seconds", "0.1"): "thread: up ",
            ("call", "dynamics", "--q", "neutral", "--want", "M"): "M: 3 × 3\n",
        }.items():
            done = plain_installation(*command, TORQUED_FOLDER=str(tmp_path / "run"))
            assert (done.returncode, done.stderr) == (0, ""), command
            assert done.stdout.startswith(said)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_examples_of_help_are_command_lines_that_exist(name):
    lines = cli.COMMANDS[name].EXAMPLE.partition("\n\n")[0].replace("\\\n", " ").splitlines()
    assert lines
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "torqued"
        if "--help" not in arguments:
            cli.build_parser().parse_args(arguments)


def test_model_warnings_are_sentences(capsys, monkeypatch):
    def run(args):
        warnings.simplefilter("always")
        warnings.warn("link 'hand': no inertia", ModelWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(models, "run", run)
    assert outcome(capsys, "models") == (0, "", "torqued: warning: link 'hand': no inertia\n")


def test_model_warnings_of_a_daemon_that_logs_json_are_json(monkeypatch, caplog):
    def run(args):
        warnings.simplefilter("always")
        warnings.warn("link 'hand': no inertia", ModelWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(models, "run", run)
    monkeypatch.setattr(logs, "written_as", lambda: "json")
    assert cli.main(["models"]) == 0
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("WARNING", "link 'hand': no inertia")


def test_models_lists_families_and_real_robots(capsys):
    code, out, _ = outcome(capsys, "models")
    assert code == 0
    names = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert {"chainN", "treeN", "bipedN", "quadrupedN", "panda", "icub", "talos_reduced"} <= names
    (panda,) = (line for line in out.splitlines() if line.startswith("panda "))
    assert panda.split()[:6] == ["panda", "franka", "urdf", "yes", "fixed", "7"]
    assert panda.endswith("locked: panda_finger_joint1 at 0 m, panda_finger_joint2 at 0 m")


def test_unknown_robot_is_reported(capsys):
    code, out, err = outcome(capsys, "serve", "--robot", "pnda")
    assert (code, out) == (2, "")
    assert err == "torqued: error: --robot: robot 'pnda' is not known; did you mean panda?\n"
