"""Integral action: a slow estimate of a constant torque that the model does not have.

    d b / dt = rate (r − b),  |b| ≤ limit,     τ = law − b

r is the residual of the momentum observer (observer.py), which knows the torque that was sent. A
joint at rest has r − b equal to what its law's spring holds, so that b takes that over: an integral
of the position error, weighted by stiffness. But r knows the motion, too. A reference that jumps
moves nothing in b, and a torque that is cut winds nothing up; b stands still meanwhile all the
same, as r is then of a robot that does not follow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.status import (
    CLAMPED,
    FALLBACK,
    INVALID,
    NONFINITE,
    OVERRUN,
    SOLVER,
    STALE,
    WALL,
)
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.friction import add_torque
from torqued.kernels.control.law import Array
from torqued.kernels.input_checks import known_keys, number, numbers, shown

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

NAMES = ("rate", "limit")
#: 1/s: default, and most. An estimate as fast as the law would work against it.
DEFAULT_RATE, MAX_RATE = 1.0, 10.0
#: Of a joint's effort limit, or of what its weight asks for: most that is estimated by default.
DEFAULT_SHARE = 0.1
#: In the last tick the robot did not get the law's torque: nothing is learned from that.
FREEZING = STALE | CLAMPED | FALLBACK | SOLVER | NONFINITE | INVALID | OVERRUN | WALL


class Integral:
    """The option of a session: rate and limits; no limits where there is no integral action."""

    def __init__(self, robot: Robot, law: str, given: Any, references: Mapping[str, Any]) -> None:
        self.rate, self.limit = 0.0, np.zeros(0)
        if given is None or given is False:
            return
        if "q_ref" not in references or law == "adaptive":
            why = "learns its load by itself" if law == "adaptive" else "keeps no joint positions"
            raise InputError(f"integral: law {law!r} {why}", "integral", law)
        fields = given if isinstance(given, Mapping) else {"rate": given}
        if given is True:
            fields = {}
        known_keys("integral", fields, NAMES)
        self.rate = number("integral.rate", fields.get("rate", DEFAULT_RATE))
        if not 0.0 < self.rate <= MAX_RATE:
            wanted = f"above 0, at most {MAX_RATE:g} 1/s"
            raise InputError(
                f"integral.rate is {self.rate}, expected {wanted}", "integral", self.rate, wanted
            )
        self.limit = limit_of(robot, fields)


def limit_of(robot: Robot, fields: Mapping[str, Any]) -> Array:
    """N m (nv,), zero or positive and within effort limits."""
    effort = robot.limits.effort
    usable = np.isfinite(effort) & (effort > 0.0)
    if fields.get("limit") is None:
        weight = np.abs(robot.gravity(robot.neutral())).max(initial=1.0)
        share: Array = DEFAULT_SHARE * np.where(usable, effort, weight)
        return share
    values = numbers("integral.limit", fields["limit"], (), (robot.nv,))
    if (values < 0.0).any() or (usable & (values > effort)).any():
        wanted = "zero to the effort limit of each joint"
        raise InputError(
            f"integral.limit is {shown(values.tolist())}, expected {wanted}",
            "integral.limit",
            None,
            wanted,
        )
    return np.broadcast_to(values, (robot.nv,)).copy()


@kernel
def compensate_bias(control, sizes, data):
    """Go on estimating, and take the estimate off the law's torque; needs this tick's observer."""
    n = len(data.bias)
    if n == 0:
        return
    residual = data.observer[4 * n : 5 * n]
    step = 1.0 - math.exp(-control.bias_rate * control.elapsed)
    for k in range(n):
        if control.status & FREEZING == 0 and math.isfinite(residual[k]):
            b = data.bias[k] + step * (residual[k] - data.bias[k])
            data.bias[k] = min(max(b, -data.bias_limit[k]), data.bias_limit[k])
        if sizes.springs == 0:  # a law of springs counts it among the torques on links
            add_torque(control, sizes, data, k, -data.bias[k])
