"""`Controller`: any law in this process, and the basis of sessions with the loop.

controller = Controller(robot, "passivity", gains={"bandwidth": 15.0})
tau = controller.torque(q, v, q_ref=q_ref, v_ref=v_ref).tau
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.common.status import NONFINITE, status_names
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import address_of
from torqued.kernels.control import evaluation, oscillation  # noqa: F401  (register entries)
from torqued.kernels.control.control_record import CONTROL
from torqued.kernels.control.friction import Friction
from torqued.kernels.control.gains import pack
from torqued.kernels.control.integral import Integral
from torqued.kernels.control.joint_limits import joint_limits, turns
from torqued.kernels.control.law import Array, Gains, Shape
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.observer import observer_array, observer_outputs
from torqued.kernels.control.options import low_pass, require_known, torque_limits
from torqued.kernels.control.payload import Payload, fill_bare, start_with
from torqued.kernels.control.references import follow  # noqa: F401  (registers an entry)
from torqued.kernels.control.references.given import MOMENTARY, checked_reference
from torqued.kernels.control.references.limits import fill_reference_limits
from torqued.kernels.control.references.motions import (
    JOINTS,
    fill_motions,
    joint_motions,
    motion_words,
)
from torqued.kernels.control.references.via_points import MAX_KNOTS
from torqued.kernels.control.session_arrays import SESSION, Sizes
from torqued.kernels.control.springs import MEASURED as MEASURED_MOTORS
from torqued.kernels.control.stability import (
    DEFAULT_DELAY,
    Stability,
    checked_delay,
    require_stable,
)
from torqued.kernels.control.steps import fill_steps
from torqued.kernels.control.virtual_robot import admittance
from torqued.kernels.control.wall_options import parse_walls
from torqued.kernels.input_checks import choice, mapping, number, numbers
from torqued.kernels.primitives.no_copies import refuse_copy
from torqued.kernels.primitives.workspace import Workspace
from torqued.kernels.result_checks import alone, not_finite

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Controller:
    """A law for a robot: its arrays, laid out for compiled code, and its state of memory."""

    def __init__(self, robot: Robot, law: str, **fields: Any) -> None:
        self.robot, self.name = robot, choice("law", law, LAWS)
        self.law, self.fields, self.users = LAWS[self.name], fields, robot.users
        require_known(law, fields)
        if self.law.is_torque and robot.nv == 0:
            message = f"robot {robot.name!r} has no moving joints: there is no torque to control"
            raise InputError(message, "law", law)
        mapping(fields, "gains")
        prepared = self.law.prepare(robot, fields)
        self.prepared = prepared
        self.gains = prepared.gains  # those in effect, by name
        self.overridden = ""  # why gains in use would be refused
        given = prepared.motions
        self.motions = joint_motions(prepared.references) if given is None else given
        self.references = self._not_given(prepared.references)
        self.outputs: dict[str, Shape] = dict(prepared.outputs)
        self.measured: dict[str, Shape] = (  # what a state has beside q and v, and has to have
            dict.fromkeys(MEASURED_MOTORS, (robot.nv,))
            if len(prepared.springs)
            else prepared.measured
        )
        self.admittance = admittance(robot, self.name, fields, prepared)
        follows = self.admittance
        if follows:
            self.measured = follows.measured
            self.outputs |= {"q_command": (robot.nv,), "v_command": (robot.nv,)}
        self.payload = Payload(robot.model, fields.get("payload"))
        self.friction, self.integral = self._disturbances(fields)
        wanted = fields.get("observer")
        if (len(self.integral.limit) or prepared.observes) and not wanted:
            wanted = True  # they go by the observer's residual
        observer = observer_array(robot, wanted, len(self.friction.viscous) > 0)
        if len(observer):
            self.outputs |= observer_outputs(robot)
        packed = pack(prepared.gains)
        references = sum(value.size for value in self.references.values())
        has_walls, planes = parse_walls(robot, fields.get("walls"))
        sizes = Sizes(
            robot.nq,
            robot.nv,
            robot.nq_free,
            robot.nv_free,
            torques=robot.nv if self.law.is_torque else 0,
            unactuated=6 if robot.model.base == "floating" else 0,
            state=self.first_reference + references,
            gains=len(packed),
            memory=len(prepared.memory),
            out=sum(math.prod(shape) for shape in self.outputs.values()),
            observer=len(observer),
            kept=prepared.remembered + len(observer),
            quaternions=len(robot.quaternions),
            references=references,
            motions=len(self.motions),
            motion=motion_words(self.motions, robot.nq, robot.nv),
            planes=len(planes),
            walls=robot.nv + len(planes),
            bodies=len(robot.model.bodies),
            friction=len(self.friction.viscous),
            bias=len(self.integral.limit),
            springs=len(prepared.springs),
            knots=MAX_KNOTS if any(motion.kind == JOINTS for motion in self.motions) else 0,
            knot=3 * robot.nv + 1,
            measured=self.first_reference - robot.nq - robot.nv,
            virtual=robot.nv if follows else 0,
            sensed=len(follows.frames) if follows else 0,
        )
        self.memory = SESSION.allocate(sizes)
        self.data = self.memory.arrays
        self.data.gains[:] = self.data.target[:] = packed
        self.data.memory[:] = prepared.memory
        self.data.observer[:] = observer
        self.data.quaternions[:] = [start for _, start in robot.quaternions]
        self.data.planes[:] = planes
        if follows:
            self.data.sensed[:] = follows.frames
        if self.law.is_torque:
            self.data.effort[:], self.data.rate[:] = torque_limits(robot, fields)
        self._fill_mimics()
        self._fill_references(prepared.references)
        self._fill_disturbances()
        self._own: Workspace | None = None
        self.record = np.zeros(1, CONTROL).view(np.recarray)
        self._fill_record()
        self.record.has_walls = has_walls and self.law.is_torque
        self.record.low_pass = low_pass(fields)
        self.record.limited = fields.get("reference_limits") is not False

    __reduce__ = refuse_copy

    def _not_given(self, references: Mapping[str, Array]) -> dict[str, Array]:
        """References at first: what moves is NaN, not given, and so are torques; other values have
        their defaults."""
        moving = {*MOMENTARY, *(name for motion in self.motions for name in motion.names)}
        return {
            name: np.full(value.shape, np.nan) if name in moving else value.copy()
            for name, value in references.items()
        }

    def _fill_references(self, defaults: Mapping[str, Array]) -> None:
        data = self.data
        fill_motions(data.motions, self.motions, self.references, self.robot)
        moving = {name for motion in self.motions for name in motion.names}
        at = 0
        for k, (name, value) in enumerate(defaults.items()):
            part = slice(at, at + value.size)
            data.reference[part] = k
            data.is_value[part] = name not in moving
            data.latched[part] = value.ravel()
            data.command[part] = self.references[name].ravel()
            at += value.size
        fill_reference_limits(self.robot, self.fields.get("reference_limits"), data)
        data.least_inertia[:] = joint_limits(self.robot).inertia

    def _fill_mimics(self) -> None:
        mimics, data = self.robot.model.mimics, self.data
        data.q_multiplier[:], data.q_offset[:] = mimics.q_multiplier, mimics.offset
        data.q_index[:], data.v_index[:] = mimics.q_index, mimics.v_index
        data.v_multiplier[:] = mimics.multiplier
        data.leaders[:] = mimics.leaders_v
        data.turn[:] = turns(self.robot)

    def _disturbances(self, fields: Mapping[str, Any]) -> tuple[Friction, Integral]:
        """What is known of friction, and how a bias is to be found."""
        robot, references = self.robot, self.references
        given = fields.get("friction") if self.law.is_torque and not self.admittance else False
        friction = Friction(robot, given, by_reference="v_ref" in references)
        return friction, Integral(robot, self.name, fields.get("integral"), references)

    def _fill_disturbances(self) -> None:
        data, friction = self.data, self.friction
        fill_bare(self.robot.model, data)
        start_with(self.payload, data)
        data.viscous[:], data.coulomb[:] = friction.viscous, friction.coulomb
        data.sharpness[:] = friction.sharpness
        data.sticking[:] = friction.coulomb  # at rest, as far as anyone knows
        data.bias_limit[:] = self.integral.limit
        springs = self.prepared.springs
        data.stiffness[:], data.motor_inertia[:] = springs.stiffness, springs.motor_inertia
        data.spring_damping[:] = springs.damping

    def _fill_record(self) -> None:
        record, prepared = self.record[0], self.prepared
        record.law, record.law_memory = address_of(self.law.entry), prepared.law_memory
        record.observer = address_of("observe") if len(self.data.observer) else 0
        fill_steps(record)
        record.address = self.record.ctypes.data
        record.remembered = prepared.remembered
        record.most_iterations = prepared.iterations
        record.iteration_time = prepared.iteration_time
        record.want, record.representation = prepared.want, prepared.representation
        record.frames, record.frame_count = prepared.frames.ctypes.data, len(prepared.frames)
        record.data = self.memory.address
        record.accounts = int("reference_power" in prepared.outputs)
        record.reference_velocity = self._place_of("v_ref")
        record.reference_torque = self._place_of("tau_ff")
        record.friction_share, record.bias_rate = self.friction.share, self.integral.rate
        record.feels, record.lag = 1, self.admittance.lag if self.admittance else 0.0

    @property
    def first_reference(self) -> int:
        """Where references begin in the state: behind q, v and what else is measured."""
        return sum(math.prod(shape) for shape in self.state_shapes.values())

    @property
    def state_numbers(self) -> int:
        """How many a state has that comes to a session: the virtual robot's stay."""
        return len(self.data.state) - 2 * self.memory.sizes.virtual

    @property
    def state_shapes(self) -> dict[str, Shape]:
        """What the state has before references: of a virtual robot first, then of its robot."""
        own: dict[str, Shape] = {"q": (self.robot.nq,), "v": (self.robot.nv,)}
        if self.admittance:
            own |= {f"{name}_measured": shape for name, shape in own.items()}
        return own | self.measured

    def _place_of(self, reference: str) -> int:
        """Where a reference begins in the state; -1 where the law has no such."""
        start = self.first_reference
        for name, value in self.references.items():
            if name == reference:
                return start
            start += value.size
        return -1

    def carry(self, payload: Any) -> None:
        """Change what a frame carries, from the next call on; mass 0: nothing any more."""
        self.payload.fill(self.payload.changed(payload), self.data.load)

    def tuned(
        self,
        changes: Mapping[str, Any],
        period: float = 0.0,
        delay: float = DEFAULT_DELAY,
        check: str = "refuse",
    ) -> Gains:
        """All gains by name with some changed, checked; others stay as they were.

        With the period of a loop, s, they have to be stable on it, unless `check` is "warn".
        """
        # Those in effect, not those given: a default may depend on a gain that changes.
        void = {name for given in changes for name in self.law.replaces.get(given, ())}
        kept = {name: value for name, value in self.gains.items() if name not in void}
        merged = {**kept, **changes}
        gains = self.law.gains(self.robot, merged, self.fields)
        fields = {**self.fields, "gains": merged}
        if period > 0.0:
            gains, found = require_stable(self.robot, self.law, gains, fields, period, delay, check)
            self.overridden = found.overridden if found else ""
        self.fields, self.gains = fields, gains
        return gains

    def stabilize(
        self, period: float, delay: float = DEFAULT_DELAY, check: str = "refuse"
    ) -> Stability | None:
        """Check the gains in effect for a loop of a period, with a delay from state to torque, s.

        Gains that a user gave are refused where they are unstable, or kept if `check` is "warn",
        and `overridden` says why they should not be; others are reduced, and the result has the
        factor. Nothing for laws that are not judged by this.
        """
        gains, found = require_stable(
            self.robot, self.law, self.gains, self.fields, period, checked_delay(delay), check
        )
        self.overridden = found.overridden if found else ""
        if gains is not self.gains:
            self.gains = gains
            self.data.gains[:] = self.data.target[:] = pack(gains)
        return found

    @alone
    def torque(self, q: Any, v: Any, elapsed: float = 0.0, /, **references: Any) -> SimpleNamespace:
        """Outputs by name (`.tau`, `.storage`, …) and `.status`, the names of status bits.

        What a law measures beside q and v (`measured`: motor_q, motor_v) has to come with every
        call, by name as references do. What was never given a reference holds the state of the
        first call; references that are not given again keep their values. `elapsed` s since the
        last call is for laws that learn and for the observer. Nothing but the law and the limits of
        torques: `step` has the rest.
        """
        if self.admittance:
            raise InputError("admittance: positions come from `step`", "admittance")
        return self._result(self.evaluate(q, v, elapsed, references))

    @alone
    def step(self, q: Any, v: Any, dt: float, /, **references: Any) -> SimpleNamespace:
        """What a session would send, dt s after the last: as `torque`, with limited references,
        walls, the low-pass and the limits of torque rates."""
        return self._result(self.tick(q, v, dt, references))

    @alone
    def tick(self, q: Any, v: Any, dt: float, references: Mapping[str, Any] = EMPTY) -> int:
        """The same, with results in `data.out` only; returns status bits."""
        self.take_state(q, v, number("dt", dt), references)
        has_walls = bool(self.record[0].has_walls) or len(self.data.planes) > 0
        work = self._workspace(has_walls)
        return int(COMPILED.step_once(work.handle, self.record, float(dt)))

    def hold(self) -> None:
        """Forget all references: the state of the next call is held."""
        self.references = self._not_given(self.references)
        self.record.references_latched = self.record.moves = 0

    def _result(self, status: int) -> SimpleNamespace:
        if status & NONFINITE:
            raise not_finite(f"law {self.name!r}")
        return SimpleNamespace(**self.split(self.data.out.copy()), status=status_names(status))

    @alone
    def evaluate(
        self, q: Any, v: Any, elapsed: float = 0.0, references: Mapping[str, Any] = EMPTY
    ) -> int:
        """One tick in this process: fills `data.out` and returns status bits."""
        self.take_state(q, v, elapsed, references)
        return self.compute()

    def take_state(
        self, q: Any, v: Any, elapsed: float = 0.0, references: Mapping[str, Any] = EMPTY
    ) -> None:
        """Check a state and lay it out for compiled code; what it has beside q and v is named as
        references are."""
        robot, data = self.robot, self.data
        for name in references:
            if name not in self.references and name not in self.measured:
                listed = ", ".join(self.references) or "none"
                message = f"reference {name!r} is unknown, law {self.name!r} has: {listed}"
                raise InputError(message, f"references.{name}")
        state = [robot.tree.own_q(q), numbers("v", v, (robot.nv,))]
        for name, shape in self.measured.items():
            if references.get(name) is None:
                message = f"{name} is missing, law {self.name!r} needs it with every state"
                raise InputError(message, name, None, str(shape))
            state.append(numbers(name, references[name], shape))
        for name, kept in self.references.items():
            if name in references:
                self.references[name] = checked_reference(name, references[name], kept.shape)
            elif name in MOMENTARY:
                self.references[name] = np.full(kept.shape, np.nan)
        first, n = self.first_reference, 2 * self.memory.sizes.virtual
        np.concatenate(state, out=data.state[n:first])
        data.state[:n] = data.state[n : 2 * n]  # until the virtual robot's is there
        if self.references:
            np.concatenate([part.ravel() for part in self.references.values()], out=data.command)
        passed = number("elapsed", elapsed)
        if passed < 0.0:
            wanted = "0 s or more"
            raise InputError(f"elapsed is {passed} s, expected {wanted}", "elapsed", passed, wanted)
        self.record[0].elapsed = passed

    def compute(self) -> int:
        """Evaluate the law for the state that was taken: nothing but compiled code."""
        return int(COMPILED.evaluate_once(self._workspace().handle, self.record))

    def _workspace(self, has_walls: bool = False) -> Workspace:
        """The robot's; one of this controller's, whose bodies are not shared, where a payload or
        walls (unknown_load.py) change them."""
        if not self.payload.loads and not has_walls:
            return self.robot.work
        if self._own is None:
            model = self.robot.model
            self._own = Workspace(model.world, model.bodies.copy())
        return self._own

    def split(self, flat: NDArray[np.float64]) -> dict[str, Array]:
        """Outputs by name."""
        out, start = {}, 0
        for name, shape in self.outputs.items():
            size = math.prod(shape)
            out[name] = flat[start : start + size].reshape(shape)
            start += size
        return out
