"""TSID on the ticks of `torqued bench wbc`.

A program of its own, since TSID need not be installed beside torqued: it takes a file of ticks and
prints its figures as JSON. Wheels that go together:

    pip install --only-binary :all: tsid==1.7.1 pin==3.4.0 'cmeel-urdfdom<5' 'cmeel-tinyxml2<11'
"""

from __future__ import annotations

import json
import sys
import time
from importlib import metadata
from typing import Any

import numpy as np
import pinocchio as pin
import tsid

if not hasattr(tsid, "RobotWrapper"):  # wheels that have the __init__ a folder too deep
    from tsid import tsid_pywrap as tsid


def formulation(ticks: Any) -> tuple[Any, Any, Any, Any]:
    """The same tasks, contacts and limits: what must stay alive, formulation, solver, com task."""
    robot = tsid.RobotWrapper(str(ticks["urdf"]), [], pin.JointModelFreeFlyer(), False)
    model = robot.model()
    q, v = ticks["q"][0], ticks["v"][0]
    inverse = tsid.InverseDynamicsFormulationAccForce("tsid", robot, False)
    inverse.computeProblemData(0.0, q, v)
    data = inverse.data()
    x, y = ticks["half"]
    points = np.array([[x, x, -x, -x], [y, -y, y, -y], [0.0] * 4])
    normal = np.array([0.0, 0.0, 1.0])
    kept = []
    for foot in ticks["feet"]:
        contact = tsid.Contact6d(
            str(foot), robot, str(foot), points, normal, float(ticks["mu"]), 0.0, 1e4
        )
        contact.setKp(np.zeros(6))
        contact.setKd(20.0 * np.ones(6))
        contact.setReference(robot.framePosition(data, model.getFrameId(str(foot))))
        inverse.addRigidContact(contact, 1e-6, 1.0, 1)
        kept.append(contact)
    com = tsid.TaskComEquality("com", robot)
    com.setKp(50.0 * np.ones(3))
    com.setKd(14.0 * np.ones(3))
    inverse.addMotionTask(com, 100.0, 1, 0.0)
    turn = tsid.TaskSE3Equality("turn", robot, "base_link")
    turn.setKp(100.0 * np.ones(6))
    turn.setKd(20.0 * np.ones(6))
    turn.setMask(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
    place = robot.framePosition(data, model.getFrameId("base_link"))
    sample = tsid.TrajectorySample(12, 6)
    sample.value(np.hstack([place.translation, place.rotation.ravel(order="F")]))
    turn.setReference(sample)
    inverse.addMotionTask(turn, 10.0, 1, 0.0)
    posture = tsid.TaskJointPosture("posture", robot)
    posture.setKp(50.0 * np.ones(robot.na))
    posture.setKd(14.0 * np.ones(robot.na))
    sample = tsid.TrajectorySample(robot.na)
    sample.value(q[7:])
    posture.setReference(sample)
    inverse.addMotionTask(posture, 0.1, 1, 0.0)
    effort = tsid.TaskActuationBounds("effort", robot)
    limit = model.effortLimit[-robot.na :]
    effort.setBounds(-limit, limit)
    inverse.addActuationTask(effort, 1.0, 0, 0.0)
    speed = tsid.TaskJointBounds("speed", robot, 0.02)
    fastest = model.velocityLimit[-robot.na :]
    speed.setVelocityBounds(-fastest, fastest)
    inverse.addMotionTask(speed, 1.0, 0, 0.0)
    solver = tsid.SolverHQuadProgFast("solver")
    solver.resize(inverse.nVar, inverse.nEq, inverse.nIn)
    return (robot, kept, turn, posture, effort, speed), inverse, solver, com


def percentiles(us: Any) -> dict[str, float]:
    return {
        "p50_us": round(float(np.percentile(us, 50)), 2),
        "p99_us": round(float(np.percentile(us, 99)), 2),
        "max_us": round(float(us.max()), 2),
    }


def main() -> None:
    ticks = np.load(sys.argv[1])
    _kept, inverse, solver, com = formulation(ticks)
    count = len(ticks["q"])
    assembly, total = np.empty((2, count))
    failed = 0
    qs, vs, coms = ticks["q"], ticks["v"], ticks["com"]
    for k in range(count):
        sample = tsid.TrajectorySample(3)
        sample.value(coms[k, :3])
        sample.derivative(coms[k, 3:6])
        sample.second_derivative(coms[k, 6:9])
        com.setReference(sample)
        begin = time.perf_counter_ns()
        problem = inverse.computeProblemData(k * 1e-3, qs[k], vs[k])
        middle = time.perf_counter_ns()
        answer = solver.solve(problem)
        inverse.getActuatorForces(answer)
        total[k] = time.perf_counter_ns() - begin
        assembly[k] = middle - begin
        failed += answer.status != 0
    figures = {
        "assembly": percentiles(assembly / 1e3),
        "total": percentiles(total / 1e3),
        "failed": int(failed),
        "variables": inverse.nVar,
        "version": metadata.version("tsid"),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
