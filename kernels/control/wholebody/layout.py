"""Memory of a whole-body controller: what it was told at the start, and scratch for each tick.

One record of sizes and addresses; compiled code opens it into a `Plan` of arrays (as
kernels/primitives/workspace.py does for a robot). Nothing is allocated afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.wholebody.daqp import SOLVER, LeastDistance
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.workspace import pointer

Array = NDArray[np.float64]

#: Why there is no torque: classes of constraints that could not be met, least important last.
NOTHING, INPUT, DYNAMICS, CONTACT, FRICTION, TORQUE, JOINT = 0, 1, 2, 3, 4, 5, 6
CLASSES = ("nothing", "input", "dynamics", "contact", "friction", "torque", "joint_limits")

TASK = np.dtype(
    [
        ("kind", "i8"),  # POSTURE … MOMENTUM; tasks.py
        ("frame", FRAME),  # of a frame task, moved to its point
        ("references", "i8"),  # where its references begin in the state
        ("row", "i8"),  # its first row in J
        ("rows", "i8"),  # none for a posture, which is diagonal
        ("share", "f8", (6,)),  # of the weight, per row
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

SIZES = (
    "nq",
    "nv",
    "nq_free",
    "nv_free",
    "base",  # unactuated columns, at the front
    "follows",  # 1 where joints mimic others
    "tasks",
    "contacts",
    "points",
    "task_rows",  # rows of J: tasks', then contacts', then three per point
    "contact_rows",
    "references",  # numbers in the state after q and v
    "rows",  # of J
    "variables",  # at most
    "most_rows",  # of the solver
    "hessian",  # its dense part: accelerations, or forces where they are the only variables
)


class Plan(NamedTuple):
    """Everything of one controller. P points, R rows of J, n nv, f nv_free, C contacts."""

    record: NDArray[np.void]  # (1,) RECORD: the sizes
    task: NDArray[np.void]  # TASK
    contact: NDArray[np.void]  # CONTACT_RECORD
    solver: NDArray[np.void]  # (1,) SOLVER
    offset: Array  # (P, 3) points in the frames of their contacts
    chosen: Array  # (tasks, n) 1 for joints of a posture task
    effort: Array  # (n,) largest torques; 0 for the base
    position_lower: Array  # (n,) infinite where there is none
    position_upper: Array  # (n,)
    speed: Array  # (n,)
    acceleration: Array  # (n,)
    coordinate: Array  # (n,) place in q of a joint with limits of position, else -1
    q_multiplier: Array  # (nq_free,) mimic joints: q_free = multiplier q[index] + offset
    q_offset: Array  # (nq_free,)
    q_index: Array  # (nq_free,)
    v_multiplier: Array  # (f,)
    v_index: Array  # (f,)
    leader: Array  # (f,) 1 for columns that follow no other
    options: Array  # period s, fade s, damping of the fallback
    q_free: Array  # (nq_free,)
    v_free: Array  # (f,)
    reference_free: Array  # (nq_free,) a posture's reference
    error_free: Array  # (f,)
    M_free: Array  # (f, f)
    J_free: Array  # (R, f)
    bias_free: Array  # (f,)
    momentum: Array  # (6, f) centroidal momentum matrix
    com: Array  # (3, n) the same for the centre of mass, over the mass
    M: Array  # (n, n)
    J: Array  # (R, n)
    bias: Array  # (n,)
    rate: Array  # (R,) J̇ v, less what the task or contact wants: J a + rate → 0
    weight: Array  # (R,) of tasks' rows
    H: Array  # (h, h) Hessian of accelerations or forces
    g: Array  # (h,) gradient at zero
    L: Array  # (h, h) inverse of the Cholesky factor of H
    w: Array  # (h,) L g
    distribution: Array  # (6, 3 P) wrench about the centre of mass of each force; balancing
    axes: Array  # (C, 9) axes of contacts, world
    G: Array  # (contact_rows, n) orthogonal rows, to find dependent ones
    lower: Array  # (m,) bounds in the order of A's rows, natural units
    upper: Array  # (m,)
    scale: Array  # (m,) by which A's rows were multiplied
    identity: Array  # (m,) number of each row that does not depend on which contacts are active
    class_of: Array  # (m,) class of each row
    hint: Array  # (m,) by identity: +1 active at its upper end, -1 lower, 0 inactive
    A: Array  # (m n,) the solver's
    solver_lower: Array  # (m,)
    solver_upper: Array  # (m,)
    sense: NDArray[np.int32]  # (m,)
    u: Array  # (variables,)
    dual: Array  # (m,)
    y: Array  # (variables,)
    a: Array  # (n,)
    force: Array  # (P, 3) along the contacts' axes
    tau: Array  # (n,)
    held: Array  # (n,) the newest feasible torque
    failures: Array  # (1,) ticks since then
    error: Array  # (tasks, 2) angular, linear


RECORD = np.dtype(
    [(name, "i8") for name in SIZES] + [(f"at_{name}", "u8") for name in Plan._fields[1:]],
    align=True,
)


def shapes(s: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Of a plan's arrays."""
    n, f, qf, h = s["nv"], s["nv_free"], s["nq_free"], s["hessian"]
    R, P, m = s["rows"], s["points"], s["most_rows"]
    per_v = "effort position_lower position_upper speed acceleration coordinate bias a tau held"
    per_m = "lower upper scale identity class_of hint"
    return {
        **dict.fromkeys(per_v.split(), (n,)),
        **dict.fromkeys(per_m.split(), (m,)),
        **dict.fromkeys(("q_multiplier", "q_offset", "q_index", "q_free", "reference_free"), (qf,)),
        **dict.fromkeys(
            ("v_multiplier", "v_index", "leader", "v_free", "error_free", "bias_free"), (f,)
        ),
        **dict.fromkeys(("g", "w"), (h,)),
        **dict.fromkeys(("H", "L"), (h, h)),
        "M": (n, n),
        "offset": (P, 3),
        "force": (P, 3),
        "chosen": (s["tasks"], n),
        "error": (s["tasks"], 2),
        "options": (3,),
        "M_free": (f, f),
        "momentum": (6, f),
        "com": (3, n),
        "J_free": (R, f),
        "J": (R, n),
        "rate": (R,),
        "weight": (R,),
        "distribution": (6, 3 * P),
        "axes": (s["contacts"], 9),
        "G": (s["contact_rows"], n),
        "y": (s["variables"],),
        "failures": (1,),
    }


class Memory:
    """The arrays of a plan and the record that leads to them. Valid as long as it lives."""

    def __init__(
        self, sizes: dict[str, int], task: Any, contact: Any, solver: LeastDistance
    ) -> None:
        self.sizes, self.solver = sizes, solver
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
        shared = {} if sizes["follows"] else {"M_free": "M", "J_free": "J", "bias_free": "bias"}
        arrays = {name: np.zeros(shape) for name, shape in shapes(sizes).items()} | given
        arrays |= {free: arrays[own] for free, own in shared.items()}
        self.record = np.zeros(1, RECORD)
        self.plan = Plan(record=self.record, **arrays)
        for name in SIZES:
            self.record[name] = sizes[name]
        for name, array in arrays.items():
            self.record[f"at_{name}"] = array.ctypes.data
        #: What compiled code takes.
        self.address: int = self.record.ctypes.data


@kernel
def vector(address, length):
    return carray(pointer(address), length, np.float64)


@kernel
def matrix(address, rows, columns):
    return carray(pointer(address), (rows, columns), np.float64)


@kernel
def open_plan(address):
    """The arrays that the record at an address leads to."""
    r = carray(pointer(address), 1, RECORD)[0]
    n, f, m = r.nv, r.nv_free, r.most_rows
    return Plan(
        carray(pointer(address), 1, RECORD),
        carray(pointer(r.at_task), r.tasks, TASK),
        carray(pointer(r.at_contact), r.contacts, CONTACT_RECORD),
        carray(pointer(r.at_solver), 1, SOLVER),
        matrix(r.at_offset, r.points, 3),
        matrix(r.at_chosen, r.tasks, n),
        vector(r.at_effort, n),
        vector(r.at_position_lower, n),
        vector(r.at_position_upper, n),
        vector(r.at_speed, n),
        vector(r.at_acceleration, n),
        vector(r.at_coordinate, n),
        vector(r.at_q_multiplier, r.nq_free),
        vector(r.at_q_offset, r.nq_free),
        vector(r.at_q_index, r.nq_free),
        vector(r.at_v_multiplier, f),
        vector(r.at_v_index, f),
        vector(r.at_leader, f),
        vector(r.at_options, 3),
        vector(r.at_q_free, r.nq_free),
        vector(r.at_v_free, f),
        vector(r.at_reference_free, r.nq_free),
        vector(r.at_error_free, f),
        matrix(r.at_M_free, f, f),
        matrix(r.at_J_free, r.rows, f),
        vector(r.at_bias_free, f),
        matrix(r.at_momentum, 6, f),
        matrix(r.at_com, 3, n),
        matrix(r.at_M, n, n),
        matrix(r.at_J, r.rows, n),
        vector(r.at_bias, n),
        vector(r.at_rate, r.rows),
        vector(r.at_weight, r.rows),
        matrix(r.at_H, r.hessian, r.hessian),
        vector(r.at_g, r.hessian),
        matrix(r.at_L, r.hessian, r.hessian),
        vector(r.at_w, r.hessian),
        matrix(r.at_distribution, 6, 3 * r.points),
        matrix(r.at_axes, r.contacts, 9),
        matrix(r.at_G, r.contact_rows, n),
        vector(r.at_lower, m),
        vector(r.at_upper, m),
        vector(r.at_scale, m),
        vector(r.at_identity, m),
        vector(r.at_class_of, m),
        vector(r.at_hint, m),
        vector(r.at_A, m * r.variables),
        vector(r.at_solver_lower, m),
        vector(r.at_solver_upper, m),
        carray(pointer(r.at_sense), m, np.int32),
        vector(r.at_u, r.variables),
        vector(r.at_dual, m),
        vector(r.at_y, r.variables),
        vector(r.at_a, n),
        matrix(r.at_force, r.points, 3),
        vector(r.at_tau, n),
        vector(r.at_held, n),
        vector(r.at_failures, 1),
        matrix(r.at_error, r.tasks, 2),
    )
