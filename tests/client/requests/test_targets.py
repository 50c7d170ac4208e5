"""Where a movement is to go, by what a law has."""

import numpy as np
import pytest

from torqued.client.requests.request_parts import numbers
from torqued.client.requests.targets import targets
from torqued.common.errors import InputError

JOINTS = {"q_ref": (2,), "v_ref": (2,)}
FRAME = {"position": (3,), "orientation": (4,), "posture": (2,)}


def test_targets_are_the_references_that_a_law_has():
    assert targets([0.1, 0.2], JOINTS, "")["q_ref"].tolist() == [0.1, 0.2]
    pose = np.eye(4)
    pose[:3, 3] = 1.0, 2.0, 3.0
    found = targets(pose, FRAME, "")
    assert found["position"].tolist() == [1.0, 2.0, 3.0]
    assert found["orientation"].tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("target", "references", "motion", "words"),
    [
        (np.eye(4), JOINTS, "", "moves no frame; give joint positions"),
        (np.eye(4), {"hand.position": (3,)}, "foot", "no frame 'foot' to move, motions: hand"),
        ([0.1], JOINTS, "", r"shape \(1,\), expected \(2,\) or \(4, 4\)"),
        ([0.1], {"position": (3,)}, "", "this law has no joint positions; `move_to` takes a pose"),
        ([0.1], {"q_ref": (1,)}, "hand", "motion 'hand' has no joint positions"),
    ],
)
def test_wrong_targets_say_what_there_is(target, references, motion, words):
    with pytest.raises(ValueError, match=words):
        targets(target, references, motion)


def test_masked_numbers_are_refused():
    masked = np.ma.masked_array([0.1, 0.2], [False, True])
    with pytest.raises(InputError, match=r"^target\[1\] is masked"):
        targets(masked, JOINTS, "")
    with pytest.raises(InputError, match=r"^v\[1\] is masked"):
        numbers(q=[0.0, 0.0], v=masked)
