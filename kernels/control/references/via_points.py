"""A smooth path of joints through via points: polynomials of the fifth degree between knots.

Speed, acceleration, jerk and snap are continuous at via points, which are passed without a stop:
between rest at both ends, this is the path of least ∫ jerk² dt for its times. Two neighbouring
knots with p, v, a determine the polynomial between them, so that compiled code needs no more.

Without given times each part takes as long as one of its limits demands. Parts are shortened until
that is so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.references.limiter import CATCHING_UP
from torqued.kernels.input_checks import numbers, shown

if TYPE_CHECKING:
    from torqued.kernels.control.controller import Controller

Array = NDArray[np.float64]

#: Knots of a path, its start included.
MAX_KNOTS = 50
#: Places in a session's `knots`: of the path that Python has put there, of the one in effect.
ORDERED, IN_EFFECT = 0, 1

#: Places in each part of a path that are compared with limits, and rounds of the search for times.
SAMPLES, ROUNDS = 17, 60
#: A part is made shorter by no more than this in a round: its neighbours depend on it.
MIN_SHRINK = 0.8
#: Share of a limit that a path found here takes: its largest values lie between samples.
MARGIN = 0.98


def fit(times: Array, p: Array) -> tuple[Array, Array]:
    """Speeds and accelerations (N, n) at the knots p (N, n) of a path from rest to rest."""
    count, n = p.shape
    v, a = np.zeros((count, n)), np.zeros((count, n))
    inner = count - 2
    if inner == 0:
        return v, a
    h, way = np.diff(times)[:, None], np.diff(p, axis=0)
    k, m = h[:-1], h[1:]
    # Jerk and snap at the end of the part before a knot are those at the start of the next: (v, a)
    # of the knot before, of this one and of the next.
    rows = (
        ((-24 / k**2, -3 / k), (36 / m**2 - 36 / k**2, 9 / k + 9 / m), (24 / m**2, -3 / m)),
        (
            (-168 / k**3, -24 / k**2),
            (-192 / k**3 - 192 / m**3, 36 / k**2 - 36 / m**2),
            (-168 / m**3, 24 / m**2),
        ),
    )
    A, b = np.zeros((2 * inner, 2 * inner)), np.empty((2 * inner, n))
    for row, parts in enumerate(rows):
        for j, pair in enumerate(parts):
            at = np.arange(max(0, 1 - j), min(inner, inner + 1 - j))  # knots at rest have no part
            for column, value in enumerate(pair):
                A[2 * at + row, 2 * (at + j - 1) + column] = value[at, 0]
    b[0::2] = 60 * way[1:] / m**3 - 60 * way[:-1] / k**3
    b[1::2] = -360 * way[1:] / m**4 - 360 * way[:-1] / k**4
    found = np.linalg.solve(A, b)
    v[1:-1], a[1:-1] = found[0::2], found[1::2]
    return v, a


def excess(times: Array, p: Array, limits: tuple[Array, Array, Array]) -> Array:
    """(N − 1,) factor by which each part has to be longer for limits (n,) of speed, acceleration
    and jerk; below one where it could be shorter."""
    v, a = fit(times, p)
    h, way = np.diff(times)[:, None], np.diff(p, axis=0)
    c3 = (20 * way - (8 * v[1:] + 12 * v[:-1]) * h - (3 * a[:-1] - a[1:]) * h**2) / (2 * h**3)
    c4 = (-30 * way + (14 * v[1:] + 16 * v[:-1]) * h + (3 * a[:-1] - 2 * a[1:]) * h**2) / (2 * h**4)
    c5 = (12 * way - 6 * (v[1:] + v[:-1]) * h + (a[1:] - a[:-1]) * h**2) / (2 * h**5)
    factor = np.zeros(len(h))
    for s in np.linspace(0.0, 1.0, SAMPLES):
        t = s * h
        speed = v[:-1] + t * (a[:-1] + t * (3 * c3 + t * (4 * c4 + t * 5 * c5)))
        acceleration = a[:-1] + t * (6 * c3 + t * (12 * c4 + t * 20 * c5))
        jerk = 6 * c3 + t * (24 * c4 + t * 60 * c5)
        for power, (x, most) in enumerate(
            zip((speed, acceleration, jerk), limits, strict=True), start=1
        ):
            factor = np.maximum(factor, ((np.abs(x) / most) ** (1.0 / power)).max(axis=1))
    return factor


def quick_times(p: Array, limits: tuple[Array, Array, Array]) -> Array:
    """(N,) s, from 0: the times with which a path through p (N, n) is at its limits in every part,
    as far as a path without corners can be."""
    h = 1e-3 + (np.abs(np.diff(p, axis=0)) / limits[0]).max(axis=1)
    best = np.full(len(h), np.inf)
    for _ in range(ROUNDS):
        factor = excess(np.append(0.0, np.cumsum(h)), p, limits) / MARGIN
        h = h * factor.max()
        if h.sum() < best.sum():
            best = h
        h = h * np.maximum(np.sqrt(factor / factor.max()), MIN_SHRINK)
    return np.append(0.0, np.cumsum(best))


def plan(controller: Controller, path: Any, times: Any, share: float) -> Array:
    """Knots (N, 3 nv + 1): time, then p, v, a of each joint, from the reference in effect through
    the positions `path` (N − 1, nq), checked.

    At `times` (N − 1,) s, or at a share of the speed that limits allow.
    """
    data, robot = controller.data, controller.robot
    if (data.coordinate < 0).any():
        raise InputError("references: a path needs joints of one coordinate each", "references")
    q = np.atleast_2d(np.asarray(path))
    if not 1 <= len(q) < MAX_KNOTS:
        wanted = f"1 … {MAX_KNOTS - 1} via points"
        raise InputError(f"references: {len(q)} via points, expected {wanted}", "references")
    q = numbers("references", q, (len(q), robot.nq))
    now = data.state[controller.first_reference :][: robot.nq]
    p = np.vstack([now, q])[:, data.coordinate]
    turns = data.wraps != 0
    p[:, turns] = np.unwrap(p[:, turns], axis=0)
    beyond = ((p[1:] < data.lower) | (p[1:] > data.upper)).any(axis=0) & ~turns
    if beyond.any():
        k = int(np.argmax(beyond))
        wanted = f"{data.lower[k]:.6g} … {data.upper[k]:.6g}"
        raise InputError(
            f"references: joint {robot.joint_names[k]!r} goes to "
            f"{shown(np.round(p[1:, k], 6).tolist())}, expected {wanted}",
            "references",
            None,
            wanted,
        )
    limits = (CATCHING_UP * data.speed, data.acceleration, data.jerk)
    at = quick_times(p, limits) / share if times is None else checked_times(times, p, limits)
    return np.hstack([at[:, None], p, *fit(at, p)])


def checked_times(times: Any, p: Array, limits: tuple[Array, Array, Array]) -> Array:
    """(N,) s from 0 on, if a path through p (N, n) keeps its limits with them."""
    given = numbers("times", times, (len(p) - 1,))
    at = np.append(0.0, given)
    if not (np.diff(at) > 0.0).all():
        wanted = "increasing numbers above 0"
        raise InputError(f"times is {shown(given.tolist())}, expected {wanted}", "times")
    factor = float(excess(at, p, limits).max())
    if factor > 1.0:
        k = int(np.argmax(excess(at, p, limits)))
        wanted = f"times that are {factor:.3g} times as long by the limits of references"
        message = f"times: the path to via point q[{k}] is too fast, expected {wanted}"
        raise InputError(message, "times", None, wanted)
    return at


@kernel
def part_of_path(data, t):
    """The knot after which a time lies."""
    k = 0
    while k + 2 < data.knots[IN_EFFECT] and data.path[k + 1, 0] <= t:
        k += 1
    return k


@kernel
def on_path(data, n, part, joint, t):
    """Position, speed, acceleration, jerk and snap of a joint at a time."""
    at, to = data.path[part], data.path[part + 1]
    h, t = to[0] - at[0], min(max(t - at[0], 0.0), to[0] - at[0])
    p, v, a = at[1 + joint], at[1 + n + joint], at[1 + 2 * n + joint]
    way, w, b = to[1 + joint] - p, to[1 + n + joint], to[1 + 2 * n + joint]
    c3 = (20.0 * way - (8.0 * w + 12.0 * v) * h - (3.0 * a - b) * h * h) / (2.0 * h**3)
    c4 = (-30.0 * way + (14.0 * w + 16.0 * v) * h + (3.0 * a - 2.0 * b) * h * h) / (2.0 * h**4)
    c5 = (12.0 * way - 6.0 * (w + v) * h + (b - a) * h * h) / (2.0 * h**5)
    return (
        p + t * (v + t * (0.5 * a + t * (c3 + t * (c4 + t * c5)))),
        v + t * (a + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5))),
        a + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5)),
        6.0 * c3 + t * (24.0 * c4 + t * 60.0 * c5),
        24.0 * c4 + t * 120.0 * c5,
    )


@kernel
def take_path(data):
    """Put the ordered path into effect; without one, a movement has one goal."""
    count = data.knots[IN_EFFECT] = data.knots[ORDERED]
    for i in range(count):
        for k in range(data.path.shape[1]):
            data.path[i, k] = data.ordered_path[i, k]
