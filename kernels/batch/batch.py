"""`Batch`: the methods of `Robot` for many states at once.

    batch = robot.batch(threads=2)
    C = batch.coriolis_matrix(Q, V)                 # Q (N, nq), V (N, nv) → C (N, nv, nv)
    batch.inverse_dynamics(Q, V, A, out=tau)        # into an array of the caller's

Arguments that belong to a state (`STACKED`) have one more dimension in front, all others are common
to all states; results have it too. The methods here compute several states in one sweep over the
tree; all other names of `Robot` are computed state by state (state_by_state.py), in threads as
well. Numbers may differ from those of a single call by rounding.

Where a state is wrong or has no finite result, the error names it, and arrays given as `out` hold
NaN: nothing half-written can be taken for a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.kernels.batch.algorithms import CORIOLIS, CORIOLIS_TRANSPOSED, MASS
from torqued.kernels.batch.jobs import Choices, Job, named
from torqued.kernels.batch.stacked_derivatives import StackedDerivatives
from torqued.kernels.batch.stacked_quantities import StackedQuantities
from torqued.kernels.batch.stacks import padded
from torqued.kernels.batch.state_by_state import at, filled_with_nan, len_of, many
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.input_checks import choice
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.wide import WIDTH
from torqued.kernels.result_checks import result_array
from torqued.kernels.robot.dynamics import Dynamics
from torqued.kernels.robot.frames import Frames

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


class Batch(StackedQuantities, StackedDerivatives):
    """Many states of one robot. For one thread at a time, as the robot itself."""

    @many(Dynamics.inverse_dynamics)
    def inverse_dynamics(self, q: Any, v: Any, a: Any, f_ext: Any, out: Any) -> Any:
        """τ = M a + C v + g − Σ Jᵀ f_ext, (N, nv); wrenches are (N, 6) by frame."""
        return self._forced("inverse_dynamics", q, {"v": v, "a": a}, "QVA", f_ext, out)

    @many(Dynamics.forward_dynamics)
    def forward_dynamics(self, q: Any, v: Any, tau: Any, f_ext: Any, out: Any) -> Any:
        """Accelerations (N, nv) under torques tau and external wrenches."""
        if self.robot.tree.follows:
            return self.each("forward_dynamics", q, v, tau, f_ext, out=out)
        names = "Q", "V", "tau"
        return self._forced("forward_dynamics", q, {"v": v, "tau": tau}, names, f_ext, out)

    def _forced(
        self, name: str, q: Any, given: dict[str, Any], names: Sequence[str], f_ext: Any, out: Any
    ) -> Array:
        """What v and one more vector make under wrenches; `names` are those of a job's arrays."""
        q, (v, x), state = self._state(q, **given)
        frames, wrenches = self._stacks.wrenches(f_ext, len(q))
        w = padded(wrenches, max(len(q), WIDTH))

        def wide(taken: Sequence[Array], y: Sequence[Array]) -> Job:
            arrays = {**named(names, taken), "frames": frames, "wrenches": w, "vectors": y[0]}
            return Job(f"batch_{name}", arrays)

        def one(robot: Robot, k: int) -> Sequence[Any]:
            return [getattr(robot, name)(q[k], v[k], x[k], f_ext and at(f_ext, k))]

        return self._vectors(state, wide, out, one)

    @many(Dynamics.solve_mass)
    def solve_mass(self, q: Any, b: Any, out: Any) -> Any:
        """x with M(q) x = b; b is (N, nv) or (N, nv, k), and so is x."""
        if self.robot.tree.follows:
            return self.each("solve_mass", q, b, out=out)
        q, _, state = self._state(q)
        columns = np.shape(b)[2:3] if np.ndim(b) == 3 else ()
        b = self._stacks.rows("b", b, len(q), self.robot.nv, *columns)
        result = result_array("out", out, b.shape, [q, b])
        rows = b[:, None, :] if b.ndim == 2 else b.swapaxes(1, 2)
        found = np.empty(rows.shape) if b.ndim == 3 else result.reshape(rows.shape)

        def wide(x: Sequence[Array], y: Sequence[Array]) -> Job:
            return Job("batch_solve_mass", {**named("QB", x), "solutions": y[0]})

        def one(robot: Robot, k: int) -> Sequence[Any]:
            x = robot.solve_mass(q[k], b[k])
            return [x[None] if x.ndim == 1 else x.T]

        with filled_with_nan(result):
            self._compute(state, wide, [q, np.ascontiguousarray(rows)], [found], one)
        if b.ndim == 3:
            result[...] = found.swapaxes(1, 2)
        return result

    def _product(self, name: str, factor: int, q: Any, v: Any, w: Any, out: Any) -> Array:
        q, (v, w), state = self._state(q, v=v, w=w)

        def wide(x: Sequence[Array], y: Sequence[Array]) -> Job:
            arrays = {**named("QVW", x), "vectors": y[0]}
            return Job("batch_product", arrays, Choices(factor=factor))

        def one(robot: Robot, k: int) -> Sequence[Any]:
            given = (q[k], w[k]) if factor == MASS else (q[k], v[k], w[k])
            return [getattr(robot, name)(*given)]

        return self._vectors(state, wide, out, one)

    @many(Dynamics.mass_product)
    def mass_product(self, q: Any, w: Any, out: Any) -> Any:
        """M(q) w, (N, nv)."""
        return self._product("mass_product", MASS, q, w, w, out)

    @many(Dynamics.coriolis_product)
    def coriolis_product(self, q: Any, v: Any, w: Any, out: Any) -> Any:
        """C(q, v) w, (N, nv)."""
        return self._product("coriolis_product", CORIOLIS, q, v, w, out)

    @many(Dynamics.coriolis_transposed_product)
    def coriolis_transposed_product(self, q: Any, v: Any, w: Any, out: Any) -> Any:
        """C(q, v)ᵀ w, (N, nv); w defaults to v."""
        v = self._moving(q, v)
        w = v if w is None else w
        return self._product("coriolis_transposed_product", CORIOLIS_TRANSPOSED, q, v, w, out)

    def _moving(self, q: Any, v: Any) -> Any:
        """v, or rest where it is None."""
        return np.zeros((len_of(q), self.robot.nv)) if v is None else v

    def _frame_motion(
        self, q: Any, v: Any, a: Any, which: int, frame: str, *rest: Any, out: Any
    ) -> Array:
        """J v (which = 0) or J a + J̇ v (which = 1) of one frame, (N, 6)."""
        representation, point = rest
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        records = self.robot.frame_table.records((frame,), point)
        q, (v, a), state = self._state(q, v=v, a=a)
        n = len(q)
        result = result_array("out", out, (n, 6), [q, v, a])
        found = [np.empty((n, 1, 6)), np.empty((n, 1, 6))]
        found[which] = result[:, None]

        def wide(x: Sequence[Array], y: Sequence[Array]) -> Job:
            results = named(("velocities", "accelerations"), y)
            arrays = {**named("QVA", x), "frames": records, **results}
            return Job("batch_frame_motions", arrays, Choices(representation=kind))

        def one(robot: Robot, k: int) -> Sequence[Any]:
            given = frame, representation, point
            velocity = robot.frame_velocity(q[k], v[k], *given)
            return [velocity, robot.frame_acceleration(q[k], v[k], a[k], *given)]

        with filled_with_nan(result):
            taken = [self._stacks.q(q), self._stacks.v(v), self._stacks.v(a)]
            self._compute(state, wide, taken, found, one)
        return result

    @many(Frames.frame_velocity)
    def frame_velocity(
        self, q: Any, v: Any, frame: str, representation: str, point: Any, out: Any
    ) -> Any:
        """J v (N, 6)."""
        v = self._moving(q, v)
        return self._frame_motion(q, v, v, 0, frame, representation, point, out=out)

    @many(Frames.frame_acceleration)
    def frame_acceleration(
        self, q: Any, v: Any, a: Any, frame: str, representation: str, point: Any, out: Any
    ) -> Any:
        """J a + J̇ v (N, 6)."""
        return self._frame_motion(q, v, a, 1, frame, representation, point, out=out)
