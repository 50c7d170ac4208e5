"""A robot seen through a chart: the methods of `Robot` with all coordinates those of the chart.

Each computes natively and changes coordinates by A ([EW21] section 3.3). What stands in the
common frame (twists, poses, momenta, wrenches) is the same in every chart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common import results
from torqued.kernels.batch.state_by_state import StateByState
from torqued.kernels.charts.chart import Chart
from torqued.kernels.charts.charted_constraints import ChartedConstraints
from torqued.kernels.charts.charted_derivatives import ChartedDerivatives
from torqued.kernels.charts.charted_simulation import ChartedSimulation
from torqued.kernels.charts.redundant import RedundantBase, redundant_base
from torqued.kernels.charts.registry import Coordinates, chart_of
from torqued.kernels.charts.transformations import Motion, coriolis, needed_natively, transformed
from torqued.kernels.input_checks import names_of, number, numbers, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import checked, finite_arithmetic
from torqued.kernels.robot.frames import MAX_ORDER, require_order

if TYPE_CHECKING:
    from torqued.kernels.robot.frame_table import Wrenches
    from torqued.kernels.robot.robot import Robot


class ChartedRobot(ChartedDerivatives, ChartedSimulation, ChartedConstraints):
    """`robot` in the coordinates of `chart`."""

    def __init__(self, robot: Robot, coordinates: Coordinates) -> None:
        self.robot, self._coordinates = robot, coordinates
        self.chart: Chart = chart_of(robot, coordinates)
        self.nq, self.nv = self.chart.nq, self.chart.nv

    def copy(self) -> ChartedRobot:
        """The same robot with a workspace of its own, for another thread."""
        return ChartedRobot(self.robot.copy(), self._coordinates)

    def batch(
        self, threads: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> StateByState[ChartedRobot]:
        """The same methods for many states, one state after the other; as `Robot.batch`."""
        return StateByState(self, threads, progress)

    def __repr__(self) -> str:
        return f"<{self.robot!r} in coordinates {self.chart.name!r}: nq={self.nq}, nv={self.nv}>"

    @property
    def name(self) -> str:
        return self.robot.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints in the order of the chart's velocities."""
        return self.chart.joint_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        return self.robot.frame_names

    @property
    def total_mass(self) -> float:
        return self.robot.total_mass

    @property
    def gravity_vector(self) -> Array:
        return self.robot.gravity_vector

    @property
    def inertial_parameters(self) -> Array:
        return self.robot.inertial_parameters

    @finite_arithmetic
    def mass_matrix(self, q: Any) -> Array:
        return self._quantity("M", q)

    @finite_arithmetic
    def mass_matrix_rate(self, q: Any, v: Any = None) -> Array:
        return self._quantity("Mdot", q, v)

    @finite_arithmetic
    def coriolis_matrix(self, q: Any, v: Any = None, factorization: str = "christoffel") -> Array:
        """C̄ = Aᵀ (C A + M Ȧ), eq. 24, of either factorization."""
        at = self._motion(q, v)
        C = self.robot.coriolis_matrix(at.q, at.native_v, factorization)
        return coriolis(C, {"M": self.robot.mass_matrix(at.q)}, at)

    @finite_arithmetic
    def christoffel(self, q: Any) -> Array:
        return self._quantity("Gamma", q)

    @finite_arithmetic
    def gravity(self, q: Any) -> Array:
        return self._quantity("g", q)

    @finite_arithmetic
    def bias(self, q: Any, v: Any = None, f_ext: Wrenches | None = None) -> Array:
        if f_ext is not None:
            return self.inverse_dynamics(q, v, np.zeros(self.nv), f_ext)
        return self._quantity("bias", q, v)

    def _quantity(self, word: str, q: Any, v: Any = None) -> Array:
        found: Array = self.dynamics(q, v, (word,))[word]
        return found

    @finite_arithmetic
    def inverse_dynamics(self, q: Any, v: Any, a: Any, f_ext: Wrenches | None = None) -> Array:
        """τ̄ = Aᵀ τ, eq. 26."""
        q, A = self._at(q)
        v, a = self._velocity("v", v), self._velocity("a", a)
        acceleration = A @ a + self.chart.A_rate(q, v) @ v
        return A.T @ self.robot.inverse_dynamics(q, A @ v, acceleration, f_ext)

    @finite_arithmetic
    def forward_dynamics(self, q: Any, v: Any, tau: Any, f_ext: Wrenches | None = None) -> Array:
        """ā = A⁺ ν̇ + (A⁺)˙ ν, in O(N) as natively."""
        q, A = self._at(q)
        velocity = A @ self._velocity("v", v)
        torque = self.chart.A_inverse(q).T @ self._velocity("tau", tau)
        a = self.robot.forward_dynamics(q, velocity, torque, f_ext)
        return self._acceleration(q, velocity, a)

    @finite_arithmetic
    def solve_mass(self, q: Any, b: Any) -> Array:
        """x = A⁺ M⁻¹ A⁺ᵀ b: the smallest solution where M̄ is singular (redundant charts)."""
        q, n = self.chart.to_native(q), self.chart.nv
        inverse = self.chart.A_inverse(q)
        return inverse @ self.robot.solve_mass(q, inverse.T @ numbers("b", b, (n,), (n, -1)))

    def _acceleration(self, q: Array, velocity: Array, a: Array) -> Array:
        """ā = A⁺ ν̇ + (A⁺)˙ ν at native q, ν, ν̇."""
        inverse, rate = self.chart.A_inverse(q), self.chart.A_inverse_rate(q, velocity)
        return inverse @ a + rate @ velocity

    @finite_arithmetic
    def mass_product(self, q: Any, w: Any) -> Array:
        q, A = self._at(q)
        return A.T @ self.robot.mass_product(q, A @ self._velocity("w", w))

    @finite_arithmetic
    def coriolis_product(self, q: Any, v: Any, w: Any) -> Array:
        q, A = self._at(q)
        v, w = self._velocity("v", v), self._velocity("w", w)
        turning = self.robot.mass_product(q, self.chart.A_rate(q, v) @ w)
        return A.T @ (self.robot.coriolis_product(q, A @ v, A @ w) + turning)

    @finite_arithmetic
    def coriolis_transposed_product(self, q: Any, v: Any = None, w: Any = None) -> Array:
        """C̄ᵀ w = Aᵀ Cᵀ (A w) + Ȧᵀ M (A w)."""
        q, A = self._at(q)
        v = self._velocity("v", v)
        Aw = A @ (v if w is None else self._velocity("w", w))
        turning = self.chart.A_rate(q, v).T @ self.robot.mass_product(q, Aw)
        return A.T @ self.robot.coriolis_transposed_product(q, A @ v, Aw) + turning

    @finite_arithmetic
    def tracking_torque(self, q: Any, v: Any, v_ref: Any, a_ref: Any) -> Array:
        """Aᵀ (M (A a_ref + Ȧ v_ref) + C A v_ref + g)."""
        q, A = self._at(q)
        v, w = self._velocity("v", v), self._velocity("v_ref", v_ref)
        a = A @ self._velocity("a_ref", a_ref) + self.chart.A_rate(q, v) @ w
        return A.T @ self.robot.tracking_torque(q, A @ v, A @ w, a)

    @finite_arithmetic
    def generalized_momentum(self, q: Any, v: Any = None) -> tuple[Array, Array]:
        """p̄ = Aᵀ p, and C̄ᵀ v̄ − ḡ = Aᵀ (Cᵀ ν − g) + Ȧᵀ p."""
        q, A = self._at(q)
        v = self._velocity("v", v)
        p, rate = self.robot.generalized_momentum(q, A @ v)
        return A.T @ p, A.T @ rate + self.chart.A_rate(q, v).T @ p

    @finite_arithmetic
    def regressor(self, q: Any, v: Any, a: Any, v_ref: Any = None) -> Array:
        q, A = self._at(q)
        v = self._velocity("v", v)
        w = v if v_ref is None else self._velocity("v_ref", v_ref)
        acceleration = A @ self._velocity("a", a) + self.chart.A_rate(q, v) @ w
        return A.T @ self.robot.regressor(q, A @ v, acceleration, A @ w)

    @finite_arithmetic
    def energy(self, q: Any, v: Any = None) -> Array:
        q, A = self._at(q)
        return self.robot.energy(q, A @ self._velocity("v", v))

    @finite_arithmetic
    def dynamics(
        self,
        q: Any,
        v: Any = None,
        want: Sequence[str] = ("M", "C", "g"),
        frames: Sequence[str] = (),
        representation: str = "hybrid",
    ) -> results.Dynamics:
        """One walk, natively, for all that is wanted and for what changing coordinates needs."""
        at = self._motion(q, v)
        words = needed_natively(names_of("want", want))
        natively = self.robot.dynamics(at.q, at.native_v, words, frames, representation)
        return results.Dynamics(transformed(want, natively, at))

    @finite_arithmetic
    def integrate(self, q: Any, v: Any, dt: float) -> Array:
        step = self._velocity("v", v) * number("dt", dt)
        native, A = self._at(q)
        moved = self.robot.integrate(native, checked("integrate", A @ step), 1.0)
        return self.chart.advance(numbers("q", q, (self.chart.nq,)), step, moved)

    @finite_arithmetic
    def difference(self, q0: Any, q1: Any) -> Array:
        step = self.robot.difference(self.chart.to_native(q0, "q0"), self.chart.to_native(q1, "q1"))
        shape = (self.chart.nq,)
        return self.chart.retreat(numbers("q0", q0, shape), numbers("q1", q1, shape), step)

    @finite_arithmetic
    def neutral(self) -> Array:
        return self.chart.from_native(self.robot.neutral())

    @finite_arithmetic
    def random_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        q, v = self.robot.random_state(rng)
        return self.chart.from_native(q), self.chart.A_inverse(q) @ v

    @finite_arithmetic
    def base_constraint(self, q: Any, v: Any) -> RedundantBase:
        self.chart.to_native(q)
        return redundant_base(self.chart, numbers("q", q, (self.chart.nq,)), self._velocity("v", v))

    @finite_arithmetic
    def frame_pose(self, q: Any, frame: str, point: Any = None) -> Array:
        return self.robot.frame_pose(self.chart.to_native(q), frame, point)

    @finite_arithmetic
    def frame_to_world(self, q: Any, frame: str, points: Any) -> Array:
        return self.robot.frame_to_world(self.chart.to_native(q), frame, points)

    @finite_arithmetic
    def world_to_frame(self, q: Any, frame: str, points: Any) -> Array:
        return self.robot.world_to_frame(self.chart.to_native(q), frame, points)

    @finite_arithmetic
    def zero_moment_point(
        self, q: Any, v: Any, a: Any, normal: Any = (0.0, 0.0, 1.0), point: Any = (0.0, 0.0, 0.0)
    ) -> Array:
        q, A = self._at(q)
        v = self._velocity("v", v)
        acceleration = A @ self._velocity("a", a) + self.chart.A_rate(q, v) @ v
        return self.robot.zero_moment_point(q, A @ v, acceleration, normal, point)

    @finite_arithmetic
    def frame_jacobian(
        self, q: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """J̄ = J A."""
        q, A = self._at(q)
        return self.robot.frame_jacobian(q, frame, representation, point) @ A

    @finite_arithmetic
    def frame_velocity(
        self, q: Any, v: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        q, A = self._at(q)
        v = self._velocity("v", v)
        return self.robot.frame_velocity(q, A @ v, frame, representation, point)

    @finite_arithmetic
    def frame_acceleration(
        self, q: Any, v: Any, a: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        return self._frame_acceleration(q, v, a, frame, representation, point)

    @finite_arithmetic
    def frame_bias(
        self, q: Any, v: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """The rate of J̄, times v̄: J̇ ν + J Ȧ v̄."""
        at_rest = np.zeros(self.chart.nv)
        return self._frame_acceleration(q, v, at_rest, frame, representation, point)

    def _frame_acceleration(
        self, q: Any, v: Any, a: Any, frame: str, representation: str, point: Any
    ) -> Array:
        at = self._motion(q, v)
        J = self.robot.frame_jacobian(at.q, frame, representation, point)
        turning = at.A @ self._velocity("a", a) + at.A_rate @ at.v
        return J @ turning + self.robot.frame_bias(at.q, at.native_v, frame, representation, point)

    @finite_arithmetic
    def frame_jacobian_rate(
        self, q: Any, v: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """J̇ A + J Ȧ."""
        at = self._motion(q, v)
        J = self.robot.frame_jacobian(at.q, frame, representation, point)
        rate = self.robot.frame_jacobian_rate(at.q, at.native_v, frame, representation, point)
        return rate @ at.A + J @ at.A_rate

    @finite_arithmetic
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
        at = self._motion(q, v)
        a, jerk = self._velocity("a", a), self._velocity("jerk", jerk)
        rates = self._rates(at, a, jerk)
        return self.robot.frame_jerk(at.q, at.native_v, *rates, frame, representation, point)

    @finite_arithmetic
    def frame_jacobian_second_rate(
        self, q: Any, v: Any, a: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """J̈ A + 2 J̇ Ȧ + J Ä."""
        at, where = self._motion(q, v), (frame, representation, point)
        a = self._velocity("a", a)
        native_a = at.A @ a + at.A_rate @ at.v
        second = self.robot.frame_jacobian_second_rate(at.q, at.native_v, native_a, *where)
        rate = self.robot.frame_jacobian_rate(at.q, at.native_v, *where)
        J = self.robot.frame_jacobian(at.q, *where)
        return second @ at.A + 2.0 * rate @ at.A_rate + J @ self._second_rate(at, a)

    @finite_arithmetic
    def frame_hessian(
        self, q: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """Along the chart's velocity k: Σ H[:, m, n] A_mj A_nk + J ∂A/∂k."""
        q, A = self._at(q)
        J = self.robot.frame_jacobian(q, frame, representation, point)
        H = self.robot.frame_hessian(q, frame, representation, point)
        hessian: Array = np.einsum("rmn,mj,nk->rjk", H, A, A)
        for k, e in enumerate(np.eye(self.chart.nv)):
            hessian[:, :, k] += J @ self.chart.A_rate(q, e)
        return hessian

    @finite_arithmetic
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
        """J̄ = J A with its rates; motions are those of the native ν, ν̇, ν̈."""
        if order is None:
            require_order(a=a, jerk=jerk)
            want = ("pose", "J") if v is None else ("pose", "J", "Jdot_v")
            return results.Kinematics(self.dynamics(q, v, want, frames, representation).as_dict())
        at = self._motion(q, v)
        A, rest = at.A, np.zeros(self.chart.nv)
        a = rest if a is None else self._velocity("a", a)
        jerk = rest if jerk is None else self._velocity("jerk", jerk)
        native_jerk = None
        order = whole_number("order", order, 0, MAX_ORDER)
        if order == MAX_ORDER:
            native_a, native_jerk = self._rates(at, a, jerk)
        else:
            native_a = A @ a + at.A_rate @ at.v
        found = self.robot.kinematics(
            at.q, frames, at.native_v, representation, order=order, a=native_a, jerk=native_jerk
        ).as_dict()
        J, Jdot = found.get("J", {}), found.get("Jdot", {})
        changed: dict[str, dict[str, Array]] = {"J": {}, "Jdot": {}, "Jddot": {}}
        for frame, rows in J.items():
            changed["J"][frame] = rows @ A
        for frame, rows in Jdot.items():
            changed["Jdot"][frame] = rows @ A + J[frame] @ at.A_rate
        for frame, rows in found.get("Jddot", {}).items():
            turning = 2.0 * Jdot[frame] @ at.A_rate + J[frame] @ self._second_rate(at, a)
            changed["Jddot"][frame] = rows @ A + turning
        own = {word: rows for word, rows in changed.items() if rows}
        return results.Kinematics(found | own)

    def _rates(self, at: Motion, a: Array, jerk: Array) -> tuple[Array, Array]:
        """ν̇ = A ā + Ȧ v̄ and ν̈ = A q⃛ + 2 Ȧ ā + Ä v̄."""
        second = at.A @ jerk + 2.0 * at.A_rate @ a + self._second_rate(at, a) @ at.v
        return at.A @ a + at.A_rate @ at.v, second

    def _second_rate(self, at: Motion, a: Array) -> Array:
        """Ä while the chart's velocity is v̄ and its rate ā."""
        moving = at.v
        direction = at.A @ moving
        size = float(np.abs(direction).max(initial=0.0))
        if self.chart.constant or size == 0.0:
            return self.chart.A_rate(at.q, a)
        # Differences have steps that suit a velocity of 1 rad/s or m/s.
        turning = self._difference(at.q, direction / size, lambda q: self.chart.A_rate(q, moving))
        return self.chart.A_rate(at.q, a) + size * turning

    @finite_arithmetic
    def center_of_mass(self, q: Any) -> Array:
        return self.robot.center_of_mass(self.chart.to_native(q))

    @finite_arithmetic
    def center_of_mass_jacobian(self, q: Any) -> Array:
        q, A = self._at(q)
        return self.robot.center_of_mass_jacobian(q) @ A

    @finite_arithmetic
    def centroidal_matrix(self, q: Any) -> Array:
        q, A = self._at(q)
        return self.robot.centroidal_matrix(q) @ A

    @finite_arithmetic
    def centroidal_momentum(self, q: Any, v: Any = None) -> Array:
        q, A = self._at(q)
        return self.robot.centroidal_momentum(q, A @ self._velocity("v", v))

    @finite_arithmetic
    def centroidal_bias(self, q: Any, v: Any = None) -> Array:
        q, A = self._at(q)
        v = self._velocity("v", v)
        turning = self.robot.centroidal_matrix(q) @ (self.chart.A_rate(q, v) @ v)
        bias: Array = self.robot.centroidal_bias(q, A @ v) + turning
        return bias

    def _motion(self, q: Any, v: Any) -> Motion:
        """The native q and the chart's v, checked."""
        return Motion(self.chart, self.chart.to_native(q), self._velocity("v", v))

    def _at(self, q: Any) -> tuple[Array, Array]:
        """The native q and A there."""
        native = self.chart.to_native(q)
        return native, self.chart.A(native)

    def _velocity(self, name: str, values: Any) -> Array:
        """A velocity, acceleration or torque of the chart, checked; no v is rest."""
        if values is None and name == "v":
            return np.zeros(self.chart.nv)
        return numbers(name, values, (self.chart.nv,))
