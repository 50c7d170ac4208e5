"""Pages for requests: one for each client that has asked for one, with a thread that answers.

    client → page → compiled code, for requests that come again and again → page → client
                  → the requests' thread (dispatch.py), for all others    → page → client

What a client writes is checked as what comes over sockets; it can slow down nobody but itself.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import zmq

from torqued.client import futex
from torqued.client.page_layout import (
    CLIENT_SLEEPS,
    COUNT_MASK,
    LOCK_BYTES,
    MAX_REPLY,
    MAX_REQUEST,
    OUTPUTS,
    SIZE,
    STATES,
    PageLayout,
)
from torqued.common import errors
from torqued.kernels import InputError, Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import QUATERNION_TOLERANCE, number
from torqued.server.access.rate_limits import RequestRate
from torqued.server.access.rights import Caller
from torqued.server.loop.link_options import MAX_SPIN, checked_spin
from torqued.server.requests.fast_path_loop import INBOX, INBOX_LAYOUT, MESSAGE, InboxSizes
from torqued.server.requests.page_requests_loop import PAGE
from torqued.server.requests.templates import Templates
from torqued.server.transport.memory_pages import MemoryPages, Page
from torqued.server.transport.sockets import Arrival

if TYPE_CHECKING:
    from torqued.server.daemon import Daemon

#: Clients that may have one at a time.
MAX_PAGES = 8
#: Random bytes of a page's secret.
SECRET_BYTES = 12
#: s between two tries to wake a thread that is to come back.
WAKE_AGAIN = 0.001


class PageClient:
    """A page, and the thread that answers what comes there; also the outbox of its replies."""

    unsent = 0
    is_waiting = False

    def __init__(
        self,
        page: Page,
        robot: Robot,
        rate: float,
        spin: float,
        ask: Callable[[PageClient, bytes], None],
    ) -> None:
        self.page = page
        self.was_handed_over = False
        self.templates = Templates(robot.copy())
        self._ask = ask  # hands a request over to the requests' thread
        self._rate = RequestRate(rate)
        self._clock = np.zeros(2, np.int64)
        self._memory = INBOX_LAYOUT.allocate(InboxSizes(items=0, data=MAX_REQUEST))
        self._inbox = np.zeros(1, INBOX).view(np.recarray)
        inbox = self._inbox[0]
        inbox.arrays, inbox.clock = self._memory.address, self._clock.ctypes.data
        inbox.tolerance = QUATERNION_TOLERANCE
        inbox.rate_clients = self._rate.clients.ctypes.data
        inbox.rate_full_at = self._rate.full_at.ctypes.data
        inbox.rate_seed, inbox.rate_each = self._rate.seed, self._rate.each
        self._record = np.zeros(1, PAGE).view(np.recarray)
        record, layout = self._record[0], page.layout
        record.running, record.address = 1, page.address
        record.requests, record.request_slot = layout.states, layout.state_slot
        record.replies, record.reply_slot = layout.outputs, layout.output_slot
        record.spin = round(1e9 * spin)
        self._bytes = page.view
        self._ended = False
        self._replied = threading.Event()
        self._new_robot: Robot | None = None
        self._thread = threading.Thread(target=self._run, name="page-requests", daemon=True)
        self._thread.start()

    @property
    def answered(self) -> int:
        """Requests that compiled code has answered."""
        return int(self._inbox.answered[0])

    def _run(self) -> None:
        answer = COMPILED.answer_page_requests
        while not self._ended:
            robot, self._new_robot = self._new_robot, None
            if robot is not None:
                self.templates.forget(robot)
            self._record.running = 0 if self._ended else 1
            handle = self.templates.robot.work.handle
            found = answer(handle, self._inbox, self.templates.records, self._record)
            if found == MESSAGE and not self._ended:
                size = int(self._inbox.data_size[0])
                self._replied.clear()
                self._ask(self, self._memory.arrays.data[:size].tobytes())
                self._replied.wait()

    def use(self, robot: Robot) -> None:
        """Compute with another robot; from the return on nothing is computed with the old one.

        For the requests' thread to call, which answers nothing meanwhile.
        """
        self._new_robot = robot.copy()
        self._interrupt(lambda: self._new_robot is None)

    def _interrupt(self, is_done: Callable[[], bool]) -> None:
        """Have the thread come back from compiled code, until something is done."""
        while not is_done() and self._thread.is_alive():
            self._record.running = 0
            self._replied.set()
            futex.wake(self.page.address + STATES)
            self._thread.join(WAKE_AGAIN)

    def is_full(self, connection: bytes) -> bool:
        """Never: one request is under way at a time."""
        return False

    def send(self, route: list[bytes], reply: bytes | zmq.Frame) -> None:
        """Write a reply that Python has made; by the requests' thread."""
        if self._ended:
            self.unsent += 1
            return
        data = reply.bytes if isinstance(reply, zmq.Frame) else reply
        if len(data) > MAX_REPLY:
            data = b""  # the client asks over its socket
        record, layout, view = self._record[0], self.page.layout, self._bytes
        count = (int(record.sent) + 1) & COUNT_MASK
        slot = layout.outputs + count % layout.slots * layout.output_slot
        longs, words = view.cast("Q"), view.cast("I")
        longs[slot // 8] = 2 * count + 1
        futex.barrier()
        begin = slot + LOCK_BYTES
        longs[begin // 8] = len(data)
        view[begin + SIZE : begin + SIZE + len(data)] = data
        futex.barrier()
        longs[slot // 8] = 2 * count
        futex.barrier()
        words[OUTPUTS // 4] = count
        futex.barrier()
        record.sent = count
        if words[CLIENT_SLEEPS // 4]:
            futex.wake(self.page.address + OUTPUTS)
        self._replied.set()

    def close(self) -> None:
        """End the thread, and give the page back."""
        self._ended = True
        self._interrupt(lambda: False)
        self._bytes.release()
        self.page.close()


class PageRequests:
    """All pages for requests. Belongs to the requests' thread."""

    def __init__(self, daemon: Daemon, pages: MemoryPages, rate: float, spin: float) -> None:
        self._daemon, self._pages = daemon, pages
        self._rate, self._spin = rate, spin
        self._clients: dict[bytes, PageClient] = {}  # by secret
        self._answered = 0  # by those that are gone

    @property
    def answered(self) -> int:
        """Requests that compiled code has answered; from any thread."""
        return self._answered + sum(client.answered for client in list(self._clients.values()))

    def attach(self, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """A page for a client's requests, and how it gets it."""
        if caller.transport.pages is None:
            raise InputError("attach: shared memory is for clients of the daemon's local socket")
        spin = self._spin
        if "spin" in fields:
            spin = checked_spin(number("spin", fields["spin"]), MAX_SPIN)
        caller.transport.listeners.require_room()
        self._make_room()
        secret = f"torqued-{secrets.token_hex(SECRET_BYTES)}"
        key = secret.encode()
        layout = PageLayout.of(SIZE + MAX_REQUEST, SIZE + MAX_REPLY)
        page = self._pages.make(layout, key, lambda: self._end(key), lambda: self._hand_over(key))

        def ask(client: PageClient, data: bytes) -> None:
            arrival = Arrival(client, [key], data, caller)
            self._daemon.events.hand_over(lambda: self._answer(key, arrival))

        client = PageClient(page, self._daemon.robot, self._rate, spin, ask)
        self._clients[key] = self._daemon.outboxes[client] = client
        return {
            "endpoint": self._pages.endpoint,
            "owner": secret,
            "memory": layout._asdict(),
            "spin": spin,
        }

    def _make_room(self) -> None:
        """Refused where all places are taken; a page that nobody has fetched makes way."""
        if len(self._clients) < MAX_PAGES:
            return
        for key, client in self._clients.items():
            if not client.was_handed_over:
                self._end(key)
                return
        raise errors.error(
            "busy", f"{MAX_PAGES} clients have shared memory for requests; use the socket"
        )

    def _hand_over(self, key: bytes) -> None:
        self._clients[key].was_handed_over = True

    def _answer(self, key: bytes, arrival: Arrival) -> None:
        if key in self._clients:  # else it has gone meanwhile
            self._daemon.request_dispatch.answer(arrival)

    def use(self, robot: Robot) -> None:
        """Compute with another robot from now on."""
        for client in self._clients.values():
            client.use(robot)

    def _end(self, key: bytes) -> None:
        client = self._clients.pop(key, None)
        if client is not None:
            self._pages.forget(key)
            self._daemon.outboxes.pop(client, None)
            client.close()
            self._answered += client.answered

    def close(self) -> None:
        """End them all."""
        for key in list(self._clients):
            self._end(key)
