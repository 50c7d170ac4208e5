"""From a description to arrays: order, merging, elementary joints, paths, mimics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.agreement import assert_agree
from support.random_trees import random_tree
from torqued.kernels.model.assemble import assemble, axis_frame
from torqued.kernels.model.description import (
    JOINT_SIZES,
    Array,
    Description,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    Pose,
)
from torqued.kernels.model.families import family
from torqued.kernels.model.model import Model

X, Y, Z = np.eye(3)
NO_GRAVITY = np.zeros(3)
HEAVY = Inertia(1.0, 0.1 * X, 0.01 * np.eye(3))

few = settings(max_examples=30)
seeds = st.integers(0, 2**32 - 1)
bases = st.sampled_from(["fixed", "floating"])


def model_of(description: Description, base: str = "fixed") -> Model:
    return assemble(description, base, NO_GRAVITY)


def random_model(seed: int, base: str) -> tuple[Description, Model]:
    rng = np.random.default_rng(seed)
    description = random_tree(rng, int(rng.integers(1, 15)))
    return description, model_of(description, base)


class TestAxisFrame:
    @given(seed=seeds)
    def test_takes_z_to_the_axis_by_the_smallest_rotation(self, seed):
        axis = np.random.default_rng(seed).normal(size=3)
        unit = axis / np.linalg.norm(axis)
        A = axis_frame(3.0 * axis)
        assert_agree(A[:, 2], unit, within=1e-15)
        assert_agree(A.T @ A, np.eye(3), within=1e-14)
        assert np.linalg.det(A) > 0.0
        # The angle of a rotation is in its trace; the smallest possible is that between z and it.
        assert_agree((np.trace(A) - 1.0) / 2.0, unit[2], within=1e-14, size=1.0)

    @pytest.mark.parametrize("tilt", [1e-3, 1e-8, 1e-12, 1e-160])
    @pytest.mark.parametrize("up", [1.0, -1.0])
    def test_keeps_its_digits_close_to_the_poles(self, tilt, up):
        A = axis_frame(np.array([tilt, -tilt, up]))
        assert_agree(A.T @ A, np.eye(3), within=1e-15)
        assert_agree(A[:, 2], [tilt, -tilt, up], within=tilt)

    def test_of_z_is_the_identity_and_of_its_opposite_half_a_turn_about_x(self):
        np.testing.assert_array_equal(axis_frame(Z), np.eye(3))
        np.testing.assert_array_equal(axis_frame(-Z), np.diag([1.0, -1.0, -1.0]))


class TestOrder:
    def test_bodies_are_numbered_depth_first_in_document_order(self):
        names = ("root", "a", "b", "c", "d")
        ends = {"j_d": ("b", "d"), "j_b": ("root", "b"), "j_a": ("root", "a"), "j_c": ("b", "c")}
        joints = [Joint(name, "revolute", p, c) for name, (p, c) in ends.items()]
        links = tuple(Link(name, HEAVY) for name in names)
        model = model_of(Description("order", links, tuple(joints)))
        assert [joint.name for joint in model.joints] == ["j_b", "j_d", "j_c", "j_a"]
        assert model.bodies["parent"].tolist() == [-1, 0, 0, -1]

    def test_floating_base_comes_first(self):
        model = model_of(family("chain", 2), "floating")
        first = model.joints[0]
        assert (first.name, first.type, first.q, first.nq, first.v, first.nv) == (
            "root_joint",
            "floating",
            0,
            7,
            0,
            6,
        )

    def test_chain_longer_than_pythons_stack(self):
        links = tuple(Link(f"l{k}", HEAVY) for k in range(3001))
        joints = tuple(Joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}") for k in range(3000))
        model = model_of(Description("long", links, joints))
        assert len(model.bodies) == 3000
        assert model.bodies["end"].tolist() == [3000] * 3000

    @few
    @given(seed=seeds, base=bases)
    def test_coordinates_are_numbered_without_gaps(self, seed, base):
        _, model = random_model(seed, base)
        nq = nv = 0
        for joint in model.joints:
            assert (joint.q, joint.v) == (nq, nv)
            assert (joint.nq, joint.nv) == JOINT_SIZES[joint.type]
            nq, nv = nq + joint.nq, nv + joint.nv
        assert len(model.dofs.lower) == nq and len(model.dofs.velocity) == nv


class TestFrames:
    @few
    @given(seed=seeds, base=bases)
    def test_links_come_first_then_joints(self, seed, base):
        description, model = random_model(seed, base)
        names = [frame.name for frame in model.frames]
        links = {link.name for link in description.links}
        joints = {joint.name for joint in description.joints}
        added = {"root_joint"} if base == "floating" else set()
        assert set(names[: len(links)]) == links
        assert set(names[len(links) :]) == joints | added

    def test_link_wins_over_a_joint_of_the_same_name(self):
        """Also where the joint is met first."""
        links = (Link("base"), Link("arm", HEAVY), Link("hand"))
        joints = (
            Joint("hand", "revolute", "base", "arm", axis=Z),
            Joint("f", "fixed", "arm", "hand", Pose(np.eye(3), X)),
        )
        model = model_of(Description("twins", links, joints))
        assert [frame.name for frame in model.frames] == ["base", "arm", "hand", "f"]
        assert_agree(model.frames[2].position, X)


class TestMimics:
    def test_chain_of_followers_may_be_longer_than_python_recurses(self):
        count = 3000
        links = tuple(Link(f"l{k}") for k in range(count + 1))
        joints = tuple(
            Joint(
                f"j{k}",
                "revolute",
                f"l{k}",
                f"l{k + 1}",
                mimic=Mimic(f"j{k + 1}", 1.0, 0.001) if k < count - 1 else None,
            )
            for k in range(count)
        )
        mimics = model_of(Description("long", links, joints)).mimics
        assert len(mimics.leaders_v) == 1
        np.testing.assert_allclose(mimics.offset, 0.001 * np.arange(count - 1, -1, -1))

    def leaders_range(self, follower: Limits, multiplier: float, offset: float) -> list[float]:
        links = tuple(Link(name) for name in ("base", "one", "two", "three"))
        joints = (
            Joint("leader", "revolute", "base", "one", limits=Limits(-1.0, 2.0)),
            Joint("between", "revolute", "one", "two", mimic=Mimic("leader", 2.0)),
            Joint(
                "follower",
                "revolute",
                "two",
                "three",
                limits=follower,
                mimic=Mimic("between", multiplier / 2.0, offset),
            ),
        )
        dofs = model_of(Description("followed", links, joints)).own_dofs
        return [*dofs.lower, *dofs.upper]

    def test_leaders_keep_followers_within_their_limits(self):
        assert self.leaders_range(Limits(-0.5, 1.5), -2.0, 0.5) == [-0.5, 0.5]
        assert self.leaders_range(Limits(upper=1.5), 4.0, 0.5) == [-1.0, 0.25]

    @pytest.mark.parametrize("multiplier", [-1.0, 0.0])
    def test_limits_of_followers_that_leave_no_range_do_not_count(self, multiplier):
        assert self.leaders_range(Limits(1.0, 1.5), multiplier, 0.0) == [-1.0, 2.0]


class TestImmutability:
    def test_no_array_can_be_written_or_made_writeable(self):
        _, model = random_model(1, "floating")
        parts = [model, model.dofs, model.mimics, *model.frames]
        arrays = [x for part in parts for x in vars(part).values() if isinstance(x, np.ndarray)]
        assert len(arrays) > 2 * len(model.frames)
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = array
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)

    def test_what_a_model_was_made_of_may_change(self):
        _, model = random_model(1, "floating")
        bodies = model.bodies.copy()
        other = replace(model, bodies=bodies)
        bodies["mass"] = 0.0
        assert other.bodies["mass"].tolist() == model.bodies["mass"].tolist()
        assert (other.bodies["mass"] > 0.0).any()

    def test_description_is_not_touched(self):
        description = family("biped", 4)
        before: list[Array] = [joint.axis.copy() for joint in description.joints]
        model_of(description, "floating")
        for joint, axis in zip(description.joints, before, strict=True):
            np.testing.assert_array_equal(joint.axis, axis)

    def test_axis_need_not_be_of_unit_length(self):
        description = family("chain", 3)
        longer = replace(
            description,
            joints=tuple(replace(joint, axis=5.0 * joint.axis) for joint in description.joints),
        )
        first, second = model_of(description).bodies, model_of(longer).bodies
        assert_agree(second["R"], first["R"], within=1e-15)
