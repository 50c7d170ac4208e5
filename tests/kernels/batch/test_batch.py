"""A batch is its states' calls, one by one; only faster."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from support.agreement import assert_agree
from support.cases import random_case
from support.eventually import eventually
from support.textbook import X, Z, body, chain
from torqued.common.errors import InputError, NumericalError
from torqued.common.results import Result
from torqued.kernels import Robot
from torqued.kernels.batch.batch import Batch
from torqued.kernels.batch.computation import GRAIN
from torqued.kernels.dynamics.quantities import NAMES
from torqued.kernels.model.catalog import find_file
from torqued.kernels.primitives.wide import WIDTH

#: Of the largest entry. Additions are made in another order than for one state.
ROUNDING = 1e-12
#: Where equations are solved, their matrix magnifies that.
SOLVED = 1e-9
#: States for which a second thread is woken.
SHARE = GRAIN.share


def quadruped() -> Robot:
    return Robot.family("quadruped", 20, armature={"joint_front_left_03": 0.1})


def panda() -> Robot:
    """Its second finger follows the first."""
    return Robot.from_urdf(find_file("panda"))


def followed_joints() -> Robot:
    """Kinds of joints with quaternions, screws and slides, and some that mimic others."""
    robot = random_case(3, 9, "floating", mimics=True).robot
    assert robot.model.mimics.present
    return robot


def free_joints() -> Robot:
    """Spherical and Euler joints that nothing follows."""
    robot = random_case(7, 6, "floating").robot
    assert not robot.model.mimics.present
    return robot


def tiny() -> Robot:
    return Robot.family("chain", 2)


ROBOTS = [quadruped, panda, followed_joints, free_joints, tiny]


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> Robot:
    made: Robot = request.param()
    return made


def states(robot: Robot, count: int, seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    q, v = (np.array(x) for x in zip(*(robot.random_state(rng) for _ in range(count)), strict=True))
    a, w = rng.standard_normal((2, count, robot.nv))
    other = np.array([robot.random_state(rng)[0] for _ in range(count)])
    return {
        "q": q,
        "v": v,
        "a": a,
        "w": w,
        "tau": w,
        "jerk": a,
        "snap": w,
        "v_ref": w,
        "a_ref": a,
        "q0": q,
        "q1": other,
        "b": rng.standard_normal((count, robot.nv, 3)),
        "dt": rng.uniform(0.0, 0.1, count),
    }


def calls(robot: Robot) -> dict[str, tuple[str, tuple[str, ...], dict[str, Any]]]:
    """By name: method, stacked arguments, common ones."""
    tip = {"frame": robot.frame_names[-1]}
    point = {**tip, "point": [0.1, -0.2, 0.3], "representation": "body"}
    return {
        "mass_matrix": ("mass_matrix", ("q",), {}),
        "mass_matrix_rate": ("mass_matrix_rate", ("q", "v"), {}),
        "coriolis_matrix": ("coriolis_matrix", ("q", "v"), {}),
        "direct": ("coriolis_matrix", ("q", "v"), {"factorization": "direct"}),
        "christoffel": ("christoffel", ("q",), {}),
        "gravity": ("gravity", ("q",), {}),
        "bias": ("bias", ("q", "v"), {}),
        "energy": ("energy", ("q", "v"), {}),
        "inverse_dynamics": ("inverse_dynamics", ("q", "v", "a"), {}),
        "forward_dynamics": ("forward_dynamics", ("q", "v", "tau"), {}),
        "solve_mass": ("solve_mass", ("q", "b"), {}),
        "mass_product": ("mass_product", ("q", "w"), {}),
        "coriolis_product": ("coriolis_product", ("q", "v", "w"), {}),
        "transposed": ("coriolis_transposed_product", ("q", "v", "w"), {}),
        "momentum_observer": ("coriolis_transposed_product", ("q", "v"), {}),
        "center_of_mass": ("center_of_mass", ("q",), {}),
        "centroidal_momentum": ("centroidal_momentum", ("q", "v"), {}),
        "frame_pose": ("frame_pose", ("q",), {**tip, "point": [0.1, -0.2, 0.3]}),
        "frame_jacobian": ("frame_jacobian", ("q",), point),
        "frame_bias": ("frame_bias", ("q", "v"), {**tip, "representation": "mixed"}),
        "frame_velocity": ("frame_velocity", ("q", "v"), {**tip, "representation": "spatial"}),
        "frame_acceleration": ("frame_acceleration", ("q", "v", "a"), point),
        "dynamics": (
            "dynamics",
            ("q", "v"),
            {"want": NAMES, "frames": robot.frame_names[-2:], "representation": "body"},
        ),
        "inverse_derivatives": ("inverse_dynamics_derivatives", ("q", "v", "a"), {}),
        "forward_derivatives": ("forward_dynamics_derivatives", ("q", "v", "tau"), {}),
        # State by state.
        "integrate": ("integrate", ("q", "v", "dt"), {}),
        "difference": ("difference", ("q0", "q1"), {}),
        "tracking_torque": ("tracking_torque", ("q", "v", "v_ref", "a_ref"), {}),
    }


CALLS = sorted(calls(tiny()))


def assert_same(stacked: Any, k: int, single: Any, within: float) -> None:
    if isinstance(single, Result):
        assert type(stacked) is type(single)
        assert_same(stacked.as_dict(), k, single.as_dict(), within)
    elif isinstance(single, dict):
        assert stacked.keys() == single.keys()
        for key in single:
            assert_same(stacked[key], k, single[key], within)
    elif isinstance(single, tuple):
        assert isinstance(stacked, tuple) and len(stacked) == len(single)
        for part, value in zip(stacked, single, strict=True):
            assert_same(part, k, value, within)
    else:
        assert_agree(stacked[k], single, within, size=1.0)


@pytest.mark.parametrize("call", CALLS)
def test_results_are_those_of_single_calls(robot, call):
    name, stacked, common = calls(robot)[call]
    count = 2 * WIDTH + 3
    given = {key: x for key, x in states(robot, count).items() if key in stacked}
    many = getattr(robot.batch(threads=2), name)(**given, **common)
    within = SOLVED if name.startswith(("forward_dynamics", "solve_mass")) else ROUNDING
    for k in (0, 1, WIDTH, count - 4, count - 1):
        own = {key: x[k] for key, x in given.items()}
        assert_same(many, k, getattr(robot, name)(**own, **common), within)


@pytest.mark.parametrize(
    ("name", "others"),
    [("bias", ["v"]), ("inverse_dynamics", ["v", "a"]), ("forward_dynamics", ["v", "tau"])],
)
def test_wrenches_are_stacked_as_well(robot, name, others):
    count = WIDTH + 1
    given = states(robot, count)
    wrenches = np.random.default_rng(4).standard_normal((2, count, 6))
    frames = robot.frame_names[0], robot.frame_names[-1]
    f_ext = dict(zip(frames, wrenches, strict=True))
    many = getattr(robot.batch(), name)(given["q"], *(given[x] for x in others), f_ext)
    for k in (0, count - 1):
        own = {frame: wrench[k] for frame, wrench in f_ext.items()}
        single = getattr(robot, name)(given["q"][k], *(given[x][k] for x in others), own)
        assert_agree(many[k], single, SOLVED, size=1.0)


@pytest.mark.parametrize("count", sorted({1, 2, 3, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH - 1}))
def test_any_number_of_states_will_do(robot, count):
    given = states(robot, count)
    C = robot.batch().coriolis_matrix(given["q"], given["v"])
    assert C.shape == (count, robot.nv, robot.nv)
    for k in range(count):
        assert_agree(C[k], robot.coriolis_matrix(given["q"][k], given["v"][k]), ROUNDING)


def test_neighbours_and_threads_do_not_change_a_states_numbers(robot):
    """To the last bit, though one of them has an angle that only the library reduces."""
    count = 2 * SHARE + 5
    given = states(robot, count)
    joint = robot.nq - 1
    given["q"][3, joint] = 1e7
    order = np.random.default_rng(1).permutation(count)
    one, many = robot.batch(threads=1), robot.batch(threads=3)
    straight = one.inverse_dynamics(given["q"], given["v"], given["a"])
    shuffled = many.inverse_dynamics(*(given[key][order] for key in ("q", "v", "a")))
    assert np.array_equal(straight[order], shuffled)
    single = robot.inverse_dynamics(given["q"][3], given["v"][3], given["a"][3])
    assert_agree(straight[3], single, ROUNDING)


def test_results_go_into_the_callers_arrays(robot):
    given = states(robot, WIDTH + 2)
    batch = robot.batch()
    tau = np.full(given["v"].shape, np.nan)
    assert batch.inverse_dynamics(given["q"], given["v"], given["a"], out=tau) is tau
    assert np.array_equal(tau, batch.inverse_dynamics(given["q"], given["v"], given["a"]))
    J = np.full((WIDTH + 2, 6, robot.nv), np.nan)
    frame = robot.frame_names[-1]
    batch.frame_jacobian(given["q"], frame, out=J)
    assert np.array_equal(J, batch.frame_jacobian(given["q"], frame))
    out = {"M": np.full((WIDTH + 2, robot.nv, robot.nv), np.nan)}
    found = batch.dynamics(given["q"], want=("M", "g"), out=out)
    assert found["M"] is out["M"] and np.isfinite(out["M"]).all()
    one = np.full((1, robot.nv), np.nan)
    assert batch.gravity(given["q"][:1], out=one) is one
    assert_agree(one[0], robot.gravity(given["q"][0]), ROUNDING)


@pytest.mark.parametrize(
    "out",
    [np.zeros((9, 2), np.float32), np.zeros((8, 2)), np.zeros((2, 9)).T, [[0.0] * 2] * 9, 5],
)
def test_arrays_that_cannot_take_results_are_refused(out):
    given = states(tiny(), 9)
    with pytest.raises(InputError, match=r"out: .*expected a writeable float64 array \(9, 2\)"):
        tiny().batch().gravity(given["q"], out=out)


def test_results_do_not_go_where_arguments_are():
    given = states(tiny(), 9)
    with pytest.raises(InputError, match="out: shares its memory with an argument"):
        tiny().batch().inverse_dynamics(given["q"], given["v"], given["a"], out=given["a"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("wrong", [0, WIDTH + 1, 2 * SHARE + 1])
def test_first_wrong_state_is_named_and_nothing_half_written_is_left(robot, threads, wrong):
    given = states(robot, 2 * SHARE + 4)
    given["v"][[wrong, wrong + 2], robot.nv - 1] = np.nan
    out = np.zeros_like(given["v"])
    with pytest.raises(InputError) as caught:
        robot.batch(threads).inverse_dynamics(given["q"], given["v"], given["a"])
    place = f"v[{robot.nv - 1}]"
    assert str(caught.value) == f"state {wrong}: {place} is nan, expected a finite number"
    assert (caught.value.field, caught.value.state) == ("v", wrong)
    given["v"][[wrong, wrong + 2]] = 1e200  # squares of which are not finite
    with pytest.raises(NumericalError, match=f"^state {wrong}: .*not finite") as overflow:
        robot.batch(threads).inverse_dynamics(given["q"], given["v"], given["a"], out=out)
    assert overflow.value.state == wrong
    assert np.isnan(out).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_of_several_wrong_arguments_the_first_state_counts(threads):
    robot = quadruped()
    given = states(robot, 2 * SHARE)
    given["q"][SHARE + 3, 3:7] = 0.0
    given["v"][SHARE + 1, 2] = np.inf
    given["a"][SHARE + 2, 0] = np.nan
    with pytest.raises(InputError, match=rf"^state {SHARE + 1}: v\[2\] is inf"):
        robot.batch(threads).inverse_dynamics(given["q"], given["v"], given["a"])


def test_singular_state_among_good_ones_is_named():
    arm = body(1.0, np.array([0.1, 0.02, 0.03]), 0.02, 0.03, 0.04)
    robot = Robot.from_description(chain(("euler_zyx", Z, 0.1 * X, arm)))
    q = np.tile([0.1, 0.2, 0.3], (WIDTH + 4, 1))
    q[WIDTH + 2, 1] = np.pi / 2
    b = np.ones_like(q)
    with pytest.raises(NumericalError, match=rf"^state {WIDTH + 2}: .*singular"):
        robot.batch().solve_mass(q, b)
    q[WIDTH + 2, 1] = 0.2
    assert np.isfinite(robot.batch().solve_mass(q, b)).all()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"q": []}, "q"),
        ({"q": 1.0}, "q"),
        ({"q": [[1.0], [1.0, 2.0]]}, "q"),
        ({"q": "north"}, "q"),
        ({"v": [[1.0, 2.0]]}, "v: 1 states, but q has 9"),
        ({"v": np.zeros((9, 3))}, r"v: shape \(9, 3\), expected \(any, 2\)"),
        ({"a": None}, "a"),
        ({"f_ext": 5}, "f_ext"),
        ({"f_ext": {"nowhere": np.zeros((9, 6))}}, "frame 'nowhere' is unknown"),
    ],
)
def test_arguments_of_junk_are_refused(change, message):
    robot = tiny()
    given = {key: x for key, x in states(robot, 9).items() if key in ("q", "v", "a")}
    with pytest.raises(InputError, match=message):
        robot.batch().inverse_dynamics(**(given | change))


def test_quaternion_that_is_none_is_named():
    robot = quadruped()
    q = states(robot, 12)["q"]
    q[5, 3:7] *= 2.0
    with pytest.raises(InputError, match=r"^state 5: q\[3:7\]: quaternion"):
        robot.batch().gravity(q)


def test_other_coordinates_are_the_charts():
    robot = quadruped()
    given = states(robot, 5)
    chart = robot.chart("pinocchio")
    q = np.array([chart.from_native(q) for q in given["q"]])
    many = robot.in_coordinates("pinocchio").batch().gravity(q)
    assert np.array_equal(many[2], robot.in_coordinates("pinocchio").gravity(q[2]))


def test_progress_grows_up_to_the_end():
    robot = tiny()
    told: list[tuple[int, int]] = []
    count = 3 * SHARE + 1
    robot.batch(2, lambda *progress: told.append(progress)).gravity(states(robot, count)["q"])
    assert told[-1] == (count, count)
    assert all(done < count for done, _ in told[:-1])
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", True])
def test_number_of_threads_is_checked(threads):
    with pytest.raises(InputError, match="threads"):
        tiny().batch(threads=threads)


def test_every_method_of_a_state_can_be_had_in_batches():
    batch = tiny().batch()
    for name in ("regressor", "centroidal_matrix", "frame_hessian", "linearize", "impact"):
        assert callable(getattr(batch, name))
    for name in ("copy", "random_state", "nonsense", "nq", "family"):
        with pytest.raises(AttributeError, match=f"a batch has no '{name}'"):
            getattr(batch, name)
    assert isinstance(batch, Batch)


def test_threads_of_a_batch_end_with_it():
    before = set(threading.enumerate())
    robot = tiny()
    batch = robot.batch(3)
    batch.gravity(states(robot, 4 * SHARE)["q"])
    batch.christoffel(states(robot, 4 * SHARE)["q"])  # state by state
    helpers = set(threading.enumerate()) - before
    # How many there are is the scheduler's matter: one that is idle by then has the next piece.
    assert helpers and all(helper.name.startswith("batch_") for helper in helpers)
    del batch
    gc.collect()
    eventually(lambda: not any(helper.is_alive() for helper in helpers))


def test_interruption_ends_the_batch():
    robot = tiny()

    def interrupted(done: int, total: int) -> None:
        raise KeyboardInterrupt

    out = np.zeros((4 * SHARE, robot.nv))
    with pytest.raises(KeyboardInterrupt):
        robot.batch(2, interrupted).gravity(states(robot, 4 * SHARE)["q"], out=out)
    assert np.isnan(out).all()
    assert np.isfinite(robot.batch(2).gravity(np.zeros((4 * SHARE, robot.nq)), out=out)).all()


def test_batch_keeps_neither_arguments_nor_results():
    robot = tiny()
    batch = robot.batch()
    given = states(robot, 2 * SHARE)
    found = batch.bias(given["q"], given["v"])
    kept = [weakref.ref(x) for x in (found, given["q"], given["v"])]
    del found, given
    gc.collect()
    assert [reference() for reference in kept] == [None] * 3
