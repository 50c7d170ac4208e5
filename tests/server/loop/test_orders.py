"""Orders to sessions: hold, move, resume, stop; drivers and commanders as different clients."""

import os
import random
import re
import threading

import numpy as np
import pytest

from support.eventually import PATIENCE, eventually
from support.fuzzing import fields_for, good_fields
from support.in_thread import InThread
from torqued.client import OperationError, RequestError, TorquedError, errors
from torqued.common.status import FALLBACK, LIMITED_REFERENCE, STALE, STOPPED
from torqued.kernels import Robot

NV = 3

#: Each makes something of a pose that is none, and what is said of it.
WRONG_POSES = [
    (lambda pose: 0.0 * pose, "not a rotation, RᵀR differs from the identity by 1"),
    (lambda pose: 2.0 * pose, "not a rotation, RᵀR differs from the identity by 3"),
    (lambda pose: pose.T, "last row is .*, expected 0 0 0 1; is it transposed"),
    (lambda pose: pose * [1, 1, -1, 1], "not a rotation but a reflection"),
    (lambda pose: pose @ (np.eye(4) + 0.1 * np.eye(4, k=1)), "not a rotation, RᵀR"),
]


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", NV)


@pytest.fixture
def daemon(robot, folder):
    with InThread(robot, folder, stale_after=60.0) as daemon:
        yield daemon


class Driver:
    """A robot that goes wherever its references are: states follow what `look` says."""

    def __init__(self, daemon, robot, law="pd", **options):
        self.robot, self.client = robot, daemon.client()
        # It stands still whatever its torques are: encoders that do are frozen.
        self.session = self.client.session(law, frozen_after=0.0, **options)
        self.q, self.v = robot.neutral() + 0.1, np.zeros(robot.nv)
        self.references = {}
        self.statuses = set()
        self.pause = threading.Lock()  # whoever has it keeps states, and so time, from going on
        self._stop = threading.Event()
        self._daemon = daemon
        self.newest = self.session.step(self.q, self.v)
        self._thread = threading.Thread(target=self._drive, daemon=True)
        self._thread.start()

    def _drive(self):
        while not self._stop.is_set():
            with self.pause:
                output = self.session.step(self.q, self.v, **self.references)
            self.statuses.add(output.status)
            self.newest = output
            if output.is_last:
                return

    def close(self):
        self._stop.set()
        self._thread.join()
        self.session.close()
        self.client.close()


@pytest.fixture
def driver(daemon, robot):
    driver = Driver(daemon, robot)
    yield driver
    driver.close()


@pytest.fixture
def commander(daemon):
    with daemon.client() as client:
        yield client


def reference(client, number):
    return client.look(number).references["q_ref"]


def test_session_holds_until_it_is_moved_and_then_holds_there(driver, commander):
    number = driver.session.number
    commander.take(number, lease=60.0)
    assert commander.look(number).mode == "holding"
    goal = driver.q + 0.3
    assert commander.move(number, {"q_ref": goal}, seconds=2.0) == pytest.approx(2.0)
    seen = []
    eventually(lambda: seen.append(reference(commander, number)) or seen[-1][0] == goal[0])
    seen = np.array(seen)[:, 0]
    assert (np.diff(seen) >= -1e-12).all()  # on its way, and no other
    eventually(lambda: commander.look(number).mode == "holding")
    assert np.allclose(reference(commander, number), goal)


def test_looks_in_the_middle_of_a_tick_see_one_tick_whole(driver, commander):
    """Time, way and velocity of a movement belong together in every look."""
    number = driver.session.number
    commander.take(number, lease=60.0)
    with driver.pause:
        commander.move(number, {"q_ref": driver.q + 0.3}, seconds=2.0)
        looks = [commander.look(number)]
    eventually(lambda: looks.append(commander.look(number)) or looks[-1].mode == "holding", pause=0)
    moving = [look for look in looks if look.mode == "moving"]
    s = 1.0 - np.array([look.remaining for look in moving]) / 2.0
    way = np.array([look.references["q_ref"] for look in moving]) - driver.q
    velocity = np.array([look.references["v_ref"] for look in moving])
    assert moving[0].remaining == 2.0
    for k in range(NV):
        assert np.allclose(way[:, k], 0.3 * s**3 * (10.0 - 15.0 * s + 6.0 * s**2), atol=1e-9)
        assert np.allclose(velocity[:, k], 0.15 * 30.0 * s**2 * (1.0 - s) ** 2, atol=1e-9)


def test_movement_shorter_than_limits_allow_is_refused_with_the_least(driver, commander):
    number = driver.session.number
    commander.take(number, lease=60.0)
    with pytest.raises(errors.FieldError, match=r"seconds is 0.001, expected 0\.\d+ …"):
        commander.move(number, {"q_ref": driver.q + 0.3}, seconds=0.001)
    with pytest.raises(errors.FieldError, match="references: 'v_ref' is unknown, allowed: q_ref"):
        commander.move(number, {"v_ref": driver.v})
    beyond = r"joint 'joint_2' \(position 1\) is 4, beyond its limits -3\.14159 … 3\.14159"
    with pytest.raises(errors.FieldError, match=f"references: {beyond}"):
        commander.move(number, {"q_ref": [0.0, 4.0, 0.0]})


def test_movement_goes_at_a_quarter_of_the_speed_limits_unless_it_says(driver, commander):
    number, goal = driver.session.number, {"q_ref": driver.q + 0.3}
    with driver.pause:
        usual = commander.move(number, goal)
        quarter = commander.move(number, goal, speed=0.25)
        full = commander.move(number, goal, speed=1.0)
    assert usual == quarter
    assert usual - 0.02 == pytest.approx(4.0 * (full - 0.02))
    for speed in (0.0, -0.1, 1.01):
        with pytest.raises(RequestError, match=rf"speed is {speed:g}, expected a share .* up to 1"):
            commander.move(number, goal, speed=speed)
    with pytest.raises(RequestError, match="speed and seconds are both given"):
        commander.move(number, goal, seconds=3.0, speed=0.5)


def test_frame_is_not_moved_to_what_is_not_a_pose_or_far_beyond_reach(daemon, robot):
    frame = robot.frame_names[-1]
    with daemon.client() as client, client.session("impedance", frame=frame) as session:
        q = robot.neutral() + 0.1
        session.step(q, np.zeros(NV))
        pose = robot.frame_pose(q, frame)
        for wrong, words in WRONG_POSES:
            with pytest.raises(ValueError, match=words):
                session.move_to(wrong(pose))
        millimetres = pose[:3, 3] * 1000.0
        for order in (client.move, client.command):
            with pytest.raises(RequestError, match=r"from the base, expected at most .* in metres"):
                order(session.number, {"position": millimetres})
        assert session.move_to(pose) > 0.0


def test_hold_brings_a_movement_to_rest(driver, commander):
    number = driver.session.number
    commander.take(number, lease=60.0)
    goal = driver.q + 1.0
    commander.move(number, {"q_ref": goal}, seconds=20.0)
    eventually(lambda: reference(commander, number)[0] > driver.q[0] + 0.01)
    commander.hold(number)
    eventually(lambda: not commander.look(number).references["v_ref"].any())
    there = reference(commander, number)
    assert (there < goal - 0.1).all()
    assert np.array_equal(reference(commander, number), there)


def test_one_commander_at_a_time(driver, commander, daemon):
    number = driver.session.number
    commander.take(number, lease=60.0)
    with daemon.client() as other:
        with pytest.raises(OperationError, match="is commanded by"):
            other.take(number)
        with pytest.raises(OperationError, match="is commanded by"):
            other.move(number, {"q_ref": driver.q})
        other.hold(number)  # whoever may command may stop it
        other.take(number, take_over=True, lease=60.0)
        with pytest.raises(OperationError, match="is commanded by"):
            commander.move(number, {"q_ref": driver.q})
        other.give(number)
    commander.take(number, lease=60.0)


def test_commander_that_falls_silent_leads_to_hold(driver, daemon, commander):
    number = driver.session.number
    with daemon.client() as dying:
        dying.take(number, lease=2.0)  # long enough for the order that follows
        dying.move(number, {"q_ref": driver.q + 1.0}, seconds=30.0)
    eventually(lambda: commander.sessions()[0]["lost_commanders"] == 1)
    eventually(lambda: not commander.look(number).references["v_ref"].any())
    assert (reference(commander, number) < driver.q + 0.9).all()
    commander.take(number)  # and another may have it


def test_expired_lease_frees_the_session(driver, daemon, commander):
    number = driver.session.number
    with daemon.client() as slow:
        slow.take(number, lease=0.05)
        eventually(lambda: commander.look(number).commander == "")
        with pytest.raises(OperationError, match=r"lease of session .* expired, .*`take` again"):
            slow.move(number, {"q_ref": driver.q}, seconds=1.0)
        slow.look(number)  # does not make it commander again
        with pytest.raises(OperationError, match="expired"):
            slow.resume(number)
        driver.session.resume()  # the driver's again
        slow.take(number)
        slow.move(number, {"q_ref": driver.q}, seconds=1.0)


def test_commander_stays_commander_over_a_new_connection(driver, commander):
    number = driver.session.number
    taken = commander.take(number, lease=60.0)
    commander._disconnect(commander.endpoint)  # as after a request without a reply in time
    commander.move(number, {"q_ref": driver.q}, seconds=1.0)
    assert commander.look(number).commander == taken.commander


def test_clients_are_named_for_their_program_and_process(driver, commander):
    name = commander.take(driver.session.number).commander
    (owner,) = (session["client"] for session in commander.sessions())
    for client in (name, owner):
        assert re.fullmatch(rf"\w+-{os.getpid()}-\d+", client)
    assert name != owner


def test_orders_to_a_silent_driver_are_refused(robot, folder):
    """Nothing stays behind that would move the robot when its driver comes back."""
    with InThread(robot, folder) as daemon, daemon.client() as client:
        session = client.session("pd")
        with pytest.raises(OperationError, match="has had no state yet"):
            client.resume(session.number)
        q = robot.neutral() + 0.1
        session.step(q, np.zeros(NV))
        for order in (lambda: client.move(session.number, {"q_ref": q}), session.resume):
            eventually(lambda order=order: refusal(order).startswith("not_ready"))
            assert "no state for" in refusal(order) and "driver running" in refusal(order)
        output = eventually(lambda: fallback_only(session.step(q, np.zeros(NV))))
        assert output.status & FALLBACK
        assert client.look(session.number).mode == "fallback"


def refusal(order):
    try:
        order()
    except OperationError as error:
        return f"{error.code}: {error}"
    return ""


def fallback_only(output):
    return output if not output.status & STALE else None


def test_arm_commands_the_session_whose_driver_is_alive(daemon, robot, driver):
    with daemon.client() as dead, daemon.client() as client:
        left = dead.session("pd").number
        with client.arm() as arm:  # the other session never had a state
            number = arm.session
        assert {s["session"] for s in client.sessions()} == {left, number}
        assert number == driver.session.number
        client.close_session(left)
        assert [s["session"] for s in client.sessions()] == [number]


def test_arm_takes_its_session_back(driver, daemon):
    with daemon.client() as client, daemon.client() as other:
        arm = client.arm()
        other.take(arm.session, take_over=True)
        eventually(lambda: "commands it; arm.take()" in refusal(arm.hold))
        with pytest.raises(OperationError, match="take_over = true"):
            arm.take()
        arm.take(take_over=True)
        arm.move_to(driver.q + 0.01)
        arm.close()


def test_commanded_references_count_and_those_of_states_do_not(driver, commander):
    number = driver.session.number
    driver.references = {"q_ref": driver.q}
    commander.take(number, lease=60.0)
    goal = driver.q + 0.05
    commander.command(number, {"q_ref": goal})
    eventually(lambda: np.array_equal(reference(commander, number), goal))
    assert commander.look(number).mode == "following"
    commander.resume(number)
    eventually(lambda: np.array_equal(reference(commander, number), driver.q))


def test_stop_holds_all_sessions_until_they_are_recovered_and_resumed(driver, commander):
    number = driver.session.number
    commander.stop()
    eventually(lambda: driver.newest.status & (STOPPED | FALLBACK) == STOPPED | FALLBACK)
    assert commander.stats().servo["stopped"]
    assert commander.look(number).mode == "stopped"
    with pytest.raises(OperationError, match="recover"):
        commander.resume(number)
    commander.recover()
    eventually(lambda: driver.newest.status == FALLBACK)
    assert commander.look(number).mode == "fallback"
    with pytest.raises(OperationError, match="resume"):
        commander.move(number, {"q_ref": driver.q})
    commander.resume(number)
    eventually(lambda: driver.newest.status == 0)


def test_joint_at_its_wall_is_named_by_look_and_sessions(daemon, robot):
    with daemon.client() as client, client.session("pd") as session:
        assert client.look(session.number).at_wall == []
        moves = np.eye(NV)[1]
        eventually(lambda: "WALL" in session.step(np.pi * moves, moves).status_names)
        (listed,) = client.sessions()
        assert listed["at_wall"] == [robot.joint_names[1]]
        assert client.look(session.number).at_wall == [robot.joint_names[1]]


@pytest.mark.parametrize(
    "order, fields, lacking",
    [
        ("take", {}, "torque to command"),
        ("give", {}, "commander"),
        ("hold", {}, "references to hold"),
        ("move", {"references": {"q_ref": [0.0] * NV}}, "references"),
        ("command", {"references": {"q_ref": [0.0] * NV}}, "references"),
        ("resume", {}, "fallback to leave"),
        ("tune", {"gains": {}}, "gains"),
        ("stop", {}, "torque to stop"),
    ],
)
def test_order_to_a_stream_is_refused_with_what_it_lacks(daemon, order, fields, lacking):
    with daemon.client() as client, client.stream(("M",)) as stream:
        refused = re.escape(f"session: {stream.number} is a stream, which has no {lacking}")
        with pytest.raises(RequestError, match=f"{refused}$"):
            client.call(order, session=stream.number, **fields)


def test_look_and_payload_are_for_streams_too(daemon, robot):
    with daemon.client() as client, client.stream(("g",)) as stream:
        q = robot.neutral() + 0.1
        g = stream.step(q).g
        seen = client.look(stream.number)
        assert np.array_equal(seen.q, q) and seen.law == "stream" and seen.mode == ""
        stream.set_payload(robot.frame_names[-1], 2.0, over=0.0)
        eventually(lambda: not np.allclose(stream.step(q).g, g))


def test_stop_of_one_session_leaves_another_alone(driver, commander, daemon, robot):
    other = Driver(daemon, robot)
    try:
        commander.stop(driver.session.number)
        eventually(lambda: driver.newest.status == FALLBACK)
        assert other.newest.status & FALLBACK == 0
    finally:
        other.close()


def test_jump_of_reference_is_limited_and_flagged(driver):
    driver.references = {"q_ref": driver.q + 0.5}
    eventually(lambda: driver.newest.status & LIMITED_REFERENCE)
    eventually(lambda: driver.newest.status == 0)


def test_session_moves_itself(daemon, robot):
    """A driver that is its own commander: states go on while it moves."""
    with daemon.client() as client, client.session("pd") as session:
        q, v = robot.neutral() + 0.1, np.zeros(NV)
        session.step(q, v)
        seconds = session.move_to(q + 0.05)
        eventually(lambda: session.step(q, v) and _at(client, session, q + 0.05))
        session.hold()
        session.resume()
        output = session.step(q, v)
        assert output.status == 0 and seconds > 0.0
        eventually(lambda: session.step(q, v) and _at(client, session, q))


def _at(client, session, q):
    return np.allclose(reference(client, session.number), q)


def test_arm_at_a_prompt(driver, daemon, robot):
    with daemon.client() as client:
        arm = client.arm()
        assert np.array_equal(arm.q, driver.q) and not arm.v.any()
        frame = robot.frame_names[-1]
        pose = arm.pose(frame)
        assert np.allclose(pose, robot.frame_pose(driver.q, frame))
        pose[2, 3] += 0.1  # a target near it
        arm.move_to(driver.q + 0.02)
        assert np.allclose(arm.state.references["q_ref"], driver.q + 0.02)
        arm.stop()
        eventually(lambda: arm.state.mode == "fallback")
        with pytest.raises(OperationError, match="fallback"):
            arm.move_to(driver.q)
        arm.resume()
        assert arm.state.mode == "holding"
        assert "pd" in repr(arm)
        with pytest.raises(OperationError, match="commanded"):
            client.arm()
        arm.close()
        assert repr(arm).endswith("is closed>")
        client.arm(take_over=False).close()


def test_arm_without_a_driver_says_so(daemon):
    with (
        daemon.client() as client,
        pytest.raises(TorquedError, match="start the robot's driver first"),
    ):
        client.arm()


@pytest.mark.parametrize("kind", ["brake", "hold", "gravity", "zero"])
def test_fallbacks_hold_the_robot_while_states_come(daemon, robot, kind):
    driver = Driver(daemon, robot, "gravity", fallback=kind, fade=0.0, low_pass=0.0)
    try:
        driver.client.stop(driver.session.number)
        expected = np.zeros(NV) if kind == "zero" else robot.gravity(driver.q)
        eventually(lambda: driver.newest.status & FALLBACK)
        eventually(lambda: np.allclose(driver.newest.tau, expected))
        driver.q = driver.q + 0.01  # moved by something: brake and hold pull it back
        if kind in ("brake", "hold"):
            gravity = robot.gravity(driver.q)
            pull = robot.inverse_dynamics(driver.q, driver.v, np.full(NV, -0.01)) - gravity

            def pulls():
                """By a spring of the robot's inertia; slow states make it softer."""
                tau = driver.newest.tau - gravity
                stiffness = tau @ pull / (pull @ pull)
                return 50.0 < stiffness <= 900.1 and np.allclose(tau, stiffness * pull)

            eventually(pulls)
    finally:
        driver.close()


def test_without_states_the_torque_fades_to_gravity_where_asked_for(robot, folder):
    with InThread(robot, folder, stale_after=0.01) as daemon, daemon.client() as client:
        options = {"without_states": "gravity", "hold": 0.0, "fade": 0.01, "low_pass": 0.0}
        with client.session("pd", **options) as session:
            q = robot.neutral() + 0.1
            until_fallen(client, session, q)
            eventually(lambda: session.receive().status & (STALE | FALLBACK) == STALE | FALLBACK)
            eventually(lambda: np.allclose(session.receive().tau, robot.gravity(q)))


def until_fallen(client, session, q):
    """Send states until one was in time for the law, and then none until the fallback has begun.

    On a busy machine a state may be too old by the time it comes, and before the law's first
    torque there is nothing to fall back from.
    """

    def has_fallen():
        session.step(q, np.zeros(NV))
        return client.sessions()[0]["fallbacks"]

    assert eventually(has_fallen, pause=0.3) == 1


def test_fallback_is_left_by_resume_alone(robot, folder):
    with (
        InThread(robot, folder, stale_after=0.05) as daemon,
        daemon.client() as client,
        client.session("pd") as session,
    ):
        q, v = robot.neutral() + 0.1, np.zeros(NV)
        until_fallen(client, session, q)
        for _ in range(100):
            assert session.step(q, v).status & FALLBACK

        def is_resumed():
            session.resume()  # again, where the machine was too busy for a state to come in time
            return session.step(q, v).status & FALLBACK == 0

        eventually(is_resumed)


ORDERS = ("take", "give", "hold", "move", "command", "resume", "look", "stop", "recover", "tune")


def test_orders_of_any_kind_are_answered_and_the_torque_stays_finite(driver, commander, robot):
    rng = random.Random(1)
    good = good_fields(robot) | {"session": [driver.session.number]}
    codes = set()
    for _ in range(400):
        name = rng.choice(ORDERS)
        fields = {k: v for k, v in fields_for(rng, robot, name, good).items() if k}
        fields.setdefault("session", driver.session.number)
        try:
            commander.call(name, None, PATIENCE, **{str(k): v for k, v in fields.items()})
        except RequestError as error:
            codes.add(error.code)
        except (TypeError, ValueError, OverflowError):
            continue  # what this client cannot even encode
    assert "internal" not in codes and codes
    assert np.isfinite(driver.newest.tau).all()
    assert (np.abs(driver.newest.tau) <= robot.limits.effort).all()
    commander.recover()
    commander.take(driver.session.number, take_over=True, lease=60.0)
    commander.resume(driver.session.number)
    eventually(lambda: driver.newest.status & FALLBACK == 0)
