"""Files of results that clients have not fetched are bounded together."""

import pytest

from torqued.server.requests import shared_results
from torqued.server.requests.shared_results import SharedFiles, clear_away


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_results, "FOLDER", str(tmp_path))
    return SharedFiles()


def test_what_nobody_fetches_ends_the_memory_for_more_and_what_is_fetched_does_not(
    files, monkeypatch
):
    monkeypatch.setattr(shared_results, "MOST_WAITING", 3 * 4096)
    made = [files.for_results(4096, None) for _ in range(5)]
    assert [file is None for file in made] == [False, False, False, True, True]
    assert clear_away() == 3 * 4096
    made[0].forget()  # as a client does that opens it
    assert files.for_results(4096, None) is not None
    assert files.for_results(4096, None) is None
