"""Where robots come from: a name, a file of any kind, or a description into a `Model`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, Unpack

import numpy as np

from torqued.common.errors import InputError, ModelError, ModelWarning
from torqued.kernels.formats.sources import checked_path, read_file, read_whole
from torqued.kernels.input_checks import choice, map_or_none, numbers, shown
from torqued.kernels.model.assemble import assemble, root_joint_name
from torqued.kernels.model.attach import with_attached
from torqued.kernels.model.catalog import (
    family_name,
    find_file,
    usual_arguments,
    usual_armature,
    usual_base,
    usual_locked,
)
from torqued.kernels.model.checks import check
from torqued.kernels.model.checks_units import gravity_notes
from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.corrections import corrected
from torqued.kernels.model.description import ROOT_JOINT, Description
from torqued.kernels.model.diagnostics import grouped
from torqued.kernels.model.edit import with_links
from torqued.kernels.model.families import family
from torqued.kernels.model.friction import with_friction
from torqued.kernels.model.lock import Locked, lock_with_faults
from torqued.kernels.model.model import Model
from torqued.kernels.model.payloads import load_notes, loads_of, with_payload
from torqued.kernels.model.rotors import rotor_notes, with_armature
from torqued.kernels.robot.capsules import capsules_of
from torqued.kernels.robot.core import RobotCore
from torqued.kernels.robot.options import BASES, RobotOptions, is_configuration, read_options

STANDARD_GRAVITY = (0.0, 0.0, -9.81)


class Loading(RobotCore):
    """Ways to load a robot. `base` is "fixed" to the world, or "floating": the root link moves
    freely, first in q and v. `options` are those of `RobotOptions`."""

    @classmethod
    def load(
        cls,
        source: Any,
        base: str | None = None,
        seed: int = 0,
        **options: Unpack[RobotOptions],
    ) -> Self:
        """The robot of a name that `torqued models` lists, of a family with its size (`chain20`),
        or of a file: URDF, xacro, MJCF, RBDL's Lua, TOML by screws, or a configuration, whose keys
        these options override.

        Without `base`, a robot that walks moves freely and an arm is held. Robots of
        example-robot-data have their gripper locked at 0, unless `locked` says otherwise, and the
        rotor inertias that are published, but for the joints in `armature`; an empty one leaves all
        out. `seed` is that of a family.
        """
        name = checked_path(source)
        if is_configuration(name):
            return cls.from_config(name, base=base, **options)
        if family_and_size := family_name(name):
            return cls.family(*family_and_size, seed, base, **options)
        path = find_file(name)
        if options.get("arguments") is None:
            options["arguments"] = usual_arguments(name)
        if options.get("locked") is None:
            options["locked"] = usual_locked(name)
        options["armature"] = usual_armature(name, options.get("armature"))
        description = read_file(path, options.pop("arguments"))
        base = usual_base(name, path, description) if base is None else base
        return cls(model_of(description, base, driven=True, **options))

    @classmethod
    def named(cls, name: str, base: str | None = None, **options: Unpack[RobotOptions]) -> Self:
        """`load` by its name."""
        return cls.load(name, base, **options)

    @classmethod
    def from_urdf(
        cls,
        path: str | os.PathLike[str],
        base: str | None = None,
        **options: Unpack[RobotOptions],
    ) -> Self:
        """The robot in a file of any kind; without `base` it is held, unless the file says
        otherwise."""
        description = read_file(path, options.pop("arguments", None))
        return cls(model_of(description, base, driven=True, **options))

    @classmethod
    def from_screws(
        cls,
        path: str | os.PathLike[str],
        base: str | None = None,
        **options: Unpack[RobotOptions],
    ) -> Self:
        """`from_urdf` by another name: a TOML file by screws (docs/SCREWS.md)."""
        return cls.from_urdf(path, base, **options)

    @classmethod
    def from_xml(cls, text: str, base: str | None = None, **options: Unpack[RobotOptions]) -> Self:
        """The robot in a text of URDF or MJCF; the rest as in `from_urdf`."""
        description = read_whole(text, arguments=options.pop("arguments", None))
        return cls(model_of(description, base, driven=True, **options))

    @classmethod
    def family(
        cls,
        kind: str,
        dofs: int,
        seed: int = 0,
        base: str | None = None,
        **options: Unpack[RobotOptions],
    ) -> Self:
        """A robot of [EW21]'s families: chain, tree (fixed base), biped, quadruped (floating)."""
        description = family(kind, dofs, seed)
        base = family_base(kind) if base is None else base
        return cls(model_of(description, base, **options))

    @classmethod
    def from_config(
        cls,
        path: str | os.PathLike[str],
        base: str | None = None,
        **options: Unpack[RobotOptions],
    ) -> Self:
        """The robot in a TOML file: `model`, a name or a path relative to the file, or `family` and
        `dofs`, and any of the options."""
        config = read_options(path) | {k: v for k, v in options.items() if v is not None}
        if base is not None:
            config["base"] = base
        source = checked_path(path)
        try:
            return cls.load(config.pop("model"), **config)
        except InputError as error:
            raise ModelError(source, [str(error)]) from None
        except ModelError as error:  # faults of either file
            raise ModelError(f"{source}, {error.source}", error.problems) from None

    @classmethod
    def from_description(
        cls,
        description: Description,
        base: str | None = None,
        **options: Unpack[RobotOptions],
    ) -> Self:
        """The robot of a description."""
        return cls(model_of(description, base, **options))


def model_of(
    description: Any,
    base: str | None,
    *,
    arguments: Mapping[str, str] | None = None,
    gravity: Any = None,
    joints: Any = None,
    actuated: Any = None,
    armature: Mapping[str, Any] | None = None,
    attach: Any = None,
    capsules: Any = None,
    friction: Mapping[str, Any] | None = None,
    links: Any = None,
    tool: Any = None,
    payload: Any = None,
    postures: Any = None,
    mimic: str = "follow",
    locked: Locked | None = None,
    strict: bool = False,
    accept_unphysical: bool = False,
    driven: bool = False,
) -> Model:
    """The model of a description; its faults in one `ModelError`, what does no harm in one
    `ModelWarning` at the caller of the caller.

    A robot that is `driven` by motors, as those of files are, should have rotors; if an arm has
    none, that is another `ModelWarning`, with `strict` too: its file is right as it is."""
    if not isinstance(description, Description):
        wanted = "a Description"
        raise InputError(f"description: {shown(description)}, expected {wanted}", "description")
    if given_arguments := [*map_or_none("arguments", arguments)]:
        raise InputError(f"arguments {shown(given_arguments)} are for xacro files", "arguments")
    for name, value in {"strict": strict, "accept_unphysical": accept_unphysical}.items():
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} is {shown(value)}, expected true or false", name)
    said = description.base if base is None else choice("base", base, BASES)
    base = said or "fixed"
    choice("mimic", mimic, ("follow", "free"))
    given = description.gravity if gravity is None else gravity
    fall = numbers("gravity", STANDARD_GRAVITY if given is None else given, (3,))
    description = with_attached(taken_apart(description), attach)
    description = with_armature(description, {} if armature is None else armature)
    description, faults = corrected(description, joints, actuated, postures)
    if mimic == "free":
        free = tuple(replace(joint, mimic=None) for joint in description.joints)
        description = replace(description, joints=free)
    description, more = lock_with_faults(description, () if locked is None else locked)
    if base == "floating" and (name := root_joint_name(description)) != ROOT_JOINT:
        note = f"joint {ROOT_JOINT!r}: the floating base's joint is called {name!r} beside it"
        description = replace(description, notes=(*description.notes, note))
    description = replace(description, notes=(*description.notes, *gravity_notes(fall)))
    known = [*faults, *more]
    notes = check(description, strict=strict, accept_unphysical=accept_unphysical, known=known)
    if notes:
        warnings.warn(listed(description.source, notes), ModelWarning, stacklevel=3)
    lacking = rotor_notes(description) if driven and base == "fixed" else ()
    if lacking:
        warnings.warn(listed(description.source, lacking), ModelWarning, stacklevel=3)
    fallen = None if given is None else tuple(fall.tolist())
    description = replace(description, base=said, gravity=fallen)
    model = assemble(description, base, fall, (*notes, *lacking))
    model = replace(model, capsules=capsules_of(model, capsules))
    model = with_links(model, "links", links)
    return equipped(model, {"tool": tool, "payload": payload}, friction, stacklevel=4)


def equipped(model: Model, carried: Mapping[str, Any], friction: Any, stacklevel: int = 3) -> Model:
    """A model with loads, by the names of their keys, and with measured friction."""
    notes: list[str] = []
    for name, given in carried.items():
        loads = loads_of(model, name, given)
        notes += load_notes(model, name, loads)
        model = with_payload(model, loads) if loads else model
    if notes:
        warnings.warn(listed(model.source, notes), ModelWarning, stacklevel=stacklevel)
        model = replace(model, warnings=(*model.warnings, *notes))
    return model if friction is None else with_friction(model, friction)


def listed(source: str, notes: Sequence[str]) -> str:
    """Warnings about one file: what it is once, then each in a line."""
    lines = grouped(notes)
    if len(lines) == 1:
        return f"{source}: {lines[0]}"
    return "\n  - ".join([f"{source}: {len(lines)} warnings", *lines])


def family_base(kind: str) -> str:
    """How a robot of a family is held: on legs, it moves freely."""
    return "floating" if kind in ("biped", "quadruped") else "fixed"
