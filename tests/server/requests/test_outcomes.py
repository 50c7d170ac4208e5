"""Requests counted by how they ended."""

from torqued.server.requests.outcomes import OK, UNKNOWN, Outcomes, as_maps, known_name


def test_names_that_clients_invent_are_not_remembered():
    names = ("ping", "open")
    assert known_name({"op": "open"}, names) == "open"
    for message in ({}, {"op": "x" * 100}, {"op": 3}, {"op": ["open"]}):
        assert known_name(message, names) == UNKNOWN


def test_counts_of_all_sockets_are_added():
    first, second = Outcomes(), Outcomes()
    first.count("ping", OK)
    second.count("ping", OK)
    second.count("ping", "bad_field")
    second.count("open", "busy")
    assert as_maps([first, second]) == {"ping": {OK: 2, "bad_field": 1}, "open": {"busy": 1}}
    assert (first.refused, second.refused) == (0, 2)
