"""Every method of `Robot` that computes, called once. `python -m support.robot_methods FILE` saves
all of it. Run with NUMBA_DISABLE_JIT=1 it is the kernels as plain Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from support.cases import random_case
from support.kernel_calls import example_robot
from torqued.common.results import Result
from torqued.kernels import Loop, Robot, Target
from torqued.kernels.charts import CHARTS
from torqued.kernels.contacts.solvers import SOLVERS
from torqued.kernels.contacts.types import Contact
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import NAMES
from torqued.kernels.model.description import Array

#: What else `Robot` has: ways to load, names and properties.
NOT_COMPUTED = {
    "actuation",
    "attach",
    "batch",
    "constraints",
    "load",
    "posture",
    "postures",
    "with_payload",
    "chart",
    "constraint_set",
    "contact_records",
    "contact_terms",
    "copy",
    "family",
    "frame_names",
    "in_coordinates",
    "locked",
    "from_config",
    "from_description",
    "from_screws",
    "from_urdf",
    "from_xml",
    "gravity_vector",
    "joint",
    "joint_names",
    "limits",
    "name",
    "named",
    "neutral",
    "plan",
    "q_from",
    "quaternions",
    "random_state",
    "needs_precision_check",
    "results_of",
    "screws",
    "set_inertia",
    "set_joint_frame",
    "solve_contacts",
    "warnings",
    "with_friction",
}


def method_calls(robot: Robot, rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """By name of the method, with words after a dash where it is called in several ways."""
    q, v = robot.random_state(rng)
    other, _ = robot.random_state(rng)
    a, w, tau = rng.normal(size=(3, robot.nv))
    tip, middle = robot.frame_names[-1], robot.frame_names[len(robot.frame_names) // 2]
    f_ext = {tip: rng.normal(size=6), middle: rng.normal(size=6)}
    point = rng.normal(size=3)
    b = rng.normal(size=(robot.nv, 2))
    words = NAMES
    calls: dict[str, Callable[[], Any]] = {
        "mass_matrix": lambda: robot.mass_matrix(q),
        "mass_matrix_rate": lambda: robot.mass_matrix_rate(q, v),
        "coriolis_matrix": lambda: robot.coriolis_matrix(q, v),
        "coriolis_matrix-direct": lambda: robot.coriolis_matrix(q, v, "direct"),
        "christoffel": lambda: robot.christoffel(q),
        "gravity": lambda: robot.gravity(q),
        "bias": lambda: robot.bias(q, v),
        "inverse_dynamics": lambda: robot.inverse_dynamics(q, v, a),
        "inverse_dynamics-forced": lambda: robot.inverse_dynamics(q, v, a, f_ext),
        "forward_dynamics": lambda: robot.forward_dynamics(q, v, tau),
        "forward_dynamics-forced": lambda: robot.forward_dynamics(q, v, tau, f_ext),
        "inverse_dynamics_derivatives": lambda: robot.inverse_dynamics_derivatives(q, v, a),
        "inverse_dynamics_derivatives-forced": lambda: robot.inverse_dynamics_derivatives(
            q, v, a, f_ext
        ),
        "forward_dynamics_derivatives": lambda: robot.forward_dynamics_derivatives(q, v, tau),
        "forward_dynamics_derivatives-forced": lambda: robot.forward_dynamics_derivatives(
            q, v, tau, f_ext
        ),
        "inverse_dynamics_second_derivatives": lambda: numbers_of(
            robot.inverse_dynamics_second_derivatives(q, v, a),
            *("dtau_dqdq", "dtau_dvdv", "dtau_dqdv", "dM_dq"),
        ),
        "geometric_derivatives": lambda: robot.geometric_derivatives(q, v, a),
        "frame_geometric_jacobian": lambda: robot.frame_geometric_jacobian(q, tip),
        "mass_matrix_derivatives": lambda: robot.mass_matrix_derivatives(q),
        "inverse_dynamics_rates": lambda: robot.inverse_dynamics_rates(q, v, a, w, tau),
        "linearize": lambda: np.hstack(robot.linearize(q, v, tau)),
        "linearize-sampled": lambda: np.hstack(robot.linearize(q, v, tau, 1e-3)),
        "solve_mass": lambda: robot.solve_mass(q, b),
        "mass_product": lambda: robot.mass_product(q, w),
        "coriolis_product": lambda: robot.coriolis_product(q, v, w),
        "coriolis_transposed_product": lambda: robot.coriolis_transposed_product(q, v, w),
        "tracking_torque": lambda: robot.tracking_torque(q, v, w, a),
        "generalized_momentum": lambda: robot.generalized_momentum(q, v),
        "regressor": lambda: robot.regressor(q, v, a, w),
        "inertial_parameters": lambda: robot.inertial_parameters,
        "energy": lambda: robot.energy(q, v),
        "integrate": lambda: robot.integrate(q, v, 0.3),
        "difference": lambda: robot.difference(q, other),
        "frame_pose": lambda: robot.frame_pose(q, tip, point),
        "total_mass": lambda: robot.total_mass,
        "center_of_mass": lambda: robot.center_of_mass(q),
        "center_of_mass_jacobian": lambda: robot.center_of_mass_jacobian(q),
        "clearances": lambda: [pair.distance for pair in robot.clearances(q)],
        "centroidal_matrix": lambda: robot.centroidal_matrix(q),
        "centroidal_momentum": lambda: robot.centroidal_momentum(q, v),
        "centroidal_bias": lambda: robot.centroidal_bias(q, v),
        "dynamics": lambda: robot.dynamics(q, v, words, (tip, middle)),
    }
    contacts = [Contact(tip, "point", friction=0.5)]
    for solver in SOLVERS:
        calls[f"contact_dynamics-{solver}"] = lambda solver=solver: numbers_of(
            robot.contact_dynamics(q, v, tau, contacts, solver), "a", "force", "G", "gamma"
        )
    calls["contact_dynamics_derivatives"] = lambda: numbers_of(
        robot.contact_dynamics_derivatives(q, v, tau, contacts), "da_dq", "dforce_dv", "dforce_dtau"
    )
    calls["simulate"] = lambda: numbers_of(
        robot.simulate(q, v, tau, 3e-3, 1e-3, "rkmk4"), "time", "q", "v", "tau"
    )
    calls["friction_dynamics"] = lambda: numbers_of(
        robot.friction_dynamics(q, v, tau, contacts, 1e-3), "a", "force"
    )
    held = [*contacts, Loop(tip, middle, "slider", axis=(1.0, 2.0, 3.0))]
    calls["contact_dynamics-loop"] = lambda: numbers_of(
        robot.contact_dynamics(q, v, tau, contacts, f_ext=f_ext), "a", "force"
    )
    calls["constraint_terms"] = lambda: numbers_of(
        robot.constraint_terms(q, v, held), "G", "gamma", "velocity", "position"
    )
    calls["assemble"] = lambda: numbers_of(
        robot.assemble(q, [Loop(tip, middle, held=("x",))], v, iterations=3), "v"
    )
    calls["constrained_inverse_dynamics"] = lambda: numbers_of(
        robot.constrained_inverse_dynamics(q, v, a, contacts), "tau", "a"
    )
    reachable = Target(robot.frame_pose(other, tip, point)[:3, 3], tip, "position", point)
    calls["inverse_kinematics"] = lambda: numbers_of(
        robot.inverse_kinematics([reachable], q, iterations=3, restarts=0), "q", "errors"
    )
    calls["zero_moment_point"] = lambda: robot.zero_moment_point(q, v, a)
    calls["frame_to_world"] = lambda: robot.frame_to_world(q, tip, point)
    calls["world_to_frame"] = lambda: robot.world_to_frame(q, tip, point)
    calls["impact"] = lambda: numbers_of(robot.impact(q, v, contacts, 0.5), "v", "impulse")
    redundant = robot.in_coordinates("quaternion")
    chart = robot.chart("quaternion")
    own_state = chart.from_native(q), chart.velocity_from_native(q, v)
    calls["in_coordinates-base_constraint"] = lambda: numbers_of(
        redundant.base_constraint(*own_state), "H", "h", "P"
    )
    for name in CHARTS:
        own = robot.chart(name).from_native(q), robot.chart(name).velocity_from_native(q, v)
        calls[f"coriolis_matrix-{name}"] = lambda name=name, own=own: robot.in_coordinates(
            name
        ).coriolis_matrix(*own)
    for kind in REPRESENTATIONS:
        calls |= {
            f"frame_jacobian-{kind}": lambda kind=kind: robot.frame_jacobian(q, tip, kind, point),
            f"frame_velocity-{kind}": lambda kind=kind: robot.frame_velocity(q, v, tip, kind),
            f"frame_acceleration-{kind}": lambda kind=kind: robot.frame_acceleration(
                q, v, a, tip, kind, point
            ),
            f"frame_bias-{kind}": lambda kind=kind: robot.frame_bias(q, v, tip, kind, point),
            f"frame_hessian-{kind}": lambda kind=kind: robot.frame_hessian(q, tip, kind, point),
            f"frame_jerk-{kind}": lambda kind=kind: robot.frame_jerk(q, v, a, w, tip, kind, point),
            f"frame_jacobian_rate-{kind}": lambda kind=kind: robot.frame_jacobian_rate(
                q, v, tip, kind, point
            ),
            f"frame_jacobian_second_rate-{kind}": (
                lambda kind=kind: robot.frame_jacobian_second_rate(q, v, a, tip, kind, point)
            ),
            f"kinematics-{kind}": lambda kind=kind: robot.kinematics(
                q, (tip, middle), v, kind, order=3, a=a, jerk=w
            ),
        }
    return calls


def numbers_of(solution: Any, *names: str) -> dict[str, Array]:
    return {name: getattr(solution, name) for name in names}


def flat(name: str, value: Any) -> dict[str, Array]:
    """Nested results by path."""
    if isinstance(value, Result):
        return flat(name, value.as_dict())
    if isinstance(value, dict):
        return {
            k: x for key, inner in value.items() for k, x in flat(f"{name}/{key}", inner).items()
        }
    return {name: np.asarray(value)}


def results() -> dict[str, Array]:
    """On a biped, and on a tree with all kinds of joints and some that mimic others."""
    robots = {"biped": example_robot(), "tree": random_case(4, 9, "floating", mimics=True).robot}
    found: dict[str, Array] = {}
    for name, robot in robots.items():
        for method, call in method_calls(robot, np.random.default_rng(1)).items():
            found |= flat(f"{name}/{method}", call())
    return found


def sweeps_of_one_walk() -> dict[str, int]:
    """How often each sweep over the tree runs while M, C, g and three Jacobians are computed.

    Only plain Python can be counted.
    """
    counts: dict[str, int] = {}

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            counts[name] += 1
            return function(*arguments)

        counts[name] = 0
        return run

    sweeps = (
        *("body_poses", "body_velocities", "bias_accelerations", "body_accelerations"),
        *("composite_inertias", "composite_factors"),
    )
    modules = [module for name, module in sys.modules.items() if name.startswith("torqued.kernels")]
    for name in sweeps:
        (original,) = {vars(m)[name] for m in modules if name in vars(m)}
        replacement = counted(name, original)
        for module in modules:
            if name in vars(module):
                setattr(module, name, replacement)
    robot = example_robot()
    q, v = robot.random_state(np.random.default_rng(0))
    robot.dynamics(q, v, ("M", "C", "g", "J"), robot.frame_names[:3])
    return counts


if __name__ == "__main__":
    saved = results()
    saved |= {f"sweeps/{name}": np.array(count) for name, count in sweeps_of_one_walk().items()}
    np.savez(sys.argv[1], **saved)
