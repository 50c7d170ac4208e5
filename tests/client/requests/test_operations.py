"""Both clients have a method for every operation, as the daemon and docs/PROTOCOL.md have them."""

import inspect
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from support.daemons import MAX_STOP
from support.eventually import PATIENCE
from support.in_thread import InThread
from torqued.client import AsyncClient, Client, errors
from torqued.client.base_client import QUANTITIES
from torqued.client.requests import results
from torqued.client.requests.administration import Administration
from torqued.client.requests.computations import Computations
from torqued.client.requests.methods import Method
from torqued.client.requests.orders import Orders
from torqued.kernels import Contact, Loop, Robot, Rows
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.options import COMMON, GUARDS, SESSION_OPTIONS
from torqued.server.requests.operations import OPERATIONS

DOCUMENT = (Path(__file__).parents[3] / "docs" / "PROTOCOL.md").read_text()
TABLE = {
    name: operation.required + operation.optional
    for name, operation in OPERATIONS.items()
    if name not in ("open", "tune", "close")  # for clients and sessions themselves
}


METHODS = {
    name: value
    for group in (Computations, Orders, Administration)
    for kind in group.__mro__
    for name, value in vars(kind).items()
    if isinstance(value, Method)
}
#: Operations of the wire that the client calls something else.
RENAMED = {"payload": "set_payload"}


def test_every_operation_but_those_of_sessions_has_a_method():
    named = {RENAMED.get(name, name) for name in TABLE} - {"derivatives"}
    assert named <= set(METHODS)
    for client in (Client, AsyncClient):
        assert all(inspect.isfunction(getattr(client, name)) for name in METHODS)


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"control", "batch", "derivatives"}))
def test_methods_take_the_fields_of_their_operation(name):
    taken = list(inspect.signature(getattr(Client, RENAMED.get(name, name))).parameters)
    assert taken[0] == "self"
    fields = {"q" if field == "q0" else field for field in taken[1:]}
    assert fields - {"timeout"} == set(TABLE[name]) - {"coordinates"}


#: Options of a stream, which has no torques to control.
OF_STREAMS = {"want", "frames", "representation"}


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize(
    "name, operation, lacking",
    [
        ("session", "open", set()),
        ("control", "control", OF_STREAMS),
        ("stream", "open", {"law", *COMMON, *GUARDS, *SESSION_OPTIONS} - {"payload"}),
    ],
)
def test_options_of_laws_are_parameters_with_names(client, name, operation, lacking):
    taken = inspect.signature(getattr(client, name)).parameters
    assert not any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in taken.values())
    row = OPERATIONS[operation]
    if name == "stream":
        others = (law for law in LAWS.values() if law.is_torque)
        lacking = lacking.union(*(law.options for law in others))
    assert set(taken) - {"self"} == {*row.required, *row.optional} - lacking


def test_options_of_a_session_are_explained():
    for name in inspect.signature(Client.session).parameters:
        assert name in ("self", "law") or re.search(
            rf"^ +.*\b{name}\b", Client.session.__doc__, re.M
        )


def test_methods_are_documented_and_typed():
    for name, declared in METHODS.items():
        make = declared.make
        for client in (Client, AsyncClient):
            method = getattr(client, name)
            assert method.__doc__ == make.__doc__ and len(make.__doc__) > 20
            assert method.__qualname__ == f"{client.__name__}.{name}"
    shown = str(inspect.signature(Client.integrate))
    assert shown.startswith("(self, q: 'Any', v: 'Any', dt: 'float'") and shown.endswith("'Array'")


@pytest.mark.parametrize(
    "kind, operation",
    [
        (results.Hello, "hello"),
        (results.Kinematics, "kinematics"),
        (results.ContactDynamics, "contact_dynamics"),
        (results.Impact, "impact"),
        (results.ConstraintTerms, "constraint_terms"),
        (results.Assembly, "assemble"),
        (results.ConstrainedTorques, "constrained_inverse_dynamics"),
        (results.InverseKinematics, "inverse_kinematics"),
        (results.Simulation, "simulate"),
        (results.Ping, "ping"),
        (results.Stats, "stats"),
        (results.Reloaded, "reload"),
    ],
)
def test_fields_of_results_are_those_of_the_document(kind, operation):
    (line,) = re.findall(rf"^\| \w+ \| `{operation}` \|.*\| (.*?) \|$", DOCUMENT, re.M)
    assert list(kind.__annotations__) == line.split(", ")


def test_fields_of_dynamics_are_the_quantities():
    from torqued.kernels.dynamics.quantities import WANTS

    assert set(results.Dynamics.__annotations__) == set(WANTS)


@pytest.fixture(scope="module")
def robot():
    return Robot.family("biped", 8)


@pytest.fixture(scope="module")
def client(robot, folder):
    with InThread(robot, folder) as daemon, Client(daemon.endpoint, timeout=PATIENCE) as client:
        yield client


def test_methods_give_what_the_robot_computes(client, robot):
    q, v = robot.random_state(np.random.default_rng(1))
    a = tau = w = np.arange(robot.nv) / 10.0
    frame = robot.frame_names[-1]
    f_ext = {frame: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    same = partial(np.testing.assert_allclose, rtol=1e-12)
    same(client.inverse_dynamics(q, v, a, f_ext), robot.inverse_dynamics(q, v, a, f_ext))
    same(client.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau))
    same(client.solve_mass(q, w), robot.solve_mass(q, w))
    same(client.coriolis_product(q, v, w), robot.coriolis_product(q, v, w))
    same(client.integrate(q, v, 0.1), robot.integrate(q, v, 0.1))
    for name, arguments in {
        "neutral": (),
        "inverse_dynamics_derivatives": (q, v, a, f_ext),
        "inverse_dynamics_rates": (q, v, a, w, tau),
        "regressor": (q, v, a),
        "geometric_derivatives": (q, v, a),
        "forward_dynamics_derivatives": (q, v, tau),
        "linearize": (q, v, tau, 0.01),
        "frame_pose": (q, frame),
        "frame_jacobian": (q, frame, "body"),
        "frame_jacobian_rate": (q, v, frame, "body"),
        "frame_jacobian_second_rate": (q, v, a, frame),
        "frame_velocity": (q, v, frame, "body"),
        "frame_bias": (q, v, frame),
        "frame_acceleration": (q, v, a, frame, "spatial"),
        "frame_jerk": (q, v, a, w, frame),
    }.items():
        found, expected = (getattr(one, name)(*arguments) for one in (client, robot))
        assert type(found) is type(expected), name
        together = (
            zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        )
        for one, other in together:
            same(one, other, atol=1e-12, err_msg=name)
    same(
        client.inverse_dynamics_second_derivatives(q, v, a).dtau_dqdv,
        robot.inverse_dynamics_second_derivatives(q, v, a).dtau_dqdv,
    )
    joint = robot.joint_names[-1]
    assert client.joint(joint) == (joint, robot.joint(joint).q, robot.joint(joint).v)
    with pytest.raises(errors.FieldError, match="joint: 'knee' is unknown, allowed: "):
        client.joint("knee")
    found = client.kinematics(q, frame, v)
    same(found.pose[frame], robot.frame_pose(q, frame))
    same(found.J[frame], robot.frame_jacobian(q, frame))
    same(found.Jdot_v[frame], robot.frame_bias(q, v, frame))
    assert "Jdot_v" not in client.kinematics(q, [frame])
    moving = client.kinematics(q, [frame], v, "body", order=3, a=a, jerk=w)
    same(moving.acceleration[frame], robot.frame_acceleration(q, v, a, frame, "body"))
    same(moving.jerk[frame], robot.frame_jerk(q, v, a, w, frame, "body"))
    same(moving.Jddot[frame], robot.frame_jacobian_second_rate(q, v, a, frame, "body"))
    contacts = [Contact(frame, "point")]
    loops = [
        Loop(frame, kind="ball", stiffness=400.0, damping=40.0),
        Rows((np.eye(1, robot.nv), [0])),
    ]
    same(client.constraint_terms(q, v, loops).G, robot.constraint_terms(q, v, loops).G)
    put_together = client.assemble(q, loops[:1], iterations=1)
    same(put_together.q, robot.assemble(q, loops[:1], iterations=1).q)
    torques = client.constrained_inverse_dynamics(q, v, a, loops, f_ext=f_ext)
    same(torques.a, robot.constrained_inverse_dynamics(q, v, a, loops, f_ext=f_ext).a)
    assert torques.fully_actuated is False
    touching = client.contact_dynamics(q, v, tau, contacts)
    same(touching.force, robot.contact_dynamics(q, v, tau, contacts).force)
    same(
        client.contact_dynamics_derivatives(q, v, tau, contacts).dforce_dq,
        robot.contact_dynamics_derivatives(q, v, tau, contacts).dforce_dq,
    )
    many = client.batch("derivatives", of="inverse_dynamics", q=[q, q], v=[v, w], a=[a, a])
    same(many.dtau_dv[1], robot.inverse_dynamics_derivatives(q, w, a)[1], atol=1e-12)
    moved = client.simulate(q, v, tau, 0.02, 5e-3, "momentum", every=2)
    there = robot.simulate(q, v, tau, 0.02, 5e-3, "momentum", every=2)
    same(moved.q, there.q)
    same(moved.time, [0.0, 0.01, 0.02])
    with pytest.raises(errors.FieldError, match="needs a fixed base"):
        client.simulate(q, v, None, 0.01, 5e-3, law="pd")
    same(client.impact(q, v, [{"frame": frame}]).v, robot.impact(q, v, [Contact(frame)]).v)
    same(client.dynamics(q, want="M").M, robot.mass_matrix(q))
    same(client.batch("solve_mass", q=[q, q], b=[w, w]).x[1], robot.solve_mass(q, w))


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("dynamics", ()),
        ("dynamics", (None, ("Mdot", "C", "Gamma", "bias", "energy", "momentum"))),
        *(
            (name, (None, "link_left_3"))
            for name in ("frame_velocity", "frame_bias", "frame_jacobian_rate")
        ),
    ],
)
@pytest.mark.parametrize("coordinates", ["native", "mujoco"])
def test_without_v_the_robot_is_at_rest_as_for_Robot(client, robot, coordinates, name, arguments):
    here = robot.in_coordinates(coordinates)
    q = here.random_state(np.random.default_rng(3))[0]
    found = getattr(client.in_coordinates(coordinates), name)(q, *arguments)
    expected = getattr(here, name)(q, *arguments)
    if isinstance(expected, np.ndarray):
        found, expected = {name: found}, {name: expected}
    assert list(found) == list(expected)
    for key in expected:
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-12, atol=1e-12)


def test_client_in_other_coordinates_is_the_robot_in_them(client, robot):
    there, here = client.in_coordinates("pinocchio"), robot.in_coordinates("pinocchio")
    q, v = here.random_state(np.random.default_rng(2))
    np.testing.assert_allclose(there.dynamics(q, v).C, here.dynamics(q, v).C, atol=1e-12)
    many = there.batch("solve_mass", q=[q, q], b=[v, v])
    np.testing.assert_allclose(many.x[1], here.solve_mass(q, v), rtol=1e-9)
    with pytest.raises(errors.FieldError, match="control: takes native coordinates only"):
        there.control("gravity", q, v)
    with pytest.raises(errors.FieldError, match="coordinates"):
        client.in_coordinates("upside_down").dynamics(q, v)


@pytest.mark.parametrize("name", ["derivatives", "of", "payload"])
def test_names_of_before_are_answered_with_those_of_now(client, name):
    with pytest.raises(AttributeError, match=f"no attribute {name!r}; here it is "):
        getattr(client, name)


@pytest.mark.parametrize("name, quantity", QUANTITIES.items())
def test_methods_of_Robot_that_clients_lack_are_answered_with_a_request(
    client, robot, name, quantity
):
    q, v = robot.random_state(np.random.default_rng(4))
    with pytest.raises(AttributeError, match=re.escape(f'want=["{quantity}"]).{quantity}')):
        getattr(client, name)
    try:
        expected = getattr(robot, name)(q, v)
    except TypeError:  # that do not depend on v
        expected = getattr(robot, name)(q)
    found = getattr(client.dynamics(q, v, want=[quantity]), quantity)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_methods_of_the_control_socket_are_answered(client, robot):
    assert client.ping().ready
    assert client.stats().robot == robot.name
    assert client.log_level("INFO") == "INFO"
    with client.session("stream", want=["g"]):
        assert [session["law"] for session in client.sessions()] == ["stream"]
    assert client.sessions() == []


def test_shutdown_stops_the_daemon(robot, tmp_path):
    with InThread(robot, tmp_path / "run") as daemon, Client(daemon.endpoint, PATIENCE) as client:
        assert client.shutdown() is None
        daemon.thread.join(MAX_STOP)
        assert not daemon.thread.is_alive()


@pytest.mark.parametrize(
    "ask, field",
    [
        (lambda: Computations.dynamics.make("abc"), "q"),
        (lambda: Computations.dynamics.make([0.0], [[1.0], [2.0, 3.0]]), "v"),
        (lambda: Computations.batch.make("dynamics", q=[[0.0]], v="abc"), "v"),
        (lambda: Computations.inverse_dynamics.make([0.0], [0.0], {}), "a"),
        (lambda: Computations.integrate.make([0.0], [0.0], "soon"), "dt"),
        (
            lambda: Computations.inverse_dynamics.make([0.0], [0.0], [0.0], {"tip": "x"}),
            "f_ext['tip']",
        ),
    ],
)
def test_what_is_no_number_is_refused_by_its_name(ask, field):
    with pytest.raises(errors.FieldError, match=re.escape(f"{field}: ")) as caught:
        ask()
    assert caught.value.field == field and "expected" in str(caught.value)
