"""The literal algorithms and Pinocchio agree, joint by joint and all together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from .literal_algorithms import aba, coriolis, crba, rnea
from .literal_tree import Base, LiteralTree
from .pinocchio_model import PinocchioRobot
from .sample_robots import BASES, MOVING, close, state, tree_of

PAIRS = [
    *(pytest.param((kind, "revolute", kind), "fixed", True, id=kind) for kind in MOVING),
    *(
        pytest.param(MOVING, base, armature, id=f"all-{base}-armature={armature}")
        for base, armature in itertools.product(BASES, (False, True))
    ),
]


@pytest.mark.parametrize(("kinds", "base", "armature"), PAIRS)
class TestAgainstPinocchio:
    def both(
        self, kinds: tuple[str, ...], base: Base, armature: bool, euler_zyx_native: bool = False
    ) -> tuple[LiteralTree, PinocchioRobot]:
        description = tree_of(kinds, 11, armature)
        pinocchio = PinocchioRobot(description, base, euler_zyx_native=euler_zyx_native)
        tree = LiteralTree(description, base)
        assert (pinocchio.nq, pinocchio.nv) == (tree.nq, tree.nv)
        return tree, pinocchio

    @pytest.mark.parametrize("euler_zyx_native", [False, True])
    def test_dynamics_agree(
        self, kinds: tuple[str, ...], base: Base, armature: bool, euler_zyx_native: bool
    ) -> None:
        tree, pinocchio = self.both(kinds, base, armature, euler_zyx_native)
        q, v, a = state(tree, 12)
        f_ext = np.random.default_rng(13).uniform(-5.0, 5.0, (len(tree.bodies), 6))
        assert close(crba(tree, q), pinocchio.crba(q))
        assert close(rnea(tree, q, v, a, f_ext), pinocchio.rnea(q, v, a, f_ext))
        assert close(aba(tree, q, v, a, f_ext), pinocchio.aba(q, v, a, f_ext))

    def test_coriolis_matrix_agrees(
        self, kinds: tuple[str, ...], base: Base, armature: bool
    ) -> None:
        tree, pinocchio = self.both(kinds, base, armature)
        q, v, _ = state(tree, 12)
        assert close(coriolis(tree, q, v)[2], pinocchio.coriolis(q, v))

    def test_conversions_return(self, kinds: tuple[str, ...], base: Base, armature: bool) -> None:
        tree, pinocchio = self.both(kinds, base, armature)
        q, v, a = state(tree, 12)
        assert close(pinocchio.q_from_pin(pinocchio.q_to_pin(q)), q)
        assert close(pinocchio.v_from_pin(q, pinocchio.v_to_pin(q, v)), v)
        assert close(pinocchio.a_from_pin(q, v, pinocchio.a_to_pin(q, v, a)), a)
        assert close(pinocchio.tau_from_pin(q, pinocchio.tau_to_pin(q, a)), a)
        power = pinocchio.tau_to_pin(q, a) @ pinocchio.v_to_pin(q, v)
        assert close(np.array(power), np.array(a @ v))
