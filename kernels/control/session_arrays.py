"""The arrays of a session: state, references, gains, limits, results and scratch of its law."""

from __future__ import annotations

from typing import NamedTuple

from numba import carray

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.control_record import CONTROL
from torqued.kernels.control.plane import PLANE
from torqued.kernels.control.references.motions import MOTION
from torqued.kernels.primitives.arrays import Floats, Indices, Layout, Records, array
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.workspace import pointer


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
    references: int
    motions: int
    motion: int
    planes: int
    walls: int  # rows that they may have: joints' and planes'
    bodies: int
    friction: int  # nv, or 0 where it is not compensated
    bias: int  # nv, or 0 without integral action
    springs: int  # nv, or 0 where motors move joints without springs between
    knots: int  # most of a path of joints
    knot: int  # numbers of each
    measured: int  # numbers of a state beside q and v: of a robot that follows, motors, a sensor
    virtual: int  # nv, or 0 where torques are commanded
    sensed: int  # 1 where its sensor measures a wrench


class SessionArrays(NamedTuple):
    """What a law reads and writes."""

    state: Floats = array(
        float, "state"
    )  # q, v (of a virtual robot, then the measured ones), what else is measured; references
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
    rows: Floats = array(float, 10, "nv")  # scratch of laws
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
    # references; references/follow.py
    command: Floats = array(float, "references")  # as given with the newest state; NaN: not given
    latched: Floats = array(float, "references")  # what is held where nothing is commanded
    ordered: Floats = array(float, "references")  # by a commander: Python's, until it says so
    reference: Indices = array(int, "references")  # which array each number belongs to
    is_value: Indices = array(int, "references")  # 1: of no motion
    knots: Indices = array(int, 2)  # of a path through via points; references/via_points.py
    ordered_path: Floats = array(float, "knots", "knot")  # Python's, until it says so
    path: Floats = array(float, "knots", "knot")  # s, then p, v, a of each joint
    motions: Records = array(MOTION, "motions")
    motion: Floats = array(float, "motion")  # what motions keep
    # joints with one coordinate; joint_limits.py
    coordinate: Indices = array(int, "nv")  # place in q, -1: none
    wraps: Indices = array(int, "nv")  # 1: turns without end
    lower: Floats = array(float, "nv")  # limits
    upper: Floats = array(float, "nv")
    speed: Floats = array(float, "nv")
    acceleration: Floats = array(float, "nv")
    jerk: Floats = array(float, "nv")
    least_inertia: Floats = array(float, "nv")
    load_share: Floats = array(float, 1)  # of efforts, in poses that references go to; pace.py
    # what comes after the law
    planes: Records = array(PLANE, "planes")
    wall_row: Floats = array(float, "walls", "nv")  # walls.py
    wall_answer: Floats = array(float, "walls", "nv")
    wall_A: Floats = array(float, "walls", "walls")
    wall_low: Floats = array(float, "walls")
    wall_high: Floats = array(float, "walls")
    wall_now: Floats = array(float, "walls")
    wall_push: Floats = array(float, "walls")
    wall_of: Indices = array(int, "walls")  # which joint, or nv + which plane, a row is about
    wall_tau: Floats = array(float, "torques")  # what motors did for them in the last tick
    wall_v: Floats = array(float, "torques")  # speeds then
    wall_jacobian: Floats = array(float, 6, "nv_free")
    unmodelled: Floats = array(float, "torques")  # of `out`, against friction and bias
    smooth: Floats = array(float, "torques")  # low-passed
    swing: Floats = array(float, 3, "torques")  # mean, side, swings; oscillation.py
    own_speed: Floats = array(float, "nv")  # limits of the robot, whatever references may have
    readings: Floats = array(float, "nv", 11)  # of encoders; server/loop/sensor_checks.py
    motor_readings: Floats = array(float, "springs", 11)
    hold_at: Floats = array(float, "nq")  # where the fallback holds; fallback.py
    unknown: Floats = array(float, 13, "torques")  # what joints carry; unknown_load.py
    learning: Indices = array(int, 2)  # how long that is learned
    bare: Floats = array(float, "bodies", 10)  # m, c, I of bodies without a payload; payload.py
    load: Floats = array(float, "bodies", 10)  # m, m c, Ī of what they carry
    load_target: Floats = array(float, "bodies", 10)  # where it is going
    load_wanted: Floats = array(float, "bodies", 10)  # to go next: Python's, until it says so
    load_steps: Indices = array(int, 4)  # how far that is
    viscous: Floats = array(float, "friction")  # N m s/rad; friction.py
    coulomb: Floats = array(float, "friction")  # N m
    sharpness: Floats = array(float, "friction")  # s/rad: one over the speed of the change of sign
    sticking: Floats = array(float, "friction")  # N m that may hide in friction, filtered
    bias: Floats = array(float, "bias")  # N m, estimated; integral.py
    bias_limit: Floats = array(float, "bias")
    # springs between motors and links; springs.py
    stiffness: Floats = array(float, "springs")  # N m/rad
    motor_inertia: Floats = array(float, "springs")  # kg m², as the link sees it
    spring_damping: Floats = array(float, "springs")  # N m s/rad, beside the spring
    # robots that follow a virtual one; virtual_robot.py
    virtual: Floats = array(float, 3, "virtual")  # its q, v, and q behind the lag
    external: Floats = array(float, "virtual")  # N m, of the surroundings on it
    sensed: Records = array(FRAME, "sensed")  # where its wrench is measured


SESSION = Layout(SessionArrays, Sizes)
_open, _open_sizes = SESSION.open, SESSION.open_sizes


@kernel
def control_at(address):
    """The record of a controller."""
    return carray(pointer(address), 1, CONTROL)[0]


@kernel
def sizes_of(control):
    """The sizes of a controller, from its record."""
    return _open_sizes(control.data)


@kernel
def first_reference(sizes):
    """Where references begin in a state."""
    return sizes.nq + sizes.nv + sizes.measured


@kernel
def arrays_of(control):
    """Its arrays."""
    return _open(control.data)
