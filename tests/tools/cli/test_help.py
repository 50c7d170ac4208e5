"""Help texts are whole phrases in plain English."""

import argparse
import re

import pytest

from torqued.benchmarks import BENCHMARKS
from torqued.tools.cli.bench import options_parser
from torqued.tools.cli.main import build_parser

FRAGMENT = re.compile(r"(of|that|where|whose|in which|with)\b", re.I)
TICS = re.compile(r"\b(anew|whoever|nobody|is no)\b", re.I)


def parsers(parser):
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from parsers(child)


def texts(parser):
    """(where, text) of each help text, description and epilog."""
    for one in parsers(parser):
        yield one.prog, one.description
        yield one.prog, one.epilog
        for action in one._actions:
            yield f"{one.prog} {action.dest}", action.help
            for choice in getattr(action, "_choices_actions", ()):
                yield f"{one.prog} {choice.dest}", choice.help


def faults(parser):
    return [
        (where, text)
        for where, text in texts(parser)
        if text and text != argparse.SUPPRESS and (FRAGMENT.match(text) or TICS.search(text))
    ]


def test_help_texts_are_phrases():
    assert len(list(texts(build_parser()))) > 100
    assert faults(build_parser()) == []


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_help_texts_of_benchmarks_are_phrases(benchmark):
    assert faults(options_parser(benchmark)) == []


@pytest.mark.parametrize("text", ["of the sockets", "That carries", "X is no folder", "load anew"])
def test_fragments_and_tics_are_found(text):
    parser = argparse.ArgumentParser(description="fine")
    parser.add_argument("--option", help=text)
    assert faults(parser) == [(f"{parser.prog} option", text)]
