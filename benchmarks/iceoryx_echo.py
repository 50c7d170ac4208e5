"""iceoryx2's events as a peer of sessions in shared memory: a notification there and one back.

    python iceoryx_echo.py NAME     answers until killed

Between two Python processes, without any data. The package is optional: where it is
not installed (pip install iceoryx2), this is not measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import iceoryx2  # type: ignore[import-not-found]


def ends(name: str, listens: str, notifies: str) -> tuple[Any, Any, Any]:
    """A node, which has to live as long as what it made: a listener, and a notifier."""
    node = iceoryx2.NodeBuilder.new().create(iceoryx2.ServiceType.Ipc)

    def service(direction: str) -> Any:
        whole = iceoryx2.ServiceName.new(f"torqued/{name}/{direction}")
        return node.service_builder(whole).event().open_or_create()

    listener = service(listens).listener_builder().create()
    return node, listener, service(notifies).notifier_builder().create()


def asking(name: str) -> Callable[[], object]:
    """One exchange with the process that answers under that name."""
    node, listener, notifier = ends(name, "back", "there")
    patience = iceoryx2.Duration.from_millis(100)

    def exchange() -> object:
        notifier.notify()
        while not listener.timed_wait(patience):
            notifier.notify()  # the other process has not been there yet
        return node

    return exchange


def serve(name: str) -> None:
    _node, listener, notifier = ends(name, "there", "back")
    while True:
        if listener.blocking_wait():
            notifier.notify()


if __name__ == "__main__":
    serve(sys.argv[1])
