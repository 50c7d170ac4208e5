"""Whatever a controller is made of or asked, only torqued's own errors come back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import junk
from torqued.kernels import InputError, NumericalError, Robot, TorquedError
from torqued.kernels.control import Balance, Controller, WholeBody
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.options import OPTIONS

ROBOTS = {
    "biped": Robot.family("biped", 4),
    "chain": Robot.family("chain", 3),
    "stone": Robot.from_xml(junk.STONE),
    "floating stone": Robot.from_xml(junk.STONE, base="floating"),
}
some = settings(max_examples=150)
robots = st.sampled_from(sorted(ROBOTS))

#: Gains of one law or another.
GAINS = (
    "stiffness",
    "damping",
    "bandwidth",
    "spring_frequency",
    "adaptation",
    "rotational_damping",
    "posture.weight",
)
TASKS = ("posture", "point", "orientation", "frame", "com", "momentum")
TASK_FIELDS = ("kind", "name", "weight", "stiffness", "damping", "joints", "frame", "axes", "bad")
CONTACT_FIELDS = ("frame", "name", "points", "half_size", "normal", "normal_in", "friction")
CONTACT_FIELDS += ("max_force", "damping", "bad")


def good_options(robot: Robot, law: str) -> dict[str, Any]:
    tip = robot.frame_names[-1]
    task = {"kind": "frame", "frame": tip}
    return {
        "stream": {"want": ["M", "J"], "frames": [tip]},
        "impedance": {"frame": tip},
        "adaptive": {"frame": tip},
        "elastic": {"springs": {"stiffness": 300.0, "motor_inertia": 0.1}},
        "wholebody": {"tasks": [{"kind": "posture"}, task], "contacts": [{"frame": tip}]},
        "balance": {"contacts": [{"frame": tip}]},
    }.get(law, {})


@pytest.mark.parametrize("law", LAWS)
@some
@given(name=robots, option=st.sampled_from(OPTIONS), value=junk.values)
def test_option_of_junk_is_refused(law, name, option, value):
    robot = ROBOTS[name]
    for wrong in (value, [value]):
        with suppress(TorquedError):
            Controller(robot, law, **{**good_options(robot, law), option: wrong})


@pytest.mark.parametrize("law", LAWS)
@some
@given(
    name=robots,
    where=st.sampled_from(["gains", "observer", "limits"]),
    key=st.sampled_from([*GAINS, "gain", "threshold", "release", "torque", "position", "bad"]),
    value=st.one_of(junk.values, junk.vectors(3, 4, 10)),
)
def test_gains_and_limits_of_junk_are_refused(law, name, where, key, value):
    robot = ROBOTS[name]
    with suppress(TorquedError):
        Controller(robot, law, **{**good_options(robot, law), where: {key: value}})


@pytest.mark.parametrize("law", LAWS)
@some
@given(data=st.data())
def test_state_and_references_of_junk_are_refused(law, data):
    robot = ROBOTS["chain" if law not in ("balance", "wholebody") else "biped"]
    controller = Controller(robot, law, **good_options(robot, law))
    names = ["q", "v", "elapsed", "bad", *controller.measured, *controller.references]
    wrong = data.draw(st.sampled_from(names))
    size = controller.references[wrong].size if wrong in controller.references else robot.nv
    value = data.draw(st.one_of(junk.values, junk.vectors(size)))
    state = {"q": robot.neutral(), "v": np.zeros(robot.nv), "elapsed": 0.0}
    references = {name: np.zeros(robot.nv) for name in controller.measured}
    references |= {} if wrong in state else {wrong: value}
    q, v, elapsed = ({**state, wrong: value}[key] for key in state)
    with suppress(TorquedError):
        out = controller.torque(q, v, elapsed, **references)
        assert all(np.isfinite(x).all() for key, x in vars(out).items() if key != "status")


@some
@given(
    name=robots, kind=st.sampled_from(TASKS), field=st.sampled_from(TASK_FIELDS), value=junk.values
)
def test_task_of_junk_is_refused(name, kind, field, value):
    robot = ROBOTS[name]
    own = {"frame": robot.frame_names[-1]} if kind in ("point", "orientation", "frame") else {}
    for wrong in (value, [value]):
        with suppress(TorquedError):
            WholeBody(robot, [{"kind": kind, **own, field: wrong}])


@some
@given(name=robots, field=st.sampled_from(CONTACT_FIELDS), value=junk.values)
def test_contact_of_junk_is_refused(name, field, value):
    robot = ROBOTS[name]
    for wrong in (value, [value]):
        contact = {"frame": robot.frame_names[-1], field: wrong}
        with suppress(TorquedError):
            WholeBody(robot, [{"kind": "posture"}], [contact])
        with suppress(TorquedError):
            Balance(robot, [contact])


@some
@given(
    field=st.sampled_from(["tasks", "contacts", "limits", "gains", "iterations", "period", "fade"]),
    value=junk.values,
)
def test_whole_body_controllers_refuse_junk(field, value):
    robot = ROBOTS["biped"]
    with suppress(TorquedError):
        WholeBody(robot, **{"tasks": [{"kind": "posture"}], field: value})
    with suppress(TorquedError):
        if field != "tasks":
            Balance(robot, **{"contacts": [{"frame": robot.frame_names[-1]}], field: value})


@some
@given(value=junk.values, key=st.sampled_from(["com.position", "active", "posture.velocity", "x"]))
def test_whole_body_references_of_junk_are_refused(value, key):
    robot = ROBOTS["biped"]
    control = WholeBody(
        robot, [{"kind": "com"}, {"kind": "posture"}], [{"frame": robot.frame_names[-1]}]
    )
    q, v = robot.neutral(), np.zeros(robot.nv)
    for references in (value, {**control.hold(q), key: value}):
        with suppress(TorquedError):
            control.torque(q, v, references)
    for call in (control.hold, control.pack_gains):
        with suppress(TorquedError):
            call(value)


@pytest.mark.parametrize("law", sorted(set(LAWS) - {"stream"}))
def test_robot_without_moving_joints_has_no_torques(law):
    robot = ROBOTS["stone"]
    with pytest.raises(InputError, match="robot 'stone' has no moving joints") as caught:
        Controller(robot, law, **good_options(robot, law))
    assert caught.value.field == "law"


def test_impedance_of_a_frame_that_does_not_move_is_refused_for_its_frame():
    robot = ROBOTS["chain"]
    with pytest.raises(InputError, match=r"^frame: 'base' does not move") as caught:
        Controller(robot, "impedance", frame=robot.frame_names[0])
    assert caught.value.field == "frame"


@pytest.mark.parametrize("law", ["pd_plus", "passivity", "computed_torque", "stream"])
def test_torque_that_is_not_finite_is_an_error(law):
    robot = ROBOTS["chain"]
    options = {"want": ["bias"]} if law == "stream" else {}
    controller = Controller(robot, law, **options)
    with pytest.raises(NumericalError, match=f"^law '{law}': the result is not finite"):
        controller.torque(np.full(3, 0.3), np.full(3, 1e160))


def test_unknown_names_get_suggestions():
    robot = ROBOTS["chain"]
    tip = robot.frame_names[-1]
    near = tip[:-1] + "x"
    with pytest.raises(InputError) as caught:
        Controller(robot, "impedance", frame=near)
    assert str(caught.value).startswith(f"frame {near!r} is unknown; did you mean ")
    assert caught.value.field == "frame"
    joint = robot.joint_names[0]
    with pytest.raises(InputError) as caught:
        WholeBody(robot, [{"kind": "posture", "joints": [joint[:-1] + "z"]}])
    assert "joint" in str(caught.value) and "did you mean" in str(caught.value)
    assert caught.value.field == "tasks[0].joints"
