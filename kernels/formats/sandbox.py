"""Files that are programs (xacro, Lua), or that MuJoCo compiles, are read in a process of few
rights.

The operating system bounds its CPU time, memory and output. It has no environment variables but
the loader's. It can read what lies in its `roots`, and Python refuses to it whatever else an audit
hook sees: other files, writing, programs, the network, modules.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from torqued.common.errors import ModelError
from torqued.kernels.formats.robot_file import RobotFile

MEMORY = 2 << 30  # bytes, address space
OUTPUT = 1 << 24  # bytes
WAIT = 60.0  # s, where it does not compute: a pipe among its files
#: Exit status where Python could not start, and where memory or output was not enough.
FAILED, LIMIT = 1, 3

START = f"import sys; sys.path[:] = sys.argv[2:]; import {__name__} as s; s.serve(sys.argv[1])"

#: Folders and files that the process may read; it adds packages that it finds, and meshes.
roots: list[str] = []


def evaluated(
    file: RobotFile, program: str, request: dict[str, Any], seconds: int
) -> dict[str, Any]:
    """What the module's `answer(request)` gives in seconds of CPU time, or a `ModelError`."""
    folder = None if file.folder is None else str(file.folder.resolve())
    given = {"text": file.text, "source": file.source, "folder": folder, "seconds": seconds}
    request = {**request, **given}
    paths = [str(path) or os.curdir for path in sys.path]
    options = ("-I", "-W", "ignore", "-X", "utf8", "-c", START, program, *paths)
    # Without the loader's paths some interpreters do not start; threads of BLAS reserve memory.
    environment = {k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH"}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    try:
        # An anonymous file, because the limit on output holds for files only.
        with os.fdopen(os.memfd_create("answer"), "w+b") as output:
            ended = subprocess.run(
                [sys.executable, *options],
                input=json.dumps(request).encode(),
                stdout=output,
                stderr=subprocess.DEVNULL,
                env=environment,
                timeout=WAIT,
            )
            output.seek(0)
            text = output.read()
            has_failed = ended.returncode == FAILED
    except subprocess.TimeoutExpired:
        text, has_failed = b"", False
    except (OSError, TypeError, ValueError) as error:
        raise ModelError(file.source, [f"no process can read it: {error}"]) from None
    try:
        answer: dict[str, Any] = json.loads(text)
    except ValueError:
        limits = f"{MEMORY >> 20} MiB of memory, {OUTPUT >> 20} MiB of text"
        problem = f"cannot be read within {seconds} s of CPU time, {limits}"
        if has_failed:
            problem = f"no process can read it: {sys.executable} does not find torqued"
        answer = {"problems": [problem]}
    if "problems" in answer:
        raise ModelError(file.source, answer["problems"])
    return answer


def serve(program: str) -> None:
    """In the process: one request from the standard input, one answer to the standard output."""
    import resource  # which not every system has

    request = json.load(sys.stdin)
    roots[:] = [request["folder"]] if request["folder"] else []
    output, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    limits = {"CPU": request["seconds"], "AS": MEMORY, "FSIZE": OUTPUT, "NPROC": 0}
    try:
        answer = importlib.import_module(program).answer
        for name, limit in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
        sys.addaudithook(_guard)
        found = answer(request)
    except MemoryError:
        os._exit(LIMIT)
    except ModelError as error:
        own = error.source == request["source"]
        found = {
            "problems": [text if own else f"{error.source}: {text}" for text in error.problems]
        }
    except Exception as error:  # of the file, whatever it is
        found = {"problems": [f"cannot be evaluated: {type(error).__name__}: {error}"[:500]]}
    try:
        output.write(json.dumps(found))
        output.flush()
    except (OSError, MemoryError):
        os._exit(LIMIT)
    os._exit(0)


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir"):
        writes = event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or not _is_readable(arguments[0]):
            allowed = f"files in {' and '.join(roots)}" if roots else "none, for a text alone"
            raise PermissionError(f"opens {arguments[0]!r}, allowed: {allowed}")
    elif event.partition(".")[0] in ("os", "subprocess", "socket", "ctypes", "shutil", "import"):
        raise PermissionError(f"does what a robot's file may not do: {event} {arguments[:1]}")


def _is_readable(path: Any) -> bool:
    """Whether a file lies in a root, and no process could write on into it."""
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    real = Path(os.path.realpath(os.fsdecode(path)))
    return any(real.is_relative_to(root) for root in roots) and not real.is_fifo()
