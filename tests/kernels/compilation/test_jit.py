"""The cache of compiled kernels: where it is, when it is refused, and that it is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from torqued.kernels.compilation import jit
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES

OTHER_USER = 12345


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for caches that $TORQUED_CACHE_DIR names; it does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TORQUED_CACHE_DIR", str(folder))
    return folder


class TestFolder:
    def test_environment_names_it(self, root):
        assert jit.cache_root() == root

    def test_without_environment_it_is_in_the_users_cache(self, monkeypatch, tmp_path):
        monkeypatch.delenv("TORQUED_CACHE_DIR", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert jit.cache_root() == tmp_path / "torqued"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert jit.cache_root() == tmp_path / ".cache" / "torqued"

    def test_new_one_is_closed_to_others(self, root):
        folder, problem = jit._prepare_cache()
        assert problem == ""
        assert folder is not None and folder.parent == root
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_another_compiler_has_another_folder(self, root, monkeypatch):
        before, _ = jit._prepare_cache()
        monkeypatch.setattr(numba, "__version__", "0.0.1")
        assert jit._prepare_cache()[0] != before


class TestRefusal:
    """The cache is code that will run: nobody else may be able to put some there."""

    def refused(self) -> str:
        folder, problem = jit._prepare_cache()
        assert folder is None
        return problem

    def made(self) -> Path:
        folder, _ = jit._prepare_cache()
        assert folder is not None
        return folder

    def test_folder_that_everyone_can_write_to(self, root):
        folder = self.made()
        folder.chmod(0o777)
        assert self.refused() == f"cache folder {folder} is writable by everyone"

    def test_parent_that_everyone_can_write_to(self, root):
        self.made()
        root.chmod(0o777)
        assert self.refused() == f"cache folder {root} is writable by everyone"

    def test_parent_like_tmp_is_allowed(self, root):
        """With the sticky bit nobody can move another's folder away."""
        folder = self.made()
        root.chmod(0o1777)
        assert jit._prepare_cache() == (folder, "")

    @pytest.mark.parametrize("which", ["folder", "parent"])
    def test_folder_of_another_user(self, root, which, monkeypatch):
        folder = self.made() if which == "folder" else self.made().parent
        if os.getuid() == 0:
            os.chown(folder, OTHER_USER, -1)
            owner = OTHER_USER
        else:
            owner = os.getuid()
            monkeypatch.setattr(os, "getuid", lambda: owner + 1)
        assert f"belongs to user {owner}, not to this one" in self.refused()

    def test_place_where_no_folder_can_be(self, root):
        root.write_text("a file")
        problem = self.refused()
        assert str(root) in problem and problem.endswith("cannot be used: Not a directory")

    def test_folder_that_cannot_be_read(self, root, monkeypatch):
        folder = self.made()
        monkeypatch.setattr(os, "access", lambda path, mode: path != folder)
        assert self.refused() == f"cache folder {folder} cannot be used: it is not readable"


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


class TestHelper:
    """The second process that compiles."""

    def test_it_ends_with_the_first_however_that_ends(self, tmp_path):
        program = (
            "import sys, time; from torqued.kernels.compilation import entries\n"
            "with entries._helper() as process: print(process.pid, flush=True); time.sleep(600)"
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
        while second.exists() and "Z" not in (second / "stat").read_text().rsplit(")")[1]:
            time.sleep(0.05)  # ended where the pipe to it has


class TestCompilation:
    def test_nan_and_infinity_keep_their_meaning(self):
        """Guards test for them; arithmetic that assumes them away would remove the guards."""
        assert jit.ARITHMETIC.isdisjoint({"nnan", "ninf", "fast"})
        for bad in (np.nan, np.inf):
            A = np.diag([1.0, bad, 1.0])
            status = COMPILED.cholesky(A)
            assert status != 0 or not np.isfinite(A).all()

    def test_bound_entries_are_the_compiled_code_of_their_declared_types(self):
        for dispatcher, types in ENTRIES.values():
            function = jit.bind(dispatcher)
            assert function is dispatcher.overloads[types].entry_point
            assert list(dispatcher.overloads) == [types]
