"""Where robots come from: URDF files and texts, families, descriptions, configurations."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.agreement import assert_agree
from support.robots import robot_urdfs
from torqued.kernels import InputError, ModelError, ModelWarning, Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.families import family

ARM = family("chain", 3, seed=2)
Q = np.array([0.1, -0.2, 0.3])


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(to_urdf(ARM), encoding="utf-8")
    return path


class TestWays:
    def test_file_text_and_description_give_the_same_robot(self, urdf):
        M = Robot.from_description(ARM).mass_matrix(Q)
        for robot in (
            Robot.from_urdf(urdf),
            Robot.from_urdf(str(urdf)),
            Robot.from_xml(urdf.read_text(encoding="utf-8")),
        ):
            assert_agree(robot.mass_matrix(Q), M, within=1e-14)
            assert robot.name == "chain3"

    @pytest.mark.parametrize(
        ("kind", "base", "nv"),
        [("chain", "fixed", 6), ("tree", "fixed", 6), ("biped", "floating", 12)],
    )
    def test_families_have_the_base_of_the_papers(self, kind, base, nv):
        robot = Robot.family(kind, 6)
        assert (robot.model.base, robot.nv) == (base, nv)

    def test_family_may_be_given_another_base(self):
        assert Robot.family("biped", 6, base="fixed").nv == 6

    def test_missing_file_is_one_error_that_names_it(self, tmp_path):
        with pytest.raises(ModelError, match=r"nothing\.urdf"):
            Robot.from_urdf(tmp_path / "nothing.urdf")


class TestOptions:
    def test_base(self, urdf):
        fixed, floating = Robot.from_urdf(urdf), Robot.from_urdf(urdf, "floating")
        assert (fixed.nq, fixed.nv) == (3, 3)
        assert (floating.nq, floating.nv) == (10, 9)
        assert floating.joint_names == ("root_joint", *fixed.joint_names)
        with pytest.raises(InputError, match="base: 'hanging' is unknown, allowed: 'fixed', 'flo"):
            Robot.from_urdf(urdf, "hanging")

    def test_gravity(self):
        robot = Robot.from_description(ARM, gravity=[1, 2, 3])
        np.testing.assert_array_equal(robot.gravity_vector, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(Robot.from_description(ARM).gravity_vector, [0, 0, -9.81])
        with pytest.raises(InputError, match=r"gravity: shape \(\), expected \(3,\)"):
            Robot.from_description(ARM, gravity=-9.81)
        with pytest.raises(InputError, match=r"gravity\[2\] is nan"):
            Robot.from_description(ARM, gravity=[0.0, 0.0, np.nan])

    def test_armature(self):
        robot = Robot.from_description(ARM, armature={"joint_2": 0.25})
        np.testing.assert_array_equal(robot.limits.armature, [0.0, 0.25, 0.0])

    def test_faults_of_armature_come_together(self):
        with pytest.raises(ModelError) as caught:
            Robot.from_description(ARM, armature={"joint_9": 0.1, "joint_1": np.inf})
        assert caught.value.problems == (
            "joint 'joint_9' is unknown; did you mean 'joint_3' or 'joint_2' or 'joint_1'?",
            "joint 'joint_1': inf is not a finite number",
        )
        assert caught.value.source == f"armature for {ARM.source}"
        with pytest.raises(ModelError, match="joint_1"):
            Robot.from_description(ARM, armature={"joint_1": -0.1})

    def test_mimic(self):
        with pytest.raises(InputError, match="mimic: 'ignore' is unknown, allowed: 'follow', 'fr"):
            Robot.from_description(ARM, mimic="ignore")

    def test_description_is_left_as_it_was(self):
        Robot.from_description(ARM, armature={"joint_2": 0.25}, mimic="free")
        assert all(joint.armature == 0.0 for joint in ARM.joints)


def test_joint_called_as_the_base_is_keeps_its_name_and_frame():
    joints = (replace(ARM.joints[0], name="root_joint"), *ARM.joints[1:])
    arm = replace(ARM, joints=joints)
    with pytest.warns(ModelWarning, match="'root_joint': the floating base's joint is called 'fl"):
        robot = Robot.from_description(arm, "floating")
    assert robot.joint_names[:2] == ("floating_root_joint", "root_joint")
    q = robot.integrate(robot.neutral(), np.full(robot.nv, 0.3), 1.0)
    own = robot.frame_pose(q, "root_joint")
    np.testing.assert_array_equal(own, robot.frame_pose(q, joints[0].child))
    assert Robot.from_description(arm).joint_names[0] == "root_joint"  # no warning
    heavy = robot.with_friction({"viscous": {"root_joint": 2.0}})
    assert heavy.limits.damping[6] == 2.0


class TestWarnings:
    """A link of which no real body has the inertia, which does no harm."""

    text = """<robot name="thin"><link name="base"/>
        <link name="rod"><inertial><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="rod"/>
        <limit velocity="1" effort="1"/></joint></robot>"""

    def test_harmless_fault_warns_and_is_kept(self):
        with pytest.warns(ModelWarning, match="link 'rod': no body has") as caught:
            robot = Robot.from_xml(self.text)
        assert len(caught) == 1
        assert len(robot.warnings) == 1 and "link 'rod'" in robot.warnings[0]

    def test_strict_makes_it_an_error(self):
        with pytest.raises(ModelError, match="link 'rod'"):
            Robot.from_xml(self.text, strict=True)

    def test_sound_robot_has_none(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert Robot.from_description(ARM, strict=True).warnings == ()


class TestConfig:
    def write(self, folder: Path, text: str) -> Path:
        path = folder / "robot.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def refused(self, folder: Path, text: str) -> tuple[str, ...]:
        path = self.write(folder, text)
        with pytest.raises(ModelError) as caught:
            Robot.from_config(path)
        assert caught.value.source == str(path)
        return caught.value.problems

    def test_urdf_beside_the_file_with_options(self, urdf, tmp_path):
        path = self.write(
            tmp_path,
            """
            urdf = "arm.urdf"
            base = "floating"
            gravity = [0, 0, -1.62]
            [armature]
            joint_2 = 0.25
            """,
        )
        robot = Robot.from_config(path)
        assert robot.nv == 9
        np.testing.assert_array_equal(robot.gravity_vector, [0.0, 0.0, -1.62])
        np.testing.assert_array_equal(robot.limits.armature[6:], [0.0, 0.25, 0.0])

    def test_table_of_the_robot_among_others(self, urdf, tmp_path):
        path = self.write(
            tmp_path, '[robot]\nurdf = "arm.urdf"\n[robot.armature]\njoint_1 = 1\n[servo]\nrate = 1'
        )
        assert Robot.from_config(path).limits.armature[0] == 1.0

    def test_family(self, tmp_path):
        robot = Robot.from_config(self.write(tmp_path, 'family = "biped"\ndofs = 4\nseed = 3'))
        expected = Robot.family("biped", 4, seed=3)
        np.testing.assert_array_equal(
            robot.mass_matrix(robot.neutral()), expected.mass_matrix(expected.neutral())
        )

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "exactly one of 'model' and 'family'"),
            ('urdf = "a"\nfamily = "chain"\ndofs = 3', "exactly one of 'model' and"),
            ('family = "chain"', "'family' and 'dofs' require each other"),
            ('family = "chain"\ndofs = 3.5', "key 'dofs' is 3.5, expected a whole number"),
            ('family = "chain"\ndofs = true', "key 'dofs' is True, expected a whole number"),
            ('family = "chain"\ndofs = 0', "key 'dofs' is 0, expected a whole number from 1"),
            ('family = "snake"\ndofs = 3', "key 'family' is 'snake', expected one of 'chain'"),
            ("urdf = 5", "key 'urdf' is 5, expected a path"),
            ("robot = 5", "key 'robot' is 5, expected a table"),
            ('urdf = "a"\ndofs = 3', "'family' and 'dofs' require each other"),
            (
                'urdf = "arm.urdf"\nbase = "hanging"',
                "key 'base' is 'hanging', expected one of 'fixed'",
            ),
            ('urdf = "arm.urdf"\ngravity = "down"', "key 'gravity' is 'down', expected a list"),
            (
                'urdf = "arm.urdf"\ngravity = [1, 2]',
                "key 'gravity' is [1, 2], expected a list of three",
            ),
            ('urdf = "arm.urdf"\narmature = 1', "key 'armature' is 1, expected a table of joints"),
            ('urdf = "arm.urdf"\nstrict = "yes"', "key 'strict' is 'yes', expected true or false"),
            ('urdf = "arm.urdf"\ncolour = "red"', "key 'colour' is unknown; known: 'model', "),
            ("urdf = ", "cannot be read as TOML: "),
            ("urdf = " + 5000 * "[", "cannot be read as TOML: "),
        ],
    )
    def test_fault_is_one_error_that_names_the_file(self, urdf, tmp_path, text, problem):
        (found,) = self.refused(tmp_path, text)
        assert problem in found

    def test_all_faults_come_together(self, tmp_path):
        assert len(self.refused(tmp_path, 'colour = "red"\nstrict = 1\nbase = 2')) == 4

    def test_file_that_is_no_text_is_one_error(self, tmp_path):
        path = tmp_path / "robot.toml"
        path.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(ModelError, match="is not UTF-8 text"):
            Robot.from_config(path)
        with pytest.raises(ModelError, match=r"nothing\.toml"):
            Robot.from_config(tmp_path / "nothing.toml")

    def test_faults_of_the_urdf_name_the_urdf(self, tmp_path):
        (tmp_path / "bad.urdf").write_text('<robot name="r"/>', encoding="utf-8")
        path = self.write(tmp_path, 'urdf = "bad.urdf"')
        with pytest.raises(ModelError) as caught:
            Robot.from_config(path)
        assert "bad.urdf" in caught.value.source


class TestRigid:
    """A robot none of whose joints move."""

    def test_on_a_fixed_base_it_has_poses_and_no_coordinates(self):
        (path,) = [path for path in robot_urdfs() if path.stem == "iris_simple"]
        robot = Robot.from_urdf(path)
        none = np.zeros(0)
        assert (robot.nq, robot.nv) == (0, 0)
        assert robot.mass_matrix(none).shape == robot.coriolis_matrix(none, none).shape == (0, 0)
        assert robot.christoffel(none).shape == (0, 0, 0)
        assert robot.forward_dynamics(none, none, none).shape == (0,)
        assert robot.frame_jacobian(none, robot.frame_names[0]).shape == (6, 0)
        np.testing.assert_array_equal(robot.frame_pose(none, robot.frame_names[0]), np.eye(4))
        assert robot.energy(none, none).tolist() == [0.0, 0.0]

    def test_on_a_floating_base_it_is_a_free_body(self):
        (path,) = [path for path in robot_urdfs() if path.stem == "iris_simple"]
        robot = Robot.from_urdf(path, "floating")
        assert robot.nv == 6
        M = robot.mass_matrix(robot.neutral())
        assert_agree(M[3:, 3:], robot.total_mass * np.eye(3))


class TestGroupedWarnings:
    TEXT = to_urdf(family("chain", 3))

    def test_many_of_one_file_come_as_one_with_a_list(self, tmp_path):
        path = tmp_path / "loose.urdf"
        text = self.TEXT.replace('effort="100.0"', 'effort="0.0"')
        path.write_text(text.replace('velocity="', 'velocity="0.0" other="', 1))
        with pytest.warns(ModelWarning) as caught:
            robot = Robot.from_urdf(path)
        assert len(robot.warnings) == 4 and len(caught) == 1
        message = str(caught[0].message)
        assert message.splitlines() == [
            f"{path}: 2 warnings",
            "  - joint 'joint_1': velocity limit is 0.0",
            "  - joint 'joint_1' and 2 more: effort limit is 0.0",
        ]
        assert message.count(str(path)) == 1
        assert caught[0].filename == __file__

    def test_one_alone_is_a_line(self):
        text = self.TEXT.replace('effort="100.0"', 'effort="0.0"', 1)
        with pytest.warns(ModelWarning) as caught:
            robot = Robot.from_xml(text)
        assert str(caught[0].message) == f"<text>: {robot.warnings[0]}"
