"""Torques of the laws against the formulas in their documentation, with formed matrices."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from support.robots import without_effort_limits
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.laws import LAWS
from torqued.kernels.model.catalog import find_file

#: Errors of any size pull by their stiffness: test_saturation.py has those that are bounded.
UNBOUNDED = {"error_limit": 1e6}


@pytest.fixture(scope="module", params=["chain", "panda"])
def robot(request):
    """The Panda's second finger follows the first."""
    made = (
        Robot.family("chain", 6, seed=1)
        if request.param == "chain"
        else Robot.from_urdf(find_file("panda"))
    )
    return without_effort_limits(made)


@pytest.fixture(scope="module")
def case(robot):
    """q, v, and references."""
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    q_ref = q + 0.1 * rng.normal(size=robot.nq)
    return q, v, q_ref, *(rng.normal(size=(2, robot.nv)))


def matrix(n: int, seed: int) -> np.ndarray:
    """Symmetric, positive definite and full."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


def size_of(robot: Robot, case) -> float:
    q, v, *_ = case
    return 1e2 * float(np.abs(robot.mass_matrix(q)).max() * (1.0 + np.abs(v).max()) ** 2)


def test_pd_is_gravity_spring_and_damper(robot, case):
    q, v, q_ref, v_ref, _ = case
    K, D = matrix(robot.nv, 1), matrix(robot.nv, 2)
    out = Controller(robot, "pd", gains={"stiffness": K, "damping": D, **UNBOUNDED}).torque(
        q, v, q_ref=q_ref, v_ref=v_ref
    )
    expected = robot.gravity(q) - K @ (q - q_ref) - D @ (v - v_ref)
    assert_agree(out.tau, expected, size=size_of(robot, case))
    M = robot.mass_matrix(q)
    energy = 0.5 * v @ M @ v + 0.5 * (q - q_ref) @ K @ (q - q_ref)
    assert_agree(out.storage, energy, size=size_of(robot, case))


def test_pd_plus_feeds_the_reference_forward(robot, case):
    q, v, q_ref, v_ref, a_ref = case
    K, D = matrix(robot.nv, 1), matrix(robot.nv, 2)
    out = Controller(robot, "pd_plus", gains={"stiffness": K, "damping": D, **UNBOUNDED}).torque(
        q, v, q_ref=q_ref, v_ref=v_ref, a_ref=a_ref
    )
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, v)
    feedback = K @ (q - q_ref) + D @ (v - v_ref)
    expected = M @ a_ref + C @ v_ref + robot.gravity(q) - feedback
    assert_agree(out.tau, expected, size=size_of(robot, case))


def test_computed_torque_makes_every_joint_the_same_oscillator(robot, case):
    q, v, q_ref, v_ref, a_ref = case
    out = Controller(
        robot, "computed_torque", gains={"stiffness": 30.0, "damping": 4.0, **UNBOUNDED}
    ).torque(q, v, q_ref=q_ref, v_ref=v_ref, a_ref=a_ref)
    a = robot.forward_dynamics(q, v, out.tau)
    assert_agree(a, a_ref - 30.0 * (q - q_ref) - 4.0 * (v - v_ref), within=1e-8)


def test_passivity_without_forming_C_is_the_same_as_with_it(robot, case):
    q, v, q_ref, v_ref, a_ref = case
    L, D = matrix(robot.nv, 1), matrix(robot.nv, 2)
    out = Controller(robot, "passivity", gains={"bandwidth": L, "damping": D, **UNBOUNDED}).torque(
        q, v, q_ref=q_ref, v_ref=v_ref, a_ref=a_ref
    )
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, v)
    e, rate = q - q_ref, v - v_ref
    v_r, a_r, s = v_ref - L @ e, a_ref - L @ rate, rate + L @ e
    expected = M @ a_r + C @ v_r + robot.gravity(q) - D @ s
    assert_agree(out.tau, expected, size=size_of(robot, case))
    assert_agree(out.port, s)
    assert_agree(out.storage, 0.5 * s @ M @ s)


def test_adaptive_law_begins_as_passivity(robot, case):
    q, v, q_ref, v_ref, a_ref = case
    references = {"q_ref": q_ref, "v_ref": v_ref, "a_ref": a_ref}
    gains = {"damping": 2.0, "damping_rate": 20.0}
    plain = Controller(robot, "passivity", gains=gains).torque(q, v, **references)
    frame = robot.frame_names[-1]
    adaptive = Controller(robot, "adaptive", frame=frame, gains=gains)
    learning = adaptive.torque(q, v, **references)
    assert_agree(learning.tau, plain.tau)
    assert not learning.load.any()


def test_adaptive_law_stays_within_its_bounds(robot, case):
    q, v, *_ = case
    lower, upper = -0.01 * np.ones(10), 0.02 * np.ones(10)
    touched = []
    for error in (0.02, -0.02):  # one of them asks for more load than none
        controller = Controller(
            robot,
            "adaptive",
            frame=robot.frame_names[-1],
            load_lower=lower,
            load_upper=upper,
            gains={"adaptation": 1e3 * np.ones(10), **UNBOUNDED},
        )
        for _ in range(50):
            load = controller.torque(q, 0.1 * v, 0.01, q_ref=q + error).load
            assert (load >= lower).all() and (load <= upper).all()
        touched.append((np.isclose(load, lower) | np.isclose(load, upper)).any())
    assert any(touched)


def test_impedance_at_its_reference_holds_the_robot_up(robot):
    q = robot.random_state(np.random.default_rng(7))[0]  # far from singularities
    frame = "panda_hand" if "panda" in robot.name else robot.frame_names[-1]
    pose = robot.frame_pose(q, frame)
    out = Controller(robot, "impedance", frame=frame).torque(
        q, np.zeros(robot.nv), position=pose[:3, 3], orientation=quaternion(pose), posture=q
    )
    assert_agree(out.tau, robot.gravity(q), within=1e-8, size=1.0)
    assert float(out.storage) < 1e-12
    J, M = robot.frame_jacobian(q, frame), robot.mass_matrix(q)
    assert_agree(out.inertia, np.linalg.inv(J @ np.linalg.solve(M, J.T)), within=1e-6)


def quaternion(pose: np.ndarray) -> np.ndarray:
    """x y z w, by the axis and angle of the rotation."""
    values, vectors = np.linalg.eig(pose[:3, :3])
    axis = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    R = pose[:3, :3]
    sine = 0.5 * axis @ [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    angle = np.arctan2(sine, 0.5 * (np.trace(R) - 1.0))
    return np.append(axis * np.sin(0.5 * angle), np.cos(0.5 * angle))


@pytest.mark.parametrize("turn", [0.0, 0.5, 2.0, 3.1])
def test_impedance_turns_back_by_the_shortest_way(turn):
    """The error is the rotation vector, along the axis of the shorter way."""
    robot = without_effort_limits(Robot.family("chain", 7, seed=4))
    q, frame = robot.random_state(np.random.default_rng(1))[0], robot.frame_names[-1]
    pose = robot.frame_pose(q, frame)
    axis = np.array([0.0, 0.6, 0.8])
    x, y, z, w = quaternion(pose)
    s, c = axis * np.sin(-0.5 * turn), np.cos(0.5 * turn)
    vector = c * np.array([x, y, z]) + w * s + np.cross(s, [x, y, z])
    wanted = np.append(vector, c * w - s @ [x, y, z])
    out = Controller(robot, "impedance", frame=frame).torque(
        q, np.zeros(robot.nv), position=pose[:3, 3], orientation=-wanted, posture=q
    )
    assert_agree(out.error[:3], turn * axis, within=1e-8, size=1.0)


def test_floating_bases_get_no_torque_and_only_laws_that_suit_them():
    robot = Robot.family("biped", 6)
    q, v = robot.random_state(np.random.default_rng(0))
    out = Controller(robot, "gravity").torque(q, v)
    assert not out.tau[:6].any() and out.tau[6:].any()
    for law in ("pd", "pd_plus", "computed_torque", "passivity"):
        with pytest.raises(InputError, match="needs a fixed base"):
            Controller(robot, law)


BAD = {
    "gravity": [({"damping": -1.0}, "eigenvalue -1"), ({"drag": 1.0}, "'drag' is unknown")],
    "pd": [
        ({"stiffness": 0.0}, "eigenvalue 0"),
        ({"stiffness": [1.0, 2.0]}, "shape"),
        ({"damping": np.nan}, "finite"),
        ({"stiffness": np.triu(np.ones((6, 6)))}, "not symmetric"),
        ({"stiffness": np.ones((6, 6)) - 0.9 * np.eye(6)}, "eigenvalue"),
        ({"stiffness": "stiff"}, "numbers"),
    ],
    "passivity": [({"bandwidth": -1.0}, "eigenvalue"), ({"stiffness": 1.0}, "unknown")],
    "adaptive": [({"adaptation": -1.0}, "zero or positive")],
    "impedance": [({"stiffness": np.ones(2)}, "shape"), ({"rotational_stiffness": -1.0}, "eigen")],
}


@pytest.mark.parametrize(
    ("law", "gains", "words"), [(law, *bad) for law, bads in BAD.items() for bad in bads]
)
def test_gains_that_make_no_sense_are_refused(law, gains, words):
    robot = Robot.family("chain", 6)
    options = {"frame": "link_6"} if "frame" in LAWS[law].options else {}
    with pytest.raises(InputError, match=words):
        Controller(robot, law, gains=gains, **options)


@pytest.mark.parametrize(
    ("law", "options", "words"),
    [
        ("pid", {}, "law: 'pid' is unknown"),
        ("pd", {"frame": "link_6"}, "does not accept 'frame'"),
        ("impedance", {}, "frame"),
        ("impedance", {"frame": "toe"}, "'toe' is unknown"),
        ("impedance", {"frame": "link_6", "axes": "both"}, "axes"),
        ("adaptive", {"frame": "link_6", "load_upper": -np.ones(10)}, "must include zero"),
        ("pd", {"effort_limit": [-1.0] * 6}, "zero or a positive"),
        ("pd", {"observer": {"gain": 0.0}}, "positive"),
        ("pd", {"observer": {"speed": 1.0}}, "'speed' is unknown"),
        ("pd", {"observer": {"threshold": 1.0, "release": 2.0}}, "above"),
    ],
)
def test_options_that_make_no_sense_are_refused(law, options, words):
    with pytest.raises(InputError, match=words):
        Controller(Robot.family("chain", 6), law, **options)


def test_references_are_named_kept_and_checked():
    robot = Robot.family("chain", 6)
    controller = Controller(robot, "pd")
    q, v = robot.random_state(np.random.default_rng(0))
    first = controller.torque(q, v, q_ref=q).tau
    assert np.array_equal(controller.torque(q, v).tau, first)  # q_ref stays
    with pytest.raises(InputError, match="reference 'x_ref' is unknown"):
        controller.torque(q, v, x_ref=q)
    with pytest.raises(InputError, match=r"q_ref: shape \(2,\)"):
        controller.torque(q, v, q_ref=[0.0, 1.0])


def test_torques_are_cut_to_the_smaller_limit():
    robot = Robot.family("chain", 6)
    q, v = robot.random_state(np.random.default_rng(0))
    asked = np.array([1.0, 1e9, 1.0, 1.0, 1.0, 1.0])
    out = Controller(robot, "pd", effort_limit=asked, gains={"stiffness": 1e5}).torque(q, v)
    assert out.status == ["CLAMPED"]
    assert (np.abs(out.tau) <= np.minimum(asked, robot.limits.effort)).all()
