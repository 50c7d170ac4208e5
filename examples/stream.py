"""What a controller asks every millisecond: M, C and a Jacobian of each state, as a stream.

.venv/bin/torqued serve --robot chain20          (in another terminal)
.venv/bin/python examples/stream.py chain20
"""

import sys
import time

import numpy as np

from torqued.client import Client

STEPS, PERIOD = 200, 1e-3  # s

with Client(sys.argv[1] if len(sys.argv) > 1 else "chain20") as client:  # a name or an endpoint
    robot = client.hello()
    tip = robot.frames[-1]
    print(f"robot {robot.name}: nv {robot.nv}, frame {tip}")

    q, v = robot.neutral.copy(), np.full(robot.nv, 0.1)
    with client.stream(want=("M", "C", "J"), frames=[tip], transport="memory") as stream:
        for _ in range(STEPS):
            r = stream.step(q, v)  # answered as it arrives, for exactly this state
            force = r.M @ -v - r.C @ v  # of a controller that brakes
            q = q + PERIOD * v  # in a real controller: the newest measurement
            time.sleep(PERIOD)
        print(f"state {r.sequence}, status {r.status_names or 'OK'}")
        print(f"M {r.M.shape}, J {r.J[tip].shape}, torque {force.shape}")

    same = client.dynamics(q - PERIOD * v, v, want=("M", "C"))
    print("as requests give it:", np.allclose(r.M, same.M) and np.allclose(r.C, same.C))
