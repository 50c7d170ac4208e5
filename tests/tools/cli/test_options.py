"""Which daemon a command means."""

import argparse
import socket
from contextlib import ExitStack

import pytest

from torqued.client import TorquedError
from torqued.tools.cli.main import main
from torqued.tools.cli.options import add_connection, connect


@pytest.fixture
def listening(tmp_path, monkeypatch):
    """Makes control sockets of daemons by name, in a folder that is the user's."""
    monkeypatch.setenv("TORQUED_FOLDER", str(tmp_path))
    monkeypatch.delenv("TORQUED_NAME", raising=False)
    with ExitStack() as stack:

        def listen(*names):
            for name in names:
                end = stack.enter_context(socket.socket(socket.AF_UNIX))
                end.bind(str(tmp_path / f"{name}.control.sock"))
                end.listen()

        yield listen


@pytest.fixture
def endpoint_of(listening, tmp_path):
    """The endpoint that options mean."""
    parser = argparse.ArgumentParser()
    add_connection(parser)

    def endpoint(*options):
        with connect(parser.parse_args(options)) as client:
            return client.endpoint.removeprefix(f"ipc://{tmp_path}/")

    return endpoint


def test_without_options_it_is_the_only_one(endpoint_of, listening):
    listening("left")
    assert endpoint_of() == "left.sock"


def test_without_options_none_or_several_are_no_answer(endpoint_of, listening, tmp_path):
    with pytest.raises(TorquedError, match=f"no daemon is running in {tmp_path}"):
        endpoint_of()
    listening("left", "right")
    with pytest.raises(TorquedError, match=f"several daemons in {tmp_path}: left, right"):
        endpoint_of()


def test_environment_names_one_and_an_option_another(endpoint_of, listening, monkeypatch):
    listening("left", "right")
    monkeypatch.setenv("TORQUED_NAME", "right")
    assert endpoint_of() == "right.sock"
    assert endpoint_of("--robot", "left") == "left.sock"
    assert endpoint_of("--endpoint", "ipc:///elsewhere.sock") == "ipc:///elsewhere.sock"


def test_sockets_that_dead_daemons_left_do_not_count(endpoint_of, listening, tmp_path):
    listening("left")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead.control.sock"))
    (tmp_path / "file.control.sock").touch()
    assert endpoint_of() == "left.sock"


@pytest.mark.parametrize("command", ["ping", "stats", "top", "reload", "call"])
def test_misspelt_name_is_answered_with_those_running(listening, tmp_path, capsys, command):
    """Without a wait: nobody answers behind that name, however long one waits."""
    listening("left", "right")
    further = ["hello"] if command == "call" else []
    assert main([command, *further, "--robot", "lfet", "--timeout", "1000"]) == 2
    assert capsys.readouterr().err == (
        f"torqued: error: no daemon 'lfet' is running; daemons in {tmp_path}: left, right\n"
    )


def test_folder_is_where_the_daemon_is_looked_for(endpoint_of, listening, tmp_path, monkeypatch):
    listening("left")
    monkeypatch.setenv("TORQUED_FOLDER", str(tmp_path / "elsewhere"))
    assert endpoint_of("--folder", str(tmp_path)) == "left.sock"
    assert endpoint_of("--folder", str(tmp_path), "--robot", "left") == "left.sock"
    with pytest.raises(TorquedError, match=r"no daemon is running in .*elsewhere"):
        endpoint_of()


def test_recording_of_unknown_sessions_is_refused(capsys, tmp_path):
    words = ["--robot", "left", "--folder", str(tmp_path), "--sessions", "3", "pd", "foo"]
    assert main(["record", *words]) == 2
    assert "'foo' is neither a session number nor a law: " in capsys.readouterr().err
