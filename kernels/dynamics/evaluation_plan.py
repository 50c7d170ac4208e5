"""What `Robot.dynamics` needs to know for one combination of quantities and frames, found once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.dynamics.selected_quantities import (
    NEED_VELOCITY,
    WANTS,
    Quantities,
    quantities,
)

#: Combinations that a robot remembers, and frames in one of them: far more than a controller asks
#: for, and no more memory than a few megabytes.
MOST_PLANS = 64
MOST_FRAMES_REMEMBERED = 256

#: Quantities that are one dict by frame, not one array.
BY_FRAME = frozenset({"J", "Jdot_v", "pose"})


class EvaluationPlan:
    """Flags and frames for the kernel, and the sizes of its results."""

    def __init__(
        self, want: tuple[str, ...], frames: NDArray[np.void], representation: int, nv: int
    ) -> None:
        self.flags = 0
        for word in want:
            self.flags |= WANTS[word]
        self.frames = frames
        self.representation = representation
        #: One that depends on the velocity, or none.
        self.needs_velocity = next((word for word in want if WANTS[word] & NEED_VELOCITY), "")
        self.as_they_are = BY_FRAME.isdisjoint(want)
        self._arrays = quantities(self.flags, nv, len(frames))
        self._sized = [(k, array.shape) for k, array in enumerate(self._arrays) if array.size]

    def allocate(self) -> Quantities:
        """Zeroed arrays, new ones at each call; those of size 0 are shared."""
        arrays = list(self._arrays)
        for k, shape in self._sized:
            arrays[k] = np.zeros(shape)
        return Quantities._make(arrays)
