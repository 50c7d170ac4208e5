"""Operations on the daemon itself: description, statistics, stop, reload, shutdown.

All but `hello` come over the control socket and run in its thread.
"""

from __future__ import annotations

import logging
import resource
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common import errors
from torqued.common.errors import InputError
from torqued.kernels.input_checks import Fields
from torqued.server.access.rights import Caller
from torqued.server.requests.outcomes import as_maps
from torqued.server.requests.replies import Deferred
from torqued.server.worker.reload import Reload

if TYPE_CHECKING:
    from torqued.kernels import Robot
    from torqued.server.daemon import Daemon

log = logging.getLogger("torqued")

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

CONVENTIONS = (
    "SI units, radians; 6-D vectors [angular; linear]; floating base q = [x y z, qx qy qz qw, "
    "joints], v = [angular, linear in body axes, joints]; joints depth first in document order"
)


def hello(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    robot, loop = daemon.robot, daemon.servo.statistics()
    return {
        "name": robot.name,
        "base": robot.model.base,
        "nq": robot.nq,
        "nv": robot.nv,
        "joints": list(robot.joint_names),
        "joint_slices": joint_slices(robot),
        "locked": robot.locked,
        "frames": list(robot.frame_names),
        "limits": {name: np.asarray(value) for name, value in asdict(robot.limits).items()},
        "neutral": robot.neutral(),
        "postures": {name: robot.posture(name) for name in robot.postures},
        "gravity_vector": robot.gravity_vector,
        "warnings": list(robot.warnings),
        "conventions": CONVENTIONS,
        "operations": list(daemon.request_dispatch.names),
        "endpoints": caller.transport.reached_by(),
        "rights": caller.right,
        "rate": loop["rate"],
        "deadline": loop["deadline"],
        "realtime": daemon.servo.granted,
    }


def joint_slices(robot: Robot) -> dict[str, dict[str, list[int]]]:
    """Where joints are in q and v, by name: the first, and the one after the last."""
    joints = map(robot.joint, robot.joint_names)
    return {
        joint.name: {"q": [joint.q.start, joint.q.stop], "v": [joint.v.start, joint.v.stop]}
        for joint in joints
    }


def ping(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    return {"ready": daemon.ready, **names(daemon), "kernels": daemon.kernels}


def names(daemon: Daemon) -> dict[str, str]:
    """The daemon's name, by which clients connect, and its robot's."""
    return {"name": daemon.endpoints.name, "robot": daemon.robot.name}


def stats(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    return statistics(daemon)


def statistics(daemon: Daemon) -> dict[str, Any]:
    """What `stats` replies and telemetry publishes."""
    dispatchers = (daemon.request_dispatch, daemon.control_dispatch)
    return {
        **names(daemon),
        "ready": daemon.ready,
        "uptime": time.monotonic() - daemon.started,
        "requests": daemon.request_dispatch.requests,
        "refused": sum(dispatch.outcomes.refused for dispatch in dispatchers),
        "outcomes": as_maps([dispatch.outcomes for dispatch in dispatchers]),
        "unsent": sum(outbox.unsent for outbox in daemon.outboxes.values()),
        "memory": {"resident": resident_bytes()},
        "servo": daemon.servo.statistics(),
        "sessions": daemon.servo.describe(),
        "realtime": daemon.servo.granted,
        "kernels": daemon.kernels,
        "worker": daemon.worker.statistics(),
        "observation": daemon.observation.statistics(),
    }


def resident_bytes() -> int:
    """Memory of the process that is in RAM."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def sessions(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    return {"sessions": daemon.servo.describe()}


def stop(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    """Give sessions to their fallbacks; effective at the loop's next tick."""
    result = daemon.servo.orders.stop(fields, caller)
    what = "all sessions" if "session" not in fields else f"session {fields['session']}"
    log.warning("stop of %s, by %s", what, caller.name)
    return result


def recover(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    log.warning("recover, by %s", caller.name)
    return daemon.servo.orders.recover(fields, caller)


def reload(daemon: Daemon, fields: Fields, caller: Caller) -> Deferred:
    """Load the robot again, in the worker; server/worker/reload.py."""
    if not daemon.ready:
        raise errors.error("not_ready", "kernels are still being compiled")
    return Deferred(lambda reply: daemon.events.hand_over(Reload(daemon, reply).begin))


def log_level(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    level = fields["level"]
    if not isinstance(level, str) or level not in LEVELS:
        listed = ", ".join(LEVELS)
        raise InputError(
            f"level: {level!r} is unknown, allowed: {listed}", "level", level, f"one of {listed}"
        )
    log.setLevel(level)
    return {"level": level}


def recorder(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    """Take a recorder's report, for `stats`."""
    daemon.observation.recorders.take(fields["report"])
    return {}


def shutdown(daemon: Daemon, fields: Fields, caller: Caller) -> dict[str, Any]:
    daemon.stop()
    return {}
