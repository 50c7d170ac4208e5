"""Sessions of `torqued bench rtt` are measured only while their law acts."""

import pytest

from torqued.benchmarks.memory_rtt import require_law
from torqued.benchmarks.processes import NotStarted


def test_one_late_state_is_not_a_fallback():
    answers = iter([["STALE", "FALLBACK"], []])
    require_law(lambda: next(answers))


def test_session_that_stays_in_its_fallback_is_not_measured():
    with pytest.raises(NotStarted, match="STALE, FALLBACK"):
        require_law(lambda: ["STALE", "FALLBACK"])
