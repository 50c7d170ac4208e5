"""Arms with rotors in MuJoCo, under laws whose model has them, and under others."""

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.model.catalog import describe, find_file
from torqued.tools.demos.models import PANDA_READY
from torqued.tools.demos.plant import Plant
from torqued.tools.demos.trajectories import Sines

STEP, SECONDS, LATE = 1e-3, 1.5, 2


def tracking_error(robot, law):
    """(nv,) rad, RMS of the second half of a motion, with torques 2 ms late."""
    plant, controller = Plant(describe("panda")), Controller(robot, law)
    controller.stabilize(STEP, LATE * STEP)
    motion = Sines(PANDA_READY, np.full(7, 0.2), np.linspace(0.4, 0.6, 7), start=0.5)
    plant.reset(*motion(0.0)[:2])
    waiting, errors = [robot.gravity(plant.q)] * LATE, []
    while plant.time < SECONDS:
        q_ref, v_ref, a_ref = motion(plant.time)
        given = {"q_ref": q_ref, "v_ref": v_ref, "a_ref": a_ref}
        waiting.append(controller.step(plant.q, plant.v, STEP, **given).tau)
        plant.step(waiting.pop(0), STEP)
        errors.append(plant.q - motion(plant.time)[0])
    return np.sqrt(np.square(errors[len(errors) // 2 :]).mean(axis=0))


def configured():
    """The arm of its file, with rotors from a configuration: of half of its joints behind gears."""
    rotors = {f"panda_joint{k}": 0.195 for k in range(1, 5)}
    rotors |= {
        f"panda_joint{k}": {"motor_inertia": 7.4e-6, "gear_ratio": 100.0} for k in range(5, 8)
    }
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    return Robot.load(find_file("panda"), armature=rotors, locked=fingers)


@pytest.mark.parametrize("law", ["passivity", "pd_plus", "computed_torque"])
def test_an_arm_is_tracked_closely_if_its_rotors_are_in_the_model(law):
    close = tracking_error(Robot.named("panda"), law)
    assert close.max() < 2e-3
    loose = tracking_error(Robot.named("panda", armature={}), law)
    assert loose.max() > 10.0 * close.max()


def test_rotors_of_a_configuration_track_as_those_of_a_name():
    named, given = (
        tracking_error(robot, "passivity") for robot in (Robot.named("panda"), configured())
    )
    assert np.allclose(given, named, atol=1e-9)
