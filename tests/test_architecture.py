"""Arrows point one way: tools → server → kernels, client; all → common; never back."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

SOURCES = ("common", "client", "kernels", "server", "tools", "benchmarks")

#: Package → what no module of it may import, directly or inside a function.
FORBIDDEN = {
    "common": {
        "torqued.client",
        "torqued.kernels",
        "torqued.server",
        "torqued.tools",
        "torqued.benchmarks",
        "numba",
        "zmq",
        "msgpack",
        "pydantic",
    },
    "kernels": {
        "torqued.client",
        "torqued.server",
        "torqued.tools",
        "torqued.benchmarks",
        "zmq",
        "msgpack",
        "pydantic",
    },
    "client": {
        "torqued.kernels",
        "torqued.server",
        "torqued.tools",
        "torqued.benchmarks",
        "numba",
        "llvmlite",
        "pydantic",
    },
    "server": {"torqued.tools", "torqued.benchmarks"},
}


def imported_names(tree: ast.Module, package: str) -> Iterator[str]:
    """Absolute names of all that a module of `package` imports, `from a import b` as a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: 1 - node.level or None]
                base = ".".join([*parents, *filter(None, [base])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def breaches(source: str, package: str, forbidden: set[str]) -> list[str]:
    names = imported_names(ast.parse(source), package)
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


def modules_of(folder: str) -> dict[str, Path]:
    """Full name → file of every module below a folder; packages by their own name."""
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = ["torqued", *path.relative_to(ROOT).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def without_typing(source: str) -> ast.Module:
    """A module without what is imported for types alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                ast.Pass() if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test) else n
                for n in body
            ]
    return tree


def import_graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Which of these modules each of them imports, at its top or inside a function."""
    graph: dict[str, set[str]] = {}
    for name, source in sources.items():
        names = imported_names(without_typing(source), name.rpartition(".")[0])
        graph[name] = {
            module
            for imported in names
            for module in (imported, imported.rpartition(".")[0])
            if module in sources and module != name
        }
        # `from package import module` means the module, not the package.
        graph[name] -= {module.rpartition(".")[0] for module in graph[name]}
    return graph


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, or none."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module in done:
            return []
        for imported in sorted(graph[module]):
            if circle := visit(imported, [*path, module]):
                return circle
        done.add(module)
        return []

    return next((circle for module in sorted(graph) if (circle := visit(module, []))), [])


@pytest.mark.parametrize("folder", SOURCES)
def test_modules_do_not_import_each_other_in_a_circle(folder):
    sources = {name: path.read_text() for name, path in modules_of(folder).items()}
    assert cycle_in(import_graph(sources)) == []


@pytest.mark.parametrize(
    "line",
    ["from torqued.p import a", "from torqued.p.a import x", "def f():\n    import torqued.p.a"],
)
def test_circle_is_found_however_it_is_written(line):
    sources = {"torqued.p": "", "torqued.p.a": "from torqued.p import b", "torqued.p.b": line}
    assert set(cycle_in(import_graph(sources))) == {"torqued.p.a", "torqued.p.b"}


def test_import_for_types_alone_makes_no_circle():
    typed = "if TYPE_CHECKING:\n    from torqued.p import a"
    sources = {"torqued.p": "", "torqued.p.a": "from torqued.p import b", "torqued.p.b": typed}
    assert cycle_in(import_graph(sources)) == []


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
    loaded = loaded_by("import torqued.tools.cli.main as main; main.build_parser()")
    assert loaded.isdisjoint({"numba", "rich"})


def test_looking_up_a_robot_does_not_load_the_kernels():
    loaded = loaded_by("from torqued.kernels.model.catalog import find_file")
    assert "torqued.kernels.model.catalog" in loaded
    assert loaded.isdisjoint({"numba", "numpy"})


def test_controllers_are_imported_from_the_package_of_control():
    loaded = loaded_by("from torqued.kernels.control import Balance, Controller, WholeBody")
    assert loaded.isdisjoint({"zmq", "msgpack", "torqued.client", "torqued.server"})


def rooms(*folders: str) -> set[str]:
    """Folders that have modules in them."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {str(path.parent.relative_to(ROOT)) for path in found if path.name != "__init__.py"}


def test_every_room_has_its_test_room_and_no_test_room_is_without_one():
    tested = {
        str(path.parent.relative_to(ROOT / "tests")) for path in (ROOT / "tests").rglob("test_*.py")
    }
    assert rooms(*SOURCES) - tested == set()
    apart = {".", "ci", "oracles", "docker", "examples"}  # of no package
    assert tested - apart - rooms(*SOURCES) == set()
