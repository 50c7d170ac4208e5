"""What a run computes from what, and the folder beside its result that remembers what is done.

    states.npz → result.npz.part/plan.json            the run, as it was begun
                                 chunk-00000000.npz    results of one chunk each, whole or absent
               → result.npz                            all of them, when none is missing

A chunk's file appears under its name only when it is complete. A killed process leaves no partial
chunk, and a chunk that is computed twice exists once.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy

from torqued.common.errors import InputError
from torqued.kernels.model.description import Array


@dataclass(frozen=True)
class Plan:
    """Everything that results depend on, and how they are cut into chunks."""

    table: str  # file of states
    table_size: int  # bytes, and when it was changed: another file is another run
    table_changed: int
    model: str  # digest of the robot
    operation: str
    fields: dict[str, Any]  # common to all states
    widths: dict[str, int]  # columns of each field
    required: list[str]
    count: int  # states
    chunk: int  # states of a chunk

    @property
    def chunks(self) -> int:
        return -(-self.count // self.chunk)

    def part(self, k: int) -> tuple[int, int]:
        """The states of chunk k."""
        return k * self.chunk, min((k + 1) * self.chunk, self.count)


def stamp(path: Path) -> dict[str, int]:
    """Size and time of a file, to notice that it has changed."""
    info = path.stat()
    return {"table_size": info.st_size, "table_changed": info.st_mtime_ns}


def digest(model: bytes) -> str:
    return hashlib.sha256(model).hexdigest()[:16]


class Folder:
    """Directory of the chunks until they are one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, out: Path) -> Self:
        """The directory beside a result."""
        return cls(out.with_name(f"{out.name}.part"))

    def begin(self, plan: Plan, model: bytes) -> int:
        """Create the directory, or continue one of the same run; returns the chunks done."""
        file = self.path / "plan.json"
        if file.exists():
            before = json.loads(file.read_text(encoding="utf-8"))
            now = json.loads(json.dumps(asdict(plan)))
            for key, value in now.items():
                if before.get(key) != value:
                    raise InputError(
                        f"{self.path}: started with {key} {before.get(key)!r}, now {value!r}; "
                        "remove the directory to start again, or choose another --out"
                    )
        else:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / "model.bin").write_bytes(model)
            draft = self.path / f"plan.{secrets.token_hex(4)}.draft"
            draft.write_text(json.dumps(asdict(plan)), encoding="utf-8")
            os.replace(draft, file)
        return plan.chunks - len(self.missing(plan))

    def load(self) -> tuple[Plan, bytes]:
        """The run of this directory."""
        text = (self.path / "plan.json").read_text(encoding="utf-8")
        return Plan(**json.loads(text)), (self.path / "model.bin").read_bytes()

    def chunk(self, k: int) -> Path:
        return self.path / f"chunk-{k:08d}.npz"

    def missing(self, plan: Plan) -> list[int]:
        """Chunks to compute."""
        there = {path.name for path in self.path.glob("chunk-*.npz")}
        return [k for k in range(plan.chunks) if self.chunk(k).name not in there]

    def keep(self, k: int, results: Mapping[str, Array]) -> None:
        """Store the results of a chunk atomically."""
        draft = self.path / f"draft-{k:08d}-{secrets.token_hex(4)}"
        try:
            with draft.open("xb") as file:
                with zipfile.ZipFile(file, "w") as archive:
                    for name, array in results.items():
                        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                            npy.write_array(member, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.chunk(k))
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def read(self, k: int) -> dict[str, Array]:
        with np.load(self.chunk(k), allow_pickle=False) as file:
            return dict(file)

    def remove(self) -> None:
        """Remove the directory with all chunks."""
        for path in self.path.iterdir():
            path.unlink()
        self.path.rmdir()
