"""One session, served tick by tick by the daemon's compiled code, on a clock that a script sets.

There are no sockets, threads or waits: states lie in a page in this process, outputs are read from
it, and orders are written into the session's record as the request thread writes them.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from torqued.client.memory.page_layout import LOCK_BYTES, OUTPUTS, SLOTS, STATES, PageLayout
from torqued.client.sessions.frames import OUTPUT_FIELDS, OUTPUT_HEAD, PAYLOAD, STATE_HEAD
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.gains import pack
from torqued.kernels.control.payload import ask_for
from torqued.kernels.primitives.workspace import LoopWorkspace
from torqued.server.loop.frame_layout import frame_buffer
from torqued.server.loop.links import Link
from torqued.server.loop.loop_records import COUNTERS, shared_memory
from torqued.server.loop.servo_loop import run_servo  # noqa: F401  (compiled by its name)
from torqued.server.loop.session import Safety, Session, fill_record
from torqued.server.loop.session_modes import Event, Mode
from torqued.server.loop.session_states import OPEN
from torqued.server.loop.session_tick import serve_session  # noqa: F401  (likewise)
from torqued.server.observation.layout import HEADER, HEADER_BYTES, TICK_HEAD, padded

PERIOD = 1_000_000  # ns
BEGIN = 1_000_000_000_000  # ns
LATE = 50_000  # ns by which each tick begins after its deadline
#: ns of computing that no tick takes.
AMPLE = 10**12
RING_BYTES = 1 << 20
SAFETY = {"stale_after": 0.003, "hold": 0.005, "fade": 0.01}

#: The head of an output but for `compute`, which is measured, and `reason`; as whole numbers and as
#: times.
HEAD = np.dtype(
    [(name, {"u64": "u8", "i64": "i8", "f64": "f8"}[k]) for name, k, _ in OUTPUT_FIELDS]
)
WHOLE = tuple(name for name, kind, _ in OUTPUT_FIELDS if kind != "f64" and name != "reason")
TIMES = tuple(name for name, kind, _ in OUTPUT_FIELDS if kind == "f64" and name != "compute")


class Tick(NamedTuple):
    """What a tick gave."""

    whole: list[int]  # the head's whole numbers, the mode, the ring's bits, counters
    numbers: np.ndarray  # the head's times, the movement's, outputs, references in effect
    status: int
    reason: int
    mode: Mode
    tau: np.ndarray


class ScriptedSession:
    """A session of one law; `safety` in place of SAFETY."""

    def __init__(self, robot, law, safety=None, clock="loop", **options):
        self.robot, self.controller = robot, Controller(robot, law, **options)
        self.data = self.controller.data
        # A solver has its fewest iterations: how many more fit depends on the machine's own clock.
        self.controller.record[0].iteration_time = np.inf
        receive = frame_buffer(STATE_HEAD.size + 8 * self.controller.state_numbers)
        send = frame_buffer(OUTPUT_HEAD.size + 8 * len(self.data.out))
        layout = PageLayout.of(len(receive), len(send))
        self._page = np.zeros(layout.page_bytes, np.uint8)
        self._layout = layout
        self._state = receive.copy()
        transport = SimpleNamespace(same_clock=False)
        self.session = Session(
            number=7,
            slot=0,
            opened=0,
            endpoint="",
            caller=SimpleNamespace(transport=transport),
            socket=None,
            page=SimpleNamespace(address=self._page.ctypes.data, layout=layout),
            link=Link("memory", clock),
            arrivals=None,
            controller=self.controller,
            safety=Safety(**(SAFETY | (safety or {}))),
            delay=0.0,
            cost=0.0,
            share=AMPLE,
            owner=np.zeros(1, np.uint8),
            receive=receive,
            send=send,
        )
        self.shared = shared_memory(PERIOD)
        self.loop, self.record = self.shared.loop[0], self.shared.sessions[0]
        self._ring = np.zeros(HEADER_BYTES + RING_BYTES, np.uint8)
        self._header = self._ring[:HEADER_BYTES].view(HEADER).view(np.recarray)[0]
        self._header.capacity = RING_BYTES
        fill_record(self.record, self.session, self._ring.ctypes.data)
        self.record.state = OPEN
        workspace = LoopWorkspace(robot.model.world, robot.model.bodies.copy())
        self._workspace, self._handle = workspace, workspace.claim()
        self.sent = 0  # states so far
        self.rng = np.random.default_rng(5)
        self.q, self.v = robot.neutral(), np.zeros(robot.nv)
        self.direction = self.rng.uniform(-0.5, 0.5, robot.nv)
        if robot.model.base == "floating":
            self.direction[:6] = 0.0
        self.ticks: list[Tick] = []

    # What the client does.

    def move_robot(self, steps=1):
        """Joints go on evenly; v says so."""
        first = self.robot.nq - self.robot.nv
        moving = self.direction != 0.0
        self.v = self.direction.copy()
        joints = self.q[first:] + steps * 1e-3 * self.direction
        self.q[first:][moving] = joints[moving]

    def state(self, references=None, sequence=None, later=0.0, q=None, v=None, tear=False, at=None):
        """Write a state measured now, `at` s; NaN in all references that are not given by name."""
        self.sent += 1
        sequence = self.sent if sequence is None else sequence
        stamp = (BEGIN + self.loop.tick * PERIOD) * 1e-9 + later
        given = references or {}
        values = [np.asarray(self.q if q is None else q), np.asarray(self.v if v is None else v)]
        for name, shape in self.controller.measured.items():
            values.append(np.resize(self.q if name == "motor_q" else self.v, shape))
        for name, value in self.controller.references.items():
            values.append(np.broadcast_to(given.get(name, np.nan), value.shape).ravel())
        payload = self._state[PAYLOAD:]
        payload[: STATE_HEAD.size] = np.frombuffer(
            STATE_HEAD.pack(sequence % 2**64, stamp, stamp if at is None else at), np.uint8
        )
        payload[STATE_HEAD.size :].view(np.float64)[:] = np.concatenate(values)
        words = self._page.view(np.uint32)
        count = int(words[STATES // 4]) + 1
        slot = self._layout.states + count % SLOTS * self._layout.state_slot
        frame = slot + LOCK_BYTES
        self._page[frame : frame + len(self._state)] = self._state
        self._page[slot : slot + 8].view(np.uint64)[0] = 2 * count + (1 if tear else 0)
        words[STATES // 4] = count

    # What others do.

    def order(self, kind, ordered=None, seconds=0.0):
        if ordered is not None:
            self.data.ordered[:] = self.target(ordered)
        self.record.order, self.record.order_seconds = kind, seconds
        self.record.order_number += 1

    def target(self, offset):
        """References that are `offset` away from those in effect, all NaN but positions."""
        n = len(self.data.command)
        out = np.full(n, np.nan)
        effect = self.data.state[len(self.data.state) - n :]
        for motion in self.data.motions:
            if motion.position >= 0:
                width = self.robot.nq if motion.kind == 0 else 3
                place = slice(int(motion.position), int(motion.position) + width)
                out[place] = effect[place]
                out[place][-1] += offset
        return out

    def hold(self):
        self.order(Event.HOLD)

    def move(self, offset, seconds):
        self.order(Event.MOVE, offset, seconds)

    def command(self, offset):
        self.order(Event.COMMAND, offset)

    def resume(self):
        self.order(Event.RESUME)

    def halt(self):
        self.record.halt_requested = 1

    def stop(self):
        self.loop.stop_requested = 1

    def recover(self):
        self.loop.stop_requested = 0

    def lease(self, seconds):
        self.record.lease_deadline = BEGIN + self.loop.tick * PERIOD + round(1e9 * seconds)

    def tune(self, factor, ticks):
        self.data.wanted[:] = factor * pack(self.controller.gains)
        self.record.wanted_ramp = ticks
        self.record.tuning += 1

    def carry(self, mass, ticks):
        frame = self.robot.frame_names[-1]
        payload = self.controller.payload
        ask_for(payload.changed({"frame": frame, "mass": mass}), payload, self.data, ticks)

    def use_up_time(self):
        """From now on the session has no time to compute."""
        self.record.credit = -100 * AMPLE
        self.record.share = 1

    def give_time(self):
        self.record.credit, self.record.share = 0, AMPLE

    # Time.

    def tick(self, count=1, late=LATE):
        """Serve the session at so many deadlines, `late` ns after each; the last of the ticks."""
        for _ in range(count):
            self.serve(late)
            self.ticks.append(self._taken())
        return self.ticks[-1]

    def serve(self, late=LATE):
        """One tick, whether it has an output or not."""
        self.loop.deadline = BEGIN + self.loop.tick * PERIOD
        self.loop.time = self.loop.deadline + late
        session = self.shared.sessions.ctypes.data
        COMPILED.serve_session(self._handle, self.shared.loop.ctypes.data, session)
        self.loop.tick += 1

    @property
    def outputs(self):
        """How many there have been."""
        return int(self._page.view(np.uint32)[OUTPUTS // 4])

    def states(self, count, references=None):
        """So many ticks, each with a state."""
        for _ in range(count):
            self.move_robot()
            self.state(references)
            self.tick()
        return self.ticks[-1]

    def close(self):
        """The loop ends: a last frame, at a time that it reads itself."""
        self.run_loop()
        self.ticks.append(self._taken(clock=False))
        return self.ticks[-1]

    def run_loop(self):
        """The loop, which ends before its first tick."""
        self.loop.running = 0
        COMPILED.run_servo(self._handle, self.shared)

    def _taken(self, clock=True):
        count = self.outputs
        slot = self._layout.outputs + count % SLOTS * self._layout.output_slot
        assert self._page[slot : slot + 8].view(np.uint64)[0] == 2 * count
        frame = self._page[slot + LOCK_BYTES :][: len(self.session.send)]
        head = frame[PAYLOAD:][: HEAD.itemsize].view(HEAD)[0]
        values = frame[PAYLOAD + HEAD.itemsize :].view(np.float64).copy()
        ring = self._recorded()
        assert ring.status == head["status"] and ring.sequence == head["sequence"]
        mode = Mode(self.record.mode)
        whole = [int(head[name]) for name in WHOLE]
        whole += [int(mode), int(ring.mode), int(ring.allowed)]
        whole += [int(self.record[name]) for name in COUNTERS]
        control = self.controller.record[0]
        times = [float(head[name]) for name in TIMES]
        if not clock:
            times[TIMES.index("time")] = 0.0
        references = self.data.state[len(self.data.state) - len(self.data.command) :]
        moving = [ring.elapsed, control.move_time, control.move_seconds]
        numbers = np.concatenate([times, moving, values, references])
        tau = values[: len(self.data.effort)]
        return Tick(whole, numbers, int(head["status"]), int(head["reason"]), mode, tau)

    def _recorded(self):
        size = padded(TICK_HEAD.itemsize + 8 * (len(self.data.state) + len(self.data.out)))
        at = HEADER_BYTES + (int(self._header.written) - size) % RING_BYTES
        return self._ring[at : at + TICK_HEAD.itemsize].view(TICK_HEAD).view(np.recarray)[0]
