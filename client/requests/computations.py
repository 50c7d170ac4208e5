"""Operations on a state, for many states and over time: the methods that make their requests.

Names, order and defaults are those of `Robot`. Numbers may be anything that numpy takes; they go
over the wire as float64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torqued.client.requests import results
from torqued.client.requests.constrained_operations import ConstrainedOperations
from torqued.client.requests.derivatives import Derivatives
from torqued.client.requests.frames import FrameOperations
from torqued.client.requests.methods import Method
from torqued.client.requests.request_parts import (
    Request,
    arrays,
    arrays_of,
    as_array,
    as_number,
    constraints_of,
    names,
    numbers,
    only,
    options,
    target_of,
)
from torqued.client.requests.results import Array, Result
from torqued.common.stacked import STACKED


class Computations(FrameOperations, Derivatives, ConstrainedOperations):
    """What the robot's model gives."""

    @Method
    @staticmethod
    def dynamics(
        q: Any,
        v: Any = None,
        want: Sequence[str] = ("M", "C", "g"),
        frames: Sequence[str] = (),
        representation: str = "hybrid",
    ) -> Request[results.Dynamics]:
        """Any subset of the dynamics quantities at q (nq,), v (nv,) in one pass over the robot.

        `want` names them, as the fields of the result; for each of `frames` there are J, Jdot_v
        and pose. `representation` is that of J: "hybrid", "body", "spatial" or "mixed".
        """
        fields = numbers(q=q, v=v) | {"want": names(want)}
        fields |= options(frames=names(frames) or None, representation=representation)
        return Request("dynamics", fields, results.Dynamics)

    @Method
    @staticmethod
    def inverse_dynamics(
        q: Any,
        v: Any,
        a: Any,
        f_ext: Mapping[str, Any] | None = None,
    ) -> Request[Array]:
        """Torques (nv,) N m for accelerations a (nv,); `f_ext` maps frames to wrenches (6,)."""
        fields = numbers(q=q, v=v, a=a) | options(f_ext=arrays(f_ext))
        return Request("inverse_dynamics", fields, only("tau"))

    @Method
    @staticmethod
    def forward_dynamics(
        q: Any,
        v: Any,
        tau: Any,
        f_ext: Mapping[str, Any] | None = None,
    ) -> Request[Array]:
        """Accelerations (nv,) under torques tau (nv,); `f_ext` maps frames to wrenches (6,)."""
        fields = numbers(q=q, v=v, tau=tau) | options(f_ext=arrays(f_ext))
        return Request("forward_dynamics", fields, only("a"))

    @Method
    @staticmethod
    def solve_mass(q: Any, b: Any) -> Request[Array]:
        """M⁻¹ b for b (nv,) or (nv, k), without M."""
        return Request("solve_mass", numbers(q=q, b=b), only("x"))

    @Method
    @staticmethod
    def coriolis_product(q: Any, v: Any, w: Any) -> Request[Array]:
        """C(q, v) w (nv,) for another velocity w (nv,), without C."""
        return Request("coriolis_product", numbers(q=q, v=v, w=w), only("product"))

    @Method
    @staticmethod
    def kinematics(
        q: Any,
        frames: Sequence[str],
        v: Any = None,
        representation: str = "hybrid",
        *,
        order: int | None = None,
        a: Any = None,
        jerk: Any = None,
    ) -> Request[results.Kinematics]:
        """Poses and Jacobians of frames by name, and J̇ v where v is given.

        With an `order`, their motions instead: 0 pose; from 1 on velocity, J; from 2 on
        acceleration, Jdot; 3 jerk, Jddot. `a` and `jerk` (nv,) are zero where they are not given.
        """
        fields = numbers(q=q, v=v, a=a, jerk=jerk) | {"frames": names(frames)}
        fields |= options(order=order, representation=representation)
        return Request("kinematics", fields, results.Kinematics)

    @Method
    @staticmethod
    def integrate(q: Any, v: Any, dt: float) -> Request[Array]:
        """The configuration (nq,) after a constant velocity v (nv,) for dt s."""
        fields = numbers(q=q, v=v) | {"dt": as_number(dt, "dt")}
        return Request("integrate", fields, only("q"))

    @Method
    @staticmethod
    def inverse_kinematics(
        targets: Sequence[Any],
        q0: Any,
        tolerance: float = 1e-6,
        iterations: int = 100,
        restarts: int = 20,
        *,
        seed: int = 0,
    ) -> Request[results.InverseKinematics]:
        """A configuration (nq,) within limits at which targets are reached, or nearest to them.

        Targets are maps with `value`, `frame`, `kind` ("pose", "position", "orientation", "com",
        "posture"), `point`, `axes`, `weight`, `radian`, `priority`; the search begins at q0.
        """
        fields = {
            "q": as_array(q0, "q0"),
            "targets": [target_of(x) for x in targets],
            **options(tolerance=tolerance, iterations=iterations, restarts=restarts, seed=seed),
        }
        return Request("inverse_kinematics", fields, results.InverseKinematics)

    @Method
    @staticmethod
    def control(
        law: str,
        q: Any,
        v: Any,
        *,
        references: Mapping[str, Any] | None = None,
        motor_q: Any = None,
        motor_v: Any = None,
        external_torque: Any = None,
        measured_wrench: Any = None,
        gains: Mapping[str, Any] | None = None,
        effort_limit: Any = None,
        rate_limit: Any = None,
        observer: Mapping[str, Any] | bool | None = None,
        payload: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        friction: Mapping[str, Any] | bool | None = None,
        integral: Mapping[str, Any] | bool | float | None = None,
        frame: str | None = None,
        point: Any = None,
        axes: str | None = None,
        axes_in: str | None = None,
        force: Mapping[str, Any] | None = None,
        load_lower: Any = None,
        load_upper: Any = None,
        springs: Mapping[str, Any] | None = None,
        tasks: Sequence[Mapping[str, Any]] | None = None,
        contacts: Sequence[Mapping[str, Any]] | None = None,
        limits: Mapping[str, Any] | None = None,
        iterations: int | None = None,
    ) -> Request[results.Control]:
        """One torque of a control law at q (nq,), v (nv,), without a session.

        `references` by name, those of the law; `motor_q` and `motor_v` (nv,) of `elastic`;
        `external_torque` (nv,) or `measured_wrench` (6,) of `impedance` with `force`. All other
        options are those of `session`, with its units and shapes.
        """
        given = dict(locals())  # all of the arguments, before there is any other name
        return Request("control", options(**given) | numbers(q=q, v=v), results.Control)

    @Method
    @staticmethod
    def batch(operation: str, *, timeout: float | None = None, **fields: Any) -> Request[Result]:
        """An operation for many states: q, v, a, tau, … with one more dimension in front.

        So are the results. Computed by the worker, within `timeout` (default 60) s.
        """
        rows = {
            key: as_array(value, key) if key in STACKED and value is not None else value
            for key, value in fields.items()
        }
        return Request("batch", {"operation": operation} | rows, Result, timeout)

    @Method
    @staticmethod
    def simulate(
        q: Any,
        v: Any = None,
        tau: Any = None,
        seconds: float = 1.0,
        dt: float = 0.001,
        method: str = "rkmk4",
        contacts: Sequence[Any] = (),
        every: int = 1,
        *,
        law: str | None = None,
        gains: Mapping[str, Any] | None = None,
        references: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Request[results.Simulation]:
        """The motion from q, v under torques tau ((nv,), or a row per step), or under a law.

        Without v it begins at rest. `method` is "rkmk4", "rkmk2", "momentum" or "euler". Every
        `every`-th step is in the reply. Computed by the worker, within `timeout` (default 60) s.
        """
        given = None if references is None else arrays_of("references", references)
        fields = {
            **numbers(q=q, v=v, tau=tau),
            "seconds": as_number(seconds, "seconds"),
            "dt": as_number(dt, "dt"),
            **options(law=law, gains=gains, references=given, method=method, every=every),
            **options(contacts=constraints_of(contacts) or None),
        }
        return Request("simulate", fields, results.Simulation, timeout)
