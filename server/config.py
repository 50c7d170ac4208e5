"""The daemon's configuration: a TOML file, then the environment, then the command line.

configs/ has commented files. Every key outside of `[robot]` can be set as TORQUED_<KEY> in the
environment. All faults of a configuration are reported at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from torqued.client.endpoints import default_folder, host_and_port
from torqued.common.errors import ModelError, TorquedError
from torqued.kernels import Robot
from torqued.kernels.control.laws import LAWS
from torqued.kernels.formats.sources import standalone
from torqued.kernels.formats.toml_records import toml_table
from torqued.kernels.formats.xml_file import read_text
from torqued.kernels.input_checks import shown, similar
from torqued.kernels.model import catalog
from torqued.kernels.model.catalog import is_file
from torqued.kernels.robot.options import option_problems, with_source
from torqued.server.access.rate_limits import Limits
from torqued.server.loop.session import Safety
from torqued.server.observation.ring import DEFAULT_SIZE


class ConfigError(TorquedError):
    """A configuration that cannot be used, with all of its faults."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(f"{source}: {problems[0]}" if source else problems[0])
        else:
            about = f"{source or 'configuration'}: {len(self.problems)} problems"
            super().__init__("\n  - ".join([about, *self.problems]))


@dataclass(frozen=True)
class RobotConfig:
    """`[robot]`: where the robot comes from, and the options of `Robot.load`."""

    options: dict[str, Any]  # of `Robot.load`, `model` its source

    @property
    def model(self) -> str:
        return str(self.options["model"])

    @property
    def is_file(self) -> bool:
        """Whether it was given by its path, not by name."""
        return is_file(Path(self.model))

    def load(self) -> Robot:
        """The robot; all faults of its file as one `ModelError`."""
        return Robot.load(self.model, **{k: v for k, v in self.options.items() if k != "model"})

    def described(self) -> tuple[dict[str, Any], str]:
        """The options, complete without the robot's name, and a text that holds all of its file."""
        options = dict(self.options)
        if catalog.family_name(self.model):
            return options, ""
        options.setdefault("locked", catalog.usual_locked(self.model))
        options["armature"] = catalog.usual_armature(self.model, options.get("armature"))
        arguments = options.pop("arguments", None) or catalog.usual_arguments(self.model)
        return options, standalone(catalog.find_file(self.model), arguments)


class Config(BaseModel):
    """The configuration of a daemon."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    robot: RobotConfig
    name: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]+$")  # name of the sockets
    folder: Path | None = None  # socket directory
    rate: float = Field(1000.0, ge=100.0, le=2000.0)  # Hz
    priority: int = Field(0, ge=0, le=99)  # SCHED_FIFO; 0: not realtime
    lock_memory: bool = False
    cpu: int | None = Field(None, ge=0)
    spin: float = Field(0.0, ge=0.0, le=0.005)  # s; at most half a period
    stale_ticks: int = Field(3, ge=1, le=100_000)
    hold: float = Field(0.02, ge=0.0, le=10.0)  # s
    fade: float = Field(0.1, ge=0.0, le=10.0)  # s
    abandon_after: float = Field(30.0, ge=0.1)  # s without states, then a session is closed
    fallback: Literal["brake", "hold", "gravity", "zero"] = "brake"  # while states come
    without_states: Literal["gravity", "zero"] = "zero"  # what a torque fades to
    move_speed: float = Field(0.25, gt=0.0, le=1.0)  # share of the speed limits
    group: str | None = None  # group that may connect locally, besides the user
    listen: str | None = None  # tcp://INTERFACE:PORT, beside the local sockets
    plain_tcp: bool = False  # without keys
    session_ports: tuple[int, int] | None = None  # first and last; default: any free port
    keys: Path | None = None  # folder of keys
    request_rate: float = Field(20000.0, ge=1.0)  # per second and client
    sessions_per_client: int = Field(8, ge=1)
    ring_size: int = Field(DEFAULT_SIZE, ge=0, le=65536)  # MiB, of what observers read; 0: none
    laws: tuple[str, ...] = ()  # compiled before the daemon is ready
    record: bool = False  # a flight recorder beside the daemon
    record_minutes: float = Field(10.0, ge=0.1, le=1e5)  # kept by the recorder
    record_folder: Path | None = None  # default: torqued/recordings/NAME in $XDG_STATE_HOME
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"

    @field_validator("listen")
    @classmethod
    def _tcp(cls, endpoint: str | None) -> str | None:
        if endpoint is not None:
            try:
                host_and_port(endpoint)
            except TorquedError as error:
                raise ValueError(str(error)) from None
        return endpoint

    @field_validator("laws", mode="before")
    @classmethod
    def _law_names(cls, laws: Any) -> Any:
        """A list, or names between commas as the environment and the command line have them."""
        return [law.strip() for law in laws.split(",")] if isinstance(laws, str) else laws

    @field_validator("laws")
    @classmethod
    def _known_laws(cls, laws: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := ", ".join(repr(law) for law in laws if law not in LAWS):
            raise ValueError(f"unknown law {unknown} (choose from {', '.join(LAWS)})")
        return laws

    @field_validator("session_ports", mode="before")
    @classmethod
    def _port_range(cls, ports: Any) -> Any:
        """A list of two, or `FIRST-LAST` as the environment has it."""
        return ports.split("-") if isinstance(ports, str) else ports

    @field_validator("session_ports")
    @classmethod
    def _ports_in_order(cls, ports: tuple[int, int] | None) -> tuple[int, int] | None:
        if ports and not 0 < ports[0] <= ports[1] <= 65535:
            raise ValueError(
                f"invalid port range {list(ports)}: expected first and last, 1 to 65535"
            )
        return ports

    @field_validator("plain_tcp")
    @classmethod
    def _plain_where_it_listens(cls, plain: bool, info: ValidationInfo) -> bool:
        if plain and not info.data.get("listen", "refused"):
            raise ValueError("requires 'listen'")
        return plain

    @field_validator("record")
    @classmethod
    def _record_what_is_written(cls, record: bool, info: ValidationInfo) -> bool:
        if record and info.data.get("ring_size") == 0:
            raise ValueError("requires a ring, but ring_size is 0")
        return record

    @property
    def limits(self) -> Limits:
        return Limits(self.request_rate, self.sessions_per_client)

    @property
    def safety(self) -> Safety:
        stale_after = self.stale_ticks / self.rate
        return Safety(
            stale_after,
            self.hold,
            self.fade,
            self.abandon_after,
            self.fallback,
            self.without_states,
            move_speed=self.move_speed,
        )

    @property
    def socket_folder(self) -> Path:
        return (self.folder or default_folder()).absolute()

    def socket_name(self, robot: Robot) -> str:
        """The configured name, or the robot's own with other characters replaced."""
        if self.name:
            return self.name
        return _for_files(robot.name if self.robot.is_file else self.robot.model)


def _for_files(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name) or "robot"


def load_config(
    file: Path | None,
    options: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """The configuration in a file (or none), changed by the environment and by options.

    Options are what the command line gave: keys of `Config`, and `robot`, a map, in place of the
    file's table.
    """
    values = _read(file) if file else {}
    sources = dict.fromkeys(values, "")
    for key in Config.model_fields:
        variable = f"TORQUED_{key.upper()}"
        if key != "robot" and environment.get(variable):
            values[key] = environment[variable]
            sources[key] = f" (from {variable})"
    for key, value in options.items():
        if value is not None:
            values[key] = value
            sources[key] = COMMAND_LINE
    folder = file.parent if file and "robot" not in options else Path()
    problems: dict[tuple[str, ...], str] = {}
    if "robot" in values:
        for key, words in option_problems(values["robot"], folder).items():
            place = ("robot", key) if key else ("robot",)
            problems[place] = _name(place, sources)[0] + words
        found = {} if problems else with_source(values["robot"], folder)
        values["robot"] = RobotConfig(found)
    for key, value in values.items():
        if _is_misplaced_text(key, value, sources.get(key, "")):
            problems[(key,)] = _problem(key, "type", value, sources)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        for fault in error.errors():
            key = str(fault["loc"][0])
            kind = fault["type"] if len(fault["loc"]) == 1 else "inside"
            problem = _problem(key, kind, values.get(key), sources, fault["msg"])
            problems.setdefault((key,), problem)
    if problems:
        raise ConfigError(str(file or ""), list(problems.values()))
    return config


def _is_misplaced_text(key: str, value: Any, source: str) -> bool:
    """Values of a file in quotes where numbers or `true` belong, which pydantic would convert, and
    `true` where numbers do. The environment and the command line have texts only."""
    kind = _kind(Config.model_fields[key].annotation) if key in Config.model_fields else ""
    wrong = (str,) if kind == "true or false" else (str, bool)
    return kind in KINDS.values() and isinstance(value, wrong) and not source


#: Source of a value from the command line; its option is named as it was given.
COMMAND_LINE = "--"
OPTIONS = {"robot.model": "--robot"}  # others by their keys


def _read(file: Path) -> dict[str, Any]:
    try:
        return toml_table(read_text(file), str(file))
    except ModelError as error:
        raise ConfigError(str(file), error.problems) from None


def _name(place: tuple[str, ...], sources: Mapping[str, str]) -> tuple[str, str]:
    """What a key is called in a message, and where its value comes from."""
    key, source = ".".join(place), sources.get(place[0], "")
    if source == COMMAND_LINE:
        return OPTIONS.get(key, f"--{place[-1].replace('_', '-')}"), ""
    return f"key {key!r}", source


def _problem(
    key: str, fault: str, value: Any, sources: Mapping[str, str], message: str = ""
) -> str:
    """One fault in one sentence: the key, its value and what is allowed."""
    name, source = _name((key,), sources)
    if fault == "missing":
        return f"{name} is missing"
    fields = Config.model_fields
    if fault == "extra_forbidden":
        return f"{name} is unknown{source}{similar(key, fields)}"
    if fault == "value_error":
        return f"{name}{source}: {message.removeprefix('Value error, ')}"
    return f"{name} is {shown(value)}{source}, expected {_expected(key, fields[key])}"


#: What values of a type are called.
KINDS = {float: "a number", int: "a whole number", bool: "true or false"}
#: What keys expect that are not one of these, and not a text.
EXPECTED = {
    "name": "letters, digits, _ and -",
    "session_ports": "first and last port",
    "laws": "a list of laws",
}


def _kind(annotation: Any) -> str:
    """`float | None` → a number."""
    parts = () if get_origin(annotation) in (tuple, dict) else get_args(annotation)
    types = [kind for kind in parts or (annotation,) if kind is not type(None)]
    if all(isinstance(kind, str) for kind in types):
        return f"one of {', '.join(map(repr, types))}"
    if get_origin(types[0]) is Literal:
        return _kind(types[0])
    return KINDS.get(types[0], "a text")


def _expected(key: str, field: FieldInfo) -> str:
    kind = _kind(field.annotation)
    if key in EXPECTED:
        return EXPECTED[key]
    bounds = {
        name: f"{getattr(item, name):g}"
        for item in field.metadata
        for name in ("ge", "gt", "le")
        if hasattr(item, name)
    }
    if "gt" in bounds:
        return f"{kind} above {bounds['gt']} and up to {bounds['le']}"
    if "le" in bounds:
        return f"{kind} from {bounds['ge']} to {bounds['le']}"
    return f"{kind} of at least {bounds['ge']}" if bounds else kind
