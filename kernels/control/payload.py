"""What a session's robot carries, on top of the model: put on before its tick, off after it.

All sessions of a loop are computed in one workspace, one after the other. A payload changes ten
numbers of a body there (kernels/model/payloads.py), which are put back to the bit before the next
session is served: each session has its own payload, and none changes another's torques. It
ends with its session, and costs neither compilation nor memory when it changes: its parameters move
evenly to what they are to be. Between two possible bodies all are possible, since pseudo-inertias
are a convex set, and torques are linear in the parameters: they have no step.
"""

from __future__ import annotations

import warnings
from typing import Any

from numba import types

from torqued.common.errors import ModelWarning
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.session_arrays import SessionArrays, arrays_of, control_at
from torqued.kernels.model.model import Model
from torqued.kernels.model.payloads import Load, load_notes, load_of, loads_of
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.tuples import load3, load6, store3, store6
from torqued.kernels.primitives.workspace import open_work

#: Numbers of a load: m, m c, Ī at the body's origin; and of a bare body: m, c, I about c.
PARAMETERS = 10

# Places in `load_steps`. Python writes ASKED after `load_wanted` and WANTED, the loop takes them
# over at its next tick and answers in TAKEN.
ASKED, TAKEN, WANTED, LEFT = range(4)


class Payload:
    """Python's side of what a session carries: loads by frame."""

    def __init__(self, model: Model, given: Any) -> None:
        self._model = model
        loads = loads_of(model, "payload", given)
        self._warn_of(loads)
        self.loads: dict[str, Load] = {load.frame: load for load in loads if load.own.mass > 0.0}

    def changed(self, given: Any, field: str = "payload") -> dict[str, Load]:
        """All loads with that of one frame changed, checked; without mass there is none."""
        load = load_of(self._model, given, field)
        self._warn_of([load])
        loads = {name: old for name, old in self.loads.items() if name != load.frame}
        return loads | {load.frame: load} if load.own.mass > 0.0 else loads

    def _warn_of(self, loads: list[Load]) -> None:
        for note in load_notes(self._model, "payload", loads):
            warnings.warn(note, ModelWarning, stacklevel=3)

    def fill(self, loads: dict[str, Load], parameters: Any) -> None:
        """Parameters (bodies, 10) of loads."""
        parameters[:] = 0.0
        for load in loads.values():
            parameters[load.body] += load.parameters
        self.loads = loads

    def as_maps(self) -> list[dict[str, Any]]:
        """What is carried, for people."""
        return [load.as_map() for load in self.loads.values()]


def fill_bare(model: Model, data: SessionArrays) -> None:
    """What bodies are without a payload."""
    bodies = model.bodies
    data.bare[:, 0] = bodies["mass"]
    data.bare[:, 1:4] = bodies["com"]
    data.bare[:, 4:] = bodies["inertia"]


def start_with(payload: Payload, data: SessionArrays) -> None:
    """Carry the payload from the first tick on."""
    payload.fill(payload.loads, data.load)
    data.load_target[:] = data.load_wanted[:] = data.load


def ask_for(loads: dict[str, Load], payload: Payload, data: SessionArrays, ticks: int) -> None:
    """Have the loop go to other loads within so many ticks; it has taken the last ones."""
    payload.fill(loads, data.load_wanted)
    data.load_steps[WANTED] = ticks
    data.load_steps[ASKED] += 1  # from here on `load_wanted` is the loop's, until it answers


def is_taken(data: SessionArrays) -> bool:
    """Whether the loop has taken what it was asked for."""
    return bool(data.load_steps[TAKEN] == data.load_steps[ASKED])


@kernel
def take_wanted_load(data):
    """Take over a changed payload."""
    steps = data.load_steps
    if steps[TAKEN] != steps[ASKED]:
        for i in range(len(data.load)):
            for k in range(PARAMETERS):
                data.load_target[i, k] = data.load_wanted[i, k]
        steps[LEFT] = steps[WANTED]
        steps[TAKEN] = steps[ASKED]


@kernel
def ramp_load(data):
    """Go one step of the way to it."""
    steps = data.load_steps
    left = steps[LEFT]
    if left == 0:
        return
    for i in range(len(data.load)):
        for k in range(PARAMETERS):
            now, target = data.load[i, k], data.load_target[i, k]
            data.load[i, k] = target if left == 1 else now + (target - now) / left
    steps[LEFT] = left - 1


@entry(WORK, types.uint64)
def put_payload_on(handle, address):
    """`put_on` of steps.py."""
    work, data = open_work(handle), arrays_of(control_at(address))
    for i in range(len(data.load)):
        if data.load[i, 0] > 0.0:
            add_load(work.bodies[i], data.bare[i], data.load[i])
    return 0


@kernel
def take_off(handle, data):
    """Put back what `put_on` changed, to the bit."""
    work = open_work(handle)
    for i in range(len(data.load)):
        if data.load[i, 0] > 0.0:
            body, bare = work.bodies[i], data.bare[i]
            body.mass = bare[0]
            store3(body.com, load3(bare[1:]))
            store6(body.inertia, load6(bare[4:]))


@kernel
def add_load(body, bare, load):
    """One rigid body of two: masses and moments add up, inertias do about the common origin."""
    m = bare[0] + load[0]
    b = load3(bare[1:])
    c = (
        (bare[0] * b[0] + load[1]) / m,
        (bare[0] * b[1] + load[2]) / m,
        (bare[0] * b[2] + load[3]) / m,
    )
    B, C = spread(b), spread(c)
    body.mass = m
    store3(body.com, c)
    for k in range(6):
        body.inertia[k] = bare[4 + k] + bare[0] * B[k] + load[4 + k] - m * C[k]


@kernel
def spread(c):
    """Rotational inertia of a unit mass at c: xx xy xz yy yz zz."""
    x, y, z = c
    return (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
