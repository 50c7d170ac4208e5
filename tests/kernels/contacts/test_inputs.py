"""What users say about contacts is checked, and errors name the contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.contact_cases import box, corners
from torqued.kernels import Contact, InputError

ZERO = np.zeros(6)


@pytest.fixture(scope="module")
def robot():
    return box()


TURNED = np.diag([2.0, 1.0, 1.0, 1.0])
MIRRORED = np.diag([-1.0, 1.0, 1.0, 1.0])

WRONG: dict[str, tuple[Any, str]] = {
    "kind": (Contact("box", "sphere"), r"contacts\[1\]\.kind: 'sphere' is unknown, allowed: .*'po"),
    "frame": (Contact("foot"), r"contacts\[1\]\.frame: frame 'foot' is unknown"),
    "other": (Contact("box", other="wall"), r"contacts\[1\]\.other: frame 'wall' is unknown"),
    "point": (Contact("box", point=(1, 2)), r"contacts\[1\]\.frame 'box': point: shape \(2,\)"),
    "other point": (
        Contact("box", other="box", other_point=np.nan * np.ones(3)),
        r"contacts\[1\]\.other 'box': point\[0\] is nan",
    ),
    "zero normal": (Contact("box", normal=(0, 0, 0)), r"contacts\[1\]\.normal is zero"),
    "normal": (Contact("box", normal=(0, np.inf, 0)), r"contacts\[1\]\.normal\[1\] is inf"),
    "stiffness": (
        Contact("box", stiffness=-1.0, target=np.eye(4)),
        r"contacts\[1\]\.stiffness is -1.0, expected zero or a positive",
    ),
    "damping": (Contact("box", damping=-0.1), r"contacts\[1\]\.damping is -0.1"),
    "friction": (Contact("box", friction=-0.5), r"contacts\[1\]\.friction is -0.5"),
    "half size": (Contact("box", half_size=(0.1, -0.1)), r"contacts\[1\]\.half_size is"),
    "half size's shape": (Contact("box", half_size=0.1), r"contacts\[1\]\.half_size: shape"),
    "loop along a normal": (
        Contact("box", "normal", other="box"),
        r"contacts\[1\]: a loop closure of kind 'normal'",
    ),
    "stiffness without target": (
        Contact("box", stiffness=1.0),
        r"contacts\[1\]\.stiffness: needs a target",
    ),
    "frame with a position": (
        Contact("box", stiffness=1.0, target=(0, 0, 0)),
        r"contacts\[1\]\.target: a frame contact needs a pose",
    ),
    "target's shape": (Contact("box", target=np.eye(3)), r"contacts\[1\]\.target: shape \(3, 3\)"),
    "stretched target": (Contact("box", target=TURNED), r"contacts\[1\]\.target: .*not a rotation"),
    "mirrored target": (Contact("box", target=MIRRORED), r"contacts\[1\]\.target: .*not a rot"),
    "no contact": ("box", r"contacts\[1\]: 'box', expected a Contact"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_contact_is_named(robot, name):
    contact, message = WRONG[name]
    contacts = [Contact("box", "point", friction=0.5), contact]
    calls = [
        lambda: robot.contact_dynamics(robot.neutral(), ZERO, ZERO, contacts),
        lambda: robot.friction_dynamics(robot.neutral(), ZERO, ZERO, contacts, 1e-3),
        lambda: robot.impact(robot.neutral(), ZERO, contacts),
    ]
    for call in calls:
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize("contacts", [None, Contact("box"), {"box": Contact("box")}])
def test_contacts_are_a_list(robot, contacts):
    with pytest.raises(InputError, match="expected a list of contacts"):
        robot.contact_dynamics(robot.neutral(), ZERO, ZERO, contacts)


def test_unknown_solver(robot):
    with pytest.raises(InputError, match="solver: 'magic' is unknown, allowed: 'range_space'"):
        robot.contact_dynamics(robot.neutral(), ZERO, ZERO, [], "magic")


@pytest.mark.parametrize("restitution", [-0.01, 1.01, np.nan, "half", [0.5]])
def test_restitution_is_between_0_and_1(robot, restitution):
    with pytest.raises(InputError, match="restitution"):
        robot.impact(robot.neutral(), ZERO, corners(), restitution)


@pytest.mark.parametrize(
    ("q", "v", "tau", "name"),
    [
        (np.zeros(6), ZERO, ZERO, "q"),
        (None, np.zeros(5), ZERO, "v"),
        (None, ZERO, np.zeros(7), "tau"),
        (None, np.nan * ZERO, ZERO, "v"),
        (np.zeros(7), ZERO, ZERO, "quaternion"),
    ],
)
def test_state_is_checked(robot, q, v, tau, name):
    q = robot.neutral() if q is None else q
    with pytest.raises(InputError, match=name):
        robot.contact_dynamics(q, v, tau, corners())
    with pytest.raises(InputError, match=name):
        robot.friction_dynamics(q, v, tau, corners(0.5), 1e-3)


@pytest.mark.parametrize(
    ("contacts", "options", "message"),
    [
        ([Contact("box", friction=0.5)], {}, r"contacts\[0\]: kind 'frame' cannot have friction"),
        ([Contact("box", "point")], {}, r"contacts\[0\]: a point contact needs a friction coeff"),
        (corners(0.5), {"dt": 0.0}, "dt is 0.0, expected a positive"),
        (corners(0.5), {"dt": -1.0}, "dt is -1.0"),
        (corners(0.5), {"iterations": 0}, "iterations is 0, expected a whole number from 1"),
        (corners(0.5), {"iterations": 2.5}, "iterations is 2.5"),
        (corners(0.5), {"tolerance": -1e-9}, "tolerance is -1e-09"),
        (corners(0.5), {"tolerance": np.nan}, "tolerance is nan"),
        (corners(0.5), {"start": np.zeros(3)}, r"start: shape \(3,\), expected \(12,\)"),
        (corners(0.5), {"start": np.full(12, np.inf)}, r"start\[0\] is inf"),
    ],
)
def test_friction_problem_is_checked(robot, contacts, options, message):
    with pytest.raises(InputError, match=message):
        robot.friction_dynamics(robot.neutral(), ZERO, ZERO, contacts, **{"dt": 1e-3, **options})
