"""Constraints on the wire: loops and rows among contacts, terms, assembly, torques under them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.in_process import InProcess
from support.mechanisms import four_bar, stewart
from torqued.client import codec
from torqued.client.requests.computations import Computations
from torqued.client.requests.request_parts import Request
from torqued.common import errors
from torqued.kernels import Contact, Loop, Robot, Rows
from torqued.server.requests.limits import LIMITS, MAX_INLINE
from torqued.server.requests.operations import OPERATIONS

ZERO = np.zeros(3)
GUESS = np.array([0.4, 0.5, 1.2])


@pytest.fixture(scope="module")
def linkage():
    robot, loops = four_bar()
    return InProcess(robot), loops


def ask(daemon, request):
    """The reply to a client's request, as over the wire; refusals are raised."""
    reply = daemon.ask(request.operation, **request.fields)
    if not reply.pop("ok"):
        raise errors.from_map(reply["error"])
    return request.result({k: x for k, x in reply.items() if k not in ("protocol", "id")})


def test_loops_of_any_kind_are_the_robots_own(linkage):
    daemon, (hinge,) = linkage
    q, v = GUESS, np.array([1.0, -0.5, 0.3])
    some = replace(hinge, held=("x", "z"), stiffness=400.0, damping=40.0, target=np.eye(4))
    to_world = Loop("rocker", kind="slider", axis=np.eye(3), point=(0.1, 0.0, 0.0))
    gear = Rows(([[1.0, 0.0, -2.0]], [0.1], [0.2]), stiffness=100.0, damping=20.0)
    given = [some, to_world, gear, Contact("rocker", "point")]
    reply = ask(daemon, Computations.constraint_terms.make(q, v, given))
    terms = daemon.robot.constraint_terms(q, v, given)
    for name in ("G", "position", "velocity", "gamma"):
        assert np.array_equal(reply[name], getattr(terms, name))
    assert reply.G.shape == (2 + 5 + 1 + 3, 3)


def test_contact_dynamics_takes_loops_and_rows_and_judges_contacts_alone(linkage):
    daemon, (hinge,) = linkage
    start = daemon.robot.assemble(GUESS, [hinge])
    held = Contact("crank", "normal", friction=0.5)
    gear = Rows(([[1.0, 0.0, -2.0]], [0.0]))
    given = [hinge, gear, held]
    reply = ask(daemon, Computations.contact_dynamics.make(start.q, start.v, ZERO, given))
    solution = daemon.robot.contact_dynamics(start.q, start.v, ZERO, given)
    assert np.array_equal(reply.a, solution.a) and np.array_equal(reply.force, solution.force)
    loop, contact = solution.contacts
    assert reply.redundant == [loop.redundant, None, contact.redundant]
    assert reply.pulls == [None, None, contact.pulls]


def test_simulation_keeps_a_loop_closed(linkage):
    daemon, (hinge,) = linkage
    start = daemon.robot.assemble(GUESS, [hinge])
    firm = replace(hinge, stiffness=400.0, damping=40.0)
    run = ask(
        daemon, Computations.simulate.make(start.q, start.v, None, 0.1, 5e-3, contacts=[firm])
    )
    terms = daemon.robot.constraint_terms(run.q[-1], run.v[-1], [hinge])
    assert np.abs(terms.position).max() < 1e-6
    assert np.abs(run.q[-1] - start.q).max() > 1e-3


def test_assembly_is_the_robots_own(linkage):
    daemon, loops = linkage
    v, weights = [1.0, 0.0, 0.0], [1e9, 1.0, 1.0]
    reply = ask(daemon, Computations.assemble.make(GUESS, loops, v, weights, tolerance=1e-9))
    found = daemon.robot.assemble(GUESS, loops, v, weights, tolerance=1e-9)
    assert np.array_equal(reply.q, found.q) and np.array_equal(reply.v, found.v)
    assert reply.converged and reply.position_error == found.error < 1e-9
    assert reply.velocity_error == found.speed and reply.iterations == found.iterations


def test_batch_assembles_a_state_each(linkage):
    daemon, loops = linkage
    q = GUESS + 0.1 * np.arange(12.0).reshape(4, 3)
    given = [Computations.assemble.make(x, loops).fields["constraints"] for x in q]
    request = Computations.batch.make("assemble", q=q, constraints=given[0])
    reply = ask(daemon, request)
    assert reply.converged == [True] * 4 and reply.position_error.shape == (4,)
    for k in range(4):
        assert np.array_equal(reply.q[k], daemon.robot.assemble(q[k], loops).q)


@pytest.mark.parametrize("form", ["names", "map"])
def test_torques_under_constraints_are_the_robots_own(form):
    robot, loops, guess = stewart()
    daemon, start = InProcess(robot), robot.assemble(guess, loops)
    legs = [f"slide_{k}" for k in range(5)]
    actuated = legs if form == "names" else 2.0 * robot.actuation(legs)
    wanted, push = np.zeros(robot.nv), {"platform": [0.0, 0.0, 0.0, 0.0, 0.0, -10.0]}
    request = Computations.constrained_inverse_dynamics.make(
        start.q, start.v, wanted, loops, actuated, f_ext=push
    )
    reply = ask(daemon, request)
    found = robot.constrained_inverse_dynamics(
        start.q, start.v, wanted, loops, actuated, f_ext=push
    )
    for name in ("tau", "efforts", "a", "force"):
        assert np.array_equal(reply[name], getattr(found, name))
    assert reply.efforts.shape == (5,)
    assert not reply.fully_actuated and not reply.exact
    assert reply.acceleration_error == found.error > 0.0


G = [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"kind": "hinge"}, r"constraints\[1\]: 'frame' is missing"),
        ({"frame": "rocker", "kind": "glue"}, r"\.kind: 'glue' is unknown, allowed: .*'slider'"),
        ({"frame": "rocker", "held": ["up"]}, r"\.held: 'up' is unknown"),
        ({"frame": "rocker", "held": []}, "expected each row once, at least one"),
        ({"frame": "rocker", "held": "x"}, "held is a text, expected a list of texts"),
        ({"frame": "rocker", "kind": "ball", "normal": [0, 0, 1]}, "'normal' is unknown, allowed"),
        ({"frame": "rocker", "kind": "ball", "stiffness": [1]}, "expected a number"),
        ({"frame": "nowhere", "kind": "ball"}, "frame 'nowhere' is unknown"),
        ({"G": G}, "'gamma' is missing"),
        ({"G": "all", "gamma": [0.0]}, "G is a text, expected numbers"),
        ({"G": [[1.0]], "gamma": [0.0]}, r"G: shape \(1, 1\)"),
        ({"G": G, "gamma": [0.0], "stiffness": 1.0}, "needs position errors"),
        ({"G": G, "gamma": [0.0], "frame": "rocker"}, "'frame' is unknown, allowed: G, gamma"),
    ],
)
def test_wrong_constraints_are_refused_by_name(linkage, item, message):
    daemon, loops = linkage
    request = Computations.constraint_terms.make(ZERO, ZERO, [*loops, item])
    with pytest.raises(errors.FieldError, match=message) as caught:
        ask(daemon, request)
    assert caught.value.field.startswith("constraints")


def test_none_and_too_many_are_refused(linkage):
    daemon, _ = linkage
    with pytest.raises(errors.FieldError, match="constraints: empty"):
        ask(daemon, Computations.assemble.make(ZERO, []))
    most = LIMITS["rows"].most
    rows = {"G": np.zeros((most + 1, 3)), "gamma": np.zeros(most + 1)}
    with pytest.raises(errors.FieldError, match=f"rows: {most + 1} rows of all constraints"):
        ask(daemon, Computations.constraint_terms.make(ZERO, ZERO, [rows]))


@pytest.mark.parametrize(
    ("actuated", "message"),
    [
        (["engine"], "joint 'engine' is unknown"),
        (np.eye(2), r"actuated: shape \(2, 2\)"),
        ("motor", "actuated: a text, expected a list of texts, or an array"),
    ],
)
def test_wrong_actuators_are_refused(linkage, actuated, message):
    daemon, loops = linkage
    fields = Computations.constrained_inverse_dynamics.make(ZERO, ZERO, ZERO, loops).fields
    with pytest.raises(errors.FieldError, match=message):
        request = Request("constrained_inverse_dynamics", fields, dict)
        ask(daemon, request._replace(fields=fields | {"actuated": actuated}))


def test_loops_are_not_differentiated(linkage):
    daemon, loops = linkage
    for request in (
        Computations.contact_dynamics_derivatives.make(ZERO, ZERO, ZERO, loops),
        Computations.linearize.make(ZERO, ZERO, ZERO, contacts=loops),
    ):
        with pytest.raises(errors.FieldError, match=r"contacts\[0\]: Loop, expected a contact"):
            ask(daemon, request)


def test_a_function_of_q_cannot_be_sent():
    with pytest.raises(TypeError, match="a function cannot be sent"):
        Computations.constraint_terms.make(ZERO, ZERO, [Rows(lambda q, v: (G, [0.0]))])


def test_long_assemblies_go_to_the_worker_and_endless_ones_are_refused(linkage):
    daemon, loops = linkage
    row, fields = OPERATIONS["assemble"], Computations.assemble.make(ZERO, loops).fields
    assert row.cost(daemon.robot, fields | {"iterations": 2}).seconds < MAX_INLINE
    assert row.cost(daemon.robot, fields).seconds > MAX_INLINE
    with pytest.raises(errors.RequestError, match="search: 10000000 steps"):
        row.cost(daemon.robot, fields | {"iterations": 10_000_000})


def test_velocities_that_overflow_are_told():
    robot, loops = four_bar()
    daemon = InProcess(robot)
    fields = {"q": GUESS, "v": np.full(3, 1e200), "a": ZERO}
    given = Computations.assemble.make(GUESS, loops).fields["constraints"]
    reply = daemon.ask("constrained_inverse_dynamics", **fields, constraints=given)
    assert reply["error"]["code"] == "singular"


def test_wire_form_of_constraints_comes_back_as_it_was():
    robot = Robot.family("chain", 3)
    frame = robot.frame_names[-1]
    loop = Loop(frame, kind="ball", target=np.eye(4))
    fields = Computations.assemble.make(ZERO, [loop, Rows((G, [0.0], [0.1]))]).fields
    first, second = codec.decode(codec.encode(fields))["constraints"]
    assert first["kind"] == "ball" and "other" not in first
    assert set(second) == {"G", "gamma", "position", "stiffness", "damping"}
