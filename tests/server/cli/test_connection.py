"""Which daemon a command means."""

import argparse

import pytest

from torqued.client import TorquedError
from torqued.server.cli.connection import add_connection, connect


@pytest.fixture
def endpoint_of(tmp_path, monkeypatch):
    """The endpoint that options mean, in a folder with sockets of these daemons."""
    monkeypatch.setenv("TORQUED_FOLDER", str(tmp_path))
    monkeypatch.delenv("TORQUED_NAME", raising=False)
    parser = argparse.ArgumentParser()
    add_connection(parser)

    def endpoint(*options, there=()):
        for name in there:
            (tmp_path / f"{name}.control.sock").touch()
        with connect(parser.parse_args(options)) as client:
            return client.endpoint.removeprefix(f"ipc://{tmp_path}/")

    return endpoint


def test_without_options_it_is_the_only_one(endpoint_of):
    assert endpoint_of(there=["left"]) == "left.sock"


def test_without_options_none_or_several_are_no_answer(endpoint_of):
    with pytest.raises(TorquedError, match="there is none"):
        endpoint_of()
    with pytest.raises(TorquedError, match="there are left, right"):
        endpoint_of(there=["left", "right"])


def test_environment_names_one_and_an_option_another(endpoint_of, monkeypatch):
    monkeypatch.setenv("TORQUED_NAME", "right")
    assert endpoint_of(there=["left", "right"]) == "right.sock"
    assert endpoint_of("--robot", "left") == "left.sock"
    assert endpoint_of("--endpoint", "ipc:///elsewhere.sock") == "ipc:///elsewhere.sock"
