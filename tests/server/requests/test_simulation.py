"""`simulate` over the wire: the robot's own method, with laws, and bounded."""

import numpy as np
import pytest

from support.in_process import InProcess
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.server.requests.operations import OPERATIONS


@pytest.fixture(scope="module")
def daemon():
    return InProcess(Robot.family("chain", 3))


@pytest.fixture(scope="module")
def start(daemon):
    return dict(zip("qv", daemon.robot.random_state(np.random.default_rng(1)), strict=True))


def test_simulation_is_the_robots_own_and_is_carried_out_by_the_worker(daemon, start):
    tau = [0.1, 0.2, 0.3]
    reply = daemon.ask("simulate", **start, tau=tau, seconds=0.02, dt=5e-3, method="rkmk2")
    found = daemon.robot.simulate(*start.values(), tau, 0.02, 5e-3, "rkmk2")
    for name in ("time", "q", "v", "tau"):
        assert np.array_equal(reply[name], getattr(found, name))
    assert daemon.worker.jobs[-1] == "simulate"


def test_law_acts_with_its_gains_and_references(daemon, start):
    fields = {"law": "pd", "gains": {"damping": 3.0}, "references": {"q_ref": [0.0, 0.1, 0.2]}}
    reply = daemon.ask("simulate", **start, **fields, seconds=0.01, dt=5e-3)
    law = Controller(daemon.robot, "pd", gains=fields["gains"])
    tau = law.torque(*start.values(), **fields["references"]).tau
    assert np.allclose(reply["tau"][0], tau)
    assert not np.allclose(reply["tau"][1], tau)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"seconds": 1e3, "dt": 1e-3}, "steps"),
        ({"seconds": 1e300, "dt": 1e-300}, "seconds"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": [1, 2]}, "seconds"),
        ({"dt": 0}, "dt"),
        ({"method": "verlet"}, "method"),
        ({"method": 4}, "method"),
        ({"every": 0}, "every"),
        ({"every": 1.5}, "every"),
        ({"law": "pd", "tau": [0, 0, 0]}, "tau"),
        ({"law": "pd", "coordinates": "mujoco"}, "coordinates"),
        ({"law": "stream"}, "law"),
        ({"law": "dance"}, "law"),
        ({"gains": {}}, "gains"),
        ({"contacts": []}, "contacts"),
        ({"tau": [[0, 0, 0]] * 3}, "tau"),
    ],
)
def test_what_is_wrong_is_refused_by_name(daemon, start, changed, field):
    fields = {"seconds": 0.01, "dt": 5e-3, **start} | changed
    reply = daemon.ask("simulate", **fields)
    assert not reply["ok"]
    assert (reply["error"]["code"], reply["error"]["field"]) == ("bad_field", field)


def test_laws_take_the_right_to_command():
    operation = OPERATIONS["simulate"]
    assert operation.right_for({"op": "simulate"}) == "read"
    assert operation.right_for({"op": "simulate", "law": "pd"}) == "command"
