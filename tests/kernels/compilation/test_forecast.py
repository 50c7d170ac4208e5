"""The time that compiling takes, as a person reads it."""

import io

import pytest

from torqued.kernels.compilation import forecast, jit
from torqued.kernels.compilation.forecast import OTHERS, Forecast


def test_time_left_follows_the_pace_of_this_machine():
    now = [0.0]
    names = [f"kernel{k}" for k in range(100)]
    ready = set()
    ahead = Forecast(names, 2, lambda: now[0])
    assert ahead.left(ready.__contains__) == pytest.approx(100 * OTHERS / 2)
    # Three times as slow as expected of two processes.
    ready |= set(names[:50])
    now[0] = 3.0 * 50 * OTHERS / 2
    left = ahead.left(ready.__contains__)
    assert 0.8 * now[0] < left < 1.01 * now[0]
    ready |= set(names)
    assert ahead.left(ready.__contains__) == 0.0


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def compiling(monkeypatch):
    """An entry that has to be compiled; returns what standard error had while it was."""

    class Dispatcher:
        def __init__(self):
            self.overloads, self.seen = {}, ""

        def compile(self, types):
            self.seen = forecast.sys.stderr.getvalue()
            self.overloads[types] = "code"

    def compile_with(stderr):
        dispatcher = Dispatcher()
        monkeypatch.setitem(jit.ENTRIES, "made_up", (dispatcher, ()))
        monkeypatch.setattr(jit, "is_cached", lambda name: False)
        monkeypatch.setattr(forecast.sys, "stderr", stderr)
        assert jit._compiled("made_up") == "code"
        return dispatcher.seen

    return compile_with


def test_library_says_on_a_terminal_that_it_compiles(compiling):
    terminal = Terminal()
    line = "torqued: compiling made_up for this machine, once; about 2 s"
    assert compiling(terminal) == line
    assert terminal.getvalue().split("\r")[1:] == [" " * len(line), ""]  # and wipes it out


def test_library_says_nothing_in_a_log_or_while_a_command_shows_progress(compiling):
    assert compiling(io.StringIO()) == ""
    with jit.quietly():
        assert compiling(Terminal()) == ""
