"""What users say about contacts, checked and laid out for kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.rotation import check_pose
from torqued.kernels.contacts.rows import CONTACT
from torqued.kernels.contacts.types import KINDS, Contact
from torqued.kernels.input_checks import choice, nonnegative, numbers, sequence, shown
from torqued.kernels.model.assemble import axis_frame
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.layout import empty_records
from torqued.kernels.robot.frame_table import FrameTable, Place

#: Contacts that are kept as checked.
MAX_KNOWN = 256


def checked_contacts(frames: FrameTable, contacts: Any) -> tuple[Sequence[Contact], Any]:
    """The contacts, and a record of `CONTACT` for each."""
    given = sequence("contacts", contacts, "contacts")
    records = empty_records(CONTACT, len(given))
    fields = records.view(CONTACT, np.ndarray)  # whole rows: attributes are slow to set
    row = 0
    for k, contact in enumerate(given):
        fields[k] = contact_fields(frames, f"contacts[{k}]", contact, row)
        row += KINDS[contact.kind]
    return given, records


def contact_fields(frames: FrameTable, name: str, contact: Contact, row: int) -> tuple[Any, ...]:
    """The fields of `CONTACT`, checked.

    The same contacts come at every step of a controller or a simulation: those that cannot change,
    as they hold no arrays or lists, are checked once.
    """
    if not isinstance(contact, Contact):
        raise InputError(f"{name}: {shown(contact)}, expected a Contact", name, None, "a Contact")
    try:
        known = frames.checked.get(contact)
    except TypeError:  # it holds what can change
        found = checked_fields(frames, name, contact)
    else:
        found = checked_fields(frames, name, contact) if known is None else known
        if len(frames.checked) < MAX_KNOWN:
            frames.checked[contact] = found
    return *found[:3], row, *found[3:]


def checked_fields(frames: FrameTable, name: str, contact: Contact) -> tuple[Any, ...]:
    """The same without the row."""
    kind = KINDS[choice(f"{name}.kind", contact.kind, KINDS)]
    held = frames.place(f"{name}.frame", contact.frame, contact.point)
    friction = 0.0 if contact.friction is None else contact.friction
    if contact.half_size is not None:
        nonnegative(f"{name}.half_size", contact.half_size, (2,))
    return (
        held.fields,
        opposite(frames, name, contact).fields,
        kind,
        normal_axes(f"{name}.normal", contact.normal).ravel(),
        nonnegative(f"{name}.stiffness", contact.stiffness),
        nonnegative(f"{name}.damping", contact.damping),
        nonnegative(f"{name}.friction", friction),
        False,
    )


def normal_axes(name: str, normal: Any) -> Array:
    """A rotation whose third column is along the normal."""
    direction = numbers(name, normal, (3,))
    largest = float(np.abs(direction).max())
    if not largest > 1e-9:
        raise InputError(f"{name} is zero, expected a direction", name, None, "a direction")
    return axis_frame(direction / largest)  # so that no square overflows


def opposite(frames: FrameTable, name: str, contact: Contact) -> Place:
    """What a contact is held against."""
    R, p = rotation_and_position(f"{name}.target", contact.target)
    stiffness = nonnegative(f"{name}.stiffness", contact.stiffness)
    if contact.other is None:
        if contact.target is None and stiffness:
            where = f"{name}.stiffness"
            raise InputError(f"{where}: needs a target to measure errors from", where)
        if stiffness and contact.kind == "frame" and np.ndim(contact.target) == 1:
            where = f"{name}.target"
            raise InputError(f"{where}: a frame contact needs a pose (4, 4)", where)
        return Place(-1, R, p)
    if contact.kind == "normal":
        raise InputError(
            f"{name}: a loop closure of kind 'normal' is not defined, allowed: 'point', 'frame'",
            f"{name}.kind",
        )
    other = frames.place(f"{name}.other", contact.other, contact.other_point)
    return Place(other.body, other.R @ R, other.p + other.R @ p)


def require_cone(name: str, contact: Any) -> None:
    """The contact is of a kind that can slide, with the friction that this needs."""
    if not isinstance(contact, Contact):
        raise InputError(f"{name}: {shown(contact)}, expected a Contact", name, None, "a Contact")
    if contact.kind not in ("point", "normal"):
        raise InputError(
            f"{name}: kind {contact.kind!r} cannot have friction cones, allowed: "
            "'point', 'normal' (a surface is several points)",
            f"{name}.kind",
        )
    if contact.kind == "point" and contact.friction is None:
        where = f"{name}.friction"
        raise InputError(f"{name}: a point contact needs a friction coefficient", where)


def rotation_and_position(name: str, target: Any) -> tuple[Array, Array]:
    """Rotation and position of a target; a position alone is not turned."""
    if target is None:
        return np.eye(3), np.zeros(3)
    place = numbers(name, target, (3,), (4, 4))
    if place.ndim == 1:
        return np.eye(3), place
    check_pose(name, place)
    return place[:3, :3], place[:3, 3]
