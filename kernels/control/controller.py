"""`Controller`: any law in this process, and what sessions with the loop are made of.

controller = Controller(robot, "passivity", gains={"bandwidth": 15.0})
tau = controller.torque(q, v, q_ref=q_ref, v_ref=v_ref).tau
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.common.status import NONFINITE, status_names
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import address_of
from torqued.kernels.control import evaluation  # noqa: F401  (registers what it compiles)
from torqued.kernels.control.law import Array, Shape
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.observer import observer_numbers, observer_outputs
from torqued.kernels.control.records import CONTROL
from torqued.kernels.control.session_arrays import Sizes, allocate
from torqued.kernels.input_checks import choice, mapping, number, numbers
from torqued.kernels.result_checks import not_finite

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: What every law takes beside its own options.
COMMON = ("gains", "effort_limit", "rate_limit", "observer")
#: All fields that some law takes.
OPTIONS = tuple(dict.fromkeys([*COMMON, *(name for law in LAWS.values() for name in law.options)]))


class Controller:
    """A law for a robot: its numbers, laid out for compiled code, and its state of memory."""

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
        self.references = prepared.references
        self.outputs: dict[str, Shape] = dict(prepared.outputs)
        observer = observer_numbers(robot, fields.get("observer"))
        if len(observer):
            self.outputs |= observer_outputs(robot)
        sizes = Sizes(
            robot.nq,
            robot.nv,
            robot.nq_free,
            robot.nv_free,
            torques=robot.nv if self.law.is_torque else 0,
            unactuated=6 if robot.model.base == "floating" else 0,
        )
        reference = sum(value.size for value in self.references.values())
        lengths = {
            "state": robot.nq + robot.nv + reference,
            "gains": len(prepared.gains),
            "target": len(prepared.gains),
            "memory": len(prepared.memory),
            "out": sum(math.prod(shape) for shape in self.outputs.values()),
            "observer": len(observer),
        }
        self.memory, self.data = allocate(sizes, lengths)
        self.data.gains[:] = self.data.target[:] = prepared.gains
        self.data.memory[:] = prepared.memory
        self.data.observer[:] = observer
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

    def _fill_record(self) -> None:
        record, prepared = self.record[0], self.prepared
        record.law, record.own = address_of(self.law.entry), prepared.own
        record.observer = address_of("observe") if len(self.data.observer) else 0
        record.address = self.record.ctypes.data
        record.want, record.representation = prepared.want, prepared.representation
        record.frames, record.frame_count = prepared.frames.ctypes.data, len(prepared.frames)
        record.data = self.memory.ctypes.data

    def gains(self, given: Mapping[str, Any]) -> Array:
        """Gains as the law packs them, checked; those not given stay as they were."""
        merged = {**mapping(self.fields, "gains"), **given}
        packed = self.law.gains(self.robot, merged, self.fields)
        self.fields = {**self.fields, "gains": merged}
        return packed

    def torque(self, q: Any, v: Any, elapsed: float = 0.0, /, **references: Any) -> SimpleNamespace:
        """Outputs by name (`.tau`, `.storage`, …) and `.status`, the names of status bits.

        References that are not given keep the values of the last call, at first their defaults.
        `elapsed` s since the last call is for laws that learn and for the observer.
        """
        robot, data = self.robot, self.data
        for name in references:
            if name not in self.references:
                listed = ", ".join(self.references) or "none"
                message = f"reference {name!r} is unknown, law {self.name!r} takes: {listed}"
                raise InputError(message, name)
        q = robot.tree.own_q(q)
        for name, value in references.items():
            self.references[name] = numbers(name, value, self.references[name].shape)
        parts = [q, numbers("v", v, (robot.nv,)), *self.references.values()]
        np.concatenate([part.ravel() for part in parts], out=data.state)
        self.record[0].elapsed = number("elapsed", elapsed)
        status = COMPILED.evaluate_once(robot.work.handle, self.record)
        if status & NONFINITE:
            raise not_finite(f"law {self.name!r}")
        out = self.split(data.out.copy())
        return SimpleNamespace(**out, status=status_names(status))

    def split(self, flat: NDArray[np.float64]) -> dict[str, Array]:
        """Outputs by name."""
        out, start = {}, 0
        for name, shape in self.outputs.items():
            size = math.prod(shape)
            out[name] = flat[start : start + size].reshape(shape)
            start += size
        return out


def not_negative(fields: Mapping[str, Any], name: str, size: int) -> Array:
    """A field with limits: zero or positive, (size,)."""
    values = numbers(name, fields[name], (size,))
    if (values < 0.0).any():
        worst = float(values.min())
        message = f"{name} has {worst}, expected zero or a positive number"
        raise InputError(message, name, worst, "zero or a positive number")
    return values
