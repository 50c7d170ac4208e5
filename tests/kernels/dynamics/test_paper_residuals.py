"""[EW21]'s residuals under the paper's conditions: serial chains, 100 random states each, q in
[0, 2π], q̇ in [0, 10], no gravity. The bounds are the paper's own figures, absolute.

Ṁ comes from the rates of composite inertias (`Robot.mass_matrix_rate`), not from C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from support.agreement import largest
from torqued.kernels import Robot

TRIALS = 100

#: Of the chains. Absolute residuals grow with masses and lengths, which the paper leaves open.
SEED = 1

#: Largest |C q̇ − RNEA| that the paper reports.
AGAINST_RNEA = {10: 1.3e-11, 20: 1.4e-9, 30: 1.4e-9}
#: Largest |Ṁ − C − Cᵀ| and |C − Σ Γ q̇| that the paper reports.
AGAINST_RATE = 1.8e-12
AGAINST_CHRISTOFFEL = 1.6e-11


@dataclass(frozen=True)
class Residuals:
    """Largest of all trials."""

    rnea: float
    rate: float
    christoffel: float


def measure(robot: Robot, rng: np.random.Generator) -> Residuals:
    found = []
    rest = np.zeros(robot.nv)
    for _ in range(TRIALS):
        q = rng.uniform(0.0, 2.0 * np.pi, robot.nq)
        v = rng.uniform(0.0, 10.0, robot.nv)
        C = robot.coriolis_matrix(q, v)
        found.append(
            [
                largest(C @ v - robot.inverse_dynamics(q, v, rest)),
                largest(robot.mass_matrix_rate(q, v) - C - C.T),
                largest(C - robot.christoffel(q) @ v),
            ]
        )
    return Residuals(*np.max(found, axis=0))


@pytest.fixture(scope="module", params=AGAINST_RNEA)
def chain(request: pytest.FixtureRequest) -> tuple[int, Residuals]:
    dofs = request.param
    robot = Robot.family("chain", dofs, SEED, gravity=(0.0, 0.0, 0.0))
    return dofs, measure(robot, np.random.default_rng(dofs))


def test_C_times_v_is_as_close_to_inverse_dynamics_as_in_the_paper(chain):
    dofs, residuals = chain
    assert residuals.rnea <= AGAINST_RNEA[dofs]


def test_C_plus_C_transposed_is_as_close_to_the_mass_matrix_rate_as_in_the_paper(chain):
    assert chain[1].rate <= AGAINST_RATE


def test_christoffel_symbols_sum_as_close_to_C_as_in_the_paper(chain):
    assert chain[1].christoffel <= AGAINST_CHRISTOFFEL
