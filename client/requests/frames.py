"""Poses, Jacobians and motions of one frame: methods over the operation `kinematics`."""

from __future__ import annotations

from typing import Any

from torqued.client.requests.methods import Method
from torqued.client.requests.request_parts import Request, numbers
from torqued.client.requests.results import Array


def _of_frame(
    frame: str, wanted: str, order: int, representation: str, **state: Any
) -> Request[Array]:
    """One result of `kinematics` for one frame."""
    fields: dict[str, Any] = numbers(**state)
    fields |= {"frames": [frame], "representation": representation, "order": order}
    return Request("kinematics", fields, lambda reply: reply[wanted][frame])


class FrameOperations:
    """`kinematics` of one frame. `representation` is "hybrid", "body", "spatial" or "mixed"."""

    @Method
    @staticmethod
    def frame_pose(q: Any, frame: str) -> Request[Array]:
        """Homogeneous transform (4, 4) of a frame to the world."""
        return _of_frame(frame, "pose", 0, "hybrid", q=q)

    @Method
    @staticmethod
    def frame_jacobian(q: Any, frame: str, representation: str = "hybrid") -> Request[Array]:
        """J (6, nv): twist of a frame [angular; linear] = J v."""
        return _of_frame(frame, "J", 1, representation, q=q)

    @Method
    @staticmethod
    def frame_jacobian_rate(
        q: Any, v: Any, frame: str, representation: str = "hybrid"
    ) -> Request[Array]:
        """J̇ (6, nv) at v (nv,)."""
        return _of_frame(frame, "Jdot", 2, representation, q=q, v=v)

    @Method
    @staticmethod
    def frame_jacobian_second_rate(
        q: Any, v: Any, a: Any, frame: str, representation: str = "hybrid"
    ) -> Request[Array]:
        """J̈ (6, nv) at v (nv,) and a (nv,)."""
        return _of_frame(frame, "Jddot", 3, representation, q=q, v=v, a=a)

    @Method
    @staticmethod
    def frame_velocity(
        q: Any, v: Any, frame: str, representation: str = "hybrid"
    ) -> Request[Array]:
        """Twist (6,) of a frame, [angular; linear]."""
        return _of_frame(frame, "velocity", 1, representation, q=q, v=v)

    @Method
    @staticmethod
    def frame_bias(q: Any, v: Any, frame: str, representation: str = "hybrid") -> Request[Array]:
        """J̇ v (6,) of a frame: its acceleration with a = 0."""
        return _of_frame(frame, "acceleration", 2, representation, q=q, v=v)

    @Method
    @staticmethod
    def frame_acceleration(
        q: Any, v: Any, a: Any, frame: str, representation: str = "hybrid"
    ) -> Request[Array]:
        """The rate (6,) of a frame's twist: J a + J̇ v."""
        return _of_frame(frame, "acceleration", 2, representation, q=q, v=v, a=a)

    @Method
    @staticmethod
    def frame_jerk(
        q: Any, v: Any, a: Any, jerk: Any, frame: str, representation: str = "hybrid"
    ) -> Request[Array]:
        """The second rate (6,) of a frame's twist."""
        return _of_frame(frame, "jerk", 3, representation, q=q, v=v, a=a, jerk=jerk)
