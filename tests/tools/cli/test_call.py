"""`torqued call`: fields from words, replies for people and for machines."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from torqued.client import TorquedError
from torqued.tools.cli import call
from torqued.tools.cli.main import build_parser, main
from torqued.tools.cli.options import as_json


@pytest.mark.parametrize(
    "field, text, value",
    [
        ("q", "0,0.3,-1e-3", [0.0, 0.3, -0.001]),
        ("q", "0.5,", [0.5]),
        ("q", "neutral", "neutral"),
        ("dt", "0.1", 0.1),
        ("order", "2", 2),
        ("session", "223628180", 223628180),
        ("seconds", "3", 3.0),
        ("take_over", "true", True),
        ("walls", "false", False),
        ("want", "M,C", ["M", "C"]),
        ("want", "M", ["M"]),
        ("frames", "hand", ["hand"]),
        ("frames", '["hand", "foot"]', ["hand", "foot"]),
        ("want", '["M"]', ["M"]),
        ("contacts", '[{"frame": "foot"}]', [{"frame": "foot"}]),
        ("references", '{"q_ref": [0.1]}', {"q_ref": [0.1]}),
        ("level", "DEBUG", "DEBUG"),
    ],
)
def test_values_are_numbers_words_or_json(field, text, value):
    found = call.parse_value(field, text)
    assert found == value and type(found) is type(value)


def test_options_of_the_command_may_stand_among_the_fields():
    args = build_parser().parse_args(["call", "--timeout", "3", "dynamics"])
    options = ["--robot", "panda", "--key=a.key", "--server-key", "b.pub"]
    words = ["--q=-1,2", "--json", "--v", "-1,2", *options, "--want", "M"]
    fields = call.fields_of(call.without_options(words, args))
    assert fields == {"q": [-1.0, 2.0], "v": [-1.0, 2.0], "want": ["M"]}
    assert (args.robot, args.key, args.server_key) == ("panda", "a.key", "b.pub")
    assert args.json and args.timeout == 3.0


@pytest.mark.parametrize("words", [["q"], ["--q"], ["--gains", "{oops"]])
def test_what_is_not_a_field_is_refused(words):
    with pytest.raises(TorquedError):
        call.fields_of(words)


@pytest.mark.parametrize("word", ["neutral", "zero"])
def test_words_stand_for_the_robots_own_numbers(word):
    robot = SimpleNamespace(hello=lambda: SimpleNamespace(neutral=[0.0, 1.0, 2.0], nv=2))
    fields = dict.fromkeys(("q", "v", "tau"), word) | {"law": word, "a": [1.0, 2.0]}
    call.put_numbers(robot, fields)
    assert fields == {
        **{"q": [0.0, 1.0, 2.0], "v": [0.0, 0.0], "tau": [0.0, 0.0]},
        **{"law": word, "a": [1.0, 2.0]},
    }


def test_help_may_stand_behind_the_operation(capsys):
    assert main(["call", "dynamics", "--help"]) == 0
    assert "usage: torqued call" in capsys.readouterr().out


def shown(reply):
    return "\n".join(call.shown(reply)) + "\n"


def test_matrices_are_tables_without_minus_before_zero():
    text = shown({"M": np.array([[1.0, -1e-9], [12.5, 3.0]])})
    assert text.splitlines()[0] == "M: 2 × 2"
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["1.0000", "0.0000"],
        ["12.5000", "3.0000"],
    ]


def test_large_matrices_are_cut_and_cubes_show_their_first_part():
    assert "M: 30 × 30, first 12 rows and columns" in shown({"M": np.zeros((30, 30))})
    assert "Gamma: 2 × 2 × 2; first part:" in shown({"Gamma": np.zeros((2, 2, 2))})


def test_maps_lists_and_words_are_lines():
    text = shown({"name": "a[b]", "joints": ["x", "y"], "limits": {"effort": np.array([1.5])}})
    assert text == "name: a[b]\njoints: x, y\nlimits:\n  effort: 1.5\n"


def test_json_has_null_for_what_is_no_number():
    value = {"a": np.array([1.0, np.inf]), "b": float("nan"), "c": [{"d": 1}]}
    assert json.loads(as_json(value)) == {"a": [1.0, None], "b": None, "c": [{"d": 1}]}
