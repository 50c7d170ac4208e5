"""A controller for docker/prove: holds the arm still for a second, and says how that went."""

import numpy as np

from torqued.client import Client

TICKS = 1000

with Client("robot") as client:
    robot = client.hello()
    q, v = robot.neutral + 0.3, np.zeros(robot.nv)
    gravity = client.dynamics(q, want=("g",)).g
    with client.session("gravity", gains={"damping": 1.0}) as session:
        outputs = [session.step(q, v) for _ in range(TICKS)]
    last = outputs[-1]
    assert not last.status_names, last.status_names
    assert np.abs(gravity).max() > 0.1 and np.allclose(last.tau, gravity), (last.tau, gravity)
    missed = client.stats().servo["missed"]
    print(f"a session of {TICKS} steps, torques equal to gravity; {missed} ticks missed in all")
