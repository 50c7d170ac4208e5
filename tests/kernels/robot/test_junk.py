"""Whatever is passed to a robot, only torqued's own errors come back."""

from __future__ import annotations

import inspect
import warnings
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import junk
from torqued.kernels import Contact, Custom, ModelWarning, Robot, Target, TorquedError, Wrench
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.model.checks import MAX_DOFS
from torqued.kernels.robot.options import RobotOptions

ROBOTS = {
    "biped": Robot.family("biped", 4),
    "chain": Robot.family("chain", 2),
    "stone": Robot.from_xml(junk.STONE),
}
#: Ways to load, and what takes results of other methods.
OTHERS = {"load", "named", "from_urdf", "from_xml", "from_config", "from_description", "family"}
OTHERS |= {"attach", "posture"}
OTHERS |= {"copy", "results_of", "from_screws"}
OTHERS |= {"constraint_set", "contact_records", "contact_terms", "solve_contacts"}
METHODS = sorted(
    name
    for name, _ in inspect.getmembers(Robot, callable)
    if not name.startswith("_") and name not in OTHERS
)
CHARTS = ("native", "pinocchio", "quaternion", "com")

many = settings(max_examples=300)


def good_arguments(robot: Robot | ChartedRobot) -> dict[str, Any]:
    """By the names that parameters have."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    tip = robot.frame_names[-1]
    return {
        **dict.fromkeys(("q", "q0", "q1"), q),
        **dict.fromkeys(("v", "a", "tau", "w", "b", "v_ref", "a_ref", "jerk", "snap"), v),
        "frame": tip,
        "frames": (tip,),
        "want": ("M", "J"),
        **dict.fromkeys(("contacts", "constraints"), (Contact(tip, "point", friction=0.5),)),
        "targets": [Target(np.zeros(3), tip, "position")],
        "iterations": 3,
        "restarts": 1,
        "points": np.zeros(3),
        "joint": ("none", *robot.joint_names)[-1],
        "pose": np.eye(4),
        "mass": 1.0,
        "payloads": [{"frame": tip, "mass": 1.0}],
        "friction": {"viscous": 1.0},
        "dt": 1e-3,
        "seconds": 3e-3,
        "rng": np.random.default_rng(0),
        "positions": {},
        "coordinates": "native",
        "order": 2,
        "name": ("none", *robot.joint_names)[-1],
    }


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=60)
@given(data=st.data())
def test_method_refuses_junk_in_any_argument(name, data):
    robot = ROBOTS[data.draw(st.sampled_from(sorted(ROBOTS)))]
    coordinates = data.draw(st.sampled_from(CHARTS))
    with suppress(TorquedError):  # a robot on a fixed base has no chart by its center of mass
        robot.in_coordinates(coordinates)
        if hasattr(ChartedRobot, name):
            robot = robot.in_coordinates(coordinates)
    arguments = good_arguments(robot)
    # Those that change a robot have one to themselves.
    method = getattr(robot.copy() if name.startswith("set_") else robot, name)
    parameters = list(inspect.signature(method).parameters)
    if not parameters:
        return
    wrong = data.draw(st.sampled_from(parameters))
    kept = {key: value for key, value in arguments.items() if key in parameters}
    size = len(kept[wrong]) if isinstance(kept.get(wrong), np.ndarray) else 3
    value = data.draw(st.one_of(junk.values, junk.vectors(size, 3)))
    with suppress(TorquedError):
        method(**{**kept, wrong: value})


def test_every_method_has_good_arguments():
    """Otherwise the test above would only see that they are missing."""
    for robot in (ROBOTS["biped"], ROBOTS["chain"]):
        for name in METHODS:
            method = getattr(robot.copy() if name.startswith("set_") else robot, name)
            parameters = inspect.signature(method).parameters
            arguments = good_arguments(robot)
            if name in ("contact_dynamics_derivatives", "linearize") and robot is ROBOTS["chain"]:
                continue  # three rows hold two joints: redundant
            method(**{key: value for key, value in arguments.items() if key in parameters})


@many
@given(
    field=st.sampled_from(sorted(Contact.__dataclass_fields__)),
    kind=st.sampled_from(["point", "frame", "normal"]),
    value=junk.values,
    other=st.sampled_from(["stiffness", "target", "half_size"]),
)
def test_contact_of_junk_is_refused(field, kind, value, other):
    robot = ROBOTS["biped"]
    q, v, tip = robot.neutral(), np.zeros(robot.nv), robot.frame_names[-1]
    fields = {"frame": tip, "kind": kind, "friction": 0.5, field: value}
    more = {"stiffness": 1.0, "target": np.eye(4), "half_size": (0.1, 0.1)}
    if field != other:
        fields[other] = more[other]
    contacts = [Contact(**fields)]
    for call in (
        lambda: robot.contact_dynamics(q, v, v, contacts),
        lambda: robot.friction_dynamics(q, v, v, contacts, 1e-3),
        lambda: robot.impact(q, v, contacts),
        lambda: robot.contact_dynamics_derivatives(q, v, v, contacts),
    ):
        with suppress(TorquedError):
            call()


@many
@given(field=st.sampled_from(sorted(Wrench.__dataclass_fields__)), value=junk.values)
def test_force_of_junk_is_refused(field, value):
    robot = ROBOTS["biped"]
    q, v, tip = robot.neutral(), np.zeros(robot.nv), robot.frame_names[-1]
    for force in (value, Wrench(**{field: value}), [Wrench(), value]):
        with suppress(TorquedError):
            robot.inverse_dynamics(q, v, v, {tip: force})


@many
@given(value=junk.values.filter(lambda x: not callable(x)))
def test_coordinates_of_junk_are_refused(value):
    robot = ROBOTS["chain"]
    for custom in (
        Custom(value),
        Custom(np.eye(2), value),
        Custom(lambda q: value, lambda q, v: value),
    ):
        with suppress(TorquedError):
            robot.in_coordinates(custom).coriolis_matrix(np.zeros(2), np.zeros(2))


@many
@given(
    load=st.sampled_from(["load", "named", *sorted(name for name in OTHERS if "from_" in name)]),
    option=st.sampled_from(["", "base", "gravity", "armature", "mimic"]),
    value=junk.values,
)
def test_loading_junk_is_refused(load, option, value):
    first: Any = {"from_xml": junk.STONE, "named": "chain2", "load": "chain2"}.get(load, value)
    options = {option: value} if option and load != "from_config" else {}
    with suppress(TorquedError), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        getattr(Robot, load)(first if options else value, **options)


class Silent:
    def __repr__(self):
        raise OSError


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("option", sorted(RobotOptions.__annotations__))
@pytest.mark.parametrize(
    "value",
    [
        *(np.array([1.0, 2.0, 3.0]), nested(3000), Silent(), Decimal("sNaN"), "no", 7.0),
        *({"joint_1": {"upper": np.array([1.0, 2.0])}}, {"joint_1": {1: 2, "gear_ratio": 3}}),
        *({"joint_1": Decimal("sNaN")}, {"joint_1": nested(3000)}, {None: {}}, {1: {}}, [Silent()]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_options_of_junk_are_refused(option, value):
    with suppress(TorquedError), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = Robot.load("chain3", **{option: value})
        assert all(isinstance(name, str) for name in robot.postures)


@many
@given(
    option=st.sampled_from(["kind", "dofs", "seed", "base", "gravity", "armature"]),
    value=junk.values,
)
def test_family_of_junk_is_refused(option, value):
    with suppress(TorquedError):
        Robot.family(**{"kind": "chain", "dofs": 2, option: value})


@pytest.mark.parametrize("dofs", [0, MAX_DOFS + 1, 10**30])
def test_family_has_a_size_that_can_be_built(dofs):
    with pytest.raises(TorquedError, match=r"^dofs is"):
        Robot.family("chain", dofs)
