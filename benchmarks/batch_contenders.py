"""What `torqued bench batch` measures: pairs of ways to do the same for the same states."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from torqued.benchmarks.processes import daemon
from torqued.benchmarks.robots import Case, DisagreementError, load
from torqued.client import Client
from torqued.kernels import Robot

#: Does a block of work, and returns how many states it has seen to.
Block = Callable[[], int]

#: Quantities of the daemon's row.
WANT = ("M", "C", "g")
#: Largest difference of results, relative to the largest entry.
TOLERANCE = 1e-9


class Stack:
    """All states of a case, row by row."""

    def __init__(self, case: Case) -> None:
        self.q, self.v, self.a, self.tau = (
            np.array([getattr(state, key) for state in case.states])
            for key in ("q", "v", "a", "tau")
        )
        self.count = len(self.q)


def of_robot(name: str, states: int) -> dict[str, dict[str, Block]]:
    """By kernel: a batch on one core with results written, and Pinocchio state by state."""
    case = load(name, states)
    stack, n = Stack(case), case.robot.nv
    batch = case.robot.batch(threads=1)
    matrices = {key: np.empty((states, n, n)) for key in ("M", "Mdot", "C")}
    vectors = np.empty((states, n))
    slopes = np.empty((states, n, n)), np.empty((states, n, n)), np.empty((states, n, n))

    def coriolis() -> int:
        batch.dynamics(stack.q, stack.v, tuple(matrices), out=matrices)
        return states

    def rnea() -> int:
        batch.inverse_dynamics(stack.q, stack.v, stack.a, out=vectors)
        return states

    def aba() -> int:
        batch.forward_dynamics(stack.q, stack.v, stack.tau, out=vectors)
        return states

    def rnea_derivatives() -> int:
        batch.inverse_dynamics_derivatives(stack.q, stack.v, stack.a, out=slopes[:2])
        return states

    def aba_derivatives() -> int:
        batch.forward_dynamics_derivatives(stack.q, stack.v, stack.tau, out=slopes)
        return states

    ours = (coriolis, rnea, aba, rnea_derivatives, aba_derivatives)
    results = {"coriolis": matrices["C"], "rnea": vectors, "aba": vectors}
    found = {}
    for block in ours:
        block()
        kernel = block.__name__
        verify(case, kernel, results.get(kernel, slopes[0]))
        found[kernel] = {"torqued": block, "pinocchio": one_by_one(case, kernel)}
    return found


#: Pinocchio's block is an eighth of the states, one part after the other: about as long as a
#: batch's, so that other programs disturb both alike.
PARTS = 8


def one_by_one(case: Case, kernel: str) -> Block:
    calls = case.pinocchio(kernel)
    size = max(1, len(calls) // PARTS)
    parts = itertools.cycle([calls[k : k + size] for k in range(0, len(calls), size)])

    def block() -> int:
        part = next(parts)
        for function, arguments in part:
            function(*arguments)
        return len(part)

    return block


def verify(case: Case, kernel: str, result: Any) -> None:
    """Raises where a batch and Pinocchio differ by more than rounding."""
    order = case.order
    for k in (0, len(result) // 2, len(result) - 1):
        function, arguments = case.pinocchio(kernel)[k]
        there = function(*arguments)
        there = np.array(there[0] if isinstance(there, tuple) else there)  # by q, of derivatives
        there = there[np.ix_(order, order)] if there.ndim == 2 else there[order]
        difference = np.abs(result[k] - there).max() / np.abs(there).max()
        if not difference <= TOLERANCE:
            raise DisagreementError(f"{case.name}, {kernel}: state {k} differs by {difference:.1e}")


def chain(states: int) -> tuple[Robot, Any, Any]:
    robot = Robot.family("chain", 20)
    rng = np.random.default_rng(0)
    q, v = (
        np.array(x) for x in zip(*(robot.random_state(rng) for _ in range(states)), strict=True)
    )
    return robot, q, v


def in_turns_on_cores(states: int) -> dict[str, Block]:
    """M, Ṁ and C in two threads, and in one, each with its own arrays."""
    robot, q, v = chain(states)

    def of(threads: int) -> Block:
        batch = robot.batch(threads)
        out = {key: np.empty((states, 20, 20)) for key in ("M", "Mdot", "C")}

        def block() -> int:
            batch.dynamics(q, v, tuple(out), out=out)
            return states

        return block

    return {"two": of(2), "one": of(1)}


#: Numbers of a thread, which its processor has in its caches, and how often it goes over them.
NUMBERS, TIMES = 4000, 60


def bare_arithmetic() -> dict[str, Block]:
    """Sines in two threads, and as many in one: what two processors of this machine have to give,
    without memory and without anything of ours."""
    x = np.linspace(0.0, 100.0, NUMBERS)
    results = np.empty((2, NUMBERS))
    pool = ThreadPoolExecutor(1)

    def sines(out: Any, times: int) -> None:
        for _ in range(times):
            np.sin(x, out=out)  # without the interpreter

    def two() -> int:
        other = pool.submit(sines, results[1], TIMES)
        sines(results[0], TIMES)
        other.result()
        return 2 * TIMES

    def one() -> int:
        sines(results[0], 2 * TIMES)
        return 2 * TIMES

    return {"two": two, "one": one}


@contextlib.contextmanager
def through_daemon(folder: Path, states: int) -> Iterator[dict[str, Block]]:
    """M, C and g through a daemon's worker, and in this process.

    Results go where the last ones were, in both: new memory would take longer than the batch, or
    not, as the C library has some left or not.
    """
    robot, q, v = chain(states)
    batch = robot.batch()
    with daemon(folder) as running, Client(running.endpoint, timeout=30.0) as client:
        there, here = client.batch("dynamics", q=q, v=v, want=WANT), batch.dynamics(q, v, WANT)
        for key in WANT:
            if not np.array_equal(there[key], here[key]):
                raise DisagreementError(f"{key} of the daemon differs from {key} in process")

        def remote() -> int:
            client.batch("dynamics", q=q, v=v, want=WANT)
            return states

        out = {key: np.empty_like(array) for key, array in here.as_dict().items()}

        def local() -> int:
            batch.dynamics(q, v, WANT, out=out)
            return states

        yield {"daemon": remote, "in process": local}


def mujoco_rollout(states: int) -> tuple[str, dict[str, Block]]:
    """Forward dynamics beside one step of MuJoCo's `rollout` for every state, on one core each."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return "MuJoCo's rollout is left out: mujoco is not installed", {}
    from torqued.kernels.formats.urdf_writer import to_urdf
    from torqued.kernels.model.families import family

    robot, q, v = chain(states)
    model = mujoco.MjModel.from_xml_string(to_urdf(family("chain", 20)))
    data = mujoco.MjData(model)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    if model.nv != robot.nv or size != 1 + 2 * robot.nv:
        return "MuJoCo's rollout is left out: it reads the chain's file as another robot", {}
    state = np.hstack([np.zeros((states, 1)), q, v])
    batch, out = robot.batch(threads=1), np.empty_like(v)
    tau = np.zeros_like(v)

    def ours() -> int:
        batch.forward_dynamics(q, v, tau, out=out)
        return states

    def theirs() -> int:
        rollout.rollout(model, data, state, nstep=1)
        return states

    return "aba_mujoco_rollout: beside one step of MuJoCo's rollout, integration included", {
        "torqued": ours,
        "mujoco": theirs,
    }
