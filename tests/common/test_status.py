"""Status bits and their names."""

from torqued.common import status


def test_status_bits_have_names():
    assert status.status_names(status.OK) == []
    assert status.status_names(status.STALE | status.FALLBACK) == ["STALE", "FALLBACK"]
    assert status.status_names(sum(status.STATUS)) == list(status.STATUS.values())
