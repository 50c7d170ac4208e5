"""What sessions did when something went wrong, recorded before their modes were a table: they do
the same now, to the bit."""

import numpy as np
import pytest

from support.fault_scripts import FILE, NAMES, arrays, play
from torqued.kernels.compilation.jit import PROCESSOR

#: Of numbers on a processor of another kind, whose compiled code rounds differently.
ROUNDING = 1e-7


@pytest.fixture(scope="module")
def recordings():
    with np.load(FILE) as file:
        return dict(file)


def test_there_is_a_recording_for_each_script(recordings):
    assert {name.rsplit(".", 1)[0] for name in recordings} - {"processor"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_script_gives_what_was_recorded(recordings, name):
    whole, numbers = arrays(play(name))
    assert np.array_equal(whole, recordings[f"{name}.whole"])
    recorded = recordings[f"{name}.numbers"]
    if str(recordings["processor"]) == PROCESSOR:
        assert numbers.tobytes() == recorded.tobytes()
    else:
        assert np.allclose(numbers, recorded, rtol=ROUNDING, atol=ROUNDING)
