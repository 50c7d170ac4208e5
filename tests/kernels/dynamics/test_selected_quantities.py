"""Many quantities from one walk: each as its own method computes it, alone or with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.agreement import assert_agree, largest
from support.cases import Case, cases, random_case
from torqued.kernels import InputError, Robot
from torqued.kernels.charts.transformations import TRANSFORMATIONS
from torqued.kernels.control.controller import Controller
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import NAMES, TABLE, WANTS

PER_FRAME = tuple(quantity.name for quantity in TABLE if quantity.per_frame)


def alone(case: Case, word: str, frames: tuple[str, ...], representation: str) -> Any:
    """A quantity by its own method."""
    robot, q, v = case.robot, case.q, case.v
    if word in PER_FRAME:
        method = {
            "J": lambda frame: robot.frame_jacobian(q, frame, representation),
            "Jdot_v": lambda frame: robot.frame_bias(q, v, frame, representation),
            "pose": lambda frame: robot.frame_pose(q, frame),
        }[word]
        return {frame: method(frame) for frame in frames}
    return {
        "M": lambda: robot.mass_matrix(q),
        "Mdot": lambda: robot.mass_matrix_rate(q, v),
        "C": lambda: robot.coriolis_matrix(q, v),
        "Gamma": lambda: robot.christoffel(q),
        "g": lambda: robot.gravity(q),
        "bias": lambda: robot.bias(q, v),
        "energy": lambda: robot.energy(q, v),
        "com": lambda: robot.center_of_mass(q),
        "momentum": lambda: robot.centroidal_momentum(q, v),
    }[word]()


def assert_same(actual: Any, expected: Any, size: float) -> None:
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        for name in expected:
            assert_agree(actual[name], expected[name], size=size)
    else:
        assert_agree(actual, expected, size=size)


@settings(max_examples=60)
@given(
    case=cases(most=8),
    want=st.lists(st.sampled_from(sorted(WANTS)), unique=True),
    representation=st.sampled_from(sorted(REPRESENTATIONS)),
    count=st.integers(0, 3),
)
def test_any_combination_is_what_the_methods_give_one_by_one(case, want, representation, count):
    robot, q, v = case.robot, case.q, case.v
    frames = tuple(dict.fromkeys(case.frame() for _ in range(count)))
    if not frames:
        want = [word for word in want if word not in PER_FRAME]
    found = robot.dynamics(q, v, tuple(want), frames, representation)
    assert list(found) == want
    size = (1.0 + largest(robot.mass_matrix(q))) * (1.0 + largest(v)) ** 2
    for word in want:
        assert_same(found[word], alone(case, word, frames, representation), size)


@pytest.mark.parametrize("word", WANTS)
def test_results_do_not_depend_on_what_the_workspace_held(word):
    case, other = (random_case(7, 6, "floating") for _ in range(2))
    frames = case.robot.frame_names[:2]
    fresh = other.robot.dynamics(other.q, other.v, (word,), frames)[word]
    for at in (case.robot.neutral(), case.q + 0.0):
        case.robot.dynamics(at, 5.0 * case.v, tuple(WANTS), frames)
        case.robot.forward_dynamics(at, case.v, case.a)
    assert_same(case.robot.dynamics(case.q, case.v, (word,), frames)[word], fresh, size=0.0)


def test_velocities_may_be_left_out_where_nothing_depends_on_them():
    robot = Robot.family("biped", 4)
    q, _ = robot.random_state(np.random.default_rng(0))
    found = robot.dynamics(q, want=("M", "g", "com", "Gamma", "J", "pose"), frames=("body",))
    assert_agree(found["M"], robot.mass_matrix(q))
    assert_agree(found["g"], robot.gravity(q))


@pytest.mark.parametrize("word", ["C", "Mdot", "bias", "energy", "momentum", "Jdot_v"])
def test_velocities_left_out_are_zero(word):
    robot = Robot.family("biped", 4)
    q, _ = robot.random_state(np.random.default_rng(0))
    found = robot.dynamics(q, want=("M", word), frames=("body",))
    rest = robot.dynamics(q, np.zeros(robot.nv), ("M", word), ("body",))
    np.testing.assert_equal(found[word], rest[word])


def test_unknown_quantity_is_refused_with_those_that_exist():
    robot = Robot.family("chain", 2)
    with pytest.raises(InputError) as caught:
        robot.dynamics([0.0, 0.0], [0.0, 0.0], ("M", "H"))
    words = ", ".join(map(repr, WANTS))
    assert str(caught.value) == f"want: 'H' is unknown, allowed: {words}"


def test_unknown_frame_is_refused():
    robot = Robot.family("chain", 2)
    with pytest.raises(InputError, match="frame 'hand' is unknown"):
        robot.dynamics([0.0, 0.0], [0.0, 0.0], ("J",), ("hand",))


@pytest.mark.parametrize("word", PER_FRAME)
def test_quantities_of_frames_need_frames(word):
    robot = Robot.family("chain", 2)
    with pytest.raises(InputError) as caught:
        robot.dynamics([0.0, 0.0], [0.0, 0.0], ("M", word))
    assert caught.value.field == "frames"
    assert str(caught.value).startswith(f"frames: empty, but {word!r} is wanted")


class TestTable:
    """What goes by the table stays in step with it."""

    @pytest.mark.parametrize("quantity", TABLE, ids=NAMES)
    def test_words_of_a_row_are_known(self, quantity):
        assert set(quantity.needs) <= {"velocity", "inertias", "factors", "frames"}
        assert quantity.projection in ("none", "vector", "matrix", "tensor", "rows")
        assert quantity.chart in TRANSFORMATIONS
        assert set(quantity.brought_by) <= set(NAMES)

    def test_compiled_code_lays_out_what_dynamics_gives(self):
        """A stream's arrays, laid out by compiled code, are those of `dynamics`."""
        for robot in (
            random_case(7, 6, "fixed").robot,
            random_case(4, 9, "fixed", mimics=True).robot,
        ):
            q, v = robot.random_state(np.random.default_rng(0))
            frames = robot.frame_names[-2:]
            stream = Controller(robot, "stream", want=NAMES, frames=frames)
            streamed = vars(stream.torque(q, v))
            for name, value in robot.dynamics(q, v, NAMES, frames).as_dict().items():
                together = np.array(list(value.values())) if isinstance(value, dict) else value
                np.testing.assert_allclose(streamed[name], together, rtol=1e-12, atol=1e-12)
