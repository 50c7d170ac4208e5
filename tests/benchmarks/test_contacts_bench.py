"""Contact dynamics in the benchmark: the same problem in both programs, by every solver."""

import numpy as np
import pytest

from torqued.benchmarks import report, robots
from torqued.benchmarks.contacts import CONTACTS, TITLES
from torqued.benchmarks.machine import this_machine
from torqued.benchmarks.results import Figure, Results
from torqued.benchmarks.robots import DisagreementError
from torqued.benchmarks.timing import Times
from torqued.kernels.contacts.solvers import SOLVERS

NAMES = tuple(CONTACTS["talos"])


@pytest.fixture(scope="module")
def talos():
    return robots.load("talos", states=2)


def test_talos_has_contacts_beside_the_other_kernels(talos):
    assert talos.kernels == (*robots.KERNELS, robots.HESSIAN, *NAMES)
    assert robots.load("chain5", states=1).kernels == (*robots.KERNELS, robots.HESSIAN)
    assert set(TITLES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_held_is_at_rest(talos, name):
    problem = talos.contacts[name]
    for state in problem.states:
        G = talos.robot.contact_dynamics(state.q, state.v, state.tau, problem.contacts).G
        assert np.abs(G @ state.v).max() < 1e-9
        assert np.abs(state.v).max() > 0.1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", NAMES)
def test_every_solver_gives_pinocchios_accelerations(talos, name, solver):
    problem = talos.contacts[name]
    for (function, arguments), (theirs, others) in zip(
        problem.ours(solver), problem.pinocchio(), strict=True
    ):
        function(*arguments)
        theirs(*others)
        ((_, here, there),) = problem.results()
        assert np.abs(here - there).max() <= 1e-9 * np.abs(there).max()


@pytest.mark.parametrize("name", NAMES)
def test_another_state_in_pinocchio_is_noticed(name):
    case = robots.load("talos", states=1)
    case.verify([name])
    case.contacts[name].pin_states[0].q[10] += 1e-6
    with pytest.raises(DisagreementError, match=f"talos, {name}: a differs"):
        case.verify([name])


def test_table_has_a_row_per_set_of_contacts():
    def times(us):
        return Times(np.full(3, us))

    figures = [
        Figure(
            "talos",
            name,
            ours=times(12.0),
            pinocchio=times(19.0),
            method=times(200.0),
            direct=times(37.0),
            null_space=times(99.0),
        )
        for name in NAMES
    ]
    sheet = report.contact_sheet(Results(this_machine(), "", figures, []))
    assert [row[0] for row in sheet.rows] == [f"talos, {TITLES[name]}" for name in NAMES]
    assert sheet.rows[0][1:] == ("12.00", "37.00", "99.00", "19.00", "200.00")
    assert figures[0].ceiling == 0.6 and figures[0].ahead
