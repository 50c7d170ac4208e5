"""Names of a compiled MJCF model, what drives and couples its joints, and what is not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torqued.kernels.constraints.types import Loop
from torqued.kernels.model.checks_tree import cycles
from torqued.kernels.model.description import Array, Mimic, Pose
from torqued.kernels.model.rotations import rotation_from_quaternion

#: How many names a note shows.
SHOWN = 8


def note(kind: str, names: Sequence[str], sentence: str) -> str:
    """One sentence about things of one kind."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    more = f" … and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{kind} {shown}{more}: {sentence}"


class Names:
    """Of bodies, sites, joints and so on, by MuJoCo's numbers; made up where the file has none."""

    def __init__(self, model: Any, mujoco: Any) -> None:
        def given(kind: str, count: int, taken: set[str] | None = None) -> list[str]:
            number = getattr(mujoco.mjtObj, f"mjOBJ_{kind}")
            names = [mujoco.mj_id2name(model, number, i) or "" for i in range(count)]
            taken = set() if taken is None else taken
            taken |= set(names)
            return [x or _new(f"{kind.lower()}{i}", taken) for i, x in enumerate(names)]

        self._links: set[str] = set()
        self._joints: set[str] = set()
        self.bodies = given("BODY", model.nbody, self._links)
        own = given("SITE", model.nsite)
        self.joints = given("JOINT", model.njnt, self._joints)
        self.tendons = given("TENDON", model.ntendon)
        self.actuators = given("ACTUATOR", model.nactuator)
        self.equalities = given("EQUALITY", model.neq)
        self.keys = given("KEY", model.nkey)
        clashes = [name for name in own if name in self._links]
        kept = self._links | set(own)
        self.sites = [_new(f"{name}_site", kept) if name in clashes else name for name in own]
        self._links |= set(self.sites)
        #: About the names.
        self.notes = [note("site", clashes, "has a body's name: '_site' is added")] * bool(clashes)

    def new_link(self, wanted: str) -> str:
        return _new(wanted, self._links)

    def new_joint(self, wanted: str) -> str:
        return _new(wanted, self._joints)


def _new(wanted: str, taken: set[str]) -> str:
    name, k = wanted, 1
    while name in taken:
        k += 1
        name = f"{wanted}_{k}"
    taken.add(name)
    return name


@dataclass
class Drives:
    """What actuators do to each joint (n,)."""

    effort: Array  # N m or N; 0 where none drives a joint, infinite where no limit is known
    armature: Array  # with that of actuators
    damping: Array
    notes: list[str] = field(default_factory=list)


def drives(model: Any, mujoco: Any, names: Names, mimics: Mapping[int, Mimic]) -> Drives:
    """Efforts are the sums of the actuators on a joint, cut to its `actuatorfrcrange`."""
    trn, first = mujoco.mjtTrn, model.jnt_dofadr
    effort = np.full(model.njnt, np.inf)
    found = Drives(effort, model.dof_armature[first], model.dof_damping[first])
    span, driven = np.zeros((model.njnt, 2)), np.zeros(model.njnt, bool)
    indirect = []
    for a in range(model.nactuator):
        kind, target = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0])
        gear = model.actuator_gear[model.actuator_outadr[a], 0]
        if kind in (trn.mjTRN_JOINT, trn.mjTRN_JOINTINPARENT):
            found.armature[target] += model.actuator_armature[a] * gear**2
            found.damping[target] += model.actuator_damping[a] * gear**2
            driven[target] = True
            span[target] += np.sort(_forces(model, mujoco, a) * gear) if gear else 0.0
        elif moved := _moved_joints(model, trn, kind, target):
            driven[moved] = True
            span[moved] += (-np.inf, np.inf)
            indirect.append(names.actuators[a])
    for j, mimic in mimics.items():  # what drives a joint that mimics drives its leader
        leader = names.joints.index(mimic.joint)
        driven[leader] |= driven[j]
        span[leader] += np.sort(span[j] * mimic.multiplier) if mimic.multiplier else 0.0
    bounded = model.jnt_actfrclimited.astype(bool)
    span[bounded] = np.clip(span, *np.moveaxis(model.jnt_actfrcrange, 1, 0)[:, :, None])[bounded]
    scalar = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    effort[scalar & driven] = np.maximum(np.minimum(-span[:, 0], span[:, 1]), 0.0)[scalar & driven]
    idle = ~driven & (np.arange(model.njnt) != -1) & bool(model.nactuator)
    idle[list(mimics)] = False
    effort[idle] = 0.0
    skewed = scalar & driven & ~np.isclose(-span[:, 0], span[:, 1])
    for mask, sentence in (
        (idle, "no actuator drives it, so its effort limit is 0"),
        (skewed, "its efforts differ by direction; the limit is the smaller one"),
        (driven & ~scalar, "efforts of ball and free joints are not read"),
    ):
        if mask.any():
            chosen = [names.joints[j] for j in np.flatnonzero(mask)]
            found.notes.append(note("joint", chosen, sentence))
    if indirect:
        found.notes.append(note("actuator", indirect, "not on a joint; its effort is not read"))
    return found


def _forces(model: Any, mujoco: Any, a: int) -> Array:
    """Least and largest force of an actuator."""
    if model.actuator_forcelimited[a]:
        return np.array(model.actuator_forcerange[a])
    plain = (
        int(model.actuator_gaintype[a]) == mujoco.mjtGain.mjGAIN_FIXED
        and int(model.actuator_biastype[a]) == mujoco.mjtBias.mjBIAS_NONE
        and int(model.actuator_dyntype[a]) == mujoco.mjtDyn.mjDYN_NONE
    )
    control = model.actuator_ctrladr[a]
    if plain and model.actuator_ctrlnum[a] and model.actuator_ctrllimited[control]:
        return np.sort(model.actuator_ctrlrange[control] * model.actuator_gainprm[a, 0])
    return np.array([-np.inf, np.inf])


def _moved_joints(model: Any, trn: Any, kind: int, target: int) -> list[int]:
    """Joints that an actuator drives through a tendon, or a site and what it hangs from."""
    if kind == trn.mjTRN_TENDON:
        start = model.ten_J_rowadr[target]
        dofs = model.ten_J_colind[start : start + model.ten_J_rownnz[target]]
        return sorted({int(j) for j in model.dof_jntid[dofs]})
    joints: list[int] = []
    if kind in (trn.mjTRN_SITE, trn.mjTRN_SLIDERCRANK):
        body = int(model.site_bodyid[target])
        while body:
            first = int(model.body_jntadr[body])
            joints += range(first, first + model.body_jntnum[body])
            body = int(model.body_parentid[body])
    return joints


def couplings(
    model: Any, mujoco: Any, names: Names, standing: Mapping[int, Pose]
) -> tuple[dict[int, Mimic], dict[str, tuple[Loop, ...]], list[str]]:
    """Equalities: linear ones of two joints as mimics, connections of bodies as constraints."""
    kinds = mujoco.mjtEq
    mimics: dict[int, Mimic] = {}
    loops: dict[str, tuple[Loop, ...]] = {}
    faults: dict[str, list[str]] = {}
    for e in range(model.neq):
        kind, one, other = int(model.eq_type[e]), int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        problem = None
        if not model.eq_active0[e]:
            problem = "is not active and not read"
        elif kind == kinds.mjEQ_JOINT:
            problem = _couple(model, names, mimics, e, one, other)
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            loop = _loop(model, mujoco, names, standing, e)
            if loop is None:
                problem = "connects what stands still and is left out"
            else:
                loops[names.equalities[e]] = (loop,)
        else:
            problem = "is not of joints or bodies and not read"
        if problem:
            faults.setdefault(problem, []).append(names.equalities[e])
    return mimics, loops, [note("equality", which, problem) for problem, which in faults.items()]


def _couple(
    model: Any, names: Names, mimics: dict[int, Mimic], e: int, one: int, other: int
) -> str | None:
    """A joint that follows another; or else why it does not."""
    constant, slope, *curved = model.eq_data[e, :5].tolist()
    if other < 0:
        return f"holds joint {names.joints[one]!r}, which moves freely here"
    if any(curved):
        return f"couples joint {names.joints[one]!r} by a curve; it moves freely here"
    if one in mimics:
        return f"couples joint {names.joints[one]!r} once more and is not read"
    # MuJoCo's polynomial is one of deviations from qpos0.
    at, at_other = (model.qpos0[model.jnt_qposadr[j]] for j in (one, other))
    mimics[one] = Mimic(names.joints[other], slope, float(constant + at - slope * at_other))
    if any(cycles({names.joints[j]: mimic.joint for j, mimic in mimics.items()})):
        del mimics[one]
        return f"couples joint {names.joints[one]!r} in a circle; it moves freely here"
    return None


def _loop(
    model: Any, mujoco: Any, names: Names, standing: Mapping[int, Pose], e: int
) -> Loop | None:
    """What holds two bodies or sites together; None where neither moves."""
    weld = int(model.eq_type[e]) == mujoco.mjtEq.mjEQ_WELD
    sites = int(model.eq_objtype[e]) == mujoco.mjtObj.mjOBJ_SITE
    ends = []
    # eq_data: the anchors, those of a weld the other way round, and its relative quaternion.
    for k, i in enumerate((int(model.eq_obj1id[e]), int(model.eq_obj2id[e]))):
        start = 3 * (1 - k if weld else k)
        place = Pose(np.eye(3), model.eq_data[e, start : start + 3].copy())
        if sites:
            place = pose(model.site_pos[i], model.site_quat[i])
            i = int(model.site_bodyid[i])
        elif weld and k == 0:
            place = Pose(pose(np.zeros(3), model.eq_data[e, 6:10]).rotation, place.position)
        ends.append((None, standing[i] @ place) if i in standing else (names.bodies[i], place))
    if ends[0][0] is None:
        ends.reverse()
    (frame, here), (other, there) = ends
    if frame is None:
        return None
    target = np.eye(4)
    if weld:  # both places coincide, and so do their axes
        target[:3, :3] = there.rotation @ here.rotation.T
    kind = "weld" if weld else "ball"
    return Loop(frame, other, kind, None, (0, 0, 1), here.position, there.position, target)


def unread(model: Any, mujoco: Any, names: Names) -> Iterator[str]:
    """What has no counterpart here, one sentence for each kind."""
    first, joints = model.jnt_dofadr, names.joints
    bent = model.dof_dampingpoly[first].any(1)
    on_joint = model.actuator_trntype <= int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    for a in np.flatnonzero(model.actuator_dampingpoly.any(1) & on_joint):
        bent[model.actuator_trnid[a, 0]] = True
    feedback = (
        (model.actuator_biastype != int(mujoco.mjtBias.mjBIAS_NONE))
        | (model.actuator_dyntype != int(mujoco.mjtDyn.mjDYN_NONE))
        | (model.actuator_gaintype != int(mujoco.mjtGain.mjGAIN_FIXED))
    )
    springs = (model.jnt_stiffness != 0) | model.jnt_stiffnesspoly.any(1)
    heavy = model.tendon_armature != 0
    for a in np.flatnonzero(model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON)):
        heavy[model.actuator_trnid[a, 0]] |= model.actuator_armature[a] != 0
    swings = model.jnt_limited.astype(bool) & (model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL))
    table: list[tuple[str, list[str], Any, str]] = [
        ("joint", joints, springs, "its spring is not read"),
        ("joint", joints, bent, "only the linear part of its damping is read"),
        ("joint", joints, swings, "the limit of its angle is not read"),
        ("body", names.bodies, model.body_gravcomp != 0, "its gravity compensation is not read"),
        ("body", names.bodies, model.body_mocapid >= 0, "is a mocap body and stands still here"),
        ("actuator", names.actuators, feedback, "its gains and dynamics are not used"),
        ("tendon", names.tendons, heavy, "has an armature, which the mass matrix here lacks"),
        ("tendon", names.tendons, ~heavy, "tendons, their springs and limits are not read"),
    ]
    for kind, all_names, mask, sentence in table:
        if np.any(mask):
            yield note(kind, [all_names[i] for i in np.flatnonzero(mask)], sentence)
    option = model.opt
    if option.density or option.viscosity or option.wind.any():
        yield "option: forces of a fluid (density, viscosity, wind) are not read"


def pose(position: Array, quaternion: Array) -> Pose:
    """Of MuJoCo's quaternion w x y z."""
    w, x, y, z = quaternion
    return Pose(rotation_from_quaternion(x, y, z, w), np.array(position))
