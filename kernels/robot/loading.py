"""The part of `Robot` about where robots come from: URDF, TOML configuration, families."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from torqued.common.errors import InputError, ModelError, ModelWarning
from torqued.kernels.input_checks import choice, numbers
from torqued.kernels.model.assemble import assemble
from torqued.kernels.model.checks import check, further_faults
from torqued.kernels.model.description import Description
from torqued.kernels.model.families import family
from torqued.kernels.model.urdf import parse_with_faults
from torqued.kernels.model.xml_file import read_text
from torqued.kernels.robot.base import RobotBase

STANDARD_GRAVITY = (0.0, 0.0, -9.81)


class LoadingMethods(RobotBase):
    """Options of every way to load:

    base       "fixed" to the world, or "floating": the root link moves freely, first in q and v
    gravity    acceleration of free fall (3,) in world axes, m/s²
    armature   rotor inertia by joint name, reflected to the joint, kg m² (kg for prismatic)
    mimic      "follow" mimic joints, or "free": they move on their own
    strict     harmless faults of the file are errors, not warnings
    accept_unphysical   joints that move no mass and indefinite inertias are warnings, not errors
    """

    @classmethod
    def from_urdf(cls, path: str | os.PathLike[str], base: str = "fixed", **options: Any) -> Self:
        """The robot in a URDF file."""
        return cls.from_description(read_whole(read_text(path), os.fspath(path)), base, **options)

    @classmethod
    def from_xml(cls, text: str, base: str = "fixed", **options: Any) -> Self:
        """The robot in a URDF text."""
        return cls.from_description(read_whole(text), base, **options)

    @classmethod
    def family(cls, kind: str, dofs: int, seed: int = 0, **options: Any) -> Self:
        """A robot of [EW21]'s families: chain, tree (fixed base), biped, quadruped (floating)."""
        base = "floating" if kind in ("biped", "quadruped") else "fixed"
        options.setdefault("base", base)
        return cls.from_description(family(kind, dofs, seed), **options)

    @classmethod
    def from_config(cls, path: str | os.PathLike[str]) -> Self:
        """The robot in a TOML file: `urdf` (path, relative to the file) or `family` and `dofs`,
        and any of the options; rotor inertias in a table `[armature]`."""
        source = os.fspath(path)
        try:
            config = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ModelError(source, [f"cannot be read as TOML: {error}"]) from None
        config = config.get("robot", config)
        if problems := config_problems(config):
            raise ModelError(source, problems)
        try:
            if "urdf" in config:
                return cls.from_urdf(Path(path).parent / config.pop("urdf"), **config)
            return cls.family(config.pop("family"), config.pop("dofs"), **config)
        except InputError as error:
            raise ModelError(source, [str(error)]) from None

    @classmethod
    def from_description(
        cls,
        description: Description,
        base: str = "fixed",
        *,
        gravity: Any = STANDARD_GRAVITY,
        armature: Mapping[str, float] | None = None,
        mimic: str = "follow",
        strict: bool = False,
        accept_unphysical: bool = False,
    ) -> Self:
        """The robot of a description; its faults in one `ModelError`."""
        choice("base", base, ("fixed", "floating"))
        choice("mimic", mimic, ("follow", "free"))
        fall = numbers("gravity", gravity, (3,))
        description = with_armature(description, armature or {})
        if mimic == "free":
            joints = tuple(replace(joint, mimic=None) for joint in description.joints)
            description = replace(description, joints=joints)
        notes = check(description, strict=strict, accept_unphysical=accept_unphysical)
        for note in notes:
            warnings.warn(f"{description.source}: {note}", ModelWarning, stacklevel=3)
        return cls(assemble(description, base, fall, notes))


#: Keys of a configuration, and what TOML has to give for them.
CONFIG_KEYS: dict[str, tuple[type, str]] = {
    "urdf": (str, "a path"),
    "family": (str, "a name"),
    "dofs": (int, "a whole number"),
    "seed": (int, "a whole number"),
    "base": (str, "a word"),
    "gravity": (list, "a list of three numbers"),
    "armature": (dict, "a table of joints"),
    "mimic": (str, "a word"),
    "strict": (bool, "true or false"),
    "accept_unphysical": (bool, "true or false"),
}


def config_problems(config: Any) -> list[str]:
    """What is wrong with the keys of a robot's configuration."""
    if not isinstance(config, dict):
        return [f"key 'robot' is {config!r}, expected a table"]
    problems = [
        f"key {key!r} is unknown, allowed: {', '.join(sorted(CONFIG_KEYS))}"
        for key in config
        if key not in CONFIG_KEYS
    ]
    for key, (kind, expected) in CONFIG_KEYS.items():
        # Exact types: in Python, true is also a whole number.
        if key in config and type(config[key]) is not kind:
            problems.append(f"key {key!r} is {config[key]!r}, expected {expected}")
    if ("urdf" in config) == ("family" in config):
        problems.append("exactly one of 'urdf' and 'family' is needed")
    for key in ("dofs", "seed"):
        if key in config and "family" not in config:
            problems.append(f"key {key!r} belongs to a family, not to a URDF")
    if "family" in config and "dofs" not in config:
        problems.append("a family needs 'dofs', a whole number")
    return problems


def read_whole(text: str, source: str = "<text>") -> Description:
    """The robot of a URDF text; what cannot be read and what makes no sense in one `ModelError`."""
    description, faults = parse_with_faults(text, source)
    if faults:
        raise ModelError(source, faults + further_faults(description, faults))
    return description


def with_armature(description: Description, armature: Mapping[str, float]) -> Description:
    """The description with rotor inertias put in by joint name."""
    names = {joint.name for joint in description.joints}
    problems = [
        f"armature: joint {name!r} does not exist" for name in armature if name not in names
    ] + [
        f"armature: joint {name!r}: {value!r} is not a finite number"
        for name, value in armature.items()
        if not isinstance(value, int | float) or not np.isfinite(value)
    ]
    if problems:
        raise ModelError(description.source, problems)
    joints = tuple(
        replace(joint, armature=float(armature.get(joint.name, joint.armature)))
        for joint in description.joints
    )
    return replace(description, joints=joints)
