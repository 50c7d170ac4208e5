"""Daemons in processes of their own."""

import pytest
from daemons import DaemonProcess


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o700)
    return folder


@pytest.fixture
def another(folder):
    """Makes further daemons; none outlives the test."""
    made = []

    def make(*options, name="other", **environment):
        process = DaemonProcess(folder, name, *options, **environment)
        made.append(process)
        return process

    yield make
    for process in made:
        process.kill()
