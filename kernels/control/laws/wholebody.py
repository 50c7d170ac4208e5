"""Whole-body control and balancing as laws; kernels/control/wholebody/ has what they do.

Tasks, contacts and limits come with the opening of a session; each tick brings references for all
tasks, and which contacts are active.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import Array, Fields, Gains, Law, Prepared, law, open_control
from torqued.kernels.control.poses import Poses
from torqued.kernels.control.wholebody.balance import Balance
from torqued.kernels.control.wholebody.balance_law import balance_torque
from torqued.kernels.control.wholebody.daqp import limit_iterations
from torqued.kernels.control.wholebody.law import whole_body_torque
from torqued.kernels.control.wholebody.layout import open_program
from torqued.kernels.control.wholebody.linearization import (
    balance_answer,
    linearized,
    stances,
    whole_body_answer,
)
from torqued.kernels.control.wholebody.whole_body import WholeBody
from torqued.kernels.input_checks import mapping

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: What both take beside gains.
OPTIONS = ("tasks", "contacts", "limits", "iterations")


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
        tasks=list_of_maps(fields, "tasks"),
    )


def named(control: Any) -> Gains:
    """The gains of a whole-body controller by name."""
    return {name: control.gains[part].copy() for name, part in control.gain_names.items()}


#: The last controller that was judged, by robot: a search for stable gains asks for it many times.
_JUDGED: WeakKeyDictionary[Robot, tuple[str, Any]] = WeakKeyDictionary()

#: Rates of tasks, contacts and postures.
SCALING = {"*.stiffness": 2, "*.damping": 1, "joint_damping": 1}


def session_law(
    entry: str, make: Callable[[Robot, Fields], Any], answer: Callable[..., tuple[Array, Array]]
) -> Law:
    """The law of a controller from `make`; `answer` is what it is at rest."""

    def prepare(robot: Robot, fields: Fields) -> Prepared:
        """What moves is held until it is given; contacts are all active by default."""
        control = make(robot, fields)
        hold = control.hold(robot.neutral())
        return Prepared(
            named(control),
            {name: np.asarray(hold[name]) for name in control.references},
            control.outputs,
            iterations=control.iterations,
            iteration_time=control.iteration_time,
            law_memory=control.address,
            owner=control,
            motions=control.motions,
        )

    def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
        """Of a session that is made again with others: all checks are made again."""
        return named(make(robot, {**fields, "gains": given}))

    def judged(robot: Robot, fields: Fields) -> Any:
        """A controller with the options of a session, whatever its gains."""
        options = {name: fields.get(name) for name in OPTIONS if name in fields}
        key = repr((entry, options))
        if _JUDGED.get(robot, ("", None))[0] != key:
            _JUDGED[robot] = (key, make(robot, options))
        return _JUDGED[robot][1]

    def poses(robot: Robot, fields: Fields) -> Poses:
        """Where a law is judged: on all contacts, at all poses where there are none."""
        return stances(judged(robot, fields), list_of_maps(fields, "contacts"))

    def linearization(
        robot: Robot, gains: Gains, fields: Fields, poses: Poses
    ) -> tuple[Array, Array]:
        of_law = partial(answer, judged(robot, fields), gains)
        return linearized(of_law, list_of_maps(fields, "tasks"), poses)

    described: Any = {"linearization": linearization, "stances": poses, "scaling": SCALING}
    return Law(entry, prepare, gains, OPTIONS, **described)


WHOLE_BODY = session_law("whole_body_session", make_whole_body, whole_body_answer)
BALANCE = session_law("balance_session", make_balance, balance_answer)


@kernel
def bound_iterations(control, program):
    """Let the solver take no longer than the loop has time."""
    if control[0].iterations > 0:
        limit_iterations(open_program(program).solver[0], control[0].iterations)


@law
def whole_body_session(handle, address):
    """Returns status bits."""
    work, control, sizes, data = open_control(handle, address)
    program = np.int64(control[0].law_memory)
    bound_iterations(control, program)
    return whole_body_torque(work, program, data.state, sizes.nq, sizes.nv, data.gains, data.out)


@law
def balance_session(handle, address):
    """Returns status bits."""
    work, control, sizes, data = open_control(handle, address)
    program = np.int64(control[0].law_memory)
    bound_iterations(control, program)
    return balance_torque(work, program, data.state, sizes.nq, sizes.nv, data.gains, data.out)
