"""What a lab meets first: loads that no model has, hands that push, stops, encoders that repeat
themselves, contact.

Stops and frozen encoders are the daemon's affair: those runs are sessions with one, in lock step.
What answers there is all that a robot meets, the client included, at any speed of the machine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from torqued.client import Client
from torqued.client.sessions.session import Session
from torqued.common.status import FROZEN
from torqued.kernels.control import Controller
from torqued.kernels.model.description import Array
from torqued.tools.demos import generalize_motions as motions
from torqued.tools.demos.generalize_cases import (
    Budget,
    Case,
    Outcome,
    fallen,
    farthest,
    standing_torque,
    swinging,
)
from torqued.tools.demos.generalize_loop import (
    LAB,
    LOADED,
    NOTHING,
    PERIOD,
    TOLD,
    References,
    hold,
)
from torqued.tools.demos.generalize_robots import bearable
from torqued.tools.demos.plant import Plant, Push, Toucher, Wall

# Times in ms, which are steps.
#: N of a hand that pushes, at most the robot's weight; s in which any push rises; from when and
#: until when the hand pushes, and the end.
PUSH, RISES, PUSHES, LETS_GO, RETURNED = 100.0, 0.1, 1000, 1500, 3000
#: Share of the effort that leans on joints, from so many rad before their ends, where the weight
#: takes at most `motions.TORQUE` of an effort; how long.
LEANS, NEAR, LEANING = 0.2, 0.05, 2000
#: Joints rest, then swing; when they are looked at to be fastest; how long a stop is watched, and
#: frozen encoders, with which the fallback brakes for 200 ms: the rest is the robot's own brakes'.
RESTS, SWINGS, WATCHED, BLIND = 500, (1000, 2000), 1000, 300
#: A ball at the frame, m from a hard plane; N that it presses with, at most, and at most half of
#: the robot's weight; since when the force is measured, when the plane is gone, and the end.
RADIUS, GAP, PRESSES, MEASURED, GONE, LOST = 0.02, 0.003, 15.0, 1200, 1500, 1900
#: m of a squat; when it is stopped, pushed by a share of the weight, left alone, resumed; the end.
SQUAT, WEIGHT, STOP, SHOVE, ALONE, RESUME, END = 0.025, 0.1, 700, 1200, 1300, 2000, 2600


def lab_runs(case: Case, law: str, client: Client, budget: Budget) -> list[Outcome]:
    """Those of a law in a condition."""
    about = case.condition, law
    found = []
    if case.stance is not None:
        return [squat(case, law, client)] if case.condition == LAB else []
    if case.condition == LAB and law != "gravity":
        found.append(shove(case, law))
    if about in ((LAB, "gravity"), (LAB, "impedance"), (LOADED, "gravity")):
        found.append(lean(case, law))
    if about == (LAB, "passivity"):
        found.append(interrupt(case, law, client, "freeze"))
    if about == (LOADED, "passivity"):
        for kind in ("brake", "hold"):
            found.append(interrupt(case, law, client, f"stop {kind}", fallback=kind))
    if about == (LOADED, "adaptive"):
        found.append(learn(case, law, budget))
    if about == (TOLD, "impedance"):
        found += press(case, law)
    return found


def session_of(case: Case, client: Client, law: str, **options: Any) -> Session:
    options |= case.options(law)
    return client.session(law, transport="memory", clock="lockstep", **options)


def easiest(case: Case) -> Array:
    """The axis of the world along which the frame is lightest."""
    q = case.places.ready
    J = case.robot.frame_jacobian(q, case.frame)[3:]
    mobility = np.diag(J @ case.robot.solve_mass(q, J.T))
    axis: Array = np.eye(3)[int(np.argmax(mobility))]
    return axis


def shove(case: Case, law: str) -> Outcome:
    """A hand pushes the frame to where it moves most easily, and lets go."""
    q, along = case.places.ready, easiest(case)
    most = min(PUSH, 9.81 * case.robot.total_mass)
    force = min(most, bearable(case.robot, q, case.frame, case.effort, along)) * along
    torque = case.robot.frame_jacobian(q, case.frame)[3:].T @ force

    def pushed(t: float) -> Array:
        since, left = t - PUSHES * PERIOD, LETS_GO * PERIOD - t
        return float(np.clip(min(since, left) / RISES, 0.0, 1.0)) * torque

    seconds = RETURNED * PERIOD
    outcome, log = case.attempt(law, "shove", q, seconds, case.held_at(q), pushed=pushed)
    outcome.error = float(np.abs(log.q[-1] - log.q[: PUSHES + 1][-1]).max())
    return outcome


def lean(case: Case, law: str) -> Outcome:
    """The load, or without one a share of the effort, pushes joints to their ends: as many as
    motors can hold there."""
    real, loaded = case.plant.robot, case.condition.payload
    lower, upper = real.limits.lower, real.limits.upper
    q, torque = case.places.ready.copy(), np.zeros(real.nv)
    pull = case.robot.gravity(q) - real.gravity(q)  # of what the model lacks
    for k in np.flatnonzero(np.isfinite(lower)):
        side = np.sign(pull[k] if loaded else 2.0 * q[k] - lower[k] - upper[k])
        near = q.copy()
        near[k] = upper[k] - NEAR if side > 0.0 else lower[k] + NEAR
        if (np.abs(real.gravity(near)) <= motions.TORQUE * case.effort).all():
            q, torque[k] = near, 0.0 if loaded else LEANS * side * case.effort[k]

    def pushed(t: float) -> Array:
        return min(t / RISES, 1.0) * torque

    return case.attempt(law, "lean", q, LEANING * PERIOD, case.held_at(q), pushed=pushed)[0]


def learn(case: Case, law: str, budget: Budget) -> Outcome:
    q = case.places.ready
    outcome, log = case.attempt(law, "learn", q, budget.learn, case.held_at(q))
    outcome.error = float(np.abs(log.q[-100:] - q).max())
    return outcome


def interrupt(case: Case, law: str, client: Client, what: str, **options: Any) -> Outcome:
    """Joints rest, swing, and are stopped where they are fastest, or all encoders freeze there."""
    swing, limit = case.places.swing, case.robot.limits.velocity
    fastest = max(range(*SWINGS, 10), key=lambda k: np.max(np.abs(swing(k * PERIOD)[1]) / limit))
    at, q = RESTS + fastest, case.places.ready
    with session_of(case, client, law, **options) as session:
        if what == "freeze":
            end, how = at + BLIND, dict[str, Any](frozen_from=at)
        else:
            end, how = at + WATCHED, {"events": {at: partial(client.stop, session.number)}}
        seconds, plan = end * PERIOD, swinging(case, RESTS * PERIOD)
        outcome, log = case.attempt(law, what, q, seconds, plan, session=session, **how)
    outcome.error = float(np.abs(log.q[at:] - log.q[: at + 1][-1]).max(initial=0.0))
    reports = np.flatnonzero(log.bits & FROZEN)
    # A report before is of noise alone.
    outcome.delay = (reports[0] - at) * PERIOD if len(reports) and reports[0] >= at else np.inf
    return outcome


def press(case: Case, law: str) -> list[Outcome]:
    """The frame finds a hard plane and presses on it; then the plane is gone."""
    robot, q, frame, along = case.robot, case.places.ready, case.frame, easiest(case)
    most = min(PRESSES, 0.5 * 9.81 * robot.total_mass)
    wanted = min(most, bearable(robot, q, frame, case.effort, along))
    wall = Wall(robot.frame_pose(q, frame)[:3, 3] + (RADIUS + GAP) * along, -along)
    plant = Plant(case.real, case.row.base, (wall,), (Toucher(frame, radius=RADIUS),))
    plant.model.dof_armature[:] = case.plant.model.dof_armature
    force = {"axes": [0, 0, 0, *along], "sensor": "observer"}
    wrench, felt = np.concatenate([np.zeros(3), wanted * along]), []

    def plan(controller: Controller) -> Any:
        at = hold(controller, robot, frame, q)
        return lambda t: at | {"wrench": wrench}  # which counts for the state that it comes with

    def vanish() -> None:
        plant.model.geom_contype[:] = plant.model.geom_conaffinity[:] = 0

    feel = dict.fromkeys(range(MEASURED, GONE), lambda: felt.append(plant.contact_force()))
    pressed, log = case.attempt(
        *(law, "press", q, LOST * PERIOD, plan),
        force=force,
        plant=plant,
        events=feel | {GONE: vanish},
    )
    pressed.error = abs(float(np.mean(felt)) / wanted - 1.0)
    lost = case.outcome(law, "lose")
    after = zip(log.q[GONE:], log.v[GONE:], strict=True)
    speeds = [np.linalg.norm(robot.frame_jacobian(at, frame)[3:] @ v) for at, v in after]
    lost.error = float(max(speeds, default=np.nan))
    return [pressed, lost]


def squat(case: Case, law: str, client: Client) -> Outcome:
    """Stopped in a slow squat, pushed, resumed."""
    stance, robot, plant = case.stance, case.robot, case.plant
    assert stance is not None
    force = np.array([WEIGHT * 9.81 * plant.robot.total_mass, 0.0, 0.0])

    def plan(controller: Controller) -> Any:
        held = hold(controller, robot, "", stance.q)
        com = next(name for name in held if "com" in name)

        def references(t: float) -> References:
            down = np.array([0.0, 0.0, SQUAT * (1.0 - np.cos(np.pi * t))])
            return held | {com: held[com] - down} if t < RESUME * PERIOD else NOTHING

        return references

    with session_of(case, client, law) as session:
        events = {
            STOP: partial(client.stop, session.number),
            SHOVE: partial(plant.pushes.append, Push(case.root, force)),
            ALONE: plant.pushes.clear,
            RESUME: session.resume,
        }
        outcome, log = case.attempt(
            *(law, "stop", stance.q, END * PERIOD, plan, standing_torque(case)),
            session=session,
            events=events,
            failed=partial(fallen, stance),
        )
    outcome.fell = len(log.q) < END
    outcome.drift = float(farthest(robot, log.q[min(STOP, len(log.q) - 1) :]).max())
    return outcome
