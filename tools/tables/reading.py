"""Tables of states, of which parts are read: a row is a state, and each field has some columns.

.npz       an array for each field: q (N, nq), v (N, nv), …
.npy       one array (N, columns): the fields side by side, in the operation's order
.parquet   a column of lists for each field, or a column q_0, q_1, … for each number
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy

from torqued.common.errors import InputError
from torqued.kernels.model.description import Array


class Table(Protocol):
    """Fields (N, …) of a file."""

    count: int
    fields: tuple[str, ...]

    def rows(self, first: int, last: int) -> dict[str, Array]:
        """The fields of some states."""
        ...


def open_table(path: Path, widths: Mapping[str, int], required: tuple[str, ...]) -> Table:
    """The table in a file. `widths` has how many columns each field has, `required` those that
    the operation cannot do without."""
    kinds: dict[str, Any] = {".npz": ZipTable, ".npy": PlainTable, ".parquet": ParquetTable}
    if path.suffix not in kinds:
        raise InputError(f"{path}: unknown file type, expected {', '.join(kinds)}")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        table: Table = kinds[path.suffix](path, widths)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    for name in required:
        if name not in table.fields:
            found = ", ".join(table.fields) or "none"
            raise InputError(f"{path} has no {name!r}, which the operation requires; found {found}")
    if table.count == 0:
        raise InputError(f"{path} has no states")
    return table


class PlainTable:
    """One array, mapped into memory."""

    def __init__(self, path: Path, widths: Mapping[str, int]) -> None:
        self._array = npy.open_memmap(path, mode="r")
        if self._array.ndim != 2 or self._array.dtype.kind not in "iuf":
            shape, kind = self._array.shape, self._array.dtype
            raise ValueError(f"{kind} {shape}, expected numbers (states, columns)")
        self._columns: dict[str, slice] = {}
        start, columns = 0, self._array.shape[1]
        for name, width in widths.items():
            if start < columns:
                self._columns[name] = slice(start, start + width)
                start += width
        if start != columns:
            wanted = " + ".join(f"{width} of {name}" for name, width in widths.items())
            raise ValueError(f"{columns} columns, expected {wanted}")
        self.fields = tuple(self._columns)
        self.count = len(self._array)

    def rows(self, first: int, last: int) -> dict[str, Array]:
        part = np.array(self._array[first:last], dtype=np.float64)
        return {name: np.ascontiguousarray(part[:, k]) for name, k in self._columns.items()}


class ZipTable:
    """Arrays in a zip file, read in place; only the requested ones."""

    def __init__(self, path: Path, widths: Mapping[str, int]) -> None:
        self._path = path
        self._shapes: dict[str, tuple[tuple[int, ...], np.dtype[Any], int]] = {}
        with zipfile.ZipFile(path) as archive:
            for name in widths:
                if f"{name}.npy" in archive.namelist():
                    self._shapes[name] = self._head(archive, name)
        counts = {name: shape[0] for name, (shape, _, _) in self._shapes.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(f"fields of different lengths: {counts}")
        self.fields = tuple(self._shapes)
        self.count = next(iter(counts.values()), 0)

    @staticmethod
    def _head(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
        with archive.open(f"{name}.npy") as file:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, by_column, dtype = read(file)
            if by_column or dtype.kind not in "iuf" or not shape:
                raise ValueError(f"{name}: {dtype} {shape}, expected numbers, a row for each state")
            return shape, dtype, file.tell()

    def rows(self, first: int, last: int) -> dict[str, Array]:
        found = {}
        with zipfile.ZipFile(self._path) as archive:
            for name, (shape, dtype, start) in self._shapes.items():
                row = dtype.itemsize * int(np.prod(shape[1:]))
                with archive.open(f"{name}.npy") as file:
                    file.seek(start + first * row)
                    data = file.read((last - first) * row)
                array = np.frombuffer(data, dtype).reshape(-1, *shape[1:])
                found[name] = np.array(array, dtype=np.float64)
        return found


class ParquetTable:
    """The row groups of a Parquet file that hold the requested states."""

    def __init__(self, path: Path, widths: Mapping[str, int]) -> None:
        import pyarrow.parquet

        self._file = pyarrow.parquet.ParquetFile(path)
        names = self._file.schema_arrow.names
        self._columns: dict[str, list[str]] = {}
        for name, width in widths.items():
            flat = [f"{name}_{k}" for k in range(width)]
            if name in names:
                self._columns[name] = [name]
            elif flat[0:1] and flat[0] in names:
                missing = [column for column in flat if column not in names]
                if missing:
                    raise ValueError(f"no column {missing[0]!r} beside {flat[0]!r}")
                self._columns[name] = flat
        meta = self._file.metadata
        sizes = [meta.row_group(k).num_rows for k in range(meta.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.fields = tuple(self._columns)
        self.count = int(meta.num_rows)

    def rows(self, first: int, last: int) -> dict[str, Array]:
        groups = [
            k
            for k in range(len(self._starts) - 1)
            if self._starts[k] < last and self._starts[k + 1] > first
        ]
        columns = [column for names in self._columns.values() for column in names]
        table = self._file.read_row_groups(groups, columns=columns)
        part = table.slice(first - int(self._starts[groups[0]]), last - first)
        found = {}
        for name, names in self._columns.items():
            if names == [name]:
                values = np.array(part[name].to_pylist(), dtype=np.float64)
            else:
                values = np.column_stack([part[column].to_numpy() for column in names])
            found[name] = np.ascontiguousarray(values, dtype=np.float64)
        return found
