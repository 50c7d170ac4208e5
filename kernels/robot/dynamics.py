"""The equations of motion, natively: matrices, torques, accelerations, energies.

Each method wraps the compiled in-place kernel of the file in kernels/dynamics/ that is named
after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.evaluation_plan import (
    MAX_FRAMES_REMEMBERED,
    MAX_PLANS,
    EvaluationPlan,
)
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import QUANTITIES
from torqued.kernels.input_checks import choice, names_of, numbers
from torqued.kernels.model.description import Array
from torqued.kernels.robot.frame_table import FrameTable, Wrenches
from torqued.kernels.robot.tree import FreeTree

FACTORIZATIONS = {"christoffel": "coriolis_matrix", "direct": "coriolis_matrix_direct"}


class Dynamics:
    """M a + C v + g = τ + Σ Jᵀ f_ext."""

    def __init__(self, tree: FreeTree, frames: FrameTable) -> None:
        self._tree, self._frames = tree, frames
        self._plans: dict[object, EvaluationPlan] = {}

    def mass_matrix(self, q: Any) -> Array:
        tree = self._tree
        M = np.empty((tree.nv_free, tree.nv_free))
        COMPILED.mass_matrix(tree.handle, tree.q(q), M)
        return tree.projected("matrix", M)

    def mass_matrix_rate(self, q: Any, v: Any) -> Array:
        tree = self._tree
        Mdot = np.empty((tree.nv_free, tree.nv_free))
        COMPILED.mass_matrix_rate(tree.handle, tree.q(q), tree.v("v", v), Mdot)
        return tree.projected("matrix", Mdot)

    def coriolis_matrix(self, q: Any, v: Any, factorization: str) -> Array:
        choice("factorization", factorization, FACTORIZATIONS)
        tree = self._tree
        M, Mdot, C = np.empty((3, tree.nv_free, tree.nv_free))
        kernel = getattr(COMPILED, FACTORIZATIONS[factorization])
        kernel(tree.handle, tree.q(q), tree.v("v", v), M, Mdot, C)
        return tree.projected("matrix", C)

    def christoffel(self, q: Any) -> Array:
        tree, n = self._tree, self._tree.nv_free
        Gamma = np.zeros((n, n, n))
        COMPILED.christoffel(tree.handle, tree.q(q), Gamma)
        return tree.projected("tensor", Gamma)

    def gravity(self, q: Any) -> Array:
        tree = self._tree
        g = np.empty(tree.nv_free)
        COMPILED.gravity(tree.handle, tree.q(q), g)
        return tree.projected("vector", g)

    def bias(self, q: Any, v: Any, f_ext: Any = None) -> Array:
        if f_ext is not None:
            return self.inverse_dynamics(q, v, np.zeros(self._tree.nv), f_ext)
        tree, out = self._tree, np.empty(self._tree.nv_free)
        COMPILED.bias(tree.handle, tree.q(q), tree.v("v", v), out)
        return tree.projected("vector", out)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, f_ext: Wrenches | None) -> Array:
        tree = self._tree
        tau = np.empty(tree.nv_free)
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        if f_ext is None:
            COMPILED.inverse_dynamics(tree.handle, q, v, a, tau)
        else:
            forces = self._frames.wrenches(f_ext)
            COMPILED.inverse_dynamics_forced(tree.handle, q, v, a, *forces, tau)
        return tree.projected("vector", tau)

    def forward_dynamics(self, q: Any, v: Any, tau: Any, f_ext: Wrenches | None) -> Array:
        """Where joints mimic others, the equations of the leaders are solved by Cholesky."""
        tree = self._tree
        if tree.follows:
            still = self.inverse_dynamics(q, v, np.zeros(tree.nv), f_ext)
            with np.errstate(over="ignore", invalid="ignore"):  # told of the result
                rest = tree.own_v("tau", tau) - still
            a = np.array(rest, ndmin=2)
            self._solve_dense(q, a)
            found: Array = a[0]
            return found
        a = np.empty(tree.nv)
        q, v, tau = tree.q(q), tree.v("v", v), tree.v("tau", tau)
        if f_ext is None:
            status = COMPILED.forward_dynamics(tree.handle, q, v, tau, a)
        else:
            forces = self._frames.wrenches(f_ext)
            status = COMPILED.forward_dynamics_forced(tree.handle, q, v, tau, *forces, a)
        tree.require_regular(status)
        return a

    def solve_mass(self, q: Any, b: Any) -> Array:
        tree = self._tree
        columns = numbers("b", b, (tree.nv,), (tree.nv, -1))
        rows = np.array(np.atleast_2d(columns.T), order="C")
        if tree.follows:
            self._solve_dense(q, rows)
        else:
            tree.require_regular(COMPILED.solve_mass(tree.handle, tree.q(q), rows))
        return rows[0] if columns.ndim == 1 else np.ascontiguousarray(rows.T)

    def _solve_dense(self, q: Any, rows: Array) -> None:
        """The rows, each solved for in place."""
        L = self.mass_matrix(q)
        status = COMPILED.cholesky(L)
        for row in rows:
            COMPILED.cholesky_solve(L, row)
        self._tree.require_regular(status)

    def mass_product(self, q: Any, w: Any) -> Array:
        tree = self._tree
        out = np.empty(tree.nv_free)
        COMPILED.mass_product(tree.handle, tree.q(q), tree.v("w", w), out)
        return tree.projected("vector", out)

    def coriolis_product(self, q: Any, v: Any, w: Any) -> Array:
        tree = self._tree
        out = np.empty(tree.nv_free)
        COMPILED.coriolis_product(tree.handle, tree.q(q), tree.v("v", v), tree.v("w", w), out)
        return tree.projected("vector", out)

    def coriolis_transposed_product(self, q: Any, v: Any, w: Any) -> Array:
        tree = self._tree
        out = np.empty(tree.nv_free)
        q, v = tree.q(q), tree.v("v", v)
        w = v if w is None else tree.v("w", w)
        COMPILED.coriolis_transposed_product(tree.handle, q, v, w, out)
        return tree.projected("vector", out)

    def energy(self, q: Any, v: Any) -> tuple[float, float]:
        tree, out = self._tree, np.empty(2)
        COMPILED.energy(tree.handle, tree.q(q), tree.v("v", v), out)
        return float(out[0]), float(out[1])

    def dynamics(
        self, q: Any, v: Any, want: Any, frames: Any, representation: str
    ) -> dict[str, Any]:
        tree = self._tree
        plan = self.plan(want, frames, representation)
        if v is None:
            if plan.needs_velocity:
                message = f"v: missing, but {plan.needs_velocity!r} depends on it"
                raise InputError(message, "v", None, "present")
            v = np.zeros(tree.nv)
        q, v = tree.q(q), tree.v("v", v)
        out = plan.allocate()
        COMPILED.evaluate(tree.handle, q, v, plan.flags, plan.frames, plan.representation, out)
        return self.results(plan, out)

    def plan(self, want: Any, frames: Any, representation: str) -> EvaluationPlan:
        """What `dynamics` looks up and allocates for these; remembered, as loops ask the same."""
        if type(want) is not tuple or type(frames) is not tuple:
            want, frames = names_of("want", want), names_of("frames", frames)
        try:
            return self._plans[want, frames, representation]
        except (KeyError, TypeError):  # not yet known, or not even names
            want, frames = names_of("want", want), names_of("frames", frames)
            return self._new_plan(want, frames, representation)

    def _new_plan(
        self, want: tuple[str, ...], frames: tuple[str, ...], representation: str
    ) -> EvaluationPlan:
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        records = self._frames.records(frames, field="frames")
        plan = EvaluationPlan(want, frames, records, kind, self._tree.nv_free)
        if len(frames) > MAX_FRAMES_REMEMBERED or len(want) > len(QUANTITIES):
            return plan
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()
        self._plans[want, frames, representation] = plan
        return plan

    def results(self, plan: EvaluationPlan, out: Any) -> dict[str, Any]:
        """What a plan computed by name, quantities of frames by frame, in own coordinates."""
        if plan.plain and not self._tree.follows:
            return {word: getattr(out, word) for word in plan.want}
        return {word: self._reduced(word, getattr(out, word), plan) for word in plan.want}

    def _reduced(self, word: str, value: Array, plan: EvaluationPlan) -> Any:
        quantity, projected = QUANTITIES[word], self._tree.projected
        if not quantity.per_frame:
            return projected(quantity.projection, value)
        return {
            name: projected(quantity.projection, of_frame)
            for name, of_frame in zip(plan.frame_names, value, strict=True)
        }
