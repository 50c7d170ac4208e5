"""How sessions are opened: the options of `open`, for both clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from torqued.client.requests.request_parts import names, options

#: What opening gives: a `Session` of a `Client`, an `Opening` of an `AsyncClient`.
Opened = TypeVar("Opened")


class Openings(Generic[Opened]):
    """Sessions with the loop."""

    def _open(self, fields: dict[str, Any]) -> Opened:
        """Open a session with the fields of `open`."""
        raise NotImplementedError

    def session(
        self,
        law: str = "stream",
        *,
        gains: Mapping[str, Any] | None = None,
        effort_limit: Any = None,
        rate_limit: Any = None,
        observer: Mapping[str, Any] | bool | None = None,
        payload: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        friction: Mapping[str, Any] | bool | None = None,
        integral: Mapping[str, Any] | bool | float | None = None,
        frame: str | None = None,
        point: Any = None,
        axes: str | None = None,
        axes_in: str | None = None,
        force: Mapping[str, Any] | None = None,
        load_lower: Any = None,
        load_upper: Any = None,
        springs: Mapping[str, Any] | None = None,
        tasks: Sequence[Mapping[str, Any]] | None = None,
        contacts: Sequence[Mapping[str, Any]] | None = None,
        limits: Mapping[str, Any] | None = None,
        iterations: int | None = None,
        want: Sequence[str] | None = None,
        frames: Sequence[str] | None = None,
        representation: str | None = None,
        reference_limits: Mapping[str, Any] | bool | None = None,
        walls: Mapping[str, Any] | bool | None = None,
        low_pass: float | None = None,
        admittance: Mapping[str, Any] | None = None,
        hold: float | None = None,
        fade: float | None = None,
        fallback: str | None = None,
        without_states: str | None = None,
        fallback_damping: float | None = None,
        frozen_after: float | None = None,
        delay: float | None = None,
        check: str | None = None,
        transport: str | None = None,
        clock: str | None = None,
        spin: float | None = None,
    ) -> Opened:
        """A session with the loop: a control law's torque, or a stream of quantities.

        `async with client.session(…) as session` or `await client.session(…)` of an `AsyncClient`.
        What is None has the daemon's default. docs/CONTROL.md has the laws, docs/PROTOCOL.md every
        option.

        Of torque laws:
          gains             by name; a number, a diagonal (n,) or a matrix (n, n) each
          effort_limit      (nv,) N m or N, below the robot's own
          rate_limit        (nv,) N m/s or N/s (default: 50 times the effort limit)
          observer          external torques: True, or gain 1/s, threshold and release N m
          payload           frame, mass kg, center (3,) m, inertia (3, 3) kg m²; or a list of these
          friction          compensated: True, or viscous N m s/rad, coulomb N m, smoothing, share
          integral          1/s, True (1), or rate 1/s and limit N m
          reference_limits  of moving references: True, False, or a map
          walls             True, False, or joints and frames (planes and boxes, m)
          low_pass          Hz, of torques (default: 250; 0: none)
          admittance        positions and speeds in place of torques: sensor ("wrench", "torques",
                            "none"), its frame, lag s
          hold, fade        s that the last torque is held and then fades, without a new one
          fallback          "brake", "hold", "gravity" or "zero", while states come
          without_states    "gravity" or "zero", when none come
          fallback_damping  N m s/rad, beside the fallback
          frozen_after      s after which encoders that stop are not believed (0.02; 0: always)
          delay             s from a state to its torque, for which gains are checked (2 ms)
          check             "refuse" unstable gains, or "warn": use them; the daemon logs it
        Of single laws:
          frame, point (3,) m, axes ("all", "position", "orientation")    impedance; frame: adaptive
          axes_in ("world", "frame"): of stiffness, damping and wrench    impedance
          force: axes (6), sensor ("observer", "torques", "wrench"),
          rate 1/s, approach_speed (m/s, rad/s)                           impedance
          load_lower, load_upper                                          adaptive, (10,)
          springs                                                         elastic
          tasks, contacts, limits, iterations                             wholebody, balance
          want, frames, representation                                    stream, as in `dynamics`
        Of every session:
          transport         "socket", or "memory" for a daemon on this machine
          clock             "loop": answered at the next tick; "state": on arrival, in memory only;
                            "lockstep": for simulations, time passes with states alone
          spin              s of polling before either side sleeps, in memory only
        """
        given = dict(locals())  # all of the arguments, before there is any other name
        del given["self"]
        return self._open(options(**given))

    def stream(
        self,
        want: Sequence[str] = ("M", "C"),
        frames: Sequence[str] | None = None,
        *,
        representation: str | None = None,
        payload: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        transport: str | None = None,
        clock: str | None = None,
        spin: float | None = None,
    ) -> Opened:
        """Quantities in every cycle of a controller: `stream.step(q, v).M`, with the names and
        shapes of `dynamics`; at rest without v.

        A session, with the options of `session`. With `transport="memory"` each state is answered
        on arrival, several times faster than a request; over a socket at the loop's tick.
        """
        return self.session(
            "stream",
            want=names(want),
            frames=None if frames is None else names(frames),
            representation=representation,
            payload=payload,
            transport=transport,
            clock="state" if clock is None and transport == "memory" else clock,
            spin=spin,
        )
