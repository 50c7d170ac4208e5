"""Observation of the loop: a ring, and the directory of its sessions.

Without memory for it, or with ring_size 0, the daemon works without and says why: in its log, in
`stats`, and to readers in the directory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from torqued.kernels import Robot
from torqued.server.observation.directory import Directory, directory_files, say_why_not
from torqued.server.observation.recorders import Recorders
from torqued.server.observation.ring import Ring, RingError
from torqued.server.transport.endpoints import Endpoints

log = logging.getLogger("torqued")

#: Size of the loop's ring relative to the ring of a session on arrival.
ARRIVAL_PART = 4


class Observation:
    """The observation of one daemon. Request thread only."""

    def __init__(
        self,
        endpoints: Endpoints | None = None,
        size: int = 0,
        rate: float = 1000.0,
        processor: int | None = None,
    ) -> None:
        """`size` of the ring in MiB, 0: none; `rate` of the loop, Hz; its `processor`."""
        self.ring: Ring | None = None
        self._endpoints, self._size = endpoints, size
        #: Rings of sessions on arrival, by slot. A ring stays when its session is closed; the next
        #: session in the slot continues it.
        self._arrival_rings: dict[int, Ring] = {}
        self.directory: Directory | None = None
        self.recorders = Recorders()
        self.why_not = "disabled: ring_size is 0"
        if endpoints is None:
            return
        try:
            parts = ("ring", "arrivals-*.ring", "session-*.json")
            found = [endpoints.folder.glob(f"{endpoints.name}.{part}") for part in parts]
            for path in (*directory_files(endpoints), *(path for paths in found for path in paths)):
                path.unlink(missing_ok=True)  # left by a killed daemon
            if size:
                self.ring = Ring(endpoints, size, round(1e9 / rate))
                self.directory = Directory(endpoints, self.ring, processor)
                self.why_not = ""
        except (RingError, OSError) as error:
            self.why_not = str(error)
            log.warning("cannot observe or record sessions: %s", error)
        if self.ring is None:
            try:
                say_why_not(endpoints, self.why_not)
            except OSError as error:  # as full as the memory: readers point to `stats`
                log.warning("cannot write the session directory: %s", error)

    @property
    def address(self) -> int:
        """Address of the ring for the loop; 0 if there is none."""
        return self.ring.address if self.ring else 0

    def arrival_address(self, slot: int) -> int:
        """Address of the ring for a session on arrival in that slot; 0 if there is none."""
        if self.ring is None or self._endpoints is None:
            return 0
        if slot not in self._arrival_rings:
            size, period = max(1, self._size // ARRIVAL_PART), int(self.ring.header.period)
            try:
                ring = Ring(self._endpoints, size, period, self.ring.epoch, f".arrivals-{slot}")
            except RingError as error:
                log.warning("cannot observe or record a session on arrival: %s", error)
                return 0
            self._arrival_rings[slot] = ring
            self._update(lambda directory: directory.add_ring(ring))
        return self._arrival_rings[slot].address

    def describe_robot(self, robot: Robot, source: Mapping[str, Any]) -> None:
        self._update(lambda directory: directory.describe_robot(robot, source))

    def opened(self, number: int, session: Mapping[str, Any]) -> None:
        self._update(lambda directory: directory.opened(number, session))

    def changed(self, number: int, **fields: Any) -> None:
        self._update(lambda directory: directory.changed(number, **fields))

    def closed(self, *numbers: int) -> None:
        self._update(lambda directory: directory.closed(*numbers))

    def _update(self, what: Callable[[Directory], None]) -> None:
        """Change the directory; a full disk must not affect sessions."""
        if self.directory:
            try:
                what(self.directory)
            except OSError as error:
                log.warning("cannot write the session directory: %s", error)

    def close(self) -> None:
        """The loop has ended."""
        for ring in (self.ring, *self._arrival_rings.values()):
            if ring:
                ring.close()
        if self.directory:
            self.directory.remove()
        elif self._endpoints:
            directory_files(self._endpoints)[0].unlink(missing_ok=True)

    def statistics(self) -> dict[str, Any]:
        """For `stats`."""
        if self.ring is None:
            return {"size": 0, "why_not": self.why_not, "recorders": []}
        rings = [self.ring, *self._arrival_rings.values()]
        return {
            "size": sum(ring.size for ring in rings),
            "records": sum(int(ring.header.records) for ring in rings),
            "refused": sum(int(ring.header.refused) for ring in rings),
            "recorders": self.recorders.known(),
        }
