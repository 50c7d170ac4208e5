"""The folder of compiled code: where it is, when it is refused, what is cleared away."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numba
import pytest

from torqued.kernels.compilation import cache_folder, jit
from torqued.kernels.compilation.cache_folder import DAY, KEPT_DAYS, prune

OTHER_USER = 12345


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for caches that $TORQUED_CACHE_DIR names; it does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TORQUED_CACHE_DIR", str(folder))
    return folder


class TestFolder:
    def test_environment_names_it(self, root):
        assert cache_folder.cache_root() == root

    def test_without_environment_it_is_in_the_users_cache(self, monkeypatch, tmp_path):
        monkeypatch.delenv("TORQUED_CACHE_DIR", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder.cache_root() == tmp_path / "torqued"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder.cache_root() == tmp_path / ".cache" / "torqued"

    def test_new_one_and_those_above_it_are_closed_to_others_whatever_the_umask(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("TORQUED_CACHE_DIR", str(tmp_path / "home" / "cache"))
        before = os.umask(0)
        try:
            folder, problem = jit._prepare_cache()
        finally:
            os.umask(before)
        assert problem == ""
        assert folder is not None and folder.parent == tmp_path / "home" / "cache"
        for place in (folder, folder.parent, folder.parent.parent):
            assert place.stat().st_mode & 0o777 == 0o700

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

    @pytest.mark.parametrize(("mode", "whom"), [(0o770, "its group"), (0o777, "everyone")])
    @pytest.mark.parametrize("above", [0, 1, 2])
    def test_folder_or_any_above_it_that_others_can_write_to(self, root, mode, whom, above):
        folder = self.made()
        place = [folder, *folder.parents][above]
        place.chmod(mode)
        assert self.refused() == (
            f"cache folder {place} is writable by {whom}, who could put code there: "
            f"chmod go-w {place}, or name another folder in TORQUED_CACHE_DIR"
        )
        place.chmod(0o700)
        assert jit._prepare_cache() == (folder, "")

    def test_folder_itself_is_refused_with_the_sticky_bit_too(self, root):
        self.made().chmod(0o1777)
        assert "is writable by everyone" in self.refused()

    def test_parent_like_tmp_is_allowed(self, root):
        """With the sticky bit nobody can move another's folder away."""
        folder = self.made()
        root.chmod(0o1777)
        assert jit._prepare_cache() == (folder, "")

    def test_where_a_link_leads_counts_as_well(self, root, tmp_path, monkeypatch):
        shared = tmp_path / "shared"
        (shared / "cache").mkdir(parents=True)
        root.symlink_to(shared / "cache")
        self.made()
        shared.chmod(0o777)
        assert f"cache folder {shared} is writable by everyone" in self.refused()

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


class TestPruning:
    def file(self, root: Path, folder: str, days: float) -> Path:
        path = root / folder / "torqued.kernels.module" / f"kernel-{days}.nbc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"code")
        then = time.time() - days * DAY
        os.utime(path, (then, then))
        return path

    def test_what_nobody_has_loaded_for_a_month_is_removed(self, tmp_path):
        new = self.file(tmp_path, "kernels-a", KEPT_DAYS - 1)
        old = self.file(tmp_path, "kernels-a", KEPT_DAYS + 1)
        older = self.file(tmp_path, "kernels-b", 400)
        assert prune(tmp_path) == 2
        assert new.exists() and not old.exists()
        assert not older.parent.parent.exists()  # nothing was left in it
        assert prune(tmp_path) == 0

    def test_nothing_else_is_touched(self, tmp_path):
        others = [self.file(tmp_path, "keys", 400), tmp_path / "kernels-a"]
        others[1].write_text("a file")
        assert prune(tmp_path) == 0
        assert all(path.exists() for path in others)

    def test_folder_that_is_not_there_has_nothing_to_remove(self, tmp_path):
        assert prune(tmp_path / "none") == 0
