"""`Arm`: commands a robot interactively, while its driver runs in another process.

arm = Client("panda").arm()
arm.q
arm.move_to(q, seconds=3)
arm.hold()

It commands the session of the robot's driver. A thread renews its lease; when this process ends,
however it does, the robot holds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.context_manager import ContextManager
from torqued.client.errors import OperationError, TimeoutError, TorquedError
from torqued.client.requests.results import SessionState
from torqued.client.requests.targets import path, targets

Array = NDArray[np.float64]

#: s without a state after which a session's driver counts as dead.
MAX_IDLE = 1.0
#: s between two reads of a movement under way.
POLL_INTERVAL = 0.05


class Arm(ContextManager):
    """The commander of one session.

    `client` must not be used by others: its sockets belong to this object.
    """

    def __init__(self, client: Any, session: int, take_over: bool, lease: float) -> None:
        self._client, self.session, self._lease = client, session, lease
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._lost: TorquedError | None = None
        self.take(take_over)
        self._references = {name: value.shape for name, value in self.state.references.items()}

    def take(self, take_over: bool = False) -> None:
        """Command the session, again after the lease has expired: the robot holds.

        `take_over`: even if another client commands it.
        """
        with self._lock:
            taken = self._client.take(self.session, take_over=take_over, lease=self._lease)
            self._name, self._lost = taken.commander, None
            renewal = threading.Thread(target=self._renew_lease, name="commander", daemon=True)
            self._renewal = renewal
            renewal.start()

    def __repr__(self) -> str:
        try:
            state = self.state
            doing = f"{state.law}, {state.mode}"
        except TorquedError as error:  # a prompt or a debugger prints it
            doing = str(error)
        return f"<Arm of session {self.session}: {doing}>"

    @property
    def state(self) -> SessionState:
        """The newest state, references and mode."""
        state: SessionState = self._ask(lambda: self._client.look(self.session))
        return state

    @property
    def q(self) -> Array:
        """(nq,) newest joint positions, rad or m."""
        return self.state.q

    @property
    def v(self) -> Array:
        """(nv,) newest joint velocities."""
        return self.state.v

    def pose(self, frame: str) -> Array:
        """(4, 4) pose of a frame at the newest state."""
        q = self.q
        pose: Array = self._ask(lambda: self._client.kinematics(q, [frame])).pose[frame]
        return pose.copy()  # replies are read-only

    def move_to(
        self,
        target: Any,
        seconds: float | None = None,
        wait: bool = True,
        motion: str = "",
        speed: float | None = None,
    ) -> float:
        """Move to joint positions (nq,) or a pose (4, 4); returns the seconds that it takes.

        In `seconds`, or at `speed`, a share of the speed limits (default: the daemon's, a quarter).
        With `wait` it returns once the robot is there, and raises if the robot is stopped before.
        """
        goal = targets(target, self._references, motion)
        taken: float = self._ask(lambda: self._client.move(self.session, goal, seconds, speed))
        if wait:
            self._wait_for_end(taken)
        return taken

    def follow(
        self, times: Any, q: Any, wait: bool = True, motion: str = "", speed: float | None = None
    ) -> float:
        """Move joints through via points q (N, nq) without a stop, at `times` (N,) s from now, or
        with None as fast as limits allow at `speed`; otherwise as `move_to`."""
        move, points = self._client.move, path(q, self._references, motion)
        taken: float = self._ask(lambda: move(self.session, points, None, speed, times))
        if wait:
            self._wait_for_end(taken)
        return taken

    def _wait_for_end(self, seconds: float) -> None:
        deadline = time.monotonic() + 2.0 * seconds + 10.0
        while (state := self.state).mode == "moving":
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"the movement of {seconds:g} s did not end in time; is the loop late?"
                )
            time.sleep(POLL_INTERVAL)
        if state.mode in ("fallback", "stopped"):
            names = ", ".join(state.status)
            raise OperationError(
                "stopped", f"movement aborted, session is in its fallback: {names}"
            )

    def hold(self) -> None:
        """Come to rest and stay."""
        self._ask(lambda: self._client.hold(self.session))

    def stop(self) -> None:
        """Put the session into its fallback (brake, then hold) until `resume`."""
        self._ask(lambda: self._client.stop(self.session))

    def resume(self) -> None:
        """Leave the fallback; the robot holds where it is."""
        self._ask(lambda: self._client.resume(self.session))
        self._ask(lambda: self._client.hold(self.session))

    def tune(
        self, gains: dict[str, Any], over: float = 0.1, check: str = "refuse"
    ) -> dict[str, Any]:
        """Change gains of the session, gradually; those in effect. `check="warn"`: also to those
        that are unstable by the model."""
        fields = {"session": self.session, "gains": gains, "over": over, "check": check}
        reply = self._ask(lambda: self._client.call("tune", **fields))
        return dict(reply["gains"])

    def close(self) -> None:
        """Give the session back; the robot holds."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._renewal.join()
        try:
            if self._lost is None:
                self._client.give(self.session)
        finally:
            self._client.close()

    def _ask(self, ask: Callable[[], Any]) -> Any:
        """Send one request, in one thread at a time."""
        with self._lock:
            if self._lost is not None:
                raise self._lost
            return ask()

    def _renew_lease(self) -> None:
        """Renew the lease until the arm is closed."""
        while not self._closed.wait(self._lease / 3.0):
            with self._lock:
                if threading.current_thread() is not self._renewal:
                    return  # `take` has started another one
                try:
                    commander = self._client.look(self.session).commander
                except TorquedError as error:
                    self._lost = error
                    return
                if commander != self._name:
                    self._lost = OperationError("in_use", self._lost_to(commander))
                    return

    def _lost_to(self, commander: str) -> str:
        by = f"{commander!r} commands it" if commander else "its lease expired"
        return f"session {self.session} is no longer commanded by this arm: {by}; arm.take() again"


def only_torque_session(sessions: list[dict[str, Any]]) -> int:
    """The number of the one session that gives torques; of several, the one with a live driver."""
    torques = [session for session in sessions if session["law"] != "stream"]
    live = [session for session in torques if session["states"] and session["idle"] < MAX_IDLE]
    chosen = live or torques
    if len(chosen) == 1:
        return int(chosen[0]["session"])
    if not chosen:
        raise TorquedError("no session gives torques: start the robot's driver first")
    listed = ", ".join(f"{x['session']} (no state for {x['idle']:.3g} s)" for x in chosen)
    raise TorquedError(f"several sessions give torques, choose one: {listed}")
