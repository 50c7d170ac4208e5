"""`Robot`: the friendly face of the kernels. Checks what comes in, allocates what goes out.

    robot = Robot.from_urdf("panda.urdf")
    q, v = robot.random_state(np.random.default_rng(0))
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, v)

Each method is a compiled in-place kernel of the file named after it, wrapped. A robot has one
workspace and is not to be shared between threads; `copy()` gives another one for the same model.
Frames, centre of mass and momentum are in `robot_frames.py`, ways to load in `robot_loading.py`,
configurations in `robot_coordinates.py`; `coordinates=` hands over to `robot_charts.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.kernels.charts import Coordinates
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.evaluation_plan import (
    MOST_FRAMES_REMEMBERED,
    MOST_PLANS,
    EvaluationPlan,
)
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.selected_quantities import WANTS, Quantities
from torqued.kernels.input_checks import choice, numbers
from torqued.kernels.model.description import Array
from torqued.kernels.robot.base import RobotBase, Wrenches
from torqued.kernels.robot.contacts import ContactMethods
from torqued.kernels.robot.control import ControlMethods
from torqued.kernels.robot.frames import FrameMethods
from torqued.kernels.robot.loading import LoadingMethods

FACTORIZATIONS = {"christoffel": "coriolis_matrix", "direct": "coriolis_matrix_direct"}


class Robot(LoadingMethods, ContactMethods, ControlMethods, FrameMethods, RobotBase):
    """A loaded robot. SI units, radians; conventions in docs/NOTATION.md."""

    def mass_matrix(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """M(q), shape (nv, nv)."""
        if coordinates != "native":
            return self._in(coordinates).mass_matrix(q)
        return self._reduce_matrix(self._free_mass_matrix(self._free_q(q)))

    def mass_matrix_rate(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> Array:
        """Ṁ(q, v), shape (nv, nv), from the rates of inertias (not from C)."""
        if coordinates != "native":
            return self._in(coordinates).mass_matrix_rate(q, v)
        Mdot = np.empty((self.nv_free, self.nv_free))
        COMPILED.mass_matrix_rate(self.work.handle, self._free_q(q), self._free_v("v", v), Mdot)
        return self._reduce_matrix(Mdot)

    def coriolis_matrix(
        self,
        q: Any,
        v: Any,
        factorization: str = "christoffel",
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """C(q, v), shape (nv, nv), with Ṁ = C + Cᵀ.

        `christoffel` is the one that Γ sums to ([EW21] eq. 10); `direct` is eq. 9's.
        """
        if coordinates != "native":
            return self._in(coordinates).coriolis_matrix(q, v, factorization)
        choice("factorization", factorization, FACTORIZATIONS)
        M, Mdot, C = np.empty((3, self.nv_free, self.nv_free))
        kernel = getattr(COMPILED, FACTORIZATIONS[factorization])
        kernel(self.work.handle, self._free_q(q), self._free_v("v", v), M, Mdot, C)
        return self._reduce_matrix(C)

    def christoffel(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """Γ(q), shape (nv, nv, nv), with C_ij = Σ_k Γ_ijk v_k.

        Symmetric in j, k where v is the rate of coordinates; for spherical and floating joints
        they are the coefficients of quasi-velocities.
        """
        if coordinates != "native":
            return self._in(coordinates).christoffel(q)
        n = self.nv_free
        Gamma = np.zeros((n, n, n))
        COMPILED.christoffel(self.work.handle, self._free_q(q), Gamma)
        return self._reduce_tensor(Gamma)

    def gravity(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """g(q), shape (nv,): the torques that hold the robot still."""
        if coordinates != "native":
            return self._in(coordinates).gravity(q)
        g = np.empty(self.nv_free)
        COMPILED.gravity(self.work.handle, self._free_q(q), g)
        return self._reduce_vector(g)

    def bias(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> Array:
        """C(q, v) v + g(q), shape (nv,)."""
        if coordinates != "native":
            return self._in(coordinates).bias(q, v)
        tau = np.empty(self.nv_free)
        COMPILED.bias(self.work.handle, self._free_q(q), self._free_v("v", v), tau)
        return self._reduce_vector(tau)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """τ = M a + C v + g − Σ Jᵀ f_ext, shape (nv,).

        `f_ext` maps frame names to what acts on the robot there: wrenches (6,) [moment; force] at
        the frame's origin in world axes, or `Wrench`es at any of its points, or lists of those.
        """
        if coordinates != "native":
            return self._in(coordinates).inverse_dynamics(q, v, a, f_ext)
        tau = np.empty(self.nv_free)
        q, v, a = self._free_q(q), self._free_v("v", v), self._free_v("a", a)
        if f_ext:
            COMPILED.inverse_dynamics_forced(self.work.handle, q, v, a, *self._wrenches(f_ext), tau)
        else:
            COMPILED.inverse_dynamics(self.work.handle, q, v, a, tau)
        return self._reduce_vector(tau)

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """Accelerations (nv,) under torques tau and external wrenches, in O(N).

        Where joints mimic others, the equations of the leaders are solved by Cholesky instead.
        """
        if coordinates != "native":
            return self._in(coordinates).forward_dynamics(q, v, tau, f_ext)
        if self.model.mimics.present:
            zero = np.zeros(self.nv)
            rest = numbers("tau", tau, (self.nv,)) - self.inverse_dynamics(q, v, zero, f_ext)
            return self.solve_mass(q, rest)
        a = np.empty(self.nv)
        q, v, tau = self._free_q(q), self._free_v("v", v), self._free_v("tau", tau)
        if f_ext:
            forces = self._wrenches(f_ext)
            status = COMPILED.forward_dynamics_forced(self.work.handle, q, v, tau, *forces, a)
        else:
            status = COMPILED.forward_dynamics(self.work.handle, q, v, tau, a)
        self._require_regular(status)
        return a

    def solve_mass(self, q: Any, b: Any, *, coordinates: Coordinates = "native") -> Array:
        """x with M(q) x = b, in O(N) per right-hand side; b is (nv,) or (nv, k)."""
        if coordinates != "native":
            return self._in(coordinates).solve_mass(q, b)
        columns = numbers("b", b, (self.nv,), (self.nv, -1))
        rows = np.array(np.atleast_2d(columns.T), order="C")
        if self.model.mimics.present:
            L = self.mass_matrix(q)
            status = COMPILED.cholesky(L)
            for row in rows:
                COMPILED.cholesky_solve(L, row)
        else:
            status = COMPILED.solve_mass(self.work.handle, self._free_q(q), rows)
        self._require_regular(status)
        return rows[0] if columns.ndim == 1 else np.ascontiguousarray(rows.T)

    def mass_product(self, q: Any, w: Any, *, coordinates: Coordinates = "native") -> Array:
        """M(q) w in O(N), shape (nv,)."""
        if coordinates != "native":
            return self._in(coordinates).mass_product(q, w)
        out = np.empty(self.nv_free)
        COMPILED.mass_product(self.work.handle, self._free_q(q), self._free_v("w", w), out)
        return self._reduce_vector(out)

    def coriolis_product(
        self, q: Any, v: Any, w: Any, *, coordinates: Coordinates = "native"
    ) -> Array:
        """C(q, v) w in O(N), shape (nv,), with the Christoffel-consistent C."""
        if coordinates != "native":
            return self._in(coordinates).coriolis_product(q, v, w)
        out = np.empty(self.nv_free)
        q, v, w = self._free_q(q), self._free_v("v", v), self._free_v("w", w)
        COMPILED.coriolis_product(self.work.handle, q, v, w, out)
        return self._reduce_vector(out)

    def coriolis_transposed_product(
        self, q: Any, v: Any, w: Any = None, *, coordinates: Coordinates = "native"
    ) -> Array:
        """C(q, v)ᵀ w in O(N), shape (nv,); w defaults to v, as momentum observers need it."""
        if coordinates != "native":
            return self._in(coordinates).coriolis_transposed_product(q, v, w)
        out = np.empty(self.nv_free)
        q, v = self._free_q(q), self._free_v("v", v)
        w = v if w is None else self._free_v("w", w)
        COMPILED.coriolis_transposed_product(self.work.handle, q, v, w, out)
        return self._reduce_vector(out)

    def energy(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> tuple[float, float]:
        """Kinetic energy, rotors included, and potential energy (0 at the world's origin), J."""
        if coordinates != "native":
            return self._in(coordinates).energy(q, v)
        out = np.empty(2)
        COMPILED.energy(self.work.handle, self._free_q(q), self._free_v("v", v), out)
        return float(out[0]), float(out[1])

    def dynamics(
        self,
        q: Any,
        v: Any = None,
        want: tuple[str, ...] = ("M", "C", "g"),
        frames: tuple[str, ...] = (),
        representation: str = "hybrid",
        *,
        coordinates: Coordinates = "native",
    ) -> dict[str, Any]:
        """Any of M, Mdot, C, Gamma, g, bias, energy, com, momentum, and per frame J, Jdot_v, pose.

        One walk over the tree for all of them. Results by name; those per frame are dicts by
        frame. v may be left out where nothing wanted depends on it.
        """
        if coordinates != "native":
            return self._in(coordinates).dynamics(q, v, want, frames, representation)
        want, frames = tuple(want), tuple(frames)
        plan = self._plan(want, frames, representation)
        if v is None:
            if plan.needs_velocity:
                message = f"v: missing, but {plan.needs_velocity!r} depends on it"
                raise InputError(message, "v", None, "present")
            v = np.zeros(self.nv)
        q, v = self._free_q(q), self._free_v("v", v)
        out = plan.allocate()
        COMPILED.evaluate(self.work.handle, q, v, plan.flags, plan.frames, plan.representation, out)
        return self._named(plan, want, frames, out)

    def _named(
        self, plan: EvaluationPlan, want: tuple[str, ...], frames: tuple[str, ...], out: Quantities
    ) -> dict[str, Any]:
        """Results of `dynamics` by name, in the robot's coordinates."""
        if plan.as_they_are and not self._follows:
            return {word: getattr(out, word) for word in want}
        return {word: self._reduced(word, getattr(out, word), frames) for word in want}

    def _plan(
        self, want: tuple[str, ...], frames: tuple[str, ...], representation: str
    ) -> EvaluationPlan:
        """What `dynamics` looks up and allocates for these; remembered, as loops ask the same."""
        key = (want, frames, representation)
        plan = self._plans.get(key)
        if plan is None:
            for word in want:
                choice("want", word, WANTS)
            kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
            plan = EvaluationPlan(want, self._frames(frames), kind, self.nv_free)
            if len(frames) > MOST_FRAMES_REMEMBERED or len(want) > len(WANTS):
                return plan
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def _reduced(self, word: str, value: Array, frames: tuple[str, ...]) -> Any:
        """One result of `dynamics` in the robot's coordinates."""
        if word in ("M", "Mdot", "C"):
            return self._reduce_matrix(value)
        if word in ("g", "bias"):
            return self._reduce_vector(value)
        if word == "Gamma":
            return self._reduce_tensor(value)
        if word == "J":
            return {name: self._reduce_rows(J) for name, J in zip(frames, value, strict=True)}
        if word in ("Jdot_v", "pose"):
            return dict(zip(frames, value, strict=True))
        return value

    def _free_mass_matrix(self, q: Array) -> Array:
        M = np.empty((self.nv_free, self.nv_free))
        COMPILED.mass_matrix(self.work.handle, q, M)
        return M

    def _require_regular(self, status: int) -> None:
        if status != OK:
            raise NumericalError(
                f"robot {self.name!r}: the mass matrix is singular in this configuration "
                "(a joint moves no inertia, or Euler angles are at their singularity)"
            )
