"""Sessions and their ticks as a ring or a recording has them, written by hand."""

import numpy as np

from torqued.common.status import OK
from torqued.server.observation.layout import LOOP_TICK, TICK_HEAD
from torqued.tools.recording.session_layout import session_info


def session(number=7, closed=None):
    offset = TICK_HEAD.itemsize

    def part(name, unit):
        nonlocal offset
        offset += 16
        return {"name": name, "shape": [2], "offset": offset - 16, "unit": unit}

    return session_info(
        {
            "session": number,
            "law": "pd",
            "client": "<me>",
            "opened": 0.0,
            "closed": closed,
            "gains": {},
            "state": [part("q", "rad"), part("v", "rad/s")],
            "references": [part("q_ref", "rad")],
            "outputs": [part("tau", "N m")],
            "record_bytes": offset,
            "effort_limit": [10.0, None],
        }
    )


def ticks(info, times, status=OK):
    rows = np.zeros(len(times), info.dtype)
    rows["time"] = (np.asarray(times) * 1e9).astype(np.int64)
    rows["status"], rows["q"], rows["q_ref"], rows["tau"] = status, 0.5, 0.7, [9.9, -3.0]
    return rows


ROBOT = {"joints": ["one", "<two>"], "base": "fixed", "limits": {"effort": [1.0, 1.0]}}
NO_LOOP = np.zeros(0, LOOP_TICK)
