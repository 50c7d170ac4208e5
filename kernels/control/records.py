"""What compiled code is told of a controller: one record, whose address every law takes."""

from __future__ import annotations

import numpy as np

#: Filled by `Controller`, then owned by whoever runs the law: the loop, or the controller itself.
CONTROL = np.dtype(
    [
        ("address", "u8"),  # of this record
        ("law", "u8"),  # address of the law's compiled function
        ("observer", "u8"),  # the same for the observer; 0: none
        ("law_memory", "u8"),  # address of memory that the law alone uses; 0: none
        ("want", "i8"),  # quantities of a stream; quantities.py
        ("frames", "u8"),  # address of the frames that they are about
        ("frame_count", "i8"),
        ("representation", "i8"),
        ("data", "u8"),  # address of the session's arrays; session_arrays.py
        ("remembered", "i8"),  # how much of `memory` carries over from tick to tick
        ("most_iterations", "i8"),  # of a solver; 0: there is none
        ("iteration_time", "f8"),  # ns that one takes, estimated
        ("iterations", "i8"),  # allowed in this tick, for lack of time; 0: all
        ("cut", "i8"),  # 1: the last torque was not the law's own, nothing is to be learned from it
        ("elapsed", "f8"),  # s from the state before to this one; 0 where none came
    ],
    align=True,
)
