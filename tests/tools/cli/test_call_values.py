"""Words of the command line as fields of requests."""

import pytest

from torqued.tools.cli.call import parse_value


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("session", "223628180", 223628180),
        ("every", "3", 3),
        ("order", "2", 2),
        ("seconds", "3", 3.0),
        ("take_over", "true", True),
        ("walls", "false", False),
        ("q", "0,0.5", [0.0, 0.5]),
        ("references", '{"q_ref": [0.1]}', {"q_ref": [0.1]}),
    ],
)
def test_words_become_what_their_field_takes(field, text, value):
    found = parse_value(field, text)
    assert found == value and type(found) is type(value)
