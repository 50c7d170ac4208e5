"""Rotor inertia: given at the joint, behind a gear, or published for a robot by name."""

import warnings

import numpy as np
import pytest

from torqued.kernels import ModelError, ModelWarning, Robot
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model import catalog
from torqued.kernels.model.known_robots import ROTORS

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
    robot = Robot.load("panda", armature={"panda_joint7": rotor})
    assert robot.limits.armature[-1] == pytest.approx(0.025)
    assert robot.limits.armature[:-1].tolist() == [0.195] * 4 + [0.074] * 2  # as published


def test_robots_by_name_have_published_rotors_and_files_of_strangers_none():
    panda = Robot.named("panda")
    assert panda.limits.armature.tolist() == [0.195] * 4 + [0.074] * 3
    served = Robot.load("franka")
    assert np.array_equal(served.limits.armature, panda.limits.armature)
    assert not Robot.from_urdf(catalog.find_file("panda")).limits.armature.any()
    assert not Robot.named("panda", armature={}).limits.armature.any()
    assert not Robot.load("panda", armature={}).limits.armature.any()


def test_every_published_rotor_is_of_a_joint_of_its_file():
    for name, rotors in ROTORS.items():
        joints = {joint.name for joint in read_file(catalog.find_file(name)).joints}
        assert rotors.keys() <= joints


def rotor_warnings(load):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = load()
    found = [str(item.message) for item in caught if "rotor inertia" in str(item.message)]
    assert [note for note in robot.warnings if "rotor inertia" in note] == [
        text.partition(": ")[2] for text in found
    ]
    return found


ARMS = ("panda", "ur3", "ur5", "ur10", "kinova", "xarm7", "z1", "talos_left_arm")


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_without_rotors_gets_one_warning_with_its_remedy(name):
    (text,) = rotor_warnings(lambda: Robot.named(name, armature={}))
    assert "has no rotor inertia" in text
    assert "[robot.armature]" in text and "torqued identify" in text


def test_robots_with_rotors_and_those_that_no_motor_drives_get_no_warning():
    panda = read_file(catalog.find_file("panda"))
    light = [joint.name for joint in panda.joints if joint.limits.effort == 12.0]
    for load in (
        lambda: Robot.named("panda"),
        lambda: Robot.named("so101"),
        lambda: Robot.named("g1", base="fixed"),
        lambda: Robot.named("chain20"),
        lambda: Robot.named("tree5"),
        lambda: Robot.family("chain", 3),
        lambda: Robot.from_description(panda),
        lambda: Robot.named("double_pendulum"),  # without limits of effort
        lambda: Robot.named("go2", "floating"),
        lambda: arm(),  # 10 N m for 0.06 kg m²
    ):
        assert rotor_warnings(load) == []
    (text,) = rotor_warnings(
        lambda: Robot.from_urdf(catalog.find_file("panda"), armature=dict.fromkeys(light, 0.07))
    )
    assert "joint 'panda_joint3'" in text  # 87 N m for 0.08 kg m², stretched out


def test_a_file_without_rotors_is_right_as_it_is():
    path = catalog.find_file("ur5")
    with pytest.warns(ModelWarning, match="no rotor inertia"):
        assert Robot.from_urdf(path, strict=True).nv == 6
