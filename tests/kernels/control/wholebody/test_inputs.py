"""What users say is checked when a controller is made, each fault with its field."""

import numpy as np
import pytest

from support.wholebody_cases import FEET, STANDING, biped
from torqued.kernels import InputError
from torqued.kernels.control.wholebody.whole_body import WholeBody

ROBOT = biped(0)


def refused(field, match, tasks=STANDING, contacts=FEET, **options):
    with pytest.raises(InputError, match=match) as caught:
        WholeBody(ROBOT, tasks, contacts, **options)
    assert caught.value.field is not None
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize(
    ("task", "field", "match"),
    [
        ({"kind": "dance"}, "tasks[0].kind", "'dance' is unknown, allowed: 'posture'"),
        ({"weight": 1.0}, "tasks[0].kind", "expected a map with a 'kind'"),
        ({"kind": "com", "frame": "body"}, "tasks[0]", "'frame' is unknown"),
        ({"kind": "frame"}, "tasks[0].frame", "missing"),
        ({"kind": "frame", "frame": "tail"}, "tasks[0].frame", "'tail' is unknown"),
        ({"kind": "com", "weight": -1.0}, "", "weight is -1.0, expected zero or a positive"),
        ({"kind": "com", "damping": np.nan}, "tasks[0].damping", "expected a finite number"),
        ({"kind": "com", "axes": [1, 1]}, "tasks[0].axes", "shape"),
        ({"kind": "posture", "joints": ["knee"]}, "tasks[0].joints", "'knee' is unknown"),
        ({"kind": "com", "name": ""}, "tasks[0].name", "expected a unique text"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(task, field, match):
    if field:
        refused(field, match, tasks=[task])
    else:
        with pytest.raises(InputError, match=match):
            WholeBody(ROBOT, [task], FEET)


@pytest.mark.parametrize(
    ("contact", "field", "match"),
    [
        ({}, "contacts[0].frame", "missing"),
        ({"frame": "tail"}, "contacts[0].frame", "'tail' is unknown"),
        ({"frame": "body", "normal": [0, 0, 0]}, "contacts[0].normal", "expected a direction"),
        ({"frame": "body", "points": []}, "contacts[0].points", "shape|empty"),
        ({"frame": "body", "points": [[0, 0, 0]], "half_size": [1, 1]}, "contacts[0]", "one of"),
        ({"frame": "body", "normal_in": "sky"}, "contacts[0].normal_in", "'world', 'frame'"),
        ({"frame": "body", "colour": 1}, "contacts[0]", "'colour' is unknown"),
    ],
)
def test_contacts_that_make_no_sense_are_refused(contact, field, match):
    refused(field, match, contacts=[contact])


@pytest.mark.parametrize(
    ("options", "field", "match"),
    [
        ({"limits": {"torque": -1.0}}, "limits.torque", "expected no negative"),
        ({"limits": {"power": 1.0}}, "limits", "'power' is unknown"),
        ({"limits": {"position": np.ones((18, 2)) * [2, 1]}}, "limits.position", "is above upper"),
        ({"gains": {"com.weigth": 1.0}}, "gains", "'com.weigth' is unknown"),
        ({"gains": {"com.weight": -2.0}}, "gains.com.weight", "expected no negative"),
        ({"gains": {"force_weight": 0.0}}, "gains.force_weight", "expected a positive"),
        ({"iterations": 0}, "iterations", "from 1 to 10000"),
        ({"tasks": "com"}, "tasks", "expected a list"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, field, match):
    refused(field, match, **options)


def test_references_are_named_and_checked():
    control = WholeBody(ROBOT, STANDING, FEET)
    q, v = ROBOT.neutral(), np.zeros(ROBOT.nv)
    references = control.hold(q)
    with pytest.raises(InputError, match=r"references\.com\.position is missing"):
        control.torque(q, v, {k: x for k, x in references.items() if k != "com.position"})
    with pytest.raises(InputError, match=r"'com\.place' is unknown"):
        control.torque(q, v, references | {"com.place": np.zeros(3)})
    with pytest.raises(InputError, match="shape"):
        control.torque(q, v, references | {"active": [1.0]})


@pytest.mark.parametrize("turn", [np.zeros(4), [0.0, 0.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
def test_orientation_that_is_not_a_unit_quaternion_is_refused(turn):
    control = WholeBody(ROBOT, STANDING, FEET)
    q, v = ROBOT.neutral(), np.zeros(ROBOT.nv)
    name = next(name for name in control.references if name.endswith("orientation"))
    with pytest.raises(InputError, match=rf"^references.{name}: a quaternion has the length"):
        control.torque(q, v, control.hold(q) | {name: turn})


def test_names_of_tasks_are_unique_and_lead_to_their_gains():
    frames = [{"kind": "point", "frame": "body"}, {"kind": "point", "frame": "link_left_01"}]
    control = WholeBody(ROBOT, [*frames, {"kind": "com", "name": "middle"}], FEET)
    assert control.task_names == ["point", "point#2", "middle"]
    changed = control.pack_gains({"point#2.stiffness": 7.0})
    assert changed[control.gain_names["point#2.stiffness"]] == [7.0]
    assert (changed != control.gains).sum() == 1
    assert list(control.references)[:2] == ["point.position", "point.velocity"]
    sizes = [int(np.prod(shape)) for shape in control.references.values()]
    assert len(control.pack(ROBOT.neutral(), np.zeros(18), control.hold(ROBOT.neutral()))) == (
        ROBOT.nq + ROBOT.nv + sum(sizes)
    )
