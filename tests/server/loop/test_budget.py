"""The loop's time: measured before a session opens, and kept to afterwards."""

import numpy as np
import pytest

from support.daemons import daemon_of
from support.eventually import eventually
from support.in_thread import InThread
from torqued.client import errors
from torqued.common.status import FALLBACK, OVERRUN
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.server.loop import budget
from torqued.server.loop.session_tick import MIN_ITERATIONS

PERIOD = 1e-3


daemon = daemon_of("biped8", "--base", "floating")


def points(count):
    """Contacts with so many points in all."""
    angles = np.linspace(0.0, 6.0, 16)
    corners = np.stack([0.1 * np.cos(angles), 0.1 * np.sin(angles), 0.0 * angles], axis=1)
    frames = ["link_left_4", "link_right_4", "link_left_3", "link_right_3"]
    return [
        {"name": f"c{k}", "frame": frames[k % 4], "points": corners.tolist()}
        for k in range(count // 16)
    ]


def test_more_frames_than_a_tick_can_have_are_refused_before_anything_is_computed(client):
    name = client.hello().frames[0]
    with pytest.raises(errors.FieldError, match="frames: 40000 names, at most"):
        client.call("open", law="stream", want=["J", "pose"], frames=[name] * 40_000)
    with pytest.raises(errors.FieldError, match="frames has 300 items, at most 256"):
        client.call("open", law="stream", want=["J", "pose"], frames=[name] * 300)


def test_frames_that_are_too_large_are_refused():
    with pytest.raises(errors.MessageError, match=r"output frames .* 2000000 bytes, at most"):
        budget.check_frame("output", 2_000_000)


def test_session_that_takes_longer_than_a_tick_is_refused_and_others_go_on(folder, monkeypatch):
    robot = Robot.family("biped", 8, base="floating")
    q, v = robot.neutral(), np.zeros(robot.nv)
    heavy = {"law": "wholebody", "tasks": [{"kind": "posture"}], "contacts": points(64)}
    with (
        InThread(robot, folder, stale_after=60.0) as daemon,
        daemon.client() as client,
        client.session("gravity") as session,
    ):
        assert session.step(q, v).status == 0
        monkeypatch.setattr(budget, "_seconds", lambda _: PERIOD)
        with pytest.raises(errors.OperationError, match=r"takes 10\d\d µs, and the loop") as caught:
            client.call("open", **heavy)
        assert caught.value.code == "busy"
        assert session.step(q, v).status == 0


def test_what_sessions_need_adds_up():
    budget.check_budget(100e-6, [200e-6, 300e-6], PERIOD)
    with pytest.raises(errors.OperationError, match="has 155 µs left of its period of 1000 µs"):
        budget.check_budget(200e-6, [200e-6, 300e-6], PERIOD)


def test_cost_is_the_least_of_the_dearest_state(monkeypatch):
    controller = Controller(Robot.family("chain", 3), "gravity")
    assert budget.measured_cost(controller) > 0.0
    seconds = iter([3.0, 2.0, 4.0, 7.0, 5.0, 6.0, 1.0, 9.0, 8.0])
    monkeypatch.setattr(budget, "_seconds", lambda _: next(seconds))
    assert budget.measured_cost(controller) == 5.0


def test_trial_ends_with_the_first_state_that_takes_too_long(monkeypatch):
    tried = []
    monkeypatch.setattr(budget, "_seconds", lambda *_: tried.append(0.02) or 0.02)
    controller = Controller(Robot.family("chain", 3), "gravity")
    assert budget.measured_cost(controller, enough=1e-3) == 0.02
    assert len(tried) == 2  # once more, as the first may have been unlucky
    tried.clear()
    assert budget.measured_cost(controller, enough=1.0) == 0.02
    assert len(tried) == budget.STATES * budget.TIMES


@pytest.mark.parametrize("iterations", [5, 200])
def test_solver_is_tried_with_the_iterations_that_it_always_has(monkeypatch, iterations):
    """In most random states a humanoid cannot stand: what looking for a way takes says nothing."""
    robot = Robot.family("biped", 8, base="floating")
    options = {"tasks": [{"kind": "posture"}], "contacts": points(16), "iterations": iterations}
    controller = Controller(robot, "wholebody", **options)
    seen = set()
    record = controller.record[0]
    monkeypatch.setattr(budget, "_seconds", lambda _: seen.add(int(record.iterations)) or 1e-4)
    budget.measured_cost(controller)
    assert seen == {min(iterations, MIN_ITERATIONS)}


def test_large_frames_cost_time_too(folder):
    """Sessions that compute little and send 246 kB in each tick: at most two, as 1 ns a byte."""
    robot = Robot.family("chain", 20)
    options = {"want": ["J"], "frames": [robot.frame_names[0]] * 256}
    with (
        InThread(robot, folder) as daemon,
        daemon.client() as client,
        pytest.raises(errors.OperationError, match="ask for less, close another session"),
    ):
        for _ in range(3):
            client.call("open", law="stream", **options)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tasks": [{"kind": "posture"}] * 65}, "tasks"),
        ({"contacts": [{"frame": "link_left_4"}] * 33}, "contacts"),
        (
            {"contacts": [{"frame": "link_left_4", "points": np.zeros((17, 3))}]},
            r"contacts\[0\].points",
        ),
        ({"contacts": points(80)}, "contacts: points"),
    ],
)
def test_programs_of_a_tick_are_bounded(options, field):
    robot = Robot.family("biped", 8, base="floating")
    with pytest.raises(InputError, match=f"{field} has .* items, at most"):
        Controller(robot, "wholebody", **options)


def test_session_that_overruns_is_demoted_and_others_are_not(folder):
    """With a share of nothing: any law uses more than that."""
    robot = Robot.family("chain", 6)
    q, v = robot.neutral() + 0.2, np.zeros(robot.nv)
    with (
        InThread(robot, folder, stale_after=60.0) as daemon,
        daemon.client() as client,
        client.session("passivity", low_pass=0.0) as greedy,
        client.session("passivity") as modest,
    ):
        good = greedy.step(q, v).tau
        servo = daemon.daemon.servo
        record = servo.shared.sessions[servo.sessions[greedy.number].slot]
        record.share = 1
        seen = set()
        for _ in range(2000):
            output = greedy.step(q, v)
            seen.add(output.status)
            if output.status:
                assert output.status == OVERRUN | FALLBACK
            assert np.array_equal(output.tau, good)  # held, as it is not old
            assert modest.step(q, v).status == 0
            if OVERRUN | FALLBACK in seen and record.overruns > 100:
                break
        assert OVERRUN | FALLBACK in seen
        record.share = 1_000_000
        greedy.resume()
        eventually(lambda: greedy.step(q, v).status == 0)  # it recovers


def test_solver_stops_when_its_iterations_are_used_up():
    """Far from where it should be, the robot meets limits that one iteration does not find."""
    robot = Robot.family("biped", 8, base="floating")
    feet = [{"frame": "link_left_4"}, {"frame": "link_right_4"}]
    tasks = [{"kind": "posture"}, {"kind": "com"}]
    limits = {"torque": np.full(robot.nv, 3.0)}
    made = [
        Controller(robot, "wholebody", tasks=tasks, contacts=feet, limits=limits) for _ in range(2)
    ]
    q, v = robot.neutral(), np.zeros(robot.nv)
    far = {"com.position": robot.center_of_mass(q) + np.array([0.5, 0.4, 0.3])}
    taken = int(made[0].torque(q, v, **far).iterations[0])
    assert taken > 3
    made[1].record[0].iterations = 1
    bounded = made[1].torque(q, v, **far)
    assert bounded.status == ["SOLVER"]
    assert int(bounded.iterations[0]) < taken
