"""Robots and what they touch: boxes on the ground, humanoids, random trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from support.cases import Case, cases
from support.robots import load_real, robots_folder
from torqued.kernels import Contact, Robot
from torqued.kernels.model.description import Array, Description, Inertia, Link

SIZE = (0.2, 0.3, 0.4)


def box_inertia(mass: float, size: tuple[float, float, float]) -> Inertia:
    x, y, z = size
    moments = mass / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    return Inertia(mass, np.zeros(3), np.diag(moments))


def box(
    mass: float = 2.0,
    size: tuple[float, float, float] = SIZE,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
) -> Robot:
    """A free body with its frame in the middle."""
    link = Link("box", box_inertia(mass, size))
    return Robot.from_description(Description("box", (link,), ()), "floating", gravity=gravity)


def standing(robot: Robot, height: float) -> Array:
    """q of a box whose middle is at a height, not turned."""
    q = robot.neutral()
    q[2] = height
    return q


def corners(
    friction: float | None = None,
    size: tuple[float, float, float] = SIZE,
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> list[Contact]:
    """Points at the four lower corners of the box."""
    x, y, z = np.array(size) / 2.0
    return [
        Contact("box", "point", point=(i * x, j * y, -z), normal=normal, friction=friction)
        for i in (-1.0, 1.0)
        for j in (-1.0, 1.0)
    ]


def tripod() -> list[Contact]:
    """Three points below the box: unlike four, they leave no doubt about who carries what."""
    points = [(0.1 * np.cos(x), 0.1 * np.sin(x), -SIZE[2] / 2.0) for x in (0.1, 2.2, 4.3)]
    return [Contact("box", "point", point=point, friction=0.4) for point in points]


@dataclass(frozen=True)
class Humanoid:
    """A robot of example-robot-data with the frames that touch the world."""

    file: str
    feet: tuple[str, str]
    hands: tuple[str, str]
    half_length: float = 0.08
    half_width: float = 0.04

    def load(self) -> Robot:
        return load_real(robots_folder() / self.file, "floating")

    def frames(self) -> list[Contact]:
        return [Contact(foot) for foot in self.feet]

    def points(self, friction: float | None = None) -> list[Contact]:
        """Four on each foot."""
        return [
            Contact(
                foot,
                "point",
                point=(i * self.half_length, j * self.half_width, 0.0),
                friction=friction,
            )
            for foot in self.feet
            for i in (-1.0, 1.0)
            for j in (-1.0, 1.0)
        ]

    def contact_sets(self) -> dict[str, list[Contact]]:
        """All that humanoids do with hands and feet."""
        left, right = self.hands
        walls = [Contact(hand, "point", normal=(-1.0, 0.2, 0.0)) for hand in self.hands]
        return {
            "two feet": self.frames(),
            "one foot": self.frames()[:1],
            "four points per foot": self.points(),
            "hands and feet": [*self.frames(), *walls],
            "all in 6-D": [*self.frames(), Contact(left), Contact(right)],
            "clasped hands": [*self.frames(), Contact(left, "frame", other=right)],
            "hand on hand": [*self.frames(), Contact(left, "point", other=right)],
            "foot and a normal": [self.frames()[0], Contact(left, "normal", normal=(0, 1, 1))],
        }


HUMANOIDS = {
    "talos": Humanoid(
        "talos_data/robots/talos_reduced.urdf",
        ("left_sole_link", "right_sole_link"),
        ("gripper_left_base_link", "gripper_right_base_link"),
    ),
    "talos with mimics": Humanoid(
        "talos_data/robots/talos_full_v2.urdf",
        ("left_sole_link", "right_sole_link"),
        ("gripper_left_base_link", "gripper_right_base_link"),
    ),
    "g1": Humanoid(
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        ("left_ankle_roll_link", "right_ankle_roll_link"),
        ("left_rubber_hand", "right_rubber_hand"),
    ),
    "icub": Humanoid(
        "icub_description/robots/icub_reduced.urdf", ("l_sole", "r_sole"), ("l_hand", "r_hand")
    ),
    "simple_humanoid": Humanoid(
        "simple_humanoid_description/urdf/simple_humanoid.urdf",
        ("l_ankle", "r_ankle"),
        ("l_wrist", "r_wrist"),
    ),
}


def bent(robot: Robot, rng: np.random.Generator) -> Array:
    """A configuration in which no limb is stretched."""
    step = rng.uniform(-0.5, 0.5, robot.nv)
    return robot.integrate(robot.neutral(), step, 1.0)


@dataclass(frozen=True)
class ContactCase:
    """A random robot with random contacts, its base fixed or floating."""

    case: Case
    contacts: list[Contact]

    @property
    def robot(self) -> Robot:
        return self.case.robot

    @property
    def state(self) -> tuple[Array, Array]:
        return self.case.q, self.case.v


def random_contact(case: Case, kind: str, loop: bool) -> Contact:
    rng = case.rng
    other = case.frame() if loop and kind != "normal" else None
    return Contact(
        case.frame(),
        kind,
        point=rng.uniform(-0.3, 0.3, 3),
        normal=rng.normal(size=3),
        other=other,
        other_point=rng.uniform(-0.3, 0.3, 3) if other else (0.0, 0.0, 0.0),
    )


@st.composite
def contact_cases(draw: st.DrawFn, most_contacts: int = 4) -> ContactCase:
    """Contacts anywhere: on one body, on the fixed world, implying or contradicting each other."""
    case = draw(cases(most=8))
    kinds = draw(
        st.lists(st.sampled_from(["normal", "point", "frame"]), min_size=1, max_size=most_contacts)
    )
    loops = draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    contacts = [random_contact(case, kind, loop) for kind, loop in zip(kinds, loops, strict=True)]
    return ContactCase(case, contacts)
