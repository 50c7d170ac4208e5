"""That compiled code and pyzmq speak to the same libzmq, and what is said where they do not."""

from __future__ import annotations

import pytest
import zmq

from torqued.kernels.compilation.numba_internals import ToolchainError
from torqued.server.loop import libzmq_check, zeromq_calls


@pytest.fixture(autouse=True)
def anew():
    libzmq_check.require_libzmq.cache_clear()
    yield
    libzmq_check.require_libzmq.cache_clear()


def test_installed_pyzmq_passes():
    libzmq_check.require_libzmq()


def refused() -> str:
    with pytest.raises(ToolchainError) as caught:
        libzmq_check.require_libzmq()
    start, problem = str(caught.value).split(" is not supported: ")
    assert start == f"pyzmq {zmq.__version__} with libzmq {zmq.zmq_version()}"
    return problem


def test_functions_of_another_library_are_noticed(monkeypatch):
    monkeypatch.setattr(libzmq_check.llvmlite.binding, "address_of_symbol", lambda name: 4096)
    assert refused() == "compiled code has another zmq_send than pyzmq"


def test_library_that_is_not_to_be_found_is_told_with_the_version(monkeypatch):
    maps = "7f00-7f01 r-xp 0 0 0 /lib/libc.so"
    monkeypatch.setattr(zeromq_calls.Path, "read_text", lambda path: maps)
    with pytest.raises(ToolchainError, match=rf"^pyzmq {zmq.__version__} has libzmq linked in"):
        zeromq_calls.loaded_libzmq()
