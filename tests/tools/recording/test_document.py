"""docs/RECORDING.md says where everything is in the ring; the code has it there."""

import re
from pathlib import Path

import numpy as np
import pytest

from torqued.server.observation.layout import (
    ALIGN,
    HEAD,
    HEADER,
    HEADER_BYTES,
    LOOP_TICK,
    MAGIC,
    MARKS,
    MODES,
    TICK_HEAD,
    VALUES_HEAD,
)

DOCUMENT = (Path(__file__).parents[3] / "docs" / "RECORDING.md").read_text(encoding="utf-8")


def rows(name):
    """Cells of a table between its marks."""
    part = re.search(rf"<!-- {name}: .*? -->\n(.*?)<!-- end of {name} -->", DOCUMENT, re.S)
    assert part is not None
    lines = part[1].strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_header_is_as_documented():
    assert {name: int(byte) for byte, name, _ in rows("ring header")} == {
        name: HEADER.fields[name][1] for name in HEADER.names
    }
    assert HEADER.itemsize == HEADER_BYTES == 4096 and MARKS == 256 and ALIGN == 64
    assert MAGIC.to_bytes(8, "little") == b"torqring"


def test_tick_is_as_documented():
    kinds = {"int64": np.dtype("i8"), "float64": np.dtype("f8")}
    documented = {name: (kinds[kind], int(byte)) for byte, kind, name, _ in rows("ring tick")}
    assert documented == {
        name: TICK_HEAD.fields[name][:2] for name in TICK_HEAD.names if name not in HEAD.names
    }
    (bits,) = (said for _, _, name, said in rows("ring tick") if name == "mode")
    assert all(re.search(rf"\b{bit} ", bits) for bit in MODES)


@pytest.mark.parametrize("name", ["index", "count"])
def test_values_are_as_documented(name):
    byte = {"index": 32, "count": 40}[name]
    assert VALUES_HEAD.fields[name][1] == byte and VALUES_HEAD.itemsize == 48
    assert f"`{name}`" in DOCUMENT and f"byte {byte}" in DOCUMENT


def test_loop_ticks_are_as_documented():
    said = re.search(r"Loop ticks .*? from byte 32 on, int64: (.*)\.", DOCUMENT)
    names = re.findall(r"(\w+)(?: \([^)]*\))?,?", said[1])
    assert names == [name for name in LOOP_TICK.names if name not in HEAD.names]
    assert LOOP_TICK.fields["tick"][1] == 32
