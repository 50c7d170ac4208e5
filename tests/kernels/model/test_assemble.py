"""From a description to arrays: order, merging, elementary joints, paths, mimics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.literal_tree import LiteralTree, mimic_maps
from support.agreement import assert_agree
from support.random_trees import random_tree
from torqued.kernels.model.assemble import assemble, axis_frame, elementary_joints
from torqued.kernels.model.description import (
    JOINT_SIZES,
    Array,
    Description,
    Inertia,
    Joint,
    Link,
    Mimic,
    Pose,
)
from torqued.kernels.model.families import family
from torqued.kernels.model.model import Model
from torqued.kernels.primitives import layout

X, Y, Z = np.eye(3)
NO_GRAVITY = np.zeros(3)
HEAVY = Inertia(1.0, 0.1 * X, 0.01 * np.eye(3))

few = settings(max_examples=30)
seeds = st.integers(0, 2**32 - 1)
bases = st.sampled_from(["fixed", "floating"])


def model_of(description: Description, base: str = "fixed") -> Model:
    return assemble(description, base, NO_GRAVITY)


def random_model(seed: int, base: str, mimics: bool = False) -> tuple[Description, Model]:
    rng = np.random.default_rng(seed)
    description = random_tree(rng, int(rng.integers(1, 15)), mimics=mimics)
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


class TestElementaryJoints:
    @pytest.mark.parametrize("kind", [kind for kind in JOINT_SIZES if kind != "fixed"])
    def test_make_up_the_sizes_of_the_joint(self, kind):
        sizes = {layout.SPHERICAL: (4, 3), layout.FLOATING: (7, 6)}
        parts = elementary_joints(Joint("j", kind, "a", "b"))
        total = np.sum([sizes.get(part, (1, 1)) for part, _ in parts], axis=0)
        assert tuple(total) == JOINT_SIZES[kind]

    def test_of_a_planar_joint_slide_in_its_plane_and_turn_about_its_normal(self):
        axis = np.array([1.0, 2.0, -2.0]) / 3.0
        (_, first), (_, second), (turn, normal) = elementary_joints(
            Joint("j", "planar", "a", "b", axis=axis)
        )
        assert turn == layout.REVOLUTE
        assert_agree(normal, axis)
        assert_agree(np.cross(first, second), axis)

    def test_of_euler_angles_turn_about_the_named_axes(self):
        parts = elementary_joints(Joint("j", "euler_zyx", "a", "b"))
        np.testing.assert_array_equal([axis for _, axis in parts], [Z, Y, X])


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


def path(model: Model, i: int) -> list[int]:
    """Columns of a body and of all its ancestors, from the root on."""
    columns: list[int] = []
    while i >= 0:
        body = model.bodies[i]
        columns = [*range(body["column"], body["column"] + body["columns"]), *columns]
        i = int(body["parent"])
    return columns


class TestPaths:
    @few
    @given(seed=seeds, base=bases)
    def test_parents_come_before_children_and_depth_counts_the_columns_above(self, seed, base):
        _, model = random_model(seed, base)
        for i, body in enumerate(model.bodies):
            assert body["parent"] < i
            assert len(path(model, i)) == body["depth"] + body["columns"]

    @few
    @given(seed=seeds, base=bases)
    def test_subtree_is_the_columns_up_to_its_end(self, seed, base):
        _, model = random_model(seed, base)
        for body in model.bodies:
            below = [
                c
                for k in range(len(model.bodies))
                if body["column"] in path(model, k)
                for c in range(model.bodies[k]["column"], path(model, k)[-1] + 1)
            ]
            assert below == list(range(body["column"], body["end"]))

    @few
    @given(seed=seeds, base=bases)
    def test_path_is_the_unbroken_stretches_that_run_and_above_tell(self, seed, base):
        _, model = random_model(seed, base)
        for i in range(len(model.bodies)):
            told: list[int] = []
            k = i
            while k >= 0:
                body = model.bodies[k]
                told = [*range(body["run"], body["column"] + body["columns"]), *told]
                k = int(body["above"])
            assert told == path(model, i)

    @few
    @given(seed=seeds, base=bases)
    def test_branched_tells_whether_some_columns_are_not_on_one_path(self, seed, base):
        _, model = random_model(seed, base)
        columns = int(model.bodies["columns"].sum())
        one_path = any(len(path(model, i)) == columns for i in range(len(model.bodies)))
        if len(model.bodies):
            assert bool(model.world["branched"][0]) == (not one_path)

    @few
    @given(seed=seeds, base=bases)
    def test_anchor_is_the_first_body_with_mass(self, seed, base):
        _, model = random_model(seed, base)
        heavy = np.flatnonzero(model.bodies["mass"] > 0.0)
        if len(heavy):
            assert model.world["anchor"][0] == heavy[0]


class TestMerging:
    @few
    @given(seed=seeds, base=bases)
    def test_bodies_have_the_inertia_of_all_links_fixed_to_them(self, seed, base):
        description, model = random_model(seed, base)
        tree = LiteralTree(description, base)
        masses = [body.inertia[5, 5] for body in tree.bodies]
        heavy = [body["mass"] for body in model.bodies if body["mass"] > 0.0]
        assert_agree(heavy, [mass for mass in masses if mass > 0.0])

    def test_link_behind_a_fixed_joint_moves_the_center_of_mass(self):
        links = (Link("base"), Link("arm", Inertia(1.0)), Link("tool", Inertia(3.0, X)))
        joints = (
            Joint("j", "revolute", "base", "arm", axis=Z),
            Joint("f", "fixed", "arm", "tool", Pose(np.eye(3), Y)),
        )
        (body,) = model_of(Description("merged", links, joints)).bodies
        assert body["mass"] == 4.0
        assert_agree(body["com"], 0.75 * (X + Y))

    def test_splitting_a_joint_leaves_massless_bodies_before_the_last(self):
        links = (Link("base"), Link("a", HEAVY))
        for kind, count in {"planar": 3, "translation": 3, "euler_xyz": 3, "spherical": 1}.items():
            joint = Joint("j", kind, "base", "a", axis=Z)
            model = model_of(Description("split", links, (joint,)))
            assert model.bodies["mass"].tolist() == [0.0] * (count - 1) + [1.0]

    def test_armature_counts_for_every_column_of_its_joint(self):
        links = (Link("base"), Link("a", HEAVY), Link("b", HEAVY))
        joints = (
            Joint("ball", "spherical", "base", "a", armature=0.5),
            Joint("plane", "planar", "a", "b", axis=Z, armature=0.25),
        )
        model = model_of(Description("rotors", links, joints))
        assert model.dofs.armature.tolist() == [0.5] * 3 + [0.25] * 3
        assert model.bodies[0]["armature"].tolist() == [0.5] * 3 + [0.0] * 3
        assert [body["armature"][0] for body in model.bodies[1:]] == [0.25] * 3


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

    def test_what_is_fixed_to_the_world_has_no_body(self):
        links = (Link("base", HEAVY), Link("post", HEAVY), Link("arm", HEAVY))
        joints = (
            Joint("f", "fixed", "base", "post", Pose(np.eye(3), X)),
            Joint("j", "revolute", "post", "arm", axis=Z),
        )
        model = model_of(Description("post", links, joints))
        assert {frame.name: frame.body for frame in model.frames} == {
            "base": -1,
            "post": -1,
            "f": -1,
            "arm": 0,
            "j": 0,
        }
        assert model.bodies["mass"].tolist() == [1.0]


class TestMimics:
    @few
    @given(seed=seeds, base=bases)
    def test_maps_are_those_of_the_definition(self, seed, base):
        description, model = random_model(seed, base, mimics=True)
        maps, mimics = mimic_maps(description, base), model.mimics
        q = np.random.default_rng(seed).normal(size=maps.Gq.shape[1])
        v = np.random.default_rng(seed).normal(size=maps.Gv.shape[1])
        free_q = mimics.q_multiplier * q[mimics.q_index] + mimics.offset
        assert_agree(free_q, maps.Gq @ q + maps.offset, size=1.0)
        assert_agree(mimics.multiplier * v[mimics.v_index], maps.Gv @ v, size=1.0)

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

    def test_robot_without_followers_has_none_present(self):
        _, model = random_model(1, "floating")
        assert not model.mimics.present
        assert model.mimics.leaders_q.tolist() == list(range(len(model.dofs.lower)))


class TestImmutability:
    def test_no_array_can_be_written_or_made_writeable(self):
        _, model = random_model(1, "floating")
        parts = [model, model.dofs, model.mimics, *model.frames]
        arrays = [x for part in parts for x in vars(part).values() if isinstance(x, np.ndarray)]
        assert len(arrays) == 2 + 7 + 7 + 2 * len(model.frames)
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
