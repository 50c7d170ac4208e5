"""Lua files of RBDL: what RBDL makes of them, and what they may not do."""

from __future__ import annotations

import os
import random
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest

from support.agreement import assert_agree, largest
from support.robots import random_motion
from torqued.kernels import Contact, Loop, ModelError, ModelWarning, Robot
from torqued.kernels.formats import lua
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sources import read_file
from torqued.kernels.formats.urdf import read_urdf
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.description import Description, Inertia, Joint, Limits, Link, Pose
from torqued.kernels.model.rotations import rotation_from_rpy

EXAMPLES = os.environ.get("TORQUED_RBDL", "")
R = rotation_from_rpy(0.3, -0.5, 0.8)
BODY = {"mass": 2.0, "com": [0.1, 0.2, -0.3], "inertia": [[1, 0, 0], [0.1, 2, 0], [0.2, 0.3, 2.5]]}
INERTIA = Inertia(
    2.0,
    np.array([0.1, 0.2, -0.3]),
    np.array([[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 2.5]]),
)
PLACED = {"r": [0.1, -0.2, 0.5], "E": R.T}


def frame(name: str, parent: str, joint: Any = (), **more: Any) -> dict[str, Any]:
    given = {"body": BODY, "joint_frame": PLACED}
    return {"name": name, "parent": parent, "joint": joint, **given, **more}


X, Y, Z = [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]
U, V, W = [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]
FRAMES = [
    frame("slider", "ROOT", [V]),
    frame("hip", "slider", ["JointTypeEulerYXZ"]),
    frame("knee", "hip", [Y, X, [0, 0, 0, 0.6, 0, 0.8]]),
    frame("screw", "knee", [[0, 0, 1, 0, 0, 0.1]]),
    frame("plate", "screw"),
    frame("zyx", "plate", ["JointTypeEulerZYX"]),
    frame("xyz", "hip", ["JointTypeEulerXYZ"]),
    frame("crane", "xyz", ["JointTypeTranslationXYZ"]),
    frame("ball", "crane", ["JointTypeSpherical"]),
    frame("tip", "ball", body={}),
]
#: E of RBDL's joints ([RBDL] src/Joint.cc), angles in the order of q.
TURNS = {
    "JointTypeEulerYXZ": (1, 0, 2),
    "JointTypeEulerZYX": (2, 1, 0),
    "JointTypeEulerXYZ": (0, 1, 2),
}


def text_of(value: Any) -> str:
    """As Lua writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {text_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple | np.ndarray):
        return "{" + ", ".join(text_of(item) for item in value) + "}"
    if isinstance(value, str | bool):
        return str(value).lower() if isinstance(value, bool) else f"'{value}'"
    return repr(float(value))


def model(frames: Any = FRAMES, **more: Any) -> str:
    return f"return {text_of({'gravity': [0, 0, -9.81], 'frames': frames, **more})}"


def read(text: str) -> Description:
    return lua.read_lua(RobotFile(text, "robot.lua"))


def loaded(description: Description) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Robot.from_description(description, description.base or "fixed")


def problem(text: str) -> str:
    with pytest.raises(ModelError) as caught:
        read(text)
    assert str(caught.value).startswith("robot.lua: ")
    return str(caught.value)


def assert_same_dynamics(first: Robot, second: Robot, within: float = 1e-12) -> None:
    q, v, a = random_motion(first)
    M = first.mass_matrix(q)
    assert_agree(second.mass_matrix(q), M, within=within)
    tau, size = first.inverse_dynamics(q, v, a), 10.0 * largest(M)
    assert_agree(second.inverse_dynamics(q, v, a), tau, within=within, size=size)


def turned(angle: float, axis: Any) -> Any:
    """Xrot of RBDL: coordinates from before the turn to after it."""
    x = np.asarray(axis, np.float64)
    s, c = np.sin(angle), np.cos(angle)
    K = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    return (c * np.eye(3) + s * K + (1 - c) * np.outer(x, x)).T


def poses_of_rbdl(q: Any) -> dict[str, tuple[Any, Any]]:
    """E (from the world's coordinates) and position of each frame: X_J, X_T, then the parent's."""
    found, k = {"ROOT": (np.eye(3), np.zeros(3))}, 0
    for item in FRAMES:
        E, r = found[item["parent"]]
        r = r + E.T @ np.asarray(PLACED["r"])
        E = np.asarray(PLACED["E"]) @ E
        joint = item["joint"]
        if joint and str(joint[0]) in TURNS:
            for axis in TURNS[joint[0]]:
                E, k = turned(q[k], np.eye(3)[axis]) @ E, k + 1
        elif joint == ["JointTypeTranslationXYZ"]:
            r, k = r + E.T @ q[k : k + 3], k + 3
        elif joint == ["JointTypeSpherical"]:
            x, y, z, w = q[k : k + 4]
            K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            E, k = (np.eye(3) + 2 * w * K + 2 * K @ K).T @ E, k + 4
        else:
            for row in joint:
                r = r + E.T @ np.asarray(row[3:]) * q[k]
                E = turned(q[k], row[:3]) @ E if any(row[:3]) else E
                k += 1
        found[item["name"]] = E, r
    return found


def test_frames_are_where_rbdl_has_them_in_its_order_of_q():
    robot = loaded(read(model()))
    q, _, _ = random_motion(robot)
    for name, (E, r) in poses_of_rbdl(q).items():
        pose = robot.frame_pose(q, name)
        assert_agree(pose[:3, :3], E.T, within=1e-13)
        assert_agree(pose[:3, 3], r, within=1e-13, size=1.0)


def test_robot_is_the_one_written_by_hand():
    at = Pose(R, np.array([0.1, -0.2, 0.5]))
    x, y, z = np.eye(3)
    motions = (("revolute", y), ("revolute", x), ("prismatic", np.array([0.6, 0.0, 0.8])))
    joints = (
        Joint("a", "prismatic", "ROOT", "slider", at, y),
        Joint("b", "euler_yxz", "slider", "hip", at),
        Joint("c", "generic", "hip", "knee", at, motions=motions),
        Joint("d", "helical", "knee", "screw", at, z, pitch=0.1),
        Joint("e", "fixed", "screw", "plate", at),
        Joint("f", "euler_zyx", "plate", "zyx", at),
        Joint("g", "euler_xyz", "hip", "xyz", at),
        Joint("h", "translation", "xyz", "crane", at),
        Joint("i", "spherical", "crane", "ball", at),
    )
    links = (Link("ROOT"), *(Link(joint.child, INERTIA) for joint in joints))
    by_hand = Description("robot", links, joints, base="fixed")
    assert_same_dynamics(loaded(by_hand), loaded(read(model())))


def test_what_is_not_symmetric_or_missing_is_what_rbdl_takes_with_a_note():
    frames = [frame("a", "ROOT", [X], body={"mass": 1}), frame("b", "a", [X])]
    robot = read(model(frames))
    np.testing.assert_array_equal(robot.links[1].inertia.rotational, np.eye(3))
    np.testing.assert_array_equal(robot.links[2].inertia.rotational, INERTIA.rotational)
    assert "for which RBDL takes 1 kg m²" in robot.notes[0]
    assert "what is below its diagonal counts" in robot.notes[1]
    bare = read(f"return {text_of({'frames': frames})}")
    assert bare.gravity is None and any("0, -9.81, 0" in note for note in bare.notes)
    assert robot.gravity == (0.0, 0.0, -9.81)


def test_floating_base_is_the_root_and_six_rows_stay_a_chain():
    free = frame("trunk", "ROOT", ["JointTypeFloatingBase"], joint_frame={"E": np.eye(3)})
    robot = read(model([free, frame("leg", "trunk", [Y])]))
    assert robot.base == "floating" and [link.name for link in robot.links] == ["trunk", "leg"]
    assert loaded(robot).nv == 7
    placed = read(model([frame("trunk", "ROOT", ["JointTypeFloatingBase"])]))
    assert placed.base == "fixed" and placed.joints[0].type == "floating"
    chain = loaded(read(model([frame("trunk", "ROOT", [U, V, W, Z, Y, X])])))
    kinds = [joint.type for joint in taken_apart(read(model([frame("a", "ROOT", [U, Z])]))).joints]
    assert chain.nq == 6 and kinds == ["prismatic", "revolute"]


def test_order_of_q_that_is_not_rbdls_is_told():
    frames = [frame("a", "ROOT", [X]), frame("b", "ROOT", [X]), frame("c", "a", [X])]
    assert "q is not in RBDL's order but in: a, c, b" in " ".join(read(model(frames)).notes)
    assert not any("order" in note for note in read(model()).notes)


PLACES = {
    "points": [{"name": "toe", "body": "knee", "point": [1, 2, 3]}],
    "local_frames": [
        {"name": "a", "body": "knee", "r": [0.1, 0.2, 0.3], "E": R},
        {"name": "toe", "body": "ball", "r": [0.3, 0.2, 0.1], "E": R @ R},
        {"name": "ground", "body": "ROOT", "r": [0.1, 0.2, 0.3], "E": R},
    ],
}


def test_points_and_local_frames_are_links_and_E_of_a_local_frame_is_its_rotation():
    robot = read(model(**PLACES))
    q, _, _ = random_motion(loaded(robot))
    knee, toe, a = (loaded(robot).frame_pose(q, name) for name in ("knee", "toe", "a"))
    assert_agree(toe[:3, 3], knee[:3, :3] @ [1, 2, 3] + knee[:3, 3], within=1e-13)
    assert_agree(a[:3, :3], knee[:3, :3] @ R, within=1e-13)
    assert any("'toe_local_frame'" in note for note in robot.notes)


def test_contacts_are_those_of_rbdl():
    contact = {"constraint_type": "contact"}
    normals = {**contact, "point_name": "toe", "normal_sets": [[0, 0, 1], [1, 0, 0]]}
    all_three = {**normals, "normal_sets": np.eye(3)[[2, 0, 1]]}
    one = {**contact, "body": "ball", "point": [1, 0, 0], "normal": [0.6, 0.8, 0]}
    sets = {"feet": [normals, one], "held": [all_three]}
    robot = read(model(**PLACES, constraint_sets=sets))
    assert robot.constraints["held"] == (Contact("knee", "point", (1.0, 2.0, 3.0)),)
    body = loaded(robot)
    q, v, _ = random_motion(body)
    terms = body.constraint_terms(q, v, robot.constraints["feet"])

    def heights(time: float) -> Any:  # of the points along the normals: G v is their rate
        now = body.integrate(q, v, time)
        knee, ball = (body.frame_pose(now, name) for name in ("knee", "ball"))
        toe, tip = knee @ [1, 2, 3, 1], ball @ [1, 0, 0, 1]
        return np.array([toe[2], toe[0], 0.6 * tip[0] + 0.8 * tip[1]])

    assert_agree(terms.G @ v, (heights(1e-5) - heights(-1e-5)) / 2e-5, within=1e-7)


def test_loops_are_those_of_rbdl():
    """Errors of LoopConstraint::calcPositionError, and their rates where the loop is closed."""
    sides = {"predecessor_local_frame": "p", "successor_body": "b"}
    sides["successor_transform"] = {"r": [0.3, 0.2, 0.1], "E": R @ R}
    more = {"constraint_type": "loop", "enable_stabilization": True, "stabilization_parameter": 0.2}
    axes = [X, Z, V, [0, 0, 0, 0.6, 0, 0.8]]
    frames = [
        frame(name, "ROOT", [kind], body=BODY)
        for name, kind in (("a", "JointTypeFloatingBase"), ("b", "JointTypeFloatingBase"))
    ]
    places = [{"name": "p", "body": "a", "r": [0.1, 0.2, 0.3], "E": R}]
    sets = {"hinge": [{**sides, **more, "axis_sets": axes}, {**sides, **more, "axis": Y}]}
    robot = read(model(frames, local_frames=places, constraint_sets=sets))
    loops = robot.constraints["hinge"]
    assert [loop.held for loop in loops] == [("rx", "rz", "y"), ("z",), ("ry",)]
    assert all((loop.stiffness, loop.damping) == pytest.approx((25.0, 10.0)) for loop in loops)
    body = loaded(robot)
    q, v, _ = random_motion(body)
    Kp, Ks = np.eye(4), np.eye(4)
    Kp[:3, :3], Kp[:3, 3], Ks[:3, :3], Ks[:3, 3] = R, [0.1, 0.2, 0.3], R @ R, [0.3, 0.2, 0.1]

    def errors(q: Any) -> Any:
        A, B = body.frame_pose(q, "a") @ Kp, body.frame_pose(q, "b") @ Ks
        C = A[:3, :3].T @ B[:3, :3]
        turn = -0.5 * np.array([C[1, 2] - C[2, 1], C[2, 0] - C[0, 2], C[0, 1] - C[1, 0]])
        shift = A[:3, :3].T @ (B[:3, 3] - A[:3, 3])
        rows = np.concatenate([turn, shift])
        return np.array([rows @ axis for axis in (X, Z, V, axes[3], Y)])

    closed = body.assemble(q, [Loop("b", "p", "weld", target=np.linalg.inv(Ks))])
    assert closed.converged and largest(errors(closed.q)) < 1e-9
    terms = body.constraint_terms(closed.q, v, loops)
    later, before = (errors(body.integrate(closed.q, v, time)) for time in (1e-5, -1e-5))
    assert_agree(terms.G @ v, (later - before) / 2e-5, within=1e-7)


def test_loop_with_the_world_holds_either_side_of_a_floating_base():
    free = {**frame("trunk", "ROOT", ["JointTypeFloatingBase"])}
    del free["joint_frame"]
    loop = {"constraint_type": "loop", "predecessor_body": "trunk"}
    loop |= {"successor_local_frame": "ground", "axis_sets": [X, Y, Z, U, V, W]}
    places = [PLACES["local_frames"][2]]
    sets = {"weld": [loop]}
    robot = read(model([free], local_frames=places, constraint_sets=sets))
    (held,) = robot.constraints["weld"]
    assert (held.frame, held.other) == ("trunk", None) and "ground" in " ".join(robot.notes)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, [0.1, 0.2, 0.3]
    np.testing.assert_allclose(held.target, pose, atol=1e-15)
    loop["axis_sets"] = [X, U]
    assert "successor is ROOT" in problem(model([free], local_frames=places, constraint_sets=sets))


@pytest.mark.parametrize(
    "frames, words",
    [
        ([], "the file: 'frames' is missing"),
        ([{"parent": "ROOT"}], "frame number 1: 'name' is missing"),
        ([frame("", 1)], "frame number 1: 'parent' is 1.0, expected a text"),
        ([frame("a", "ROOT"), frame("a", "ROOT")], "frame 'a': another frame above has this name"),
        ([frame("a", "ROOT"), frame("a", "a")], "frame 'a': another frame above has this name"),
        ([frame("ROOT", "ROOT")], "frame 'ROOT': another frame above has this name"),
        ([frame("a", "b"), frame("b", "ROOT")], "parent 'b' is unknown, allowed: ROOT or a frame"),
        ([frame("a", "ROOT", ["Hinge"])], "joint 'Hinge' is unknown, allowed: JointTypeSpherical"),
        ([frame("a", "ROOT", [[1, 0, 0]])], "expected k × 6 finite numbers"),
        ([frame("a", "ROOT", [[0] * 6])], "is not a motion"),
        ([frame("a", "ROOT", [[1.7e308] * 6])], "is not a motion"),
        ([frame("a", "ROOT", [[0, 0, 1, 0.1, 0, 0]])], "slides across its axis"),
        ([frame("a", "ROOT", [X, [0, 0, 1, 0, 0, 1]])], "is one among several"),
        ([frame("a", "ROOT", body={"com": [0, 0, 0]})], "frame 'a': 'body': 'mass' is missing"),
        ([frame("a", "ROOT", body={"mass": "1"})], "'mass' is '1', expected a finite number"),
        ([frame("a", "ROOT", joint_frame={"E": np.diag([1, 0, 1])})], "is not a rotation"),
        ([frame("a", "ROOT", joint_frame={"r": [0, 0]})], "'r' is [0.0, 0.0], expected 3 finite"),
    ],
)
def test_faults_name_frame_value_and_what_is_allowed(frames, words):
    assert words in problem(model(frames))


def test_all_faults_of_a_file_come_at_once():
    loop = {"constraint_type": "loop", "enable_stabilization": True}
    loop["stabilization_parameter"] = 1e-200
    sets = {"s": [{"constraint_type": "glue"}, {"constraint_type": "contact", "body": "x"}, loop]}
    frames = [frame("a", "ROOT", ["Hinge"]), frame("b", "nothing", body={"mass": -1})]
    said = problem(model(frames, constraint_sets=sets, points=[{"name": "p", "body": "c"}]))
    for words in ("'Hinge'", "'nothing'", "'glue'", "body 'x'", "body 'c'", "normal", "mass -1.0"):
        assert words in said
    assert "stabilization_parameter 1e-200 is below 1e-06 s" in said


def test_what_has_no_counterpart_is_named():
    frames = [frame("a", "ROOT", [X], markers={"m": [1, 2, 3]}, visuals=[{}])]
    notes = " ".join(read(model(frames, muscles={"m": 1})).notes)
    for words in ("frame 'a': 'markers'", "frame 'a': 'visuals'", "the file: 'muscles'"):
        assert f"{words} is ignored" in notes


@pytest.fixture
def brief(monkeypatch):
    monkeypatch.setattr(lua, "CPU_SECONDS", 1)


ENDLESS = "local t = {} while true do end"
PROGRAMS = {
    "loop": ENDLESS,
    "pcall": f"while true do pcall(function() {ENDLESS} end) end",
    "coroutine": f"coroutine.wrap(function() {ENDLESS} end)()",
    "pattern": "return {('a'):rep(40):find(('a*'):rep(40) .. 'b')}",
    "string": "return {('x'):rep(1e9)}",
    "table": "local t = {} for i = 1, 1e9 do t[i] = {} end return t",
    "recursion": "local function f() return f() + 1 end return f()",
    "values": "local t = {} for i = 1, 3e5 do t[i] = i end return t",
    "parentheses": "return " + "(" * 100_000,
    "bytecode": "\x1bLua",
    "nothing": "",
    "error": "error({})",
    "list": "return {{}}",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_do_not_end_or_take_too_much_are_refused(brief, program):
    problem(PROGRAMS[program])


@pytest.mark.parametrize(
    "name", ["os", "io", "require", "dofile", "loadfile", "load", "debug", "package", "python"]
)
def test_programs_reach_nothing_outside(name):
    assert f"nil value (global '{name}')" in problem(f"{name}.x()")
    assert "returns a nil, expected a table" in problem(f"return _G.{name}")


def test_table_is_read_as_it_is():
    trap = "setmetatable(t, {__index = error, __pairs = error, __len = error}) t.self = t"
    text = f"local t = (function() {model()} end)() print('read') {trap} return t"
    assert_same_dynamics(loaded(read(model())), loaded(read(text)))
    assert "line 2: unexpected symbol" in problem("x = 1\n= 2")


def test_row_of_zeros_that_an_example_of_rbdl_has_is_completed():
    E = [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]
    read_model = read(model([frame("a", "ROOT", [X], joint_frame={"E": E})]))
    np.testing.assert_array_equal(read_model.joints[0].placement.rotation.T[2], [0, 0, 1])
    assert any("was made the cross product" in note for note in read_model.notes)


def test_mutated_files_give_a_robot_or_one_error(brief):
    text, generator, outcomes = model(**PLACES), random.Random(0), set()
    for _ in range(150):
        a = generator.randrange(len(text))
        part = generator.choice(["", "{", "}", "1e308", "nil", "'x'", ",", "-", "0/0", "ROOT"])
        try:
            outcomes.add(bool(read(text[:a] + part + text[a + generator.randint(0, 8) :]).links))
        except ModelError:
            outcomes.add(None)
    assert outcomes == {True, None}


@pytest.mark.skipif(not EXAMPLES, reason="TORQUED_RBDL names no folder of RBDL")
@pytest.mark.parametrize("path", sorted(Path(EXAMPLES).rglob("*.lua")) if EXAMPLES else [])
def test_examples_of_rbdl_are_the_same_robots_as_urdf_and_in_pinocchio(path):
    description = read_file(path)
    robot, plain = loaded(description), taken_apart(description)
    wide = Limits(-9.0, 9.0, 9.0, 9.0)  # without any, urdfdom refuses the text
    joints = tuple(replace(joint, limits=wide) for joint in plain.joints)
    urdf = to_urdf(replace(plain, joints=joints))
    said = {"base": description.base, "gravity": description.gravity}
    again = loaded(replace(read_urdf(RobotFile(urdf)), **said))
    assert_same_dynamics(robot, again)
    q, v, a = random_motion(robot)
    for held in description.constraints.values():
        first, second = (r.contact_dynamics(q, v, a, held) for r in (robot, again))
        assert_agree(second.a, first.a, within=1e-9)
    if {joint.type for joint in plain.joints} <= {"fixed", "revolute", "prismatic"}:
        other = pinocchio.buildModelFromXML(urdf)
        other.gravity.linear = robot.gravity_vector
        places = [other.joints[other.getJointId(name)].idx_v for name in robot.joint_names]
        theirs = [x[np.argsort(places)] for x in (q, v, a)]
        M = pinocchio.crba(other, other.createData(), theirs[0])
        assert_agree(M[np.ix_(places, places)], robot.mass_matrix(q), within=1e-12)
        tau = pinocchio.rnea(other, other.createData(), *theirs)
        assert_agree(tau[places], robot.inverse_dynamics(q, v, a), within=1e-11)
