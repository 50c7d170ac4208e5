"""What the code of a module depends on: found in the sources themselves."""

from __future__ import annotations

import sys

import pytest

from torqued.kernels.compilation import sources
from torqued.kernels.compilation.jit import ENTRIES
from torqued.kernels.control import controller  # noqa: F401  (registers the laws)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `torqued.sample` of four modules: law → model → units, and other."""
    folder = tmp_path / "sample"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "law.py").write_text(
        "from torqued.sample import model as tree\n"
        "from torqued.sample.units import (\n    METRE,  # a constant\n    SECOND,\n)\n"
        "if True:\n    from torqued.sample import other\n"
    )
    (folder / "model.py").write_text("from torqued.sample.units import METRE\n")
    (folder / "units.py").write_text("METRE = 1.0\nSECOND = 1.0\n")
    (folder / "other.py").write_text("")
    module = type(sys)("torqued.sample")
    module.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, "torqued.sample", module)
    yield folder
    forget()


def forget():
    for function in (sources.digest, sources._imported, sources._source, sources._file):
        function.cache_clear()


def digest_after(change=lambda: None):
    change()
    forget()
    return sources.digest("torqued.sample.law")


def test_closure_follows_imports_and_leaves_out_indented_ones(package):
    found = sources.closure("torqued.sample.law")
    assert found == {f"torqued.sample.{name}" for name in ("law", "model", "units")}


@pytest.mark.parametrize("name", ["law", "model", "units"])
def test_any_change_of_what_is_imported_changes_the_digest(package, name):
    file = package / f"{name}.py"
    before = digest_after()
    assert digest_after(lambda: file.write_text(file.read_text() + "# changed")) != before


def test_a_change_elsewhere_changes_nothing(package):
    before = digest_after()
    assert digest_after(lambda: (package / "other.py").write_text("x = 1")) == before


def test_every_module_whose_functions_an_entry_inlines_is_in_its_closure():
    """Walks the compiled functions themselves: what a function refers to, and so on."""
    for dispatcher, _ in ENTRIES.values():
        closure = sources.closure(dispatcher.__module__)
        for module in modules_behind(dispatcher.py_func):
            assert module in closure, f"{dispatcher.__name__} needs {module}"


def modules_behind(function, seen=None):
    seen = set() if seen is None else seen
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        inner = getattr(value, "py_func", None)
        if inner is not None and inner not in seen:
            seen.add(inner)
            yield inner.__module__
            yield from modules_behind(inner, seen)


def test_a_law_does_not_depend_on_the_face_of_the_robot():
    for dispatcher, _ in ENTRIES.values():
        if "laws" in dispatcher.__module__ and "wholebody" not in dispatcher.__module__:
            found = sources.closure(dispatcher.__module__)
            assert "torqued.kernels.robot.robot" not in found, dispatcher.__name__
