"""The wheel contains the product, the whole product and nothing but the product."""

import email
import re
import subprocess
import sys
import sysconfig
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("kernels", "client", "server", "benchmarks")
TYPED = ("kernels", "client", "server")


def run(*command):
    """Run a program, and show what it printed when it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of a copy of the sources: building in place would leave its traces behind."""
    place = tmp_path_factory.mktemp("wheel")
    sources = place / "sources"
    for path in sources_on_disk():
        target = sources / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", place, sources),
    )
    (built,) = place.glob("*.whl")
    return built


def sources_on_disk():
    """What a checkout holds, as far as a build can see it; tests too, so that they could leak."""
    yield from (ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE"))
    for folder in (*PACKAGES, "tests"):
        yield from (
            path
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        )


@pytest.fixture(scope="module")
def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def read(wheel):
    """Text of a file in the wheel's dist-info folder."""

    def read(name):
        with zipfile.ZipFile(wheel) as archive:
            (member,) = [n for n in archive.namelist() if n.endswith(f".dist-info/{name}")]
            return archive.read(member).decode()

    return read


def test_wheel_holds_exactly_the_modules_on_disk(contents):
    on_disk = {
        f"torqued/{path.relative_to(ROOT)}"
        for folder in PACKAGES
        for path in (ROOT / folder).rglob("*.py")
    }
    in_wheel = {name for name in contents if name.endswith(".py")}
    assert in_wheel == on_disk


def test_wheel_holds_nothing_but_modules_type_markers_and_metadata(contents):
    others = {name for name in contents if not name.endswith(".py") and ".dist-info/" not in name}
    assert others == {f"torqued/{package}/py.typed" for package in TYPED}


def test_torqued_is_a_namespace_without_a_module_of_its_own(contents):
    assert "torqued/__init__.py" not in contents


def test_wheel_carries_the_licence(read):
    assert read("licenses/LICENSE") == (ROOT / "LICENSE").read_text()
    assert email.message_from_string(read("METADATA"))["License-Expression"] == "Apache-2.0"


def test_base_installation_requires_the_clients_three_packages_only(read):
    requirements = email.message_from_string(read("METADATA")).get_all("Requires-Dist")
    base = {re.match(r"[\w-]+", line)[0] for line in requirements if "extra ==" not in line}
    assert base == {"numpy", "pyzmq", "msgpack"}


def test_extras_are_those_that_the_documentation_names(read):
    extras = email.message_from_string(read("METADATA")).get_all("Provides-Extra")
    assert set(extras) == {"server", "test", "bench", "demo", "dev"}


def test_wheel_installs_the_torqued_command(read):
    entry_points = ConfigParser()
    entry_points.read_string(read("entry_points.txt"))
    assert dict(entry_points["console_scripts"]) == {"torqued": "torqued.server.cli.main:main"}


def test_client_imports_from_the_wheel_in_a_fresh_environment(wheel, tmp_path):
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"),
        *("--disable-pip-version-check", "--no-index", wheel),
    )
    # The dependencies come from the environment of the tests, searched last. Its editable
    # installation of torqued stays out: the hook for that works only in its own environment.
    dependencies = sysconfig.get_path("purelib")
    imports = "import torqued.client, torqued.kernels.errors, torqued.server.cli.main"
    where = run(
        python,
        "-c",
        f"import sys; sys.path.append({dependencies!r}); {imports}; print(torqued.client.__file__)",
    )
    assert Path(where.strip()).is_relative_to(tmp_path / "venv")
