"""Kernels that follow in the background, and those who cannot wait for them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import (
    ENTRIES,
    MissingKernelError,
    address_of,
    without_compiling,
)


def run(program: str, cache: object) -> str:
    """A program with a cache of its own that is empty."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TORQUED_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


START = """\
import time
from torqued.kernels.compilation.background import Background
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES, is_cached

def wait(background):
    while background.left:
        time.sleep(0.05)
"""


def test_another_process_compiles_and_this_one_loads(tmp_path):
    program = f"""{START}
background = Background(["finite_vector", "self_test"])
assert background.left == 2 and background.next == "finite_vector"
background.start()
wait(background)
assert background.next == ""
for name in ("finite_vector", "self_test"):
    stats = ENTRIES[name][0].stats
    assert stats.cache_hits and not stats.cache_misses, stats
assert not is_cached("finite_matrix")  # nobody asked for that
background.close()
"""
    run(program, tmp_path / "cache")


def test_what_is_asked_for_comes_before_what_was_planned(tmp_path):
    program = f"""{START}
from torqued.kernels.compilation import background as module
module.POLL_INTERVAL = 0.01
background = Background(["self_test", "symmetric_eigenvalues", "cholesky", "finite_vector"])
background.ask_for("finite_vector")
background.start()
assert background.next == "finite_vector"
wait(background)
import os
def born(name):
    cache = ENTRIES[name][0]._cache
    dispatcher, types = ENTRIES[name]
    key = cache._index_key(types, dispatcher.targetctx.codegen())
    return cache._cache_file.path(key).stat().st_mtime_ns
assert born("finite_vector") < born("cholesky")
background.close()
"""
    run(program, tmp_path / "cache")


def test_where_the_process_dies_kernels_are_compiled_when_they_are_needed(tmp_path):
    program = f"""{START}
import contextlib, subprocess, sys
class Dies(Background):
    @contextlib.contextmanager
    def _process(self):
        with subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"]) as process:
            yield process
background = Dies(["finite_vector"])
background.start()
wait(background)
background.close()
assert not is_cached("finite_vector")
COMPILED.finite_vector
assert is_cached("finite_vector")
"""
    run(program, tmp_path / "cache")


def test_a_thread_that_cannot_wait_is_told_which_kernel_is_missing(monkeypatch):
    dispatcher, types = ENTRIES["finite_vector"]
    COMPILED.finite_vector  # noqa: B018  (it is here, and gone with the next two lines)
    monkeypatch.delattr(COMPILED, "finite_vector")
    monkeypatch.delitem(dispatcher.overloads, types)
    monkeypatch.setattr("torqued.kernels.compilation.jit.is_cached", lambda name: False)
    with without_compiling():
        for ask in (lambda: COMPILED.finite_vector, lambda: address_of("finite_vector")):
            with pytest.raises(MissingKernelError, match="'finite_vector' is not compiled") as told:
                ask()
            assert told.value.kernel == "finite_vector"
        with pytest.raises(MissingKernelError), without_compiling():
            COMPILED.finite_vector  # noqa: B018
        with pytest.raises(MissingKernelError):  # the inner one has not made it patient
            COMPILED.finite_vector  # noqa: B018
    assert COMPILED.finite_vector is not None
