"""Small robots to put a fault into, and what `check` says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from torqued.common.errors import ModelError
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Description, Inertia, Joint, Limits, Link

LIMITS = Limits(-1.0, 1.0, 2.0, 3.0)
SOLID = Inertia(1.0, np.array([0.1, 0.0, 0.0]), np.diag([0.1, 0.1, 0.1]))
NOTHING = Inertia()


def joint(name: str, parent: str, child: str, type: str = "revolute", **changes) -> Joint:
    return Joint(name, type, parent, child, **{"limits": LIMITS, **changes})


def robot(links: dict[str, Inertia], *joints: Joint) -> Description:
    described = tuple(Link(name, inertia) for name, inertia in links.items())
    return Description("r", described, joints, "robot.urdf")


def arm(inertia: Inertia = SOLID, **changes) -> Description:
    """One link 'hand' on one joint 'elbow'."""
    return robot({"base": SOLID, "hand": inertia}, joint("elbow", "base", "hand", **changes))


def three(*joints: Joint) -> Description:
    return robot({"a": SOLID, "b": SOLID, "c": SOLID}, *joints)


def pair(first: dict, second: dict) -> Description:
    """Two joints in a row, 'one' and 'two'."""
    return three(joint("one", "a", "b", **first), joint("two", "b", "c", **second))


def rotational(*moments: float) -> Inertia:
    return replace(SOLID, rotational=np.diag(moments))


def problems(description: Description) -> tuple[str, ...]:
    with pytest.raises(ModelError) as caught:
        check(description)
    assert caught.value.source == description.source
    return caught.value.problems


def warning(description: Description) -> str:
    """The only warning, which is the only fault with strict."""
    (sentence,) = check(description)
    with pytest.raises(ModelError) as caught:
        check(description, strict=True)
    assert caught.value.problems == (sentence,)
    return sentence
