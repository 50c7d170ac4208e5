"""All laws by name."""

from __future__ import annotations

from torqued.kernels.control.law import Law
from torqued.kernels.control.laws import (
    adaptive,
    computed_torque,
    elastic,
    gravity,
    impedance,
    passivity,
    pd,
    pd_plus,
    stream,
    torque,
    wholebody,
)

LAWS: dict[str, Law] = {
    "stream": stream.LAW,
    "gravity": gravity.LAW,
    "torque": torque.LAW,
    "pd": pd.LAW,
    "pd_plus": pd_plus.LAW,
    "computed_torque": computed_torque.LAW,
    "passivity": passivity.LAW,
    "adaptive": adaptive.LAW,
    "elastic": elastic.LAW,
    "impedance": impedance.LAW,
    "wholebody": wholebody.WHOLE_BODY,
    "balance": wholebody.BALANCE,
}
