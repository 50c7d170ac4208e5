"""A live view for Foxglove, through the WebSocket server of its SDK.

Channels: /tf has the robot's frames, /SESSION/joints the state with torques as efforts,
/SESSION/law every number of a tick, /log what happens to sessions.
"""

from __future__ import annotations

from typing import Any

import foxglove
import numpy as np
from foxglove.channels import FrameTransformsChannel, JointStatesChannel, LogChannel
from foxglove.messages import (
    FrameTransform,
    FrameTransforms,
    JointState,
    JointStates,
    Log,
    LogLevel,
    Quaternion,
    Timestamp,
    Vector3,
)

from torqued.common.status import status_names
from torqued.kernels import Robot
from torqued.tools.recording.reader import Batch, Reader
from torqued.tools.recording.session_layout import SessionInfo, joints_of
from torqued.tools.viewers.following import frame_poses, since_1970
from torqued.tools.viewers.history import has_state

WORLD = "world"


class Foxglove:
    """Sends the newest tick of each session, poll by poll, to all connected clients."""

    def __init__(self, reader: Reader, robot: Robot, host: str, port: int) -> None:
        self.reader, self.robot = reader, robot
        self._context = foxglove.Context()
        self._server = foxglove.start_server(
            name=f"torqued {reader.name}", host=host, port=port, context=self._context
        )
        self.port: int = self._server.port
        self._transforms = FrameTransformsChannel("/tf", context=self._context)
        self._log = LogChannel("/log", context=self._context)
        self._joints: dict[int, JointStatesChannel] = {}
        self._numbers: dict[int, foxglove.Channel] = {}
        self._status: dict[int, int] = {}

    def close(self) -> None:
        self._server.stop()

    def is_watched(self) -> bool:
        """Whether any channel has a subscriber."""
        channels: list[Any] = [self._transforms, self._log]
        channels += [*self._joints.values(), *self._numbers.values()]
        return any(channel.has_sinks() for channel in channels)

    def publish(self, batch: Batch) -> None:
        offset = since_1970()
        for number, ticks in batch.ticks.items():
            session, tick = self.reader.sessions[number], ticks[-1]
            time = int(tick["time"]) + offset
            stamp = Timestamp(time // 10**9, time % 10**9)
            self._log_status(session, ticks["status"], stamp, time)
            if not has_state(tick):
                continue
            self._transforms.log(
                FrameTransforms(transforms=list(self._frames(tick["q"], stamp))), log_time=time
            )
            self._send_joints(session, tick, stamp, time)
            self._send_numbers(session, tick, time)

    def _frames(self, q: Any, stamp: Timestamp) -> Any:
        if not self._transforms.has_sinks():
            return  # no subscriber
        for name, (position, turn) in frame_poses(self.robot, q).items():
            x, y, z = position.tolist()
            yield FrameTransform(
                timestamp=stamp,
                parent_frame_id=WORLD,
                child_frame_id=name,
                translation=Vector3(x=x, y=y, z=z),
                rotation=Quaternion(**dict(zip("xyzw", turn.tolist(), strict=True))),
            )

    def _send_joints(self, session: SessionInfo, tick: Any, stamp: Timestamp, time: int) -> None:
        if session.number not in self._joints:
            topic = f"/{session.number}/joints"
            self._joints[session.number] = JointStatesChannel(topic, context=self._context)
        names = joints_of(self.reader.robot)
        # Joints with one degree of freedom, as Foxglove has them; a base comes in /tf.
        last = min(len(names), tick["v"].size)
        q, v = tick["q"][-last:], tick["v"][-last:]
        tau = tick["tau"][-last:] if "tau" in (tick.dtype.names or ()) else np.zeros(last)
        if not self._joints[session.number].has_sinks():
            return
        joints = [
            JointState(name=name, position=float(a), velocity=float(b), effort=float(c))
            for name, a, b, c in zip(names[-last:], q, v, tau, strict=True)
        ]
        message = JointStates(timestamp=stamp, joints=joints)
        self._joints[session.number].log(message, log_time=time)

    def _send_numbers(self, session: SessionInfo, tick: Any, time: int) -> None:
        if session.number not in self._numbers:
            topic = f"/{session.number}/{session.law}"
            self._numbers[session.number] = foxglove.Channel(topic, context=self._context)
        if not self._numbers[session.number].has_sinks():
            return
        numbers: dict[str, Any] = {
            "status": int(tick["status"]),
            "lateness_us": 1e-3 * int(tick["time"] - tick["deadline"]),
            "compute_us": 1e-3 * int(tick["compute"]),
            "age_us": 1e-3 * int(tick["age"]),
        }
        for part in session.parts:
            numbers[part.field] = tick[part.field].tolist()
        self._numbers[session.number].log(numbers, log_time=time)

    def _log_status(self, session: SessionInfo, statuses: Any, stamp: Timestamp, time: int) -> None:
        """A line for each change of status."""
        for status in statuses.tolist():
            before = self._status.get(session.number)
            if status != before:
                self._status[session.number] = status
                words = " ".join(status_names(status)) or "OK"
                level = LogLevel.Warning if status else LogLevel.Info
                message = f"session {session.number} ({session.law}): {words}"
                self._log.log(
                    Log(timestamp=stamp, level=level, message=message, name="torqued"),
                    log_time=time,
                )
