"""A robot seen through a chart: the methods of `Robot` with all coordinates those of the chart.

Each computes natively and changes coordinates by A ([EW21] section 3.3). What stands in the
common frame (twists, poses, momenta, wrenches) is the same in every chart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common import results
from torqued.common.errors import InputError
from torqued.kernels.batch.state_by_state import StateByState
from torqued.kernels.charts.chart import Chart
from torqued.kernels.charts.charted_constraints import ChartedConstraints
from torqued.kernels.charts.charted_derivatives import ChartedDerivatives
from torqued.kernels.charts.charted_simulation import ChartedSimulation
from torqued.kernels.charts.native_signature import like, natively, quantity
from torqued.kernels.charts.redundant import RedundantBase, redundant_base
from torqued.kernels.charts.registry import Coordinates, chart_of
from torqued.kernels.charts.transformations import Motion, coriolis, needed_natively, transformed
from torqued.kernels.input_checks import names_of, number, numbers, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import checked, finite_arithmetic
from torqued.kernels.robot.capsules import Capsules
from torqued.kernels.robot.centroidal import Centroidal
from torqued.kernels.robot.configurations import Configurations
from torqued.kernels.robot.control_terms import ControlTerms
from torqued.kernels.robot.dynamics import Dynamics
from torqued.kernels.robot.frames import MAX_ORDER, Frames, require_order

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


#: What computes on the robot as it moves without a chart.
NOT_REDUCED = (
    *("contact_dynamics", "friction_dynamics", "impact", "assemble", "inverse_kinematics"),
    *("constrained_inverse_dynamics", "contact_dynamics_derivatives", "simulate", "linearize"),
    *("forward_dynamics_derivatives", "mass_matrix_derivatives", "inverse_dynamics_derivatives"),
    "inverse_dynamics_second_derivatives",
)


class ChartedRobot(ChartedDerivatives, ChartedSimulation, ChartedConstraints):
    """`robot` in the coordinates of `chart`."""

    def __init__(self, robot: Robot, coordinates: Coordinates) -> None:
        self.robot, self._coordinates, self.users = robot, coordinates, robot.users
        self.chart: Chart = chart_of(robot, coordinates)
        self.nq, self.nv = self.chart.nq, self.chart.nv
        self.name, self.frame_names = robot.name, robot.frame_names
        self.postures = robot.postures
        #: Moving joints in the order of the chart's velocities.
        self.joint_names: tuple[str, ...] = self.chart.joint_names
        if self.chart.reduces:
            vars(self).update(dict.fromkeys(NOT_REDUCED, self._refuse))

    def copy(self) -> ChartedRobot:
        """The same robot with its own workspace, for another thread."""
        return ChartedRobot(self.robot.copy(), self._coordinates)

    def __reduce__(self) -> tuple[Any, ...]:
        return ChartedRobot, (self.robot.copy(), self._coordinates)

    def batch(
        self, threads: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> StateByState[ChartedRobot]:
        """The same methods for many states, one state after the other; as `Robot.batch`."""
        return StateByState(self, threads, progress)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        allowed = "coordinates with as many velocities as the robot has"
        message = f"coordinates {self.chart.name!r} leave out velocities; expected {allowed}"
        raise InputError(message, "coordinates", self.chart.name, allowed)

    def __repr__(self) -> str:
        return f"<{self.robot!r} in coordinates {self.chart.name!r}: nq={self.nq}, nv={self.nv}>"

    @property
    def total_mass(self) -> float:
        return self.robot.total_mass

    @property
    def gravity_vector(self) -> Array:
        return self.robot.gravity_vector

    @property
    def inertial_parameters(self) -> Array:
        return self.robot.inertial_parameters

    mass_matrix = quantity(Dynamics.mass_matrix, "M")
    mass_matrix_rate = quantity(Dynamics.mass_matrix_rate, "Mdot")
    christoffel = quantity(Dynamics.christoffel, "Gamma")
    gravity = quantity(Dynamics.gravity, "g")
    inverse_dynamics = natively(Dynamics.inverse_dynamics, "torque")  # eq. 26
    mass_product = natively(Dynamics.mass_product, "torque")
    energy = natively(Dynamics.energy)
    frame_pose = natively(Frames.frame_pose)
    frame_jacobian = natively(Frames.frame_jacobian, "rows")
    frame_velocity = natively(Frames.frame_velocity)
    frame_to_world = natively(Centroidal.frame_to_world)
    world_to_frame = natively(Centroidal.world_to_frame)
    zero_moment_point = natively(Centroidal.zero_moment_point)
    clearances = natively(Capsules.clearances)
    center_of_mass = natively(Centroidal.center_of_mass)
    center_of_mass_jacobian = natively(Centroidal.center_of_mass_jacobian, "rows")
    centroidal_matrix = natively(Centroidal.centroidal_matrix, "rows")
    centroidal_momentum = natively(Centroidal.centroidal_momentum)

    @like(Dynamics.coriolis_matrix)
    def coriolis_matrix(self, q: Any, v: Any, factorization: str) -> Any:
        """C̄ = Aᵀ (C A + M Ȧ), eq. 24, of either factorization."""
        at = self._motion(q, v)
        C = self.robot.coriolis_matrix(at.q, at.native_v, factorization)
        return coriolis(C, {"M": self.robot.mass_matrix(at.q)}, at)

    @like(Dynamics.bias)
    def bias(self, q: Any, v: Any, f_ext: Any) -> Any:
        if f_ext is not None:
            return self.inverse_dynamics(q, v, np.zeros(self.nv), f_ext)
        return self.dynamics(q, v, ("bias",)).bias

    @like(Dynamics.forward_dynamics)
    def forward_dynamics(self, q: Any, v: Any, tau: Any, f_ext: Any) -> Any:
        """ā = A⁺ ν̇ + (A⁺)˙ ν, in O(N) as natively."""
        q, velocity, torque = self._to_native(q, v, tau)
        a = self.robot.forward_dynamics(q, velocity, torque, f_ext)
        return self._acceleration(q, velocity, a)

    @like(Dynamics.solve_mass)
    def solve_mass(self, q: Any, b: Any) -> Any:
        """x = A⁺ M⁻¹ A⁺ᵀ b: the smallest solution where M̄ is singular (redundant charts)."""
        q, n = self.chart.to_native(q), self.chart.nv
        inverse = self.chart.A_inverse(q)
        return inverse @ self.robot.solve_mass(q, inverse.T @ numbers("b", b, (n,), (n, -1)))

    @like(Dynamics.coriolis_product)
    def coriolis_product(self, q: Any, v: Any, w: Any) -> Any:
        q, A = self._at(q)
        v, w = self._velocity("v", v), self._velocity("w", w)
        turning = self.robot.mass_product(q, self.chart.A_rate(q, v) @ w)
        return A.T @ (self.robot.coriolis_product(q, A @ v, A @ w) + turning)

    @like(Dynamics.coriolis_transposed_product)
    def coriolis_transposed_product(self, q: Any, v: Any, w: Any) -> Any:
        """C̄ᵀ w = Aᵀ Cᵀ (A w) + Ȧᵀ M (A w)."""
        q, A = self._at(q)
        v = self._velocity("v", v)
        Aw = A @ (v if w is None else self._velocity("w", w))
        turning = self.chart.A_rate(q, v).T @ self.robot.mass_product(q, Aw)
        return A.T @ self.robot.coriolis_transposed_product(q, A @ v, Aw) + turning

    @like(ControlTerms.tracking_torque)
    def tracking_torque(self, q: Any, v: Any, v_ref: Any, a_ref: Any) -> Any:
        """Aᵀ (M (A a_ref + Ȧ v_ref) + C A v_ref + g)."""
        q, A = self._at(q)
        v, w = self._velocity("v", v), self._velocity("v_ref", v_ref)
        a = A @ self._velocity("a_ref", a_ref) + self.chart.A_rate(q, v) @ w
        return A.T @ self.robot.tracking_torque(q, A @ v, A @ w, a)

    @like(ControlTerms.generalized_momentum)
    def generalized_momentum(self, q: Any, v: Any) -> Any:
        """p̄ = Aᵀ p, and C̄ᵀ v̄ − ḡ = Aᵀ (Cᵀ ν − g) + Ȧᵀ p."""
        q, A = self._at(q)
        v = self._velocity("v", v)
        p, rate = self.robot.generalized_momentum(q, A @ v)
        return A.T @ p, A.T @ rate + self.chart.A_rate(q, v).T @ p

    @like(ControlTerms.regressor)
    def regressor(self, q: Any, v: Any, a: Any, v_ref: Any) -> Any:
        q, A = self._at(q)
        v = self._velocity("v", v)
        w = v if v_ref is None else self._velocity("v_ref", v_ref)
        acceleration = A @ self._velocity("a", a) + self.chart.A_rate(q, v) @ w
        return A.T @ self.robot.regressor(q, A @ v, acceleration, A @ w)

    @like(Dynamics.dynamics)
    def dynamics(self, q: Any, v: Any, want: Any, frames: Any, representation: str) -> Any:
        """One walk, natively, for all that is wanted and for what changing coordinates needs."""
        at = self._motion(q, v)
        words = needed_natively(names_of("want", want))
        natively = self.robot.dynamics(at.q, at.native_v, words, frames, representation)
        return results.Dynamics(transformed(want, natively, at))

    @like(Configurations.integrate)
    def integrate(self, q: Any, v: Any, dt: Any) -> Any:
        step = self._velocity("v", v) * number("dt", dt)
        native, A = self._at(q)
        moved = self.robot.integrate(native, checked("integrate", A @ step), 1.0)
        return self.chart.advance(numbers("q", q, (self.chart.nq,)), step, moved)

    @like(Configurations.difference)
    def difference(self, q0: Any, q1: Any) -> Any:
        step = self.robot.difference(self.chart.to_native(q0, "q0"), self.chart.to_native(q1, "q1"))
        shape = (self.chart.nq,)
        return self.chart.retreat(numbers("q0", q0, shape), numbers("q1", q1, shape), step)

    @finite_arithmetic
    def neutral(self) -> Array:
        return self.chart.from_native(self.robot.neutral())

    @finite_arithmetic
    def posture(self, name: str) -> Array:
        return self.chart.from_native(self.robot.posture(name))

    @finite_arithmetic
    def random_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        q, v = self.robot.random_state(rng)
        return self.chart.from_native(q), self.chart.A_inverse(q) @ v

    @finite_arithmetic
    def base_constraint(self, q: Any, v: Any) -> RedundantBase:
        self.chart.to_native(q)
        return redundant_base(self.chart, numbers("q", q, (self.chart.nq,)), self._velocity("v", v))

    @like(Frames.frame_bias)
    def frame_bias(self, q: Any, v: Any, *where: Any) -> Any:
        """The rate of J̄, times v̄: J̇ ν + J Ȧ v̄."""
        return self._frame_acceleration(q, v, np.zeros(self.chart.nv), *where)

    @like(Frames.frame_acceleration)
    def frame_acceleration(self, q: Any, v: Any, a: Any, *where: Any) -> Any:
        return self._frame_acceleration(q, v, a, *where)

    def _frame_acceleration(self, q: Any, v: Any, a: Any, *where: Any) -> Array:
        at = self._motion(q, v)
        J = self.robot.frame_jacobian(at.q, *where)
        turning = at.A @ self._velocity("a", a) + at.A_rate @ at.v
        return J @ turning + self.robot.frame_bias(at.q, at.native_v, *where)

    @like(Frames.frame_jacobian_rate)
    def frame_jacobian_rate(self, q: Any, v: Any, *where: Any) -> Any:
        """J̇ A + J Ȧ."""
        at = self._motion(q, v)
        J = self.robot.frame_jacobian(at.q, *where)
        rate = self.robot.frame_jacobian_rate(at.q, at.native_v, *where)
        return rate @ at.A + J @ at.A_rate

    @like(Frames.frame_jerk)
    def frame_jerk(self, q: Any, v: Any, a: Any, jerk: Any, *where: Any) -> Any:
        at = self._motion(q, v)
        a, jerk = self._velocity("a", a), self._velocity("jerk", jerk)
        rates = self._rates(at, a, jerk)
        return self.robot.frame_jerk(at.q, at.native_v, *rates, *where)

    @like(Frames.frame_jacobian_second_rate)
    def frame_jacobian_second_rate(self, q: Any, v: Any, a: Any, *where: Any) -> Any:
        """J̈ A + 2 J̇ Ȧ + J Ä."""
        at = self._motion(q, v)
        a = self._velocity("a", a)
        native_a = at.A @ a + at.A_rate @ at.v
        second = self.robot.frame_jacobian_second_rate(at.q, at.native_v, native_a, *where)
        rate = self.robot.frame_jacobian_rate(at.q, at.native_v, *where)
        J = self.robot.frame_jacobian(at.q, *where)
        return second @ at.A + 2.0 * rate @ at.A_rate + J @ self._second_rate(at, a)

    @like(Frames.frame_hessian)
    def frame_hessian(self, q: Any, *where: Any) -> Any:
        """Along the chart's velocity k: Σ H[:, m, n] A_mj A_nk + J ∂A/∂k."""
        q, A = self._at(q)
        J = self.robot.frame_jacobian(q, *where)
        H = self.robot.frame_hessian(q, *where)
        hessian: Array = np.einsum("rmn,mj,nk->rjk", H, A, A)
        for k, e in enumerate(np.eye(self.chart.nv)):
            hessian[:, :, k] += J @ self.chart.A_rate(q, e)
        return hessian

    @like(Frames.kinematics)
    def kinematics(
        self, q: Any, frames: Any, v: Any, representation: str, order: Any, a: Any, jerk: Any
    ) -> Any:
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

    @like(Centroidal.centroidal_bias)
    def centroidal_bias(self, q: Any, v: Any) -> Any:
        q, A = self._at(q)
        v = self._velocity("v", v)
        turning = self.robot.centroidal_matrix(q) @ (self.chart.A_rate(q, v) @ v)
        return self.robot.centroidal_bias(q, A @ v) + turning
