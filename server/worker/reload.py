"""`reload`: loads the robot from its files again, and swaps it between two ticks of the loop.

    control thread → main thread: is it in use? → worker: load and check → main thread: swap → reply

If the files have faults, or sessions are open, the daemon keeps its robot.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import zmq

from torqued.client import codec
from torqued.common import errors
from torqued.kernels import Robot
from torqued.server.requests.replies import PendingReply, success
from torqued.server.worker.jobs import Job
from torqued.server.worker.model_bytes import unpack

if TYPE_CHECKING:
    from torqued.server.daemon import Daemon

log = logging.getLogger("torqued")


class Reload:
    """One request to reload the robot; the newest counts. Belongs to the main thread."""

    def __init__(self, daemon: Daemon, pending: PendingReply) -> None:
        self.daemon = daemon
        self.pending = pending

    def begin(self) -> None:
        """Have the worker load the robot, unless it could not be swapped anyway."""
        source = self.daemon.source
        try:
            if source is None:
                raise errors.error("bad_model", "this daemon's robot does not come from a file")
            self.daemon.servo.require_unused()
            self.daemon.newest_reload = self
            body = codec.encode(asdict(source))
            self.daemon.worker.submit(
                Job(
                    *("reload", "load", self.pending.client, self.pending.identity, body),
                    finish=self._finish,
                    fail=self.pending.refuse,
                )
            )
        except Exception as error:
            self.pending.refuse(error)

    def _finish(self, head: Mapping[str, Any], body: zmq.Frame) -> None:
        """Take the robot that the worker has loaded, or pass on its error."""
        if not head["ok"]:
            self.pending.send(body, head["code"])
            return
        try:
            if self.daemon.newest_reload is not self:
                raise errors.error("busy", "a newer reload has begun meanwhile")
            result = self._take(Robot(unpack(body.bytes)))
            self.pending.send(success(self.pending.identity, result | {"restart": head["restart"]}))
        except Exception as error:
            self.pending.refuse(error)

    def _take(self, robot: Robot) -> dict[str, Any]:
        self.daemon.servo.swap(robot)  # first: it refuses if a session has been opened meanwhile
        self.daemon.robot = robot
        self.daemon.describe_robot()
        self.daemon.worker.use(robot.model)
        log.info("reloaded %s: %d degrees of freedom", robot.name, robot.nv)
        return {
            "name": robot.name,
            "base": robot.model.base,
            "nq": robot.nq,
            "nv": robot.nv,
            "warnings": list(robot.warnings),
        }
