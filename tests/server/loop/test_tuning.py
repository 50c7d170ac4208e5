"""Payloads, tools, friction and integral action as clients of a daemon meet them."""

import asyncio
import itertools
import random
import re

import numpy as np
import pytest
import zmq

from support.daemons import daemon_of
from support.eventually import PATIENCE
from support.fuzzing import check, fields_for, good_fields, packed
from torqued.client import AsyncClient, codec, errors
from torqued.common.status import CLAMPED
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.server.config import load_config

LOAD = {"frame": "panda_hand", "mass": 1.5, "center": [0.02, 0.0, 0.1]}
FRICTION = {"viscous": 1.0, "coulomb": 0.5}
CONFIG = """
rate = 500.0
[robot]
model = "panda"
tool = { frame = "panda_hand", mass = 0.7, center = [0.0, 0.0, 0.05] }
[robot.payload]
frame = "panda_link7"
mass = 0.3
inertia = [0.001, 0.0, 0.0, 0.001, 0.0, 0.001]
[robot.friction]
viscous = 0.8
coulomb = { panda_joint1 = 0.4 }
"""


daemon = daemon_of("panda")


@pytest.fixture(scope="module")
def robot():
    return Robot.named("panda")


@pytest.fixture(scope="module")
def q(robot):
    return 0.5 * (robot.limits.lower + robot.limits.upper)


def stepped(session, q, v, ticks, **references):
    """Outputs of so many ticks, by their numbers."""
    found = {}
    while len(found) < ticks:
        output = session.step(q, v, **references)
        found[output.tick] = output
    return found


def test_a_payload_comes_evenly_and_goes_with_its_session(client, robot, q):
    still, over = np.zeros(robot.nv), 0.2
    bare, loaded = robot.gravity(q), robot.with_payload(LOAD).gravity(q)
    with client.session("gravity", low_pass=0.0) as session:
        assert session.payloads == []
        assert np.allclose(session.step(q, still).tau, bare)
        session.set_payload(**LOAD, over=over)
        assert [load["frame"] for load in session.payloads] == ["panda_hand"]
        seen = {}
        while not seen or not np.allclose(seen[max(seen)], loaded, atol=1e-9):
            output = session.step(q, still)
            seen[output.tick] = output.tau
            assert len(seen) < 20_000
        # No step: between ticks torques change by their even share and no more.
        ticks, share = sorted(seen), np.abs(loaded - bare).max() * session.period / over
        for k, following in itertools.pairwise(ticks):
            change = np.abs(seen[following] - seen[k]).max()
            assert change <= (following - k) * share * 1.001 + 1e-9
        assert np.allclose(
            client.control("gravity", q, still).tau, bare, atol=1e-12
        )  # requests have none
        session.set_payload("panda_hand", 0.0, over=0.0)
        assert session.payloads == []
        stepped(session, q, still, 3)
        assert np.allclose(session.step(q, still).tau, bare, atol=1e-12)
    with client.session("gravity", payload=LOAD) as session:
        assert np.allclose(session.step(q, still).tau, loaded)
    with client.session("gravity") as session:
        assert np.allclose(session.step(q, still).tau, bare, atol=1e-12)


def test_one_sessions_payload_leaves_anothers_outputs_as_they_are(client, daemon, robot, q):
    """To the bit, whichever of them the loop serves first."""
    v = np.full(robot.nv, 0.05)
    with (
        daemon.client() as other,
        client.session("passivity", observer=True) as first,
        other.session("passivity", payload=LOAD) as loaded,
        client.session("stream", want=["M", "C", "g", "energy"]) as last,
    ):
        watched = {first: {"q_ref": q}, last: {}}
        before = {
            session: session.step(q, v, at=0.0, **references)
            for session, references in watched.items()
        }
        plain = loaded.step(q, v, q_ref=q).tau
        loaded.set_payload("panda_link4", 3.0, over=0.1)
        heaviest = 0
        for k in range(300):
            heaviest = loaded.step(q, v).tau
            for session, references in watched.items():
                output = session.step(q, v, at=1e-9 * k, **references)
                for name, value in before[session].values.items():
                    if name not in ("external", "contact", "link"):
                        assert np.array_equal(output.values[name], value), name
        assert np.abs(heaviest - plain).max() > 1.0


def test_requests_sessions_and_process_agree(client, robot, q):
    v, references = np.full(robot.nv, 0.02), {"q_ref": q + 0.01, "v_ref": np.full(robot.nv, 0.1)}
    options = {"payload": [LOAD, {"frame": "panda_link3", "mass": 1.0}], "friction": FRICTION}
    options["integral"] = {"rate": 2.0}
    here = Controller(robot, "pd_plus", **options).torque(q, v, **references)
    asked = client.control("pd_plus", q, v, references=references, **options)
    with client.session("pd_plus", **options, reference_limits=False) as session:
        output = session.step(q, v, **references)
        assert session.friction["share"] == 1.0
        assert np.allclose(session.friction["viscous"], 1.0)
        assert {"external", "contact", "link"} <= set(session.outputs)
    assert np.allclose(output.tau, here.tau, atol=1e-9)
    assert np.allclose(asked.tau, here.tau, atol=1e-9)
    many = client.batch("control", law="pd_plus", q=[q, q], v=[v, v], payload=LOAD)
    one = client.control("pd_plus", q, v, payload=LOAD)
    assert np.allclose(many.tau, [one.tau, one.tau])


def test_integral_action_finds_a_bias_on_the_loop(client, robot, q):
    """A state that does not move under a torque: what holds it is found, by the states' time."""
    still = np.zeros(robot.nv)
    options = {"reference_limits": False, "low_pass": 0.0}
    with client.session("pd_plus", integral={"rate": 5.0, "limit": 0.5}, **options) as session:
        wanted = q - 0.001
        first = session.step(q, still, q_ref=wanted, at=0.0).tau
        for k in range(1, 400):
            output = session.step(q, still, at=0.005 * k)
        assert np.abs(output.tau - first).max() == pytest.approx(0.5, rel=1e-3)


def test_gains_of_impedance_have_the_damping_that_is_in_force(client):
    with client.session("impedance", frame="panda_hand") as session:
        assert "damping" not in session.gains and "rotational_damping" not in session.gains
        assert (session.gains["damping_ratio"] > 0.0).all()  # that of every pose
        session.tune(session.gains)
        session.tune({"damping": 30.0})
        assert np.array_equal(session.gains["damping"], 30.0 * np.eye(3))
        assert session.gains["damping_ratio"][0] == 0.0 < session.gains["damping_ratio"][1]
    given = {"damping": 30.0, "rotational_damping": 2.0}
    with client.session("impedance", frame="panda_hand", gains=given) as session:
        assert set(given) < set(session.gains) and "damping_ratio" not in session.gains


def test_a_client_changes_it_by_the_sessions_number(client):
    with client.session("gravity") as session:
        carried = client.set_payload(session.number, "panda_hand", 1.0, over=0.0)
        assert carried[0]["mass"] == 1.0
        radius = (3.0 / (4000.0 * np.pi)) ** (1 / 3)
        assert np.allclose(carried[0]["inertia"], 0.4 * radius**2 * np.eye(3))


def test_awaited_sessions_take_it_too(daemon, robot, q):
    async def carry():
        async with (
            AsyncClient(daemon.endpoint, timeout=PATIENCE) as client,
            await client.session("gravity") as session,
        ):
            await session.set_payload(**LOAD, over=0.0)
            for _ in range(3):
                output = await session.step(q, np.zeros(robot.nv))
            return output.tau, session.payloads

    tau, loads = asyncio.run(carry())
    assert np.allclose(tau, robot.with_payload(LOAD).gravity(q)) and len(loads) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mass": -1.0}, "mass is -1.0, expected zero or a positive number"),
        ({"mass": "heavy"}, "mass: "),
        ({"frame": "hand"}, "frame 'hand' is unknown"),
        ({"frame": "panda_link0"}, "'panda_link0' does not move"),
        ({"center": [1.0]}, r"center: shape \(1,\), expected \(3,\)"),
        ({"inertia": [1.0, 0.0, 0.0, 1.0, 0.0, 3.0]}, "no body has the principal moments 1, 1, 3"),
        ({"over": 61.0}, "over is 61.0, expected 0 … 60 s"),
        ({"over": [1.0, 2.0]}, "over: "),
        ({"session": 7}, "session: 7 is not open"),
    ],
)
def test_wrong_payloads_are_refused_and_change_nothing(client, robot, q, fields, message):
    with client.session("gravity") as session:
        given = {"session": session.number, "frame": "panda_hand", "mass": 1.0} | fields
        with pytest.raises(errors.FieldError, match=message):
            client.call("payload", **given)
        tau = session.step(q, np.zeros(robot.nv)).tau
    assert np.allclose(tau, robot.gravity(q), atol=1e-12)


def test_fields_that_are_almost_right_are_never_a_fault_of_the_daemon(client, robot, q):
    rng, good = random.Random(0), good_fields(robot)
    context = zmq.Context()
    with client.session("gravity") as session, context.socket(zmq.DEALER) as socket:
        socket.linger, socket.rcvtimeo = 0, round(1000 * PATIENCE)
        socket.connect(client.endpoint)
        good["session"] = [session.number]
        for _ in range(300):
            fields = fields_for(rng, robot, "payload", good)
            socket.send(packed({"protocol": 1, "id": 1, "op": "payload", **fields}))
            check(codec.decode_reply(socket.recv()))
        output = session.step(q, np.zeros(robot.nv))
        assert output.status & ~CLAMPED == 0
    context.term()


@pytest.mark.parametrize(
    "options",
    [
        {"payload": 3},
        {"payload": [3]},
        {"friction": 3.0},
        {"integral": "x"},
        {"friction": {"a": 1}},
    ],
)
def test_wrong_options_are_refused(client, options):
    with pytest.raises(errors.FieldError, match=next(iter(options))):
        client.session("pd", **options)


def test_a_closed_session_takes_none(client):
    with client.session("gravity") as session:
        pass
    with pytest.raises(errors.FieldError, match="is not open"):
        session.set_payload("panda_hand", 1.0)


def test_what_a_configuration_has_is_in_everything(another, tmp_path, robot, q):
    file = tmp_path / "panda.toml"
    file.write_text(CONFIG)
    tool = {"frame": "panda_hand", "mass": 0.7, "center": [0.0, 0.0, 0.05]}
    inertia = 0.001 * np.eye(3)
    payload = {"frame": "panda_link7", "mass": 0.3, "inertia": inertia}
    loaded, still = robot.with_payload([tool, payload]), np.zeros(robot.nv)
    with another("--config", str(file)).start().client() as client:
        assert np.allclose(client.dynamics(q, still, want=("g",)).g, loaded.gravity(q))
        assert np.allclose(client.control("gravity", q, still).tau, loaded.gravity(q))
        assert np.allclose(
            client.batch("control", law="gravity", q=[q], v=[still]).tau[0], loaded.gravity(q)
        )
        limits = client.hello().limits
        assert limits["damping"][:2].tolist() == [0.8, 0.8]
        assert limits["friction"][0] == 0.4
        with client.session("passivity", reference_limits=False) as session:
            moving = np.full(robot.nv, 0.1)
            output = session.step(q, moving, q_ref=q, v_ref=moving)
            assert session.friction["coulomb"][0] == 0.4
        gains = {"gains": session.gains}
        free = Controller(loaded, "passivity", **gains).torque(q, moving, q_ref=q, v_ref=moving)
        added = output.tau - free.tau
        assert added[1] == pytest.approx(0.08)
        assert added[0] == pytest.approx(0.08 + 0.4 * np.tanh(0.1 / 0.02175))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"panda_hand"', '"hand"', "tool.frame: frame 'hand' is unknown"),
        ("mass = 0.3", "mass = -0.3", "payload.mass is -0.3"),
        ("viscous = 0.8", "viscous = -1", "friction.viscous is -1.0"),
        ("coulomb", "drag", "friction: 'drag' is unknown"),
    ],
)
def test_faults_of_a_configuration_are_told(tmp_path, old, new, message):
    file = tmp_path / "panda.toml"
    file.write_text(CONFIG.replace(old, new))
    with pytest.raises(InputError, match=re.escape(message)):
        load_config(file, {}).robot.load()
