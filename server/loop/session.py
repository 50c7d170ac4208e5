"""Python's side of a session, its choices for when its law gives no torque, and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

from torqued.client.sessions.frames import PAYLOAD
from torqued.kernels import InputError
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.fallback import KINDS
from torqued.kernels.control.options import OF_FALLBACK, not_negative
from torqued.kernels.input_checks import choice, seconds_within
from torqued.server.access.rights import Caller
from torqued.server.loop.arrivals import ArrivalThread
from torqued.server.loop.links import LOCK_STEP, Link
from torqued.server.loop.state_frames import MAX_ROUTE
from torqued.server.transport.memory_pages import Page

#: s: the longest time to hold or to fade a torque.
MAX_FADE = 10.0
#: What a torque may fade to without states.
WITHOUT_STATES = ("gravity", "zero")


@dataclass
class Safety:
    """What happens when there is no torque of the law, and how fast robots move; times in s."""

    stale_after: float = 0.003
    hold: float = 0.02  # the last torque is held
    fade: float = 0.1  # and fades into the fallback's
    abandon_after: float = 30.0  # without states the session is then closed
    fallback: str = "brake"  # while states come: brake, hold, gravity, zero
    without_states: str = "zero"  # what the torque fades to: gravity (at the last state), zero
    fallback_damping: float = 0.0  # N m s/rad, beside the fallback while states come
    frozen_after: float = 0.02  # encoders that stop are then not believed; 0: always
    move_speed: float = 0.25  # of movements that do not say, as a share of the speed limits


@dataclass
class Session:
    """Owns a session's memory."""

    number: int  # how clients name it
    slot: int  # where the servo has it
    opened: int  # ns, monotonic
    endpoint: str
    caller: Caller  # that opened it
    socket: zmq.Socket[bytes] | None  # None: its frames go through `page`
    page: Page | None
    link: Link
    arrivals: ArrivalThread | None  # answers its states as they come; None: the loop does
    controller: Controller
    safety: Safety
    delay: float  # s from a state to its torque, with which its gains are stable
    cost: float  # s of a tick, its frames included
    share: int  # ns that computing may take in each tick
    owner: NDArray[np.uint8]  # the secret routing id of its client
    receive: NDArray[np.uint8]
    send: NDArray[np.uint8]
    route: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(MAX_ROUTE, np.uint8))
    commander: Caller | None = None  # gives orders
    lease: float = 0.0  # s of silence after which a commander counts as dead


def chosen_safety(safety: Safety, fields: Mapping[str, Any], controller: Controller) -> Safety:
    """The daemon's settings, changed by those of a session."""
    given = {name: fields[name] for name in OF_FALLBACK if fields.get(name) is not None}
    if given and not controller.law.is_torque:
        name = next(iter(given))
        raise InputError(f"{name}: stream sessions have no torque and no fallback", name)
    brakes = given.get("fallback", safety.fallback) not in ("gravity", "zero")
    if controller.admittance and not (brakes and "without_states" not in given):
        name = "without_states" if brakes else "fallback"
        raise InputError(f"{name}: a virtual robot (admittance) brakes or holds", name)
    chosen: dict[str, Any] = {}
    if "fallback" in given:
        chosen["fallback"] = choice("fallback", given.pop("fallback"), KINDS)
    if "without_states" in given:
        chosen["without_states"] = choice(
            "without_states", given.pop("without_states"), WITHOUT_STATES
        )
    for name in ("hold", "fade", "fallback_damping", "frozen_after"):
        if name in given:
            chosen[name] = float(not_negative(given, name))
    for name in ("hold", "fade", "frozen_after"):
        seconds_within(name, chosen.get(name, 0.0), 0.0, MAX_FADE)
    return replace(safety, **chosen)


def fill_record(record: Any, session: Session, ring: int) -> None:
    """Fill a zeroed record, by which compiled code serves a session, at its start.

    `ring` is the address of the session's own ring, 0: its ticks go to the loop's.
    """
    record.sequence = record.seen = -1
    record.number, record.ring = session.number, ring
    record.same_clock = int(session.caller.transport.same_clock)
    record.control = session.controller.record.ctypes.data
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
    record.lock_step = int(session.link.clock == LOCK_STEP)
    record.owner, record.owner_size = session.owner.ctypes.data, len(session.owner)
    record.route = session.route.ctypes.data
    record.receive, record.receive_size = session.receive.ctypes.data, len(session.receive)
    record.prefix = session.receive[:PAYLOAD].view(np.int64)[0]
    record.send, record.send_size = session.send.ctypes.data, len(session.send)
    safety = session.safety
    record.stale_after = round(safety.stale_after * 1e9)
    record.hold = round(safety.hold * 1e9)
    record.fade = round(safety.fade * 1e9)
    record.frozen_after = safety.frozen_after
    record.damping, record.share = safety.fallback_damping, session.share
    record.fallback = KINDS[safety.fallback]
    record.fallback_without_state = KINDS[safety.without_states]
