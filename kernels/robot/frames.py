"""Frames and points: poses, Jacobians, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common import results
from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.input_checks import choice, names_of, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite, result_array
from torqued.kernels.robot.dynamics import Dynamics

#: What `kinematics` brings with each order, beside that of the lower ones: the motion of a frame
#: and the matrix that is new in its formula.
BROUGHT = {0: ("pose",), 1: ("velocity", "J"), 2: ("acceleration", "Jdot"), 3: ("jerk", "Jddot")}
MAX_ORDER = 3


class Frames(Dynamics):
    """`point` (3,) is in the frame's own axes; None is the frame's origin."""

    @finite
    def frame_pose(
        self, q: Any, frame: str, point: Any = None, *, out: Array | None = None
    ) -> Array:
        """Homogeneous pose (4, 4) of a frame in the world."""
        tree, q = self.tree, self.tree.q(q)
        pose = result_array("out", out, (4, 4), (q,))
        COMPILED.frame_poses(tree.handle, q, self.frame_table.records([frame], point), pose[None])
        return pose

    def _frame_poses(self, q: Any, frames: NDArray[np.void]) -> Array:
        """(k, 4, 4) of records of `FRAME`."""
        tree, poses = self.tree, np.empty((len(frames), 4, 4))
        records = np.ascontiguousarray(frames).view(np.recarray)
        COMPILED.frame_poses(tree.handle, tree.q(q), records, poses)
        return poses

    @finite
    def frame_jacobian(
        self,
        q: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """J (6, nv): twist of the frame = J v."""
        kind = representation_of(representation)
        tree, q, records = self.tree, self.tree.q(q), self.frame_table.records([frame], point)
        J = tree.target(out, (6, tree.nv_free), q)
        COMPILED.frame_jacobians(tree.handle, q, records, kind, J[None])
        return tree.projected("rows", J, out)

    @finite
    def frame_velocity(
        self,
        q: Any,
        v: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """J v (6,), without forming J."""
        return self._frame_motion(q, v, None, 0, out, frame, representation, point)

    @finite
    def frame_acceleration(
        self,
        q: Any,
        v: Any,
        a: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """J a + J̇ v (6,): the rate of `frame_velocity`; gravity is not in it."""
        a = self.tree.own_v("a", a)
        return self._frame_motion(q, v, a, 1, out, frame, representation, point)

    @finite
    def frame_bias(
        self,
        q: Any,
        v: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """J̇ v (6,)."""
        return self._frame_motion(q, v, None, 1, out, frame, representation, point)

    def _frame_motion(self, q: Any, v: Any, a: Any, which: int, out: Any, *where: Any) -> Array:
        """J v (which = 0) or J a + J̇ v (which = 1), (6,); `a` may be None for zero."""
        frame, representation, point = where
        kind = representation_of(representation)
        tree, records = self.tree, self.frame_table.records([frame], point)
        q, v = tree.q(q), tree.v("v", v)
        a = np.zeros(tree.nv_free) if a is None else tree.v("a", a)
        motions = [np.empty((1, 6)), np.empty((1, 6))]
        motions[which] = result_array("out", out, (6,), (q, v, a))[None]
        COMPILED.frame_motions(tree.handle, q, v, a, records, kind, *motions)
        motion: Array = motions[which][0]
        return motion if out is None else out

    @finite
    def frame_jerk(
        self,
        q: Any,
        v: Any,
        a: Any,
        jerk: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
    ) -> Array:
        """J q⃛ + 2 J̇ a + J̈ v (6,): the rate of `frame_acceleration`; `jerk` is q⃛ (nv,)."""
        v, a, jerk = (self.tree.own_v(*x) for x in (("v", v), ("a", a), ("jerk", jerk)))
        return self._rates_of_frame(q, (v, a, jerk), 3, frame, representation, point)["jerk"]

    @finite
    def frame_jacobian_rate(
        self, q: Any, v: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """J̇ (6, nv): the rate of `frame_jacobian` along v."""
        v = self.tree.own_v("v", v)
        return self._rates_of_frame(q, (v,), 2, frame, representation, point)["Jdot"]

    @finite
    def frame_jacobian_second_rate(
        self, q: Any, v: Any, a: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """J̈ (6, nv): the rate of `frame_jacobian_rate` along v and a."""
        v, a = self.tree.own_v("v", v), self.tree.own_v("a", a)
        return self._rates_of_frame(q, (v, a), 3, frame, representation, point)["Jddot"]

    def _rates_of_frame(
        self, q: Any, motion: Sequence[Any], order: int, frame: str, kind: str, point: Any
    ) -> dict[str, Array]:
        """Everything up to an order of one frame, by name."""
        records = self.frame_table.records([frame], point)
        found = self._frame_rates(q, motion, order, records, kind)
        return {word: values[0] for word, values in found.items()}

    @finite
    def frame_hessian(
        self, q: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """∂J/∂q (6, nv, nv): [:, j, k] is the derivative of column j of J along column k of v.

        J̇ = H v. Where v is the rate of coordinates, k counts those.
        """
        kind = representation_of(representation)
        tree, records, n = self.tree, self.frame_table.records([frame], point), self.nv_free
        J, H = np.empty((6, n)), np.empty((6, n, n))
        COMPILED.frame_hessian(tree.handle, tree.q(q), records, kind, J, H)
        if not tree.follows:
            return H
        # Of followers, through G: J̄ = J G, and ∂q_free/∂q = G too.
        own = np.empty((6, tree.nv, tree.nv))
        for row, free in zip(own, H, strict=True):
            row[:] = tree.projected("matrix", free)
        return own

    @finite
    def kinematics(
        self,
        q: Any,
        frames: Sequence[str],
        v: Any = None,
        representation: str = "hybrid",
        *,
        order: int | None = None,
        a: Any = None,
        jerk: Any = None,
    ) -> results.Kinematics:
        """Poses and Jacobians of frames by name, and J̇ v where v is given.

        With an `order`, their motions instead, from one walk over the tree: 0 pose; from 1 on
        velocity, J; from 2 on acceleration, Jdot; 3 jerk, Jddot. v, a and jerk (nv,) are zero where
        they are not given.
        """
        if order is None:
            require_order(a=a, jerk=jerk)
            want = ("pose", "J") if v is None else ("pose", "J", "Jdot_v")
            found = self.dynamics(q, v, want, frames, representation)
            return results.Kinematics(found.as_dict())
        highest = whole_number("order", order, 0, MAX_ORDER)
        names = names_of("frames", frames)
        records = self.frame_table.records(names, field="frames")
        rates = self._frame_rates(q, (v, a, jerk), highest, records, representation)
        return results.Kinematics(
            {
                word: {frame: values[k] for k, frame in enumerate(names)}
                for word, values in rates.items()
            }
        )

    def _frame_rates(
        self, q: Any, motion: Sequence[Any], order: int, frames: NDArray[np.void], kind: Any
    ) -> dict[str, Sequence[Array]]:
        """Of all frames, by name; of v, a and jerk, those that are missing or None are zero."""
        representation = representation_of(kind)
        tree, k, n = self.tree, len(frames), self.tree.nv_free
        rates = [
            np.zeros(n) if values is None else tree.v(name, values)
            for name, values in zip_longest(("v", "a", "jerk"), motion)
        ]
        q = tree.q(q)
        poses, motions = np.empty((k, 4, 4)), np.empty((k, MAX_ORDER, 6))
        J, Jdot, Jddot = (np.empty((k if order > m else 0, 6, n)) for m in range(MAX_ORDER))
        COMPILED.frame_kinematics(
            tree.handle, q, *rates, frames, representation, order, poses, motions, J, Jdot, Jddot
        )
        found: dict[str, Sequence[Array]] = {"pose": list(poses)}
        for m, matrices in enumerate((J, Jdot, Jddot)[:order]):
            motion_name, matrix_name = BROUGHT[m + 1]
            found[motion_name] = list(motions[:, m])
            found[matrix_name] = [tree.projected("rows", rows) for rows in matrices]
        return found


def representation_of(name: Any) -> int:
    """What kernels take for a representation's name."""
    return REPRESENTATIONS[choice("representation", name, REPRESENTATIONS)]


def require_order(**rates: Any) -> None:
    """Refuse rates of v that nothing depends on without an order."""
    for name, values in rates.items():
        if values is not None:
            wanted = "order 2 or 3 beside it"
            message = f"{name}: given without an order, expected {wanted}"
            raise InputError(message, name, None, wanted)
