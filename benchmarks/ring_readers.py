"""All processes that read a ring, each where what it needs is installed: the recorder, and the
viewers without clients."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen

from torqued.benchmarks.processes import NotStarted, process
from torqued.server.daemon import Daemon

#: Seconds that readers have to begin.
MAX_START = 120.0
RECORDER = "record"
#: Commands by the package that they need, with options that keep them out of others' way.
COMMANDS = {
    RECORDER: ("mcap", ()),
    "metrics": ("prometheus_client", ("--listen", "127.0.0.1:0")),
    "stream": ("zmq", ("--endpoint", "tcp://127.0.0.1:*")),
    "foxglove": ("foxglove", ("--listen", "127.0.0.1:0")),
    "dash": ("viser", ("--listen", "127.0.0.1:0")),
}


@contextmanager
def readers(daemon: Daemon) -> Iterator[dict[str, int]]:
    """Processes that read the daemon's ring: their ids, by what they are."""
    name, folder = daemon.endpoints.name, daemon.endpoints.folder
    out = folder / "recorded"
    commands: dict[str, list[str]] = {}
    for command, (package, options) in COMMANDS.items():
        if importlib.util.find_spec(package):
            start = [sys.executable, "-m", "torqued.tools.cli.main", command, "--robot", name]
            commands[command] = [*start, "--folder", str(folder), *options]
    if RECORDER in commands:
        commands[RECORDER] += ["--out", str(out)]
    with ExitStack() as stack:
        logs = {key: folder / f"{key}.log" for key in commands}
        children = {
            key: stack.enter_context(process(command, logs[key]))
            for key, command in commands.items()
        }
        deadline = time.monotonic() + MAX_START
        # The recorder says nothing before its end, all others where they are to be found.
        while not all(
            list(out.glob("*.mcap")) if key == RECORDER else logs[key].read_text()
            for key in children
        ):
            require_all(children, logs)
            if time.monotonic() > deadline:
                raise NotStarted(f"readers of the ring have not begun: {', '.join(children)}")
            time.sleep(0.05)
        yield {key: child.pid for key, child in children.items()}
        require_all(children, logs)  # until here: the measurement is about all of them


def require_all(children: Mapping[str, Popen[bytes]], logs: Mapping[str, Path]) -> None:
    for key, child in children.items():
        if child.poll() is not None:
            raise NotStarted(f"a reader of the ring has ended: {key}: {logs[key].read_text()}")
