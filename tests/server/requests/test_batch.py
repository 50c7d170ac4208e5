"""A batch is its states' requests, but for rounding."""

import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.client import codec, errors
from torqued.common.stacked import STACKED
from torqued.kernels import Robot
from torqued.kernels.model.catalog import find_file
from torqued.server.requests.operations import BATCHED, OPERATIONS, batch, names_on
from torqued.server.requests.replies import as_request_error

COUNT = 7


def quadruped():
    return Robot.family("quadruped", 20)


def panda():
    """Its second finger follows the first."""
    return Robot.from_urdf(find_file("panda"))


@pytest.fixture(scope="module", params=[quadruped, panda])
def robot(request):
    robot = request.param()
    assert robot.model.mimics.present == (request.param is panda)
    return robot


def states_of(robot, count=COUNT, coordinates="native"):
    rng = np.random.default_rng(3)
    chart = robot.chart(coordinates)
    pairs = [robot.random_state(rng) for _ in range(count)]
    q = np.array([chart.from_native(q) for q, _ in pairs])
    x = rng.standard_normal((count, robot.nv))
    return {
        "q": q,
        "v": np.array([v for _, v in pairs]),
        "a": x,
        "jerk": x,
        "snap": x,
        "tau": x,
        "w": x,
        "b": rng.standard_normal((count, robot.nv, 3)),
        "dt": rng.uniform(0.0, 0.1, count),
    }


def common_of(robot):
    frames = list(robot.frame_names[-2:])
    everything = ["M", "Mdot", "C", "Gamma", "g", "bias", "energy", "com", "momentum"]
    contact = {"frame": frames[-1], "kind": "point", "friction": 0.7}
    return {
        "dynamics": {"want": [*everything, "J", "Jdot_v", "pose"], "frames": frames},
        "kinematics": {"frames": frames, "representation": "body", "order": 3},
        "contact_dynamics": {"contacts": [contact]},
        "impact": {"contacts": [contact], "restitution": 0.5},
        "constraint_terms": {"constraints": [contact]},
        "assemble": {"constraints": [contact | {"target": [0.1, 0.2, 0.3]}], "iterations": 3},
        "constrained_inverse_dynamics": {"constraints": [contact]},
        "derivatives": {"of": "inverse_dynamics"},
        "inverse_kinematics": {
            "targets": [{"frame": frames[-1], "kind": "position", "value": [0.3, 0.2, 0.4]}],
            "iterations": 5,
            "restarts": 1,
        },
        "control": {"law": "gravity", "gains": {"damping": 0.5}},
    }


def fields_of(robot, name, coordinates="native"):
    operation = OPERATIONS[name]
    states = states_of(robot, coordinates=coordinates)
    taken = operation.required + operation.optional
    if name == "derivatives":  # of inverse dynamics takes no others
        taken = ("of", "q", "v", "a", "coordinates")
    fields = {key: value for key, value in states.items() if key in taken}
    fields |= common_of(robot).get(name, {})
    return fields | ({"coordinates": coordinates} if "coordinates" in taken else {})


def run(robot, name, report=lambda done, total: None, **fields):
    """The results of a batch that has gone over the wire."""
    message = codec.decode(codec.encode({"operation": name, **fields}))
    return codec.decode(codec.encode(batch(robot, message, report)))


def one(robot, name, k, fields):
    own = {key: value[k] if key in STACKED else value for key, value in fields.items()}
    message = codec.decode(codec.encode(own))
    return codec.decode(codec.encode(OPERATIONS[name].run(robot, message)))


#: Of the largest entry, where equations are solved; their matrix magnifies rounding.
SOLVED = 1e-9


def equal(found, value):
    """Of lists, texts, truth values: also where lists hold arrays."""
    if isinstance(value, list):
        return len(found) == len(value) and all(map(equal, found, value))
    return np.array_equal(found, value)


def assert_same(stacked, k, result):
    assert stacked.keys() == result.keys()
    for key, value in result.items():
        if isinstance(value, dict):
            assert_same(stacked[key], k, value)
        else:
            found = stacked[key][k]
            if isinstance(value, np.ndarray | float):
                assert_agree(found, value, SOLVED, size=1.0)
            else:
                assert equal(found, value), key


def test_every_operation_on_a_state_can_be_had_in_batches():
    orders = {"take", "give", "hold", "move", "command", "resume", "look", "payload"}
    others = {"hello", "batch", "simulate", "open", "tune", "close"}
    assert set(names_on("request")) - set(BATCHED) == others | orders


@pytest.mark.parametrize("coordinates", ["native", "pinocchio"])
@pytest.mark.parametrize("name", BATCHED)
def test_results_are_those_of_single_requests(robot, name, coordinates):
    fields = fields_of(robot, name, coordinates)
    stacked = run(robot, name, **fields)
    for k in range(COUNT):
        assert_same(stacked, k, one(robot, name, k, fields))


@pytest.mark.parametrize("of, third", [("inverse_dynamics", "a"), ("forward_dynamics", "tau")])
def test_derivatives_are_those_of_single_requests_with_wrenches_and_without(robot, of, third):
    states = states_of(robot)
    fields = {"of": of} | {key: states[key] for key in ("q", "v", third)}
    frame, told = robot.frame_names[-1], []
    wrenches = np.random.default_rng(4).standard_normal((COUNT, 6))
    stacked = run(robot, "derivatives", lambda *progress: told.append(progress), **fields)
    assert told[-1] == (COUNT, COUNT) and told == sorted(told)
    forced = run(robot, "derivatives", f_ext={frame: wrenches}, **fields)
    for k in range(COUNT):
        assert_same(stacked, k, one(robot, "derivatives", k, fields))
        own = fields | {"f_ext": {frame: wrenches[k]}}
        assert_same(forced, k, one(robot, "derivatives", k, own))


@pytest.mark.parametrize(
    "change, code, field",
    [
        ({"of": 3}, "bad_field", "of"),
        ({"of": "everything"}, "bad_field", "of"),
        ({"a": None}, "missing_field", "a"),
        ({"tau": np.zeros((COUNT, 1))}, "unknown_field", "tau"),
        ({"want": ["M"]}, "unknown_field", "want"),
    ],
)
def test_derivatives_refuse_what_a_single_request_refuses(robot, change, code, field):
    states = states_of(robot)
    fields = {"of": "inverse_dynamics"} | {key: states[key] for key in ("q", "v", "a")}
    problem = refused(robot, "derivatives", **(fields | change))
    assert (problem.code, problem.field) == (code, field)


def test_velocity_may_be_left_out_where_nothing_depends_on_it(robot):
    q = states_of(robot)["q"]
    stacked = run(robot, "dynamics", q=q, want=["M", "g"])
    for k in range(COUNT):
        assert_same(stacked, k, robot.dynamics(q[k], want=("M", "g")).as_dict())
    assert set(run(robot, "kinematics", q=q, frames=list(robot.frame_names[-1:]))) == {"pose", "J"}


def test_nested_lists_do_as_well_as_arrays(robot):
    q = states_of(robot)["q"]
    stacked = run(robot, "dynamics", q=q.tolist(), want=["g"])
    assert np.array_equal(stacked["g"], run(robot, "dynamics", q=q, want=["g"])["g"])


def test_progress_is_told_up_to_the_end(robot):
    told = []
    run(
        robot,
        "solve_mass",
        lambda *progress: told.append(progress),
        **fields_of(robot, "solve_mass"),
    )
    assert told[-1] == (COUNT, COUNT)
    assert all(0 < done <= COUNT == total for done, total in told)


def refused(robot, name, **fields):
    with pytest.raises(errors.TorquedError) as caught:
        run(robot, name, **fields)
    return as_request_error(caught.value)


@pytest.mark.parametrize("name", ["dynamics", "forward_dynamics", "integrate"])
@pytest.mark.parametrize("wrong", [0, 4])
def test_wrong_state_is_named(robot, name, wrong):
    fields = fields_of(robot, name)
    fields["v"][wrong, 2] = np.nan
    error = refused(robot, name, **fields)
    assert (error.code, error.field, error.state) == ("bad_field", "v", wrong)
    assert str(error) == f"state {wrong}: v[2] is nan, expected a finite number"
    assert errors.from_map(error.to_map()).state == wrong


@pytest.mark.parametrize(
    "name, change, field",
    [
        ("dynamics", {"want": ["Q"]}, "want"),
        ("dynamics", {"coordinates": "polar"}, "coordinates"),
        ("contact_dynamics", {"contacts": 5}, "contacts"),
        ("contact_dynamics", {"solver": "luck"}, "solver"),
        ("inverse_dynamics", {"f_ext": 5}, "f_ext"),
        ("dynamics", {"v": [[1.0]]}, "v"),
        ("dynamics", {"q": []}, "q"),
        ("dynamics", {"q": 1.0}, "q"),
        ("dynamics", {"q": [[1.0], [1.0, 2.0]]}, "q"),
        ("dynamics", {"q": "north"}, "q"),
        ("dynamics", {"q": {"a": 1}}, "q"),
        ("integrate", {"dt": 0.1}, "dt"),
        ("integrate", {"dt": [0.1]}, "dt"),
    ],
)
def test_faults_common_to_all_states_name_the_field_and_no_state(robot, name, change, field):
    error = refused(robot, name, **(fields_of(robot, name) | change))
    assert error.code == "bad_field"
    assert (error.field, error.state) == (field, None)


@pytest.mark.parametrize("name", ["dynamics", "inverse_dynamics", "integrate", "contact_dynamics"])
def test_wrong_shape_is_told_in_terms_of_the_batch(robot, name):
    error = refused(robot, name, **(fields_of(robot, name) | {"q": np.zeros((COUNT, 2))}))
    assert str(error) == f"q: shape ({COUNT}, 2), expected ({COUNT}, {robot.nq})"
    assert (error.value, error.expected) == ([COUNT, 2], f"shape ({COUNT}, {robot.nq})")
    error = refused(robot, name, **(fields_of(robot, name) | {"q": np.zeros(COUNT)}))
    assert str(error) == f"q: shape ({COUNT},), expected (N, {robot.nq})"


def test_wrong_shape_of_numbers_and_wrenches_is_told_likewise(robot):
    fields = fields_of(robot, "integrate") | {"dt": np.zeros((COUNT, 3))}
    assert str(refused(robot, "integrate", **fields)) == (
        f"dt: shape ({COUNT}, 3), expected ({COUNT},)"
    )
    frame, fields = robot.frame_names[-1], fields_of(robot, "inverse_dynamics")
    error = refused(robot, "inverse_dynamics", f_ext={frame: np.zeros((COUNT, 5))}, **fields)
    assert str(error).endswith(f"shape ({COUNT}, 5), expected ({COUNT}, 6)")


def test_fields_of_other_operations_are_refused(robot):
    fields = fields_of(robot, "solve_mass")
    assert refused(robot, "solve_mass", **fields, dt=[1.0]).code == "unknown_field"
    del fields["b"]
    error = refused(robot, "solve_mass", **fields)
    assert (error.code, error.field) == ("missing_field", "b")


@pytest.mark.parametrize("name", ["hello", "batch", "open", "dance", 5, ["dynamics"], None])
def test_what_is_no_operation_on_a_state_is_refused(robot, name):
    error = refused(robot, name, q=[[0.0]])
    assert (error.code, error.field) == ("bad_field", "operation")


def test_results_beyond_the_largest_message_are_refused_after_one_state(robot):
    calls = []
    q = np.repeat(states_of(robot)["q"][:1], 10000, axis=0)
    with pytest.raises(errors.MessageError) as caught:
        run(robot, "dynamics", lambda *progress: calls.append(progress), q=q, want=["Gamma"])
    error = caught.value
    assert error.code == "too_large"
    assert f"{10000 * 8 * robot.nv**3} bytes" in str(error)
    assert calls == []
