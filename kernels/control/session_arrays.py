"""The arrays of a session: state, references, gains, limits, results and scratch of its law."""

from __future__ import annotations

from typing import NamedTuple

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.arrays import Floats, Indices, Layout, array


class Sizes(NamedTuple):
    """How many numbers of each kind a session has."""

    nq: int
    nv: int
    nq_free: int  # of the tree with mimic joints free
    nv_free: int
    torques: int  # nv, or 0 for a stream
    unactuated: int  # rows of torque that nothing can act on: 6 with a floating base
    state: int
    gains: int
    memory: int
    out: int
    observer: int
    kept: int
    quaternions: int


class SessionArrays(NamedTuple):
    """What a law reads and writes."""

    state: Floats = array(float, "state")  # q, v, references: as in the state frame
    gains: Floats = array(float, "gains")  # as the law wants them
    target: Floats = array(float, "gains")  # where they are going
    wanted: Floats = array(float, "gains")  # where they are to go next: Python's, until it says so
    memory: Floats = array(float, "memory")  # of the law, from tick to tick
    out: Floats = array(float, "out")  # results of this tick
    effort: Floats = array(float, "torques")  # limits
    rate: Floats = array(float, "torques")  # limits of torque rates, per second
    held: Floats = array(float, "torques")  # newest torque of the law
    last: Floats = array(float, "torques")  # newest torque sent
    q_free: Floats = array(float, "nq_free")
    v_free: Floats = array(float, "nv_free")
    q_other: Floats = array(float, "nq_free")  # reference
    w_free: Floats = array(float, "nv_free")  # reference velocity
    a_free: Floats = array(float, "nv_free")  # reference acceleration
    s_free: Floats = array(float, "nv_free")  # error
    tau_free: Floats = array(float, "nv_free")
    rows: Floats = array(float, 8, "nv")  # scratch of laws
    square: Floats = array(float, 5, "nv_free", "nv_free")  # scratch of laws that form matrices
    observer: Floats = array(float, "observer")  # its gains and memory; empty without one
    kept: Floats = array(float, "kept")  # what is remembered, as it was before this tick
    q_multiplier: Floats = array(float, "nq_free")  # mimic joints; dynamics/mimic.py
    q_offset: Floats = array(float, "nq_free")
    v_multiplier: Floats = array(float, "nv_free")
    q_index: Indices = array(int, "nq_free")
    v_index: Indices = array(int, "nv_free")
    leaders: Indices = array(int, "nv")  # where a robot's own velocities are among the free ones
    turn: Floats = array(float, "nv")  # rad after which a joint is where it was; 0: never
    quaternions: Indices = array(int, "quaternions")  # where they begin in q


SESSION = Layout(SessionArrays, Sizes)
_open, _open_sizes = SESSION.open, SESSION.open_sizes


@kernel
def sizes_of(control):
    """The sizes of a controller, from its record."""
    return _open_sizes(control.data)


@kernel
def arrays_of(control):
    """Its arrays."""
    return _open(control.data)
