"""Faults and warnings of a robot, collected for one report."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Findings:
    """One sentence each: `faults` forbid the use of a robot, `warnings` do no harm.

    What is `unphysical` forbids it unless the caller accepts it: every quantity can be computed,
    but the mass matrix may be singular or indefinite.
    """

    faults: list[str] = field(default_factory=list)
    unphysical: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def fault(self, where: str, sentence: str) -> None:
        self.faults.append(f"{where}: {sentence}")

    def warn(self, where: str, sentence: str) -> None:
        self.warnings.append(f"{where}: {sentence}")
