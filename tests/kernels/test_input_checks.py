"""What users may pass in: every refusal names the argument, the value and what is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from support import junk
from support.cases import random_case
from torqued.kernels import InputError, Robot, TorquedError
from torqued.kernels.input_checks import (
    QUATERNION_TOLERANCE,
    choice,
    known_name,
    numbers,
    unit_quaternions,
    whole_number,
)


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


class TestNumbers:
    @pytest.mark.parametrize(
        "value",
        [
            [1, 2, 3],
            (1.0, 2.0, 3.0),
            np.array([1, 2, 3], dtype=np.int8),
            np.array([1, 2, 3], dtype=np.float32),
            np.array([1.0, 9.0, 2.0, 9.0, 3.0])[::2],
            np.array([1.0, 2.0, 3.0], dtype=">f8"),
        ],
        ids=["list", "tuple", "int8", "float32", "strided", "big endian"],
    )
    def test_anything_like_an_array_becomes_one_that_kernels_can_take(self, value):
        array = numbers("x", value, (3,))
        assert array.dtype == np.float64 and array.dtype.isnative
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, [1.0, 2.0, 3.0])

    def test_masked_numbers_are_refused_by_their_place(self):
        value = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
        message = refusal(lambda: numbers("q", value, (3,)))
        assert message == "q[1] is masked, expected numbers, none of them masked"
        assert "tau is masked" in refusal(lambda: numbers("tau", np.ma.masked, ()))

    def test_masked_array_without_masked_numbers_is_an_array(self):
        value = np.ma.masked_array([1.0, 2.0, 3.0], [False, False, False])
        assert type(numbers("q", value, (3,))) is np.ndarray

    def test_matrix_in_column_order_is_put_into_row_order(self):
        value = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
        array = numbers("x", value, (2, 2))
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, value)

    def test_good_arrays_are_not_copied(self):
        value = np.ones(3)
        assert numbers("x", value, (3,)) is value

    def test_any_length_where_the_shape_leaves_it_open(self):
        assert numbers("x", np.ones((3, 0)), (3, -1)).shape == (3, 0)
        assert numbers("x", np.ones((3, 7)), (3,), (3, -1)).shape == (3, 7)

    @pytest.mark.parametrize(
        ("value", "shapes", "message"),
        [
            (np.ones(2), [(3,)], "x: shape (2,), expected (3,)"),
            (np.ones((3, 1)), [(3,)], "x: shape (3, 1), expected (3,)"),
            (1.0, [(3,)], "x: shape (), expected (3,)"),
            (np.ones(3), [()], "x: shape (3,), expected ()"),
            (np.ones((2, 5)), [(3, -1)], "x: shape (2, 5), expected (3, any)"),
            (np.ones(4), [(3,), (3, -1)], "x: shape (4,), expected (3,) or (3, any)"),
            ([], [(3,)], "x: shape (0,), expected (3,)"),
        ],
    )
    def test_wrong_shape_is_told_with_the_right_one(self, value, shapes, message):
        assert refusal(lambda: numbers("x", value, *shapes)) == message

    @pytest.mark.parametrize("value", ["left", [1, "two", 3], [[1.0], [2.0, 3.0]], object(), {}])
    def test_what_is_not_made_of_numbers_is_told(self, value):
        message = refusal(lambda: numbers("x", value, (3,)))
        assert message.startswith("x: expected numbers of shape (3,): ")

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_number_that_is_not_finite_is_told_with_its_place(self, bad):
        assert refusal(lambda: numbers("q", [0.0, bad, 1.0], (3,))) == (
            f"q[1] is {bad}, expected a finite number"
        )
        matrix = [[0.0, 1.0], [bad, 1.0]]
        assert refusal(lambda: numbers("b", matrix, (2, 2))).startswith(f"b[1, 0] is {bad}")
        assert refusal(lambda: numbers("dt", bad, ())).startswith(f"dt is {bad}")

    def test_huge_numbers_are_finite(self):
        assert numbers("x", [1e300, -1e300], (2,)).tolist() == [1e300, -1e300]

    @given(value=arrays(np.float64, 5, elements=st.floats(width=64)))
    def test_exactly_finite_arrays_pass(self, value):
        if np.isfinite(value).all():
            assert numbers("x", value, (5,)) is value
        else:
            first = int(np.argmin(np.isfinite(value)))
            assert refusal(lambda: numbers("x", value, (5,))).startswith(f"x[{first}] is ")

    def test_error_is_a_value_error_and_torqueds(self):
        with pytest.raises(ValueError) as caught:
            numbers("x", [1.0], (3,))
        assert isinstance(caught.value, TorquedError)


class TestQuaternions:
    def test_unit_length_within_tolerance_passes(self):
        for scale in (1.0, 1.0 + 0.9 * QUATERNION_TOLERANCE, 1.0 - 0.9 * QUATERNION_TOLERANCE):
            unit_quaternions("q", scale * np.array([9.0, 0.5, 0.5, 0.5, 0.5]) / 1.0, [("ball", 1)])

    @pytest.mark.parametrize("scale", [0.0, 0.5, 1.0 + 1.1 * QUATERNION_TOLERANCE, 2.0])
    def test_other_length_is_told_with_joint_and_norm(self, scale):
        q = np.hstack([0.0, scale * np.array([0.0, 0.0, 0.6, 0.8])])
        assert refusal(lambda: unit_quaternions("q", q, [("ball", 1)])) == (
            f"q[1:5]: quaternion of joint 'ball' has norm {scale:.9g}, "
            "expected 1 (x y z w, unit length)"
        )


class TestChoice:
    def test_allowed_word_passes(self):
        assert choice("base", "fixed", ("fixed", "floating")) == "fixed"

    @pytest.mark.parametrize("value", ["Fixed", "", None, 3])
    def test_other_word_is_told_with_those_allowed(self, value):
        assert refusal(lambda: choice("base", value, ("fixed", "floating"))) == (
            f"base: {value!r} is unknown, allowed: 'fixed', 'floating'"
        )


ROBOT = Robot.family("biped", 4)
Q, V, TIP = ROBOT.neutral(), np.zeros(ROBOT.nv), ROBOT.frame_names[-1]
METHODS = (
    *("mass_matrix", "mass_matrix_rate", "coriolis_matrix", "christoffel", "gravity", "bias"),
    *("inverse_dynamics", "forward_dynamics", "solve_mass", "mass_product", "coriolis_product"),
    *("coriolis_transposed_product", "energy", "dynamics", "integrate", "difference", "frame_pose"),
    *("frame_jacobian", "frame_velocity", "frame_acceleration", "frame_bias", "center_of_mass"),
    *("center_of_mass_jacobian", "centroidal_matrix", "centroidal_momentum", "centroidal_bias"),
)
POSITIONS, VECTORS = ("q", "q0", "q1"), ("v", "a", "tau", "b", "w")
GOOD = dict.fromkeys(POSITIONS, Q) | dict.fromkeys(VECTORS, V) | {"frame": TIP, "dt": 0.1}


def calls_of(method: str) -> Any:
    """For every array that a method takes: how to call it with this one replaced."""
    call = getattr(ROBOT, method)
    given = {name: GOOD[name] for name in inspect.signature(call).parameters if name in GOOD}
    for name in given.keys() & {*POSITIONS, *VECTORS}:
        replaced = lambda x, name=name: call(**given | {name: x})  # noqa: E731
        yield pytest.param(name, replaced, id=f"{method}-{name}")


CALLS = sorted((case for method in METHODS for case in calls_of(method)), key=lambda case: case.id)
ON_MANIFOLD = [case for case in CALLS if case.values[0] in POSITIONS]


@pytest.mark.parametrize(("name", "call"), CALLS)
class TestEveryArgumentOfEveryMethod:
    def good(self, name: str) -> np.ndarray:
        return (Q if name.startswith("q") else V).copy()

    def test_right_one_is_taken(self, name, call):
        call(self.good(name))

    def test_wrong_length_is_refused(self, name, call):
        good = self.good(name)
        for bad in (good[:-1], np.append(good, 0.0)):
            message = refusal(lambda bad=bad: call(bad))
            assert message.startswith(f"{name}: shape ({len(bad)},), expected ({len(good)},)")

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_non_finite_number_is_refused(self, name, call, bad):
        value = self.good(name)
        value[-1] = bad
        expected = f"{name}[{len(value) - 1}] is {bad}, expected a finite number"
        assert refusal(lambda: call(value)) == expected

    def test_words_are_refused(self, name, call):
        assert refusal(lambda: call("upright")).startswith(f"{name}: expected numbers of shape ")


@pytest.mark.parametrize(("name", "call"), ON_MANIFOLD)
def test_quaternion_of_wrong_length_is_refused_everywhere(name, call):
    q = Q.copy()
    q[3:7] = [1.0, 0.0, 0.0, 1.0]
    assert refusal(lambda: call(q)).startswith(
        f"{name}[3:7]: quaternion of joint 'root_joint' has norm 1.41421356, expected 1"
    )


def test_quaternions_are_found_behind_followers():
    """Their places are those of the robot's own q, without the followers' coordinates."""
    kinds = ("revolute", "revolute", "spherical")
    case = random_case(3, 10, "floating", kinds, mimics=True)
    assert case.robot.model.mimics.present
    balls = [joint for joint in case.robot.model.joints if joint.type == "spherical"]
    assert balls
    for ball in balls:
        place = int(np.searchsorted(case.robot.model.mimics.leaders_q, ball.q))
        q = case.q.copy()
        q[place : place + 4] *= 2.0
        assert refusal(lambda q=q: case.robot.mass_matrix(q)).startswith(
            f"q[{place}:{place + 4}]: quaternion of joint {ball.name!r} has norm 2, "
        )


class TestForces:
    def inverse(self, f_ext: dict[str, Any]) -> str:
        return refusal(lambda: ROBOT.inverse_dynamics(Q, V, V, f_ext))

    def test_wrench_is_named_by_its_frame(self):
        assert self.inverse({"body": [1.0, 2.0, 3.0]}) == (
            "f_ext['body']: shape (3,), expected (6,)"
        )
        assert self.inverse({"body": [0, 0, 0, 0, np.nan, 0]}) == (
            "f_ext['body'][4] is nan, expected a finite number"
        )

    def test_unknown_frame_is_named(self):
        assert self.inverse({"tail": np.zeros(6)}).startswith("f_ext: frame 'tail' is unknown")
        message = refusal(lambda: ROBOT.forward_dynamics(Q, V, V, {"tail": np.zeros(6)}))
        assert message.startswith("f_ext: frame 'tail' is unknown")


class TestWhatIsNoNumber:
    @pytest.mark.parametrize(
        "value",
        ["12", b"12", True, None, 1j, [True], ["1"], [None], [1j], np.array([b"1"]), [10**400], {}],
        ids=repr,
    )
    def test_texts_truth_values_and_the_like_are_refused(self, value):
        message = refusal(lambda: numbers("x", value, (), (1,)))
        assert message.startswith("x: expected numbers of shape () or (1,): ")

    def test_deep_nesting_is_refused(self):
        assert "expected numbers" in refusal(lambda: numbers("x", junk.DEEP, (3,)))

    @pytest.mark.parametrize("value", [True, 2.0, "2", None, -1, 11, 10**40, np.array([2])])
    def test_whole_number_out_of_limits_is_told_with_them(self, value):
        message = refusal(lambda: whole_number("n", value, 0, 10))
        assert message.endswith("expected a whole number from 0 to 10")

    def test_whole_numbers_of_numpy_pass(self):
        assert whole_number("n", np.int32(3), 0, 10) == 3


class TestNames:
    FRAMES = ("panda_hand", "panda_link1", "panda_link2", "base", "tool", "camera")

    def message(self, name: Any) -> str:
        return refusal(lambda: known_name("frame", "frame", name, self.FRAMES))

    def test_near_names_are_suggested(self):
        assert self.message("panda_hnad") == (
            "frame 'panda_hnad' is unknown; did you mean 'panda_hand'?"
        )

    def test_names_that_contain_it_are_suggested(self):
        assert self.message("Hand") == "frame 'Hand' is unknown; did you mean 'panda_hand'?"
        assert self.message("link") == (
            "frame 'link' is unknown; did you mean 'panda_link1' or 'panda_link2'?"
        )

    def test_a_few_names_are_listed_where_none_is_near(self):
        assert self.message("xyz") == (
            "frame 'xyz' is unknown; known: 'panda_hand', 'panda_link1', 'panda_link2', 'base', "
            "'tool', … (6 in all)"
        )

    def test_what_is_no_text_is_no_name(self):
        assert self.message(["base"]) == "frame: ['base'] is not a frame's name"


@pytest.mark.parametrize("count", [None, 1, 20])
@pytest.mark.parametrize("argument", ["q", "v", "a", "out"])
def test_robots_refuse_masked_numbers(argument, count):
    robot = Robot.family("chain", 3)
    given = {name: np.zeros((count or 1, 3)) for name in ("q", "v", "a", "out")}
    mask = np.zeros((count or 1, 3), bool)
    mask[-1, 2] = True
    given[argument] = np.ma.masked_array(given[argument], mask)
    if count is None:
        given = {name: x[0] for name, x in given.items()}
    of = robot if count is None else robot.batch()
    assert f"{argument}[" in refusal(lambda: of.inverse_dynamics(**given))
