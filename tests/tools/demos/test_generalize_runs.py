"""Single runs of the matrix in which a law meets what it cannot follow: no reach, no room, a robot
that its model lacks; and whether the simulated robot has what it is said to have."""

import dataclasses
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from torqued.tools.demos import generalize_motions as motions
from torqued.tools.demos.daemon import served
from torqued.tools.demos.generalize_cases import Budget, Case, stretch
from torqued.tools.demos.generalize_lab import interrupt, press
from torqued.tools.demos.generalize_loop import BARE, CLEAN, FILE, LAB, LATE, LOADED, ROUGH, TOLD
from torqued.tools.demos.generalize_robots import chosen, describe
from torqued.tools.demos.plant import specification

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")


def case_of(name, condition):
    row = chosen(name, False)[0]
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


def acceleration(case, q, tau):
    """Of the simulated robot at rest."""
    case.plant.reset(q, np.zeros(case.robot.nv))
    case.plant.data.qfrc_applied[:] = tau
    mujoco.mj_forward(case.plant.model, case.plant.data)
    return case.plant.data.qacc.copy()


def test_rotors_are_in_the_robot_and_in_the_model_where_it_is_told():
    """Oracle: forward dynamics of either side."""
    bare, told = case_of("xarm7", BARE), case_of("xarm7", TOLD)
    rng = np.random.default_rng(0)
    q, rest = told.robot.random_state(rng)[0], np.zeros(told.robot.nv)
    tau = told.robot.gravity(q) + rng.uniform(-0.1, 0.1, told.robot.nv) * told.effort
    found = acceleration(told, q, tau)
    np.testing.assert_allclose(found, told.robot.forward_dynamics(q, rest, tau), rtol=1e-6)
    np.testing.assert_allclose(found, acceleration(bare, q, tau), rtol=1e-12)
    # The last joint is a thousand times lighter without its rotor.
    assert abs(bare.robot.forward_dynamics(q, rest, tau)[-1]) > 20.0 * abs(found[-1])


def test_unknown_load_takes_a_third_of_what_the_weakest_joint_has_left_or_a_quarter_of_the_mass():
    case, heavy = case_of("panda", LOADED), case_of("xarm7", LOADED)
    q = case.places.ready
    left = case.effort - np.abs(case.robot.gravity(q))
    load = np.abs(case.plant.robot.gravity(q) - case.robot.gravity(q)) / left
    assert load.max() == pytest.approx(1.0 / 3.0, rel=0.25)  # its center is beside the frame
    assert heavy.plant.robot.total_mass == pytest.approx(1.25 * heavy.robot.total_mass)


def test_friction_of_joints_does_not_hold_the_base_of_a_robot_that_stands():
    model = case_of("go2", ROUGH).plant.model
    assert not model.dof_damping[:6].any() and not model.dof_frictionloss[:6].any()
    assert model.dof_damping[6:].all()


class Echo:
    """A session that keeps what it is sent."""

    def __init__(self):
        self.states = []

    def step(self, q, v, **others):
        self.states.append(np.concatenate([q, v]))
        return SimpleNamespace(tau=np.zeros(len(v)), status=0)


def test_frozen_encoders_repeat_themselves_to_the_bit_and_live_ones_do_not():
    case, echo = case_of("ur5", LATE), Echo()
    case.attempt("gravity", "", case.places.ready, 0.01, session=echo, frozen_from=5)
    changes = [(a != b).all() for a, b in zip(echo.states[:-1], echo.states[1:], strict=True)]
    assert changes == [True] * 4 + [False] * 5
    assert np.array_equal(echo.states[4], echo.states[9])


def renamed_file(name, base, folder):
    """The robot as a MJCF file with other names of joints, rotors, friction, a finger, a motor."""
    spec = specification(describe(chosen(name, False)[0]), base, (), ())
    joints = [joint for joint in spec.joints if joint.type != mujoco.mjtJoint.mjJNT_FREE]
    for k, joint in enumerate(joints):
        joint.name = f"other_{k}"
        joint.armature, joint.damping[0], joint.frictionloss = 0.1 + k, 1.0 + k, 2.0 + k
        spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    finger = joints[-1].parent.add_body(mass=1e-9, inertia=[1e-12] * 3)
    finger.add_joint(name="finger")
    file = folder / f"{name}.xml"
    spec.compile()
    file.write_text(spec.to_xml())
    return str(file)


@pytest.mark.parametrize("name", ["ur5", "go2"])
def test_robot_of_a_mjcf_file_has_its_masses_rotors_and_friction_and_stands_on_its_feet(
    name, tmp_path
):
    clean = case_of(name, CLEAN)
    file = renamed_file(name, clean.row.base, tmp_path)
    case = Case(dataclasses.replace(clean.row, mjcf=file), FILE, clean)
    joints = np.arange(case.robot.nv) - case.plant.first
    for k, least in (("viscous", 1.0), ("coulomb", 2.0)):
        expected = np.where(joints >= 0, joints + least, 0.0)
        np.testing.assert_allclose(case.losses[k], expected)
    q, _ = case.robot.random_state(np.random.default_rng(0))
    np.testing.assert_allclose(case.plant.robot.gravity(q), clean.robot.gravity(q))
    rotors = case.robot.mass_matrix(q) - clean.robot.mass_matrix(q)
    np.testing.assert_allclose(rotors, np.diag(np.where(joints >= 0, joints + 0.1, 0.0)), atol=1e-9)
    if case.stance is None:
        tau = case.robot.gravity(q) + 0.1 * case.robot.limits.effort
        case.plant.model.dof_frictionloss[:] = 0.0
        expected = case.robot.forward_dynamics(q, 0.0 * tau, tau)
        np.testing.assert_allclose(acceleration(case, q, tau), expected, rtol=1e-4)
    else:
        q = case.stance.q - np.eye(case.robot.nq)[2] * 6e-3
        places = []
        for one in (clean, case):
            one.plant.reset(q, np.zeros(case.robot.nv))
            places.append(np.sort(one.plant.data.contact.pos, axis=0))
        np.testing.assert_allclose(places[0], places[1], atol=1e-6)


def test_frame_presses_on_a_plane_and_the_plane_goes():
    pressed, lost = press(case_of("ur10", TOLD), "impedance")
    assert pressed.error < 0.05 and 0.0 < lost.error < 0.25


@pytest.mark.slow
def test_session_is_stopped_with_a_load_and_finds_frozen_encoders():
    case, loaded = case_of("ur5", LAB), case_of("ur5", LOADED)
    with served(case.described) as client:
        stop = interrupt(loaded, "passivity", client, "stop brake", fallback="brake")
        assert 0.0 < stop.error < 0.25 and stop.end_speed < 0.02
        assert "FALLBACK" in stop.status and stop.delay == np.inf
        frozen = interrupt(case, "passivity", client, "freeze")
        assert frozen.delay < 0.04
        unchecked = interrupt(case, "passivity", client, "freeze", frozen_after=0.0)
        assert unchecked.delay == np.inf
