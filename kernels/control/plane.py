"""A plane that a frame has to stay on one side of, as compiled code has it; walls.py."""

import numpy as np

from torqued.kernels.primitives.layout import FRAME

PLANE = np.dtype(
    [
        ("frame", FRAME),  # what has to stay inside, moved to its point
        ("normal", "f8", (3,)),  # points to the inside; world axes
        ("offset", "f8"),  # m: inside is normal · p ≥ offset
        ("speed", "f8"),  # m/s: how fast the frame may go there; references/limits.py
    ],
    align=True,
)
