"""A robot from TOML: by screws (`screws_reader.py`), or a `Description` in full.

format = "description"      # without it, the file is by screws
name = "arm"                # keys are the fields of the classes in `description.py`

[[links]]
name = "upper"
inertia = { mass = 2.0, com = [0.1, 0, 0], rotational = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] }

[[joints]]
name = "hip"
type = "universal"
parent = "base"
child = "upper"
placement = { position = [0, 0, 0.4] }
axis = [1, 0, 0]
limits = { lower = -1, upper = 1, velocity = inf }
motions = [["revolute", [0, 1, 0]]]

[postures]
home = { knee = [0.3] }

[constraints]               # fields of `Contact` and `Loop`
stance = [{ type = "contact", frame = "foot", kind = "point" }]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torqued.common.errors import ModelError
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.screws_reader import read_screws
from torqued.kernels.formats.toml_records import Records, toml_table
from torqued.kernels.input_checks import shown
from torqued.kernels.model.description import Description


def read_toml(file: RobotFile) -> Description:
    """The robot; everything that cannot be read in one `ModelError`."""
    table = toml_table(file.text, file.source)
    kind = table.pop("format", None)
    if kind is None:
        return read_screws(table, file.source)
    if kind != "description":
        problem = f"key 'format' is {shown(kind)}, expected 'description', or none for screws"
        raise ModelError(file.source, [problem])
    return description_of(table, file.source)


def description_of(table: dict[str, Any], source: str) -> Description:
    """What `toml_writer.as_table` made a table of."""
    records = Records()
    description: Description = records.read(Description, table)
    if records.problems:
        raise ModelError(source, records.problems)
    return replace(description, source=source)
