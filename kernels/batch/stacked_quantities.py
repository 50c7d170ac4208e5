"""The quantities of dynamics/quantities.py for many states: together, or one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate

import numpy as np

from torqued.common.results import Dynamics
from torqued.kernels.batch.computation import WideComputation
from torqued.kernels.batch.jobs import Choices, Job, named
from torqued.kernels.batch.state_by_state import by_frame, filled_with_nan, len_of, many
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.evaluation_plan import checked_want
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import NEED_VELOCITY, QUANTITIES, WANTS, sized
from torqued.kernels.input_checks import choice, map_or_none, names_of
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import checked, require_wanted, result_array
from torqued.kernels.robot.centroidal import Centroidal
from torqued.kernels.robot.dynamics import Dynamics as Robots
from torqued.kernels.robot.frames import Frames
from torqued.kernels.signatures import P, T

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def quantity(
    method: Callable[Concatenate[Any, P], T], word: str
) -> Callable[Concatenate[Any, P], T]:
    """A method of `Robot` for one of the quantities."""
    names = list(inspect.signature(method).parameters)[1:]

    def compute(self: Any, *values: Any) -> Any:
        return self._quantity(word, **dict(zip(names, values, strict=True)))

    return many(method)(compute)


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
            return self.each("dynamics", q, v, want, frames, representation, out=out)  # type: ignore[no-any-return]
        found: dict[str, Any] = {}
        for name, array in self._quantities(q, v, want, frames, representation, out).items():
            found[name] = by_frame(frames, array) if QUANTITIES[name].per_frame else array
        return Dynamics(found)

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
        out = map_or_none("out", out)
        require_wanted(out, want)
        q, rest, state = self._state(q, **given)
        n = len(q)
        v = rest[0] if rest else np.zeros((n, tree.nv))
        if rest and not flags & NEED_VELOCITY:  # kernels do not look at v
            stacks.require_right(state, 0, n)
        results: dict[str, Array] = {}
        for name in dict.fromkeys(want):
            shape = n, *sized(QUANTITIES[name], tree.nv, len(records))
            given_array, others = out.get(name), (q, v, *results.values())
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

    def _quantity(
        self,
        name: str,
        out: Any,
        q: Any,
        v: Any = None,
        frame: str | None = None,
        representation: str = "hybrid",
        point: Any = None,
    ) -> Array:
        """One of them, with one frame at most."""
        frames, per_frame = () if frame is None else (frame,), QUANTITIES[name].per_frame
        given = None
        if out is not None:
            shape = len_of(q), *sized(QUANTITIES[name], self.robot.nv, 1)[per_frame:]
            array = result_array("out", out, shape)
            given = {name: array[:, None] if per_frame else array}
        found = self._quantities(q, v, (name,), frames, representation, given, point)[name]
        if out is not None:
            return array
        return found[:, 0] if per_frame else found

    mass_matrix = quantity(Robots.mass_matrix, "M")
    mass_matrix_rate = quantity(Robots.mass_matrix_rate, "Mdot")
    gravity = quantity(Robots.gravity, "g")
    energy = quantity(Robots.energy, "energy")
    center_of_mass = quantity(Centroidal.center_of_mass, "com")
    centroidal_momentum = quantity(Centroidal.centroidal_momentum, "momentum")
    frame_pose = quantity(Frames.frame_pose, "pose")
    frame_jacobian = quantity(Frames.frame_jacobian, "J")
    frame_bias = quantity(Frames.frame_bias, "Jdot_v")

    @many(Robots.coriolis_matrix)
    def coriolis_matrix(self, q: Any, v: Any, factorization: str, out: Any) -> Any:
        if factorization != "christoffel":
            return self.each("coriolis_matrix", q, v, factorization, out=out)
        return self._quantity("C", out, q, v)

    @many(Robots.bias)
    def bias(self, q: Any, v: Any, f_ext: Any, out: Any) -> Any:
        if f_ext is not None:
            return self.each("bias", q, v, f_ext, out=out)
        return self._quantity("bias", out, q, v)
