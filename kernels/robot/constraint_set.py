"""What users say about a set of constraints, checked and laid out for kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.rotation import check_rotation
from torqued.kernels.constraints.loops import LOOP
from torqued.kernels.constraints.types import LOOP_KINDS, ROWS, Loop, Rows
from torqued.kernels.contacts.rows import CONTACT
from torqued.kernels.contacts.types import KINDS, Contact
from torqued.kernels.input_checks import choice, nonnegative, numbers, sequence, shown
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.layout import empty_records
from torqued.kernels.robot.contact_inputs import (
    contact_fields,
    normal_axes,
    rotation_and_position,
)
from torqued.kernels.robot.frame_table import WORLD, FrameTable, Place

Constraint = Contact | Loop | Rows

#: Most rows of a user's own constraint.
MAX_ROWS = 1000


@dataclass(frozen=True)
class OwnRows:
    """A `Rows`, evaluated."""

    G: Array  # (k, nv)
    gamma: Array  # (k,) without gains
    position: Array  # (k,)
    stiffness: float
    damping: float


@dataclass(frozen=True)
class ConstraintSet:
    """Records for kernels, and which rows belong to which constraint."""

    given: tuple[Constraint, ...]
    contacts: Any  # records of `CONTACT`
    loops: Any  # records of `LOOP`
    own: tuple[tuple[slice, OwnRows], ...]
    rows: tuple[slice, ...]  # of each that was given
    count: int  # of all rows


def constraint_set(
    frames: FrameTable, constraints: Any, q: Array, v: Array, name: str = "contacts"
) -> ConstraintSet:
    """A set, checked; q and v are the robot's own, for what users' functions make of them."""
    given = tuple(sequence(name, constraints, "contacts, loops or rows"))
    contacts = empty_records(CONTACT, sum(isinstance(item, Contact) for item in given))
    loops = empty_records(LOOP, sum(isinstance(item, Loop) for item in given))
    contact_rows, loop_rows = contacts.view(CONTACT, np.ndarray), loops.view(LOOP, np.ndarray)
    own, rows, row, c, k = [], [], 0, 0, 0
    for place, item in enumerate(given):
        where = f"{name}[{place}]"
        if isinstance(item, Contact):
            contact_rows[c] = contact_fields(frames, where, item, row)
            count, c = KINDS[item.kind], c + 1
        elif isinstance(item, Loop):
            loop_rows[k] = loop_fields(frames, where, item, row)
            count, k = int(loop_rows[k]["rows"]), k + 1
        elif isinstance(item, Rows):
            evaluated = own_rows(where, item, q, v)
            count = len(evaluated.gamma)
            own.append((slice(row, row + count), evaluated))
        else:
            wanted = "a Contact, a Loop or Rows"
            raise InputError(f"{where}: {shown(item)}, expected {wanted}", where, None, wanted)
        rows.append(slice(row, row + count))
        row += count
    return ConstraintSet(given, contacts, loops, tuple(own), tuple(rows), row)


def loop_fields(frames: FrameTable, name: str, loop: Loop, row: int) -> tuple[Any, ...]:
    """The fields of `LOOP`, checked."""
    held = held_rows(name, loop)
    a = frames.place(f"{name}.frame", loop.frame, loop.point)
    b = WORLD
    if loop.other is not None:
        b = frames.place(f"{name}.other", loop.other, loop.other_point)
    R, p = rotation_and_position(f"{name}.target", loop.target)
    A = loop_axes(f"{name}.axis", loop.axis)
    # Turned so that both frames are one where all errors are zero: R_a X = R_b A with R_a = R_b R.
    turned = Place(a.body, a.R @ R.T @ A, a.p)
    against = Place(b.body, b.R @ A, b.p + b.R @ p)
    return (
        turned.fields,
        against.fields,
        held,
        row,
        int(held.sum()),
        nonnegative(f"{name}.stiffness", loop.stiffness),
        nonnegative(f"{name}.damping", loop.damping),
    )


def held_rows(name: str, loop: Loop) -> Any:
    """(6,) 1 for rows that are held."""
    if loop.held is None:
        names: Sequence[Any] = LOOP_KINDS[choice(f"{name}.kind", loop.kind, LOOP_KINDS)]
    else:
        names = sequence(f"{name}.held", loop.held, "rows")
    for row in names:
        choice(f"{name}.held", row, ROWS)
    if not names or len(set(names)) < len(names):
        wanted = "each row once, at least one"
        raise InputError(f"{name}.held: {shown(names)}, expected {wanted}", f"{name}.held")
    return np.array([row in names for row in ROWS], np.int64)


def loop_axes(name: str, axis: Any) -> Array:
    """A rotation: as it was given, or one whose z axis was."""
    given = numbers(name, axis, (3,), (3, 3))
    if given.ndim == 1:
        return normal_axes(name, given)
    check_rotation(name, given)
    return given


def own_rows(name: str, item: Rows, q: Array, v: Array) -> OwnRows:
    """A user's rows at a state."""
    found = item.of(q.copy(), v.copy()) if callable(item.of) else item.of
    if not isinstance(found, tuple | list) or len(found) not in (2, 3):
        wanted = "G and γ, and the position errors or not"
        raise InputError(
            f"{name}.of: {shown(found)}, expected {wanted}", f"{name}.of", None, wanted
        )
    G = numbers(f"{name}.G", found[0], (-1, len(v)))
    count = len(G)
    if not 1 <= count <= MAX_ROWS:
        raise InputError(f"{name}.G: {count} rows, expected 1 to {MAX_ROWS}", f"{name}.G", count)
    stiffness = nonnegative(f"{name}.stiffness", item.stiffness)
    if stiffness and len(found) == 2:
        where = f"{name}.stiffness"
        raise InputError(f"{where}: needs position errors beside G and γ", where)
    position = found[2] if len(found) == 3 else np.zeros(count)
    return OwnRows(
        G,
        numbers(f"{name}.gamma", found[1], (count,)),
        numbers(f"{name}.error", position, (count,)),
        stiffness,
        nonnegative(f"{name}.damping", item.damping),
    )
