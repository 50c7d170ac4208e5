"""Outputs: head and values as the frame has them, made when asked for, and not to be changed."""

import copy
import pickle

import numpy as np
import pytest

from torqued.client.sessions.frames import OUTPUT_FIELDS, OUTPUT_HEAD, PAYLOAD
from torqued.client.sessions.session_frames import Output, kind_of_output
from torqued.common.status import CLAMPED, LAST, TABLE

HEAD = (7, 5, 6, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 33)
START = PAYLOAD + OUTPUT_HEAD.size
PLACES = {"tau": (START, (2,)), "M": (START + 16, (2, 2)), "s": (START + 48, ())}
NUMBERS = np.arange(7.0)


@pytest.fixture
def output():
    data = bytes(PAYLOAD) + OUTPUT_HEAD.pack(*HEAD) + NUMBERS.tobytes()
    return kind_of_output(PLACES)(OUTPUT_HEAD.unpack_from(data, PAYLOAD), data)


def test_head_is_that_of_the_frame(output):
    assert tuple(getattr(output, name) for name, _, _ in OUTPUT_FIELDS) == HEAD
    assert not output.is_last and output.status_names == []
    assert output.reason_names == ["STALE", "INVALID"]


#: With these the torque is the law's, of a fresh state: cut, or on its way, at the most.
USABLE = ("CLAMPED", "WALL", "LIMITED_REFERENCE", "OSCILLATING")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_output_is_ok_without_a_bit_and_usable_with_some(output, row):
    assert output.ok and output.usable
    other = type(output)((*HEAD[:3], CLAMPED | row.bit, *HEAD[4:]), b"")
    assert not other.ok
    assert other.usable == row.usable == (row.name in USABLE)


def test_values_are_those_of_the_frame_and_aligned(output):
    assert output.tau.tolist() == [0.0, 1.0]
    assert output.M.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert output.s.shape == () and output.s == 6.0
    assert list(output.values) == ["tau", "M", "s"]
    assert np.array_equal(output.values["M"], output.M)
    assert all(value.flags.aligned for value in output.values.values())


def test_what_is_not_there_is_said_with_what_is(output):
    with pytest.raises(AttributeError, match="no 'torque' in this output, which has tau, M, s"):
        _ = output.torque


@pytest.mark.parametrize("name", ["tau", "status", "values", "more"])
def test_nothing_can_be_set(output, name):
    with pytest.raises(AttributeError):
        setattr(output, name, 1)
    with pytest.raises(ValueError, match="read-only"):
        output.tau[0] = 1.0


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_equal(output, copied):
    other = copied(output)
    assert other.tick == 7 and isinstance(other, Output)
    assert np.array_equal(other.M, output.M)


def test_last_output_is_known_by_its_status(output):
    head = (*HEAD[:3], LAST, *HEAD[4:])
    assert Output(head, b"").is_last


def test_representation_shows_all(output):
    shown = repr(output)
    assert shown.startswith("Output(tick=7, sequence=5") and "M=array(" in shown
