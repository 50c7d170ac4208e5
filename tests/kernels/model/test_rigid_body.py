"""Moving and joining inertias, against 6 x 6 spatial inertias."""

from __future__ import annotations

import numpy as np
import pytest

from torqued.kernels.model.description import Array, Inertia, Pose
from torqued.kernels.model.families import random_direction, random_inertia, random_placement
from torqued.kernels.model.rigid_body import about_axis, about_origin, joined, moved


def cross(p: Array) -> Array:
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def spatial(inertia: Inertia) -> Array:
    """About the frame's origin, [angular; linear]."""
    m, C = inertia.mass, cross(inertia.com)
    return np.block([[inertia.rotational + m * C @ C.T, m * C], [m * C.T, m * np.eye(3)]])


def motion_into(pose: Pose) -> Array:
    """Takes motions in the outer frame into the frame at `pose`."""
    R = pose.rotation.T
    return np.block([[R, np.zeros((3, 3))], [-R @ cross(pose.position), R]])


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_moved_inertia_has_the_same_kinetic_energy(rng):
    inertia, pose = random_inertia(rng), random_placement(rng)
    X = motion_into(pose)
    np.testing.assert_allclose(
        spatial(moved(inertia, pose)), X.T @ spatial(inertia) @ X, atol=1e-15
    )


def test_joined_inertia_is_the_sum_of_spatial_inertias(rng):
    a, b = random_inertia(rng), random_inertia(rng)
    np.testing.assert_allclose(spatial(joined(a, b)), spatial(a) + spatial(b), atol=1e-15)


def test_joining_nothing_changes_nothing(rng):
    inertia = random_inertia(rng)
    for both in (joined(inertia, Inertia()), joined(Inertia(), inertia)):
        np.testing.assert_allclose(spatial(both), spatial(inertia), rtol=1e-15)


def test_joining_massless_bodies_keeps_their_rotational_inertia():
    spin = Inertia(0.0, np.ones(3), np.eye(3))
    assert joined(spin, spin).rotational.tolist() == (2 * np.eye(3)).tolist()


def test_inertia_about_origin_and_axis_agree_with_the_spatial_inertia(rng):
    inertia, axis = random_inertia(rng), random_direction(rng)
    angular = spatial(inertia)[:3, :3]
    np.testing.assert_allclose(about_origin(inertia), angular, rtol=1e-13)
    assert about_axis(inertia, axis) == pytest.approx(axis @ angular @ axis, rel=1e-13)
