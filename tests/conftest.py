"""Settings for all tests."""

import os
import shutil
import tempfile

import environment  # noqa: F401  (before anything imports numpy)
import pytest
from daemons import DaemonProcess
from hypothesis import settings

from torqued.client.requests.operation_table import LONG
from torqued.client.sessions.async_session import AsyncSession
from torqued.client.sessions.session import Session

# What tests wait for does happen; how soon is the machine's business, which may be busy. The
# worker yields to whatever else runs there.
LONG.update(dict.fromkeys(LONG, 600.0))
for kind in (Session, AsyncSession):
    kind.step.__kwdefaults__["timeout"] = 60.0
    kind.receive.__defaults__ = (60.0,)

# No deadline: the first example may compile kernels, and shared machines stall. A gate for changes
# must give the same answer twice, so it takes the same examples; developers' runs take new ones.
settings.register_profile("torqued", deadline=None, max_examples=40)
settings.register_profile("gate", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "torqued")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Temporary folders with short names: a socket's path has 107 bytes at most."""
    if not config.option.basetemp and not hasattr(config, "workerinput"):
        config.option.basetemp = tempfile.mkdtemp(prefix="tq-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


def pytest_collection_modifyitems(items):
    """Files of slow tests first: what is left for the end is short, whichever process has it."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o700)
    return folder


@pytest.fixture
def another(folder):
    """Makes further daemons; none outlives the test."""
    made = []

    def make(*options, name="other", **variables):
        process = DaemonProcess(folder, name, *options, **variables)
        made.append(process)
        return process

    yield make
    for process in made:
        process.kill()
