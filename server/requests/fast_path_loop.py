"""The fast path: known requests, answered without the interpreter.

A controller sends the same `dynamics` request again and again: only its id and the numbers in q
and v are new. fast_path.py lays such a request out as a template; this loop receives messages,
compares them with the templates and answers those that fit. Any other message goes to Python, as
does one that needs a refusal: for its numbers, its results, its rate, or a client that does not
take its replies.

    request   14 bytes (map, protocol, "id"), the id, then the rest with q and v at known places
    reply     14 bytes, the same id, then the rest with the results at known places
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import carray, typeof, types
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.quantity_arrays import quantities_at
from torqued.kernels.dynamics.selected_quantities import fill_quantities
from torqued.kernels.primitives.arrays import Floats, Indices, Layout, Records, array
from torqued.kernels.primitives.layout import FRAME, WORK
from torqued.kernels.primitives.system_calls import now
from torqued.kernels.primitives.workspace import open_work, pointer
from torqued.server.access.rate_limits import BUCKETS, client_number, take_token
from torqued.server.loop.zeromq_calls import receive
from torqued.server.transport.framing import MAX_AT_ONCE

_zmq_poll: Any = types.ExternalFunction(
    "zmq_poll", types.int32(types.voidptr, types.int32, types.int64)
)
_zmq_getsockopt: Any = types.ExternalFunction(
    "zmq_getsockopt", types.int32(types.voidptr, types.int32, types.voidptr, types.voidptr)
)
_zmq_send: Any = types.ExternalFunction(
    "zmq_send", types.int32(types.voidptr, types.voidptr, types.uint64, types.int32)
)
RCVMORE = 13
DONTWAIT, SNDMORE = 1, 2

PREFIX = 14  # bytes before the id
MAX_NUMBER = 9  # bytes of an id
REST = 32  # where the rest of a reply begins in its buffer; what goes before ends there
MAX_IN_A_ROW = 1000  # requests, before Python may look after other things
MAX_ROUTE = 256  # bytes; ZeroMQ's identities have at most 255

#: How a wait ended.
NOTHING, MESSAGE = 0, 1

#: `zmq_pollitem_t`.
POLL_ITEM = np.dtype([("socket", "u8"), ("fd", "i4"), ("events", "i2"), ("revents", "i2")])

#: A request that is known, and how to answer it. Sizes and offsets are bytes.
TEMPLATE = np.dtype(
    [
        ("arrays", "u8"),  # address of its `TemplateArrays`
        ("request_size", "i8"),  # of its rest; 0 where there is no request
        ("q", "i8"),  # offset in the rest of the numbers in q
        ("v", "i8"),  # the same for v, -1 where there is none
        ("nq", "i8"),
        ("nv", "i8"),
        ("want", "i8"),
        ("representation", "i8"),
        ("out", "u8"),  # the arrays of `Quantities`, one after the other
        ("reply_first", "i8"),  # byte: a map with so many members
        ("reply_size", "i8"),  # of the rest
    ],
    align=True,
)


class TemplateSizes(NamedTuple):
    request: int
    state: int
    quaternions: int
    frames: int
    reply: int
    copies: int


class TemplateArrays(NamedTuple):
    """What a template points to."""

    request: NDArray[np.uint8] = array(np.uint8, "request")  # first 14 bytes, then its rest
    state: Floats = array(float, "state")  # q and v for the kernel
    quaternions: Indices = array(int, "quaternions")  # where they begin in q
    frames: Records = array(FRAME, "frames")
    reply: NDArray[np.uint8] = array(np.uint8, "reply")  # buffer: the rest from byte 32 on
    copies: Indices = array(int, "copies", 3)  # address of a result, offset in the rest, bytes


INBOX = np.dtype(
    [
        ("arrays", "u8"),  # address of its `InboxArrays`
        ("socket_count", "i8"),  # for requests
        ("index", "i8"),  # of the one that had a message
        ("socket", "u8"),  # and its address
        ("timeout", "i8"),  # ms
        ("route_size", "i8"),
        ("data_size", "i8"),
        ("first", "i8"),  # index of the socket to look at first, so that each has its turn
        ("tolerance", "f8"),  # of a quaternion's norm
        ("answered", "i8"),  # requests so far
        ("rate_clients", "u8"),  # buckets of server/access/rate_limits.py
        ("rate_full_at", "u8"),
        ("rate_seed", "u8"),
        ("rate_each", "f8"),  # s per request
        ("clock", "u8"),  # two int64 for the answer of the system
    ],
    align=True,
)


class InboxSizes(NamedTuple):
    items: int
    data: int


class InboxArrays(NamedTuple):
    """Where messages come in."""

    items: Records = array(POLL_ITEM, "items")  # sockets for requests, then all else waited for
    route: NDArray[np.uint8] = array(np.uint8, MAX_ROUTE)  # a message's first part
    data: NDArray[np.uint8] = array(np.uint8, "data")  # its second part
    more: Indices = array(int, 2)  # whether there are more parts, and the bytes of that answer


TEMPLATE_LAYOUT, INBOX_LAYOUT = (
    Layout(TemplateArrays, TemplateSizes),
    Layout(InboxArrays, InboxSizes),
)
open_template, open_inbox = TEMPLATE_LAYOUT.open, INBOX_LAYOUT.open

INBOXES = typeof(np.zeros(1, INBOX).view(np.recarray))
TEMPLATES = typeof(np.zeros(1, TEMPLATE).view(np.recarray))


@kernel
def bytes_at(address, size):
    return carray(pointer(address), size, np.uint8)


@kernel
def floats_at(address, shape):
    return carray(pointer(address), shape, np.float64)


@kernel
def copy_bytes(source, target):
    for k in range(len(target)):
        target[k] = source[k]


@kernel
def all_finite(numbers):
    """Zero times a number is zero, unless the number is NaN or infinite."""
    zero = 0.0
    for k in range(len(numbers)):
        zero += numbers[k] * 0.0
    return zero == 0.0


@kernel
def number_size(marker):
    """Bytes of a whole number in msgpack that begins with this byte, 0 where it is no such."""
    if marker < 0x80 or marker >= 0xE0:
        return 1
    if marker == 0xCC or marker == 0xD0:
        return 2
    if marker == 0xCD or marker == 0xD1:
        return 3
    if marker == 0xCE or marker == 0xD2:
        return 5
    if marker == 0xCF or marker == 0xD3:
        return 9
    return 0


@kernel
def fits(template, message, start):
    """Whether a message is this request: all bytes but the id's and the numbers'."""
    if len(message) - start != template.request_size:
        return False
    known = open_template(template.arrays).request
    for k in range(PREFIX):
        if message[k] != known[k]:
            return False
    k = 0
    while k < template.request_size:
        if k == template.q:
            k += 8 * template.nq
        elif k == template.v:
            k += 8 * template.nv
        else:
            if message[start + k] != known[PREFIX + k]:
                return False
            k += 1
    return True


@kernel
def take_state(template, message, start, tolerance):
    """Copy q and v; False where they have to be refused."""
    arrays = open_template(template.arrays)
    numbers, starts = arrays.state, arrays.quaternions
    state = bytes_at(numbers.ctypes.data, 8 * len(numbers))
    copy_bytes(message[start + template.q :], state[: 8 * template.nq])
    if template.v >= 0:
        copy_bytes(message[start + template.v :], state[8 * template.nq :])
    for k in range(len(numbers)):
        if not math.isfinite(numbers[k]):
            return False
    for k in range(len(starts)):
        square = 0.0
        for i in range(4):
            square += numbers[starts[k] + i] ** 2
        if not abs(math.sqrt(square) - 1.0) <= tolerance:
            return False
    return True


@kernel
def is_within_rate(inbox):
    """Count a request of whoever sent it; False where it has sent too many."""
    clients = carray(pointer(inbox.rate_clients), BUCKETS, np.uint64)
    full_at = carray(pointer(inbox.rate_full_at), BUCKETS, np.float64)
    client = client_number(inbox.rate_seed, open_inbox(inbox.arrays).route[: inbox.route_size])
    first = np.int64(client % np.uint64(BUCKETS))
    seconds = 1e-9 * now(carray(pointer(inbox.clock), 2, np.int64))
    return take_token(clients, full_at, first, client, seconds, inbox.rate_each)


@kernel
def compute(work, template):
    """Results into the template's arrays, and from there into its reply; False where they are not
    finite."""
    arrays = open_template(template.arrays)
    out = quantities_at(template.out, template.want, template.nv, len(arrays.frames))
    q, v = arrays.state[: template.nq], arrays.state[template.nq :]
    fill_quantities(work, q, v, template.want, arrays.frames, template.representation, out)
    for c in range(len(arrays.copies)):
        result, offset, size = arrays.copies[c, 0], arrays.copies[c, 1], arrays.copies[c, 2]
        begin = REST + offset
        copy_bytes(bytes_at(np.uint64(result), size), arrays.reply[begin : begin + size])
        if not all_finite(floats_at(np.uint64(result), size // 8)):
            return False
    return True


@kernel
def reply_to(template, message, width):
    """Put what goes before the rest in its place; where the reply begins in its buffer."""
    begin = REST - width - PREFIX
    head = open_template(template.arrays).reply
    copy_bytes(message, head[begin:REST])  # as in the request: protocol and id
    head[begin] = template.reply_first
    return begin


@kernel
def known_reply(work, inbox, templates):
    """The reply to a message that fits a template, its address and bytes; no bytes where none does,
    or where a refusal is needed."""
    arrays = open_inbox(inbox.arrays)
    message = arrays.data[: max(0, inbox.data_size)]
    nowhere = np.uint64(0)
    if len(message) < PREFIX + MAX_NUMBER:
        return nowhere, 0
    width = number_size(message[PREFIX])
    if width == 0:
        return nowhere, 0
    start = PREFIX + width
    for k in range(len(templates)):
        template = templates[k]
        if template.request_size > 0 and fits(template, message, start):
            if not is_within_rate(inbox):
                return nowhere, 0
            if not take_state(template, message, start, inbox.tolerance):
                return nowhere, 0
            if not compute(work, template):
                return nowhere, 0
            begin = reply_to(template, message, width)
            reply = open_template(template.arrays).reply[begin:]
            return np.uint64(reply.ctypes.data), REST - begin + template.reply_size
    return nowhere, 0


@kernel
def answered(work, inbox, templates):
    """Answer a message that fits a template; whether one did."""
    reply, size = known_reply(work, inbox, templates)
    if size == 0:
        return False
    return sent(inbox, open_inbox(inbox.arrays).route.ctypes.data, reply, size)


@kernel
def sent(inbox, route, reply, size):
    """Send a reply; False where its client does not take those before it, or is gone."""
    socket = pointer(inbox.socket)
    if _zmq_send(socket, pointer(route), np.uint64(inbox.route_size), SNDMORE | DONTWAIT) < 0:
        return False
    _zmq_send(socket, pointer(reply), np.uint64(size), DONTWAIT)  # the first part held its place
    return True


@kernel
def goes_on(inbox, arrays):
    """Whether the message has parts that have not been received; keeps the answer in `more`."""
    arrays.more[0], arrays.more[1] = 0, 4
    more, size = arrays.more[:1].ctypes.data, arrays.more[1:].ctypes.data
    _zmq_getsockopt(pointer(inbox.socket), RCVMORE, pointer(more), pointer(size))
    return arrays.more[0] != 0


@kernel
def take_message(inbox, arrays):
    """The first two parts of a message, and whether there are more; False without a message.

    Drops what is left of the message before; False, too, where that is very much.
    """
    dropped = 0
    while goes_on(inbox, arrays):
        if dropped == MAX_AT_ONCE:
            return False
        receive(inbox.socket, arrays.data.ctypes.data, 0)
        dropped += 1
    inbox.route_size = receive(inbox.socket, arrays.route.ctypes.data, len(arrays.route))
    if inbox.route_size < 0:
        return False
    inbox.data_size = receive(inbox.socket, arrays.data.ctypes.data, len(arrays.data))
    goes_on(inbox, arrays)
    return True


@entry(WORK, INBOXES, TEMPLATES)
def answer_known_requests(handle, inboxes, templates):
    """Answer known requests until another message comes (MESSAGE) or none for a while.

    Also comes back when something else that is waited for has come, and now and then. Poll items
    then tell what has.
    """
    work = open_work(handle)
    inbox = inboxes[0]
    arrays = open_inbox(inbox.arrays)
    items = arrays.items
    for _ in range(MAX_IN_A_ROW):
        ready = _zmq_poll(pointer(items.ctypes.data), len(items), inbox.timeout)
        if ready <= 0:
            return NOTHING
        for i in range(inbox.socket_count):
            k = (inbox.first + i) % inbox.socket_count
            if items[k].revents == 0:
                continue
            ready -= 1
            inbox.index, inbox.socket = k, items[k].socket
            if not take_message(inbox, arrays):
                continue
            if arrays.more[0] or not answered(work, inbox, templates):
                inbox.first = (k + 1) % inbox.socket_count
                return MESSAGE
            inbox.answered += 1
        if ready > 0:
            return NOTHING
    return NOTHING
