"""What a law tells Python about itself, and how compiled laws reach the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.kernels import Robot
from torqued.server.compiling import kernel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """A law as sessions see it."""

    number: int  # how compiled code knows it
    references: Callable[[Robot], int]  # numbers after q and v in a state frame
    gains: Callable[[Robot, Mapping[str, Any]], Array]  # checked and laid out for compiled code


@kernel
def expand_state(sizes, data):
    """q and v of the free tree: mimic joints follow their leaders."""
    for k in range(sizes.nq_free):
        data.q_free[k] = data.q_multiplier[k] * data.state[int(data.q_index[k])] + data.q_offset[k]
    for k in range(sizes.nv_free):
        data.v_free[k] = data.v_multiplier[k] * data.state[sizes.nq + int(data.v_index[k])]


@kernel
def project_torque(sizes, data):
    """out = Gᵀ out_free."""
    for k in range(sizes.nv):
        data.out[k] = 0.0
    for k in range(sizes.nv_free):
        data.out[int(data.v_index[k])] += data.v_multiplier[k] * data.out_free[k]
