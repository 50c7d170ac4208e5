"""Statistics of the loop and its sessions: counters and percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.status import status_names
from torqued.kernels.control.wall_options import walls_of
from torqued.server.loop import loop_records
from torqued.server.loop.loop_records import WINDOW

if TYPE_CHECKING:
    from torqued.server.loop.servo import Servo
    from torqued.server.loop.session import Session


def describe_sessions(servo: Servo) -> list[dict[str, Any]]:
    """Every open session and its counters."""
    out = []
    for session in list(servo.sessions.values()):
        record = servo.shared.sessions[session.slot]
        out.append(
            {
                "session": session.number,
                "law": session.controller.name,
                "transport": session.link.transport,
                "clock": session.link.clock,
                "spun": float(record.spun) * 1e-9,
                "endpoint": session.endpoint,
                "client": session.caller.name,
                "cost_us": 1e6 * session.cost,
                "commander": servo.orders.commander(session),
                "idle": servo.idle(session),
                "overridden": session.controller.overridden,
                "mode": servo.orders.mode(session) if session.controller.law.is_torque else "",
                "success_rate": success_rate(record),
                "status": status_names(int(record.status)),
                "reason": status_names(int(record.reason)),
                "at_wall": at_wall(session, session.controller.record[0]),
                "sequence": int(record.sequence),
                **{name: int(record[name]) for name in loop_records.COUNTERS},
            }
        )
    return out


def at_wall(session: Session, control: Any) -> list[str]:
    """Joints, and frames before planes, whose walls changed a torque when one last did."""
    controller = session.controller
    return walls_of(control, controller.robot, controller.fields.get("walls"))


def loop_statistics(loop: Any, ages_on_arrival: NDArray[np.int64]) -> dict[str, Any]:
    """Ticks, misses and percentiles of lateness, compute time and age, µs."""
    out: dict[str, Any] = {
        "stopped": bool(loop.stop_requested),
        "tick": int(loop.tick),
        "missed": int(loop.missed),
        "rate": 1e9 / float(loop.period),
        "deadline": float(loop.deadline) * 1e-9,
        "spun": float(loop.spun) * 1e-9,
    }
    for name in ("lateness", "compute", "age"):
        histogram = np.array(loop[name])
        if name == "age":
            histogram += ages_on_arrival
        out[name] = {
            "p50_us": loop_records.percentile(histogram, 0.5),
            "p99_us": loop_records.percentile(histogram, 0.99),
            "count": int(histogram.sum()),
        }
    out["lateness"]["max_us"] = float(loop.latest) * 1e-3
    out["compute"]["max_us"] = float(loop.longest) * 1e-3
    return out


def success_rate(record: Any) -> float:
    """Share of the last ticks that had a result."""
    return float(record.window_sum) / max(1, min(int(record.ticks), WINDOW))
