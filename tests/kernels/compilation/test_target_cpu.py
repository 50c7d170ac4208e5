"""Kernels for a kind of processor: chosen by the environment, refused where they could not run."""

import itertools
import json
import os
import subprocess
import sys

import pytest

from torqued.common.errors import InputError
from torqued.kernels.compilation import target_cpu as processor

pytestmark = pytest.mark.slow

#: Compiles one kernel that works in four lanes; prints what for, and the diagonal of a C + Cᵀ − Ṁ.
PROGRAM = """
import json
import numpy as np
from numba.core.registry import cpu_target
from torqued.kernels import Robot
from torqued.kernels.compilation import jit
robot = Robot.family("chain", 5)
q, v = robot.random_state(np.random.default_rng(0))
C = robot.coriolis_matrix(q, v)
print(json.dumps({
    "processor": jit.PROCESSOR,
    "codegen": cpu_target.target_context.codegen().magic_tuple()[1:],
    "residual": np.abs(C + C.T - robot.mass_matrix_rate(q, v)).max(),
    "C": C.tolist(),
}))
"""


@pytest.fixture
def asked_for(monkeypatch):
    """Asks for a kind of processor; numba's own settings stay as they were."""

    def ask(kind):
        monkeypatch.setenv(processor.VARIABLE, kind)
        monkeypatch.setattr(processor.config, "reload_config", lambda: None)
        monkeypatch.setattr(os, "environ", dict(os.environ))
        return processor.choose_processor()

    return ask


@pytest.mark.parametrize("kind", ["", "native"])
def test_without_a_wish_code_is_for_this_processor(asked_for, kind, monkeypatch):
    monkeypatch.setattr(processor.config, "CPU_NAME", None)
    assert asked_for(kind) == processor.get_host_cpu_name()
    assert "NUMBA_CPU_NAME" not in os.environ


def test_unknown_kind_is_refused_with_those_that_exist(asked_for):
    with pytest.raises(InputError, match=r"'pentium' is unknown, allowed: native, generic, x86-64"):
        asked_for("pentium")


def test_kind_that_this_processor_is_not_is_refused_with_what_is_missing(asked_for, monkeypatch):
    present = dict.fromkeys(processor.KINDS["x86-64-v3"], True) | {"avx2": False}
    del present["fma"]
    monkeypatch.setattr(processor, "get_host_cpu_features", lambda: present)
    with pytest.raises(InputError, match=r"is not x86-64-v3, it lacks avx2, fma$"):
        asked_for("x86-64-v3")
    assert asked_for("x86-64-v2") == "x86-64-v2"


def test_each_kind_has_all_that_the_one_before_it_has():
    kinds = [set(features) for features in processor.KINDS.values()]
    assert all(less < more for less, more in itertools.pairwise(kinds))


def test_code_for_any_processor_computes_the_same():
    """In lanes of four too, on a kind of processor that has no registers for four numbers."""
    answers = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", PROGRAM],
                env=os.environ | environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for environment in ({}, {processor.VARIABLE: "generic"})
    ]
    here, anywhere = answers
    assert anywhere["processor"] == "generic" and anywhere["codegen"] == ["generic", ""]
    assert here["codegen"][0] == here["processor"]
    assert max(here["residual"], anywhere["residual"]) < 1e-12
    assert all(
        abs(a - b) < 1e-12
        for row, other in zip(here["C"], anywhere["C"], strict=True)
        for a, b in zip(row, other, strict=True)
    )
