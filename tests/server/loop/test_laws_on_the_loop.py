"""Laws as clients meet them: sessions of a daemon in another process, and one-shot requests."""

import numpy as np
import pytest

from support.daemons import daemon_of, described
from support.eventually import eventually
from torqued.client import errors
from torqued.common.status import CLAMPED, FALLBACK, SOLVER
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.laws import LAWS
from torqued.tools.recording.reader import Reader

#: Of the laws that need a word more.
OPTIONS = {
    "adaptive": {"frame": "panda_hand"},
    "impedance": {"frame": "panda_hand"},
    "elastic": {"springs": {"stiffness": 300.0, "motor_inertia": 0.1, "damping": 0.5}},
}
#: For robots with a fixed base.
ARM_LAWS = [name for name in LAWS if name not in ("stream", "balance")]


#: With its fingers free: the second one follows the first.
daemon = daemon_of("panda", "--locked", "")


@pytest.fixture(scope="module")
def robot():
    return Robot.named("panda", locked=())


@pytest.fixture(scope="module")
def state(robot):
    """At rest in the middle of the limits, a little off: no torque is cut."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    return q, np.full(robot.nv, 0.01)


def options_of(law, robot):
    if law == "wholebody":
        return {"tasks": [{"kind": "posture"}]}
    return OPTIONS.get(law, {})


@pytest.mark.parametrize("law", ARM_LAWS)
def test_session_request_and_process_give_the_same_torque(client, robot, state, law):
    q, v = state
    options = options_of(law, robot)
    here = Controller(robot, law, **options)
    names = [name for name in ("q_ref", "posture", "posture.position") if name in here.references]
    references = {name: q + 0.02 for name in names}
    motors = {"motor_q": q + 0.01, "motor_v": v} if law == "elastic" else {}
    expected = here.torque(q, v, **references, **motors)
    asked = client.control(law, q, v, references=references, **motors, **options)
    with client.session(law, **options, reference_limits=False) as session:
        output = session.step(q, v, **references, **motors)
    assert output.status & ~CLAMPED == 0
    assert np.allclose(output.tau, expected.tau, rtol=1e-9, atol=1e-9)
    assert np.allclose(asked.tau, expected.tau, rtol=1e-9, atol=1e-9)
    assert output.tau.any()
    assert set(session.outputs) == set(here.outputs)


@pytest.mark.parametrize("law", ["torque", "passivity", "impedance"])
def test_session_without_references_holds(client, robot, state, law):
    with client.session(law, **options_of(law, robot)) as session:
        session.step(*state)
        assert client.look(session.number).mode == "holding"


def test_references_keep_their_values_and_come_in_order_or_by_name(client, robot, state):
    q, v = state
    with client.session("pd", reference_limits=False, low_pass=0.0) as session:
        named = session.step(q, v, q_ref=q + 0.01).tau
        kept = session.step(q, v).tau
        in_order = session.step(q, v, q + 0.01).tau
        assert np.array_equal(named, kept) and np.array_equal(named, in_order)
        with pytest.raises(ValueError, match="no reference 'x_ref'"):
            session.send(q, v, x_ref=q)
        with pytest.raises(
            ValueError, match="4 references, this session has: q_ref, v_ref, tau_ff"
        ):
            session.send(q, v, q, v, v, v)


def test_gains_move_evenly_to_what_they_are_tuned_to(client, robot, state):
    q = state[0]
    still = np.zeros(robot.nv)
    g = robot.gravity(q)
    gains = {"stiffness": 10.0, "damping": 1.0, "error_limit": 1.0}
    with client.session("pd", gains=gains, reference_limits=False, low_pass=0.0) as session:
        before = session.step(q, still, q_ref=q - 0.01).tau
        assert np.allclose(before[:7], g[:7] - 0.1)  # the spring of a finger is drawn to its end

        def stiffness():
            output = session.step(q, still)
            assert not output.status & FALLBACK, output.reason_names  # which has no stiffness
            return float((g - output.tau)[0] / 0.01)

        for over in (0.2, 2.0, 20.0):  # a busy machine sees little of what is over soon
            session.tune({"stiffness": 30.0}, over=over)
            seen = [stiffness()]
            while seen[-1] < 29.999:
                seen.append(stiffness())
            assert seen == sorted(seen)
            if len({round(x) for x in seen}) > 5:
                break
            session.tune({"stiffness": 10.0}, over=0.0)
            eventually(lambda: stiffness() == pytest.approx(10.0))
        else:
            pytest.fail(f"the stiffness jumped: {seen}")
    with client.session("pd") as session, pytest.raises(errors.FieldError, match="eigenvalue"):
        session.tune({"stiffness": -1.0})


def test_gains_that_are_not_tuned_stay(client, robot, state):
    q = state[0]
    moving = np.full(robot.nv, 0.1)
    with client.session("pd", gains={"stiffness": 10.0, "damping": 1.0}) as session:
        session.tune({"stiffness": 20.0}, over=0.0)
        output = session.step(q, moving, q_ref=q)
        assert np.allclose(output.tau, robot.gravity(q) - 0.1)


def test_unstable_gains_run_only_on_the_word_of_a_client_and_that_is_seen_everywhere(
    client, daemon, robot, state
):
    q = state[0]
    wild, tame = {"stiffness": 3000.0, "damping": 300.0}, {"stiffness": 30.0, "damping": 3.0}
    with pytest.raises(errors.FieldError, match="gains are unstable with a delay of 2 ms"):
        client.session("pd", gains=wild)
    with pytest.raises(errors.FieldError, match="check: 'never'"):
        client.session("pd", gains=wild, check="never")
    with client.session("pd", gains=wild, check="warn") as session:
        assert "gains are unstable" in session.overridden
        assert np.allclose(np.diag(session.gains["stiffness"]), 3000.0)
        assert described(client, session)["overridden"] == session.overridden
        assert f"session {session.number}: " in daemon.log.read_text()
        assert session.overridden in daemon.log.read_text()
        assert observed(daemon, session)["overridden"] == session.overridden
        session.tune(tame, over=0.0)  # these need no word
        assert session.overridden == described(client, session)["overridden"] == ""
        with pytest.raises(errors.FieldError, match="gains are unstable"):
            session.tune(wild)
        session.tune(wild, over=0.0, check="warn")
        assert "gains are unstable" in observed(daemon, session)["overridden"]
        assert session.step(q, np.zeros(robot.nv)).usable


def test_default_gains_are_reduced_whatever_the_check(client):
    with client.session("pd_plus", delay=0.03, check="warn") as session:
        assert session.overridden == ""
        reduced = session.gains["stiffness"]
    with client.session("pd_plus", delay=0.03) as session:
        assert np.array_equal(session.gains["stiffness"], reduced)


def observed(daemon, session):
    """What observers and recordings have of a session."""
    with Reader(daemon.name, daemon.folder) as reader:
        return reader.sessions[session.number].raw


def test_program_without_solution_gives_the_fallback_and_names_what_could_not_be_met(
    client, robot, state
):
    weak = {"torque": 1e-3, "acceleration": 1e-3}  # too weak to hold still, and told to
    q, v = state
    with client.session("wholebody", tasks=[{"kind": "posture"}], limits=weak) as session:
        output = session.step(q, v)
    assert output.status & (SOLVER | FALLBACK) == SOLVER | FALLBACK
    assert not output.tau.any()  # nothing was feasible before
    assert output.violated[0] in (5, 6)  # torque and limits of joints contradict each other


def test_stream_gives_no_torque_on_request(client, state):
    with pytest.raises(errors.FieldError, match="a stream gives no torques"):
        client.control("stream", *state)
