"""The robots that the laws are tried on, and what is known of each: one row.

Everything else is found from the description: the frame that an arm moves, legs, feet, a stance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from torqued.common.errors import InputError, ModelWarning
from torqued.kernels import Robot
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.catalog import find_file
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Link
from torqued.kernels.model.lock import lock


@dataclass(frozen=True)
class Row:
    """A robot by its name in `torqued models`."""

    name: str
    kind: str  # "arm": bolted down; "biped" with flat feet, "quadruped" with round ones: free
    frame: str = ""  # that an arm moves; "": the last link of its longest chain
    mjcf: str = ""  # MuJoCo's file of the robot that is simulated; "": what the URDF says

    @property
    def base(self) -> str:
        return "fixed" if self.kind == "arm" else "floating"

    @property
    def label(self) -> str:
        """As tables and pictures name it: one robot may be tried bolted down and free."""
        if self.mjcf:
            return f"{self.name} (MJCF)"
        return f"{self.name} (held)" if self.kind == "arm" and self.name in FREE else self.name


ROWS = (
    Row("panda", "arm", "panda_hand_tcp"),
    Row("ur3", "arm", "tool0"),
    Row("ur5", "arm", "tool0"),
    Row("ur10", "arm", "tool0"),
    Row("kinova", "arm", "j2s6s200_end_effector"),
    Row("xarm7", "arm"),
    Row("z1", "arm"),
    Row("so100", "arm"),
    Row("so101", "arm", "gripper_frame_link"),
    Row("talos_left_arm", "arm"),
    Row("baxter", "arm"),
    Row("tiago_no_hand", "arm"),
    Row("alex_nub_hands", "arm"),
    Row("finger_edu", "arm"),
    Row("TwoDofs", "arm"),
    Row("icub", "arm"),
    Row("talos", "biped"),
    Row("g1", "biped"),
    Row("icub", "biped"),
    Row("romeo", "biped"),
    Row("alexander", "biped"),
    Row("solo12", "quadruped"),
    Row("go2", "quadruped"),
    Row("a1", "quadruped"),
    Row("anymal_c", "quadruped"),
    Row("hyq", "quadruped"),
    Row("b1", "quadruped"),
    Row("laikago", "quadruped"),
)
FREE = frozenset(row.name for row in ROWS if row.kind != "arm")
#: Files of MuJoCo Menagerie with the same links and joints, by name or in their order, and the
#: same zeros of joints as the URDF.
MENAGERIE = {
    "panda": "franka_emika_panda/panda.xml",
    "ur10": "universal_robots_ur10e/ur10e.xml",
    "xarm7": "ufactory_xarm7/xarm7_nohand.xml",
    "z1": "unitree_z1/z1_gripper.xml",
    "so101": "robotstudio_so101/so101.xml",
    "talos": "pal_talos/talos.xml",
    "g1": "unitree_g1/g1.xml",
    "go2": "unitree_go2/go2.xml",
    "a1": "unitree_a1/a1.xml",
    "anymal_c": "anybotics_anymal_c/anymal_c.xml",
}
#: Those of `--quick`.
QUICK = ("panda", "ur5", "xarm7", "talos", "go2")

#: Laws of arms and of robots that stand.
ARM_LAWS = (
    *("gravity", "pd", "pd_plus", "computed_torque", "passivity", "adaptive", "impedance"),
    "wholebody",
)
STANDING_LAWS = ("wholebody", "balance")
LAWS = tuple(dict.fromkeys((*ARM_LAWS, *STANDING_LAWS)))

#: Poses that limits and typical weights are taken from.
SAMPLES = 200
#: An effort limit above so many times what the joint's own weight and brisk motion take says
#: nothing about the robot: 50 kN m at a head, 1 kN m at a leg of 0.3 kg.
ABSURD = 100.0
BRISK = 30.0  # rad/s²
BALL = 0.01  # m
#: Of what motors have left beside the weight, a load takes this share of the weakest; and m, where
#: it is in the axes of its frame. At most this share of the robot's own mass.
BEARS, GRASP = 1.0 / 3.0, np.array([0.0, 0.0, 0.05])
HEAVIEST = 0.25


def chosen(names: str | None, quick: bool, menagerie: Path | None = None) -> list[Row]:
    """Rows by name, as `--robots` lists them; each again with its file of the Menagerie."""
    known = dict.fromkeys(row.name for row in ROWS)
    wanted = [*(QUICK if quick else known)] if names is None else known_names(names, "robot", known)
    rows = [row for row in ROWS if row.name in wanted]
    files = (
        {row.name: menagerie / MENAGERIE[row.name] for row in rows if row.name in MENAGERIE}
        if menagerie
        else {}
    )
    for name, file in files.items():
        if not file.is_file():
            raise InputError(f"--menagerie: robot {name!r} has no file {str(file)!r}", "menagerie")
    return rows + [replace(row, mjcf=str(files[row.name])) for row in rows if row.name in files]


def chosen_laws(names: str | None) -> tuple[str, ...]:
    """As `--laws` lists them."""
    wanted = LAWS if names is None else known_names(names, "law", LAWS)
    return tuple(law for law in LAWS if law in wanted)


def known_names(text: str, what: str, known: Iterable[str]) -> list[str]:
    """The names in a comma-separated list, all of them known."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in set(wanted) - set(known):
        problem = f"--{what}s: unknown {what} {name!r} (choose from {', '.join(known)})"
        raise InputError(problem, f"{what}s", name)
    return wanted


def describe(row: Row) -> Description:
    """Without followers: fingers that mimic each other are held by separate drives."""
    description = read_file(find_file(row.name))
    leaders = {joint.mimic.joint for joint in description.joints if joint.mimic}
    held = lock(description, sorted(leaders))
    return replace(held, links=tuple(possible(link) for link in held.links), notes=())


def possible(link: Link) -> Link:
    """Its inertia as some body could have it, which MuJoCo asks for.

    Some files have points of mass, which become small balls, or a principal moment above the sum of
    the others, which is cut to that.
    """
    mass = link.inertia.mass
    moments, axes = np.linalg.eigh(link.inertia.rotational)
    least = 0.4 * mass * BALL**2
    if not mass > 0.0 or (moments[0] > 1e-3 * least and moments[2] <= moments[0] + moments[1]):
        return link
    moments = np.maximum(moments, least)
    moments[2] = min(moments[2], (1.0 - 1e-6) * (moments[0] + moments[1]))
    rotational = axes @ np.diag(moments) @ axes.T
    return replace(link, inertia=Inertia(mass, link.inertia.com, rotational))


def heavier(description: Description, factor: float) -> Description:
    """Every link of so many times its mass, of the same shape."""

    def scaled(inertia: Inertia) -> Inertia:
        return Inertia(factor * inertia.mass, inertia.com, factor * inertia.rotational)

    links = tuple(replace(link, inertia=scaled(link.inertia)) for link in description.links)
    return replace(description, links=links)


def with_losses(description: Description, losses: Array, names: list[str]) -> Description:
    """Joints with this damping, friction and rotor inertia (3, n), by name."""
    by_name = dict(zip(names, losses.T.tolist(), strict=True))

    def changed(joint: Joint) -> Joint:
        damping, friction, armature = by_name.get(joint.name, (0.0, 0.0, 0.0))
        return replace(joint, damping=damping, friction=friction, armature=armature)

    return replace(description, joints=tuple(map(changed, description.joints)))


def load(description: Description, base: str) -> Robot:
    """Harmless faults of the file are not what is tried here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Robot.from_description(description, base)


def bearable(robot: Robot, q: Array, frame: str, effort: Array, along: Array) -> float:
    """N that a frame may exert along a direction (3,) at q."""
    lever = np.abs(robot.frame_jacobian(q, frame)[3:].T @ along)
    left = effort - np.abs(robot.gravity(q))
    return float(BEARS * (left / np.maximum(lever, 1e-9)).min())


def last_frame(description: Description) -> str:
    """The last link of the chain with most moving joints; of equals the first in the file."""
    above = {joint.child: joint for joint in description.joints}

    def depth(link: str) -> tuple[int, int]:
        moving = fixed = 0
        while link in above:
            joint = above[link]
            moving, fixed = moving + (joint.type != "fixed"), fixed + (joint.type == "fixed")
            link = joint.parent
        return moving, fixed

    return max((link.name for link in description.links), key=depth)


def useful_effort(robot: Robot) -> Array:
    """(nv,) N m, effort limits, where these make no sense less: see `ABSURD`."""
    rng = np.random.default_rng(0)
    poses = [robot.random_state(rng)[0] for _ in range(SAMPLES)]
    weight = np.max([np.abs(robot.gravity(q)) for q in poses], axis=0)
    inertia = np.mean([np.diag(robot.mass_matrix(q)) for q in poses], axis=0)
    useful: Array = np.minimum(robot.limits.effort, ABSURD * (weight + BRISK * inertia))
    return useful
