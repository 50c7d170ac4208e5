"""What `Robot.dynamics` needs to know for one combination of quantities and frames, found once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.dynamics.quantities import (
    NEED_FRAMES,
    QUANTITIES,
    TABLE,
    WANTS,
    Quantities,
    bits_of,
    quantities,
)
from torqued.kernels.input_checks import choice

#: Combinations that a robot remembers, and frames in one of them: far more than a controller asks
#: for, and no more memory than a few megabytes.
MAX_PLANS = 64
MAX_FRAMES_REMEMBERED = 256


def checked_want(want: Sequence[str], frames: Sequence[str]) -> int:
    """The bits of wanted names, which are known and have the frames that they need."""
    for word in want:
        choice("want", word, WANTS)
        if WANTS[word] & NEED_FRAMES and not frames:
            raise InputError(
                f"frames: empty, but {word!r} is wanted, which each frame has one of",
                "frames",
                [],
                "at least one frame's name",
            )
    return bits_of(want)


class EvaluationPlan:
    """Flags and frames for the kernel, and the sizes of its results."""

    def __init__(
        self,
        want: tuple[str, ...],
        frame_names: tuple[str, ...],
        frames: NDArray[np.void],
        representation: int,
        nv: int,
    ) -> None:
        self.want, self.frame_names = want, frame_names
        self.flags = checked_want(want, frame_names)
        self.frames = frames
        self.representation = representation
        #: Whether each result is one array, not a dict by frame.
        self.plain = not any(QUANTITIES[word].per_frame for word in want)
        self._arrays = quantities(self.flags, nv, len(frames))
        self._sized = [
            (k, array.shape, np.zeros if quantity.sparse else np.empty)
            for k, (array, quantity) in enumerate(zip(self._arrays, TABLE, strict=True))
            if array.size
        ]

    def allocate(self) -> Any:
        """`Quantities` to be filled, new ones at each call; those of size 0 are shared."""
        arrays = list(self._arrays)
        for k, shape, make in self._sized:
            arrays[k] = make(shape)
        return Quantities(*arrays)
