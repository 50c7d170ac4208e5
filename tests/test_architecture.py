"""Arrows point one way: server → kernels, server → client, all → common, never back."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: Package → what no module of it may import, directly or inside a function.
FORBIDDEN = {
    "common": {
        "torqued.client",
        "torqued.kernels",
        "torqued.server",
        "torqued.benchmarks",
        "numpy",
        "numba",
        "zmq",
        "msgpack",
        "pydantic",
    },
    "kernels": {
        "torqued.client",
        "torqued.server",
        "torqued.benchmarks",
        "zmq",
        "msgpack",
        "pydantic",
    },
    "client": {
        "torqued.kernels",
        "torqued.server",
        "torqued.benchmarks",
        "numba",
        "llvmlite",
        "pydantic",
    },
}


def imported_names(source: str, package: str) -> Iterator[str]:
    """Absolute names of all that a module of `package` imports, `from a import b` as a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: 1 - node.level or None]
                base = ".".join([*parents, *filter(None, [base])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def breaches(source: str, package: str, forbidden: set[str]) -> list[str]:
    names = imported_names(source, package)
    return [n for n in names if any(n == f or n.startswith(f"{f}.") for f in forbidden)]


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_package_imports_nothing_that_it_must_not_know(folder):
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert modules
    found = {}
    for path in modules:
        package = ".".join(["torqued", *path.parent.relative_to(ROOT).parts])
        if wrong := breaches(path.read_text(), package, FORBIDDEN[folder]):
            found[str(path.relative_to(ROOT))] = wrong
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "import torqued.server",
        "import torqued.server.catalog as c",
        "from torqued import server",
        "from torqued.server import catalog",
        "from ..server import catalog",
        "from .. import server",
        "from ...server.cli import main",
        "def f():\n    import zmq",
        "import zmq.asyncio",
    ],
)
def test_every_way_to_write_a_forbidden_import_is_seen(line):
    package = "torqued.kernels.model" if "..." in line else "torqued.kernels"
    assert breaches(line, package, FORBIDDEN["kernels"])


@pytest.mark.parametrize("line", ["import zmqueue", "from .errors import TorquedError"])
def test_other_imports_are_let_through(line):
    assert not breaches(line, "torqued.kernels", FORBIDDEN["kernels"])


def loaded_by(statement: str) -> set[str]:
    """Top-level modules, and torqued's packages, in a fresh interpreter after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/"
    )
    return set(answer.stdout.split())


def test_importing_the_client_loads_nothing_of_the_server():
    loaded = loaded_by("import torqued.client")
    assert "torqued.client" in loaded
    assert loaded.isdisjoint({"numba", "llvmlite", "pydantic", "torqued.kernels", "torqued.server"})


def test_command_line_help_loads_neither_numba_nor_rich():
    loaded = loaded_by("import torqued.server.cli.main as main; main.build_parser()")
    assert loaded.isdisjoint({"numba", "rich"})
