"""Every robot of example-robot-data that Pinocchio loads, loaded and compared with Pinocchio."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.robots import robot_urdfs
from torqued.common.errors import ModelError
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Inertia, Pose

pin = pytest.importorskip("pinocchio")

#: Files whose mass matrix is singular or may be indefinite, and the joints and links at fault.
UNPHYSICAL = {
    "romeo.urdf": {"joint 'LHand'", "joint 'RHand'"},
    "romeo_laas_small.urdf": {
        "link 'body'",
        "link 'LHipPitch_link'",
        "link 'RHipPitch_link'",
        "joint 'l_gripper_joint'",
        "joint 'r_gripper_joint'",
    },
}

URDFS = robot_urdfs()


def shown(path: Path) -> str:
    return path.stem


@cache
def pinocchio_model(path: Path) -> Any:
    """None for a file that Pinocchio refuses."""
    with contextlib.suppress(ValueError):
        return pin.buildModelFromUrdf(str(path))
    return None


def loaded_by_pinocchio(path: Path) -> Any:
    model = pinocchio_model(path)
    if model is None:
        pytest.skip("refused by Pinocchio")
    return model


def test_the_robots_are_there():
    assert len(URDFS) > 60


@pytest.mark.parametrize("path", URDFS, ids=shown)
def test_real_robot_loads_without_a_fault(path):
    loaded_by_pinocchio(path)
    description = read_file(path)
    warnings = check(description, accept_unphysical=path.name in UNPHYSICAL)
    assert all(": " in sentence for sentence in warnings)


@pytest.mark.parametrize("path", [p for p in URDFS if p.name in UNPHYSICAL], ids=shown)
def test_unphysical_robot_is_refused_with_all_reasons_until_accepted(path):
    with pytest.raises(ModelError) as caught:
        check(read_file(path))
    named = {sentence.split(":")[0] for sentence in caught.value.problems}
    assert named == UNPHYSICAL[path.name]


def assert_same_body(ours: Inertia, theirs: Any) -> None:
    size = abs(theirs.mass) + 1e-9
    assert ours.mass == pytest.approx(theirs.mass, rel=1e-12)
    if theirs.mass > 0.0:
        np.testing.assert_allclose(ours.com, theirs.lever, atol=1e-12)
        np.testing.assert_allclose(ours.rotational, theirs.inertia, atol=1e-12 * size)


@pytest.mark.parametrize("path", URDFS, ids=shown)
def test_real_robot_has_the_bodies_placements_and_axes_that_pinocchio_finds(path):
    model = loaded_by_pinocchio(path)
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    bodies = Bodies(read_file(path))
    found: list[tuple[Any, Pose]] = [pair for pairs in bodies.joints.values() for pair in pairs]
    assert {joint.name for joint, _ in found} == set(model.names) - {"universe"}
    for joint, pose in found:
        index = model.getJointId(joint.name)
        np.testing.assert_allclose(pose.rotation, model.jointPlacements[index].rotation, atol=1e-12)
        np.testing.assert_allclose(
            pose.position, model.jointPlacements[index].translation, atol=1e-12
        )
        assert_same_body(bodies.inertia[joint.child], model.inertias[index])
        column = pin.getJointJacobian(model, data, index, pin.LOCAL)[:, model.idx_vs[index]]
        axis = column[:3] if joint.type == "prismatic" else column[3:]
        np.testing.assert_allclose(joint.axis, axis, atol=1e-12)


@pytest.mark.parametrize("path", URDFS, ids=shown)
def test_real_robot_has_the_limits_that_pinocchio_finds(path):
    model = loaded_by_pinocchio(path)
    for joint in read_file(path).joints:
        if joint.type not in ("revolute", "prismatic"):
            continue
        index = model.getJointId(joint.name)
        q, v = model.idx_qs[index], model.idx_vs[index]
        assert model.damping[v] == joint.damping
        assert model.velocityLimit[v] == joint.limits.velocity
        assert model.effortLimit[v] == joint.limits.effort
        # Where a file gives neither, Pinocchio takes the specification's 0 and 0 (see urdf.py).
        if np.isfinite(joint.limits.upper):
            assert model.lowerPositionLimit[q] == joint.limits.lower
            assert model.upperPositionLimit[q] == joint.limits.upper
