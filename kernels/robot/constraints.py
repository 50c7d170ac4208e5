"""Constraints by themselves, states that satisfy them, and torques under them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.constraints.types import (
    Assembly,
    ConstrainedTorques,
    ConstraintTerms,
    are_names,
)
from torqued.kernels.contacts.types import Contact
from torqued.kernels.input_checks import known_name, names_of, nonnegative, numbers, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite
from torqued.kernels.robot.constraint_set import Constraint, ConstraintSet
from torqued.kernels.robot.contacts import Contacts
from torqued.kernels.robot.frame_table import Wrenches

#: Singular values below this fraction of the largest are none.
RANK = 1e-9

#: Accelerations are the wanted ones where they differ by less than this fraction.
EXACT = 1e-8

#: A step of an assembly goes at most this far, rad or m: Jacobians hold nearby.
MAX_STEP = 0.5

#: Steps are not shortened further, and a state is the nearest when it would move less, rad or m.
MIN_SHARE, NEAR = 1e-4, 1e-8

MAX_ITERATIONS = 100_000


class Constraints(Contacts):
    """M a + bias = B u + Gᵀ λ,  G a = γ."""

    @finite
    def constraint_terms(
        self, q: Any, v: Any, constraints: Sequence[Constraint]
    ) -> ConstraintTerms:
        """Jacobian, position and velocity errors and γ of constraints by themselves."""
        return self._terms(q, v, constraints)

    def _terms(self, q: Any, v: Any, constraints: Any) -> ConstraintTerms:
        held = self.constraint_set(constraints, q, v, "constraints")
        space, position = self._constraint_space(q, v, held, False)
        self._add_contact_errors(q, held, position)
        return ConstraintTerms(space.G, position, space.velocity, space.gamma, held.rows)

    def _add_contact_errors(self, q: Any, held: ConstraintSet, position: Array) -> None:
        """Of contacts with a target: what a stiffness of one takes from γ at rest."""
        rest = np.zeros(self.checked_tree.nv)
        records = held.contacts
        if not len(records):
            return
        aimed = [
            item.target is not None or item.other is not None
            for item in held.given
            if isinstance(item, Contact)
        ]
        kept = records.stiffness.copy()
        records.stiffness = np.where(aimed, 1.0, 0.0)
        errors = self._contact_gamma(q, rest, held)
        records.stiffness = kept
        for item, rows in zip(held.given, held.rows, strict=True):
            if isinstance(item, Contact):
                position[rows] = -errors[rows]

    @finite
    def assemble(
        self,
        q: Any,
        constraints: Sequence[Constraint],
        v: Any = None,
        weights: Any = None,
        tolerance: float = 1e-10,
        iterations: int = 100,
    ) -> Assembly:
        """The state nearest to q and v (default: at rest) that satisfies constraints.

        Distances count by `weights` (nv,), positive, default 1: those of a joint that should
        rather stay are large.
        """
        # To the constraints by the shortest steps, then along them towards the guess.
        tree = self.checked_tree
        guess, W = tree.own_q(q), self._weights(weights)
        least = nonnegative("tolerance", tolerance)
        most = whole_number("iterations", iterations, 1, MAX_ITERATIONS)
        now, error, done = self._closed(guess, constraints, W, least, most)
        far = self._distance(guess, now, W)
        share = 1.0
        while error <= least and done < most and share > MIN_SHARE:
            d = self._difference(guess, now)
            G = self._terms(now, np.zeros(tree.nv), constraints).G
            along = nearest(G, G @ d, W) - d  # towards the guess, which constraints leave free
            if largest(along) <= NEAR:
                break
            step = share * limited(along)
            there, off, steps = self._closed(
                self._integrate(now, step), constraints, W, least, most - done
            )
            done += steps + 1
            distance = self._distance(guess, there, W)
            if off <= least and distance < far:
                now, error, far, share = there, off, distance, min(1.0, 2.0 * share)
            else:
                share *= 0.5
        velocity = tree.own_v("v", v)
        terms = self._terms(now, velocity, constraints)
        velocity = velocity - nearest(terms.G, terms.velocity, W)
        speed = largest(terms.G @ velocity)
        return Assembly(now, velocity, error, speed, done, bool(error <= least))

    def _closed(
        self, q: Array, constraints: Any, W: Array, least: float, most: int
    ) -> tuple[Array, float, int]:
        """Newton's steps from q to the constraints, shortened until they come nearer: where they
        end, the largest error there, and how many there were."""
        rest, done = np.zeros(self.checked_tree.nv), 0
        terms = self._terms(q, rest, constraints)
        while largest(terms.position) > least and done < most:
            step, share = limited(nearest(terms.G, -terms.position, W)), 1.0
            before = float(np.linalg.norm(terms.position))
            while True:
                done += 1
                there = self._integrate(q, share * step)
                new = self._terms(there, rest, constraints)
                if np.linalg.norm(new.position) < before:
                    break
                share *= 0.5
                if share < MIN_SHARE or done >= most:
                    return q, largest(terms.position), done
            q, terms = there, new
        return q, largest(terms.position), done

    def _distance(self, q0: Array, q1: Array, W: Array) -> float:
        d = self._difference(q0, q1)
        return float(d @ (W * d))

    def actuation(self, joints: Sequence[str] | None = None) -> Array:
        """B (nv, k): torques of the velocities of these joints, default all but a floating base.

        τ = B u for efforts u (k,); scale or mix its columns for transmissions.
        """
        model, tree = self.checked_tree.model, self.checked_tree
        own = {
            joint.name: joint for joint in model.joints if joint.v in set(model.mimics.leaders_v)
        }
        if joints is None:
            base = model.joints[0].name if model.base == "floating" else None
            joints = [name for name in own if name != base]
        columns: list[int] = []
        for name in names_of("joints", joints):
            joint = own[known_name("joints", "joint", name, own)]
            first = int(np.searchsorted(model.mimics.leaders_v, joint.v))
            columns.extend(range(first, first + joint.nv))
        return np.eye(tree.nv)[:, columns]

    @finite
    def constrained_inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        constraints: Sequence[Constraint],
        actuated: Any = None,
        weights: Any = None,
        f_ext: Wrenches | None = None,
    ) -> ConstrainedTorques:
        """Torques of actuated joints that give wanted accelerations under constraints.

        `actuated` are joints' names, or a map B (nv, k) from efforts of k actuators to torques;
        default: all joints but a floating base. Where actuators cannot have what is wanted, or
        constraints do not allow it, accelerations come as near as they can by `weights` (nv,).
        `exact` says which of the two it is. Of all efforts that do it, those of least size.
        """
        # With N a basis of motions that G leaves free and a_0 the shortest way to G a = γ,
        #     a = a_0 + N z,    Nᵀ (M a + bias) = Nᵀ B u        (forces do no work on N)
        # z can be anything where Nᵀ B has full rank, and is else restricted to what B does.
        tree = self.checked_tree
        wanted, W = tree.own_v("a", a), self._weights(weights)
        held = self.constraint_set(constraints, q, v, "constraints")
        space, _ = self._constraint_space(q, v, held, False, f_ext)
        B = self._actuation_map(actuated)
        N = null_basis(space.G)
        start = nearest(space.G, space.gamma, np.ones(tree.nv))
        # What is wanted, within what constraints leave free.
        free = weighted_least_squares(N, wanted - start, W)
        driven, reduced = N.T @ B, N.T @ space.M @ N
        idle = null_basis(driven.T)  # motions of z that no effort drives
        full = idle.shape[1] == 0
        if not full:
            # On those, idleᵀ (reduced z + Nᵀ (M a_0 + bias)) = 0 whatever the efforts.
            A = idle.T @ reduced
            b = -idle.T @ (N.T @ (space.M @ start + space.bias))
            free = constrained_least_squares(N, wanted - start, W, A, b)
        acceleration = start + N @ free
        needed = space.M @ acceleration + space.bias
        efforts = pseudo_solve(driven, N.T @ needed)
        tau = B @ efforts
        force = pseudo_solve(space.G.T, needed - tau)
        error = largest(acceleration - wanted)
        size = max(1.0, largest(wanted))
        exact = bool(error <= EXACT * size)
        return ConstrainedTorques(tau, efforts, acceleration, force, exact, error, full, space.G)

    def _actuation_map(self, actuated: Any) -> Array:
        if actuated is None or are_names(actuated):
            return self.actuation(actuated)
        return numbers("actuated", actuated, (self.checked_tree.nv, -1))

    def _weights(self, weights: Any) -> Array:
        n = self.checked_tree.nv
        if weights is None:
            return np.ones(n)
        W = numbers("weights", weights, (n,))
        if not (W > 0.0).all():
            wanted = "positive numbers"
            raise InputError(f"weights: {W.min()}, expected {wanted}", "weights", None, wanted)
        return W

    def _difference(self, q0: Array, q1: Array) -> Array:
        tree, out = self.checked_tree, np.empty(self.checked_tree.nv_free)
        COMPILED.difference(tree.handle, tree.q(q0), tree.q(q1), out)
        own: Array = out[tree.model.mimics.leaders_v]
        return own

    def _integrate(self, q: Array, step: Array) -> Array:
        tree, out = self.checked_tree, np.empty(self.checked_tree.nq_free)
        COMPILED.integrate(tree.handle, tree.q(q), tree.v("step", step), out)
        own: Array = out[tree.model.mimics.leaders_q]
        return own


def limited(step: Array) -> Array:
    """A step, at most as long as Jacobians hold."""
    return step * min(1.0, MAX_STEP / max(largest(step), MAX_STEP))


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def nearest(G: Array, c: Array, W: Array) -> Array:
    """The smallest δᵀ W δ with G δ = c, or nearest to it."""
    scale = 1.0 / np.sqrt(W)
    return scale * pseudo_solve(G * scale, c)


@contextmanager
def decomposable() -> Iterator[None]:
    """Numbers that overflow have no singular values."""
    try:
        yield
    except np.linalg.LinAlgError as problem:
        raise NumericalError(f"constraints: numbers are so large that {problem}") from problem


def pseudo_solve(A: Array, b: Array) -> Array:
    """The shortest x that comes nearest to A x = b."""
    if 0 in A.shape:
        return np.zeros(A.shape[1])
    with decomposable():
        return np.asarray(np.linalg.lstsq(A, b, rcond=RANK)[0], np.float64)


def null_basis(A: Array) -> Array:
    """Orthonormal columns N with A N = 0."""
    n = A.shape[1]
    if 0 in A.shape:
        return np.eye(n)
    with decomposable():
        _, sizes, Vt = np.linalg.svd(A)
    rank = int((sizes > RANK * sizes.max(initial=0.0)).sum())
    return np.asarray(Vt[rank:].T, np.float64)


def weighted_least_squares(N: Array, c: Array, W: Array) -> Array:
    """z that minimizes (N z − c)ᵀ W (N z − c)."""
    root = np.sqrt(W)
    return pseudo_solve(N * root[:, None], root * c)


def constrained_least_squares(N: Array, c: Array, W: Array, A: Array, b: Array) -> Array:
    """The same with A z = b."""
    z = pseudo_solve(A, b)
    free = null_basis(A)
    return z + free @ weighted_least_squares(N @ free, c - N @ z, W)
