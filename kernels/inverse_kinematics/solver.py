"""Damped Gauss-Newton steps to targets, level by level of their priorities, within joint limits.

A step δ of one level minimizes |e + J δ|² + Σ w_i² (d_i − δ_i)² + λ |δ|² while the errors e_H of
the levels before it stay what they have become, e_H*; d is what is missing to a posture with
weights w.
With P = diag(1 / (w² + λ)) and δ_0 = P w² d,

    δ = δ_0 + P Jᵀ y,    (J P Jᵀ + C) y = −(e + J δ_0)

over the rows of this level (C = 1, error e) and those before (C → 0, error e_H − e_H*). Joints that
may not move have P_i = 0. λ falls with the squared error (Sugihara 2011), so that steps are short
and steady far away and at singularities, and Newton's near a solution.

Joints that a step would take past their limits stop there, and the others step on without them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import entry, kernel, routine
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.manifold import fill_difference, integrate
from torqued.kernels.dynamics.mimic import expand, expand_position, project_rows
from torqued.kernels.inverse_kinematics.tasks import TASKS, fill_errors, fill_rows, task_error
from torqued.kernels.primitives.arrays import array, zeros
from torqued.kernels.primitives.dense import cholesky_above, cholesky_solve
from torqued.kernels.primitives.layout import INDICES, INTEGER, MATRIX, WORK
from torqued.kernels.primitives.workspace import open_work

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: How a search ended: all of the level's targets reached; no step comes nearer; out of iterations.
REACHED, NEAREST, STOPPED = 0, 1, 2

#: λ = DAMPING · (squared error), divided by EASE after a step that came nearer, multiplied by
#: HARDEN after one that did not; never below MIN_DAMPING.
DAMPING, EASE, HARDEN, MIN_DAMPING, MAX_EASE = 1.0, 4.0, 8.0, 1e-12, 1e8

#: C of the rows of earlier levels, and how much their errors count when steps are judged.
FIRM, PENALTY = 1e-9, 1e4

#: A start is given up where so many steps together gain less than this fraction.
PATIENCE, GAIN = 10, 0.05

#: Where a level is only improved, it is at its best when a step gains less than this fraction.
FINE = 1e-10

#: No step: rad or m.
STILL = 1e-12

#: Times that joints are stopped at their limits and the others step again.
ROUNDS = 4


class Problem(NamedTuple):
    """The robot's coordinates, and the posture that is asked for."""

    lower: Array = array(float, "n")  # limits of its coordinate; infinite for none
    upper: Array = array(float, "n")
    coordinate: Indices = array(int, "n")  # where that is in q; -1: in none, as for quaternions
    posture: Array = array(float, "nq_free")  # of the free tree
    posture_weight: Array = array(float, "n")  # 0: not asked for
    posture_level: Indices = array(int, 1)  # its priority; -1: none
    level_rows: Indices = array(int, "ends")  # where the rows of each level begin
    q_index: Indices = array(int, "nq_free")  # mimic joints: model.Mimics
    q_multiplier: Array = array(float, "nq_free")
    offset: Array = array(float, "nq_free")
    v_index: Indices = array(int, "n_free")
    v_multiplier: Array = array(float, "n_free")
    leaders: Indices = array(int, "n")  # velocities of the free tree that are the robot's
    leaders_q: Indices = array(int, "nq")


class Search(NamedTuple):
    """Where a search is, with its scratch; m rows, n velocities."""

    q: Array = array(float, "nq")  # where it is
    best: Array = array(float, "nq")  # the best of all starts
    least: Array = array(float, 1)  # its cost
    trial: Array = array(float, "nq")
    q_free: Array = array(float, "nq_free")  # of the free tree
    trial_free: Array = array(float, "nq_free")
    e: Array = array(float, "rows")  # errors at q
    e_trial: Array = array(float, "rows")
    held: Array = array(float, "rows")  # errors of earlier levels, which stay
    J_free: Array = array(float, "rows", "n_free")
    J: Array = array(float, "rows", "n")
    S: Array = array(float, "rows", "rows")
    y: Array = array(float, "rows")
    P: Array = array(float, "n")
    missing: Array = array(float, "n")  # difference to the posture
    missing_free: Array = array(float, "n_free")
    start: Array = array(float, "n")  # δ_0
    step: Array = array(float, "n")  # δ
    step_free: Array = array(float, "n_free")


def problem_and_search(
    n: int, nq: int, n_free: int, nq_free: int, rows: int, levels: int
) -> tuple[Problem, Search]:
    """Empty ones; the caller fills the problem."""
    sizes = {"n": n, "nq": nq, "n_free": n_free, "nq_free": nq_free, "rows": rows}
    sizes["ends"] = levels + 1
    return zeros(Problem, **sizes), zeros(Search, **sizes)


_EMPTY = problem_and_search(1, 1, 1, 1, 1, 1)
PROBLEM, SEARCH = typeof(_EMPTY[0]), typeof(_EMPTY[1])


@kernel
def copy(x, out):
    """out = x; assigning slices would make an array between them."""
    for k in range(len(x)):
        out[k] = x[k]


@kernel
def poses_at(work, problem, q, q_free):
    """Put the robot where its coordinates say."""
    expand_position(problem.q_index, problem.q_multiplier, problem.offset, q, q_free)
    body_poses(work, q_free)


@kernel
def fill_missing(work, problem, q_free, search):
    """What is missing to the posture, per velocity."""
    fill_difference(work, q_free, problem.posture, search.missing_free)
    for i in range(len(search.missing)):
        search.missing[i] = search.missing_free[problem.leaders[i]]


@kernel
def cost_of(problem, search, level, e):
    """Half the squared errors of a level, and those of earlier ones by how far they have moved."""
    first, last = problem.level_rows[level], problem.level_rows[level + 1]
    cost = 0.0
    for r in range(first, last):
        cost += 0.5 * e[r] * e[r]
    for r in range(first):
        cost += 0.5 * PENALTY * (e[r] - search.held[r]) ** 2
    if problem.posture_level[0] == level:
        for i in range(len(search.missing)):
            cost += 0.5 * (problem.posture_weight[i] * search.missing[i]) ** 2
    return cost


@kernel
def evaluate_at(work, tasks, problem, search, level, q, q_free, e):
    """Errors and cost at q; the robot is placed there."""
    poses_at(work, problem, q, q_free)
    fill_errors(work, tasks, e)
    if problem.posture_level[0] == level:
        fill_missing(work, problem, q_free, search)
    return cost_of(problem, search, level, e)


@kernel
def is_reached(tasks, level, e, tolerance):
    """Whether the targets of a level are, each component in its own unit."""
    for t in range(len(tasks)):
        if tasks[t].level != level:
            continue
        row = tasks[t].row
        for k in range(6):
            if tasks[t].weight[k] > 0.0:
                if not abs(e[row]) <= tolerance * tasks[t].weight[k]:
                    return False
                row += 1
    return True


@kernel
def fill_damping(problem, search, level, damping):
    """P and δ_0 of joints that may move."""
    for i in range(len(search.P)):
        w = problem.posture_weight[i]
        search.start[i] = 0.0
        if problem.posture_level[0] == level:
            search.P[i] = 1.0 / (w * w + damping)
            search.start[i] = search.P[i] * w * w * search.missing[i]
        elif 0 <= problem.posture_level[0] < level and w > 0.0:
            search.P[i] = 0.0  # an earlier posture keeps it
        else:
            search.P[i] = 1.0 / damping


@kernel
def solve_step(problem, search, level):
    """δ, given P and δ_0. Returns a status."""
    first, last = problem.level_rows[level], problem.level_rows[level + 1]
    J, S, y = search.J, search.S[:last, :last], search.y[:last]
    n = len(search.P)
    for r in range(last):
        y[r] = search.held[r] - search.e[r] if r < first else -search.e[r]
        for i in range(n):
            y[r] -= J[r, i] * search.start[i]
        for s in range(r + 1):
            total = 0.0
            for i in range(n):
                total += J[r, i] * search.P[i] * J[s, i]
            S[r, s] = total
        S[r, r] = S[r, r] * (1.0 + FIRM) + FIRM if r < first else S[r, r] + 1.0
    status = cholesky_above(S, 0.0)
    if status == OK:
        cholesky_solve(S, y)
    for i in range(n):
        total = 0.0
        if status == OK:
            for r in range(last):
                total += J[r, i] * y[r]
        search.step[i] = search.start[i] + search.P[i] * total
    return status


@kernel
def stop_at_limits(problem, search):
    """Joints that δ takes past a limit go there and no further; how many there are."""
    stopped = 0
    for i in range(len(search.P)):
        k = problem.coordinate[i]
        if k < 0 or search.P[i] == 0.0:
            continue
        x = search.q[k] + search.step[i]
        if x < problem.lower[i] or x > problem.upper[i]:
            bound = problem.lower[i] if x < problem.lower[i] else problem.upper[i]
            search.start[i] = bound - search.q[k]
            search.P[i] = 0.0
            stopped += 1
    return stopped


@kernel
def limited_step(problem, search, level, damping):
    """δ within limits, and the largest of its parts."""
    fill_damping(problem, search, level, damping)
    for _ in range(ROUNDS):
        if solve_step(problem, search, level) != OK:
            return 0.0
        if stop_at_limits(problem, search) == 0:
            break
    largest = 0.0
    for i in range(len(search.step)):
        k = problem.coordinate[i]
        if k >= 0:
            x = min(max(search.q[k] + search.step[i], problem.lower[i]), problem.upper[i])
            search.step[i] = x - search.q[k]
        largest = max(largest, abs(search.step[i]))
    return largest


@kernel
def take_step(handle, problem, search):
    """trial = q moved by δ."""
    expand(problem.v_index, problem.v_multiplier, search.step, search.step_free)
    integrate(handle, search.q_free, search.step_free, search.trial_free)
    for k in range(len(search.trial)):
        search.trial[k] = search.trial_free[problem.leaders_q[k]]
    for i in range(len(search.step)):  # exactly at limits, whatever rounding makes of it
        k = problem.coordinate[i]
        if k >= 0:
            search.trial[k] = min(max(search.trial[k], problem.lower[i]), problem.upper[i])


@routine
def solve_level(handle, tasks, problem, level, iterations, tolerance, search):
    """From search.q to the best of one level. Returns how it ended, steps taken and the cost."""
    work = open_work(handle)
    cost = evaluate_at(work, tasks, problem, search, level, search.q, search.q_free, search.e)
    follows = len(search.step) < len(search.step_free)
    by_posture = problem.posture_level[0] == level
    ease, waited, before, done = DAMPING, 0, cost, 0
    fresh = True
    while done < iterations:
        if not by_posture and is_reached(tasks, level, search.e, tolerance):
            return REACHED, done, cost
        done += 1
        if fresh:
            fill_rows(work, tasks, search.J_free)
            if follows:
                project_rows(problem.v_index, problem.v_multiplier, search.J_free, search.J)
            else:
                for r in range(search.J.shape[0]):
                    copy(search.J_free[r], search.J[r])
        largest = limited_step(problem, search, level, max(ease * cost, MIN_DAMPING))
        if not largest > STILL:
            return NEAREST, done, cost
        take_step(handle, problem, search)
        new = evaluate_at(
            work, tasks, problem, search, level, search.trial, search.trial_free, search.e_trial
        )
        fresh = new < cost
        if not fresh:
            if by_posture:
                fill_missing(work, problem, search.q_free, search)
            ease *= HARDEN
            if ease > MAX_EASE:
                return NEAREST, done, cost
            continue
        ease = max(ease / EASE, 1e-6)
        copy(search.trial, search.q)
        copy(search.trial_free, search.q_free)
        copy(search.e_trial, search.e)
        if level > 0 or by_posture:
            if cost - new <= FINE * cost:
                return NEAREST, done, new
        else:
            waited += 1
            if waited == PATIENCE:
                if new > (1.0 - GAIN) * before:
                    return NEAREST, done, new
                waited, before = 0, new
        cost = new
    return STOPPED, done, cost


@entry(WORK, TASKS, PROBLEM, MATRIX, INTEGER, types.float64, SEARCH, INDICES, types.float64)
def reach_targets(handle, tasks, problem, starts, iterations, tolerance, search, counts, least):
    """The first level, from one start after the other until its targets are reached.

    search.best is the one that reached them, else the best if its cost is below `least`: cost
    weighs turns and distances, and may be less where a target is still missed. `counts` (2,) +=
    steps and starts. Returns how that one ended; -1: none was better.
    """
    search.least[0], ended = least, -1
    for s in range(starts.shape[0]):
        copy(starts[s], search.q)
        status, done, cost = solve_level(handle, tasks, problem, 0, iterations, tolerance, search)
        counts[0] += done
        counts[1] += 1
        if problem.level_rows[1] > 0 and is_reached(tasks, 0, search.e, tolerance):
            status = REACHED  # by the last step, or beside a posture
        if status == REACHED or cost < search.least[0]:
            search.least[0], ended = cost, status
            copy(search.q, search.best)
        if status == REACHED:
            break
    return ended


@routine
def hold_and_solve(handle, tasks, problem, level, iterations, tolerance, search):
    """One level, with the errors that earlier ones have now. Returns steps taken."""
    poses_at(open_work(handle), problem, search.q, search.q_free)
    fill_errors(open_work(handle), tasks, search.held)
    _, done, _ = solve_level(handle, tasks, problem, level, iterations, tolerance, search)
    return done


@entry(WORK, TASKS, PROBLEM, INTEGER, types.float64, SEARCH, INDICES)
def refine_targets(handle, tasks, problem, iterations, tolerance, search, counts):
    """All later levels from search.best on, which stays the place of the result."""
    copy(search.best, search.q)
    levels = len(problem.level_rows) - 1
    for level in range(1, levels):
        counts[0] += hold_and_solve(handle, tasks, problem, level, iterations, tolerance, search)
    # Steps of a later level move the earlier ones a little, by what their rows are curved.
    for level in range(levels - 1):
        counts[0] += hold_and_solve(handle, tasks, problem, level, iterations, tolerance, search)
    copy(search.q, search.best)


@entry(WORK, TASKS, PROBLEM, SEARCH, MATRIX)
def target_errors(handle, tasks, problem, search, errors):
    """errors (tasks, 6) at search.best, [turn; distance] of each, and what its posture misses."""
    work = open_work(handle)
    poses_at(work, problem, search.best, search.q_free)
    if problem.posture_level[0] >= 0:
        fill_missing(work, problem, search.q_free, search)
    for t in range(len(tasks)):
        turn, shift = task_error(work, tasks[t])
        for k in range(3):
            errors[t, k], errors[t, 3 + k] = turn[k], shift[k]
