"""Contacts that only push, stick, slide or let go: boxes by formula, robots by the conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st

from support.agreement import assert_agree
from support.cases import cases, examples
from support.contact_cases import (
    SIZE,
    box,
    box_inertia,
    contact_cases,
    corners,
    random_contact,
    standing,
)
from support.friction_cases import DT, HEIGHT, MASS, G, conditions, pushed, solve, total_force
from torqued.kernels import Contact, Robot
from torqued.kernels.model.description import Description, Joint, Link


class TestBox:
    def test_at_rest_it_stays(self):
        solution = solve(pushed())
        assert solution.converged and set(solution.states) == {"sticks"}
        assert_agree(solution.a, np.zeros(6), size=1.0)
        assert_agree(total_force(solution), [0.0, 0.0, MASS * G])

    @pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
    def test_pushed_below_its_limit_it_stays(self, share):
        push = share * 0.5 * MASS * G
        solution = solve(pushed(0.6 * push, 0.8 * push))
        assert solution.converged
        assert_agree(solution.a, np.zeros(6), within=1e-6, size=1.0)
        assert_agree(total_force(solution), [-0.6 * push, -0.8 * push, MASS * G], within=1e-6)

    @pytest.mark.parametrize("share", [1.001, 1.01, 1.5, 3.0])
    def test_pushed_past_its_limit_it_slides_with_what_is_left(self, share):
        push = share * 0.5 * MASS * G
        solution = solve(pushed(0.6 * push, 0.8 * push))
        assert solution.converged and set(solution.states) == {"slides"}
        left = push / MASS - 0.5 * G
        assert_agree(solution.a, [0, 0, 0, 0.6 * left, 0.8 * left, 0], within=1e-6, size=1.0)

    def test_exactly_at_its_limit_it_stays(self):
        push = 0.5 * MASS * G
        solution = solve(pushed(push))
        assert solution.converged
        assert_agree(solution.a, np.zeros(6), within=1e-4, size=1.0)

    def test_without_friction_it_slides_freely(self):
        solution = solve(pushed(3.0), friction=0.0)
        assert_agree(solution.a, [0, 0, 0, 3.0 / MASS, 0, 0], within=1e-9)

    def test_sliding_friction_opposes_the_motion_and_not_the_push(self):
        v = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
        solution = solve(pushed(4.0), v=v)
        after = DT * solution.a[3:5] + v[3:5]
        friction = total_force(solution)[:2]
        assert_agree(np.linalg.norm(friction), 0.5 * MASS * G, within=1e-6)
        assert_agree(friction / np.linalg.norm(friction), -after / np.linalg.norm(after), 1e-6)

    def test_sliding_box_comes_to_rest_within_a_step_and_no_further(self):
        v = np.array([0.0, 0.0, 0.0, 1e-3, 0.0, 0.0])
        solution = solve(pushed(), v=v)
        assert set(solution.states) == {"sticks"}
        assert_agree(v + DT * solution.a, np.zeros(6), size=1e-3)

    @pytest.mark.parametrize(("lift", "leaves"), [(0.9, False), (1.1, True), (5.0, True)])
    def test_pulled_up_by_more_than_its_weight_it_leaves(self, lift, leaves):
        solution = solve(pushed(z=lift * MASS * G))
        up = max(0.0, (lift - 1.0) * G)
        assert_agree(solution.a, [0, 0, 0, 0, 0, up], within=1e-8, size=1.0)
        assert set(solution.states) == ({"separates"} if leaves else {"sticks"})
        assert solution.force.any() != leaves

    @pytest.mark.parametrize(("angle", "slides"), [(0.3, False), (0.45, False), (0.6, True)])
    def test_on_a_slope_it_slides_past_the_angle_of_friction(self, angle, slides):
        """tan 0.46 = 0.5. The box lies on the slope, turned like it."""
        flat = (0.2, 0.3, 0.1)
        robot = box(MASS, flat)
        c, s = np.cos(angle), np.sin(angle)
        normal, down = np.array([s, 0.0, c]), np.array([c, 0.0, -s])
        q = robot.neutral()
        q[3:] = [0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]
        zero = np.zeros(6)
        contacts = corners(0.5, flat, tuple(normal))
        solution = robot.friction_dynamics(q, zero, zero, contacts, DT, tolerance=1e-12)
        assert solution.converged
        assert set(solution.states) == ({"slides"} if slides else {"sticks"})
        along = max(0.0, G * (s - 0.5 * c))
        R = robot.frame_pose(q, "box")[:3, :3]
        assert_agree(R @ solution.a[3:], along * down, within=1e-6, size=1.0)
        assert_agree(total_force(solution) @ normal, MASS * G * c, within=1e-6)

    @pytest.mark.parametrize(("push", "tips"), [(3.5, False), (4.5, True)])
    def test_tall_box_pushed_at_its_top_tips_where_the_moment_is_too_large(self, push, tips):
        """It tips about its lower edge when F h > m g w / 2: past 3.924 N."""
        size = (0.2, 0.2, 0.5)
        robot = box(MASS, size)
        # At the top: a force through the middle and its moment.
        tau = np.array([0.0, 0.25 * push, 0.0, push, 0.0, 0.0])
        q = standing(robot, 0.25)
        solution = robot.friction_dynamics(q, np.zeros(6), tau, corners(0.8, size), DT)
        assert solution.converged
        if not tips:
            assert_agree(solution.a, np.zeros(6), within=1e-6, size=1.0)
            return
        assert solution.states == ("separates", "separates", "sticks", "sticks")
        about_edge = MASS / 12.0 * (0.2**2 + 0.5**2) + MASS * (0.1**2 + 0.25**2)
        turning = (push * 0.5 - MASS * G * 0.1) / about_edge
        assert_agree(solution.a[1], turning, within=1e-6)

    def test_normal_contacts_carry_and_do_not_rub(self):
        robot = box(MASS)
        contacts = [replace(contact, kind="normal", friction=None) for contact in corners()]
        tau = pushed(1.0)
        solution = robot.friction_dynamics(standing(robot, HEIGHT), np.zeros(6), tau, contacts, DT)
        assert_agree(solution.a, [0, 0, 0, 1.0 / MASS, 0, 0], within=1e-8)
        assert_agree(solution.force.sum(), MASS * G)


def test_box_on_a_box():
    """The lower one is pushed: it takes the upper one along as far as friction does."""
    links = tuple(Link(name, box_inertia(MASS, SIZE)) for name in ("lower", "upper"))
    joints = tuple(Joint(f"free_{n}", "floating", "ground", n) for n in ("lower", "upper"))
    robot = Robot.from_description(Description("boxes", (Link("ground"), *links), joints))
    q = robot.neutral()
    q[2], q[9] = HEIGHT, 3.0 * HEIGHT

    def points(box: str, sign: float) -> list[tuple[float, float, float]]:
        return [tuple(np.array(c.point) * [1, 1, sign]) for c in corners()]

    ground = [Contact("lower", "point", point=p, friction=0.2) for p in points("lower", 1.0)]
    between = [
        Contact("upper", "point", point=p, other="lower", other_point=top, friction=0.5)
        for p, top in zip(points("upper", 1.0), points("lower", -1.0), strict=True)
    ]
    for push, together in ((7.0, False), (20.0, True), (50.0, True)):
        tau = np.zeros(12)
        tau[3] = push
        solution = robot.friction_dynamics(q, np.zeros(12), tau, [*ground, *between], DT)
        assert solution.converged
        lower, upper = solution.a[3], solution.a[9]
        moves = push > 0.2 * 2 * MASS * G
        both = (push - 0.2 * 2 * MASS * G) / (2 * MASS) if moves else 0.0
        if both <= 0.5 * G:
            assert_agree([lower, upper], [both, both], within=1e-6, size=1.0)
        else:
            assert_agree(upper, 0.5 * G, within=1e-6)
            assert_agree(lower, (push - 0.4 * MASS * G - 0.5 * MASS * G) / MASS, within=1e-6)
        normal = sum(force.force[2] for force in solution.contacts[:4])
        assert_agree(normal, 2 * MASS * G, within=1e-6)
        assert together == moves


@examples(
    50,
    seed=st.integers(0, 2**32 - 1),
    friction=st.floats(0.0, 1.5),
    speed=st.sampled_from([0.0, 0.01, 1.0]),
    force=st.floats(0.0, 60.0),
)
@example(seed=456298, friction=0.5, speed=1.0, force=1.0)  # how the corners share is left open
@example(seed=3768567045, friction=0.5, speed=1.0, force=1.0)
@example(seed=13204, friction=1.3125, speed=0.01, force=20.0)  # whole sweeps go round in circles
def test_box_obeys_the_conditions_of_friction(seed, friction, speed, force):
    rng = np.random.default_rng(seed)
    robot = box(MASS)
    q = standing(robot, HEIGHT)
    v, tau = speed * rng.normal(size=6), force * rng.normal(size=6) * [0.1, 0.1, 0.1, 1, 1, 1]
    contacts = corners(friction)
    solution = robot.friction_dynamics(q, v, tau, contacts, DT)
    assert solution.converged
    conditions(robot, q, v, contacts, solution)


@examples(50, case=cases(most=8), count=st.integers(1, 5), friction=st.floats(0.0, 1.2))
def test_any_robot_obeys_the_conditions_of_friction(case, count, friction):
    robot, q, v = case.robot, case.q, case.v
    contacts = [
        replace(random_contact(case, "point", loop=False), friction=friction)
        if k % 3 < 2
        else random_contact(case, "normal", loop=False)
        for k in range(count)
    ]
    tau = case.vector()
    solution = robot.friction_dynamics(q, v, tau, contacts, DT)
    assert np.isfinite(solution.a).all() and np.isfinite(solution.force).all()
    assert 0 <= solution.iterations <= 1000
    assert solution.converged == (solution.residual <= 1e-9)
    if solution.converged:
        conditions(robot, q, v, contacts, solution)


@examples(50, case=contact_cases(), dt=st.floats(1e-4, 1e-2))
def test_contacts_that_all_push_and_hold_move_as_held_ones_do(case, dt):
    """So much friction and load that nothing slides or lets go: τ pushes along the normals."""
    robot, (q, v) = case.robot, case.state
    contacts = [
        replace(contact, kind="point", other=None, friction=1e6) for contact in case.contacts[:1]
    ]
    v = np.zeros(robot.nv)
    held = robot.contact_dynamics(q, v, np.zeros(robot.nv), contacts)
    tau = -1e3 * held.G[2]  # towards the surface
    held = robot.contact_dynamics(q, v, tau, contacts)
    if held.rank_deficient or not held.contacts[0].force[2] > 1.0:
        return
    if np.hypot(*held.contacts[0].force[:2]) > 1e5 * held.contacts[0].force[2]:
        return
    solution = robot.friction_dynamics(q, v, tau, contacts, dt)
    assert_agree(solution.a, held.a, within=1e-7, size=1.0)
    assert_agree(solution.force, held.force, within=1e-7, size=1.0)


class TestGains:
    def test_gap_closes_without_being_crossed(self):
        """With a gain of 1/dt² on the gap the box may fall as far as the ground and no further."""
        robot = box(MASS)
        q, v = standing(robot, HEIGHT + 0.01), np.zeros(6)
        lowest = np.inf
        for _ in range(200):
            contacts = [
                replace(c, target=(0.0, 0.0, 0.0), stiffness=1.0 / DT**2) for c in corners(0.5)
            ]
            solution = robot.friction_dynamics(q, v, np.zeros(6), contacts, DT)
            v = v + DT * solution.a
            q = robot.integrate(q, v, DT)
            lowest = min(lowest, robot.frame_pose(q, "box", corners()[0].point)[2, 3])
        assert abs(lowest) < 1e-8
        assert_agree(v, np.zeros(6), size=1.0)

    def test_target_does_not_draw_a_sliding_box_aside(self):
        robot = box(MASS)
        q = standing(robot, HEIGHT)
        contacts = [
            replace(c, target=(0.0, 5.0, 0.0), stiffness=100.0, damping=10.0) for c in corners(0.2)
        ]
        solution = robot.friction_dynamics(
            q, np.zeros(6), pushed(10.0), contacts, DT, tolerance=1e-12
        )
        assert_agree(solution.a, [0, 0, 0, 10.0 / MASS - 0.2 * G, 0, 0], within=1e-8)


class TestErrorsInPhysicalUnits:
    @pytest.mark.parametrize("share", [1.0 - 1e-6, 1.0, 1.0 + 1e-9])
    def test_residual_is_the_velocity_by_which_contacts_are_off(self, share):
        """At the edge of sliding each point alone is nearly right, and the box is not."""
        robot, contacts = box(MASS), corners(0.5)
        q = standing(robot, HEIGHT)
        J = np.vstack([robot.frame_jacobian(q, "box", point=c.point)[3:] for c in contacts])
        for angle in np.linspace(0.0, 6.0, 12):
            along = np.array([np.cos(angle), np.sin(angle)])
            push = share * 0.5 * MASS * G
            found = robot.friction_dynamics(q, np.zeros(6), pushed(*push * along), contacts, DT)
            exact = np.zeros(6)
            exact[3:5] = max(0.0, push / MASS - 0.5 * G) * along
            off = np.abs(J @ (found.a - exact)).max() * DT
            assert found.converged and off <= 3.0 * found.residual + 1e-13

    def test_contact_that_lifts_separates_and_carries_nothing(self):
        """Rounding left 1e-18 N of a force here, which counted as sliding."""
        rng = np.random.default_rng(0)
        robot = Robot.family("biped", 20)
        lifting = 0
        for _ in range(20):
            q, v = robot.random_state(rng)
            links = [name for name in robot.frame_names if name.startswith("link")]
            frames = rng.choice(links, 4, replace=False)
            contacts = [
                Contact(str(f), "point", point=0.1 * rng.normal(size=3), friction=0.6)
                for f in frames
            ]
            tau = 30.0 * rng.normal(size=robot.nv)
            solution = robot.friction_dynamics(q, v, tau, contacts, DT)
            after = v + DT * solution.a
            for contact, force, state in zip(
                contacts, solution.contacts, solution.states, strict=True
            ):
                up = robot.frame_velocity(q, after, contact.frame, point=contact.point)[5]
                up += DT * robot.frame_bias(q, v, contact.frame, point=contact.point)[5]
                if up > 0.01:  # what redundant contacts cannot have is left out, and less
                    lifting += 1
                    assert state == "separates"
                    assert not force.force.any()
        assert lifting > 20


def test_mujoco_pushes_the_box_alike():
    """Its contacts are soft, so that forces creep: 2 % of g is what they agree to."""
    mujoco = pytest.importorskip("mujoco")
    x, y, z = (0.5 * side for side in SIZE)
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco>
        <option timestep="0.0005" cone="elliptic" impratio="100" gravity="0 0 -{G}"/>
        <default><geom solref="0.002 1" solimp="0.99 0.999 0.0001" friction="0.5 0 0"/></default>
        <worldbody>
          <geom type="plane" size="5 5 1" condim="3"/>
          <body pos="0 0 {z}"><freejoint/>
            <geom type="box" size="{x} {y} {z}" mass="{MASS}" condim="3"/>
          </body>
        </worldbody>
      </mujoco>""")
    for push in (0.0, 5.0, 9.0, 11.0, 15.0, 25.0):
        data = mujoco.MjData(model)
        for _ in range(400):
            mujoco.mj_step(model, data)
        data.qfrc_applied[0] = push
        for _ in range(20):  # until the soft contacts have answered
            mujoco.mj_step(model, data)
        before = data.qvel[0]
        for _ in range(400):
            mujoco.mj_step(model, data)
        theirs = (data.qvel[0] - before) / (400 * 0.0005)
        ours = solve(pushed(push)).a[3]
        assert abs(ours - theirs) <= 0.02 * G
