"""How a robot is loaded: the keys of `[robot]` in a configuration, which are the options of
`Robot.load`, and what each may be.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from torqued.common.errors import InputError, ModelError
from torqued.kernels.formats.sources import checked_path
from torqued.kernels.formats.toml_records import toml_table
from torqued.kernels.formats.xml_file import read_text
from torqued.kernels.input_checks import shown, similar
from torqued.kernels.model.catalog import FAMILIES, check_name, family_name, is_file
from torqued.kernels.model.checks import MAX_DOFS
from torqued.kernels.model.lock import Locked

BASES = ("fixed", "floating")


class RobotOptions(TypedDict, total=False):
    """What every way to load a robot takes."""

    arguments: Mapping[str, str] | None  # of a xacro file
    gravity: Any  # acceleration of free fall (3,) in world axes, m/s²
    #: What a file gets wrong, by joint: lower, upper, velocity, effort (rad or m, s, N m or N).
    joints: Mapping[str, Mapping[str, float]] | None
    actuated: Sequence[str] | None  # joints with motors; the effort of others is 0
    #: Rotor inertia by joint: kg m² (kg for prismatic) at the joint, or a map of `motor_inertia`,
    #: kg m², and `gear_ratio`.
    armature: Mapping[str, Any] | None
    friction: Mapping[str, Any] | None  # measured, kernels/model/friction.py
    attach: Sequence[Mapping[str, Any]] | None  # other robots, kernels/model/attach.py
    capsules: Sequence[Mapping[str, Any]] | None  # of links, kernels/robot/capsules.py
    links: Sequence[Mapping[str, Any]] | None  # in place of the file's, kernels/model/edit.py
    tool: Any  # one map or several, kernels/model/payloads.py
    payload: Any  # the same
    postures: Mapping[str, Mapping[str, Any]] | None  # by name: positions by joint, rad or m
    mimic: str  # "follow" mimic joints, or "free": they move independently
    locked: Locked | None  # joints to hold: positions (rad, m) by name, or names alone (at 0)
    strict: bool  # harmless faults of the file are errors, not warnings
    accept_unphysical: bool  # joints that move no mass and indefinite inertias are warnings


class Key(NamedTuple):
    """What TOML has to give."""

    types: tuple[type, ...]
    expected: str
    allowed: Container[Any] = ()
    length: int | None = None


_TABLES = Key((dict, list), "a table, or a list of tables")

#: Other names of the key `model`, and all keys that say where a robot comes from.
SAME_AS_MODEL = ("urdf", "screws")
SOURCES = ("model", *SAME_AS_MODEL, "family")

KEYS: dict[str, Key] = {
    "model": Key((str,), "a name from `torqued models`, or a path"),
    **dict.fromkeys(SAME_AS_MODEL, Key((str,), "a path")),
    "family": Key((str,), f"one of {', '.join(map(repr, FAMILIES))}", tuple(FAMILIES)),
    "dofs": Key((int,), f"a whole number from 1 to {MAX_DOFS}", range(1, MAX_DOFS + 1)),
    "seed": Key((int,), "a whole number"),
    "base": Key((str,), f"one of {', '.join(map(repr, BASES))}", BASES),
    "arguments": Key((dict,), "a table of texts"),
    "gravity": Key((list, tuple), "a list of three numbers", length=3),
    "joints": Key((dict,), "a table of joints: lower, upper, velocity, effort"),
    "actuated": Key((list, tuple), "a list of joints"),
    "armature": Key((dict,), "a table of joints: kg m², or {motor_inertia, gear_ratio}"),
    "capsules": Key((list, tuple), "a list of tables"),
    "friction": Key((dict,), "a table of viscous and coulomb"),
    "attach": Key((list, tuple), "a list of tables"),
    "links": Key((list, tuple), "a list of tables"),
    "tool": _TABLES,
    "payload": _TABLES,
    "postures": Key((dict,), "a table of postures: positions by joint"),
    "mimic": Key((str,), "one of 'follow', 'free'", ("follow", "free")),
    "locked": Key((dict, list, tuple), "a list of joints, or a table of positions"),
    "strict": Key((bool,), "true or false"),
    "accept_unphysical": Key((bool,), "true or false"),
}


def option_problems(given: Any, folder: Path) -> dict[str, str]:
    """What is wrong with `[robot]`: by key, or by "" for the table, what follows its name."""
    if not isinstance(given, dict):
        return {"": f' is {shown(given)}, expected a table, such as [robot] with model = "panda"'}
    problems: dict[str, str] = {}
    sources = [key for key in SOURCES if key in given]
    if len(sources) != 1:
        problems[""] = ": expected exactly one of 'model' and 'family'"
    elif ("family" in given) != ("dofs" in given):
        problems[""] = ": 'family' and 'dofs' require each other"
    for key, value in given.items():
        if key not in KEYS:
            problems[key] = f" is unknown{similar(key, KEYS)}"
        elif not _fits(KEYS[key], value):
            problems[key] = f" is {shown(value)}, expected {KEYS[key].expected}"
    if sources != ["family"] and not {"", *sources} & {*problems}:
        try:
            source_of(given, folder)
        except InputError as error:
            problems[sources[0]] = f": {error}"
    return problems


def source_of(given: Mapping[str, Any], folder: Path) -> str:
    """The name or path in a table whose keys are right; a path is relative to the folder."""
    if "family" in given:
        return f"{given['family']}{given['dofs']}"
    name: str = next(given[key] for key in ("model", *SAME_AS_MODEL) if key in given)
    if not family_name(name) and is_file(folder / name):
        name = str(folder / name)
    check_name(name)
    if is_configuration(name):
        wanted = "the file of a robot; give a configuration as --config or to Robot.load"
        raise InputError(f"{name} is a configuration, expected {wanted}", "model", name, wanted)
    return name


def is_configuration(name: str) -> bool:
    """Whether a path is that of a configuration, not of a robot in TOML."""
    if not name.lower().endswith(".toml") or not is_file(Path(name)):
        return False
    try:
        table = toml_table(read_text(name), name)
    except ModelError:  # the reader says what is wrong
        return False
    return "robot" in table or any(key in table for key in SOURCES)


def read_options(path: Any) -> dict[str, Any]:
    """The keys of a configuration file, which are right, and its source as `model`."""
    source = checked_path(path)
    loaded = toml_table(read_text(source), source)
    given: Any = loaded.get("robot", loaded)
    folder = Path(source).parent
    if problems := option_problems(given, folder):
        raise ModelError(source, [f"key {key or 'robot'!r}{say}" for key, say in problems.items()])
    return with_source(given, folder)


def with_source(given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The keys as options, with the source as `model`."""
    own = {key: value for key, value in given.items() if key not in SAME_AS_MODEL}
    for key in ("family", "dofs"):
        own.pop(key, None)
    own["model"] = source_of(given, folder)
    if "attach" in own:
        own["attach"] = [_beside(entry, folder) for entry in own["attach"]]
    return own


def _beside(entry: Any, folder: Path) -> Any:
    """An entry of `attach`, a path relative to the folder."""
    name = entry.get("model") if isinstance(entry, dict) else None
    if isinstance(name, str) and is_file(folder / name):
        return entry | {"model": str(folder / name)}
    return entry


def _fits(key: Key, value: Any) -> bool:
    if type(value) not in key.types or (key.allowed and value not in key.allowed):
        return False
    return key.length is None or len(value) == key.length
