"""`torqued demo`: which experiment runs with which options."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from torqued.tools.cli import demo
from torqued.tools.cli.main import main
from torqued.tools.demos import EXPERIMENTS

ROOT = Path(__file__).parents[3]


@pytest.fixture
def chosen(monkeypatch):
    """Module and arguments of what would have run."""
    seen = []

    def load(name):
        return SimpleNamespace(run=lambda args: seen.append((name, args)) or 0)

    monkeypatch.setattr(demo.importlib, "import_module", load)

    def choose(*argv):
        assert main(["demo", *argv]) == 0
        name, args = seen.pop()
        return name.rpartition(".")[2], args

    return choose


def test_without_a_name_it_is_live(chosen):
    name, args = chosen()
    assert name == "live"
    assert (args.seconds, args.plot, args.json) == (None, Path("demo_results"), None)


@pytest.mark.parametrize("argv", [("--seconds", "3", "tracking"), ("tracking", "--seconds", "3")])
def test_options_count_before_and_after_the_name(chosen, argv):
    name, args = chosen(*argv)
    assert (name, args.seconds, args.plot) == ("tracking", 3.0, Path("demo_results"))


def test_help_lists_every_experiment_with_what_it_shows(capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    out = capsys.readouterr().out
    assert all(f"{name:<11} {what}" in out for name, what in EXPERIMENTS.items())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_module(name):
    assert (ROOT / "tools" / "demos" / f"{name}.py").is_file()


def test_page_beside_the_demo_has_an_address_unless_one_is_given(chosen):
    assert chosen()[1].dash is None
    assert chosen("--dash")[1].dash == "127.0.0.1:8080"
    assert chosen("--dash", "127.0.0.1:0")[1].dash == "127.0.0.1:0"
