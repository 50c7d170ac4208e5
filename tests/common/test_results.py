"""Results at a prompt."""

import numpy as np

from torqued.common.results import Dynamics, Result


def test_short_values_are_shown_in_full_and_large_ones_by_their_size():
    shown = repr(Dynamics({"g": np.array([0.5, -2.0]), "M": np.eye(20), "ready": True}))
    assert shown == "Dynamics(g=[ 0.5 -2. ], M=<array (20, 20)>, ready=True)"


def test_a_pose_is_one_line():
    assert repr(Result({"pose": {"hand": np.eye(2)}})) == (
        "Result(pose={'hand': [[1. 0.] [0. 1.]]})"
    )


def test_lists_are_shown_by_their_values_or_their_length():
    shown = repr(Result({"errors": [np.zeros(30), 1.0], "joints": ["a"] * 50}))
    assert shown == "Result(errors=[<array (30,)>, 1.0], joints=<list of 50>)"
