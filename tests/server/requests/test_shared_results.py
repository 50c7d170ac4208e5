"""Files of results that clients have not fetched are bounded together."""

import threading

import pytest
from eventually import eventually

from torqued.server.requests import shared_results
from torqued.server.requests.shared_results import SharedFiles, clear_away


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_results, "FOLDER", str(tmp_path))
    monkeypatch.setattr(shared_results, "FORGETTING", shared_results.Forgetting())
    return SharedFiles()


def test_what_nobody_fetches_ends_the_memory_for_more_and_what_is_fetched_does_not(
    files, monkeypatch
):
    monkeypatch.setattr(shared_results, "MAX_WAITING", 3 * 4096)
    made = [files.for_results(4096, None) for _ in range(5)]
    assert [file is None for file in made] == [False, False, False, True, True]
    assert clear_away() == 3 * 4096
    made[0].forget()  # as a client does that opens it
    assert files.for_results(4096, None) is not None
    assert files.for_results(4096, None) is None


def test_names_are_taken_away_by_one_thread_when_their_time_is_over(files, tmp_path, monkeypatch):
    monkeypatch.setattr(shared_results, "LIFETIME", 0.2)
    before = threading.active_count()
    for _ in range(20):
        files.for_results(4096, None)
    assert threading.active_count() <= before + 1
    eventually(lambda: not list(tmp_path.iterdir()))
    files.for_results(4096, None)  # after the thread has gone, perhaps
    eventually(lambda: not list(tmp_path.iterdir()))


def test_names_are_taken_away_at_the_end(files, tmp_path):
    for _ in range(3):
        files.for_results(4096, None)
    assert len(list(tmp_path.iterdir())) == 3
    shared_results.FORGETTING.all_now()
    assert not list(tmp_path.iterdir())


def test_files_of_other_kinds_do_not_count(files, tmp_path):
    (tmp_path / "torqued-chain.ring").write_bytes(bytes(8192))
    assert clear_away() == 0
