"""Pinocchio's second derivatives in C++: both agree; what is told where there is no compiler."""

import pytest

from torqued.benchmarks import robots, second_order
from torqued.benchmarks.robots import SECOND_ORDER
from torqued.benchmarks.second_order import NoPeerError


def test_without_eigen_the_reason_names_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("EIGEN3_INCLUDE_DIR", str(tmp_path))
    with pytest.raises(NoPeerError, match=f"in none of {tmp_path}; set EIGEN3_INCLUDE_DIR"):
        second_order.library()


def test_without_a_compiler_the_reason_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(NoPeerError, match="there is no C"):
        second_order.compile_library(tmp_path / "peer.so", [])


def test_what_the_compiler_complains_about_is_told(tmp_path):
    source = tmp_path / "broken.cpp"
    source.write_text("int main() { return nothing; }")
    if second_order.shutil.which("g++") is None:
        pytest.skip("there is no compiler that could complain")
    with pytest.raises(NoPeerError, match="nothing"):
        second_order.compile_library(tmp_path / "peer.so", [str(source)])
    assert not (tmp_path / "peer.so").exists()


def test_a_robot_has_no_row_without_its_peer():
    assert SECOND_ORDER not in robots.load("chain5", states=1).kernels


@pytest.fixture(scope="module")
def peer():
    """Pinocchio's function; compiling takes a minute, once for each version of it."""
    try:
        return second_order.library()
    except NoPeerError as error:
        pytest.skip(f"Pinocchio's second derivatives cannot be compiled: {error}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain20", "tree20", "panda", "talos", "biped20"])
def test_second_derivatives_agree_with_pinocchio(name, peer):
    case = robots.load(name, states=2)
    case.second_order = second_order.SecondOrderProblem(case, peer)
    case.verify([SECOND_ORDER])
    case.second_order = None
