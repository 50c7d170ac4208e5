"""Robots in contact over time, their forces as external ones, and the verdicts on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.cases import cases, examples
from support.contact_cases import (
    HUMANOIDS,
    SIZE,
    bent,
    box,
    contact_cases,
    corners,
    random_contact,
    standing,
)
from support.robots import robots_folder
from support.textbook import Y, Z, body, chain
from torqued.kernels import Contact, Robot, Wrench
from torqued.kernels.contacts.types import ContactForce
from torqued.kernels.model.description import Array

real = pytest.mark.skipif(
    not robots_folder().exists(), reason="example-robot-data is not installed"
)

G, MASS = 9.81, 2.0
HEIGHT = SIZE[2] / 2.0


class TestOverTime:
    """Explicit steps, so that errors add up where nothing acts against them."""

    DT = 1e-3

    def simulate(
        self, robot: Robot, q: Array, v: Array, contacts: list[Contact], steps: int
    ) -> tuple[Array, Array]:
        for _ in range(steps):
            a = robot.contact_dynamics(q, v, np.zeros(robot.nv), contacts).a
            v = v + self.DT * a
            q = robot.integrate(q, v, self.DT)
        return q, v

    def pendulum(self) -> tuple[Robot, Array, Array, Contact]:
        """A free body that swings about a point of it, held in the world."""
        robot = box(MASS)
        q, point = standing(robot, 1.0), (0.1, 0.05, 0.2)
        target = robot.frame_pose(q, "box", point)[:3, 3]
        contact = Contact("box", "point", point=point, target=target)
        v = np.array([0.5, 2.0, 1.0, 0.0, 0.0, 0.0])
        v = robot.impact(q, v, [contact]).v
        return robot, q, v, contact

    def test_without_gains_errors_add_up_and_with_gains_they_do_not(self):
        robot, closure = self.four_bar()
        tip, place = closure.point, closure.other_point
        loose = Contact("l3", "point", point=tip, target=place)
        firm = replace(loose, stiffness=400.0, damping=40.0)
        q = np.array([0.0, np.pi / 2, np.pi / 2])
        v = robot.impact(q, np.array([3.0, 0.0, 0.0]), [loose]).v
        drifts = []
        for contact in (loose, firm):
            end, _ = self.simulate(robot, q, v, [contact], 1000)
            drifts.append(largest(robot.frame_pose(end, "l3", tip)[:3, 3] - place))
        assert drifts[0] > 1e-2
        assert drifts[1] < 1e-3

    @pytest.mark.parametrize("kind", ["normal", "point", "frame"])
    def test_drifted_contact_is_pulled_back_as_critically_damped(self, kind):
        """ë + 2 ω ė + ω² e = 0 with ω = 20: e(t) = e₀ (1 + ω t) exp(−ω t)."""
        robot = box(MASS)
        q = standing(robot, HEIGHT)
        target = np.eye(4)
        target[2, 3] = HEIGHT - 0.01
        contact = Contact("box", kind, target=target, stiffness=400.0, damping=40.0)
        q, _ = self.simulate(robot, q, np.zeros(6), [contact], 200)
        expected = 0.01 * (1.0 + 20.0 * 0.2) * np.exp(-20.0 * 0.2)
        assert_agree(q[2] - target[2, 3], expected, within=0.03)
        q, _ = self.simulate(robot, q, np.zeros(6), [contact], 1000)
        assert abs(q[2] - target[2, 3]) < 1e-6

    def test_turned_frame_is_turned_back(self):
        robot = box(MASS)
        q = standing(robot, HEIGHT)
        pose = robot.frame_pose(q, "box")
        turned = robot.integrate(q, [0.2, -0.3, 0.1, 0.1, 0.0, 0.0], 1.0)
        contact = Contact("box", target=pose, stiffness=400.0, damping=40.0)
        end, _ = self.simulate(robot, turned, np.zeros(6), [contact], 1000)
        assert_agree(robot.frame_pose(end, "box"), pose, within=1e-6)

    def four_bar(self) -> tuple[Robot, Contact]:
        """Three unequal links of a planar loop that ends at a place of the base."""
        rod = body(1.0, 0.5 * Z, 0.1, 0.1, 0.01)
        places = (0.0 * Z, Z, 0.8 * Z)
        links = [("revolute", Y, place, rod) for place in places]
        robot = Robot.from_description(chain(*links))
        place = robot.frame_pose([0.0, np.pi / 2, np.pi / 2], "l3", (0.0, 0.0, 0.6))[:3, 3]
        closure = Contact("l3", "point", point=(0, 0, 0.6), other="base", other_point=place)
        return robot, closure

    def test_loop_stays_closed(self):
        """Planar: the closure's y row is one that nothing moves."""
        robot, closure = self.four_bar()
        q = np.array([0.0, np.pi / 2, np.pi / 2])
        closure = replace(closure, stiffness=400.0, damping=40.0)
        solution = robot.contact_dynamics(q, np.zeros(3), np.zeros(3), [closure])
        assert solution.rank_deficient and not solution.conflicting
        v = robot.impact(q, np.array([3.0, 0.0, 0.0]), [closure]).v
        assert largest(v) > 0.5
        end, _ = self.simulate(robot, q, v, [closure], 1000)
        gap = robot.frame_pose(end, "l3", closure.point)[:3, 3] - closure.other_point
        assert largest(gap) < 1e-3
        assert largest(end - q) > 0.1  # it moved

    def test_open_loop_does_not_stay_closed(self):
        robot, closure = self.four_bar()
        q = np.array([0.0, np.pi / 2, np.pi / 2])
        end, _ = self.simulate(robot, q, np.array([0.5, 0.0, 0.0]), [], 500)
        gap = robot.frame_pose(end, "l3", closure.point)[:3, 3] - closure.other_point
        assert largest(gap) > 0.1

    @real
    def test_clasped_hands_stay_clasped(self):
        which = HUMANOIDS["talos"]
        robot = which.load()
        q = bent(robot, np.random.default_rng(1))
        left, right = which.hands
        relative = np.linalg.inv(robot.frame_pose(q, right)) @ robot.frame_pose(q, left)
        clasped = Contact(left, other=right, target=relative, stiffness=400.0, damping=40.0)
        contacts = [*which.frames(), clasped]
        end, _ = self.simulate(robot, q, np.zeros(robot.nv), contacts, 200)
        after = np.linalg.inv(robot.frame_pose(end, right)) @ robot.frame_pose(end, left)
        assert_agree(after, relative, within=2e-3)
        assert largest(robot.difference(q, end)) > 0.1

    def test_contact_without_velocity_does_no_work(self):
        robot, q, v, contact = self.pendulum()
        solution = robot.contact_dynamics(q, v, np.zeros(6), [contact])
        assert abs(solution.force @ (solution.G @ v)) < 1e-10
        assert largest(solution.force) > 1.0


def as_external(forces: tuple[ContactForce, ...]) -> dict[str, list[Wrench]]:
    """Contact forces as what acts on the robot; a loop closure acts on both of its ends."""
    f_ext: dict[str, list[Wrench]] = {}
    for force in forces:
        contact, moment, push = force.contact, force.wrench[:3], force.wrench[3:]
        f_ext.setdefault(contact.frame, []).append(Wrench(push, moment, contact.point))
        if contact.other:
            f_ext.setdefault(contact.other, []).append(Wrench(-push, -moment, contact.other_point))
    return f_ext


class TestExternalForces:
    """[BK12] eq. 24: forces at points of bodies, several on each, enter by Jᵀ f."""

    @examples(40, case=contact_cases())
    def test_contact_forces_given_as_external_ones_need_the_same_torques(self, case):
        robot, (q, v) = case.robot, case.state
        tau = case.case.vector()
        solution = robot.contact_dynamics(q, v, tau, case.contacts)
        f_ext = as_external(solution.contacts)
        needed = robot.inverse_dynamics(q, v, solution.a, f_ext)
        size = largest(tau) + largest(robot.bias(q, v)) + largest(solution.force)
        assert_agree(needed, tau, within=1e-7, size=size)
        a = robot.forward_dynamics(q, v, tau, f_ext)
        assert_agree(a, solution.a, within=1e-6, size=1.0 + largest(a))

    @real
    @pytest.mark.parametrize("name", ["talos", "g1"])
    def test_feet_carry_what_gravity_and_motion_ask_for(self, name):
        """All external forces together change the momentum."""
        which = HUMANOIDS[name]
        robot = which.load()
        rng = np.random.default_rng(2)
        q, v = bent(robot, rng), 0.3 * rng.normal(size=robot.nv)
        tau = np.concatenate([np.zeros(6), rng.normal(size=robot.nv - 6)])
        solution = robot.contact_dynamics(q, v, tau, which.frames())
        rate = robot.centroidal_matrix(q) @ solution.a + robot.centroidal_bias(q, v)
        center = robot.center_of_mass(q)
        total = np.zeros(6)
        for force in solution.contacts:
            lever = robot.frame_pose(q, force.contact.frame)[:3, 3] - center
            total += np.concatenate([np.cross(lever, force.wrench[3:]), np.zeros(3)])
            total += force.wrench
        total[3:] += robot.total_mass * robot.gravity_vector
        assert_agree(rate, total, within=1e-9)


class TestVerdicts:
    """A box that is glued to the ground as a frame, in the middle of its bottom."""

    def verdict(self, tau: Array, normal: Array = Z, **options):
        robot = box(MASS)
        contact = Contact(
            "box", point=(0, 0, -HEIGHT), normal=normal, friction=0.5, half_size=(0.1, 0.15)
        )
        contact = replace(contact, **options)
        q = standing(robot, HEIGHT)
        return robot.contact_dynamics(q, np.zeros(6), tau, [contact]).contacts[0]

    def test_box_at_rest_is_feasible(self):
        force = self.verdict(np.zeros(6))
        assert force.feasible
        assert_agree(force.force, [0.0, 0.0, MASS * G])
        assert_agree(force.wrench, [0, 0, 0, 0, 0, MASS * G])

    def test_lifted_box_pulls(self):
        force = self.verdict(np.array([0, 0, 0, 0, 0, 2 * MASS * G]))
        assert force.pulls and not force.feasible

    def test_box_on_the_ceiling_pulls(self):
        assert self.verdict(np.zeros(6), normal=-Z).pulls

    @pytest.mark.parametrize(("share", "slips"), [(0.99, False), (1.01, True)])
    @pytest.mark.parametrize("direction", [0.0, 1.0, 4.0])
    def test_box_pushed_past_its_limit_slips(self, share, slips, direction):
        push = share * 0.5 * MASS * G
        # At the height of the ground, so that it does not tip.
        x, y = push * np.cos(direction), push * np.sin(direction)
        force = self.verdict(np.array([y * -HEIGHT, x * HEIGHT, 0, x, y, 0]) * [-1, -1, 1, 1, 1, 1])
        assert (force.slips, force.pulls, force.tips) == (slips, False, False)
        assert force.feasible != slips

    @pytest.mark.parametrize(
        ("moment", "tips"),
        [
            ((0.0, 0.99 * 0.1), False),
            ((0.0, 1.01 * 0.1), True),
            ((0.0, -1.01 * 0.1), True),
            ((0.99 * 0.15, 0.0), False),
            ((1.01 * 0.15, 0.0), True),
            ((-1.01 * 0.15, 0.0), True),
        ],
    )
    def test_moment_that_moves_the_center_of_pressure_off_the_surface_tips(self, moment, tips):
        x, y = np.array(moment) * MASS * G
        force = self.verdict(np.array([x, y, 0.0, 0.0, 0.0, 0.0]))
        assert (force.tips, force.slips, force.pulls) == (tips, False, False)

    def test_size_of_the_surface_turns_with_the_frame(self):
        """A quarter turn about the vertical: its long side now lies along the world's x."""
        robot = box(MASS)
        q = standing(robot, HEIGHT)
        q[3:] = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
        contact = Contact("box", point=(0, 0, -HEIGHT), half_size=(0.1, 0.15))
        moment = 0.12 * MASS * G  # too much for the short side only
        for world_axis, tips in ((0, True), (1, False)):
            w = moment * np.eye(3)[world_axis]
            R = robot.frame_pose(q, "box")[:3, :3]
            tau = np.concatenate([R.T @ w, np.zeros(3)])
            force = robot.contact_dynamics(q, np.zeros(6), tau, [contact]).contacts[0]
            assert force.tips == tips

    def test_without_friction_or_size_there_is_no_verdict_about_them(self):
        force = self.verdict(np.array([9, 9, 0, 9, 9, 0.0]), friction=None, half_size=None)
        assert force.feasible

    def test_without_normal_force_any_push_slips(self):
        force = self.verdict(np.array([0, 0, 0, 1.0, 0, MASS * G]))
        assert force.slips

    def test_loop_closure_may_pull_unless_it_is_a_surface(self):
        rod = body(1.0, 0.5 * Z, 0.1, 0.1, 0.01)
        robot = Robot.from_description(chain(("prismatic", Z, 0 * Z, rod)))
        held = Contact("l1", "point", other="base", normal=-Z)
        solution = robot.contact_dynamics([0.0], [0.0], [0.0], [held])
        assert solution.contacts[0].force[2] < 0.0 and solution.contacts[0].feasible
        rough = replace(held, friction=0.5)
        assert robot.contact_dynamics([0.0], [0.0], [0.0], [rough]).contacts[0].pulls

    @real
    def test_humanoid_that_stands_is_feasible_and_one_that_hangs_is_not(self):
        which = HUMANOIDS["talos"]
        robot = which.load()
        q, zero = robot.neutral(), np.zeros(robot.nv)
        tau = robot.gravity(q)
        feet = [replace(foot, friction=0.7, half_size=(0.11, 0.07)) for foot in which.frames()]
        # Joints that carry the legs: the rest of gravity, after what the feet take over.
        held = robot.contact_dynamics(q, zero, zero, feet)
        base = np.linalg.pinv(held.G[:, :6].T) @ tau[:6]
        tau = tau - held.G.T @ base
        tau[:6] = 0.0
        stands = robot.contact_dynamics(q, zero, tau, feet)
        assert largest(stands.a) < 1e-6
        assert all(force.feasible for force in stands.contacts)
        ceiling = [replace(foot, normal=(0, 0, -1)) for foot in feet]
        hangs = robot.contact_dynamics(q, zero, tau, ceiling)
        assert all(force.pulls for force in hangs.contacts)


@examples(40, case=cases(least=2))
def test_point_and_normal_rows_are_part_of_the_frames_rows(case):
    robot, q, v = case.robot, case.q, case.v
    frame = random_contact(case, "frame", loop=False)
    tau = case.vector()
    full = robot.contact_dynamics(q, v, tau, [frame])
    point = robot.contact_dynamics(q, v, tau, [replace(frame, kind="point")])
    normal = robot.contact_dynamics(q, v, tau, [replace(frame, kind="normal")])
    assert_agree(point.G, full.G[3:], size=1.0)
    assert_agree(normal.G, full.G[5:], size=1.0)
    assert_agree(point.gamma, full.gamma[3:], size=1.0)
    assert_agree(normal.gamma, full.gamma[5:], size=1.0)


def test_copy_of_a_robot_has_contacts_of_its_own():
    robot = box(MASS)
    other = robot.copy()
    q, zero = standing(robot, HEIGHT), np.zeros(6)
    first = robot.contact_dynamics(q, zero, zero, corners())
    second = other.contact_dynamics(q, zero, zero, corners())
    np.testing.assert_array_equal(first.force, second.force)
    assert first.force is not second.force


def test_contacts_that_hold_arrays_are_looked_at_each_time():
    """Those that cannot change are checked once, which nobody notices."""
    robot = Robot.family("biped", 12)
    q, v = robot.neutral(), np.zeros(robot.nv)
    foot, point = robot.frame_names[-1], np.zeros(3)
    for shift in (0.0, 0.05):
        point[0] = shift
        changing = robot.contact_dynamics(q, v, v, [Contact(foot, "point", point=point)])
        same = Contact(foot, "point", point=(shift, 0.0, 0.0))
        for _ in range(2):
            fixed = robot.contact_dynamics(q, v, v, [same])
            assert np.array_equal(changing.a, fixed.a)
            place = robot.frame_pose(q, foot, point=point)[:3, 3]
            assert np.array_equal(fixed.contacts[0].position, place)
