"""Orders to whole-body sessions of a floating base: refused where they go far beyond reach, counted
from where the base is."""

import numpy as np
import pytest

from support.in_thread import InThread
from support.wholebody_cases import talos
from torqued.client import RequestError

HAND, SOLES = "gripper_left_joint", ("left_sole_link", "right_sole_link")
#: Where Talos stands, m: far from the world's origin, and at it.
PLACES = {"away": (300.0, -200.0, 1.0), "home": (0.0, 0.0, 1.0)}
BEYOND = r"from the base, expected at most .* in metres"


@pytest.fixture(scope="module")
def robot():
    return talos()


@pytest.fixture(scope="module")
def client(robot, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reach")
    with InThread(robot, folder, stale_after=60.0) as daemon, daemon.client() as client:
        yield client


@pytest.fixture(params=["wholebody", "balance"])
def opened(client, request):
    tasks = [{"kind": "frame", "frame": HAND, "name": "hand"}]
    if request.param == "wholebody":
        tasks += [{"kind": "com"}, {"kind": "posture"}]
    contacts = [{"frame": sole, "half_size": [0.1, 0.06]} for sole in SOLES]
    with client.session(request.param, tasks=tasks, contacts=contacts) as session:
        yield session


@pytest.fixture(params=PLACES)
def at(opened, robot, request):
    """The state that the session has had."""
    q = robot.neutral()
    q[:3] = PLACES[request.param]
    opened.step(q, np.zeros(robot.nv))
    return q


def test_frame_is_moved_within_reach_of_the_base_only(client, opened, robot, at):
    pose = robot.frame_pose(at, HAND)
    near, base = pose[:3, 3] + 0.02, at[:3]
    for order in (client.move, client.command):
        for far in (base + 1000.0 * (near - base), base + 9.0, base - 50.0):
            with pytest.raises(RequestError, match=BEYOND):
                order(opened.number, {"hand.position": far})
        order(opened.number, {"hand.position": near})
        client.hold(opened.number)


def test_reach_is_counted_from_the_base_and_not_from_the_world(client, opened, robot, at):
    other = next(np.array(place) for place in PLACES.values() if not np.allclose(place, at[:3]))
    for order in (client.move, client.command):
        with pytest.raises(RequestError, match=BEYOND):
            order(opened.number, {"hand.position": other})


def test_center_of_mass_is_moved_within_reach_only(client, opened, robot, at):
    name = next(name for name in opened.references if name.startswith("com"))
    near = robot.center_of_mass(at)
    for order in (client.move, client.command):
        with pytest.raises(RequestError, match=BEYOND):
            order(opened.number, {name: near + 1000.0})
        order(opened.number, {name: near})
        client.hold(opened.number)


@pytest.mark.parametrize("turn", [np.zeros(4), [0.0, 0.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
def test_orientation_of_an_order_is_a_unit_quaternion(client, opened, at, turn):
    for order in (client.move, client.command):
        with pytest.raises(RequestError, match="a quaternion has the length"):
            order(opened.number, {"hand.orientation": turn})


def test_pose_of_a_movement_is_a_pose(opened, robot, at):
    pose = robot.frame_pose(at, HAND)
    sheared = pose @ (np.eye(4) + 0.1 * np.eye(4, k=1))
    for wrong in (0.0 * pose, 2.0 * pose, pose * [1, 1, -1, 1], sheared):
        with pytest.raises(ValueError, match="not a rotation"):
            opened.move_to(wrong, motion="hand")
    assert opened.move_to(pose, motion="hand") > 0.0
