"""Derivatives for many states: `Differentiable` of kernels/robot/, as far as it is computed several
states at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torqued.kernels.batch.computation import WideComputation
from torqued.kernels.batch.jobs import Job, named
from torqued.kernels.batch.stacks import Given
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
        name = "inverse_dynamics_derivatives"
        if f_ext is not None or self.robot.tree.follows:
            return self.each(name, q, v, a, f_ext, out=out)  # type: ignore[no-any-return]
        q, (v, a), state = self._state(q, v=v, a=a)

        def one(robot: Robot, k: int) -> Sequence[Any]:
            return robot.inverse_dynamics_derivatives(q[k], v[k], a[k])

        return self._matrices(name, "QVA", ("dq", "dv"), state, out, one)  # type: ignore[return-value]

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
        name = "forward_dynamics_derivatives"
        if f_ext is not None or self.robot.tree.follows:
            return self.each(name, q, v, tau, f_ext, out=out)  # type: ignore[no-any-return]
        q, (v, tau), state = self._state(q, v=v, tau=tau)

        def one(robot: Robot, k: int) -> Sequence[Any]:
            return robot.forward_dynamics_derivatives(q[k], v[k], tau[k])

        inputs, results = ("Q", "V", "tau"), ("dq", "dv", "dtau")
        return self._matrices(name, inputs, results, state, out, one)  # type: ignore[return-value]

    def _matrices(
        self,
        name: str,
        inputs: Sequence[str],
        results: Sequence[str],
        state: Given,
        out: Any,
        one: Callable[[Robot, int], Sequence[Any]],
    ) -> tuple[Array, ...]:
        """What the entry of a name fills, by the names of a job's arrays."""
        stacks, n = list(state.stacks.values()), self.robot.nv
        found: list[Array] = []
        for array in require_tuple(out, len(results)) if out is not None else [None] * len(results):
            found.append(result_array("out", array, (state.count, n, n), (*stacks, *found)))

        def wide(x: Sequence[Array], y: Sequence[Array]) -> Job:
            return Job(f"batch_{name}", {**named(inputs, x), **named(results, y)})

        with filled_with_nan(*found):
            self._compute(state, wide, stacks, found, one)
        return tuple(found)
