"""One owner per memory: what others do changes no bit of a session's torque."""

import threading

import numpy as np
import pytest

from support.eventually import PATIENCE
from torqued.client import Client, errors
from torqued.kernels.control.laws import LAWS

pytestmark = pytest.mark.slow

#: Outputs that are compared for each law: the race that this looks for showed once in 200.
OUTPUTS = 750

FEET = [{"frame": "link_left_4"}, {"frame": "link_right_4"}]
STANDING = {
    "wholebody": {"tasks": [{"kind": "posture"}, {"kind": "com"}], "contacts": FEET},
    "balance": {"contacts": FEET},
}
ARM = {
    "stream": {"want": ["M", "C", "Gamma", "g", "J"], "frames": ["link_5"]},
    "adaptive": {"frame": "link_5", "gains": {"adaptation": 0.0}},
    "impedance": {"frame": "link_5"},
    "elastic": {"springs": {"stiffness": 300.0, "motor_inertia": 0.1}},
}


#: Robot and law: some are for arms, some for what stands on its feet.
CASES = [("biped8" if law in STANDING else "tree8", law) for law in LAWS]


@pytest.fixture(scope="module")
def daemon(request, shared_daemons):
    # A slow loop has time for a whole-body law on any machine.
    base = ["--base", "floating", "--rate", "250"] if request.param == "biped8" else []
    with shared_daemons.lend(request.param, *base) as process:
        yield process


def motors_of(law, q, v):
    """What a state has beside q and v."""
    return {"motor_q": q, "motor_v": v} if law == "elastic" else {}


class Disturbance:
    """Another client that opens, tunes, closes and asks for torques as fast as it can."""

    def __init__(self, endpoint, law, options, q, v):
        self.done, self.rounds, self.failure = threading.Event(), 0, None
        self._arguments = endpoint, law, options, q, v
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self._thread.join()
        assert self.failure is None
        assert self.rounds > 0

    def _run(self):
        endpoint, law, options, q, v = self._arguments
        try:
            with Client(endpoint, timeout=PATIENCE) as client:
                while not self.done.is_set():
                    if law != "stream":
                        client.control(law, q, 0.5 * v, **motors_of(law, q, v), **options)
                    with client.session(law, **options) as session:
                        if session.gains:
                            session.tune(session.gains, over=0.0)
                    self.rounds += 1
        except errors.TorquedError as error:
            self.failure = error


@pytest.mark.parametrize(("daemon", "law"), CASES, indirect=["daemon"])
def test_torques_at_a_constant_state_are_the_same_to_the_last_bit(daemon, law):
    standing = daemon.name.startswith("biped")
    options = (STANDING | ARM).get(law, {})
    with daemon.client() as client:
        robot = client.hello()
        rng = np.random.default_rng(1)
        q = np.array(robot.neutral)
        q[7 if standing else 0 :] = rng.uniform(-0.3, 0.3, len(q) - (7 if standing else 0))
        v = np.zeros(robot.nv) if standing else rng.uniform(-0.3, 0.3, robot.nv)
        motors = motors_of(law, q, v)
        with (
            client.session(law, **options) as session,
            Disturbance(daemon.endpoint, law, options, q, v) as disturbance,
        ):
            compared = after = 0
            while compared < OUTPUTS or not (disturbance.rounds or disturbance.failure):
                output = session.step(q, v, at=0.0, **motors)
                after += 1
                if not output.usable:  # a busy machine has left the law no time
                    after = 0
                    if law != "stream":
                        session.resume()
                elif after == 2:  # a solver starts from the solution before
                    first = output
                elif after > 2:
                    for name in session.outputs:
                        values, before = output.values[name], first.values[name]
                        np.testing.assert_equal(values, before, f"{name}, {output.sequence}")
                    compared += 1


@pytest.mark.parametrize("daemon", ["tree8"], indirect=True)
def test_default_gains_are_the_same_however_busy_the_loop_is(daemon):
    with daemon.client() as client:
        robot = client.hello()
        q, v = np.array(robot.neutral), np.zeros(robot.nv)
        with client.session("passivity") as running:
            found = []
            for _ in range(40):
                running.send(q + 0.3, v)
                with client.session("impedance", frame="link_5") as session:
                    found.append(session.gains)
    for gains in found[1:]:
        for name, value in gains.items():
            assert np.array_equal(value, found[0][name]), name
