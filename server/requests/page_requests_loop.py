"""Requests through shared memory: known ones answered without the interpreter.

client/request_channel.py has the page. As for requests over sockets, templates say which are known
(fast_path_loop.py); any other goes to Python.
"""

from __future__ import annotations

import numpy as np
from numba import carray, typeof

from torqued.client.page_layout import (
    CLIENT_SLEEPS,
    COUNT_MASK,
    DAEMON_SLEEPS,
    LOCK_BYTES,
    MAX_REQUEST,
    OUTPUTS,
    SIZE,
    SLOTS,
    STATES,
)
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.primitives.atomics import (
    fence,
    load_long,
    load_word,
    store_long,
    store_word,
)
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.system_calls import give_way, now, sleep_on, wake_sleeper
from torqued.kernels.primitives.workspace import open_work, pointer
from torqued.server.loop.memory_frames import copy_frame
from torqued.server.requests.fast_path_loop import (
    INBOXES,
    MESSAGE,
    NOTHING,
    TEMPLATES,
    known_reply,
    open_inbox,
)

#: ns between looks whether the page has been given up.
LOOK = 20_000_000

#: A page, as the thread that answers sees it. Sizes and places are bytes.
PAGE = np.dtype(
    [
        ("running", "i8"),  # Python sets 0 to have the thread come back
        ("address", "u8"),
        ("requests", "i8"),  # where their slots begin
        ("request_slot", "i8"),
        ("replies", "i8"),
        ("reply_slot", "i8"),
        ("taken", "i8"),  # count of requests when they were last looked at
        ("sent", "i8"),  # replies written so far
        ("spin", "i8"),  # ns that a request is watched for before the thread sleeps
        ("spun", "i8"),  # ns that it has been
        ("garbage", "i8"),  # requests that were none
    ],
    align=True,
)
PAGES = typeof(np.zeros(1, PAGE).view(np.recarray))


@kernel
def slot_of(page, first, size, count):
    return page.address + np.uint64(first + (count % SLOTS) * size)


@kernel
def take_request(page, data):
    """Copy the newest request; its bytes, or -1 where it is none."""
    count = np.int64(load_word(page.address + np.uint64(STATES)))
    page.taken = count
    slot = slot_of(page, page.requests, page.request_slot, count)
    whole = np.uint64(2 * count)
    if load_long(slot) != whole:
        return -1
    size = load_long(slot + np.uint64(LOCK_BYTES))
    if size > np.uint64(MAX_REQUEST):
        return -1
    begin = slot + np.uint64(LOCK_BYTES + SIZE)
    words = (np.int64(size) + 7) // 8  # slots are whole words, and so is what it is copied into
    copy_frame(begin, data.ctypes.data, 8 * words)
    fence()
    if load_long(slot) != whole:
        return -1
    return np.int64(size)


@kernel
def put_reply(page, reply, size):
    """Write a reply of so many bytes, and wake the client where it sleeps."""
    count = (page.sent + 1) & COUNT_MASK
    slot = slot_of(page, page.replies, page.reply_slot, count)
    store_long(slot, np.uint64(2 * count + 1))
    fence()
    store_long(slot + np.uint64(LOCK_BYTES), np.uint64(size))
    source = carray(pointer(reply), size, np.uint8)
    target = carray(pointer(slot + np.uint64(LOCK_BYTES + SIZE)), size, np.uint8)
    for k in range(size):
        target[k] = source[k]
    store_long(slot, np.uint64(2 * count))
    store_word(page.address + np.uint64(OUTPUTS), np.uint32(count))
    page.sent = count
    fence()  # either we see that the client sleeps, or it sees this reply before it does
    if load_word(page.address + np.uint64(CLIENT_SLEEPS)) != 0:
        wake_sleeper(page.address + np.uint64(OUTPUTS))


@kernel
def has_request(page):
    return np.int64(load_word(page.address + np.uint64(STATES))) != page.taken


@kernel
def wait_for_request(page, clock):
    """Until there is a request, or LOOK is over; may return early."""
    begin = now(clock)
    time = begin
    while time - begin < page.spin and not has_request(page):
        give_way()
        time = now(clock)
    page.spun += time - begin if page.spin > 0 else 0
    sleeps = page.address + np.uint64(DAEMON_SLEEPS)
    store_word(sleeps, np.uint32(1))
    fence()  # either the client sees this, or we see its request
    if not has_request(page):
        sleep_on(page.address + np.uint64(STATES), page.taken, LOOK, clock)
    store_word(sleeps, np.uint32(0))


@entry(WORK, INBOXES, TEMPLATES, PAGES)
def answer_page_requests(handle, inboxes, templates, pages):
    """Answer known requests of one page until another one comes (MESSAGE), or until told to stop.

    A request that is not known is left in the inbox's `data`.
    """
    work = open_work(handle)
    inbox, page = inboxes[0], pages[0]
    data = open_inbox(inbox.arrays).data
    clock = carray(pointer(inbox.clock), 2, np.int64)
    while page.running:
        if not has_request(page):
            wait_for_request(page, clock)
            continue
        inbox.data_size = take_request(page, data)
        if inbox.data_size < 0:
            page.garbage += 1  # nobody can tell what its reply would be
            continue
        reply, size = known_reply(work, inbox, templates)
        if size == 0:
            return MESSAGE
        put_reply(page, reply, size)
        inbox.answered += 1
    return NOTHING
