"""The wheel contains the product, the whole product and nothing but the product."""

import email
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

from support.daemons import daemon_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGES = ("common", "kernels", "client", "server", "tools", "benchmarks")
TYPED = ("common", "kernels", "client", "server", "tools")


#: What a build calls.
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]


def run(*command, folder="/", **environment):
    """Run a program, and show what it printed when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | environment,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


#: What a build before this one may have left behind: a module that is no more.
LEFT_BEHIND = "build/lib/torqued/kernels/gone.py"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the sources, with the remains of an earlier build beside them."""
    sources = tmp_path_factory.mktemp("sources")
    for path in sources_on_disk():
        target = sources / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    gone = sources / LEFT_BEHIND
    gone.parent.mkdir(parents=True)
    gone.write_text("raise AssertionError\n")
    return sources


def built_wheel(sources, place, **environment):
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", place, sources),
        **environment,
    )
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory):
    return built_wheel(sources, tmp_path_factory.mktemp("wheel"))


def sources_on_disk():
    """What a checkout holds, as far as a build can see it; tests too, so that they could leak."""
    yield from (ROOT / name for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"))
    for folder in (*PACKAGES, "tests"):
        yield from (
            path
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
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


def test_build_leaves_the_sources_as_they_were(wheel, sources):
    files = {str(path.relative_to(sources)) for path in sources.rglob("*") if path.is_file()}
    assert files == {str(path.relative_to(ROOT)) for path in sources_on_disk()} | {LEFT_BEHIND}


def test_wheel_holds_nothing_but_modules_type_markers_and_metadata(contents):
    others = {name for name in contents if not name.endswith(".py") and ".dist-info/" not in name}
    compiled = {name for name in others if re.fullmatch(r"torqued/client/_native\.\S+\.so", name)}
    assert len(compiled) == (shutil.which(COMPILER) is not None)
    program = "torqued/benchmarks/second_order.cpp"  # compiled where it is measured
    typed = {f"torqued/{package}/py.typed" for package in TYPED} | {"torqued/client/_native.pyi"}
    assert others - compiled == typed | {program}


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
    own = {"record", "observe", "dash", "cluster", "mjcf", "xacro", "lua", "descriptions"}
    assert set(extras) == {"server", "test", "bench", "demo", "dev"} | own


def test_wheel_installs_the_torqued_command(read):
    entry_points = ConfigParser()
    entry_points.read_string(read("entry_points.txt"))
    assert dict(entry_points["console_scripts"]) == {"torqued": "torqued.tools.cli.main:main"}


@pytest.fixture(scope="module")
def light(wheel, tmp_path_factory):
    return environment_with(wheel, tmp_path_factory.mktemp("light"))


def environment_with(wheel, folder):
    """Python of an environment with the wheel and the client's three packages, and no others.

    Those are linked from the environment of the tests, so that no network is needed.
    """
    place = folder / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", place)
    python = place / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    packages = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    for name in ("numpy", "pyzmq", "msgpack"):
        package = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
            (packages / top).symlink_to(package.locate_file(top))
    run(*pip, "check")
    return python


def test_client_imports_from_the_wheel_in_a_fresh_environment(light):
    where = run(light, "-I", "-c", "import torqued.client; print(torqued.client.__file__)")
    assert Path(where.strip()).is_relative_to(light.parents[1])


def test_light_environment_has_nothing_of_the_server(light):
    for name in ("numba", "pydantic", "rich", "scipy", "pinocchio"):
        with pytest.raises(AssertionError, match=f"No module named '{name}'"):
            run(light, "-I", "-c", f"import {name}")


def test_client_loads_nothing_but_its_three_packages():
    """In the environment of the tests, where there is everything that it could load by mistake."""
    loaded = run(
        sys.executable, "-c", "import sys, torqued.client; print(' '.join(sorted(sys.modules)))"
    )
    tops = {name.partition(".")[0] for name in loaded.split()}
    assert {"numpy", "zmq", "msgpack"} <= tops
    assert not tops & {"numba", "llvmlite", "pydantic", "rich", "defusedxml", "asyncio"}
    assert not [name for name in loaded.split() if name.startswith("torqued.server")]


#: A controller: a request, and a torque law over some ticks against the same law by hand.
CONTROLLER = """
import sys
import numpy as np
from torqued.client import Client

with Client(sys.argv[1], timeout=60.0) as client:
    robot = client.hello()
    q, v = robot.neutral + 0.3, np.full(robot.nv, 0.1)
    r = client.dynamics(q, v, want=("M", "C", "g"))
    gains = {"stiffness": 9.0, "damping": 6.0, "error_limit": 1.0}
    options = {"reference_limits": False, "low_pass": 0.0}
    with client.session("computed_torque", gains=gains, **options) as session:
        for _ in range(20):
            output = session.step(q, v, q_ref=robot.neutral, timeout=60.0)
    acceleration = -9.0 * 0.3 - 6.0 * v
    expected = r.M @ acceleration + r.C @ v + r.g
    limits = robot.limits["effort"]
    assert np.allclose(output.tau, np.clip(expected, -limits, limits)), (output.tau, expected)
    assert np.abs(output.tau).max() > 0.1
    assert not set(output.status_names) - {"CLAMPED"}, output.status_names
print("numba" in sys.modules, "pydantic" in sys.modules, output.sequence)
"""


daemon = daemon_of("chain4")


def test_light_client_runs_a_torque_session_against_a_daemon(light, daemon):
    said = run(light, "-I", "-c", CONTROLLER, daemon.endpoint)
    assert said.split() == ["False", "False", "20"]


#: A session in shared memory where that can be had, one over a socket otherwise.
SESSIONS = """
import sys
import numpy as np
from torqued.client import Client
from torqued.common.errors import TorquedError

with Client(sys.argv[1], timeout=60.0) as client:
    q, v = np.full(4, 0.3), np.full(4, 0.1)
    try:
        session = client.session("gravity", transport="memory", clock="state")
    except TorquedError as error:
        print(error)
        session = client.session("gravity")
    with session:
        for _ in range(5):
            output = session.step(q, v, timeout=60.0)
    assert output.sequence == 5 and np.abs(output.tau).max() > 0.1
    print(session.transport)
"""


def test_wheel_that_is_built_without_a_compiler_has_sockets(sources, daemon, tmp_path):
    pure = built_wheel(sources, tmp_path, CC="no-such-compiler")
    with zipfile.ZipFile(pure) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".so")]
    python = environment_with(pure, tmp_path)
    said = run(python, "-I", "-c", SESSIONS, daemon.endpoint)
    assert "install a C compiler" in said and said.split()[-1] == "socket"


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason="no C compiler")
def test_light_client_has_shared_memory(light, daemon):
    assert run(light, "-I", "-c", SESSIONS, daemon.endpoint).split() == ["memory"]


def test_sources_to_be_handed_on_have_what_is_compiled(sources, tmp_path):
    run(
        *(
            sys.executable,
            "-c",
            "import setuptools.build_meta as b, sys; b.build_sdist(sys.argv[1])",
        ),
        tmp_path,
        folder=sources,
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    native = {str(path.relative_to(ROOT)) for path in (ROOT / "client" / "native").iterdir()}
    assert native <= held and "client/_native.pyi" in held


def test_light_installation_explains_what_the_server_needs(light):
    with pytest.raises(AssertionError, match=r"pip install 'torqued\[server\]'"):
        run(light, "-I", "-m", "torqued.tools.cli.main", "serve", "--robot", "chain4")
