"""Arguments of the entries of a batch: where the numbers of all states are, and where results go.

Entries take the address of one record of all that. Each reads what it needs, the rest is empty.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from torqued.kernels.dynamics.quantities import TABLE
from torqued.kernels.primitives.arrays import ANY, Floats, Layout, Records, array
from torqued.kernels.primitives.layout import FRAME, INTEGER, WORK

#: Types of an entry's arguments: a wide workspace's handle, a job's address, first and last state.
JOB = (WORK, INTEGER, INTEGER, INTEGER)


class Choices(NamedTuple):
    """What is not an array."""

    want: int = 0  # bits of quantities.py
    factor: int = 0  # of a product, as algorithms.py has them
    representation: int = 0  # of frames.py


NO_CHOICES = Choices()


class Numbers(NamedTuple):
    """N states, k frames or right-hand sides."""

    Q: Floats = array(float, ANY, ANY)  # (N, nq)
    V: Floats = array(float, ANY, ANY)  # (N, nv), as are the next three
    A: Floats = array(float, ANY, ANY)
    tau: Floats = array(float, ANY, ANY)
    W: Floats = array(float, ANY, ANY)  # what is multiplied
    B: Floats = array(float, ANY, ANY, ANY)  # (N, k, nv), right-hand sides
    frames: Records = array(FRAME, ANY)  # (k,)
    wrenches: Floats = array(float, ANY, ANY, ANY)  # (N, k, 6), on the frames
    # Results.
    vectors: Floats = array(float, ANY, ANY)  # (N, nv): torques, accelerations or products
    solutions: Floats = array(float, ANY, ANY, ANY)  # (N, k, nv)
    velocities: Floats = array(float, ANY, ANY, ANY)  # (N, k, 6), as is the next one
    accelerations: Floats = array(float, ANY, ANY, ANY)
    dq: Floats = array(float, ANY, ANY, ANY)  # (N, nv, nv): by q, and by v and τ
    dv: Floats = array(float, ANY, ANY, ANY)
    dtau: Floats = array(float, ANY, ANY, ANY)


#: Beside those, an array for each row of quantities.py, with one dimension more than of one state.
_declared = Numbers._field_defaults | {
    quantity.name: array(float, ANY, *(ANY for _ in quantity.whole_shape)) for quantity in TABLE
}
_Job: Any = namedtuple("Job", _declared, defaults=_declared.values())  # type: ignore[misc]  # names from a table
_LAYOUT: Layout[Any, Choices] = Layout(_Job, Choices)

#: The arrays of a job at an address, and its choices: the first lines of every entry.
open_job, choices_of = _LAYOUT.open, _LAYOUT.open_sizes


class Job:
    """One batch for an entry of that name. Keeps its arrays."""

    def __init__(
        self, entry: str, arrays: Mapping[str, NDArray[Any]], choices: Choices = NO_CHOICES
    ) -> None:
        self._kept = arrays
        self._words = _LAYOUT.lead_to(choices, arrays)
        self.entry = entry
        self.address: int = self._words.ctypes.data


def named(names: Sequence[str], arrays: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """As many as there are."""
    return dict(zip(names, arrays, strict=True))
