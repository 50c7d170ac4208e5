"""The quantities of dynamics/quantities.py for many states: together, or one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.results import Dynamics
from torqued.kernels.batch.computation import WideComputation
from torqued.kernels.batch.jobs import Choices, Job, named
from torqued.kernels.batch.state_by_state import filled_with_nan, len_of, vectorized
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.evaluation_plan import checked_want
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import NEED_VELOCITY, QUANTITIES, WANTS, sized
from torqued.kernels.input_checks import choice, names_of
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import checked, result_array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


class StackedQuantities(WideComputation):
    """Of one robot."""

    def dynamics(
        self,
        q: Any,
        v: Any = None,
        want: Sequence[str] = ("M", "C", "g"),
        frames: Sequence[str] = (),
        representation: str = "hybrid",
        *,
        out: Mapping[str, Array] | None = None,
    ) -> Dynamics:
        """Any of the quantities of dynamics/quantities.py by name, those of frames by frame.

        `out` maps names to arrays; those of frames are (N, frames, …).
        """
        want, frames = names_of("want", want), names_of("frames", frames)
        if self.narrow:
            if out is not None:
                raise InputError("out: expected nothing, states go one by one here", "out")
            return self.each("dynamics", q, v, want, frames, representation)  # type: ignore[no-any-return]
        found = self._quantities(q, v, want, frames, representation, out)
        return Dynamics(self._by_name(found, frames))

    @staticmethod
    def _by_name(found: Mapping[str, Array], frames: Sequence[str]) -> dict[str, Any]:
        return {
            name: {frame: array[:, k] for k, frame in enumerate(frames)}
            if QUANTITIES[name].per_frame
            else array
            for name, array in found.items()
        }

    def _quantities(
        self,
        q: Any,
        v: Any,
        want: tuple[str, ...],
        frames: Sequence[str],
        representation: str,
        out: Mapping[str, Array] | None,
        point: Any = None,
    ) -> dict[str, Array]:
        """Arrays (N, …) and (N, frames, …) by name."""
        tree, stacks = self.robot.tree, self._stacks
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        records = self.robot.frame_table.records(frames, point, field="frames")
        flags = checked_want(want, frames)
        given = {} if v is None else {"v": v}
        q, rest, state = self._state(q, **given)
        n = len(q)
        v = rest[0] if rest else np.zeros((n, tree.nv))
        if rest and not flags & NEED_VELOCITY:  # kernels do not look at v
            stacks.require_right(state, 0, n)
        results: dict[str, Array] = {}
        for name in dict.fromkeys(want):
            shape = n, *sized(QUANTITIES[name], tree.nv, len(records))
            given_array, others = (out or {}).get(name), (q, v, *results.values())
            results[name] = result_array(f"out[{name!r}]", given_array, shape, others)
        free = {
            name: np.empty((n, *sized(QUANTITIES[name], tree.nv_free, len(records))))
            if tree.follows and QUANTITIES[name].projection != "none"
            else array
            for name, array in results.items()
        }
        # Γ is of the size of its own writing: the kernel for one state is as fast as that goes.
        several = [name for name in free if name != "Gamma"]
        flags &= ~WANTS["Gamma"]

        def wide(x: Sequence[Array], y: Sequence[Array]) -> Job:
            arrays = {**named("QV", x), "frames": records, **named(several, y)}
            return Job("batch_quantities", arrays, Choices(want=flags, representation=kind))

        def one(robot: Robot, k: int) -> Sequence[Any]:
            plan = robot.plan(want, tuple(frames), representation)
            arrays = plan.allocate()
            plan_frames = records if point is not None else plan.frames
            COMPILED.evaluate(
                robot.tree.handle, q_free[k], v_free[k], flags, plan_frames, kind, arrays
            )
            return [checked(name, getattr(arrays, name)) for name in several]

        with filled_with_nan(*results.values()):
            q_free, v_free = stacks.q(q), stacks.v(v)
            if several:
                outs = [free[name] for name in several]
                self._compute(state, wide, [q_free, v_free], outs, one)
            if "Gamma" in results:
                self.each("christoffel", q, out=results["Gamma"])
            for name, array in free.items():
                if array is not results[name] and name != "Gamma":
                    stacks.projected(QUANTITIES[name].projection, array, results[name])
        return results

    def _quantity(self, name: str, out: Any, q: Any, v: Any = None, *rest: Any) -> Array:
        """One of them, with one frame at most."""
        frames, representation, point = rest or ((), "hybrid", None)
        per_frame = QUANTITIES[name].per_frame
        given = None
        if out is not None:
            shape = len_of(q), *sized(QUANTITIES[name], self.robot.nv, 1)[per_frame:]
            array = result_array("out", out, shape)
            given = {name: array[:, None] if per_frame else array}
        found = self._quantities(q, v, (name,), frames, representation, given, point)[name]
        if out is not None:
            return array
        return found[:, 0] if per_frame else found

    @vectorized
    def mass_matrix(self, q: Any, *, out: Array | None = None) -> Array:
        """M(q), (N, nv, nv)."""
        return self._quantity("M", out, q)

    @vectorized
    def mass_matrix_rate(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """Ṁ(q, v), (N, nv, nv), as C + Cᵀ."""
        return self._quantity("Mdot", out, q, v)

    @vectorized
    def coriolis_matrix(
        self, q: Any, v: Any = None, factorization: str = "christoffel", *, out: Array | None = None
    ) -> Array:
        """C(q, v), (N, nv, nv), with Ṁ = C + Cᵀ."""
        if factorization != "christoffel":
            return self.each("coriolis_matrix", q, v, factorization, out=out)  # type: ignore[no-any-return]
        return self._quantity("C", out, q, v)

    @vectorized
    def gravity(self, q: Any, *, out: Array | None = None) -> Array:
        """g(q), (N, nv)."""
        return self._quantity("g", out, q)

    @vectorized
    def bias(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """C(q, v) v + g(q), (N, nv)."""
        return self._quantity("bias", out, q, v)

    @vectorized
    def energy(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """Kinetic and potential energy, (N, 2)."""
        return self._quantity("energy", out, q, v)

    @vectorized
    def center_of_mass(self, q: Any, *, out: Array | None = None) -> Array:
        """Center of mass (N, 3) in the world."""
        return self._quantity("com", out, q)

    @vectorized
    def centroidal_momentum(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """(N, 6) [angular about the center of mass; linear]."""
        return self._quantity("momentum", out, q, v)

    @vectorized
    def frame_pose(
        self, q: Any, frame: str, point: Any = None, *, out: Array | None = None
    ) -> Array:
        """Homogeneous poses (N, 4, 4) of a frame."""
        return self._quantity("pose", out, q, None, (frame,), "hybrid", point)

    @vectorized
    def frame_jacobian(
        self,
        q: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """J (N, 6, nv)."""
        return self._quantity("J", out, q, None, (frame,), representation, point)

    @vectorized
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
        """J̇ v (N, 6)."""
        return self._quantity("Jdot_v", out, q, v, (frame,), representation, point)
