"""Batches that come again with other numbers in their memory."""

import pytest

from torqued.client import codec
from torqued.server.requests.repeated_batches import LARGEST, RepeatedBatches, has_long_id, id_of

FIRST = codec.FIRST_ID


def request(identity, **fields):
    return codec.request(identity, "batch", {"operation": "dynamics", **fields})


def test_request_is_known_by_all_but_its_id():
    known = RepeatedBatches(4)
    known.put(request(FIRST + 5), "found")
    assert known.get(request(FIRST + 5)) == known.get(request(2**32 - 1)) == "found"
    assert known.get(request(FIRST + 5, want=["M"])) is None
    known.forget(request(FIRST + 9))
    assert known.get(request(FIRST + 5)) is None


def test_id_is_read_where_it_is():
    assert has_long_id(request(FIRST)) and id_of(request(FIRST)) == FIRST
    assert id_of(request(2**32 - 1)) == 2**32 - 1


@pytest.mark.parametrize("identity", [0, 5, FIRST - 1, 2**32, -1, "text", None, "x" * 40])
def test_request_with_another_kind_of_id_is_never_taken_for_one(identity):
    """Its id lies elsewhere, or is longer."""
    known = RepeatedBatches(4)
    known.put(request(identity), "wrong")
    assert known.get(request(identity)) is None
    known.put(request(FIRST), "right")
    assert known.get(request(identity)) is None


def test_other_number_in_the_place_of_an_id_is_not_taken_for_one():
    """A message may have its fields in any order."""
    other = codec.encode({"descriptor": 70000, "protocol": 1, "id": FIRST, "op": "batch"})
    shifted = codec.encode({"protocol": 1, "id_": FIRST, "id": FIRST, "op": "batch"})
    large = codec.request(FIRST, "batch", {str(k): 0 for k in range(20)})  # a map's longer head
    known = RepeatedBatches(8)
    for message in (other, shifted, large, b"", b"\x80", other[:16]):
        assert not has_long_id(message)
        known.put(message, "wrong")
        assert known.get(message) is None


def test_oldest_are_forgotten_and_large_ones_never_known():
    known = RepeatedBatches(2)
    for k in range(3):
        known.put(request(FIRST, frames=[str(k)]), k)
    assert [known.get(request(FIRST, frames=[str(k)])) for k in range(3)] == [None, 1, 2]
    large = request(FIRST, frames=["x" * LARGEST])
    known.put(large, "large")
    assert known.get(large) is None
    known.keep(lambda found: found == 1)
    assert list(known) == [1]
    known.clear()
    assert known.get(request(FIRST, frames=["1"])) is None
