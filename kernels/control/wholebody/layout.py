"""Memory of a whole-body controller: its settings, and scratch for each tick.

Compiled code opens it into a `Program` of arrays (arrays.py). Nothing is allocated afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.control.wholebody.daqp import SOLVER, LeastDistance
from torqued.kernels.primitives.arrays import Floats, Indices, Layout, Memory, Records, array
from torqued.kernels.primitives.layout import FRAME

Array = NDArray[np.float64]

#: Why there is no torque: classes of constraints that could not be met, least important last.
NOTHING, INPUT, DYNAMICS, CONTACT, FRICTION, TORQUE, JOINT = 0, 1, 2, 3, 4, 5, 6
CLASSES = ("nothing", "input", "dynamics", "contact", "friction", "torque", "joint_limits")

TASK = np.dtype(
    [
        ("kind", "i8"),  # POSTURE … MOMENTUM; tasks.py
        ("frame", FRAME),  # of a frame task, moved to its point
        ("relative", "i8"),  # 1: its motion is that relative to `other`, in the axes of `other`
        ("other", FRAME),
        ("references", "i8"),  # where its references begin in the state
        ("row", "i8"),  # its first row in J
        ("rows", "i8"),  # none for a posture, which is diagonal
        ("share", "f8", (6,)),  # of the weight, per row
        ("contact", "i8"),  # balancing: the task waits while this contact is active, -1: never
        ("inertia", "f8", (2,)),  # balancing: what its rotations and translations weigh
    ],
    align=True,
)

CONTACT_RECORD = np.dtype(
    [
        ("frame", FRAME),
        ("turns", "i8"),  # 1: the axes turn with the frame; 0: they are fixed in the world
        ("axes", "f8", (9,)),  # columns: two tangents and the normal
        ("friction", "f8"),  # of the pyramid inside of the cone: μ/√2
        ("limit", "f8"),  # the largest sum of normal forces at any time
        ("point", "i8"),  # its first point
        ("points", "i8"),
        ("row", "i8"),  # its first row of accelerations in J
        ("rows", "i8"),  # 3 per point, at most 6
        ("variable", "i8"),  # this tick: its first force among the variables, -1 when inactive
        ("most", "f8"),  # this tick: the largest sum of normal forces
    ],
    align=True,
)


class ProgramSizes(NamedTuple):
    """Of one controller."""

    nq: int
    nv: int
    nq_free: int
    nv_free: int
    base: int  # unactuated columns, at the front
    follows: int  # 1 where joints mimic others
    tasks: int
    contacts: int
    points: int
    forces: int  # numbers: three per point
    task_rows: int  # rows of J: tasks', then contacts', then three per point
    contact_rows: int
    references: int  # numbers in the state after q and v
    rows: int  # of J
    variables: int  # at most
    most_rows: int  # of the solver
    solver_matrix: int  # its numbers
    hessian: int  # its dense part: accelerations, or forces where they are the only variables


class Program(NamedTuple):
    """Everything of one controller."""

    task: Records = array(TASK, "tasks")
    contact: Records = array(CONTACT_RECORD, "contacts")
    solver: Records = array(SOLVER, 1)
    offset: Floats = array(float, "points", 3)  # points in the frames of their contacts
    chosen: Floats = array(float, "tasks", "nv")  # 1 for joints of a posture task
    effort: Floats = array(float, "nv")  # largest torques; 0 for the base
    position_lower: Floats = array(float, "nv")  # infinite where there is none
    position_upper: Floats = array(float, "nv")
    speed: Floats = array(float, "nv")
    acceleration: Floats = array(float, "nv")
    coordinate: Floats = array(float, "nv")  # place in q of a joint with limits, else -1
    q_multiplier: Floats = array(float, "nq_free")  # mimic joints; dynamics/mimic.py
    q_offset: Floats = array(float, "nq_free")
    q_index: Indices = array(int, "nq_free")
    v_multiplier: Floats = array(float, "nv_free")
    v_index: Indices = array(int, "nv_free")
    leader: Floats = array(float, "nv_free")  # 1 for columns that follow no other
    options: Floats = array(float, 3)  # period s, fade s, damping of the fallback
    q_free: Floats = array(float, "nq_free")
    v_free: Floats = array(float, "nv_free")
    reference_free: Floats = array(float, "nq_free")  # a posture's reference
    error_free: Floats = array(float, "nv_free")
    M_free: Floats = array(float, "nv_free", "nv_free")
    J_free: Floats = array(float, "rows", "nv_free")
    bias_free: Floats = array(float, "nv_free")
    momentum: Floats = array(float, 6, "nv_free")  # centroidal momentum matrix
    com: Floats = array(float, 3, "nv")  # the same for the center of mass, over the mass
    M: Floats = array(float, "nv", "nv")
    J: Floats = array(float, "rows", "nv")
    bias: Floats = array(float, "nv")
    rate: Floats = array(float, "rows")  # J̇ v, less what is wanted: J a + rate → 0
    weight: Floats = array(float, "rows")  # of tasks' rows
    H: Floats = array(float, "hessian", "hessian")  # of accelerations or forces
    g: Floats = array(float, "hessian")  # gradient at zero
    L: Floats = array(float, "hessian", "hessian")  # inverse of the Cholesky factor of H
    w: Floats = array(float, "hessian")  # L g
    preferred: Floats = array(float, "forces")  # √ε f_ref of active contacts, as variables are
    distribution: Floats = array(float, 6, "forces")  # wrench about the com of each; balancing
    axes: Floats = array(float, "contacts", 9)  # of contacts, world
    G: Floats = array(float, "contact_rows", "nv")  # orthogonal rows, to find dependent ones
    lower: Floats = array(float, "most_rows")  # bounds in the order of A's rows, natural units
    upper: Floats = array(float, "most_rows")
    scale: Floats = array(float, "most_rows")  # by which A's rows were multiplied
    identity: Floats = array(float, "most_rows")  # of each row, whichever contacts are active
    class_of: Floats = array(float, "most_rows")  # class of each row
    hint: Floats = array(float, "most_rows")  # by identity: +1 active at its upper end, -1 lower
    A: Floats = array(float, "solver_matrix")  # the solver's, row by row
    solver_lower: Floats = array(float, "most_rows")
    solver_upper: Floats = array(float, "most_rows")
    sense: NDArray[np.int32] = array(np.int32, "most_rows")
    u: Floats = array(float, "variables")
    dual: Floats = array(float, "most_rows")
    y: Floats = array(float, "variables")
    a: Floats = array(float, "nv")
    force: Floats = array(float, "points", 3)  # along the contacts' axes
    tau: Floats = array(float, "nv")
    held: Floats = array(float, "nv")  # the newest feasible torque
    failures: Floats = array(float, 1)  # ticks since then
    error: Floats = array(float, "tasks", 2)  # angular, linear


PROGRAM = Layout(Program, ProgramSizes)
open_program, program_sizes = PROGRAM.open, PROGRAM.open_sizes


def allocate_program(
    sizes: ProgramSizes, task: Any, contact: Any, solver: LeastDistance
) -> Memory[Program, ProgramSizes]:
    """Memory of a controller, with the solver's arrays among its own."""
    given = {
        "task": task,
        "contact": contact,
        "solver": solver.record,
        "A": solver.A,
        "solver_lower": solver.lower,
        "solver_upper": solver.upper,
        "sense": solver.sense,
        "u": solver.u,
        "dual": solver.dual,
    }
    # Where no joint follows another, the free tree is the robot itself.
    same = {} if sizes.follows else {"M_free": "M", "J_free": "J", "bias_free": "bias"}
    return PROGRAM.allocate(sizes, given, same)
