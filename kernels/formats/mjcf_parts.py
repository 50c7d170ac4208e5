"""What drives and couples the joints of a compiled MJCF model, and notes on what is not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from torqued.kernels.constraints.types import Loop
from torqued.kernels.model.checks_tree import cycles
from torqued.kernels.model.description import Array, Mimic, Pose
from torqued.kernels.model.rotations import rotation_from_quaternion

#: How many names a note shows.
SHOWN = 8


class Compiled:
    """MuJoCo's model, with names of all its parts, and notes about the reading of it."""

    def __init__(self, model: Any, mujoco: Any, notes: list[str]) -> None:
        self.model, self.mujoco, self.notes = model, mujoco, notes
        #: By kind, and by MuJoCo's numbers; made up where the file has none.
        self.names: dict[str, list[str]] = {}
        self._taken: dict[str, set[str]] = {}
        counts = {"body": model.nbody, "joint": model.njnt, "site": model.nsite, "key": model.nkey}
        counts |= {"tendon": model.ntendon, "actuator": model.nactuator, "equality": model.neq}
        for kind, count in counts.items():
            number = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
            given = [mujoco.mj_id2name(model, number, i) or "" for i in range(count)]
            self._taken[kind] = {*given, ""}
            self.names[kind] = [x or self.new(kind, f"{kind}{i}") for i, x in enumerate(given)]
        bodies, sites = self._taken["body"], self.names["site"]
        clashes = [i for i, name in enumerate(sites) if name in bodies]
        self.note("site", clashes, "has the name of a body, so '_site' is added to it")
        bodies.update(sites)
        for i in clashes:
            sites[i] = self.new("body", f"{sites[i]}_site")

    def new(self, kind: str, wanted: str) -> str:
        """A name like the wanted one that nothing of this kind has; links are bodies."""
        name, k = wanted, 1
        while name in self._taken[kind]:
            name, k = f"{wanted}_{k + 1}", k + 1
        self._taken[kind].add(name)
        return name

    def note(self, kind: str, which: Any, sentence: str) -> None:
        """One sentence about parts of one kind: their numbers, or a mask of all."""
        chosen = np.asarray(which)
        numbers = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(int)
        if len(numbers):
            names = ", ".join(repr(self.names[kind][i]) for i in numbers[:SHOWN])
            more = f" … and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
            self.notes.append(f"{kind} {names}{more}: {sentence}")


def pose(position: Array, quaternion: Array) -> Pose:
    """Of MuJoCo's quaternion w x y z."""
    w, x, y, z = quaternion
    return Pose(rotation_from_quaternion(x, y, z, w), np.array(position))


def drives(c: Compiled, mimics: Mapping[int, Mimic]) -> tuple[Array, Array]:
    """Of each joint and its actuators: effort limit; armature, damping and friction (3, n)."""
    model, kinds = c.model, c.mujoco.mjtTrn
    dofs, joints = model.jnt_dofadr, c.names["joint"]
    kept = (model.dof_armature, model.dof_damping, model.dof_frictionloss)
    losses = np.array([values[dofs] for values in kept])
    span, driven = np.zeros((model.njnt, 2)), np.zeros(model.njnt, bool)
    forces, indirect = _forces(c), list[int]()
    for a in range(model.nactuator):
        kind, target = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0])
        gear = model.actuator_gear[model.actuator_outadr[a], 0]
        if kind in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT):
            losses[0, target] += model.actuator_armature[a] * gear**2
            losses[1, target] += model.actuator_damping[a] * gear**2
            driven[target] = True
            span[target] += np.sort(forces[a] * gear) if gear else 0.0
        elif moved := _moved_joints(c, kind, target):
            driven[moved] = True
            span[moved] += (-np.inf, np.inf)
            indirect.append(a)
    own = span.copy()
    for j in mimics:  # what drives a joint that mimics drives the one that it follows in the end
        leader, ratio = j, 1.0
        while leader in mimics:
            ratio *= mimics[leader].multiplier
            leader = joints.index(mimics[leader].joint)
        driven[leader] |= driven[j]
        span[leader] += np.sort(own[j] * ratio) if ratio else 0.0
    for j in np.flatnonzero(model.jnt_actfrclimited).tolist():
        span[j] = np.clip(span[j], *model.jnt_actfrcrange[j])
    scalar = model.jnt_type >= int(c.mujoco.mjtJoint.mjJNT_SLIDE)
    free = model.jnt_type == int(c.mujoco.mjtJoint.mjJNT_FREE)
    idle = ~driven & bool(model.nactuator)
    idle[list(mimics)] = False
    known = driven & scalar
    effort = np.where(known, np.maximum(np.minimum(-span[:, 0], span[:, 1]), 0.0), np.inf)
    effort[idle] = 0.0
    c.note("joint", idle & ~free, "no actuator drives it, so its effort limit is 0")
    skewed = known & ~np.isclose(-span[:, 0], span[:, 1])
    c.note("joint", skewed, "its efforts differ by direction; the limit is the smaller one")
    c.note("joint", driven & ~scalar, "efforts of ball and free joints are not read")
    c.note("actuator", indirect, "acts on more than one joint, so its effort is not read")
    c.note(
        "joint",
        free & losses.any(0),
        "is free: its armature, which M lacks, and its losses are not read",
    )
    losses[:, free] = 0.0
    return effort, losses


def _forces(c: Compiled) -> Array:
    """Least and largest force of each actuator (n, 2)."""
    model = c.model
    forces = np.tile([-np.inf, np.inf], (model.nactuator, 1))
    for a in np.flatnonzero(~_has_feedback(c) & (model.actuator_ctrlnum == 1)).tolist():
        control = model.actuator_ctrladr[a]
        if model.actuator_ctrllimited[control]:  # force = gain control
            forces[a] = np.sort(model.actuator_ctrlrange[control] * model.actuator_gainprm[a, 0])
    limited = model.actuator_forcelimited.astype(bool)
    forces[limited] = model.actuator_forcerange[limited]
    return forces


def _has_feedback(c: Compiled) -> Any:
    """Of each actuator: whether its force is more than a multiple of its control."""
    model, mujoco = c.model, c.mujoco
    return (
        (model.actuator_gaintype != int(mujoco.mjtGain.mjGAIN_FIXED))
        | (model.actuator_biastype != int(mujoco.mjtBias.mjBIAS_NONE))
        | (model.actuator_dyntype != int(mujoco.mjtDyn.mjDYN_NONE))
    )


def _moved_joints(c: Compiled, kind: int, target: int) -> list[int]:
    """Joints that an actuator drives through a tendon, or a site and what it hangs from."""
    model, kinds, joints = c.model, c.mujoco.mjtTrn, list[int]()
    if kind == kinds.mjTRN_TENDON:
        start = model.ten_J_rowadr[target]
        dofs = model.ten_J_colind[start : start + model.ten_J_rownnz[target]]
        joints += sorted({int(j) for j in model.dof_jntid[dofs]})
    elif kind in (kinds.mjTRN_SITE, kinds.mjTRN_SLIDERCRANK):
        body = model.site_bodyid[target]
        while body:
            first = int(model.body_jntadr[body])
            joints += range(first, first + int(model.body_jntnum[body]))
            body = model.body_parentid[body]
    return joints


def couplings(
    c: Compiled, standing: Mapping[int, Pose]
) -> tuple[dict[int, Mimic], dict[str, tuple[Loop, ...]]]:
    """Equalities: linear ones of two joints as mimics, connections of bodies as constraints."""
    model, kinds = c.model, c.mujoco.mjtEq
    mimics: dict[int, Mimic] = {}
    loops: dict[str, tuple[Loop, ...]] = {}
    faults: dict[str, list[int]] = {}
    for e in range(model.neq):
        kind, problem = int(model.eq_type[e]), ""
        if not model.eq_active0[e]:
            problem = "is not active, so it is not read"
        elif kind == kinds.mjEQ_JOINT:
            problem = _couple(c, mimics, e)
        elif kind not in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            problem = "is not of joints or bodies, so it is not read"
        elif loop := _loop(c, standing, e):
            loops[c.names["equality"][e]] = (loop,)
        else:
            problem = "holds what stands still, so it is left out"
        if problem:
            faults.setdefault(problem, []).append(e)
    for problem, which in faults.items():
        c.note("equality", which, problem)
    return mimics, loops


def _couple(c: Compiled, mimics: dict[int, Mimic], e: int) -> str:
    """Make a joint follow another; or why it does not."""
    model, joints = c.model, c.names["joint"]
    one, other = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    offset, slope, *curved = model.eq_data[e, :5].tolist()
    if other < 0:
        return "holds a joint still, which moves freely here"
    if any(curved):
        return "is not linear, so its joint moves freely here"
    if one in mimics:
        return "couples a joint that follows another one already, so it is not read"
    # MuJoCo's polynomial is one of deviations from qpos0.
    at, other_at = model.qpos0[model.jnt_qposadr[[one, other]]].tolist()
    mimics[one] = Mimic(joints[other], slope, offset + at - slope * other_at)
    if any(cycles({joints[j]: mimic.joint for j, mimic in mimics.items()})):
        del mimics[one]
        return "closes a circle of joints that follow each other, so it is not read"
    return ""


def _loop(c: Compiled, standing: Mapping[int, Pose], e: int) -> Loop | None:
    """What holds two bodies or sites together; None where neither moves."""
    model, data = c.model, c.model.eq_data[e]
    weld = int(model.eq_type[e]) == c.mujoco.mjtEq.mjEQ_WELD
    # Anchors in the first body and the second, and in a weld the other way round; then, of a weld,
    # the quaternion that takes the axes of the first to those of the second.
    places = [Pose(np.eye(3), data[3 * k : 3 * k + 3].copy()) for k in ((1, 0) if weld else (0, 1))]
    sites = int(model.eq_objtype[e]) == c.mujoco.mjtObj.mjOBJ_SITE
    if weld and not sites:
        places[0] = pose(places[0].position, data[6:10])
    ends = []
    for i, place in zip((int(model.eq_obj1id[e]), int(model.eq_obj2id[e])), places, strict=True):
        if sites:
            place = pose(model.site_pos[i], model.site_quat[i])
            i = int(model.site_bodyid[i])
        free = i not in standing
        ends.append((c.names["body"][i], place) if free else (None, standing[i] @ place))
    (frame, here), (other, there) = sorted(ends, key=lambda end: end[0] is None)
    if frame is None:
        return None
    target, point = np.eye(4), there.position
    target[:3, :3] = there.rotation @ here.rotation.T  # a ball joint does not hold it
    if other is None:  # points of the world are targets
        target[:3, 3], point = point, np.zeros(3)
    kind = "weld" if weld else "ball"
    return Loop(frame, other, kind, None, (0, 0, 1), here.position, point, target)


def note_unread(c: Compiled) -> None:
    """What has no counterpart here."""
    model, mujoco = c.model, c.mujoco
    bent = model.dof_dampingpoly[model.jnt_dofadr].any(1)
    heavy, pulled = model.tendon_armature != 0, model.actuator_armature != 0
    on_tendon = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON)
    on_joint = model.actuator_trntype <= int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    bent[model.actuator_trnid[on_joint & model.actuator_dampingpoly.any(1), 0]] = True
    heavy[model.actuator_trnid[on_tendon & pulled, 0]] = True
    swings = model.jnt_limited.astype(bool) & (model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL))
    springs = (model.jnt_stiffness != 0) | model.jnt_stiffnesspoly.any(1)
    c.note("joint", springs, "its spring is not read")
    c.note("joint", bent, "only the linear part of its damping is read")
    c.note("joint", swings, "the limit of its angle is not read")
    c.note("body", model.body_gravcomp != 0, "its gravity compensation is not read")
    c.note("body", model.body_mocapid >= 0, "is a mocap body and stands still here")
    c.note("actuator", _has_feedback(c), "its gains and dynamics are not used")
    c.note("tendon", heavy, "has an armature, which M lacks here; nothing of it is read")
    c.note("tendon", ~heavy, "it is not read, nor its springs, losses and limits")
    if model.opt.density or model.opt.viscosity or model.opt.wind.any():
        c.notes.append("option: forces of a fluid (density, viscosity, wind) are not read")
