"""`Controller`: what it makes of a law, a robot and options, and what it keeps between calls."""

from __future__ import annotations

import numpy as np
import pytest

from torqued.kernels import InputError, Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.gains import pack
from torqued.kernels.control.laws import LAWS, pd
from torqued.kernels.control.options import COMMON, DEFAULT_RATE, OPTIONS


@pytest.fixture
def robot():
    return Robot.family("chain", 4, seed=2)


@pytest.fixture
def state(robot):
    return robot.random_state(np.random.default_rng(0))


def load_of(controller):
    """What an adaptive law has learned so far."""
    return controller.data.memory[: controller.prepared.remembered].copy()


def test_every_law_is_made_by_its_name_and_no_other(robot):
    with pytest.raises(InputError, match="law: 'pid'") as caught:
        Controller(robot, "pid")
    assert all(name in str(caught.value) for name in LAWS)


def test_options_are_those_of_the_law_and_the_common_ones(robot):
    tip = robot.frame_names[-1]
    with pytest.raises(InputError, match="law 'pd' does not accept 'frame', allowed: gains"):
        Controller(robot, "pd", frame=tip)
    with pytest.raises(InputError, match="law 'stream' does not accept 'effort_limit'"):
        Controller(robot, "stream", want=["M"], effort_limit=1.0)
    assert set(COMMON) <= set(OPTIONS)


def test_outputs_lie_one_behind_the_other(robot, state):
    controller = Controller(robot, "passivity", observer={})
    out = controller.torque(*state)
    names = ["tau", "storage", "dissipation", "reference_power", "port"]
    assert list(controller.outputs) == [*names, "external", "contact", "link"]
    flat = np.concatenate([np.ravel(getattr(out, name)) for name in controller.outputs])
    assert np.array_equal(flat, controller.data.out)


def test_results_of_a_call_are_not_changed_by_the_next(robot, state):
    controller = Controller(robot, "gravity")
    q, v = state
    tau = controller.torque(q, v).tau
    before = tau.copy()
    controller.torque(-q, v)
    assert np.array_equal(tau, before)
    assert not np.array_equal(controller.torque(-q, v).tau, before)


def test_two_controllers_of_one_robot_keep_their_own_references(robot, state):
    q, v = state
    first, second = Controller(robot, "pd"), Controller(robot, "pd")
    alone = first.torque(q, v, q_ref=q).tau
    second.torque(q, v, q_ref=q + 1.0)
    assert np.array_equal(first.torque(q, v).tau, alone)


def test_gains_in_effect_have_names_and_change_by_name(robot, state):
    controller = Controller(robot, "pd", gains={"stiffness": 3.0})
    assert list(controller.gains) == list(pd.TAKEN)
    assert np.array_equal(controller.gains["stiffness"], 3.0 * np.eye(robot.nv))
    damping = controller.gains["damping"].copy()
    tuned = controller.tuned({"stiffness": 5.0})
    assert np.array_equal(tuned["stiffness"], 5.0 * np.eye(robot.nv))
    assert np.array_equal(tuned["damping"], damping)
    assert controller.gains is tuned
    assert np.array_equal(pack(tuned), np.concatenate([x.ravel() for x in tuned.values()]))


def test_gain_that_stands_for_others_makes_them_void(robot):
    """A damping that is given takes the place of all damping, one that behaves of both."""
    controller = Controller(robot, "pd", gains={"frequency": 20.0})
    assert controller.gains["damping_rate"] > 0.0
    stiffness = controller.gains["stiffness"].copy()
    tuned = controller.tuned({"damping": 2.0})
    assert tuned["damping_rate"] == 0.0
    assert np.array_equal(tuned["damping"], 2.0 * np.eye(robot.nv))
    assert np.array_equal(tuned["stiffness"], stiffness)
    slower = controller.tuned({"frequency": 10.0})
    assert slower["damping_rate"] > 0.0
    assert np.allclose(slower["stiffness"], 0.25 * stiffness, rtol=0.1)
    with pytest.raises(InputError, match="'frequency' and 'stiffness' exclude"):
        Controller(robot, "pd", gains={"frequency": 10.0, "stiffness": 1.0})


def test_gains_that_are_refused_leave_those_in_effect(robot):
    controller = Controller(robot, "pd", gains={"stiffness": 3.0})
    before = controller.gains
    with pytest.raises(InputError, match="stiffness"):
        controller.tuned({"stiffness": -1.0})
    assert controller.gains is before
    assert np.array_equal(controller.tuned({})["stiffness"], 3.0 * np.eye(robot.nv))


def test_law_learns_over_elapsed_time_alone(robot, state):
    q, v = state
    controller = Controller(robot, "adaptive", frame=robot.frame_names[-1])
    at_first = load_of(controller)
    controller.torque(q, v, q_ref=q + 0.1)
    assert np.array_equal(load_of(controller), at_first)
    controller.torque(q, v, 0.001)
    assert not np.array_equal(load_of(controller), at_first)


def test_result_that_is_not_finite_leaves_no_trace_in_memory(robot, state):
    q, v = state
    controller = Controller(robot, "adaptive", frame=robot.frame_names[-1], observer={})
    controller.torque(q, v, 0.001, q_ref=q + 0.1)
    learned, observed = load_of(controller), controller.data.observer.copy()
    status = controller.evaluate(q, np.full_like(v, 1e200), 0.001)
    assert status != 0
    assert not controller.data.out.any()
    assert np.array_equal(load_of(controller), learned)
    assert np.array_equal(controller.data.observer, observed)


def test_limits_are_the_smaller_of_the_robots_and_those_asked_for(robot):
    controller = Controller(robot, "gravity", effort_limit=[1.0, 1e9, 2.0, 1e9])
    assert np.array_equal(
        controller.data.effort, np.minimum([1.0, 1e9, 2.0, 1e9], robot.limits.effort)
    )
    assert np.array_equal(controller.data.rate, DEFAULT_RATE * controller.data.effort)
    with pytest.raises(InputError, match=r"rate_limit has -1\.0"):
        Controller(robot, "gravity", rate_limit=[1.0, -1.0, 1.0, 1.0])


#: Each is no rotation: nothing at all, not of unit length, by far or by a mistake in one number.
NOT_A_TURN = [np.zeros(4), [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.1, 1.0], [1.0, 1.0, 1.0, 1.0]]


@pytest.mark.parametrize("turn", NOT_A_TURN)
@pytest.mark.parametrize("law", ["impedance", "wholebody", "balance"])
def test_orientation_that_is_not_a_unit_quaternion_is_refused(law, turn):
    if law == "impedance":
        robot, name = Robot.named("panda"), "orientation"
        controller = Controller(robot, law, frame="panda_hand")
    else:
        robot = Robot.family("biped", 4)
        task = {"kind": "orientation", "frame": "link_left_1"}
        contacts = [{"frame": "link_left_2"}, {"frame": "link_right_2"}]
        controller = Controller(robot, law, contacts=contacts, tasks=[task])
        name = next(x for x in controller.references if x.endswith("orientation"))
    q, v = robot.neutral(), np.zeros(robot.nv)
    words = rf"^references.{name}: a quaternion has the length .*, expected 1 \(x y z w"
    for call in (controller.torque, lambda q, v, **given: controller.step(q, v, 1e-3, **given)):
        with pytest.raises(InputError, match=words):
            call(q, v, **{name: turn})
        call(q, v, **{name: [0.0, 0.0, 0.7071, 0.7071]})  # four digits
