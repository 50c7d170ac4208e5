"""Compiled kernels in their cache: that it is used, and what happens where it cannot be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

from support.eventually import eventually
from torqued.kernels.compilation import jit, self_test
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES
from torqued.kernels.compilation.numba_internals import ToolchainError

#: Prints what became of one small kernel, and the number that it computes.
PROGRAM = """
import json
import numpy as np
from torqued.kernels.compilation import jit
from torqued.kernels.compilation.entries import COMPILED, ENTRIES
out = np.zeros(2)
COMPILED.expand(np.array([0, 0]), np.array([2.0, 3.0]), np.array([5.0]), out)
stats = ENTRIES["expand"][0].stats
print(json.dumps({
    "hits": sum(stats.cache_hits.values()),
    "misses": sum(stats.cache_misses.values()),
    "path": stats.cache_path,
    "sources": jit.__file__,
    "problem": jit.CACHE_PROBLEM,
    "out": out.tolist(),
}))
"""


def run_program(root: Path, program: str = PROGRAM, **environment: str) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "TORQUED_CACHE_DIR": str(root), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


@pytest.mark.slow
class TestProcesses:
    def test_second_process_compiles_nothing(self, tmp_path):
        first, second = run_program(tmp_path / "cache"), run_program(tmp_path / "cache")
        assert (first["hits"], first["misses"]) == (0, 1)
        assert (second["hits"], second["misses"]) == (1, 0)
        assert first["out"] == second["out"] == [10.0, 15.0]
        assert Path(second["path"]).is_relative_to(tmp_path / "cache")

    def test_a_copy_of_the_sources_elsewhere_uses_the_same_code(self, tmp_path):
        """Neither path nor time stamp counts: an image may be built here and run there."""
        first = run_program(tmp_path / "cache")
        packages = tmp_path / "copy" / "torqued"
        for package in ("common", "kernels"):
            sources = Path(jit.__file__).parents[2] / package
            shutil.copytree(sources, packages / package, copy_function=shutil.copy)
        second = run_program(tmp_path / "cache", PYTHONPATH=str(packages.parent))
        assert Path(second["sources"]).is_relative_to(packages)
        assert second["path"] == first["path"]
        assert (second["hits"], second["misses"]) == (1, 0)

    def test_read_only_cache_is_read_and_left_as_it_is(self, tmp_path):
        run_program(tmp_path / "cache")
        before = sorted(tmp_path.rglob("*"))
        as_if_read_only = "import os; os.access = lambda path, mode: mode != os.W_OK\n"
        found = run_program(tmp_path / "cache", as_if_read_only + PROGRAM)
        assert (found["hits"], found["misses"]) == (1, 0)
        uncached = PROGRAM.replace("COMPILED.expand(", "COMPILED.project_vector(").replace(
            "np.array([5.0]), out", "np.array([5.0, 5.0]), out"
        )
        assert run_program(tmp_path / "cache", as_if_read_only + uncached)["out"] == [25.0, 0.0]
        assert sorted(tmp_path.rglob("*")) == before

    def test_without_a_usable_folder_kernels_still_compile_and_the_problem_is_stated(
        self, tmp_path
    ):
        (tmp_path / "file").write_text("")
        found = run_program(tmp_path / "file")
        assert found["out"] == [10.0, 15.0]
        assert found["path"] is None
        assert "cannot be used" in found["problem"]


#: Calls two kernels.
ANOTHER = "COMPILED.project_vector(np.array([0]), np.ones(1), np.ones(1), np.zeros(1))"
TWO = PROGRAM.replace("stats =", f"{ANOTHER}\nstats =")

#: A pickle that leaves a file behind when it is loaded.
PLANTED = """
import os, sys
from pathlib import Path
from torqued.kernels.compilation import cache_file
class Evil:
    def __reduce__(self):
        return Path.touch, (Path(sys.argv[1]) / "planted",)
import pickle
for path in Path(sys.argv[1]).rglob("*.nbc"):
    data = pickle.dumps(Evil())
    if sys.argv[2] == "whole":
        cache_file.write(path, data)
    else:
        path.write_bytes(data)
    if sys.argv[3]:
        os.chmod(path, int(sys.argv[3], 8))
"""


def run_warned(root: Path, program: str) -> tuple[dict[str, Any], list[str]]:
    """What a program prints, and the warnings of the cache."""
    answer = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        env={**os.environ, "TORQUED_CACHE_DIR": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in answer.stderr
    warned = [line for line in answer.stderr.splitlines() if "CacheWarning: " in line]
    return json.loads(answer.stdout), [line.split("CacheWarning: ")[1] for line in warned]


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Callable[[str, Path], None]:
    """Puts a copy of the cache that a program leaves behind into a folder."""
    known: dict[str, Path] = {}

    def copy(program: str, root: Path) -> None:
        if program not in known:
            known[program] = tmp_path_factory.mktemp("filled") / "cache"
            run_program(known[program], program)
        shutil.copytree(known[program], root)

    return copy


@pytest.mark.slow
class TestFaults:
    """No state of the disk ends a start: what cannot be used is compiled anew, and that is told."""

    @pytest.mark.parametrize("damage", ["empty", "cut", "changed"])
    def test_damaged_files_are_compiled_anew_and_told_once(self, filled, tmp_path, damage):
        filled(TWO, tmp_path / "cache")
        files = sorted((tmp_path / "cache").rglob("*.nbc"))
        assert len(files) == 2
        for file in files:
            data = file.read_bytes()
            damaged = {
                "empty": b"",
                "cut": data[: len(data) // 2],
                "changed": data[:-1] + bytes([data[-1] ^ 1]),
            }
            file.write_bytes(damaged[damage])
        found, warned = run_warned(tmp_path / "cache", TWO)
        assert (found["hits"], found["misses"], found["out"]) == (0, 1, [10.0, 15.0])
        (message,) = warned
        assert "is damaged" in message and message.endswith("are compiled again")
        found, warned = run_warned(tmp_path / "cache", TWO)
        assert (found["hits"], found["misses"], warned) == (1, 0, [])

    def test_where_files_cannot_be_written_kernels_run_and_it_is_told_once(self, tmp_path):
        """The system itself refuses to write more than some bytes, as a full disk does."""
        limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        found, warned = run_warned(tmp_path / "cache", limited + TWO)
        assert found["out"] == [10.0, 15.0]
        (message,) = warned
        assert "File too large; the next start will compile it again" in message
        assert not list((tmp_path / "cache").rglob("*.nbc*"))

    @pytest.mark.parametrize(
        ("form", "mode"), [("bare", ""), ("bare", "666"), ("whole", "620"), ("whole", "602")]
    )
    def test_planted_code_is_never_loaded(self, filled, tmp_path, form, mode):
        """Neither what has no checksum, nor what others could have written, with a right one."""
        root = tmp_path / "cache"
        filled(PROGRAM, root)
        subprocess.run([sys.executable, "-c", PLANTED, root, form, mode], check=True)
        found, warned = run_warned(root, PROGRAM)
        assert not (root / "planted").exists()
        assert (found["misses"], found["out"], len(warned)) == (1, [10.0, 15.0], 1)

    def test_planted_code_would_be_loaded_if_it_could_be_trusted(self, filled, tmp_path):
        """So that the test above can fail."""
        root = tmp_path / "cache"
        filled(PROGRAM, root)
        subprocess.run([sys.executable, "-c", PLANTED, root, "whole", ""], check=True)
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "TORQUED_CACHE_DIR": str(root)},
            capture_output=True,
            check=False,
        )
        assert (root / "planted").exists()


@pytest.mark.slow
class TestHelper:
    """The second process that compiles."""

    def test_it_ends_with_the_first_however_that_ends(self, tmp_path):
        program = (
            "import sys, time; from torqued.kernels.compilation import entries\n"
            "with entries._helper(list(entries.ENTRIES)) as process:\n"
            "    print(process.pid, flush=True); time.sleep(600)"
        )
        first = subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "TORQUED_CACHE_DIR": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
        )
        assert first.stdout is not None
        second = Path(f"/proc/{int(first.stdout.readline())}")
        assert second.exists()
        first.kill()
        first.wait()
        first.stdout.close()

        def has_ended():
            return not second.exists() or "Z" in (second / "stat").read_text().rsplit(")")[1]

        eventually(has_ended)  # where the pipe to it has


class TestEntries:
    def test_a_second_entry_of_the_same_name_is_refused(self):
        before = dict(ENTRIES)

        def mass_matrix(x):
            return x

        with pytest.raises(TypeError, match=r"entry 'mass_matrix' of .*test_jit: .*crba has one"):
            jit.entry(numba.types.int64)(mass_matrix)
        assert before == ENTRIES


class TestSelfTest:
    @pytest.fixture(autouse=True)
    def anew(self):
        self_test.require_numba.cache_clear()
        yield
        self_test.require_numba.cache_clear()

    def test_installed_compiler_passes(self):
        self_test.require_numba()

    def test_compiler_that_computes_something_else_is_named_with_its_version(self, monkeypatch):
        monkeypatch.setattr(self_test, "bind", lambda function: lambda address: 536)
        expected = rf"^numba {numba.__version__} with llvmlite .* is not supported: called as an "
        with pytest.raises(ToolchainError, match=expected + "entry, .* gives 536 instead of 537"):
            self_test.require_numba()

    def test_compiler_that_does_not_use_the_cache_is_refused(self, monkeypatch):
        monkeypatch.setattr(self_test, "CACHE_FOLDER", Path("/some/folder"))
        unused = SimpleNamespace(stats=SimpleNamespace(cache_hits={}, cache_misses={}))
        monkeypatch.setattr(self_test, "ENTRIES", {"self_test": (unused, ())})
        with pytest.raises(ToolchainError, match="it does not ask for cached code"):
            self_test.require_numba()

    def test_missing_part_of_numba_is_named_with_the_version(self):
        program = (
            "import numba.core.caching as c; del c.CompileResultCacheImpl\n"
            "import torqued.kernels.compilation.jit"
        )
        answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert f"ToolchainError: numba {numba.__version__} with llvmlite" in answer.stderr
        assert "is not supported: cannot import name 'CompileResultCacheImpl'" in answer.stderr


class TestCompilation:
    def test_nan_and_infinity_keep_their_meaning(self):
        """Guards test for them; arithmetic that assumes them away would remove the guards."""
        assert jit.ARITHMETIC.isdisjoint({"nnan", "ninf", "fast"})
        for bad in (np.nan, np.inf):
            A = np.diag([1.0, bad, 1.0])
            status = COMPILED.cholesky(A)
            assert status != 0 or not np.isfinite(A).all()
