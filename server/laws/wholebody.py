"""Whole-body control and balancing as laws; server/wholebody/ has what they do.

Tasks, contacts and limits come with the opening of a session; each tick brings references for all
tasks, and which contacts are active.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torqued.kernels import InputError, Robot
from torqued.server.compiling import law
from torqued.server.fields import mapping
from torqued.server.laws.law import Array, Fields, Law, Prepared, open_session
from torqued.server.wholebody.balance import Balance
from torqued.server.wholebody.balance_law import balance_torque
from torqued.server.wholebody.law import whole_body_torque
from torqued.server.wholebody.whole_body import WholeBody

#: What both take beside gains; `tasks` only the first.
OPTIONS = ("contacts", "limits", "iterations")


def list_of_maps(fields: Fields, name: str) -> list[dict[str, Any]]:
    """A field that is a list of maps, empty where it is absent."""
    value = fields.get(name, [])
    if not isinstance(value, list | tuple) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{name}: expected a list of maps", name, None, "a list of maps")
    return list(value)


def make_whole_body(robot: Robot, fields: Fields) -> WholeBody:
    return WholeBody(
        robot,
        list_of_maps(fields, "tasks"),
        list_of_maps(fields, "contacts"),
        fields.get("limits"),
        mapping(fields, "gains"),
        fields.get("iterations", 200),
    )


def make_balance(robot: Robot, fields: Fields) -> Balance:
    return Balance(
        robot,
        list_of_maps(fields, "contacts"),
        fields.get("limits"),
        mapping(fields, "gains"),
        fields.get("iterations", 200),
    )


def preparing(make: Callable[[Robot, Fields], Any]) -> Callable[[Robot, Fields], Prepared]:
    """References that hold the neutral configuration are the defaults."""

    def prepare(robot: Robot, fields: Fields) -> Prepared:
        control = make(robot, fields)
        hold = control.hold(robot.neutral())
        references = {name: np.asarray(hold[name]) for name in control.references}
        return Prepared(
            control.gains, references, control.outputs, own=control.address, owner=control
        )

    return prepare


def packing(make: Callable[[Robot, Fields], Any]) -> Callable[[Robot, Fields, Fields], Array]:
    """Gains of a session that is made anew with others: all checks are made again."""

    def gains(robot: Robot, given: Fields, fields: Fields) -> Array:
        packed: Array = make(robot, {**fields, "gains": given}).gains
        return packed

    return gains


WHOLE_BODY = Law(
    "whole_body_session",
    preparing(make_whole_body),
    packing(make_whole_body),
    options=("tasks", *OPTIONS),
)
BALANCE = Law("balance_session", preparing(make_balance), packing(make_balance), options=OPTIONS)


@law
def whole_body_session(handle, address):
    """Returns status bits."""
    work, session, sizes, data = open_session(handle, address)
    own = np.int64(session[0].own)
    return whole_body_torque(work, own, data.state, sizes.nq, sizes.nv, data.gains, data.out)


@law
def balance_session(handle, address):
    """Returns status bits."""
    work, session, sizes, data = open_session(handle, address)
    own = np.int64(session[0].own)
    return balance_torque(work, own, data.state, sizes.nq, sizes.nv, data.gains, data.out)
