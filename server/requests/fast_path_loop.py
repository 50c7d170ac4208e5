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
from typing import Any

import numpy as np
from numba import carray, typeof, types

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.selected_quantities import Quantities, fill_quantities
from torqued.kernels.primitives.layout import FRAME, WORK
from torqued.kernels.primitives.workspace import open_work, pointer
from torqued.server.access.rate_limits import BUCKETS, client_number, take_token
from torqued.server.loop.syscalls import now, receive

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
LONGEST_NUMBER = 9  # bytes of an id
REST = 32  # where the rest of a reply begins in its buffer; what goes before ends there
MOST_IN_A_ROW = 1000  # requests, before Python may look after other things
LONGEST_ROUTE = 256  # bytes; ZeroMQ's identities have at most 255

#: How a wait ended.
NOTHING, MESSAGE = 0, 1

#: `zmq_pollitem_t`.
POLL_ITEM = np.dtype([("socket", "u8"), ("fd", "i4"), ("events", "i2"), ("revents", "i2")])

#: A request that is known, and how to answer it. Addresses are u8, sizes and offsets i8 bytes.
TEMPLATE = np.dtype(
    [
        ("request", "u8"),  # its first 14 bytes, then its rest
        ("request_size", "i8"),  # of the rest
        ("q", "i8"),  # offset in the rest of the numbers in q
        ("v", "i8"),  # the same for v, -1 where there is none
        ("state", "u8"),  # q and v for the kernel
        ("nq", "i8"),
        ("nv", "i8"),
        ("quaternions", "u8"),  # where they begin in q
        ("quaternion_count", "i8"),
        ("want", "i8"),
        ("frames", "u8"),
        ("frame_count", "i8"),
        ("representation", "i8"),
        ("out", "u8", (12,)),  # the arrays of `Quantities`
        ("reply", "u8"),  # buffer: the rest from byte 32 on
        ("reply_first", "i8"),  # byte: a map with so many members
        ("reply_size", "i8"),  # of the rest
        ("copies", "u8"),  # address of a result, offset in the rest, bytes; and so on
        ("copy_count", "i8"),
    ],
    align=True,
)

DESK = np.dtype(
    [
        ("items", "u8"),  # poll items: sockets for requests, then whatever else is waited for
        ("item_count", "i8"),
        ("socket_count", "i8"),  # for requests
        ("index", "i8"),  # of the one that had a message
        ("socket", "u8"),  # and its address
        ("timeout", "i8"),  # ms
        ("route", "u8"),  # buffer for a message's first part
        ("route_size", "i8"),
        ("data", "u8"),  # buffer for its second part
        ("data_size", "i8"),
        ("capacity", "i8"),
        ("more", "i8"),  # whether there are more parts
        ("more_size", "i8"),
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

DESKS = typeof(np.zeros(1, DESK).view(np.recarray))
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
    known = bytes_at(template.request, PREFIX + template.request_size)
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
    n = template.nq + template.nv
    state = bytes_at(template.state, 8 * n)
    copy_bytes(message[start + template.q :], state[: 8 * template.nq])
    if template.v >= 0:
        copy_bytes(message[start + template.v :], state[8 * template.nq :])
    numbers = floats_at(template.state, n)
    for k in range(n):
        if not math.isfinite(numbers[k]):
            return False
    starts = carray(pointer(template.quaternions), template.quaternion_count, np.int64)
    for k in range(len(starts)):
        square = 0.0
        for i in range(4):
            square += numbers[starts[k] + i] ** 2
        if not abs(math.sqrt(square) - 1.0) <= tolerance:
            return False
    return True


@kernel
def is_within_rate(desk):
    """Count a request of whoever sent it; False where it has sent too many."""
    clients = carray(pointer(desk.rate_clients), BUCKETS, np.uint64)
    full_at = carray(pointer(desk.rate_full_at), BUCKETS, np.float64)
    client = client_number(desk.rate_seed, bytes_at(desk.route, desk.route_size))
    first = np.int64(client % np.uint64(BUCKETS))
    seconds = 1e-9 * now(carray(pointer(desk.clock), 2, np.int64))
    return take_token(clients, full_at, first, client, seconds, desk.rate_each)


@kernel
def compute(work, template):
    """Results into the template's arrays, and from there into its reply; False where they are not
    finite."""
    n, k, at = template.nv, template.frame_count, template.out
    out = Quantities(
        floats_at(at[0], (n, n)),
        floats_at(at[1], (n, n)),
        floats_at(at[2], (n, n)),
        floats_at(at[3], (n, n, n)),
        floats_at(at[4], n),
        floats_at(at[5], n),
        floats_at(at[6], 2),
        floats_at(at[7], 3),
        floats_at(at[8], 6),
        floats_at(at[9], (k, 6, n)),
        floats_at(at[10], (k, 6)),
        floats_at(at[11], (k, 4, 4)),
    )
    state = floats_at(template.state, template.nq + template.nv)
    q, v = state[: template.nq], state[template.nq :]
    frames = carray(pointer(template.frames), k, FRAME)
    fill_quantities(work, q, v, template.want, frames, template.representation, out)
    copies = carray(pointer(template.copies), (template.copy_count, 3), np.int64)
    for c in range(len(copies)):
        size = copies[c, 2]
        target = bytes_at(template.reply + np.uint64(REST + copies[c, 1]), size)
        copy_bytes(bytes_at(np.uint64(copies[c, 0]), size), target)
        if not all_finite(floats_at(np.uint64(copies[c, 0]), size // 8)):
            return False
    return True


@kernel
def reply_to(template, message, width):
    """Put what goes before the rest in its place; where the reply begins in its buffer."""
    begin = REST - width - PREFIX
    head = bytes_at(template.reply, REST)
    copy_bytes(message, head[begin:])  # as in the request: protocol and id
    head[begin] = template.reply_first
    return begin


@kernel
def answered(work, desk, templates):
    """Answer a message that fits a template; whether one did."""
    message = bytes_at(desk.data, desk.data_size)
    if len(message) < PREFIX + LONGEST_NUMBER:
        return False
    width = number_size(message[PREFIX])
    if width == 0:
        return False
    start = PREFIX + width
    for k in range(len(templates)):
        template = templates[k]
        if template.request_size > 0 and fits(template, message, start):
            if not is_within_rate(desk):
                return False
            if not take_state(template, message, start, desk.tolerance):
                return False
            if not compute(work, template):
                return False
            begin = reply_to(template, message, width)
            return sent(desk, template.reply + np.uint64(begin), REST - begin + template.reply_size)
    return False


@kernel
def sent(desk, reply, size):
    """Send a reply; False where its client does not take those before it, or is gone."""
    socket = pointer(desk.socket)
    route = pointer(desk.route)
    if _zmq_send(socket, route, np.uint64(desk.route_size), SNDMORE | DONTWAIT) < 0:
        return False
    _zmq_send(socket, pointer(reply), np.uint64(size), DONTWAIT)  # the first part held its place
    return True


@kernel
def take_message(desk, address):
    """The first two parts of a message, and whether there are more; False without a message."""
    desk.route_size = receive(desk.socket, desk.route, LONGEST_ROUTE)
    if desk.route_size < 0:
        return False
    desk.data_size = receive(desk.socket, desk.data, desk.capacity)
    desk.more, desk.more_size = 0, 4
    more, size = pointer(np.uint64(address)), pointer(np.uint64(address + 8))
    _zmq_getsockopt(pointer(desk.socket), RCVMORE, more, size)
    return True


@entry(WORK, DESKS, TEMPLATES, types.int64)
def answer_known_requests(handle, desks, templates, address):
    """Answer known requests until another message comes (MESSAGE) or none for a while.

    Also comes back when something else that is waited for has come, and now and then. Poll items
    then tell what has. `address` is that of the desk's field `more`.
    """
    work = open_work(handle)
    desk = desks[0]
    items = carray(pointer(desk.items), desk.item_count, POLL_ITEM)
    for _ in range(MOST_IN_A_ROW):
        ready = _zmq_poll(pointer(desk.items), desk.item_count, desk.timeout)
        if ready <= 0:
            return NOTHING
        for i in range(desk.socket_count):
            k = (desk.first + i) % desk.socket_count
            if items[k].revents == 0:
                continue
            ready -= 1
            desk.index, desk.socket = k, items[k].socket
            if not take_message(desk, address):
                continue
            if desk.more or not answered(work, desk, templates):
                desk.first = (k + 1) % desk.socket_count
                return MESSAGE
            desk.answered += 1
        if ready > 0:
            return NOTHING
    return NOTHING
