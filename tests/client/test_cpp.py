"""The C++ client against a real daemon: compiled and run where a compiler and libraries are there.

Nothing is installed here; `.ci/run` does that.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.daemons import daemon_of, free_port
from torqued.client import cpp_tables
from torqued.client.codec import PROTOCOL_VERSION
from torqued.client.memory import page_layout
from torqued.common.errors import CODES
from torqued.server.access.keys import KeyFolder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "client" / "cpp"
EXAMPLES = ROOT / "examples" / "cpp"
#: Seconds for a compiler or a program to come to an end, however busy the machine.
LONGEST = 900
STRICT = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")

TRIAL = "#include <zmq.h>\n#define MSGPACK_NO_BOOST\n#include <msgpack.hpp>\nint main() {}\n"


def run(*command, **options):
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=LONGEST, **options
    )


@pytest.fixture(scope="module")
def compile_program(tmp_path_factory):
    """Compiles a source file; skips where that is not possible on this machine."""
    compiler = shutil.which("g++")
    if not compiler:
        pytest.skip("there is no g++ (Debian: g++)")
    folder = tmp_path_factory.mktemp("cpp")
    trial = folder / "trial.cpp"
    trial.write_text(TRIAL)
    done = run(compiler, "-std=c++17", trial, "-o", folder / "trial", "-lzmq")
    if done.returncode != 0:
        missing = done.stderr.splitlines()[0]
        pytest.skip(f"libzmq3-dev or libmsgpack-cxx-dev is not there: {missing}")

    def compiled(source):
        target = folder / source.stem
        done = run(compiler, *STRICT, f"-I{HEADERS}", source, "-o", target, "-lzmq")
        assert done.returncode == 0, done.stderr
        return target

    return compiled


@pytest.fixture(scope="module")
def probe(compile_program):
    return compile_program(Path(__file__).parent / "cpp" / "probe.cpp")


daemon = daemon_of("panda")


@pytest.mark.parametrize(
    "check",
    [
        *("requests", "errors", "references", "socket", "memory", "arrival"),
        *("no_allocation", "no_allocation_on_arrival", "ends", "lost_states"),
    ],
)
def test_cpp_client(probe, daemon, check):
    done = run(probe, check, daemon.endpoint)
    assert (done.stdout, done.returncode) == ("ok\n", 0), done.stderr


def test_cpp_client_over_tcp_with_keys(probe, another, tmp_path):
    keys, port = KeyFolder(tmp_path / "keys"), free_port()
    keys.new("controller", "command")
    listen = ("--listen", f"tcp://127.0.0.1:{port}")
    another("--robot", "panda", *listen, keys=keys.folder).start()
    for check in ("requests", "socket"):
        key = keys.folder / "controller.key"
        done = run(probe, check, f"tcp://127.0.0.1:{port}", key)
        assert (done.stdout, done.returncode) == ("ok\n", 0), done.stderr


def test_examples_run_against_a_daemon(compile_program, daemon):
    for transport in ("memory", "socket"):
        done = run(compile_program(EXAMPLES / "controller.cpp"), daemon.endpoint, transport)
        assert done.returncode == 0, done.stderr
        first, last = done.stdout.splitlines()
        assert first.startswith("robot panda: nq 7, nv 7, 1000 Hz")
        assert " of 1000 states answered, " in last
        assert not last.startswith("0 of")
    done = run(compile_program(EXAMPLES / "driver.cpp"), daemon.endpoint, "200")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("200 states, ")


def test_cmake_finds_the_package(compile_program, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("there is no cmake")
    done = run("cmake", "-S", HEADERS, "-B", tmp_path / "package")
    assert done.returncode == 0, done.stderr
    done = run("cmake", "--install", tmp_path / "package", "--prefix", tmp_path / "installed")
    assert done.returncode == 0, done.stderr
    where = tmp_path / "installed" / "lib" / "cmake" / "torqued"
    for package in (where, HEADERS / "cmake"):
        build = tmp_path / package.name
        done = run("cmake", "-S", EXAMPLES, "-B", build, f"-Dtorqued_DIR={package}")
        assert done.returncode == 0, done.stderr


def test_headers_know_what_python_knows():
    """Numbers and names that both clients have: one table changes, and this fails."""
    text = "".join(path.read_text() for path in sorted(HEADERS.rglob("*.hpp")))
    assert f"protocol_version = {PROTOCOL_VERSION};" in text
    assert cpp_tables.HEADER.read_text(encoding="utf-8") == cpp_tables.text()
    for word in CODES:
        assert f'"{word}"' in text
    assert f'"{page_layout.MAGIC.decode()}"' in text
    assert f"states_word = {page_layout.STATES}, " in text
    assert f"daemon_sleeps = {page_layout.DAEMON_SLEEPS};" in text
    assert f"outputs_word = {page_layout.OUTPUTS}, " in text
    assert f"client_sleeps = {page_layout.CLIENT_SLEEPS};" in text
    for name, _ in page_layout.PAGE_FIELDS:
        assert f'size_in(map, "{name}")' in text
