"""`Controller`: any law in this process, and what sessions with the loop are made of.

controller = Controller(robot, "passivity", gains={"bandwidth": 15.0})
tau = controller.torque(q, v, q_ref=q_ref, v_ref=v_ref).tau
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.common.status import NONFINITE, status_names
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import address_of
from torqued.kernels.control import evaluation  # noqa: F401  (registers what it compiles)
from torqued.kernels.control.law import Array, Gains, Shape
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.observer import observer_array, observer_outputs
from torqued.kernels.control.records import CONTROL
from torqued.kernels.control.session_arrays import SESSION, Sizes
from torqued.kernels.control.stability import (
    DEFAULT_DELAY,
    Stability,
    checked_delay,
    require_stable,
)
from torqued.kernels.input_checks import choice, mapping, number, numbers
from torqued.kernels.result_checks import not_finite

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: What every law takes beside its own options.
COMMON = ("gains", "effort_limit", "rate_limit", "observer")
#: What a session takes beside that: how long a torque is held and fades when there is no other.
SESSION_OPTIONS = ("hold", "fade", "fallback_damping")
#: All fields that some law takes.
OPTIONS = tuple(dict.fromkeys([*COMMON, *(name for law in LAWS.values() for name in law.options)]))


EMPTY: Mapping[str, Any] = MappingProxyType({})


class Controller:
    """A law for a robot: its arrays, laid out for compiled code, and its state of memory."""

    def __init__(self, robot: Robot, law: str, **fields: Any) -> None:
        self.robot, self.name = robot, choice("law", law, LAWS)
        self.law, self.fields = LAWS[self.name], fields
        allowed = (*COMMON, *self.law.options) if self.law.is_torque else self.law.options
        for name in fields:
            if name not in allowed:
                listed = ", ".join(allowed)
                raise InputError(f"law {law!r} takes no {name!r}, allowed: {listed}", name)
        if self.law.is_torque and robot.nv == 0:
            message = f"robot {robot.name!r} has no moving joints: there is no torque to control"
            raise InputError(message, "law", law)
        mapping(fields, "gains")
        prepared = self.law.prepare(robot, fields)
        self.prepared = prepared
        self.gains = prepared.gains  # those in effect, by name
        self.references = prepared.references
        self.outputs: dict[str, Shape] = dict(prepared.outputs)
        observer = observer_array(robot, fields.get("observer"))
        if len(observer):
            self.outputs |= observer_outputs(robot)
        packed = pack(prepared.gains)
        sizes = Sizes(
            robot.nq,
            robot.nv,
            robot.nq_free,
            robot.nv_free,
            torques=robot.nv if self.law.is_torque else 0,
            unactuated=6 if robot.model.base == "floating" else 0,
            state=robot.nq + robot.nv + sum(value.size for value in self.references.values()),
            gains=len(packed),
            memory=len(prepared.memory),
            out=sum(math.prod(shape) for shape in self.outputs.values()),
            observer=len(observer),
            kept=prepared.remembered + len(observer),
            quaternions=len(robot.quaternions),
        )
        self.memory = SESSION.allocate(sizes)
        self.data = self.memory.arrays
        self.data.gains[:] = self.data.target[:] = packed
        self.data.memory[:] = prepared.memory
        self.data.observer[:] = observer
        self.data.quaternions[:] = [start for _, start in robot.quaternions]
        self._fill_limits(fields)
        self._fill_mimics()
        self.record = np.zeros(1, CONTROL).view(np.recarray)
        self._fill_record()

    def _fill_limits(self, fields: Mapping[str, Any]) -> None:
        robot, data = self.robot, self.data
        if not self.law.is_torque:
            return
        limits = robot.limits.effort.copy()
        if fields.get("effort_limit") is not None:
            limits = np.minimum(limits, not_negative(fields, "effort_limit", robot.nv))
        data.effort[:] = limits
        data.rate[:] = np.inf
        if fields.get("rate_limit") is not None:
            data.rate[:] = not_negative(fields, "rate_limit", robot.nv)

    def _fill_mimics(self) -> None:
        mimics, data = self.robot.model.mimics, self.data
        data.q_multiplier[:], data.q_offset[:] = mimics.q_multiplier, mimics.offset
        data.q_index[:], data.v_index[:] = mimics.q_index, mimics.v_index
        data.v_multiplier[:] = mimics.multiplier
        data.leaders[:] = mimics.leaders_v
        data.turn[:] = turns(self.robot)

    def _fill_record(self) -> None:
        record, prepared = self.record[0], self.prepared
        record.law, record.law_memory = address_of(self.law.entry), prepared.law_memory
        record.observer = address_of("observe") if len(self.data.observer) else 0
        record.address = self.record.ctypes.data
        record.remembered = prepared.remembered
        record.most_iterations = prepared.iterations
        record.iteration_time = prepared.iteration_time
        record.want, record.representation = prepared.want, prepared.representation
        record.frames, record.frame_count = prepared.frames.ctypes.data, len(prepared.frames)
        record.data = self.memory.address

    def tuned(self, changes: Mapping[str, Any]) -> Gains:
        """All gains by name with some changed, checked; others stay as they were."""
        # Those in effect, not those given: a default may depend on a gain that changes.
        void = {name for given in changes for name in self.law.replaces.get(given, ())}
        merged = {name: value for name, value in self.gains.items() if name not in void} | {
            **changes
        }
        gains = self.law.gains(self.robot, merged, self.fields)
        self.fields = {**self.fields, "gains": merged}
        self.gains = gains
        return gains

    def stabilize(self, period: float, delay: float = DEFAULT_DELAY) -> Stability | None:
        """Check the gains in effect for a loop of a period, with a delay from state to torque, s.

        Gains that a user gave are refused where they are unstable; others are reduced, and the
        result has the factor. Nothing for laws that are not judged by this.
        """
        gains, found = require_stable(
            self.robot, self.law, self.gains, self.fields, period, checked_delay(delay)
        )
        if gains is not self.gains:
            self.gains = gains
            self.data.gains[:] = self.data.target[:] = pack(gains)
        return found

    def torque(self, q: Any, v: Any, elapsed: float = 0.0, /, **references: Any) -> SimpleNamespace:
        """Outputs by name (`.tau`, `.storage`, …) and `.status`, the names of status bits.

        References that are not given keep the values of the last call, at first their defaults.
        `elapsed` s since the last call is for laws that learn and for the observer.
        """
        status = self.evaluate(q, v, elapsed, references)
        if status & NONFINITE:
            raise not_finite(f"law {self.name!r}")
        return SimpleNamespace(**self.split(self.data.out.copy()), status=status_names(status))

    def evaluate(
        self, q: Any, v: Any, elapsed: float = 0.0, references: Mapping[str, Any] = EMPTY
    ) -> int:
        """One tick in this process: fills `data.out` and returns status bits."""
        self.take_state(q, v, elapsed, references)
        return self.compute()

    def take_state(
        self, q: Any, v: Any, elapsed: float = 0.0, references: Mapping[str, Any] = EMPTY
    ) -> None:
        """Check a state and lay it out for compiled code."""
        robot, data = self.robot, self.data
        for name in references:
            if name not in self.references:
                listed = ", ".join(self.references) or "none"
                message = f"reference {name!r} is unknown, law {self.name!r} takes: {listed}"
                raise InputError(message, f"references.{name}")
        q = robot.tree.own_q(q)
        for name, value in references.items():
            shape = self.references[name].shape
            self.references[name] = numbers(f"references.{name}", value, shape)
        parts = [q, numbers("v", v, (robot.nv,)), *self.references.values()]
        np.concatenate([part.ravel() for part in parts], out=data.state)
        self.record[0].elapsed = number("elapsed", elapsed)

    def compute(self) -> int:
        """Evaluate the law for the state that was taken: nothing but compiled code."""
        return int(COMPILED.evaluate_once(self.robot.work.handle, self.record))

    def split(self, flat: NDArray[np.float64]) -> dict[str, Array]:
        """Outputs by name."""
        out, start = {}, 0
        for name, shape in self.outputs.items():
            size = math.prod(shape)
            out[name] = flat[start : start + size].reshape(shape)
            start += size
        return out


def pack(gains: Gains) -> Array:
    """Gains one behind the other, as compiled code has them."""
    return np.concatenate([np.zeros(0), *(np.ravel(value) for value in gains.values())])


def turns(robot: Robot) -> Array:
    """(nv,) 2π for joints that turn on and on, 0 for all others and those that others follow."""
    mimics, dofs = robot.model.mimics, robot.model.dofs
    found = np.zeros(robot.nv_free)
    for joint in robot.model.joints:
        endless = joint.type == "revolute" and np.isinf([dofs.lower[joint.q], dofs.upper[joint.q]])
        if joint.type == "continuous" or np.all(endless):
            found[joint.v] = 2.0 * np.pi
    alone = np.bincount(mimics.v_index, minlength=robot.nv) == 1
    return np.where(alone, found[mimics.leaders_v], 0.0)


def not_negative(fields: Mapping[str, Any], name: str, *shape: int) -> Array:
    """A field of numbers that are zero or positive."""
    values = numbers(name, fields[name], shape)
    if (values < 0.0).any():
        worst = float(values.min())
        message = f"{name} has {worst}, expected zero or a positive number"
        raise InputError(message, name, worst, "zero or a positive number")
    return values
