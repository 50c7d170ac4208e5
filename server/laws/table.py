"""All laws by name, and the compiled choice between them."""

from __future__ import annotations

from torqued.server.compiling import kernel
from torqued.server.laws import gravity, stream
from torqued.server.laws.gravity import GRAVITY, gravity_torque
from torqued.server.laws.law import Law
from torqued.server.laws.stream import stream_quantities

LAWS: dict[str, Law] = {
    "stream": stream.LAW,
    "gravity": gravity.LAW,
}


@kernel
def evaluate_law(work, session, sizes, data):
    """Results of this tick into data.out. Returns status bits."""
    if session.law == GRAVITY:
        return gravity_torque(work, sizes, data)
    return stream_quantities(work, session, sizes, data)
