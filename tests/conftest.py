"""Settings for all tests."""

import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from support import environment  # noqa: F401  (before anything imports numpy)
from support.daemons import DaemonProcess, SharedDaemons

# No clock: the first example may compile kernels, and shared machines stall. A gate for changes
# must give the same answer twice, so it takes the same examples; developers' runs take new ones.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40)
settings.register_profile("torqued", UNTIMED)
settings.register_profile("gate", UNTIMED, derandomize=True)
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


@pytest.fixture(scope="session")
def shared_daemons(tmp_path_factory):
    """What `daemon = daemon_of(…)` of a file takes its daemon from."""
    daemons = SharedDaemons(tmp_path_factory.mktemp)
    yield daemons
    daemons.close()


@pytest.fixture
def statistics():
    """Numba's runtime counts its allocations."""
    from numba.core.runtime import _nrt_python

    before = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not before:
        _nrt_python.memsys_disable_stats()


@pytest.fixture
def client(daemon):
    with daemon.client() as client:
        yield client


@pytest.fixture
def another(folder):
    """Makes daemons of a test's own; one that is left running ends with the test, in order."""
    made = []

    def make(*options, name="other", **settings):
        made.append(DaemonProcess(folder, name, *options, **settings))
        return made[-1]

    yield make
    for process in made:
        if process.is_running():
            process.end()
