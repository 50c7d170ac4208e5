"""A daemon in a thread of the test: not compiled yet, and with a fault in its program."""

import contextlib
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from support.daemons import MAX_START
from support.eventually import PATIENCE, eventually
from support.in_thread import InThread
from torqued.client import Client, errors
from torqued.kernels import Robot
from torqued.kernels.compilation import background as background_module
from torqued.kernels.compilation import jit
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES
from torqued.server import daemon as daemon_module
from torqued.server import kernels_needed
from torqued.server.requests.operations import OPERATIONS
from torqued.tools.cli.ping import progress

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", 20)


def test_requests_before_all_is_compiled_are_not_ready(folder, robot, monkeypatch):
    go_on = threading.Event()
    real = daemon_module.compile_all

    def slow(report, names):
        report("coriolis_matrix", 3, len(names), 9.0)
        assert go_on.wait(PATIENCE)
        return real(report, names)

    monkeypatch.setattr(daemon_module, "compile_all", slow)
    threaded = InThread(robot, folder)
    try:
        with Client(threaded.daemon.endpoints.request, timeout=PATIENCE) as client:
            assert client.ping().ready is False
            eventually(lambda: client.stats().kernels["total"])
            kernels = client.stats().kernels
            total = len(kernels_needed.needed()) + len(kernels_needed.others())
            assert kernels == {"kernel": "coriolis_matrix", "done": 3, "total": total}
            assert client.ping().kernels == kernels
            told = f"not ready yet, 3 of {total} kernels ready; now coriolis_matrix"
            assert progress(False, kernels) == told
            with pytest.raises(errors.OperationError) as caught:
                client.reload()
            assert caught.value.code == "not_ready"
            with pytest.raises(errors.OperationError) as caught:
                client.hello()
            assert caught.value.code == "not_ready"
            go_on.set()
            eventually(lambda: client.ping().ready, MAX_START)
            assert client.hello().nv == 20

            def all_there():
                kernels = client.stats().kernels
                return kernels["done"] == kernels["total"]

            eventually(all_there, MAX_START)
            assert progress(True, client.ping().kernels) == "ready"
    finally:
        go_on.set()
        threaded.stop()


def test_a_request_whose_kernel_is_not_there_yet_brings_it_forward_and_holds_up_nobody(
    folder, robot, monkeypatch
):
    """The process that compiles takes its time for one kernel, which no other request needs."""
    late = "coriolis_product"
    there = threading.Event()
    dispatcher, types = ENTRIES[late]
    COMPILED.coriolis_product  # noqa: B018  (in the cache from here on)
    monkeypatch.delattr(COMPILED, late)
    monkeypatch.delitem(dispatcher.overloads, types)
    real = jit.is_cached

    def is_cached(name):
        return real(name) if name != late else there.is_set()

    monkeypatch.setattr(jit, "is_cached", is_cached)
    monkeypatch.setattr(background_module, "is_cached", is_cached)
    asked = []

    @contextlib.contextmanager
    def process(self):
        yield SimpleNamespace(poll=lambda: None)

    monkeypatch.setattr(background_module.Background, "_process", process)
    monkeypatch.setattr(background_module, "_tell", lambda process, name: asked.append(name))
    q, v = robot.random_state(np.random.default_rng(0))
    threaded = InThread(robot, folder)
    try:
        with Client(threaded.daemon.endpoints.request, timeout=PATIENCE) as client:

            def is_the_last():
                kernels = client.ping().kernels
                return kernels["kernel"] == late and kernels["total"] - kernels["done"] == 1

            eventually(is_the_last, MAX_START)
            assert progress(True, client.ping().kernels).startswith("ready, ")
            with pytest.raises(errors.OperationError, match=f"{late}.* not compiled yet") as told:
                client.coriolis_product(q, v, v)
            assert told.value.code == "not_ready"
            assert client.dynamics(q, v, want=("M",)).M.shape == (20, 20)
            eventually(lambda: asked == [late])
            there.set()
            eventually(lambda: client.ping().kernels["kernel"] == "", MAX_START)
            C = robot.coriolis_matrix(q, v)
            assert client.coriolis_product(q, v, v) == pytest.approx(C @ v)
    finally:
        there.set()
        threaded.stop()


def test_fault_of_the_daemon_is_internal_and_it_goes_on(folder, robot, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("oh")

    row = replace(OPERATIONS["hello"], run=broken)
    monkeypatch.setitem(OPERATIONS, "hello", row)
    with InThread(robot, folder) as threaded, Client(threaded.endpoint, timeout=PATIENCE) as client:
        for _ in range(2):
            with pytest.raises(errors.InternalError, match="ZeroDivisionError: oh"):
                client.hello()
