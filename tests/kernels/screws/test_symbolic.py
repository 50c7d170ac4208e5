"""Expressions of small robots: numbers of the kernels, by two ways, and as code that runs."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_agree
from cases import random_case
from textbook import DoublePendulum

pytest.importorskip("sympy", reason="of the extra 'symbolic'")

from torqued.kernels import InputError, Robot
from torqued.kernels.model.description import Array
from torqued.kernels.screws.symbolic import QUANTITIES, Equations, exact_rotation
from torqued.kernels.screws.symbolic_code import ARGUMENTS, WRITERS, to_c, to_python
from torqued.kernels.screws.symbolic_table import compare, planar_tree
from torqued.tools.cli.main import main

TYPES = ("revolute", "prismatic", "helical")
ROBOTS = {
    "pendulum": DoublePendulum().robot,
    "chain2": Robot.family("chain", 2, armature={"joint_1": 0.1}),
    "tree3": Robot.family("tree", 3),
    "mixed": random_case(5, 3, "fixed", TYPES).robot,
    "planar5": Robot(planar_tree(5)),
}
robots = pytest.mark.parametrize("name", ROBOTS)


def expressions(robot: Robot) -> tuple[dict[str, Any], int]:
    equations = Equations(robot.model)

    def turned(values: Any) -> Any:
        if isinstance(values, list):
            return [turned(value) for value in values]
        return equations.expression(values)

    return {name: turned(equations.quantity(name)) for name in QUANTITIES}, equations.n


def state_and_expected(robot: Robot) -> tuple[dict[str, Array], dict[str, Array]]:
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    return {"q": q, "v": v, "a": a}, {
        "M": robot.mass_matrix(q),
        "C": robot.coriolis_matrix(q, v),
        "Gamma": robot.christoffel(q),
        "g": robot.gravity(q),
        "tau": robot.inverse_dynamics(q, v, a),
    }


@robots
def test_python_code_gives_the_numbers_of_the_kernels(name):
    robot = ROBOTS[name]
    module: dict[str, Any] = {}
    exec(to_python(robot.name, *expressions(robot)), module)
    state, expected = state_and_expected(robot)
    for quantity, value in expected.items():
        found = module[quantity](*(state[letter] for letter in ARGUMENTS[quantity]))
        assert_agree(found, value, within=1e-9, size=0.1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ["pendulum", "tree3"])
def test_c_code_compiles_without_warnings_and_gives_the_numbers_of_the_kernels(name, tmp_path):
    robot = ROBOTS[name]
    source, library = tmp_path / "robot.c", tmp_path / "robot.so"
    source.write_text(to_c(robot.name, *expressions(robot)))
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    subprocess.run([*command, "-O1", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    compiled = ctypes.CDLL(str(library))
    pointer = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    state, expected = state_and_expected(robot)
    for quantity, value in expected.items():
        out = np.full(value.shape, np.nan)
        function = compiled[quantity]
        function.argtypes = [pointer] * (len(ARGUMENTS[quantity]) + 1)
        function.restype = None
        function(*(state[letter] for letter in ARGUMENTS[quantity]), out)
        assert_agree(out, value, within=1e-9, size=0.1)


@robots
def test_both_ways_to_the_christoffel_symbols_give_the_same_polynomials(name):
    assert compare(ROBOTS[name].model).equal


def test_comparison_sees_a_difference():
    equations = Equations(ROBOTS["pendulum"].model)
    Gamma = equations.christoffel()
    assert Gamma == equations.christoffel_by_partials()
    Gamma[0][0][1] += equations.s[1]
    assert Gamma != equations.christoffel_by_partials()


def test_double_pendulum_is_that_of_the_textbook():
    import sympy

    quantities, _ = expressions(ROBOTS["pendulum"])
    q1 = sympy.Symbol("q1")
    pendulum = DoublePendulum
    m, l1, l2 = (sympy.Rational(str(x)) for x in (pendulum.m2, pendulum.l1, pendulum.l2))
    assert sympy.expand(quantities["M"][0][1] - m * (l2**2 + l1 * l2 * sympy.cos(q1))) == 0
    assert sympy.expand(quantities["Gamma"][0][1][1] + m * l1 * l2 * sympy.sin(q1)) == 0


def test_rotations_stay_rotations():
    R, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    R = R * np.sign(np.linalg.det(R))
    found = exact_rotation(R)
    for i in range(3):
        for j in range(3):
            assert sum(found[k][i] * found[k][j] for k in range(3)) == (i == j)
    assert_agree(np.array(found, dtype=float), R, within=1e-12)


class TestErrors:
    def test_quaternions_are_refused(self):
        with pytest.raises(InputError, match="joint 'root_joint' is floating, expected joints"):
            Equations(Robot.family("biped", 2).model)

    def test_large_robots_are_refused(self):
        with pytest.raises(InputError, match="20 coordinates, expected 1 to 15"):
            Equations(Robot.family("chain", 20).model)


class TestCommand:
    @pytest.mark.parametrize("to", WRITERS)
    def test_it_writes_every_form(self, to, capsys, tmp_path: Path):
        assert main(["symbolic", "--robot", "chain2", "--of", "M,Gamma,g", "--to", to]) == 0
        printed = capsys.readouterr().out
        assert "chain2" in printed
        file = tmp_path / "out"
        command = ["symbolic", "--robot", "chain2", "--of", "M,Gamma,g", "--to", to]
        assert main([*command, "--out", str(file)]) == 0
        assert file.read_text() == printed

    def test_table_has_both_times(self, capsys):
        assert main(["symbolic", "--table", "2,3"]) == 0
        out = capsys.readouterr().out
        assert "N = 2" in out and "Algorithm 2" in out and "yes" in out
        assert main(["symbolic", "--robot", "chain2", "--check"]) == 0

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--robot", "chain2", "--of", "H"], "--of: 'H' is unknown, allowed: 'M', 'C'"),
            (["--table", "2,x"], "--table: '2,x', expected whole numbers"),
            (["--table", "99"], "expected a whole number from 1 to 15"),
            (["--robot", "pandda"], "'pandda' is not known"),
            (["--robot", "chain2", "--out", "/no/such/file"], "cannot be written"),
        ],
    )
    def test_wrong_words_are_named(self, words, message, capsys):
        assert main(["symbolic", *words]) == 2
        assert message in capsys.readouterr().err
