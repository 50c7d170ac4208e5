"""Passivity-based balancing: the wrench is right, cones hold, energy does not come from nowhere."""

import numpy as np
import pytest

from support.agreement import assert_agree
from support.wholebody_cases import FEET, biped, random_state
from torqued.common.status import CLAMPED, SOLVER
from torqued.kernels import InputError, Robot
from torqued.kernels.control.wholebody.balance import Balance

SEEDS = range(5)
CARRIED = (2, 3, 4, 5, 6, 7)  # legs that random bodies and joints have put below the robot


def about_com(robot, q, control, force):
    """[moment; force] of point forces about the center of mass."""
    c, total = robot.center_of_mass(q), np.zeros(6)
    for frame, contact in zip(control.contact_names, control.program.contact, strict=True):
        for k in range(contact["point"], contact["point"] + contact["points"]):
            p = robot.frame_pose(q, frame, control.program.offset[k])[:3, 3]
            total += np.concatenate([np.cross(p - c, force[k]), force[k]])
    return total


def case(seed, friction=5.0):
    """Friction is high: random legs put feet anywhere."""
    robot = biped(seed)
    control = Balance(robot, [contact | {"friction": friction} for contact in FEET])
    q, v = random_state(robot, seed, speed=0.1)
    return robot, control, q, v


@pytest.mark.parametrize("seed", SEEDS)
def test_wrench_is_that_of_springs_and_dampers_and_weight(seed):
    robot, control, q, v = case(seed)
    references = control.hold(q)
    references["com.position"] = references["com.position"] + [0.02, -0.01, 0.03]
    answer = control.torque(q, v, references)
    gain = {name: control.gains[part] for name, part in control.gain_names.items()}
    momentum = robot.centroidal_momentum(q, v)[3:]
    force = gain["com.stiffness"] * np.array([0.02, -0.01, 0.03])
    force = force - gain["com.damping"] * momentum / robot.total_mass
    assert_agree(answer["wrench_wanted"][3:], force - robot.total_mass * robot.gravity_vector, 1e-9)
    spin = robot.frame_velocity(q, v, "body")[:3]
    assert_agree(answer["wrench_wanted"][:3], -gain["base.damping"] * spin, 1e-9)
    assert_agree(answer["wrench"], about_com(robot, q, control, answer["force"]), 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_are_inside_their_cones_and_their_limit(seed):
    _robot, control, q, v = case(seed, friction=0.6)
    references = control.hold(q) | {"max_force": [50.0, 1e30]}
    answer = control.torque(q, v, references)
    force = answer["force"]
    assert answer["status"] == 0
    across = np.hypot(force[:, 0], force[:, 1])
    assert (across <= 0.6 * force[:, 2] + 1e-5).all()
    assert force[:4, 2].sum() <= 50.0 + 1e-5
    assert (force[:, 2] > -1e-6).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_distribution_is_the_best_there_is(seed):
    """No feasible direction improves it: against many random feasible forces."""
    robot, control, q, v = case(seed, friction=0.5)
    answer = control.torque(q, v, control.hold(q))
    gain = {name: control.gains[part] for name, part in control.gain_names.items()}
    weights = np.repeat([gain["moment_weight"][0], 1.0], 3)

    def cost(force):
        off = about_com(robot, q, control, force) - answer["wrench_wanted"]
        return 0.5 * off @ (weights * off) + 0.5 * gain["force_weight"][0] * (force**2).sum()

    best = cost(answer["force"])
    rng = np.random.default_rng(seed)
    mu = 0.5 / np.sqrt(2.0)
    for scale in (1e-3, 1.0, 30.0):
        for _ in range(50):
            other = answer["force"] + scale * rng.normal(size=answer["force"].shape)
            other[:, 2] = np.maximum(other[:, 2], 0.0)
            for k in range(2):
                other[:, k] = np.clip(other[:, k], -mu * other[:, 2], mu * other[:, 2])
            assert cost(other) >= best - 1e-6 * (1.0 + best)


@pytest.mark.parametrize("seed", CARRIED)
def test_at_rest_torques_are_those_that_hold_the_robot_still(seed):
    robot, control, q, v = case(seed)
    answer = control.torque(q, 0 * v, control.hold(q))
    assert_agree(answer["wrench"], answer["wrench_wanted"], 1e-3)
    J = np.zeros((0, robot.nv))
    for frame, contact in zip(control.contact_names, control.program.contact, strict=True):
        for k in range(contact["point"], contact["point"] + contact["points"]):
            point = control.program.offset[k]
            J = np.vstack([J, robot.frame_jacobian(q, frame, point=point)[3:]])
    rest = answer["tau"] + J.T @ answer["force"].ravel() - robot.gravity(q)
    assert np.abs(rest).max() < 1e-3 * np.abs(robot.gravity(q)).max()


def test_without_contact_there_is_no_force_and_only_posture():
    _robot, control, q, v = case(0)
    answer = control.torque(q, v, control.hold(q) | {"active": [0.0, 0.0]})
    assert (answer["force"] == 0.0).all()
    damping = control.gains[control.gain_names["posture.damping"]]
    assert_agree(answer["tau"][6:], -(damping * v)[6:], 1e-9)
    assert (answer["tau"][:6] == 0.0).all()


def test_posture_dissipates():
    """The power of what does not come from contacts is never positive at the reference."""
    _robot, control, q, v = case(1)
    off = control.hold(q) | {"active": [0.0, 0.0]}
    assert v @ control.torque(q, v, off)["tau"] < 0.0


def test_robots_with_a_fixed_base_are_refused():
    with pytest.raises(InputError, match="balancing requires a floating"):
        Balance(Robot.family("chain", 3), [])


def test_balancing_without_contacts_is_refused():
    with pytest.raises(InputError, match="contacts is missing") as caught:
        Balance(biped(0), [])
    assert caught.value.field == "contacts"


def test_task_of_a_foot_pulls_through_its_leg_while_the_foot_is_in_the_air():
    robot = biped(0)
    frame = FEET[0]["frame"]
    control = Balance(robot, FEET, tasks=[{"kind": "point", "frame": frame, "name": "foot"}])
    plain = Balance(robot, FEET)
    q, v = random_state(robot, 0, speed=0.0)
    held, other = control.hold(q), plain.hold(q)
    on_floor = control.torque(q, v, held)["tau"]
    assert_agree(on_floor, plain.torque(q, v, other)["tau"], 1e-9)
    away = {"foot.position": held["foot.position"] + [0.0, 0.0, 0.05], "active": [0.0, 1.0]}
    pull = control.torque(q, v, held | away)["tau"]
    pull = pull - plain.torque(q, v, other | {"active": [0.0, 1.0]})["tau"]
    stiffness = control.gains[control.gain_names["foot.stiffness"]][0]
    inertia = control.program.task[0]["inertia"][1]
    J = robot.frame_jacobian(q, frame)[3:]
    expected = J.T @ [0.0, 0.0, 0.05 * stiffness * inertia]
    expected[:6] = 0.0
    assert_agree(pull, expected, 1e-6)


@pytest.mark.parametrize("place", ["q", "v", "orientation"])
def test_numbers_that_make_no_sense_are_not_passed_on(place):
    robot, control, q, v = case(2)
    state = control.pack(q, v, control.hold(q))
    if place == "orientation":
        start = robot.nq + robot.nv + 6
        state[start : start + 4] = 0.0
    else:
        state[{"q": 8, "v": robot.nq + 7}[place]] = np.nan
    answer = control.tick(state)
    assert answer["status"] == SOLVER
    assert answer["violated"] == "input"
    for name in control.outputs:
        if name != "violated":
            assert np.isfinite(answer[name]).all(), name


def test_torques_that_are_cut_to_their_limits_are_told():
    """Contact forces are found without the joints' limits: cutting is the law's business."""
    robot, control, q, v = case(2)
    free = control.torque(q, v, control.hold(q))
    assert free["status"] == 0
    most = 0.5 * np.abs(free["tau"][6:]).max()
    limited = Balance(
        robot,
        [contact | {"friction": 5.0} for contact in FEET],
        {"torque": np.full(robot.nv, most)},
    )
    cut = limited.torque(q, v, limited.hold(q))
    assert cut["status"] == CLAMPED
    assert np.allclose(cut["tau"][6:], np.clip(free["tau"][6:], -most, most))
