"""A controller in Python: requests first, then a session at the daemon's rate.

.venv/bin/torqued serve --robot chain20          (in another terminal)
.venv/bin/python examples/session.py chain20
"""

import sys

import numpy as np

from torqued.client import Client

with Client(sys.argv[1] if len(sys.argv) > 1 else "chain20") as client:  # a name or an endpoint
    client.wait_ready()  # the daemon may have been started just now
    robot = client.hello()
    print(f"robot {robot.name}: nq {robot.nq}, nv {robot.nv}, {robot.rate:g} Hz")

    q, v = robot.neutral, np.full(robot.nv, 0.1)
    r = client.dynamics(q, v, want=("M", "C", "g"))
    print(f"M {r.M.shape}, C {r.C.shape}")

    with client.session("gravity", gains={"damping": 2.0}) as session:
        for _ in range(100):
            try:
                output = session.step(q, v)  # in a real controller: the newest measurement
            except TimeoutError as error:  # the robot still has its last torque
                print(f"{error}: brake here by the robot's own means")
                continue
            if "FALLBACK" in output.status_names:  # states came too late: it stays until `resume`
                print(f"fallback because of {output.reason_names}")
                session.resume()
        print(f"state {output.sequence}, status {output.status_names or 'OK'}")
        print("tau = g - d v:", np.allclose(output.tau, r.g - 2.0 * v))
