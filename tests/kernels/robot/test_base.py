"""Names, sizes, limits, states and copies of a robot."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from support.agreement import assert_agree
from support.cases import cases, examples, random_case
from support.robots import load_real, robot_urdfs
from torqued.kernels import Robot


def real(name: str, base: str = "fixed") -> Robot:
    (path,) = [path for path in robot_urdfs() if path.stem == name]
    return load_real(path, base)


class TestNames:
    def test_joints_are_in_the_order_of_their_coordinates(self):
        robot = real("panda", "floating")
        assert robot.joint_names == (
            "root_joint",
            *(f"panda_joint{k}" for k in range(1, 8)),
            "panda_finger_joint1",
        )
        for name in robot.joint_names[1:]:
            place = robot.joint_names.index(name) + 5
            v = np.zeros(robot.nv)
            v[place] = 1.0
            twist = robot.frame_velocity(robot.neutral(), v, name, "body")
            assert np.abs(twist).max() == pytest.approx(1.0)

    def test_repr_says_what_it_is(self):
        assert repr(Robot.family("chain", 3)) == "<Robot 'chain3': fixed base, nq=3, nv=3>"

    @examples(25, case=cases())
    def test_sizes_fit_together(self, case):
        robot = case.robot
        assert robot.neutral().shape == case.q.shape == (robot.nq,)
        assert robot.limits.lower.shape == robot.limits.upper.shape == (robot.nq,)
        for name in ("velocity", "effort", "damping", "friction", "armature"):
            assert getattr(robot.limits, name).shape == (robot.nv,)
        assert len(set(robot.frame_names)) == len(robot.frame_names)
        links = [link.name for link in case.description.links]
        assert set(robot.frame_names[: len(links)]) == set(links)


class TestLimits:
    @examples(25, case=cases(mimics=False))
    def test_are_those_of_the_description(self, case):
        declared = {joint.name: joint for joint in case.description.joints}
        limits = case.robot.limits
        for info in case.robot.model.joints:
            if info.name not in declared:
                continue
            joint, v = declared[info.name], slice(info.v, info.v + info.nv)
            assert (limits.velocity[v] == joint.limits.velocity).all()
            assert (limits.effort[v] == joint.limits.effort).all()
            assert (limits.damping[v] == joint.damping).all()
            assert (limits.friction[v] == joint.friction).all()
            assert (limits.armature[v] == joint.armature).all()
            q = slice(info.q, info.q + info.nq)
            if info.nq > info.nv or joint.type == "continuous":
                assert np.isinf(limits.lower[q]).all() and np.isinf(limits.upper[q]).all()
            else:
                assert (limits.lower[q] == joint.limits.lower).all()
                assert (limits.upper[q] == joint.limits.upper).all()


class TestStates:
    def test_neutral_is_zero_with_quaternions_at_identity(self):
        q = Robot.family("biped", 4).neutral()
        np.testing.assert_array_equal(q, [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])

    @examples(25, case=cases())
    def test_random_states_are_valid_and_within_limits(self, case):
        q, v = case.robot.random_state(case.rng)
        limits = case.robot.limits
        assert (q >= limits.lower).all() and (q <= limits.upper).all()
        assert v.shape == (case.robot.nv,)
        case.robot.mass_matrix(q)  # takes its quaternions

    def test_random_states_are_the_same_for_the_same_generator(self):
        robot = real("talos_reduced", "floating")
        first, again = (robot.random_state(np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(first[0], again[0])
        np.testing.assert_array_equal(first[1], again[1])


class TestCopies:
    def test_copy_computes_the_same_in_another_workspace(self):
        case = random_case(3, 6, "floating")
        copy = case.robot.copy()
        assert copy.model is case.robot.model
        assert copy.work is not case.robot.work
        np.testing.assert_array_equal(copy.mass_matrix(case.q), case.robot.mass_matrix(case.q))

    def test_copies_may_compute_at_the_same_time(self):
        """Kernels release the interpreter: threads that shared a workspace would mix up."""
        robot = Robot.family("chain", 30)
        rng = np.random.default_rng(0)
        states = [robot.random_state(rng) for _ in range(4)]
        expected = [robot.coriolis_matrix(q, v) for q, v in states]

        def repeat(state: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
            own = robot.copy()
            return [own.coriolis_matrix(*state) for _ in range(300)]

        with ThreadPoolExecutor(4) as pool:
            for results, right in zip(pool.map(repeat, states), expected, strict=True):
                for result in results:
                    np.testing.assert_array_equal(result, right)

    def test_results_are_the_callers_own(self):
        robot = Robot.family("chain", 3)
        first = robot.mass_matrix(np.zeros(3))
        kept = first.copy()
        robot.mass_matrix(np.ones(3))
        np.testing.assert_array_equal(first, kept)

    def test_gravity_vector_cannot_be_changed_behind_the_robots_back(self):
        robot = Robot.family("chain", 3)
        before = robot.gravity(np.zeros(3))
        robot.gravity_vector[:] = 0.0
        assert_agree(robot.gravity(np.zeros(3)), before)
