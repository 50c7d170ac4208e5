"""The page of a session in shared memory, and the transport in a session's record."""

from __future__ import annotations

from typing import Any

from torqued.client.memory.page_layout import PageLayout
from torqued.server.access.rights import Caller
from torqued.server.loop.session import Session
from torqued.server.transport.memory_pages import Page


def memory_link(
    owner: str, state_bytes: int, output_bytes: int, caller: Caller
) -> tuple[Page, dict[str, Any]]:
    """A page for frames of so many bytes; and how its client gets it, as fields of a reply."""
    pages = caller.transport.pages
    assert pages is not None  # checked by `chosen_link`
    caller.transport.listeners.require_room()
    layout = PageLayout.of(state_bytes, output_bytes)
    page = pages.make(layout, owner.encode())
    return page, {"endpoint": pages.endpoint, "memory": layout._asdict()}


def fill_link(record: Any, session: Session) -> None:
    """Write the transport of a session's frames into its record."""
    if session.socket is not None:
        record.socket = session.socket.underlying
    if session.page is not None:
        layout = session.page.layout
        record.page = session.page.address
        record.page_states, record.page_state_slot = layout.states, layout.state_slot
        record.page_outputs, record.page_output_slot = layout.outputs, layout.output_slot
    if session.arrivals is not None:
        record.on_arrival, record.lock = 1, session.arrivals.lock.ctypes.data
        record.spin = round(session.link.spin * 1e9)
        record.served = record.arrived = session.opened


def end_memory_link(page: Page, owner: bytes, caller: Caller) -> None:
    """Unmap the page in the daemon; the client keeps its own mapping."""
    if caller.transport.pages is not None:
        caller.transport.pages.forget(owner)
    page.close()
