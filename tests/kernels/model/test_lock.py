"""Locked joints: as Pinocchio's reduced models have them, in every form of a robot, and by name."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from oracles.literal_tree import Base, mimic_maps
from support.agreement import assert_agree
from support.cases import BASES, examples
from support.model_cases import LIMITS, NOTHING, SOLID, arm, joint, pair, robot, three
from support.random_trees import random_tree
from support.robots import random_motion
from torqued.common.errors import InputError, ModelError
from torqued.kernels import Robot
from torqued.kernels.formats.screws_writer import to_screws
from torqued.kernels.formats.sources import read_whole
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.catalog import describe, find_file, urdf_files, usual_locked
from torqued.kernels.model.description import SINGLE_DOF, Description, Limits, Mimic
from torqued.kernels.model.known_robots import GRIPPERS
from torqued.kernels.model.lock import lock, sentence

FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
#: Joints that Pinocchio has in torqued's coordinates.
TYPES = (
    *("fixed", "revolute", "continuous", "prismatic", "helical"),
    *("spherical", "translation", "floating"),
)


def reduced(full, names, q):
    """Pinocchio's model with joints locked where they are at q, a configuration of its own."""
    import pinocchio as pin

    return pin.buildReducedModel(full, [full.getJointId(name) for name in names], q)


def assert_same_robot(robot, oracle, q, v, a, q_free, G):
    """Quantities of a robot, and of Pinocchio's model with followers free."""
    still = np.zeros(robot.nv)
    bias = G.T @ oracle.inverse_dynamics(q_free, G @ v, G @ still)
    M = G.T @ oracle.mass_matrix(q_free) @ G
    assert_agree(robot.mass_matrix(q), M)
    assert_agree(robot.bias(q, v), bias)
    assert_agree(robot.gravity(q), G.T @ oracle.gravity(q_free))
    assert_agree(robot.inverse_dynamics(q, v, a), M @ a + bias)
    assert_agree(robot.center_of_mass(q), oracle.center_of_mass(q_free), size=1.0)


def assert_same_frames(robot, oracle, q, q_free, G, names):
    for frame in names:
        assert_agree(robot.frame_pose(q, frame), oracle.frame_pose(q_free, frame))
        J = oracle.frame_jacobian(q_free, frame, "hybrid") @ G
        assert_agree(robot.frame_jacobian(q, frame), J, size=1.0)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("position", [0.0, 0.013, 0.04])
def test_panda_with_locked_fingers_is_pinocchios_reduced_model(base, position):
    pytest.importorskip("pinocchio")
    from oracles.pinocchio_urdf import PinocchioUrdf, build

    path = find_file("panda")
    arm = Robot.from_urdf(path, base, locked={FINGERS[0]: position})
    assert arm.locked == dict.fromkeys(FINGERS, position)
    full = build(path, base)
    held = np.zeros(full.nq)
    for name in FINGERS:
        held[full.idx_qs[full.getJointId(name)]] = position
    oracle = PinocchioUrdf(reduced(full, FINGERS, held), list(arm.model.joints))
    q, v, a = random_motion(arm)
    G = np.eye(arm.nv)
    assert_same_robot(arm, oracle, q, v, a, q, G)
    assert_same_frames(arm, oracle, q, q, G, arm.frame_names)


@examples(
    60,
    seed=st.integers(0, 2**32 - 1),
    bodies=st.integers(2, 12),
    base=st.sampled_from(BASES),
    mimics=st.booleans(),
)
def test_random_trees_with_locked_joints_are_pinocchios_reduced_models(
    seed: int, bodies: int, base: Base, mimics: bool
) -> None:
    pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import pinocchio_model
    from oracles.pinocchio_urdf import PinocchioUrdf

    rng = np.random.default_rng(seed)
    tree = random_tree(rng, bodies, TYPES, mimics)
    assume(base == "floating" or any(joint.type != "fixed" for joint in tree.joints))
    whole = Robot.from_description(tree, base)
    leaders = [name for name in whole.joint_names if whole.joint(name).type in SINGLE_DOF]
    locked = {name: position(rng, whole.joint(name)) for name in leaders if rng.random() < 0.5}
    assume(locked and len(locked) < whole.nv)
    robot = Robot.from_description(tree, base, locked=locked)

    q_all, v_all = whole.random_state(rng)
    moving_q, moving_v = np.ones(whole.nq, bool), np.ones(whole.nv, bool)
    for name, value in locked.items():
        q_all[whole.joint(name).q] = value
        moving_q[whole.joint(name).q] = moving_v[whole.joint(name).v] = False
    maps = mimic_maps(tree, base)
    q_free = maps.Gq @ q_all + maps.offset
    free = {info.name: info for info in whole.model.joints}
    held = [name for name, info in free.items() if not maps.Gv[info.v : info.v + 1, moving_v].any()]
    assert set(robot.locked) == set(held)
    for name in held:
        assert robot.locked[name] == pytest.approx(q_free[free[name].q], rel=1e-12, abs=1e-12)

    full = pinocchio_model(tree, base)
    infos = list(whole.model.joints)
    q_held = PinocchioUrdf(full, infos).q_to_pin(q_free)
    oracle = PinocchioUrdf(reduced(full, held, q_held), list(robot.model.joints))
    kept_q = [k for i in infos if i.name not in held for k in range(i.q, i.q + i.nq)]
    kept_v = [k for i in infos if i.name not in held for k in range(i.v, i.v + i.nv)]
    q, v, G = q_all[moving_q], v_all[moving_v], maps.Gv[kept_v][:, moving_v]
    assert_same_robot(robot, oracle, q, v, rng.normal(size=robot.nv), q_free[kept_q], G)
    links = [link.name for link in tree.links]
    assert_same_frames(robot, oracle, q, q_free[kept_q], G, links)


def position(rng, joint):
    """Within its limits, where it has any."""
    return float(rng.uniform(np.maximum(joint.lower, -4.0), np.minimum(joint.upper, 4.0))[0])


def test_frames_of_locked_joints_keep_their_names_and_places():
    free = Robot.named("panda", locked=())
    arm = Robot.named("panda", locked={FINGERS[0]: 0.03})
    assert set(arm.frame_names) == set(free.frame_names)
    q, _ = arm.random_state(np.random.default_rng(0))
    for frame in arm.frame_names:
        assert_agree(arm.frame_pose(q, frame), free.frame_pose([*q, 0.03], frame))


def test_names_alone_are_locked_at_zero_or_at_the_nearest_limit():
    description = pair({"limits": Limits(-1.0, 2.0)}, {"limits": Limits(0.5, 2.0)})
    found = lock(description, ["one", "two"])
    assert {joint.name: joint.position for joint in found.locked} == {"one": 0.0, "two": 0.5}
    below = lock(arm(limits=Limits(-2.0, -0.25)), ("elbow",))
    assert below.locked[0].position == -0.25


def test_followers_of_followers_are_locked_where_they_follow_to():
    chain = three(
        joint("one", "a", "b"),
        joint("two", "b", "c", mimic=Mimic("one", -2.0, 0.1)),
    )
    chain = replace(chain, links=(*chain.links, replace(chain.links[0], name="d")))
    last = joint("three", "c", "d", "prismatic", mimic=Mimic("two", 0.5, 0.0))
    chain = replace(chain, joints=(last, *chain.joints))
    found = lock(chain, {"one": 0.3})
    assert {joint.name: joint.position for joint in found.locked} == {
        "one": 0.3,
        "two": pytest.approx(-0.5),
        "three": pytest.approx(-0.25),
    }
    assert sentence(found.locked) == "three at -0.25 m, one at 0.3 rad, two at -0.5 rad"


def test_losses_limits_and_rotor_inertia_go_with_the_motion():
    found = lock(arm(damping=1.0, friction=2.0, armature=3.0), {"elbow": 0.5}).joints[0]
    assert (found.damping, found.friction, found.armature) == (0.0, 0.0, 0.0)
    assert (found.type, found.limits, found.mimic) == ("fixed", Limits(), None)


def test_all_faults_come_in_one_report_with_those_of_the_robot():
    bad = robot(
        {"a": SOLID, "b": SOLID, "c": SOLID, "d": SOLID},
        joint("hip", "a", "b", "spherical"),
        joint("knee", "b", "c"),
        joint("ankle", "c", "d", limits=Limits(2.0, 1.0, 1.0, 1.0)),
    )
    with pytest.raises(ModelError) as caught:
        Robot.from_description(bad, locked={"hip": 0.0, "knee": 1.5, "kne": 0.0})
    assert caught.value.problems == (
        "joint 'hip': spherical joints cannot be locked; revolute, continuous, prismatic, helical "
        "can",
        f"joint 'knee': locked at 1.5, outside its limits {LIMITS.lower} to {LIMITS.upper}",
        "locked: joint 'kne' is unknown; did you mean 'knee'?",
        "joint 'ankle': lower limit 2.0 is above upper limit 1.0",
    )


@pytest.mark.parametrize("value", [True, "0", np.nan, np.inf, [0.0]])
def test_a_position_is_a_finite_number(value):
    with pytest.raises(ModelError, match=r"joint 'elbow': locked at .*, expected a finite number"):
        lock(arm(), {"elbow": value})


@pytest.mark.parametrize("locked", ["elbow", 3, {"elbow"}, [3], {3: 0.0}])
def test_locked_is_a_list_of_names_or_a_map(locked):
    with pytest.raises(InputError, match=r"locked: .*, expected a list"):
        lock(arm(), locked)


def test_followers_are_locked_with_their_leaders_only():
    description = pair({}, {"mimic": Mimic("one", 2.0, 0.0)})
    with pytest.raises(ModelError, match="joint 'two': follows 'one'; lock that one"):
        lock(description, ["two"])
    with pytest.raises(ModelError, match=r"'two': locked at 0\.1, but follows 'one' to 0\.2"):
        lock(description, {"one": 0.1, "two": 0.1})
    assert (
        lock(description, {"one": 0.1, "two": 0.2}).locked == lock(description, {"one": 0.1}).locked
    )
    free = Robot.from_description(description, mimic="free", locked={"two": 0.1})
    assert (free.joint_names, free.locked) == (("one",), {"two": 0.1})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"axis": np.zeros(3)}, "joint 'elbow': axis is zero"),
        ({"limits": Limits(2.0, 1.0)}, "joint 'elbow': lower limit 2.0 is above upper limit 1.0"),
        ({"type": "elastic"}, "joint 'elbow': type 'elastic' is unknown"),
        ({"mimic": Mimic("elbow")}, "joint 'elbow': mimics itself"),
    ],
)
def test_faults_of_a_joint_are_reported_though_it_is_locked(changes, fault):
    with pytest.raises(ModelError) as caught:
        Robot.from_description(arm(**changes), locked=["elbow"])
    assert [problem for problem in caught.value.problems if problem.startswith(fault)]


def test_a_joint_that_moves_no_mass_can_be_locked():
    bad = robot(
        {"a": SOLID, "b": SOLID, "c": NOTHING}, joint("one", "a", "b"), joint("two", "b", "c")
    )
    with pytest.raises(ModelError):
        Robot.from_description(bad)
    assert Robot.from_description(bad, locked=["two"]).nv == 1


def test_text_file_and_configuration_take_locked_joints(tmp_path):
    text = to_urdf(pair({}, {}))
    (tmp_path / "arm.urdf").write_text(text)
    locked = {"two": 0.25}
    (tmp_path / "map.toml").write_text('[robot]\nurdf = "arm.urdf"\nlocked = { two = 0.25 }\n')
    (tmp_path / "list.toml").write_text('[robot]\nurdf = "arm.urdf"\nlocked = ["two"]\n')
    (tmp_path / "bad.toml").write_text('[robot]\nurdf = "arm.urdf"\nlocked = "two"\n')
    assert Robot.from_xml(text, locked=locked).locked == locked
    assert Robot.from_urdf(tmp_path / "arm.urdf", locked=locked).locked == locked
    assert Robot.from_config(tmp_path / "map.toml").locked == locked
    assert Robot.from_config(tmp_path / "list.toml").locked == {"two": 0.0}
    with pytest.raises(ModelError, match="key 'locked' is 'two', expected a list of joints, or"):
        Robot.from_config(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    "written", [lambda d: read_whole(to_urdf(d)), lambda d: read_whole(to_screws(d), "arm.toml")]
)
def test_files_have_locked_joints_as_fixed_ones(written):
    description = lock(random_tree(np.random.default_rng(3), 6, ("revolute", "prismatic")), {})
    names = [joint.name for joint in description.joints]
    held = lock(description, names[1:3])
    found = written(held)
    assert [joint.type for joint in found.joints[1:3]] == ["fixed", "fixed"]
    one, two = Robot.from_description(held), Robot.from_description(found)
    q, v, a = random_motion(one)
    assert_agree(one.inverse_dynamics(q, v, a), two.inverse_dynamics(q, v, a))
    for frame in one.frame_names:
        assert_agree(one.frame_pose(q, frame), two.frame_pose(q, frame))


def test_copies_pickles_batches_and_charts_have_the_robots_joints():
    arm = Robot.named("panda")
    q, v, a = random_motion(arm)
    tau = arm.inverse_dynamics(q, v, a)
    for other in (copy.deepcopy(arm), pickle.loads(pickle.dumps(arm)), arm.with_friction({})):
        assert other.locked == arm.locked == dict.fromkeys(FINGERS, 0.0)
        assert_agree(other.inverse_dynamics(q, v, a), tau)
    assert_agree(arm.batch(threads=1).inverse_dynamics(q[None], v[None], a[None])[0], tau)
    for name in ("mujoco", "pinocchio"):
        chart = arm.in_coordinates(name)
        state = chart.chart.from_native(q)
        assert (chart.nv, len(state)) == (7, 7)
        assert_agree(chart.inverse_dynamics(state, v, a), tau)


@pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")
@pytest.mark.parametrize("name", GRIPPERS)
def test_named_arms_have_their_grippers_locked_and_give_them_back(name):
    held, whole = Robot.named(name), Robot.named(name, locked=())
    assert held.locked == dict.fromkeys(GRIPPERS[name], 0.0)
    assert whole.locked == {}
    assert set(whole.joint_names) == {*held.joint_names, *GRIPPERS[name]} - followers(name)
    free = Robot.named(name, mimic="free")
    assert (free.joint_names, free.locked) == (held.joint_names, held.locked)
    assert describe(name).locked == held.model.locked


def followers(name):
    free, whole = Robot.named(name, mimic="free", locked=()), Robot.named(name, locked=())
    return set(free.joint_names) - set(whole.joint_names)


def test_grippers_are_of_names_and_not_of_files():
    assert set(GRIPPERS) <= set(urdf_files())
    assert usual_locked("franka") == usual_locked("panda") == FINGERS
    path = find_file("panda")
    assert usual_locked(str(path)) == usual_locked("chain5") == ()
    assert Robot.from_urdf(path).nv == Robot.named(str(path)).nv == Robot.named("panda").nv + 1


def test_other_joints_take_the_place_of_the_gripper():
    arm = Robot.named("panda", locked={"panda_joint7": 0.5})
    assert (arm.nv, arm.locked) == (7, {"panda_joint7": 0.5})


def test_a_description_is_as_it_was_where_nothing_is_locked():
    description: Description = arm()
    assert lock(description, ()).joints == description.joints


def test_locked_robot_has_the_schur_reduced_dynamics_of_the_full_one():
    """M⁻¹ of the reduced robot is the Schur complement of the locked block in the full one's."""
    full = Robot.named("panda", locked=())
    held = {"panda_joint3": 0.4, "panda_finger_joint1": 0.02}
    reduced = Robot.named("panda", locked=held)
    q, v = full.random_state(np.random.default_rng(4))
    q, v = full.q_from({n: q[full.joint(n).q] for n in full.joint_names} | held), v.copy()
    left = [k for k, name in enumerate(full.joint_names) if name not in held]
    gone = [k for k in range(full.nv) if k not in left]
    v[gone] = 0.0
    tau = np.random.default_rng(5).normal(size=full.nv)
    inverse = np.linalg.inv(full.mass_matrix(q))
    cross = inverse[np.ix_(left, gone)]
    schur = inverse[np.ix_(left, left)] - cross @ np.linalg.solve(
        inverse[np.ix_(gone, gone)], cross.T
    )
    push = (tau - full.bias(q, v))[left]
    own = reduced.forward_dynamics(q[left], v[left], tau[left])
    assert_agree(own, schur @ push, within=1e-10)
