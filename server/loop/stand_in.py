"""The memory that a session's rehearsals work on: a second one of all that the session has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torqued.client.page_layout import PageLayout
from torqued.kernels.control.controller import Controller
from torqued.server.loop.rehearsal import StandIn, unused_stand_in
from torqued.server.loop.ring_writer import MAX_OF_RING
from torqued.server.observation.layout import (
    ALIGN,
    HEADER,
    HEADER_BYTES,
    MARKS,
    TICK_HEAD,
    padded,
)


class StandInMemory:
    """Keeps alive what `stand_in` has the addresses of.

    `trial` is a controller of the same law and options as the session's, and of no other use.
    """

    def __init__(
        self, controller: Controller, trial: Controller, layout: PageLayout, rings: bool
    ) -> None:
        """`rings`: whether ticks of the session are written into a ring."""
        self._kept = controller, trial
        self._frames = _lines(layout.state_slot), _lines(layout.output_slot)
        self._page = _lines(layout.page_bytes)
        self._ring = _small_ring(trial) if rings else None
        self.stand_in: StandIn = unused_stand_in()
        record = self.stand_in.session[0]
        record.control = trial.record.ctypes.data
        record.receive, record.send = (frame.ctypes.data for frame in self._frames)
        record.page = self._page.ctypes.data
        record.ring = 0 if self._ring is None else self._ring.ctypes.data
        self.stand_in.loop[0].on_arrival = 1
        source, size = _stretch(controller)
        target, same = _stretch(trial)
        if size != same:
            raise TypeError(f"a stand-in's arrays have {same} bytes, its session's {size}")
        self.stand_in.arrays[:] = source, target, size


def _stretch(controller: Controller) -> tuple[int, int]:
    """Address and bytes of a controller's arrays, which lie one after the other."""
    arrays = [array for array in controller.data if array.nbytes]
    begin = min(array.ctypes.data for array in arrays)
    return begin, max(array.ctypes.data + array.nbytes for array in arrays) - begin


def _lines(size: int) -> NDArray[np.uint8]:
    """Zeroed bytes from the beginning of a cache line on."""
    block = np.zeros(size + ALIGN, np.uint8)
    first = -block.ctypes.data % ALIGN
    return block[first : first + size]


def _small_ring(controller: Controller) -> NDArray[np.uint8]:
    """A ring that nobody reads, with room for the ticks of a session."""
    numbers = len(controller.data.state) + len(controller.data.out)
    least = MAX_OF_RING * padded(TICK_HEAD.itemsize + 8 * numbers)
    part = MARKS * ALIGN
    capacity = -(-least // part) * part
    ring = _lines(HEADER_BYTES + capacity)
    ring[:HEADER_BYTES].view(HEADER).view(np.recarray)[0].capacity = capacity
    return ring
