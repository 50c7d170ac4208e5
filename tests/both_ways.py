"""Tests of exchanges go both ways: through the client's compiled part, and through Python alone.

    from both_ways import way  # in a test file: each of its tests runs twice

Without the compiled part, as where there is no C compiler, the first half is skipped;
tests/client/test_compiled.py says whether that may be.
"""

import pytest

from torqued.client.compiled import VARIABLE, native

__all__ = ["way"]


@pytest.fixture(autouse=True, params=["compiled", "python"])
def way(request, monkeypatch):
    """Which of the two clients, sessions and channels of this test take."""
    monkeypatch.setenv(VARIABLE, "1" if request.param == "python" else "0")
    if request.param == "compiled" and native() is None:
        pytest.skip("the client's compiled part was not built")
    return request.param
