"""Single runs of the matrix in which a law meets what it cannot follow: no reach, no room."""

import pytest

from torqued.tools.demos import generalize_motions as motions
from torqued.tools.demos.generalize_cases import Budget, Case, stretch
from torqued.tools.demos.generalize_loop import CLEAN, ROUGH
from torqued.tools.demos.generalize_robots import chosen

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")


def case_of(name, condition):
    (row,) = (row for row in chosen(name, False) if row.kind == "arm")
    clean = Case(row, CLEAN)
    return clean if condition == CLEAN else Case(row, condition, clean)


@pytest.mark.parametrize("condition", [CLEAN, ROUGH], ids=lambda condition: condition.name)
@pytest.mark.parametrize("name", ["panda", "ur5", "ur10", "xarm7"])
def test_frame_that_is_sent_beyond_reach_and_back_moves_no_joint_too_fast(name, condition):
    """Where the arm is stretched, what held its posture's spring back is gone at once."""
    case = case_of(name, condition)
    outcome = stretch(case, "impedance", case.places.ready, Budget())
    assert outcome.speed < 1.0, outcome.joint
    assert not outcome.ran_away


@pytest.mark.parametrize("name", ["so101", "so100"])
def test_light_joints_with_friction_stop_at_their_ends(name):
    """Friction turns these wrists more than their inertia does: 2500/s."""
    case = case_of(name, ROUGH)
    q = case.places.ready
    goal = case.held_at(motions.jumped(case.robot, q))
    outcome, _ = case.attempt("impedance", "jump", q, Budget().jump, goal)
    assert outcome.beyond < 0.05
    assert "WALL" in outcome.status or name == "so100"
