"""One call of every compiled entry, with arrays prepared as the entries promise to need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from torqued.kernels import Loop, Robot, Target
from torqued.kernels.batch.algorithms import CORIOLIS
from torqued.kernels.batch.jobs import Choices, Job, named
from torqued.kernels.batch.worker_pool import Scratch
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.self_test import SAMPLE, SampleSizes
from torqued.kernels.contacts.solvers import DIRECT, RANGE_SPACE, contact_space
from torqued.kernels.contacts.types import Contact
from torqued.kernels.dynamics.frames import HYBRID
from torqued.kernels.dynamics.quantities import WANTS, bits_of, quantities, shapes
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.wide import WIDTH

#: All that `evaluate` can do.
EVERYTHING = sum(WANTS.values())

#: What `self_test` reads; its address is valid as long as it lives.
SAMPLE_MEMORY = SAMPLE.allocate(SampleSizes(rows=3, points=2))


class Call(NamedTuple):
    """`results` are what the entry writes, whatever they held before: the last of `arguments`, or
    arrays of a `job` at an address among them."""

    arguments: tuple[Any, ...]
    results: tuple[Array, ...]
    job: JobCall | None = None

    def writing(self, results: Sequence[Array]) -> tuple[Any, ...]:
        """Arguments with other arrays for the results."""
        if self.job is not None:
            return self.job.arguments(results)
        return (*self.arguments[: len(self.arguments) - len(results)], *results)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What the entry leaves as it was."""
        if self.job is not None:
            return tuple(self.job.given.values())
        # What a solver works in, tuples of arrays, is its own.
        given = tuple(x for x in self.arguments if not isinstance(x, tuple))
        return given[: len(given) - len(self.results)]


class JobCall(NamedTuple):
    """One entry of a batch: what it is told beside where results go."""

    entry: str
    handle: int
    given: dict[str, Any]
    names: tuple[str, ...]  # of the results
    choices: Choices

    def arguments(self, results: Sequence[Array]) -> tuple[Any, ...]:
        job = Job(self.entry, self.given | named(self.names, results), self.choices)
        kept.append(job)
        return self.handle, job.address, 0, STATES


def example_robot() -> Robot:
    """Small, with a floating base, branches and rotors."""
    armature = {"joint_left_1": 0.1, "joint_right_2": 0.2}
    return Robot.family("biped", 4, seed=5, armature=armature)


def kernel_calls(robot: Robot, rng: np.random.Generator) -> dict[str, Call]:
    """By name of the entry. The robot has no mimics, so its coordinates are the free tree's."""
    work, n = robot.work.handle, robot.nv
    scratch = robot._derivative_space.address
    q, v = robot.random_state(rng)
    other, _ = robot.random_state(rng)
    a, w = rng.normal(size=(2, n))
    frames, feet = robot.frame_table.records(robot.frame_names[:3]), robot.frame_names[1:3]
    wrenches = rng.normal(size=(3, 6))
    index, multiplier = np.arange(n) // 2, rng.normal(size=n)
    leaders = int(index[-1]) + 1
    M = robot.mass_matrix(q)
    L = np.linalg.cholesky(M)

    def call(*arguments: Any, results: tuple[Array, ...]) -> Call:
        return Call((*arguments, *results), results)

    def new(*shape: int) -> Array:
        return np.full(shape, np.nan)

    out = quantities(EVERYTHING, n, 3)
    contacts = robot.contact_records([Contact(feet[0], "frame"), Contact(feet[1], "point")])
    space = contact_space(n, 9, True)
    COMPILED.contact_terms(work, q, v, contacts, space)
    points = robot.contact_records([Contact(foot, "point", friction=0.5) for foot in feet])
    point_space = contact_space(n, 6, False)
    COMPILED.contact_terms(work, q, v, points, point_space)
    states = np.zeros(2, np.int64)
    loops = robot.constraint_set([Loop(*feet, "hinge")], q, v).loops
    search = robot._solver._laid_out([Target(np.eye(4), feet[0])], True)[1:]
    search[2].best[:] = q
    counts = np.zeros(2, np.int64)
    return batch_calls(robot, rng) | {
        "loop_terms": call(work, loops, results=(new(5, n), new(5), new(5), new(5))),
        "reach_targets": Call((work, *search[:2], q[None], 5, 1e-6, search[2], counts, np.inf), ()),
        "refine_targets": Call((work, *search[:2], 5, 1e-6, search[2], counts), ()),
        "target_errors": call(work, *search, results=(new(1, 6),)),
        "mass_matrix": call(work, q, results=(new(n, n),)),
        "mass_matrix_rate": call(work, q, v, results=(new(n, n),)),
        "coriolis_matrix": call(work, q, v, results=(new(n, n), new(n, n), new(n, n))),
        "coriolis_matrix_direct": call(work, q, v, results=(new(n, n), new(n, n), new(n, n))),
        "inverse_dynamics": call(work, q, v, a, results=(new(n),)),
        "inverse_dynamics_forced": call(work, q, v, a, frames, wrenches, results=(new(n),)),
        "bias": call(work, q, v, results=(new(n),)),
        "gravity": call(work, q, results=(new(n),)),
        "forward_dynamics": call(work, q, v, a, results=(new(n),)),
        "forward_dynamics_forced": call(work, q, v, a, frames, wrenches, results=(new(n),)),
        "inverse_dynamics_derivatives": call(
            work, scratch, q, v, a, results=(new(n, n), new(n, n), new(n, n))
        ),
        "inverse_dynamics_derivatives_forced": call(
            work, scratch, q, v, a, frames, wrenches, results=(new(n, n), new(n, n), new(n, n))
        ),
        "forward_dynamics_derivatives": call(
            work, scratch, q, v, a, results=(new(n, n), new(n, n), new(n, n))
        ),
        "forward_dynamics_derivatives_forced": call(
            work, scratch, q, v, a, frames, wrenches, results=(new(n, n), new(n, n), new(n, n))
        ),
        "inverse_dynamics_rates": call(
            work, scratch, q, v, a, w, v, results=(new(n), new(n), new(n))
        ),
        "mass_product": call(work, q, w, results=(new(n),)),
        "coriolis_product": call(work, q, v, w, results=(new(n),)),
        "coriolis_transposed_product": call(work, q, v, w, results=(new(n),)),
        "tracking_torque": call(work, q, v, w, a, results=(new(n),)),
        "regressor": call(work, q, v, w, a, results=(new(n, 10 * len(robot.model.bodies)),)),
        "generalized_momentum": call(work, q, v, results=(new(n), new(n))),
        "energy": call(work, q, v, results=(new(2),)),
        "center_of_mass": call(work, q, results=(new(3),)),
        "centroidal_matrix": call(work, q, results=(new(6, n),)),
        "centroidal_momentum": call(work, q, v, results=(new(6),)),
        "centroidal_rate": call(work, q, v, a, results=(new(6),)),
        "frame_poses": call(work, q, frames, results=(new(3, 4, 4),)),
        "frame_jacobians": call(work, q, frames, HYBRID, results=(new(3, 6, n),)),
        "frame_hessian": call(work, q, frames[2:], HYBRID, results=(new(6, n), new(6, n, n))),
        "frame_kinematics": call(
            *(work, q, v, a, w, frames, HYBRID, 3),
            results=(new(3, 4, 4), new(3, 3, 6), new(3, 6, n), new(3, 6, n), new(3, 6, n)),
        ),
        "newton_euler": call(
            *(work, q, v, a, HYBRID, rng.normal(size=(len(robot.model.bodies), 6))),
            results=(*(new(len(robot.model.bodies), 6) for _ in range(3)), new(n)),
        ),
        "frame_motions": call(work, q, v, a, frames, HYBRID, results=(new(3, 6), new(3, 6))),
        "integrate": call(work, q, v, results=(new(robot.nq),)),
        "difference": call(work, q, other, results=(new(n),)),
        "self_test": call(SAMPLE_MEMORY.address, results=()),
        "expand_position": call(
            index, multiplier, rng.normal(size=n), w[:leaders].copy(), results=(new(n),)
        ),
        "expand_positions": call(
            index,
            multiplier,
            rng.normal(size=n),
            rng.normal(size=(3, leaders)),
            results=(new(3, n),),
        ),
        "expand_rows": call(index, multiplier, rng.normal(size=(3, leaders)), results=(new(3, n),)),
        "group_exp": call(w[:6].copy(), results=(new(4, 4),)),
        "group_log": call(np.eye(4), results=(new(6),)),
        "group_dexp": call(w[:6].copy(), results=(new(6, 6),)),
        "group_dexp_inverse": call(w[:6].copy(), results=(new(6, 6),)),
        "step_rate": call(work, 0.1 * w, v, results=(new(n),)),
        "unit_quaternions_at": Call((q, np.array([3]), 1e-5), ()),
        "first_wrong_row": Call((np.tile(q, (3, 1)), np.array([3]), 1e-5, 0, 3), ()),
        "finite_vector": Call((w,), ()),
        "finite_matrix": Call((M,), ()),
        "finite_tensor": Call((np.zeros((n, n, n)),), ()),
        "expand": call(index, multiplier, w[:leaders].copy(), results=(new(n),)),
        "project_vector": call(index, multiplier, w, results=(new(leaders),)),
        "project_rows": call(
            index, multiplier, rng.normal(size=(6, n)), results=(new(6, leaders),)
        ),
        "project_matrix": call(index, multiplier, M, results=(new(leaders, leaders),)),
        "project_tensor": call(
            index, multiplier, rng.normal(size=(n, n, n)), results=(new(leaders, leaders, leaders),)
        ),
        # Work on what they are given, or leave zeros alone.
        "solve_mass": Call((work, q, rng.normal(size=(2, n))), ()),
        "cholesky": Call((M.copy(),), ()),
        "symmetric_eigenvalues": Call((M.copy(), np.empty_like(M)), ()),
        "cholesky_solve": Call((L, w.copy()), ()),
        "christoffel": Call((work, q, np.zeros((n, n, n))), ()),
        "inverse_dynamics_second_derivatives": Call(
            (work, scratch, q, v, a, *np.zeros((4, n, n, n))), ()
        ),
        "geometric_derivatives": call(
            *(work, q, v, a, frames, np.zeros(3, np.int64)), results=(new(n, 18),)
        ),
        "contact_acceleration_derivatives": call(
            work, q, v, a, contacts, results=(new(9, n), new(9, n))
        ),
        "contact_terms": Call((work, q, v, contacts, space), ()),
        "contact_solve": Call((work, a, DIRECT, space), ()),
        "contact_dynamics": Call((work, q, v, a, contacts, RANGE_SPACE, space), ()),
        "impact_solve": Call((work, v, 0.5, point_space), ()),
        "friction_solve": Call(
            (work, a, points, 1e-3, 50, 1e-9, 0, point_space, states, np.zeros(2)), ()
        ),
        "evaluate": Call((work, q, v, EVERYTHING, frames, HYBRID, out), ()),
    }


#: A chunk, and one that overlaps it.
STATES = WIDTH + 3


def batch_calls(robot: Robot, rng: np.random.Generator) -> dict[str, Call]:
    """Those for many states."""
    n, N = robot.nv, STATES
    scratch = Scratch(robot)
    work = scratch.wide.handle
    kept.append(scratch)
    Q, V = (np.array(x) for x in zip(*(robot.random_state(rng) for _ in range(N)), strict=True))
    A, W = rng.normal(size=(2, N, n))
    frames = robot.frame_table.records(robot.frame_names[:3])
    wrenches = rng.normal(size=(N, 3, 6))
    B = rng.normal(size=(N, 2, n))
    wanted = tuple(name for name in WANTS if name != "Gamma")
    sizes = shapes(bits_of(wanted), n, 3)
    calls: dict[str, Call] = {}

    def add(entry: str, given: dict[str, Any], choices: Choices, **sizes: Any) -> None:
        name = f"batch_{entry}"
        job = JobCall(name, work, given, tuple(sizes), choices)
        results = tuple(np.full((N, *size), np.nan) for size in sizes.values())
        calls[name] = Call(job.arguments(results), results, job)

    forced = {"frames": frames, "wrenches": wrenches}
    none = Choices()
    add("inverse_dynamics", {"Q": Q, "V": V, "A": A, **forced}, none, vectors=(n,))
    add("forward_dynamics", {"Q": Q, "V": V, "tau": A, **forced}, none, vectors=(n,))
    add("solve_mass", {"Q": Q, "B": B}, none, solutions=(2, n))
    add("product", {"Q": Q, "V": V, "W": W}, Choices(factor=CORIOLIS), vectors=(n,))
    slopes = {"dq": (n, n), "dv": (n, n)}
    add("inverse_dynamics_derivatives", {"Q": Q, "V": V, "A": A}, none, **slopes)
    slopes["dtau"] = n, n
    add("forward_dynamics_derivatives", {"Q": Q, "V": V, "tau": A}, none, **slopes)
    motions = {"velocities": (3, 6), "accelerations": (3, 6)}
    of_frames = Choices(representation=HYBRID)
    add("frame_motions", {"Q": Q, "V": V, "A": A, "frames": frames}, of_frames, **motions)
    all_wanted = Choices(want=bits_of(wanted), representation=HYBRID)
    given = {"Q": Q, "V": V, "frames": frames}
    add("quantities", given, all_wanted, **{name: sizes[name] for name in wanted})
    return calls


#: Keeps the memory that calls work in.
kept: list[Any] = []
