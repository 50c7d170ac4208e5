"""Where robots come from: a description or a TOML configuration into a `Model`."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from torqued.common.errors import InputError, ModelError, ModelWarning
from torqued.kernels.formats.sources import checked_path, read_file, read_whole
from torqued.kernels.input_checks import choice, numbers, shown, similar
from torqued.kernels.model.assemble import assemble, root_joint_name
from torqued.kernels.model.catalog import (
    family_name,
    find_urdf,
    usual_armature,
    usual_base,
    usual_locked,
)
from torqued.kernels.model.checks import check
from torqued.kernels.model.checks_units import gravity_notes
from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.description import ROOT_JOINT, Description
from torqued.kernels.model.edit import with_links
from torqued.kernels.model.families import family
from torqued.kernels.model.friction import with_friction
from torqued.kernels.model.lock import Locked, lock_with_faults
from torqued.kernels.model.model import Model
from torqued.kernels.model.payloads import load_notes, loads_of, with_payload
from torqued.kernels.model.rotors import rotor_notes, with_armature
from torqued.kernels.robot.core import RobotCore

STANDARD_GRAVITY = (0.0, 0.0, -9.81)

BASES = ("fixed", "floating")


class ModelOptions(TypedDict, total=False):
    """What every way to load a robot takes."""

    gravity: Any  # acceleration of free fall (3,) in world axes, m/s²
    #: Rotor inertia by joint: kg m² (kg for prismatic) at the joint, or a map of `motor_inertia`,
    #: kg m², and `gear_ratio`.
    armature: Mapping[str, Any] | None
    mimic: str  # "follow" mimic joints, or "free": they move independently
    locked: Locked | None  # joints to hold: positions (rad, m) by name, or names alone (at 0)
    strict: bool  # harmless faults of the file are errors, not warnings
    accept_unphysical: bool  # joints that move no mass and indefinite inertias are warnings


class Loading(RobotCore):
    """Ways to load a robot. `base` is "fixed" to the world, or "floating": the root link moves
    freely, first in q and v. `options` are those of `ModelOptions`."""

    @classmethod
    def named(cls, name: str, base: str | None = None, **options: Unpack[ModelOptions]) -> Self:
        """The robot that a name stands for: a file of example-robot-data (`panda`), a family with
        its size (`chain20`), which brings its own base, or the path of a URDF file.

        Without `base`, a robot that walks moves freely and an arm is held. Without `locked`, the
        gripper of an arm is held at 0; `locked=()` gives its joints back. Without `armature`, it
        has the rotor inertias that are published; `armature={}` leaves those of its file.
        """
        if not isinstance(name, str):
            raise InputError(f"name: {shown(name)}, expected a text", "name", None, "a text")
        family_and_size = family_name(name)
        if family_and_size:
            kind, dofs = family_and_size
            return cls(model_of(family(kind, dofs), family_base(kind), **options))
        path = find_urdf(name)
        base = usual_base(path) if base is None else base
        if options.get("locked") is None:
            options["locked"] = usual_locked(name)
        if options.get("armature") is None:
            options["armature"] = usual_armature(name)
        return cls(model_of(read_file(path), base, driven=True, **options))

    @classmethod
    def from_urdf(
        cls, path: str | os.PathLike[str], base: str = "fixed", **options: Unpack[ModelOptions]
    ) -> Self:
        """The robot in a URDF file."""
        return cls(model_of(read_file(path), base, driven=True, **options))

    @classmethod
    def from_screws(
        cls, path: str | os.PathLike[str], base: str = "fixed", **options: Unpack[ModelOptions]
    ) -> Self:
        """The robot in a TOML file by screws, without joint frames (docs/SCREWS.md)."""
        return cls(model_of(read_file(path), base, driven=True, **options))

    @classmethod
    def from_xml(cls, text: str, base: str = "fixed", **options: Unpack[ModelOptions]) -> Self:
        """The robot in a URDF text."""
        return cls(model_of(read_whole(text), base, driven=True, **options))

    @classmethod
    def family(
        cls,
        kind: str,
        dofs: int,
        seed: int = 0,
        base: str | None = None,
        **options: Unpack[ModelOptions],
    ) -> Self:
        """A robot of [EW21]'s families: chain, tree (fixed base), biped, quadruped (floating)."""
        return cls(
            model_of(
                family(kind, dofs, seed), family_base(kind) if base is None else base, **options
            )
        )

    @classmethod
    def from_config(cls, path: str | os.PathLike[str]) -> Self:
        """The robot in a TOML file: `urdf` or `screws` (a path, relative to the file) or `family`
        and `dofs`, and any of the options; rotor inertias in a table `[armature]`, identified links
        in `[[links]]`, what the robot carries in `[tool]` and `[payload]`, and measured friction in
        `[friction]`."""
        config = read_config(path)
        carried: dict[str, Any] = {name: config.pop(name, None) for name in ("tool", "payload")}
        links, friction = config.pop("links", None), config.pop("friction", None)
        try:
            if "urdf" in config:
                robot = cls.from_urdf(config.pop("urdf"), **config)
            elif "screws" in config:
                robot = cls.from_screws(config.pop("screws"), **config)
            else:
                robot = cls.family(config.pop("family"), config.pop("dofs"), **config)
            return cls(equipped(with_links(robot.model, "links", links), carried, friction))
        except InputError as error:
            raise ModelError(checked_path(path), [str(error)]) from None

    @classmethod
    def from_description(
        cls, description: Description, base: str = "fixed", **options: Unpack[ModelOptions]
    ) -> Self:
        """The robot of a description."""
        return cls(model_of(description, base, **options))


def model_of(
    description: Any,
    base: str,
    *,
    gravity: Any = STANDARD_GRAVITY,
    armature: Mapping[str, Any] | None = None,
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
    choice("base", base, BASES)
    choice("mimic", mimic, ("follow", "free"))
    fall = numbers("gravity", gravity, (3,))
    description = taken_apart(description)
    description = with_armature(description, {} if armature is None else armature)
    if mimic == "free":
        joints = tuple(replace(joint, mimic=None) for joint in description.joints)
        description = replace(description, joints=joints)
    description, faults = lock_with_faults(description, () if locked is None else locked)
    if base == "floating" and (name := root_joint_name(description)) != ROOT_JOINT:
        note = f"joint {ROOT_JOINT!r}: the floating base's joint is called {name!r} beside it"
        description = replace(description, notes=(*description.notes, note))
    description = replace(description, notes=(*description.notes, *gravity_notes(fall)))
    notes = check(description, strict=strict, accept_unphysical=accept_unphysical, known=faults)
    if notes:
        warnings.warn(listed(description.source, notes), ModelWarning, stacklevel=3)
    lacking = rotor_notes(description) if driven and base == "fixed" else ()
    if lacking:
        warnings.warn(listed(description.source, lacking), ModelWarning, stacklevel=3)
    return assemble(description, base, fall, (*notes, *lacking))


def equipped(model: Model, carried: Mapping[str, Any], friction: Any) -> Model:
    """A model with loads, by the names of their keys, and with measured friction."""
    notes: list[str] = []
    for name, given in carried.items():
        loads = loads_of(model, name, given)
        notes += load_notes(model, name, loads)
        model = with_payload(model, loads)
    if notes:
        warnings.warn(listed(model.source, notes), ModelWarning, stacklevel=3)
        model = replace(model, warnings=(*model.warnings, *notes))
    return model if friction is None else with_friction(model, friction)


def listed(source: str, notes: Sequence[str]) -> str:
    """Warnings about one file: what it is once, then each in a line."""
    if len(notes) == 1:
        return f"{source}: {notes[0]}"
    return "\n  - ".join([f"{source}: {len(notes)} warnings", *notes])


def read_config(path: Any) -> dict[str, Any]:
    """The keys of a robot's configuration, which are those that it may have; a path to its file is
    relative to this one."""
    source = checked_path(path)
    try:
        loaded = tomllib.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # not to be opened, no text, no TOML
        raise ModelError(source, [f"cannot be read as TOML: {error}"]) from None
    config: dict[str, Any] = loaded.get("robot", loaded)
    if problems := config_problems(config):
        raise ModelError(source, problems)
    for key in ("urdf", "screws"):
        if key in config:
            config[key] = Path(source).parent / config[key]
    return config


def family_base(kind: str) -> str:
    """How a robot of a family is held: on legs, it moves freely."""
    return "floating" if kind in ("biped", "quadruped") else "fixed"


#: Keys of a configuration, and what TOML has to give for them.
CONFIG_KEYS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "urdf": (str, "a path"),
    "screws": (str, "a path"),
    "family": (str, "a name"),
    "dofs": (int, "a whole number"),
    "seed": (int, "a whole number"),
    "base": (str, "a word"),
    "gravity": (list, "a list of three numbers"),
    "armature": (dict, "a table of joints: kg m², or {motor_inertia, gear_ratio}"),
    "links": (list, "a list of tables"),
    "tool": ((dict, list), "a table, or a list of tables"),
    "payload": ((dict, list), "a table, or a list of tables"),
    "friction": (dict, "a table of viscous and coulomb"),
    "mimic": (str, "a word"),
    "locked": ((dict, list), "a list of joints, or a table of positions"),
    "strict": (bool, "true or false"),
    "accept_unphysical": (bool, "true or false"),
}


def config_problems(config: Any) -> list[str]:
    """What is wrong with the keys of a robot's configuration."""
    if not isinstance(config, dict):
        return [f"key 'robot' is {config!r}, expected a table"]
    problems = [
        f"key {key!r} is unknown{similar(key, CONFIG_KEYS)}"
        for key in config
        if key not in CONFIG_KEYS
    ]
    for key, (kind, expected) in CONFIG_KEYS.items():
        # Exact types: in Python, true is also a whole number.
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if key in config and type(config[key]) not in kinds:
            problems.append(f"key {key!r} is {config[key]!r}, expected {expected}")
    if sum(key in config for key in ("urdf", "screws", "family")) != 1:
        problems.append("exactly one of 'urdf', 'screws' and 'family' is needed")
    for key in ("dofs", "seed"):
        if key in config and "family" not in config:
            problems.append(f"key {key!r} belongs to a family, not to a file")
    if "family" in config and "dofs" not in config:
        problems.append("a family needs 'dofs', a whole number")
    return problems
