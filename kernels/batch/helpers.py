"""What threads do that help with a batch: they sleep, compute and end without the interpreter. The
caller's thread has that meanwhile. Compiled; team.py has the threads.

    idle ──call──▸ called ──post──▸ posted ──▸ taken ──▸ idle
      ▴              │                 │
      ╰──(too long)──┴──(called off)───╯         any but taken ──▸ leaving

A helper is called when a batch comes in: it wakes up while the caller's thread looks at the
arguments, which takes as long. Then a job is posted. Whoever has not taken it by the time that all
states are, is called off: nobody waits for a thread that found no processor, nor for one that a
fork has left behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from torqued.kernels.batch.sharing import window_end
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.primitives.atomics import load_long, load_word, store_word, swap_word
from torqued.kernels.primitives.layout import INTEGER
from torqued.kernels.primitives.system_calls import (
    FOREVER,
    give_way,
    now,
    sleep_on,
    wake_sleeper,
)
from torqued.kernels.primitives.workspace import pointer

IDLE, CALLED, POSTED, TAKEN, LEAVING = (np.uint32(k) for k in range(5))

#: ns that a helper who was called watches for a job, and the caller for the end of a helper's last
#: states, before they sleep.
MAX_WATCH = 200_000

#: One helper's. The first word is its state; no two helpers share a line of the cache.
SEAT = np.dtype(
    [
        ("state", "u4"),
        ("given_up", "i8"),  # the state that it gave up at, -1 for none
        ("handle", "i8"),  # its workspace
        ("function", "i8"),  # address of the entry
        ("job", "i8"),
        ("counter", "i8"),  # address of the count of states that are taken
        ("count", "i8"),  # of all states
        ("clock", "i8", (2,)),  # for answers of the system
        ("caller_clock", "i8", (2,)),
        ("spare", "i8", (5,)),
    ],
    align=True,
)
SEAT_BYTES = SEAT.itemsize


@intrinsic
def call_entry(
    typing: Any,
    function: Any,
    handle: Any,
    job: Any,
    first: Any,
    last: Any,
    counter: Any,
    stop: Any,
) -> Any:
    """Call an entry of a batch at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 6).as_pointer()
        return builder.call(builder.inttoptr(args[0], kind), args[1:])

    return types.int64(types.int64, *(types.int64,) * 6), generate


@kernel
def seat_at(address):
    return carray(pointer(address), 1, SEAT)[0]


@entry(INTEGER)
def help_with_batches(address):
    """What a helper does until it is told to leave."""
    seat = seat_at(address)
    while True:
        state = load_word(address)
        if state == IDLE:
            sleep_on(address, np.int64(IDLE), FOREVER, seat.clock)
        elif state == CALLED:
            watch_for_job(address, seat)
        elif state == POSTED:
            if swap_word(address, POSTED, TAKEN) == POSTED:
                seat.given_up = take_part(seat)
                store_word(address, IDLE)
                wake_sleeper(address)
        else:
            return


@kernel
def watch_for_job(address, seat):
    until = now(seat.clock) + MAX_WATCH
    while load_word(address) == CALLED:
        if now(seat.clock) > until:
            swap_word(address, CALLED, IDLE)
            return
        give_way()


@kernel
def take_part(seat):
    """Compute until all states are taken; the state that the entry gives up at, or -1."""
    taken = np.int64(load_long(seat.counter))
    while taken < seat.count:
        stop = window_end(taken, seat.count)
        given_up = call_entry(seat.function, seat.handle, seat.job, 0, 0, seat.counter, stop)
        if given_up >= 0:
            return given_up
        taken = np.int64(load_long(seat.counter))
    return -1


@entry(INTEGER, INTEGER)
def call_helpers(first, count):
    """Wake so many, from the first seat's address on: there will be a job."""
    for k in range(count):
        address = first + k * SEAT_BYTES
        if swap_word(address, IDLE, CALLED) == IDLE:
            wake_sleeper(address)


@entry(INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER)
def post_job(first, seats, function, job, counter, count):
    """A job for so many helpers."""
    for k in range(seats):
        address = first + k * SEAT_BYTES
        seat = seat_at(address)
        seat.function, seat.job, seat.counter, seat.count = function, job, counter, count
        seat.given_up = -1
        if swap_word(address, CALLED, POSTED) != CALLED:
            swap_word(address, IDLE, POSTED)
            wake_sleeper(address)


@entry(INTEGER, INTEGER)
def settle_job(first, seats):
    """Call off who has not begun, and wait for who has. How many have given up at some state."""
    given_up = 0
    for k in range(seats):
        address = first + k * SEAT_BYTES
        seat = seat_at(address)
        if swap_word(address, POSTED, IDLE) == POSTED:
            continue
        until = now(seat.caller_clock) + MAX_WATCH
        while load_word(address) == TAKEN:
            if now(seat.caller_clock) < until:
                give_way()
            else:
                sleep_on(address, np.int64(TAKEN), FOREVER, seat.caller_clock)
        if seat.given_up >= 0:
            given_up += 1
    return given_up


@entry(INTEGER, INTEGER)
def dismiss_helpers(first, seats):
    """Have all of them leave. None has a job."""
    for k in range(seats):
        address = first + k * SEAT_BYTES
        store_word(address, LEAVING)
        wake_sleeper(address)
