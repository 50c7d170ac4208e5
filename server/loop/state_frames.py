"""State frames of a session: received, checked, and how old they are. Compiled.

    bytes → is it the owner's → size and prefix → sequence → finite → quaternions → references in
    reach → stamp → encoders (sensor_checks.py) → state

A frame that fails is counted and leaves the state as it was.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from torqued.client.sessions.frames import PAYLOAD, STATE_HEAD
from torqued.common.status import INVALID, NONFINITE
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.references.follow import FROM_STATES
from torqued.kernels.control.references.given import TURN_TOLERANCE
from torqued.kernels.control.references.motions import JOINTS
from torqued.kernels.control.session_arrays import sizes_of
from torqued.kernels.input_checks import QUATERNION_TOLERANCE
from torqued.kernels.primitives.system_calls import now
from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.memory_frames import TORN, WHOLE, take_from_page
from torqued.server.loop.sensor_checks import fault_of_sensors
from torqued.server.loop.session_time import robot_time
from torqued.server.loop.zeromq_calls import has_more, receive

#: Frames read from one session in one tick: a flood cannot hold up the loop.
MAX_FRAMES = 64
#: The same for parts of messages. A frame has two with its sender's routing id; a message of
#: ZeroMQ may have millions.
MAX_PARTS = 2 * MAX_FRAMES
#: Bytes of a routing id.
MAX_ROUTE = 256
#: By how much the sender's clock may be slower than ours.
DRIFT = 5e-4
#: s by which a clock may differ from ours and still count as the same.
SAME_CLOCK = 60.0

#: Result of receiving a message.
NONE, FOREIGN, FRAME = 0, 1, 2
#: Numbers in the head of a state.
HEAD = STATE_HEAD.size // 8


@kernel
def next_message(session, more):
    """Receive one message. Returns (NONE, FOREIGN or FRAME, its bytes)."""
    if not drop_rest(session, more):
        return NONE, 0
    session.parts -= 2
    route_size = receive(session.socket, session.route, MAX_ROUTE)
    if route_size < 0:
        return NONE, 0
    kind = FRAME
    if route_size != session.owner_size:
        kind = FOREIGN
    else:
        route = carray(pointer(session.route), route_size, np.uint8)
        owner = carray(pointer(session.owner), route_size, np.uint8)
        for k in range(route_size):
            if route[k] != owner[k]:
                kind = FOREIGN
    size = receive(session.socket, session.receive, session.receive_size)
    if has_more(session.socket, more):  # a frame has one part
        session.unfinished = 1
        size = 0
    return kind, size


@kernel
def drop_rest(session, more):
    """Drop the rest of a message of many parts; whether all of it is dropped in this tick."""
    while session.unfinished and session.parts > 0:
        if has_more(session.socket, more):
            receive(session.socket, session.receive, session.receive_size)
            session.parts -= 1
        else:
            session.unfinished = 0
    return session.unfinished == 0


@kernel
def newest_state(session, control, data, loop):
    """Take the newest good state. Returns status bits."""
    control.elapsed = 0.0
    before = session.sequence, session.at, session.received
    status = receive_states(session, control, data, loop)
    if before[0] >= 0 and session.sequence != before[0]:
        since = loop.time - before[2]
        control.elapsed = robot_time(session, session.at - before[1], since, loop.period)
    return status | session.refusal


@kernel
def receive_states(session, control, data, loop):
    """Take the states that have come. Returns status bits."""
    status = 0
    if session.page != 0:
        found = take_from_page(session)
        if found == TORN:
            session.bad_states += 1
            status = INVALID
        elif found == WHOLE:
            status = take_state(session, control, data, loop)
        return status
    session.parts = MAX_PARTS
    while session.parts > 0:
        kind, size = next_message(session, loop.more)
        if kind == NONE:
            break
        if kind == FOREIGN:
            session.foreign += 1
        elif size != session.receive_size:
            session.bad_states += 1
            status = INVALID
        else:
            status = take_state(session, control, data, loop)
    return status


@kernel
def take_state(session, control, data, loop):
    """Check a frame of the right size; take it if it is good. Returns status bits.

    An old frame is ignored, and so is a copy of the newest: ZeroMQ can lose a state, and clients
    send it again. A newer one with impossible numbers is a fault of the robot's sensors: until a
    good one comes, the fallback acts.
    """
    start = carray(pointer(session.receive), 2, np.int64)  # prefix, sequence number
    if start[0] != session.prefix or start[1] < 0:
        session.bad_states += 1
        return INVALID
    if start[1] == session.seen:
        return 0
    if start[1] < session.seen:
        session.old_states += 1
        return INVALID
    session.seen = start[1]
    words = (session.receive_size - PAYLOAD) // 8 - 1
    values = carray(pointer(session.receive + np.uint64(PAYLOAD + 8)), words, np.float64)
    session.refusal = fault_of(values, data)
    if session.refusal == 0:
        session.refusal = fault_of_references(values, data, sizes_of(control))
    stamp, at, q = values[0], values[1], values[HEAD - 1 :]
    if session.sequence >= 0 and stamp < session.stamp:
        session.refusal |= INVALID
    if session.refusal == 0:
        session.refusal = fault_of_sensors(session, sizes_of(control), data, q, at, loop)
    if session.refusal:
        session.bad_states += 1
        return session.refusal
    compare_clocks(session, stamp, loop.time * 1e-9, now(loop.clock) * 1e-9)
    n, first = len(q) - len(data.command), 2 * sizes_of(control).virtual
    for k in range(n):
        data.state[first + k] = q[k]  # behind the state of a virtual robot
    if control.source == FROM_STATES:
        for k in range(len(data.command)):
            data.command[k] = q[n + k]
    session.stamp, session.at = stamp, at
    session.sequence, session.received = start[1], loop.time
    session.states += 1
    return 0


@kernel
def fault_of(values, data):
    """Faults in the numbers of a state, as status bits.

    A reference may be NaN as a whole: not given.
    """
    first = len(values) - len(data.command)
    # Without early exits the compiler vectorizes these loops.
    nothing, wrong = 0.0, False
    for k in range(first):
        nothing += 0.0 * values[k]  # NaN where one of them is infinite or NaN
    for k in range(len(data.command)):
        wrong |= math.isinf(values[first + k])
    for k in range(1, len(data.command)):
        differs = math.isnan(values[first + k]) != math.isnan(values[first + k - 1])
        wrong |= differs & (data.reference[k] == data.reference[k - 1])
    if wrong or nothing != 0.0:
        return NONFINITE
    for k in range(len(data.quaternions)):
        i = HEAD - 1 + data.quaternions[k]
        size = values[i] ** 2 + values[i + 1] ** 2 + values[i + 2] ** 2 + values[i + 3] ** 2
        if not abs(math.sqrt(size) - 1.0) <= QUATERNION_TOLERANCE:
            return INVALID
    return 0


@kernel
def fault_of_references(values, data, sizes):
    """The same of references that are given: poses that are none, or far beyond reach."""
    first = len(values) - len(data.command)
    for k in range(len(data.motions)):
        motion = data.motions[k]
        if motion.kind != JOINTS and motion.position >= 0:
            away = 0.0
            for i in range(3):
                floats = sizes.unactuated > 0 and motion.relative == 0
                base = values[HEAD - 1 + i] if floats else 0.0
                away += (values[first + motion.position + i] - base) ** 2
            if math.sqrt(away) > motion.reach:  # not where it is NaN: not given
                return INVALID
        if motion.orientation >= 0:
            size = 0.0
            for i in range(4):
                size += values[first + motion.orientation + i] ** 2
            if abs(math.sqrt(size) - 1.0) > TURN_TOLERANCE:
                return INVALID
    return 0


@kernel
def compare_clocks(session, stamp, time, receipt):
    """Estimate the offset of the sender's clock, from a state that was received at `receipt` in
    the tick that began at `time`.

    With the same clock ages are exact. Otherwise the state that came fastest so far counts as
    immediate.
    """
    difference, is_first = time - stamp, session.sequence < 0
    if is_first and not 0.0 <= receipt - stamp < SAME_CLOCK:
        session.same_clock = 0
    was_exact = session.same_clock != 0 and session.offset == 0.0
    if session.same_clock != 0 and stamp <= receipt:
        session.offset = 0.0
    elif is_first or was_exact:  # another clock, or measured in our future
        session.offset = difference
    else:
        slower = session.offset + DRIFT * (stamp - session.stamp)
        session.offset = min(slower, difference)


@kernel
def age_of(session, time):
    """ns, of the newest state at a time in ns.

    Whatever its stamp is, a state is at least as old as the time since it came. In lock step the
    robot waits for its torque: no state is old.
    """
    if session.lock_step != 0:
        return np.int64(0)
    measured = np.int64(max(0.0, time * 1e-9 - session.stamp - session.offset) * 1e9)
    return max(measured, time - session.received)
