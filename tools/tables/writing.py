"""All chunks as one file, chunk after chunk: memory stays that of one.

.npz      an array (N, …) for each result; those of frames as J/hand
.npy      the same, where there is only one
.parquet  a column for each, lists of its numbers row by row; a row group for each chunk
"""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from torqued.common.errors import InputError
from torqued.kernels.model.description import Array
from torqued.tools.tables.plan import Folder, Plan

#: Report how many chunks are written.
Report = Callable[[int], None]


def check_place(out: Path) -> None:
    """Check the output path before the work."""
    if out.suffix not in WRITERS:
        raise InputError(f"--out {out}: unknown file type, expected {', '.join(WRITERS)}")
    if out.suffix == ".parquet":
        import pyarrow.parquet  # noqa: F401  (fails here if it is missing)
    if out.exists():
        raise InputError(f"--out {out} exists already")
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out {out}: the directory does not exist")


def check_results(names: Collection[str]) -> None:
    """Check that a .npy file can hold the results of these names."""
    if len(names) != 1:
        raise InputError(f"--out: .npy holds one result, not {', '.join(names)}: use .npz")


def write(out: Path, folder: Folder, plan: Plan, report: Report) -> None:
    """The file appears when it is complete."""
    draft = out.with_name(f"{out.name}.{secrets.token_hex(4)}.draft")
    try:
        WRITERS[out.suffix](draft, folder, plan, report)
        os.replace(draft, out)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _zip(draft: Path, folder: Folder, plan: Plan, report: Report) -> None:
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name in folder.read(0):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                _array(file, name, folder, plan, report)


def _plain(draft: Path, folder: Folder, plan: Plan, report: Report) -> None:
    (name,) = folder.read(0)  # `check_results` made sure of one
    with draft.open("wb") as file:
        _array(file, name, folder, plan, report)


def _array(file: Any, name: str, folder: Folder, plan: Plan, report: Report) -> None:
    """One result of all chunks in numpy's format."""
    first = folder.read(0)[name]
    head = {
        "descr": npy.dtype_to_descr(first.dtype),
        "fortran_order": False,
        "shape": (plan.count, *first.shape[1:]),
    }
    npy.write_array_header_2_0(file, head)
    for k in range(plan.chunks):
        part: Array = folder.read(k)[name]
        _whole(part, name, plan, k)
        file.write(part.tobytes())
        report(k + 1)


def _parquet(draft: Path, folder: Folder, plan: Plan, report: Report) -> None:
    import pyarrow
    import pyarrow.parquet

    writer = None
    try:
        for k in range(plan.chunks):
            columns = {}
            for name, part in folder.read(k).items():
                _whole(part, name, plan, k)
                width = int(np.prod(part.shape[1:]))
                numbers = pyarrow.array(np.ascontiguousarray(part).reshape(-1))
                if part.ndim > 1:
                    numbers = pyarrow.FixedSizeListArray.from_arrays(numbers, width)
                columns[name] = numbers
            table = pyarrow.table(columns)
            writer = writer or pyarrow.parquet.ParquetWriter(draft, table.schema)
            writer.write_table(table, row_group_size=plan.chunk)
            report(k + 1)
    finally:
        if writer is not None:
            writer.close()


def _whole(part: Array, name: str, plan: Plan, k: int) -> None:
    """A chunk must have the right number of rows."""
    first, last = plan.part(k)
    if len(part) != last - first:
        raise InputError(f"chunk {k}: {len(part)} states of {name}, expected {last - first}")


WRITERS: dict[str, Callable[[Path, Folder, Plan, Report], None]] = {
    ".npz": _zip,
    ".npy": _plain,
    ".parquet": _parquet,
}
