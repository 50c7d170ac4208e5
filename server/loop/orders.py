"""Orders to open sessions: hold, move, command, resume, stop; and who may give them.

A robot's driver opens a session and sends states. The commander may be another process: it takes
the session, gives orders, and gives the session back. When its lease expires, the session holds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torqued.common import errors
from torqued.common.status import status_names
from torqued.kernels import InputError
from torqued.kernels.charts.chart import own_joints
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.references.motions import COM, JOINTS
from torqued.kernels.control.references.via_points import ORDERED, plan
from torqued.kernels.input_checks import Fields, mapping, number, numbers, seconds_within
from torqued.kernels.model.reach import check_reach
from torqued.server.access.rights import ADMINISTRATE, Caller, denied, holds
from torqued.server.loop.move_posture import with_posture
from torqued.server.loop.move_time import min_seconds
from torqued.server.loop.seqlock import seqlock_read
from torqued.server.loop.session import Session
from torqued.server.loop.session_modes import LAW_MODES, Event, Mode
from torqued.server.loop.statistics import at_wall

if TYPE_CHECKING:
    from torqued.server.loop.servo import Servo

#: s of silence after which a commander counts as dead: default and limits.
DEFAULT_LEASE, MIN_LEASE, MAX_LEASE = 1.0, 0.05, 3600.0
#: s without a state after which orders are refused; `stale_after` where that is longer.
MAX_SILENCE = 1.0
#: s: the longest movement.
MAX_MOVE = 3600.0
#: Duration of a movement at full speed, relative to its minimum.
EASE = 1.1


class SessionSnapshot(NamedTuple):
    """A copy of a session."""

    session: Any  # SESSION
    control: Any  # CONTROL
    state: np.ndarray  # q, v and the references in effect


class Orders:
    """Orders to the sessions of a servo; in the requests' thread."""

    def __init__(self, servo: Servo) -> None:
        self.servo = servo

    def take(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """Become the commander of a session; `take_over`: even if there is another."""
        session = self._torque_session(fields, "torque to command")
        lease = seconds_within("lease", fields.get("lease", DEFAULT_LEASE), MIN_LEASE, MAX_LEASE)
        other = session.commander if self._lease_holds(session) else None
        is_new = other is None or other.key != caller.key
        if other is not None and is_new and fields.get("take_over") is not True:
            raise errors.error(
                "in_use",
                f"session {session.number} is commanded by {other.name!r}; take it over with "
                "take_over = true",
                field="session",
            )
        if is_new:
            self._order(session, Event.HOLD)
        session.commander, session.lease = caller, lease
        self._renew(session)
        return {"session": session.number, "lease": lease, **self._state(session)}

    def give(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """Stop commanding a session: it holds."""
        session = self._torque_session(fields, "commander")
        if session.commander is None or session.commander.key != caller.key:
            raise not_commander(session, caller)
        self._order(session, Event.HOLD)
        session.commander = None
        self._record(session).lease_deadline = 0
        return {"session": session.number}

    def hold(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """Come to rest and stay there; any client with the right to command may ask."""
        session = self._torque_session(fields, "references to hold")
        self._renew_own(session, caller)
        self._order(session, Event.HOLD)
        return {"session": session.number}

    def resume(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """Leave the fallback and orders: hold the present state, then follow what states bring."""
        session = self.commanded(fields, caller, "fallback to leave")
        if self.servo.shared.loop["stop_requested"][0]:
            raise errors.error("stopped", "all sessions are stopped: call `recover` first")
        self._require_states(session)
        self._order(session, Event.RESUME)
        return {"session": session.number}

    def command(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """Follow references, by name, within limits as those of states."""
        session = self._ready(fields, caller)
        self._order(session, Event.COMMAND, self._references(session, fields, positions=False))
        return {"session": session.number}

    def move(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """Move to references, by name, in `seconds`, or at a share `speed` of the limits; then hold
        there."""
        session = self._ready(fields, caller)
        if fields.get("times") is not None or has_path(session.controller, fields):
            return self._follow(session, fields)
        target = with_posture(session.controller, self._references(session, fields, positions=True))
        minimum = min_seconds(session.controller, target)
        share, seconds = fields.get("speed"), fields.get("seconds")
        if share is not None and seconds is not None:
            raise InputError("speed and seconds are both given, expected one of them", "speed")
        if seconds is None:
            seconds = EASE * minimum / checked_share(share, self.servo.safety.move_speed) + 0.02
        seconds = number("seconds", seconds)
        if not minimum <= seconds <= MAX_MOVE:
            allowed = f"{minimum:.3g} … {MAX_MOVE:g} s by the limits of references"
            raise InputError(f"seconds is {seconds:g}, expected {allowed}", "seconds", seconds)
        self._order(session, Event.MOVE, target, seconds)
        return {"session": session.number, "seconds": seconds}

    def _follow(self, session: Session, fields: Fields) -> dict[str, Any]:
        """Move joints through via points."""
        controller, given = session.controller, mapping(fields, "references")
        for other, left_out in (("seconds", True), ("speed", fields.get("times") is not None)):
            if left_out and fields.get(other) is not None:
                message = f"{other} is given with a path, expected times or speed"
                raise InputError(message, other)
        (name,) = given if len(given) == 1 else (None,)
        if name is None or name not in joint_positions(controller):
            listed = ", ".join(joint_positions(controller)) or "none, this law moves no joints"
            raise InputError(f"references: a path is of one of: {listed}", "references")
        share = checked_share(fields.get("speed"), self.servo.safety.move_speed)
        knots = plan(controller, given[name], fields.get("times"), share)
        goal = {"references": {name: np.atleast_2d(given[name])[-1]}}
        target = self._references(session, goal, positions=True)
        seconds = float(knots[-1, 0])
        if seconds > MAX_MOVE:
            raise InputError(f"times ends at {seconds:g}, at most {MAX_MOVE:g} s", "times", seconds)
        self._order(session, Event.MOVE, target, seconds, knots)
        return {"session": session.number, "seconds": seconds}

    def stop(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """Give all sessions to their fallbacks, until `recover`; or one, until `resume`."""
        if fields.get("session") is not None:
            # Not an order: those belong to the requests' thread, and this is the control thread.
            session = self._torque_session(fields, "torque to stop")
            self._record(session).halt_requested = 1
        else:
            self.servo.shared.loop["stop_requested"] = 1
        return self._stopped()

    def recover(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """End a stop. Sessions stay in their fallbacks until they are resumed."""
        self.servo.shared.loop["stop_requested"] = 0
        return self._stopped()

    def look(self, fields: Fields, caller: Caller) -> dict[str, Any]:
        """A session's newest state, references in effect, and what it is doing."""
        session = self.servo.named_session(fields)
        self._renew_own(session, caller)
        return {"session": session.number, **self._state(session)}

    def mode(self, session: Session) -> str:
        """A session's mode, for statistics, which never wait for a tick."""
        return mode_name(self._record(session))

    def _read(self, session: Session) -> SessionSnapshot:
        control, data = session.controller.record[0], session.controller.data
        return SessionSnapshot(self._record(session).copy(), control.copy(), data.state.copy())

    def _state(self, session: Session) -> dict[str, Any]:
        seen = seqlock_read(self._record(session), lambda: self._read(session))
        controller = session.controller
        robot, references, at = controller.robot, {}, controller.first_reference
        for name, value in controller.references.items():
            references[name] = seen.state[at : at + value.size].reshape(value.shape)
            at += value.size
        left = float(seen.control.move_seconds - seen.control.move_time)
        return {
            "law": controller.name,
            "mode": mode_name(seen.session) if controller.law.is_torque else "",
            "q": seen.state[: robot.nq],
            "v": seen.state[robot.nq : robot.nq + robot.nv],
            "references": references,
            "status": status_names(int(seen.session.status)),
            "at_wall": at_wall(session, seen.control),
            "remaining": max(0.0, left),
            "commander": self.commander(session),
        }

    def commander(self, session: Session) -> str:
        """Name of a session's commander, if it has one."""
        alive = session.commander is not None and self._lease_holds(session)
        return session.commander.name if session.commander is not None and alive else ""

    def _stopped(self) -> dict[str, Any]:
        return {"stopped": bool(self.servo.shared.loop["stop_requested"][0])}

    def _record(self, session: Session) -> Any:
        return self.servo.shared.sessions[session.slot]

    def _torque_session(self, fields: Fields, needed: str) -> Session:
        """A session that gives torques; `needed` is what an order is about, which streams lack."""
        session = self.servo.named_session(fields)
        if not session.controller.law.is_torque:
            message = f"session: {session.number} is a stream, which has no {needed}"
            raise InputError(message, "session", session.number, "a session that gives torques")
        return session

    def commanded(self, fields: Fields, caller: Caller, needed: str = "") -> Session:
        """A session that the caller commands: as its commander, or without one as its client.

        `needed` is as in `_torque_session`; without it a stream will do.
        """
        find = self.servo.named_session
        session = self._torque_session(fields, needed) if needed else find(fields)
        if session.commander is not None and not self._lease_holds(session):
            if session.commander.key == caller.key:
                raise errors.error(
                    "in_use",
                    f"the lease of session {session.number} expired, {session.lease:g} s after the "
                    "last request: call `take` again",
                    field="session",
                )
            session.commander = None
        if session.commander is None:
            own = session.caller.key == caller.key
            if not own and not holds(caller.right, ADMINISTRATE):
                raise denied(caller, f"session {session.number} is another client's; this", "take")
        elif session.commander.key != caller.key:
            raise not_commander(session, caller)
        self._renew_own(session, caller)
        return session

    def _lease_holds(self, session: Session) -> bool:
        """Whether a session's commander has asked for something within its lease."""
        return bool(self._record(session).lease_deadline > time.monotonic_ns())

    def _require_states(self, session: Session) -> None:
        """Refuse an order that cannot take effect because the robot's driver is silent."""
        if self._record(session).sequence < 0:
            raise errors.error("not_ready", f"session {session.number} has had no state yet")
        silence = self.servo.idle(session)
        if silence > max(session.safety.stale_after, MAX_SILENCE):
            raise errors.error(
                "not_ready",
                f"session {session.number} has had no state for {silence:.3g} s: is the robot's "
                "driver running?",
            )

    def _ready(self, fields: Fields, caller: Caller) -> Session:
        """The same, if it has a state and is not in its fallback."""
        session = self.commanded(fields, caller, "references")
        record = self._record(session)
        self._require_states(session)
        if not session.controller.record[0].references_latched and record.mode in LAW_MODES:
            raise errors.error("not_ready", f"session {session.number} has had no fresh state yet")
        if record.mode in (Mode.FALLBACK, Mode.STOPPED):
            raise errors.error(
                "stopped", f"session {session.number} is in its fallback: call `resume` first"
            )
        return session

    def _renew_own(self, session: Session, caller: Caller) -> None:
        commander = session.commander
        if commander is not None and commander.key == caller.key and self._lease_holds(session):
            self._renew(session)

    def _renew(self, session: Session) -> None:
        self._record(session).lease_deadline = time.monotonic_ns() + round(1e9 * session.lease)

    def _references(self, session: Session, fields: Fields, positions: bool) -> np.ndarray:
        """References by name as one array, NaN for those not given; checked against limits."""
        controller = session.controller
        given = mapping(fields, "references")
        places = [name for m in controller.motions for name in (m.position, m.orientation) if name]
        allowed = places if positions else list(controller.references)
        if not given:
            raise InputError("references is empty", "references", None, ", ".join(allowed))
        out = []
        for name in given:
            if name not in allowed:
                listed = ", ".join(allowed)
                raise InputError(
                    f"references: {name!r} is unknown, allowed: {listed}", f"references.{name}"
                )
        for name, value in controller.references.items():
            if name in given:
                numbers_of = numbers(f"references.{name}", given[name], value.shape)
                out.append(numbers_of.ravel())
            else:
                out.append(np.full(value.size, np.nan))
        target = np.concatenate(out)
        check_inside(controller, target)
        return target

    def _order(
        self,
        session: Session,
        order: Event,
        ordered: np.ndarray | None = None,
        seconds: float = 0.0,
        knots: np.ndarray | None = None,
    ) -> None:
        """Hand an order to the loop, and wait until it takes it."""
        record, data = self._record(session), session.controller.data
        self._wait(record)
        data.knots[ORDERED] = 0 if knots is None else len(knots)
        if knots is not None:
            data.ordered_path[: len(knots)] = knots
        if ordered is not None:
            data.ordered[:] = ordered
        record.order, record.order_seconds = order, seconds
        record.order_number += 1  # from here on it is the loop's, until it answers
        self._wait(record)

    def _wait(self, record: Any) -> None:
        while record.order_taken != record.order_number and self.servo.runs():
            time.sleep(1e-4)


def joint_positions(controller: Controller) -> list[str]:
    """References of joint positions that a law has."""
    return [m.position for m in controller.motions if m.kind == JOINTS and m.position]


def has_path(controller: Controller, fields: Fields) -> bool:
    """Whether joint positions come as several rows."""
    given = mapping(fields, "references")
    return any(np.ndim(given[name]) > 1 for name in joint_positions(controller) if name in given)


def checked_share(speed: Any, default: float) -> float:
    """A share of the speed limits, above 0 and up to 1."""
    share = default if speed is None else number("speed", speed)
    if not 0.0 < share <= 1.0:
        wanted = "a share of the speed limits, above 0 and up to 1"
        raise InputError(f"speed is {share:g}, expected {wanted}", "speed", share, wanted)
    return share


def check_inside(controller: Any, target: np.ndarray) -> None:
    """Refuse joints beyond limits, frames far beyond reach, quaternions without unit length."""
    data, robot = controller.data, controller.robot
    for motion in data.motions:
        if motion.kind == JOINTS:
            if not np.isfinite(target[motion.position]):
                continue
            q = target[motion.position : motion.position + robot.nq]
            now = data.state[controller.first_reference + motion.position :]
            for k, i in enumerate(data.coordinate):
                low, high = data.lower[k], data.upper[k]
                # A joint outside of its limits may stay and go back, but no further.
                if i >= 0 and not min(low, now[i]) <= q[i] <= max(high, now[i]):
                    name = next(j.name for j in own_joints(robot.model) if j.v == k)
                    raise InputError(
                        f"references: joint {name!r} (position {i}) is {q[i]:.6g}, beyond its "
                        f"limits {low:.6g} … {high:.6g}; its reference is at {now[i]:.6g}",
                        "references",
                        float(q[i]),
                    )
        elif motion.position >= 0 and not motion.relative and np.isfinite(target[motion.position]):
            frame = None if motion.kind == COM else (int(motion.frame.body), motion.frame.p)
            position = target[motion.position : motion.position + 3]
            base = data.state[:3] if robot.model.base == "floating" else np.zeros(3)
            check_reach("references", robot.model, frame, position, base)
        if motion.orientation >= 0 and np.isfinite(target[motion.orientation]):
            size = float(np.linalg.norm(target[motion.orientation : motion.orientation + 4]))
            if not abs(size - 1.0) <= 1e-3:
                raise InputError(
                    f"references: a quaternion has the length {size:.6g}, expected 1",
                    "references",
                    size,
                )


def mode_name(record: Any) -> str:
    """The mode of a session as one word."""
    return Mode(int(record.mode)).name.lower()


def not_commander(session: Session, caller: Caller) -> errors.RequestError:
    commander = repr(session.commander.name) if session.commander else "no client"
    return errors.error(
        "in_use",
        f"session {session.number} is commanded by {commander}, not by {caller.name!r}: call "
        "`take` first",
        field="session",
    )
