"""The equations of motion: matrices, torques, accelerations, energies.

Each method wraps the compiled in-place kernel of the file in kernels/dynamics/ that is named
after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from torqued.common import results
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.evaluation_plan import (
    MAX_FRAMES_REMEMBERED,
    MAX_PLANS,
    EvaluationPlan,
)
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import QUANTITIES
from torqued.kernels.input_checks import choice, map_or_none, names_of, numbers
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite, require_wanted, result_array
from torqued.kernels.robot.core import RobotCore
from torqued.kernels.robot.frame_table import Wrenches

FACTORIZATIONS = {"christoffel": "coriolis_matrix", "direct": "coriolis_matrix_direct"}


class Dynamics(RobotCore):
    """M a + C v + g = τ + Σ Jᵀ f_ext. `out` takes the result, in an array of the caller's."""

    @finite
    def mass_matrix(self, q: Any, *, out: Array | None = None) -> Array:
        """M(q), shape (nv, nv)."""
        tree, q = self.checked_tree, self.checked_tree.q(q)
        M = tree.target(out, (tree.nv_free, tree.nv_free), q)
        COMPILED.mass_matrix(tree.handle, q, M)
        return tree.projected("matrix", M, out)

    @finite
    def mass_matrix_rate(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """Ṁ(q, v), shape (nv, nv), from the rates of inertias (not from C)."""
        tree, q, v = self.checked_tree, self.checked_tree.q(q), self.checked_tree.v("v", v)
        Mdot = tree.target(out, (tree.nv_free, tree.nv_free), q, v)
        COMPILED.mass_matrix_rate(tree.handle, q, v, Mdot)
        return tree.projected("matrix", Mdot, out)

    @finite
    def coriolis_matrix(
        self, q: Any, v: Any = None, factorization: str = "christoffel", *, out: Array | None = None
    ) -> Array:
        """C(q, v), shape (nv, nv), with Ṁ = C + Cᵀ.

        `christoffel` is the one that Γ sums to ([EW21] eq. 10); `direct` is eq. 9's.
        """
        choice("factorization", factorization, FACTORIZATIONS)
        tree, q, v = self.checked_tree, self.checked_tree.q(q), self.checked_tree.v("v", v)
        M, Mdot = np.empty((2, tree.nv_free, tree.nv_free))
        C = tree.target(out, (tree.nv_free, tree.nv_free), q, v)
        kernel = getattr(COMPILED, FACTORIZATIONS[factorization])
        kernel(tree.handle, q, v, M, Mdot, C)
        return tree.projected("matrix", C, out)

    @finite
    def christoffel(self, q: Any, *, out: Array | None = None) -> Array:
        """Γ(q), shape (nv, nv, nv), with C_ij = Σ_k Γ_ijk v_k.

        Symmetric in j, k where v is the rate of coordinates; for spherical and floating joints
        they are the coefficients of quasi-velocities.
        """
        tree, n, q = self.checked_tree, self.nv_free, self.checked_tree.q(q)
        Gamma = tree.target(out, (n, n, n), q)
        Gamma[...] = 0.0  # the kernel leaves alone what is zero for every q
        COMPILED.christoffel(tree.handle, q, Gamma)
        return tree.projected("tensor", Gamma, out)

    @finite
    def gravity(self, q: Any, *, out: Array | None = None) -> Array:
        """g(q), shape (nv,): the torques that hold the robot still."""
        tree, q = self.checked_tree, self.checked_tree.q(q)
        g = tree.target(out, (tree.nv_free,), q)
        COMPILED.gravity(tree.handle, q, g)
        return tree.projected("vector", g, out)

    @finite
    def bias(
        self, q: Any, v: Any = None, f_ext: Wrenches | None = None, *, out: Array | None = None
    ) -> Array:
        """C(q, v) v + g(q) − Σ Jᵀ f_ext, shape (nv,)."""
        if f_ext is not None:
            return self.inverse_dynamics(q, v, np.zeros(self.nv), f_ext, out=out)
        tree, q, v = self.checked_tree, self.checked_tree.q(q), self.checked_tree.v("v", v)
        bias = tree.target(out, (tree.nv_free,), q, v)
        COMPILED.bias(tree.handle, q, v, bias)
        return tree.projected("vector", bias, out)

    @finite
    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, f_ext: Wrenches | None = None, *, out: Array | None = None
    ) -> Array:
        """τ = M a + C v + g − Σ Jᵀ f_ext, shape (nv,).

        `f_ext` maps frame names to what acts on the robot there: wrenches (6,) [moment; force] at
        the frame's origin in world axes, or `Wrench`es at any of its points, or lists of those.
        """
        tree = self.checked_tree
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        tau = tree.target(out, (tree.nv_free,), q, v, a)
        if f_ext is None:
            COMPILED.inverse_dynamics(tree.handle, q, v, a, tau)
        else:
            forces = self.frame_table.wrenches(f_ext)
            COMPILED.inverse_dynamics_forced(tree.handle, q, v, a, *forces, tau)
        return tree.projected("vector", tau, out)

    @finite
    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, f_ext: Wrenches | None = None, *, out: Array | None = None
    ) -> Array:
        """Accelerations (nv,) under torques tau and external wrenches, in O(N).

        Where joints mimic others, the equations of the leaders are solved by Cholesky instead.
        """
        tree = self.checked_tree
        if tree.follows:
            still = self.inverse_dynamics(q, v, np.zeros(tree.nv), f_ext)
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked
                a = result_array("out", out, (tree.nv,))
                a[...] = tree.own_v("tau", tau) - still
            self._solve_dense(q, a[None])
            return a
        q, v, tau = tree.q(q), tree.v("v", v), tree.v("tau", tau)
        a = result_array("out", out, (tree.nv,), (q, v, tau))
        if f_ext is None:
            status = COMPILED.forward_dynamics(tree.handle, q, v, tau, a)
        else:
            forces = self.frame_table.wrenches(f_ext)
            status = COMPILED.forward_dynamics_forced(tree.handle, q, v, tau, *forces, a)
        tree.require_regular(status)
        return a

    @finite
    def solve_mass(self, q: Any, b: Any, *, out: Array | None = None) -> Array:
        """x with M(q) x = b, in O(N) per right-hand side; b is (nv,) or (nv, k)."""
        tree = self.checked_tree
        columns = numbers("b", b, (tree.nv,), (tree.nv, -1))
        rows = np.array(np.atleast_2d(columns.T), order="C")
        if tree.follows:
            self._solve_dense(q, rows)
        else:
            tree.require_regular(COMPILED.solve_mass(tree.handle, tree.q(q), rows))
        x = result_array("out", out, columns.shape)
        x[...] = rows[0] if columns.ndim == 1 else rows.T
        return x

    def _solve_dense(self, q: Any, rows: Array) -> None:
        """The rows, each solved for in place."""
        L = self.mass_matrix(q)
        status = COMPILED.cholesky(L)
        for row in rows:
            COMPILED.cholesky_solve(L, row)
        self.checked_tree.require_regular(status)

    @finite
    def mass_product(self, q: Any, w: Any, *, out: Array | None = None) -> Array:
        """M(q) w in O(N), shape (nv,)."""
        tree, q, w = self.checked_tree, self.checked_tree.q(q), self.checked_tree.v("w", w)
        product = tree.target(out, (tree.nv_free,), q, w)
        COMPILED.mass_product(tree.handle, q, w, product)
        return tree.projected("vector", product, out)

    @finite
    def coriolis_product(self, q: Any, v: Any, w: Any, *, out: Array | None = None) -> Array:
        """C(q, v) w in O(N), shape (nv,), with the Christoffel-consistent C."""
        tree = self.checked_tree
        q, v, w = tree.q(q), tree.v("v", v), tree.v("w", w)
        product = tree.target(out, (tree.nv_free,), q, v, w)
        COMPILED.coriolis_product(tree.handle, q, v, w, product)
        return tree.projected("vector", product, out)

    @finite
    def coriolis_transposed_product(
        self, q: Any, v: Any = None, w: Any = None, *, out: Array | None = None
    ) -> Array:
        """C(q, v)ᵀ w in O(N), shape (nv,); w defaults to v, as momentum observers need it."""
        tree, q, v = self.checked_tree, self.checked_tree.q(q), self.checked_tree.v("v", v)
        w = v if w is None else tree.v("w", w)
        product = tree.target(out, (tree.nv_free,), q, v, w)
        COMPILED.coriolis_transposed_product(tree.handle, q, v, w, product)
        return tree.projected("vector", product, out)

    @finite
    def energy(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """Kinetic energy, rotors included, and potential energy (0 at the world's origin), (2,)
        J."""
        tree, q, v = self.checked_tree, self.checked_tree.q(q), self.checked_tree.v("v", v)
        energies = result_array("out", out, (2,), (q, v))
        COMPILED.energy(tree.handle, q, v, energies)
        return energies

    @finite
    def dynamics(
        self,
        q: Any,
        v: Any = None,
        want: Sequence[str] = ("M", "C", "g"),
        frames: Sequence[str] = (),
        representation: str = "hybrid",
        *,
        out: Mapping[str, Array] | None = None,
    ) -> results.Dynamics:
        """Any of the quantities of dynamics/quantities.py: M, Mdot, C, Gamma, g, bias, energy,
        com, momentum, and per frame J, Jdot_v, pose.

        One walk over the tree for all of them. Results by name, `r.M`; those per frame are maps by
        frame, `r.J["hand"]`. Without v the robot is at rest. `out` maps names to arrays that take
        the results; those of frames are (frames, …).
        """
        tree, plan = self.checked_tree, self.plan(want, frames, representation)
        q, v = tree.q(q), tree.v("v", v)
        arrays = plan.allocate()
        COMPILED.evaluate(tree.handle, q, v, plan.flags, plan.frames, plan.representation, arrays)
        found = self.results_of(plan, arrays)
        if out is not None:
            put_into(map_or_none("out", out), found, (q, v))
        return results.Dynamics(found)

    @cached_property
    def _plans(self) -> dict[object, EvaluationPlan]:
        return {}

    def plan(
        self, want: Sequence[str], frames: Sequence[str] = (), representation: str = "hybrid"
    ) -> EvaluationPlan:
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
        records = self.frame_table.records(frames, field="frames")
        plan = EvaluationPlan(want, frames, records, kind, self.checked_tree.nv_free)
        if len(frames) > MAX_FRAMES_REMEMBERED or len(want) > len(QUANTITIES):
            return plan
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()
        self._plans[want, frames, representation] = plan
        return plan

    def results_of(self, plan: EvaluationPlan, out: Any) -> dict[str, Any]:
        """What a plan computed by name, quantities of frames by frame, in own coordinates."""
        if plan.plain and not self.checked_tree.follows:
            return {word: getattr(out, word) for word in plan.want}
        return {word: self._reduced(word, getattr(out, word), plan) for word in plan.want}

    def _reduced(self, word: str, value: Array, plan: EvaluationPlan) -> Any:
        quantity, projected = QUANTITIES[word], self.checked_tree.projected
        if not quantity.per_frame:
            return projected(quantity.projection, value)
        return {
            name: projected(quantity.projection, of_frame)
            for name, of_frame in zip(plan.frame_names, value, strict=True)
        }


def put_into(out: Mapping[str, Array], found: dict[str, Any], arguments: Sequence[Array]) -> None:
    """Results by name into arrays of the caller's, those of frames by frame."""
    taken = list(arguments)
    require_wanted(out, found)
    for name, array in out.items():
        value = found[name]
        whole = np.array(list(value.values())) if isinstance(value, dict) else value
        own = result_array(f"out[{name!r}]", array, whole.shape, taken)
        own[...] = whole
        found[name] = dict(zip(value, own, strict=True)) if isinstance(value, dict) else own
        taken.append(own)
