"""Rotor inertia: given at the joint, behind a gear, or published for a robot by name."""

import numpy as np
import pytest

from torqued.kernels import ModelError, ModelWarning, Robot
from torqued.kernels.model import catalog
from torqued.kernels.model.known_robots import ROTORS
from torqued.kernels.model.urdf_file import read_file
from torqued.server.config import RobotConfig

ARM = """<robot name="arm"><link name="base"/>
<link name="rod"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
<inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="2"/>{dynamics}</joint></robot>"""


def arm(dynamics="", **options):
    return Robot.from_xml(ARM.format(dynamics=dynamics), **options)


def test_motor_inertia_counts_with_the_square_of_its_gear_ratio():
    behind = {"motor_inertia": 2e-5, "gear_ratio": -100.0}  # a gear may reverse the motion
    assert arm(armature={"j": behind}).limits.armature[0] == pytest.approx(0.2)
    in_file = arm('<dynamics motor_inertia="2e-5" gear_ratio="100"/>')
    assert in_file.limits.armature[0] == pytest.approx(0.2)
    both = arm('<dynamics armature="0.3" motor_inertia="2e-5" gear_ratio="100"/>')
    assert both.limits.armature[0] == 0.3


def test_energy_of_the_joint_is_that_of_link_and_spinning_rotor():
    v, ratio, rotor, link = 0.7, 100.0, 2e-5, 0.02 + 1.0 * 0.2**2
    energy = 0.5 * link * v**2 + 0.5 * rotor * (ratio * v) ** 2
    robot = arm(armature={"j": {"motor_inertia": rotor, "gear_ratio": ratio}})
    assert robot.energy([0.0], [v])[0] == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize("given", ["motor_inertia", "gear_ratio"])
def test_half_a_rotor_of_a_file_is_ignored_in_words(given):
    with pytest.warns(ModelWarning, match=f"{given} without .* rotor inertia is unknown"):
        robot = arm(f'<dynamics {given}="50"/>')
    assert robot.limits.armature[0] == 0.0


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"motor_inertia": 1e-5}, "has motor_inertia, expected motor_inertia and gear_ratio"),
        ({"motor_inertia": 1e-5, "gear_ratio": 0.0}, "gear_ratio is 0"),
        ({"motor_inertia": np.nan, "gear_ratio": 2.0}, "motor_inertia nan is not a finite"),
        ({"motor_inertia": -1e-5, "gear_ratio": 2.0}, "armature -4e-05 must be"),
        ("0.1", "'0.1' is not a finite number"),
    ],
)
def test_rotors_that_make_no_sense_are_refused_with_their_joint(given, problem):
    with pytest.raises(ModelError, match=f"joint 'j': {problem}"):
        arm(armature={"j": given})


def test_configuration_takes_either_form():
    rotor = {"motor_inertia": 1e-5, "gear_ratio": 50.0}
    config = RobotConfig.model_validate({"model": "panda", "armature": {"panda_joint7": rotor}})
    assert config.load().limits.armature[-1] == pytest.approx(0.025)


def test_robots_by_name_have_published_rotors_and_files_of_strangers_none():
    panda = Robot.named("panda")
    assert panda.limits.armature.tolist() == [0.195] * 4 + [0.074] * 3
    served = RobotConfig(model="franka").load()
    assert np.array_equal(served.limits.armature, panda.limits.armature)
    assert not Robot.from_urdf(catalog.find_urdf("panda")).limits.armature.any()
    assert not Robot.named("panda", armature={}).limits.armature.any()
    assert not RobotConfig(model="panda", armature={}).load().limits.armature.any()


def test_every_published_rotor_is_of_a_joint_of_its_file():
    for name, rotors in ROTORS.items():
        joints = {joint.name for joint in read_file(catalog.find_urdf(name)).joints}
        assert rotors.keys() <= joints
