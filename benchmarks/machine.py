"""What a run was measured on, so that its figures can be judged later."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

#: What kernels and Pinocchio, or requests and sockets, are made of.
PACKAGES = ("torqued", "numpy", "numba", "llvmlite", "pin")
WIRE_PACKAGES = ("torqued", "numpy", "numba", "pyzmq", "msgpack")


@dataclass(frozen=True)
class Machine:
    cpu: str
    cores: int
    load_average: float  # over the minute before the run: above zero, others were working too
    date: str
    versions: dict[str, str]

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return (
            f"{self.cpu}, {self.cores} cores, load {self.load_average:.2f} before the run; "
            f"{self.date}; {versions}"
        )


def this_machine(packages: Sequence[str] = PACKAGES) -> Machine:
    versions = {name: importlib.metadata.version(name) for name in packages}
    return Machine(
        cpu=cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        load_average=round(os.getloadavg()[0], 2),
        date=datetime.date.today().isoformat(),
        versions={"python": platform.python_version(), **versions},
    )


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's own name for itself, or its architecture where the system gives no name."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
