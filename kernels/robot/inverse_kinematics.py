"""Inverse kinematics: targets checked and laid out for kernels, and tried from several
starts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import choice, nonnegative, numbers, sequence, shown, whole_number
from torqued.kernels.inverse_kinematics.solver import Indices, Problem, Search, problem_and_search
from torqued.kernels.inverse_kinematics.targets import (
    KINDS,
    NEAREST,
    REACHED,
    STOPPED,
    InverseKinematics,
    Target,
)
from torqued.kernels.inverse_kinematics.tasks import COM_TASK, FRAME_TASK, TASK
from torqued.kernels.model.description import Array
from torqued.kernels.model.reach import check_reach
from torqued.kernels.primitives.layout import empty_records
from torqued.kernels.result_checks import finite
from torqued.kernels.robot.configurations import OPEN_RANGE
from torqued.kernels.robot.contact_inputs import rotation_and_position
from torqued.kernels.robot.core import RobotCore
from torqued.kernels.robot.frame_table import WORLD, FrameTable, Place
from torqued.kernels.robot.tree import FreeTree

ENDINGS = (REACHED, NEAREST, STOPPED)

#: Most that may be asked for.
MAX_ITERATIONS, MAX_STARTS, MAX_TARGETS = 100_000, 10_000, 256
MAX_PRIORITY = 1000


class Poses(RobotCore):
    """Configurations for targets."""

    @cached_property
    def _solver(self) -> InverseKinematicsSolver:
        return InverseKinematicsSolver(self.tree, self.frame_table)

    @finite
    def inverse_kinematics(
        self,
        targets: Sequence[Target],
        q0: Any,
        tolerance: float = 1e-6,
        iterations: int = 100,
        restarts: int = 20,
        limits: bool = True,
        seed: int = 0,
    ) -> InverseKinematics:
        """A configuration within joint limits at which targets are reached, or nearest to them.

        The search begins at q0. Where it ends without the targets of the first priority, it begins
        again at up to `restarts` random configurations (of `seed`) and gives the best. A target is
        reached when each of its components is off by at most `tolerance`, m or rad. `iterations`
        are those from one start. What comes of it says how it ended and what is left over.
        """
        return self._solver.solve(targets, q0, tolerance, iterations, restarts, limits, seed)


class InverseKinematicsSolver:
    """Of one robot; what depends on the robot alone is laid out once."""

    def __init__(self, tree: FreeTree, table: FrameTable) -> None:
        self._tree, self._table = tree, table
        mimics, model = tree.model.mimics, tree.model
        own = model.own_dofs
        self._coordinate = np.full(tree.nv, -1)
        reach = np.zeros(tree.nq)  # how far random starts go where there are no limits
        for joint in model.joints:
            if joint.nq != joint.nv:
                continue  # quaternions have no limits, and starts keep them
            for k in range(joint.nv):
                if joint.v + k in mimics.leaders_v:
                    v = int(np.searchsorted(mimics.leaders_v, joint.v + k))
                    self._coordinate[v] = np.searchsorted(mimics.leaders_q, joint.q + k)
                    reach[self._coordinate[v]] = OPEN_RANGE.get(joint.type, np.pi)
        limited = self._coordinate >= 0
        self._lower, self._upper = np.full(tree.nv, -np.inf), np.full(tree.nv, np.inf)
        self._lower[limited] = own.lower[self._coordinate[limited]]
        self._upper[limited] = own.upper[self._coordinate[limited]]
        self._least, self._most, self._reach = own.lower, own.upper, reach

    def solve(
        self,
        targets: Any,
        q0: Any,
        tolerance: Any,
        iterations: Any,
        restarts: Any,
        limits: Any,
        seed: Any,
    ) -> InverseKinematics:
        """From q0, then from random starts until the targets of the first priority are reached."""
        tree = self._tree
        if not isinstance(limits, bool):
            wanted = "true or false"
            raise InputError(f"limits: {shown(limits)}, expected {wanted}", "limits", None, wanted)
        start_number = whole_number("seed", seed, 0, 2**63 - 1)
        given, tasks, problem, search = self._laid_out(targets, limits)
        start = tree.own_q(q0, "q0")
        near = nonnegative("tolerance", tolerance)
        most = whole_number("iterations", iterations, 1, MAX_ITERATIONS)
        more = whole_number("restarts", restarts, 0, MAX_STARTS)
        search.q[:] = start
        counts = np.zeros(2, np.int64)
        tries = self._inside(start, problem)[None]
        ended = COMPILED.reach_targets(
            tree.handle, tasks, problem, tries, most, near, search, counts, np.inf
        )
        if ended != 0 and more and problem.level_rows[1] > 0:
            tries = self._random_starts(start, problem, more, start_number)
            again = COMPILED.reach_targets(
                tree.handle, tasks, problem, tries, most, near, search, counts, search.least[0]
            )
            ended = ended if again < 0 else again
        if len(problem.level_rows) > 2:
            COMPILED.refine_targets(tree.handle, tasks, problem, most, near, search, counts)
        return self._result(given, tasks, problem, search, near, ended, counts)

    def _inside(self, q: Array, problem: Problem) -> Array:
        """q with joints past their limits at these."""
        out, k = q.copy(), problem.coordinate
        scalar = k >= 0
        out[k[scalar]] = np.clip(q[k[scalar]], problem.lower[scalar], problem.upper[scalar])
        return out

    def _random_starts(self, q: Array, problem: Problem, count: int, seed: int) -> Array:
        """Joints anywhere within their limits, or around q; a floating base stays."""
        rng = np.random.default_rng(seed)
        low = np.maximum(self._least, q - self._reach)
        high = np.minimum(self._most, q + self._reach)
        bounded = np.isfinite(self._least) & np.isfinite(self._most)
        low, high = np.where(bounded, self._least, low), np.where(bounded, self._most, high)
        # A joint whose every limit lies beyond reach starts at the nearer one.
        low, high = np.minimum(low, high), np.maximum(low, high)
        starts = rng.uniform(low, high, (count, len(q)))
        for _, k in self._tree.quaternions:
            starts[:, k : k + 4] = q[k : k + 4]
        free = np.setdiff1d(np.arange(len(q)), problem.coordinate)
        starts[:, free] = q[free]
        return starts

    def _laid_out(self, targets: Any, limits: bool) -> tuple[list[Target], Any, Problem, Search]:
        """The targets, a record of `TASK` for each but postures, and what is solved in."""
        tree, mimics = self._tree, self._tree.model.mimics
        given = list(sequence("targets", targets, "targets"))
        if not 1 <= len(given) <= MAX_TARGETS:
            wanted = f"1 to {MAX_TARGETS} targets"
            raise InputError(f"targets: {len(given)}, expected {wanted}", "targets", None, wanted)
        for k, target in enumerate(given):
            name = f"targets[{k}]"
            if not isinstance(target, Target):
                raise InputError(f"{name}: {shown(target)}, expected a Target", "targets")
            choice(f"{name}.kind", target.kind, KINDS)
            whole_number(f"{name}.priority", target.priority, 0, MAX_PRIORITY)
        levels = sorted({target.priority for target in given})
        moving = sorted_places(given)
        tasks = empty_records(TASK, len(moving))
        fields, rows = tasks.view(TASK, np.ndarray), 0
        level_rows = np.zeros(len(levels) + 1, np.int64)
        for place, k in enumerate(moving):
            target = given[k]
            level = levels.index(target.priority)
            weights = row_weights(f"targets[{k}]", target)
            count = int((weights > 0.0).sum())
            at = self._place(f"targets[{k}]", target)
            kind = COM_TASK if target.kind == "com" else FRAME_TASK
            R, p = target_place(f"targets[{k}]", target)
            if tree.model.base == "fixed" and target.kind != "orientation":
                carrier = None if target.kind == "com" else (at.body, at.p)
                check_reach(f"targets[{k}].value", tree.model, carrier, p, np.zeros(3))
            fields[place] = (at.fields, kind, rows, count, level, weights, R.ravel(), p)
            rows += count
            level_rows[level + 1 :] = rows
        sizes = (tree.nv, tree.nq, tree.nv_free, tree.nq_free, rows, len(levels))
        problem, search = problem_and_search(*sizes)
        problem = problem._replace(
            coordinate=self._coordinate,
            lower=self._lower if limits else np.full(tree.nv, -np.inf),
            upper=self._upper if limits else np.full(tree.nv, np.inf),
            level_rows=level_rows,
            q_index=mimics.q_index,
            q_multiplier=mimics.q_multiplier,
            offset=mimics.offset,
            v_index=mimics.v_index,
            v_multiplier=mimics.multiplier,
            leaders=mimics.leaders_v,
            leaders_q=mimics.leaders_q,
        )
        self._put_posture(given, levels, problem)
        return given, tasks, problem, search

    def _put_posture(self, given: Sequence[Target], levels: list[int], problem: Problem) -> None:
        tree = self._tree
        problem.posture_level[0] = -1
        for k, target in enumerate(given):
            if target.kind != "posture":
                continue
            name = f"targets[{k}]"
            if problem.posture_level[0] >= 0:
                raise InputError(f"{name}: a second posture, expected one at most", "targets")
            problem.posture[:] = tree.q(target.value, f"{name}.value")
            weight = numbers(f"{name}.weight", target.weight, (), (tree.nv,))
            problem.posture_weight[:] = nonnegative(f"{name}.weight", weight, weight.shape)
            problem.posture_level[0] = levels.index(target.priority)

    def _place(self, name: str, target: Target) -> Place:
        if target.kind == "com":
            if target.frame is not None:
                raise InputError(f"{name}.frame: the center of mass has no frame", "targets")
            return WORLD
        return self._table.place(f"{name}.frame", target.frame, target.point)

    def _result(
        self,
        given: Sequence[Target],
        tasks: Any,
        problem: Problem,
        search: Search,
        tolerance: float,
        ended: int,
        counts: Indices,
    ) -> InverseKinematics:
        found = np.zeros((len(tasks), 6))
        COMPILED.target_errors(self._tree.handle, tasks, problem, search, found)
        left: list[Array] = []
        place_of = {k: place for place, k in enumerate(sorted_places(given))}
        for k, target in enumerate(given):
            if target.kind == "posture":
                left.append(np.where(problem.posture_weight > 0.0, search.missing, 0.0))
            else:
                record = tasks[place_of[k]]
                left.append(found[place_of[k]][record.weight > 0.0])
        errors = np.array([float(np.abs(x).max(initial=0.0)) for x in left])
        first = min(target.priority for target in given)
        reached = tuple(bool(error <= tolerance) for error in errors)
        needed = [
            good
            for good, target in zip(reached, given, strict=True)
            if target.priority == first and target.kind != "posture"
        ] or reached  # only a posture comes first, which steps only stop at
        status = REACHED if all(needed) else ENDINGS[max(1, ended)]
        steps, starts = counts.tolist()
        return InverseKinematics(search.best, status, errors, tuple(left), reached, steps, starts)


def sorted_places(given: Sequence[Target]) -> list[int]:
    """Which targets the tasks are of, in their order."""
    moving = [k for k, target in enumerate(given) if target.kind != "posture"]
    return sorted(moving, key=lambda k: given[k].priority)


def row_weights(name: str, target: Target) -> Array:
    """(6,) per component of [turn; distance]; 0 for those that do not count."""
    axes = target.axes
    if (
        not isinstance(axes, str)
        or not axes
        or set(axes) - set("xyz")
        or len(set(axes)) < len(axes)
    ):
        wanted = "some of 'xyz'"
        raise InputError(f"{name}.axes: {shown(axes)}, expected {wanted}", "targets", None, wanted)
    weight = nonnegative(f"{name}.weight", target.weight)
    radian = nonnegative(f"{name}.radian", target.radian)
    if not (weight > 0.0 and radian > 0.0):
        raise InputError(f"{name}: weight and radian must be positive", "targets")
    chosen = np.array([axis in axes for axis in "xyz"], np.float64)
    turn = {"pose": np.ones(3), "orientation": chosen}.get(target.kind, np.zeros(3))
    shift = np.zeros(3) if target.kind == "orientation" else chosen
    weights: Array = weight * np.concatenate([radian * turn, shift])
    return weights


def target_place(name: str, target: Target) -> tuple[Array, Array]:
    """Rotation and position of a target, checked."""
    field = f"{name}.value"
    if target.kind in ("position", "com"):
        return np.eye(3), numbers(field, target.value, (3,))
    if target.kind == "orientation":
        pose = np.eye(4)
        pose[:3, :3] = numbers(field, target.value, (3, 3))
        return rotation_and_position(field, pose)
    return rotation_and_position(field, numbers(field, target.value, (4, 4)))
