"""What compiled code is told of a controller: one record, whose address every law takes."""

from __future__ import annotations

import numpy as np

#: Filled by `Controller`, then owned by whoever runs the law: the loop, or the controller itself.
CONTROL = np.dtype(
    [
        ("address", "u8"),  # of this record
        ("law", "u8"),  # address of the law's compiled function
        ("observer", "u8"),  # the same for the observer; 0: none
        ("own", "u8"),  # address of the law's own memory, where it has some
        ("want", "i8"),  # quantities of a stream; quantities.py
        ("frames", "u8"),  # address of the frames that they are about
        ("frame_count", "i8"),
        ("representation", "i8"),
        ("data", "u8"),  # address of the session's arrays; session_arrays.py
        ("remembered", "i8"),  # how much of `memory` carries over from tick to tick
        ("elapsed", "f8"),  # s from the state before to this one; 0 where none came
    ],
    align=True,
)
