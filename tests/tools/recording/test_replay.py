"""Recordings through today's laws: the same to the last bit, or what differs and since when."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from support.served import serving
from torqued.common.status import SOLVER
from torqued.kernels import Robot
from torqued.server.observation.layout import REPEATED, USED
from torqued.tools.recording.recording import RecordedSession, RecordingError, read_recording
from torqued.tools.recording.replay import replay
from torqued.tools.recording.solver_rows import velocity_names

PERIOD = 1e-3
TURN = {"axes": [0, 0, 1, 0, 0, 0], "sensor": "wrench"}
PAYLOAD = {"frame": "link_5", "mass": 0.5, "center": [0.0, 0.1, 0.0]}
LAWS = {
    "gravity": {},
    "pd": {},
    "pd_plus": {"observer": True, "payload": PAYLOAD},
    "computed_torque": {"walls": True, "rate_limit": [30.0] * 8},
    "passivity": {"friction": {"viscous": 0.1, "coulomb": 0.2}, "integral": 1.0},
    "adaptive": {"frame": "link_5"},
    "impedance": {"frame": "link_5"},
    "stream": {"want": ["M", "C", "g"]},
}
#: With sensors in each state, and whether the robot follows positions.
SENSED = {
    "force": ("impedance", {"frame": "link_5", "axes_in": "frame", "force": TURN}),
    "wrench": ("impedance", {"frame": "link_5", "admittance": {}}),
    "torques": ("pd_plus", {"observer": True, "admittance": {"sensor": "torques"}}),
}
JOINT_LAWS = ("pd", "pd_plus", "computed_torque", "passivity", "adaptive")


@pytest.fixture(scope="module")
def robot():
    return Robot.family("tree", 8)


@pytest.fixture(scope="module")
def served(robot, tmp_path_factory):
    with serving(robot, tmp_path_factory.mktemp("ring")) as served:
        yield served


def drive(session, robot, law, ticks=120):
    rng = np.random.default_rng(0)
    for k in range(ticks):
        phase = 0.02 * k + np.arange(robot.nv)
        q, v = 0.2 * np.sin(phase), 4.0 * np.cos(phase)
        given = {"q_ref": q + 0.05 * rng.normal(size=robot.nq)} if law in JOINT_LAWS else {}
        session.step(q, v, timeout=60.0, at=1e-3 * k, **given)


def used_ticks(recorded):
    """Those whose torque was the law's: on a busy machine some states come late."""
    return int((recorded.ticks["mode"] & USED != 0).sum())


@pytest.mark.parametrize("law", LAWS)
def test_replay_is_the_same_to_the_last_bit(served, robot, law):
    with served.session(law, **LAWS[law]) as session:
        drive(session, robot, law)
    recorded = served.recorded(session.number)
    assert recorded.from_start and recorded.has_all
    result = replay(recorded, robot, PERIOD, 0.0)
    assert result.compared == used_ticks(recorded) > 50 and result.notes == []
    assert {item.name: item.bits for item in result.differences} == dict.fromkeys(
        [*(part.name for part in recorded.info.outputs), "status"], 0
    )


@pytest.mark.parametrize("case", SENSED)
def test_sensors_and_commanded_positions_replay_to_the_last_bit(served, robot, case):
    law, options = SENSED[case]
    rng, q, v = np.random.default_rng(0), robot.neutral(), np.zeros(robot.nv)
    with served.session(law, **options) as session:
        (sensor,) = session.measured
        size = 6 if sensor == "measured_wrench" else robot.nv
        for k in range(150):
            felt = {sensor: 0.2 * np.sin(0.03 * k) * rng.normal(size=size)}
            output = session.step(q, v, timeout=60.0, at=1e-3 * k, **felt)
            if "q_command" in session.outputs:
                q, v = output.q_command, output.v_command
            if k == 60:
                served.call("stop", session=session.number)
            if k == 100:
                session.resume()
    recorded = served.recorded(session.number)
    assert {part.name for part in recorded.info.state} >= {"q", "v", sensor}
    result = replay(recorded, robot, PERIOD, 0.0)
    assert result.compared == used_ticks(recorded) > 50 and result.skipped > 10
    assert all(item.bits == 0 for item in result.differences), result.differences
    assert case == "force" or "q_command" in {item.name for item in result.differences}


@pytest.mark.parametrize("several", [False, True])
def test_payload_in_the_older_spelling_is_replayed(served, robot, several):
    with served.session("pd_plus", payload=PAYLOAD) as session:
        drive(session, robot, "pd_plus", 20)
    recorded = served.recorded(session.number)
    older = {"centre" if key == "center" else key: value for key, value in PAYLOAD.items()}
    recorded.info.raw["options"]["payload"] = [older] if several else older
    result = replay(recorded, robot, PERIOD, 0.0)
    assert not any(item.bits for item in result.differences)


def test_gains_and_payload_that_change_are_replayed(served, robot):
    with served.session("pd_plus") as session:
        drive(session, robot, "pd_plus", 40)
        session.tune({"stiffness": 3.0}, over=0.02)
        session.set_payload("link_5", 0.7, over=0.02)
        drive(session, robot, "pd_plus", 60)
    recorded = served.recorded(session.number)
    assert len(recorded.gains) == len(recorded.loads) == 21
    assert all(item.bits == 0 for item in replay(recorded, robot, PERIOD, 0.0).differences)
    recorded.gains = recorded.gains[:1]
    result = {item.name: item for item in replay(recorded, robot, PERIOD, 1e-9).differences}
    assert result["tau"].first >= 40 and result["tau"].largest > 1e-3
    assert result["port"].first == -1  # which gains have no part in


def test_fallback_is_skipped_and_the_law_compared_after_it(served, robot):
    with served.session("passivity", observer=True) as session:
        drive(session, robot, "passivity", 30)
        served.call("stop", session=session.number)
        drive(session, robot, "passivity", 30)
        session.resume()
        drive(session, robot, "passivity", 60)
    recorded = served.recorded(session.number)
    used, repeated = (recorded.ticks["mode"] & bit != 0 for bit in (USED, REPEATED))
    assert used[:20].any() and not used.all()
    result = replay(recorded, robot, PERIOD, 0.0)
    assert result.compared == used.sum() and result.skipped == (~used & ~repeated).sum()
    assert all(item.bits == 0 for item in result.differences)


def test_another_robot_differs_from_the_first_tick_on(served, robot):
    with served.session("gravity") as session:
        drive(session, robot, "gravity", 30)
    recorded = served.recorded(session.number)
    heavier = Robot.family("tree", 8, seed=1)
    result = replay(recorded, heavier, PERIOD, 1e-9)
    tau = next(item for item in result.differences if item.name == "tau")
    first = int(recorded.ticks["index"][recorded.ticks["mode"] & USED != 0][0])
    assert not result.same and tau.first == first and tau.largest > 0.0
    differs = r"of robot 'tree9' differ: now tau \(9,\), .*recorded tau \(8,\)"
    with pytest.raises(RecordingError, match=differs):
        replay(recorded, Robot.family("tree", 9), PERIOD, 1e-9)


def test_recording_of_version_1_is_replayed():
    """Ticks without `walls`; and without repeated outputs: each was computed again."""
    recording = read_recording(Path(__file__).with_name("version1.mcap"))
    (session,) = recording.sessions.values()
    assert session.from_start and len(session.ticks) > 60
    result = replay(session, Robot.family("chain", 3), PERIOD, 1e-9)
    assert result.compared > 50 and result.same


def test_one_changed_number_is_found_in_its_tick(served, robot):
    with served.session("gravity") as session:
        drive(session, robot, "gravity", 60)
    recorded = served.recorded(session.number)
    recorded.ticks = recorded.ticks.copy()
    at = np.flatnonzero(recorded.ticks["mode"] & USED)[30]
    recorded.ticks["tau"][at, 3] += 0.25
    (tau,) = [i for i in replay(recorded, robot, PERIOD, 1e-9).differences if i.name == "tau"]
    index = int(recorded.ticks["index"][at])
    assert (tau.first, tau.at, tau.bits) == (index, index, 1)
    assert tau.largest == pytest.approx(0.25)


def test_recording_that_begins_in_the_middle_or_has_gaps_says_so(served, robot):
    with served.session("pd_plus") as session:
        drive(session, robot, "pd_plus", 100)
    whole = served.recorded(session.number)
    part = RecordedSession(whole.info, whole.ticks[40:], whole.gains, whole.loads)
    result = replay(part, robot, PERIOD, 1e-9)
    assert "not recorded from its start" in result.notes[0]
    assert result.same  # a law that remembers nothing goes on from the last torque
    holes = np.r_[0:60, 70 : len(whole.ticks)]
    result = replay(dataclasses.replace(whole, ticks=whole.ticks[holes]), robot, PERIOD, 1e-9)
    assert "ticks are missing" in result.notes[0] and result.same


FEET = [{"frame": "link_left_4"}, {"frame": "link_right_4"}]
STANDING = {
    "wholebody": {"tasks": [{"kind": "posture"}, {"kind": "com"}], "contacts": FEET},
    "balance": {"contacts": FEET},
}


@pytest.mark.parametrize("law", STANDING)
def test_solvers_replay_to_the_last_bit(law, tmp_path):
    robot = Robot.family("biped", 8)
    rng = np.random.default_rng(0)
    with serving(robot, tmp_path) as served, served.session(law, **STANDING[law]) as session:
        for _ in range(60):
            session.step(robot.neutral(), 0.02 * rng.normal(size=robot.nv), timeout=60.0)
        recorded = served.recorded(session.number)
    result = replay(recorded, robot, PERIOD, 0.0)
    assert result.compared == used_ticks(recorded) > 20
    assert all(item.bits == 0 for item in result.differences), result.differences


BOX = """<robot name="box"><link name="box"><inertial><mass value="3"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
UNDERSIDE = [[x, y, -0.1] for x in (0.1, -0.1) for y in (0.1, -0.1)]
TABLE = {"frame": "box", "points": UNDERSIDE, "max_force": 20.0}
WALL = {"frame": "link_3", "half_size": [0.1, 0.1], "max_force": 0.0}
STILL = {"torque": 0.0, "position": False, "velocity": False, "acceleration": 1e-3}


@pytest.mark.parametrize(
    ("robot", "options", "violated", "expected"),
    [
        (  # a table that must not be leant on
            lambda: Robot.from_xml(BOX, base="floating"),
            {"tasks": [{"kind": "com"}], "contacts": [TABLE]},
            "friction",
            ["normal force of contact 'box', at most 20 N", "dynamics of the base, linear z"],
        ),
        (  # a hand that must not move, held by nothing but weak motors
            lambda: Robot.family("chain", 3),
            {"tasks": [{"kind": "posture"}], "contacts": [WALL], "limits": {"torque": 0.01}},
            "torque",
            ["torque of joint_", "contact 'link_3' stays"],
        ),
        (  # an arm that must not fall, without motors
            lambda: Robot.family("chain", 3),
            {"tasks": [{"kind": "posture"}], "limits": STILL},
            "joint_limits",
            ["within its limits, -0.001 … 0.001", "torque of joint_1"],
        ),
    ],
)
def test_solver_that_failed_names_the_rows_that_contradict_each_other(
    tmp_path, robot, options, violated, expected
):
    robot = robot()
    q = robot.neutral() if robot.model.base == "floating" else np.array([0.3, -0.4, 0.5])
    with serving(robot, tmp_path) as served, served.session("wholebody", **options) as session:
        for _ in range(5):
            session.step(q, np.zeros(robot.nv), timeout=60.0)
        recorded = served.recorded(session.number)
    result = replay(recorded, robot, PERIOD, 0.0, solver=True)
    once = recorded.ticks["mode"] & REPEATED == 0
    failed = int((recorded.ticks["status"][once] & SOLVER != 0).sum())
    assert len(result.contradictions) == failed >= 1
    assert all(item.bits == 0 for item in result.differences), result.differences
    for item in result.contradictions:
        assert item.violated == violated
        for words in expected:
            assert any(words in row for row in item.rows), item.rows


def test_every_velocity_has_a_name():
    biped = Robot.family("biped", 8)
    names = velocity_names(biped)
    assert len(names) == len(set(names)) == biped.nv
    assert all(names) and names[3].endswith(", linear x")
    assert velocity_names(Robot.family("chain", 3)) == ["joint_1", "joint_2", "joint_3"]
