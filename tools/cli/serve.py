"""`torqued serve`: one robot's daemon, in the foreground."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.tools.cli.options import add_robot, robot_settings

if TYPE_CHECKING:
    from rich.console import Console

    from torqued.kernels.compilation.background import Background
    from torqued.kernels.compilation.entries import CompileSummary
    from torqued.server.config import Config
    from torqued.server.daemon import Daemon
    from torqued.server.observation.flight import FlightRecorder
    from torqued.server.transport.endpoints import Endpoints
    from torqued.server.transport.sockets import TcpTransport

HELP = "serve a robot's dynamics and control to other processes"
EXAMPLE = """\
  torqued serve --robot panda
  torqued serve --robot my_robot.urdf --base floating --rate 500
  torqued serve --config configs/talos.toml --priority 80 --lock-memory"""


PLAIN_TCP = """\
torqued: warning: plain TCP on {listen}: any program that reaches this port can command the robot
  and stop the daemon; anyone on the network path can read and change every state and torque.
  `torqued keys new NAME` makes keys; then leave out --plain-tcp."""

NO_KEYS = """\
{listen}: TCP needs keys, and the allow-list {path} is empty.
  torqued keys new NAME --rights command    makes a key that may command torques
  torqued keys new NAME                     makes a key that may only read
  --plain-tcp                               serves without keys: any peer may command"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("--name", help="name of the daemon's sockets (default: robot name)")
    parser.add_argument(
        "--folder",
        type=Path,
        help="socket directory (default: torqued in $XDG_RUNTIME_DIR, or torqued-<uid> in /tmp)",
    )
    parser.add_argument(
        "--group",
        help="group, by name or number, that may also use the local sockets (default: none)",
    )
    parser.add_argument(
        "--listen",
        metavar="tcp://INTERFACE:PORT",
        help="TCP address to serve as well, for clients with an allowed key (see `torqued keys`)",
    )
    parser.add_argument(
        "--plain-tcp",
        action="store_true",
        default=None,
        help="serve TCP without keys: any peer that reaches the port can command the robot",
    )
    parser.add_argument("--rate", metavar="HZ", help="loop rate, 100 to 2000 (default: 1000)")
    parser.add_argument("--priority", metavar="P", help="SCHED_FIFO priority of the loop, 1 to 99")
    parser.add_argument(
        "--lock-memory", action="store_true", default=None, help="keep all memory in RAM"
    )
    parser.add_argument("--cpu", metavar="K", help="processor to pin the loop to")
    parser.add_argument(
        "--spin", metavar="S", help="busy-wait before each tick, in seconds (default: 0)"
    )
    parser.add_argument(
        "--laws",
        metavar="NAMES",
        help="comma-separated laws to compile before the daemon is ready; others follow",
    )


def run(args: argparse.Namespace) -> int:
    if sys.stdout.isatty():
        print("starting", flush=True)  # imports take seconds
    # Before numpy is imported. Matrices of a robot are small; threads of BLAS would spin while they
    # wait for each other, on the loop's processor too: on a busy machine `open` took 14 times as
    # much processor time. The worker inherits it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    from torqued.server.config import load_config
    from torqued.server.daemon import Daemon, Stopped
    from torqued.server.logs import set_up_log
    from torqued.server.notify import notify
    from torqued.server.transport.endpoints import Endpoints
    from torqued.server.worker.source import Source
    from torqued.tools.cli.compile import compile_with_progress
    from torqued.tools.cli.console import make_console

    given = options(args)
    config = load_config(args.config, given)
    check_processor(config)
    set_up_log(config.log_level, config.log_format)
    # Plain text must not mix with JSON lines.
    console = make_console(quiet=config.log_format == "json")
    robot = config.robot.load()
    endpoints = Endpoints(config.socket_folder, config.socket_name(robot), config.group)
    daemon = Daemon(
        robot,
        endpoints,
        rate=config.rate,
        safety=config.safety,
        priority=config.priority,
        lock_memory=config.lock_memory,
        cpu=config.cpu,
        source=Source.of(args.config, given, config),
        tcp=tcp_transport(config),
        limits=config.limits,
        ring_size=config.ring_size,
        flight=flight_recorder(config, endpoints),
        spin=config.spin,
        laws=config.laws,
    )
    daemon.stop_on_signals()

    def leave(number: int) -> int:
        """While kernels compile there are no clients: only files have to be removed."""
        daemon.observation.close()
        daemon.endpoints.remove()
        announce(console, "stopped before it was ready")
        return 0

    try:
        summary = compile_with_progress(
            console, daemon.prepare, leave, lambda line: announce(console, line)
        )
    except Stopped:
        announce(console, "stopped before it was ready")
        return 0
    introduce(console, daemon, config, summary)
    notify("READY=1")
    # These objects live until the end; collecting them would delay requests.
    gc.collect()
    gc.freeze()
    try:
        daemon.run()
    finally:
        notify("STOPPING=1")
    announce(console, "stopped")
    return 0


def options(args: argparse.Namespace) -> dict[str, Any]:
    """What the command line says, as keys of the configuration."""
    from torqued.server.config import Config

    given: dict[str, Any] = {
        key: getattr(args, key)
        for key in Config.model_fields
        if key != "robot" and getattr(args, key, None) is not None
    }
    return given | robot_settings(args)


def check_processor(config: Config) -> None:
    """Refuse a processor that this machine does not have; whether the loop may use it, only the
    loop can find out."""
    from torqued.server.config import ConfigError
    from torqued.server.loop.realtime import processors

    if config.cpu is not None and config.cpu not in (found := processors()):
        listed = ", ".join(map(str, sorted(found)))
        raise ConfigError(
            "", [f"cpu is {config.cpu}, expected a processor of this machine: {listed}"]
        )


def tcp_transport(config: Config) -> TcpTransport | None:
    """The TCP sockets that the configuration asks for."""
    from torqued.server.access.allow_list import KeysError
    from torqued.server.access.keys import KeyFolder, default_keys
    from torqued.server.transport.curve import CurveTransport
    from torqued.server.transport.sockets import TcpTransport

    if config.listen is None:
        return None
    if config.plain_tcp:
        print(PLAIN_TCP.format(listen=config.listen), file=sys.stderr, flush=True)
        return TcpTransport(config.listen, config.session_ports)
    folder = KeyFolder(config.keys or default_keys())
    if not folder.allowed.read():
        raise KeysError(NO_KEYS.format(listen=config.listen, path=folder.allowed.path))
    return CurveTransport(config.listen, config.session_ports, folder.server(), folder.allowed)


def flight_recorder(config: Config, endpoints: Endpoints) -> FlightRecorder | None:
    """The recorder beside the daemon that the configuration asks for."""
    from torqued.server.observation.flight import FlightRecorder, default_folder

    if not config.record:
        return None
    import mcap  # noqa: F401  (fails here, where the user sees it)

    out = (config.record_folder or default_folder(endpoints.name)).absolute()
    return FlightRecorder(endpoints.name, endpoints.folder, out, config.record_minutes)


def introduce(console: Console, daemon: Daemon, config: Config, summary: CompileSummary) -> None:
    """Print the facts about a daemon that has become ready."""
    from torqued.server.loop.realtime import what_to_add

    granted = daemon.servo.wait_for_settings()
    known = facts(daemon, config, summary) | (granted or {"realtime": "not requested"})
    remedies = what_to_add(granted, config.priority, config.cpu)
    for name, what in known.items():
        console.print(f"{name:<10} {what}", markup=False)
    for remedy in remedies:
        console.print(f"{'to add':<10} {remedy}", markup=False)
    announce(console, "ready; Ctrl-C or SIGTERM stops it", **known, to_add=list(remedies))


def facts(daemon: Daemon, config: Config, summary: CompileSummary) -> dict[str, str]:
    """What is served, where, and with which kernels."""
    from torqued.kernels.compilation.jit import PROCESSOR
    from torqued.kernels.model.lock import sentence

    robot = daemon.robot
    compiled = summary.kernels - summary.from_cache
    state = f"{compiled} compiled" if compiled else "all from the cache"
    unsaid = config.robot.is_file and not robot.model.description.base
    lines = {
        "robot": f"{robot.name}, {robot.model.base} base, {robot.nv} degrees of freedom"
        + ("; use --base floating if it moves freely" if unsaid else ""),
        **({"locked": sentence(robot.model.locked)} if robot.model.locked else {}),
        "requests": ", ".join(transport.endpoints["request"] for transport in daemon.transports),
        "control": ", ".join(transport.endpoints["control"] for transport in daemon.transports),
        "telemetry": ", ".join(transport.endpoints["telemetry"] for transport in daemon.transports),
        "kernels": f"{summary.kernels}, {state}, in {summary.seconds:.1f} s; for {PROCESSOR}"
        + in_background(daemon.background),
        "cache": summary.cache,
        "loop": f"{config.rate:g} Hz; states are stale after {config.stale_ticks} ticks",
    }
    if daemon.observation.why_not:
        lines["ring"] = f"none: {daemon.observation.why_not}"
    elif daemon.flight:
        lines["recorder"] = f"the last {config.record_minutes:g} minutes, in {daemon.flight.out}"
    return lines


def in_background(background: Background) -> str:
    """What follows when a daemon is ready."""
    if not (left := background.left):
        return ""
    compiled = f", {missing} of them compiled first" if (missing := background.missing) else ""
    return f"; {left} more are loaded in the background{compiled}"


def announce(console: Console, message: str, **fields: Any) -> None:
    """Report a step of the daemon's life on the console, or in a JSON log."""
    import logging

    from torqued.server.logs import written_as

    if written_as() == "json":
        event = message.split(";")[0].replace(" ", "_")
        logging.getLogger("torqued").info(message, extra={"event": event, **fields})
    else:
        console.print(message)
