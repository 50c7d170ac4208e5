"""M = Lᵀ L with the sparsity of the tree, and solves with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from support.agreement import assert_agree
from support.cases import Case, cases
from support.textbook import X, Z, body, chain
from torqued.kernels import Contact, ModelWarning, NumericalError, Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.contacts.solvers import RANGE_SPACE, ContactSpace, contact_space
from torqued.kernels.dynamics.articulated import OK, SINGULAR
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.workspace import unbranched

few = settings(max_examples=40)


def factored(case: Case, rows: Array) -> ContactSpace:
    """After a solve with τ − bias = a of the case, with the given rows as G."""
    robot = case.robot
    space = contact_space(robot.nv, len(rows), dense=False)
    space.M[:], space.G[:], space.bias[:] = robot.mass_matrix(case.q), rows, -case.a
    tau = np.zeros(robot.nv)
    assert COMPILED.contact_solve(robot.work.handle, tau, RANGE_SPACE, space) & SINGULAR == 0
    return space


@few
@given(case=cases(mimics=False))
def test_factor_times_its_transpose_is_the_mass_matrix(case):
    L = np.tril(factored(case, np.zeros((0, case.robot.nv))).L)
    assert_agree(L.T @ L, case.robot.mass_matrix(case.q))


@few
@given(case=cases(mimics=False))
def test_factor_has_no_more_entries_than_the_mass_matrix(case):
    M = case.robot.mass_matrix(case.q)
    L = np.tril(factored(case, np.zeros((0, case.robot.nv))).L)
    work = case.robot.work.arrays
    related = np.zeros(M.shape, bool)
    for c in range(len(M)):
        b = work.body_of[c]
        while b >= 0:
            body = work.bodies[b]
            related[c, body.column : body.column + body.columns] = True
            b = body.parent
    assert not L[~related].any()


@few
@given(case=cases(mimics=False))
def test_solve_without_contacts_divides_by_the_mass_matrix(case):
    a = factored(case, np.zeros((0, case.robot.nv))).a
    M = case.robot.mass_matrix(case.q)
    assert_agree(M @ a, case.a, within=1e-9, size=1.0)


@few
@given(case=cases(mimics=False))
def test_half_solved_rows_multiply_to_the_inverse_inertia(case):
    """Rows with entries everywhere, as no contact of a branched robot has them."""
    robot = case.robot
    rows = case.rng.normal(size=(3, robot.nv))
    space = factored(case, rows)
    expected = rows @ np.linalg.solve(robot.mass_matrix(case.q), rows.T)
    assert_agree(space.K, expected, within=1e-8)
    assert_agree(space.Z @ space.Z.T, expected, within=1e-8)


@pytest.mark.parametrize("size", [1, 2, 5, 8, 23])
def test_unbranched_workspace_factors_any_positive_matrix(size):
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    M = root @ root.T + np.eye(size)
    work = unbranched(size)
    space = contact_space(size, 0, dense=False)
    space.M[:] = M
    tau = rng.normal(size=size)
    assert COMPILED.contact_solve(work.handle, tau, RANGE_SPACE, space) == OK
    L = np.tril(space.L)
    assert_agree(L.T @ L, M)
    assert_agree(space.a, np.linalg.solve(M, tau))


def test_solving_twice_from_the_same_terms_gives_the_same():
    work, space = unbranched(4), contact_space(4, 2, dense=False)
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    space.M[:], space.G[:] = root @ root.T + np.eye(4), rng.normal(size=(2, 4))
    tau = rng.normal(size=4)
    COMPILED.contact_solve(work.handle, tau, RANGE_SPACE, space)
    first = space.a.copy(), space.force.copy()
    COMPILED.contact_solve(work.handle, tau, RANGE_SPACE, space)
    np.testing.assert_array_equal(space.a, first[0])
    np.testing.assert_array_equal(space.force, first[1])


@pytest.mark.parametrize("M", [np.diag([1.0, 0.0]), np.diag([1.0, -1.0]), np.full((2, 2), np.nan)])
def test_matrix_that_is_not_positive_is_a_status(M):
    work, space = unbranched(2), contact_space(2, 0, dense=False)
    space.M[:] = M
    assert COMPILED.contact_solve(work.handle, np.ones(2), RANGE_SPACE, space) & SINGULAR


def test_singular_mass_matrix_is_an_error_of_the_robot():
    massless = chain(("revolute", Z, 0 * X, body(1.0, X)), ("revolute", Z, X, body(1.0, 0 * X)))
    with pytest.warns(ModelWarning, match="moves no inertia"):
        robot = Robot.from_description(massless, accept_unphysical=True)
    with pytest.raises(NumericalError, match="singular"):
        robot.contact_dynamics([0, 0], [0, 0], [0, 0], [Contact("l1", "point")])
