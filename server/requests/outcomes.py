"""Counts of requests by operation and outcome: answered, or refused with an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

#: The outcome of a request that was answered; of others it is their error's code.
OK = "ok"
#: In place of unknown operations, whose names are not kept.
UNKNOWN = "unknown"


class Outcomes:
    """Counts requests. Only one thread counts; any may ask."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, operation: str, outcome: str) -> None:
        self._counts[operation, outcome] += 1

    def items(self) -> list[tuple[str, str, int]]:
        """Operation, outcome, how many."""
        return [(*key, count) for key, count in self._counts.copy().items()]

    @property
    def refused(self) -> int:
        """Error replies so far."""
        return sum(count for _, outcome, count in self.items() if outcome != OK)


def known_name(message: Mapping[str, Any], names: Collection[str]) -> str:
    """The operation that a message names, or `UNKNOWN`."""
    name = message.get("op")
    return name if isinstance(name, str) and name in names else UNKNOWN


def as_maps(counted: Iterable[Outcomes]) -> dict[str, dict[str, int]]:
    """Operation → outcome → how many, for `stats`."""
    found: dict[str, dict[str, int]] = {}
    for outcomes in counted:
        for name, outcome, count in outcomes.items():
            of_name = found.setdefault(name, {})
            of_name[outcome] = of_name.get(outcome, 0) + count
    return found
