"""Faults and warnings of a robot, collected for one report."""

from __future__ import annotations

from collections.abc import Sequence
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


def grouped(sentences: Sequence[str]) -> list[str]:
    """The same about several joints or links: one sentence."""
    about: dict[str, list[str]] = {}
    for text in sentences:
        where, colon, what = text.partition(": ")
        about.setdefault(colon + what, []).append(where)
    return [
        f"{where[0]}{f' and {len(where) - 1} more' if len(where) > 1 else ''}{what}"
        for what, where in about.items()
    ]
