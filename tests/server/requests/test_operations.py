"""Every operation equals the robot's own method, and every wrong request has its error code."""

from dataclasses import asdict

import numpy as np
import pytest

from torqued.client import codec, errors
from torqued.client.requests.operation_table import KERNEL, REQUEST
from torqued.kernels import Contact, Robot
from torqued.server.requests.operation import checked_name
from torqued.server.requests.operations import OPERATIONS, names_on
from torqued.server.requests.replies import as_request_error

REQUESTS = names_on(REQUEST)
COMPUTATIONS = [row.name for row in OPERATIONS.values() if row.carried_out_by == KERNEL]

WEIGHTLESS = """
<robot name="weightless">
  <link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"/>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def robot():
    return Robot.family("quadruped", 20)


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    return q, v, rng.standard_normal(robot.nv)


def request(robot, name, **fields):
    """The reply to a request that has gone over the wire."""
    message = codec.decode(codec.request(1, name, fields))
    operation = OPERATIONS[checked_name(message, REQUESTS)]
    try:
        result = operation.run(robot, operation.fields_of(message))
    except Exception as error:
        raise as_request_error(error) from error
    return codec.decode(codec.encode(result))


def code_of(robot, name, **fields):
    with pytest.raises(errors.RequestError) as caught:
        request(robot, name, **fields)
    assert type(caught.value) is errors.CODES[caught.value.code]
    return caught.value.code, caught.value.field


def test_dynamics_gives_what_is_wanted_and_nothing_else(robot, state):
    q, v, _ = state
    want = ["M", "Mdot", "C", "g", "bias", "energy", "com", "momentum"]
    frame = robot.frame_names[-1]
    reply = request(robot, "dynamics", q=q, v=v, want=[*want, "J", "pose"], frames=[frame])
    assert set(reply) == {*want, "J", "pose"}
    assert np.allclose(reply["M"], robot.mass_matrix(q))
    assert np.allclose(reply["C"], robot.coriolis_matrix(q, v))
    assert np.allclose(reply["Mdot"], reply["C"] + reply["C"].T)
    assert np.allclose(reply["bias"], reply["C"] @ v + reply["g"])
    assert np.allclose(reply["J"][frame], robot.frame_jacobian(q, frame))
    assert np.allclose(reply["pose"][frame], robot.frame_pose(q, frame))


def test_lists_of_numbers_do_as_well_as_arrays(robot, state):
    q, _, _ = state
    reply = request(robot, "dynamics", q=q.tolist(), want=["g"])
    assert np.array_equal(reply["g"], robot.dynamics(q, want=("g",))["g"])


def test_kinematics_gives_rates_only_with_a_velocity(robot, state):
    q, v, _ = state
    frame = robot.frame_names[-1]
    assert set(request(robot, "kinematics", q=q, frames=[frame])) == {"pose", "J"}
    reply = request(robot, "kinematics", q=q, v=v, frames=[frame])
    assert np.allclose(reply["Jdot_v"][frame], robot.frame_bias(q, v, frame))


def test_kinematics_brings_what_its_order_says(robot, state):
    q, v, a = state
    frame = robot.frame_names[-1]
    fields = {"q": q, "v": v, "a": a, "jerk": 2.0 * a, "frames": [frame]}
    words = ["pose", "velocity", "J", "acceleration", "Jdot", "jerk", "Jddot"]
    for order in range(4):
        reply = request(robot, "kinematics", order=order, **fields)
        assert list(reply) == words[: 2 * order + 1]
    assert np.allclose(reply["jerk"][frame], robot.frame_jerk(q, v, a, 2.0 * a, frame))
    assert np.allclose(reply["Jdot"][frame], robot.frame_jacobian_rate(q, v, frame))
    for wrong, field in (
        ({"q": q, "frames": [frame], "order": 4}, "order"),
        ({"q": q, "frames": [frame], "order": 1.5}, "order"),
        ({"q": q, "v": v, "a": a, "frames": [frame]}, "a"),
    ):
        with pytest.raises(errors.RequestError) as caught:
            request(robot, "kinematics", **wrong)
        assert caught.value.field == field


def test_contact_operations_equal_the_robots_methods(robot, state):
    q, v, tau = state
    frame = robot.frame_names[-1]
    contact = {"frame": frame, "kind": "point", "friction": 0.7}
    reply = request(robot, "contact_dynamics", q=q, v=v, tau=tau, contacts=[contact])
    solution = robot.contact_dynamics(q, v, tau, [Contact(**contact)])
    assert np.allclose(reply["a"], solution.a)
    assert np.allclose(reply["force"], solution.force)
    assert len(reply["slips"]) == 1
    after = request(robot, "impact", q=q, v=v, contacts=[contact], restitution=0.5)
    assert np.allclose(after["v"], robot.impact(q, v, [Contact(**contact)], 0.5).v)


def test_derivatives_equal_the_robots_methods(robot, state):
    q, v, x = state
    frame = robot.frame_names[-1]
    reply = request(robot, "derivatives", of="inverse_dynamics", q=q, v=v, a=x)
    dq, dv = robot.inverse_dynamics_derivatives(q, v, x)
    assert np.allclose(reply["dtau_dq"], dq) and np.allclose(reply["dtau_dv"], dv)
    assert np.allclose(reply["M"], robot.mass_matrix(q))
    reply = request(robot, "derivatives", of="second_order", q=q, v=v, a=x)
    for name, value in asdict(robot.inverse_dynamics_second_derivatives(q, v, x)).items():
        assert np.allclose(reply[name], value)
    reply = request(robot, "derivatives", of="inertia", q=q, v=v, a=x)
    assert np.allclose(reply["dtau_dinertia"], robot.regressor(q, v, x))
    reply = request(robot, "derivatives", of="geometry", q=q, v=v, a=x)
    assert np.allclose(reply["dtau_dgeometry"], robot.geometric_derivatives(q, v, x))
    assert reply["joints"] == [joint.name for joint in robot.model.joints]
    motion = {"q": q, "v": v, "a": x, "jerk": 2.0 * x, "snap": v}
    reply = request(robot, "derivatives", of="rates", **motion)
    found = robot.inverse_dynamics_rates(*motion.values())
    for name, value in zip(("tau", "tau_dot", "tau_ddot"), found, strict=True):
        assert np.allclose(reply[name], value)
    wrench = {frame: np.arange(6.0)}
    reply = request(robot, "derivatives", of="forward_dynamics", q=q, v=v, tau=x, f_ext=wrench)
    found = robot.forward_dynamics_derivatives(q, v, x, wrench)
    for name, value in zip(("da_dq", "da_dv", "da_dtau"), found, strict=True):
        assert np.allclose(reply[name], value)
    contact = {"frame": frame, "kind": "point"}
    fields = {"q": q, "v": v, "tau": x, "contacts": [contact]}
    reply = request(robot, "derivatives", of="contact_dynamics", **fields)
    derived = robot.contact_dynamics_derivatives(q, v, x, [Contact(**contact)])
    assert np.allclose(reply["dforce_dq"], derived.dforce_dq)
    reply = request(robot, "derivatives", of="linearization", **fields, dt=0.01)
    A, B = robot.linearize(q, v, x, 0.01, contacts=[Contact(**contact)])
    assert np.allclose(reply["A"], A) and np.allclose(reply["B"], B)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"of": "energy"}, "bad_field", "of"),
        ({"of": 3}, "bad_field", "of"),
        ({"of": "inverse_dynamics"}, "missing_field", "a"),
        ({"of": "second_order", "a": 0}, "bad_field", "a"),
        ({"of": "second_order"}, "missing_field", "a"),
        ({"of": "rates", "a": 0, "jerk": 0}, "missing_field", "snap"),
        ({"of": "forward_dynamics", "tau": True}, "bad_field", "tau"),
        ({"of": "inverse_dynamics", "a": 0, "dt": 0.1}, "unknown_field", "dt"),
        ({"of": "linearization", "tau": 0, "contacts": []}, "bad_field", "contacts"),
    ],
)
def test_derivatives_that_are_asked_for_wrongly_are_refused_by_name(
    robot, state, fields, code, field
):
    found = code_of(robot, "derivatives", q=state[0], v=state[1], **fields)
    assert found == (code, field)


def test_coordinates_are_those_asked_for(robot, state):
    view = robot.in_coordinates("pinocchio")
    q = view.chart.from_native(state[0])
    reply = request(robot, "dynamics", q=q, want=["M"], coordinates="pinocchio")
    assert np.allclose(reply["M"], view.mass_matrix(q))
    contact = {"frame": robot.frame_names[-1], "kind": "point"}
    fields = {"q": q, "v": state[1], "contacts": [contact], "coordinates": "pinocchio"}
    held = [Contact(**contact)]
    after = view.impact(q, state[1], held)
    assert np.allclose(request(robot, "impact", **fields)["v"], after.v)
    moved = view.contact_dynamics(q, state[1], state[2], held)
    reply = request(robot, "contact_dynamics", **fields, tau=state[2])
    assert np.allclose(reply["a"], moved.a)


@pytest.mark.parametrize("version", [None, 0, 2, "1", True, [1]])
def test_other_versions_are_refused(version):
    with pytest.raises(errors.MessageError) as caught:
        checked_name({"protocol": version, "op": "hello"}, REQUESTS)
    assert caught.value.code == "wrong_version"


@pytest.mark.parametrize("name", [None, "", "gradients", 7, ["hello"], {"a": 1}, "ping"])
def test_unknown_operations_are_refused(name):
    with pytest.raises(errors.OperationError) as caught:
        checked_name({"protocol": 1, "op": name}, REQUESTS)
    assert caught.value.code == "unknown_operation"


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_each_required_field_is_missed_and_each_unknown_one_refused(robot, name):
    required = OPERATIONS[name].required
    for field in required:
        rest = dict.fromkeys([other for other in required if other != field], 0)
        assert code_of(robot, name, **rest) == ("missing_field", field)
    given = dict.fromkeys(required, 0)
    assert code_of(robot, name, **given, nonsense=1) == ("unknown_field", "nonsense")


def test_operations_without_fields_say_so():
    with pytest.raises(errors.FieldError, match="allowed: none"):
        OPERATIONS["ping"].fields_of({"op": "ping", "x": 1})


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"q": [1.0]}, "q"),
        ({"q": "north"}, "q"),
        ({"q": {"a": 1}}, "q"),
        ({"v": [float("nan")] * 20}, "v"),
        ({"v": [1e400] * 20}, "v"),
        ({"want": "M"}, "want"),
        ({"want": ["M", 3]}, "want"),
        ({"want": ["Q"]}, "want"),
        ({"frames": ["nowhere"]}, "frames"),
        ({"frames": 5}, "frames"),
        ({"representation": "sideways"}, "representation"),
        ({"representation": []}, "representation"),
        ({"coordinates": "polar"}, "coordinates"),
        ({"coordinates": 3}, "coordinates"),
    ],
)
def test_wrong_fields_of_dynamics_are_named(robot, state, fields, field):
    q, v, _ = state
    code, named = code_of(robot, "dynamics", **({"q": q, "v": v} | fields))
    assert code == "bad_field"
    assert named is None or named.startswith(field)


def test_without_a_velocity_the_robot_is_at_rest(robot, state):
    rest = request(robot, "dynamics", q=state[0], v=np.zeros(robot.nv), want=["C", "bias"])
    found = request(robot, "dynamics", q=state[0], want=["C", "bias"])
    assert not found["C"].any() and np.array_equal(found["bias"], rest["bias"])


@pytest.mark.parametrize(
    "contacts",
    [5, [5], [{}], [{"frame": 3}], [{"frame": "nowhere"}], "abc"],
)
def test_wrong_contacts_are_refused(robot, state, contacts):
    q, v, tau = state
    code, _ = code_of(robot, "contact_dynamics", q=q, v=v, tau=tau, contacts=contacts)
    assert code == "bad_field"


@pytest.mark.parametrize(
    "members",
    [
        {"colour": "red"},
        {"kind": "glue"},
        {"kind": 3},
        {"point": [1.0]},
        {"normal": [0.0, 0.0, 0.0]},
        {"stiffness": "hard"},
        {"friction": [1]},
        {"other": 5},
        {"half_size": "large"},
        {"target": {"x": 1}},
    ],
)
def test_wrong_members_of_a_contact_are_refused(robot, state, members):
    q, v, tau = state
    contact = {"frame": robot.frame_names[-1], **members}
    code, _ = code_of(robot, "contact_dynamics", q=q, v=v, tau=tau, contacts=[contact])
    assert code == "bad_field"


@pytest.mark.parametrize("f_ext", [5, [1], {"nowhere": [0.0] * 6}, {"a": [1.0]}])
def test_wrong_wrenches_are_refused(robot, state, f_ext):
    q, v, a = state
    assert code_of(robot, "inverse_dynamics", q=q, v=v, a=a, f_ext=f_ext)[0] == "bad_field"


def test_singular_mass_matrix_has_its_own_code():
    with pytest.warns():
        weightless = Robot.from_xml(WEIGHTLESS, accept_unphysical=True)
    assert code_of(weightless, "forward_dynamics", q=[0.0], v=[0.0], tau=[1.0]) == (
        "singular",
        None,
    )


@pytest.mark.parametrize("name", ["contact_dynamics", "impact"])
def test_contacts_without_a_contact_are_refused(robot, state, name):
    q, v, tau = state
    fields = {"q": q, "v": v, "contacts": []} | ({"tau": tau} if name != "impact" else {})
    with pytest.raises(errors.FieldError, match=r"^contacts: empty") as caught:
        request(robot, name, **fields)
    assert caught.value.field == "contacts"


@pytest.mark.parametrize("name", ["q", "v", "elapsed", "self", "references"])
def test_what_is_no_reference_of_a_law_is_refused(name):
    robot = Robot.family("chain", 2)
    fields = {"law": "pd", "q": np.zeros(2), "v": np.zeros(2), "references": {name: np.zeros(2)}}
    with pytest.raises(errors.FieldError, match=f"reference '{name}' is unknown"):
        request(robot, "control", **fields)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("dynamics", {"want": ["C", "bias"]}),
        ("dynamics", {"want": ["energy"]}),
        ("inverse_dynamics", {"a": np.zeros(2)}),
        ("forward_dynamics", {"tau": np.zeros(2)}),
        ("coriolis_product", {"w": np.full(2, 1e200)}),
        ("derivatives", {"of": "inverse_dynamics", "a": np.zeros(2)}),
        ("contact_dynamics", {"tau": np.zeros(2), "contacts": [{"frame": "joint_2"}]}),
    ],
)
def test_result_that_overflows_is_refused(name, fields):
    robot, state = Robot.family("chain", 2), {"q": np.full(2, 0.3), "v": np.full(2, 1e200)}
    with (
        np.errstate(all="ignore"),
        pytest.raises(errors.RequestError, match="not finite") as caught,
    ):
        request(robot, name, **state, **fields)
    assert caught.value.code == "singular"


def test_torque_that_overflows_is_refused():
    robot = Robot.family("chain", 2)
    fields = {"law": "computed_torque", "q": np.full(2, 0.3), "v": np.full(2, 1e160)}
    with pytest.raises(errors.RequestError, match="the result is not finite") as caught:
        request(robot, "control", **fields)
    assert caught.value.code == "singular"
