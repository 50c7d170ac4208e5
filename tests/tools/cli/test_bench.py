import sys
from types import SimpleNamespace

import pytest

from torqued.benchmarks import BENCHMARKS
from torqued.tools.cli.main import main


@pytest.fixture
def benchmark(monkeypatch):
    """A benchmark in place of the real one, which keeps what it was called with."""
    module = SimpleNamespace(seen=None)

    def add_arguments(parser):
        parser.add_argument("--json")

    def run(args):
        module.seen = args
        return 7

    module.add_arguments, module.run = add_arguments, run
    monkeypatch.setitem(sys.modules, "torqued.benchmarks.kernels", module)
    return module


def test_options_and_exit_code_pass_through(benchmark):
    assert main(["bench", "kernels", "--json", "figures.json"]) == 7
    assert benchmark.seen.json == "figures.json"


def test_benchmark_explains_its_own_options(benchmark, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["bench", "kernels", "--help"])
    assert "usage: torqued bench kernels [-h] [--json JSON]" in capsys.readouterr().out


def test_wrong_option_is_reported_by_the_benchmark(benchmark, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "kernels", "--jsno", "x"])
    assert "torqued bench kernels: error: unrecognized arguments" in capsys.readouterr().err


def test_help_names_every_benchmark(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["bench", "--help"])
    out = capsys.readouterr().out
    assert all(f"{name:<15} {what}" in out for name, what in BENCHMARKS.items())
