"""Derivatives for many states: `Differentiable` of kernels/robot/, as far as it is computed several
states at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torqued.kernels.batch.computation import WideComputation
from torqued.kernels.batch.jobs import Job, named
from torqued.kernels.batch.state_by_state import filled_with_nan, require_tuple, vectorized
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import result_array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


class StackedDerivatives(WideComputation):
    """Results are (N, nv, nv) each; `out` takes as many arrays, in a tuple."""

    @vectorized
    def inverse_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        a: Any,
        f_ext: Mapping[str, Any] | None = None,
        *,
        out: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """∂τ/∂q and ∂τ/∂v of `inverse_dynamics`; with wrenches state by state."""
        given, results = {"v": v, "a": a}, ("dq", "dv")
        return self._matrices("inverse_dynamics_derivatives", q, given, f_ext, out, "QVA", results)  # type: ignore[no-any-return]

    @vectorized
    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        f_ext: Mapping[str, Any] | None = None,
        *,
        out: tuple[Array, Array, Array] | None = None,
    ) -> tuple[Array, Array, Array]:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of `forward_dynamics`; with wrenches state by state."""
        given, names, results = {"v": v, "tau": tau}, ("Q", "V", "tau"), ("dq", "dv", "dtau")
        return self._matrices("forward_dynamics_derivatives", q, given, f_ext, out, names, results)  # type: ignore[no-any-return]

    def _matrices(
        self,
        name: str,
        q: Any,
        given: Mapping[str, Any],
        f_ext: Any,
        out: Any,
        inputs: Sequence[str],
        results: Sequence[str],
    ) -> Any:
        """What the entry of a name fills, by the names of a job's arrays."""
        if f_ext is not None or self.robot.tree.follows:
            return self.each(name, q, *given.values(), f_ext, out=out)
        q, (v, x), state = self._state(q, **given)
        stacks, n = [q, v, x], self.robot.nv
        found: list[Array] = []
        for array in require_tuple(out, len(results)) if out is not None else [None] * len(results):
            found.append(result_array("out", array, (state.count, n, n), (*stacks, *found)))

        def wide(taken: Sequence[Array], y: Sequence[Array]) -> Job:
            return Job(f"batch_{name}", {**named(inputs, taken), **named(results, y)})

        def one(robot: Robot, k: int) -> Sequence[Any]:
            found: Sequence[Any] = getattr(robot, name)(q[k], v[k], x[k])
            return found

        with filled_with_nan(*found):
            self._compute(state, wide, stacks, found, one)
        return tuple(found)
