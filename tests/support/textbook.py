"""Robots whose equations of motion fit on a page."""

from __future__ import annotations

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Limits, Link, Pose

X, Y, Z = np.eye(3)
G = 9.81
LIMITS = Limits(-10.0, 10.0, 10.0, 100.0)


def body(mass: float, com: Array, *moments: float) -> Inertia:
    """Principal axes along the link's."""
    return Inertia(mass, com, np.diag(moments or (0.0, 0.0, 0.0)))


def chain(*parts: tuple[str, Array, Array, Inertia], **joint_options: float) -> Description:
    """Joints j1, j2 … of (type, axis, position in the parent, body) on a massless base."""
    links, joints = [Link("base")], []
    for n, (kind, axis, position, inertia) in enumerate(parts, start=1):
        place = Pose(np.eye(3), np.asarray(position, dtype=float))
        ends = links[-1].name, f"l{n}"
        joints.append(Joint(f"j{n}", kind, *ends, place, axis, limits=LIMITS, **joint_options))
        links.append(Link(f"l{n}", inertia))
    return Description("textbook", tuple(links), tuple(joints))


class DoublePendulum:
    """Two point masses on massless rods that turn about y; hanging down at q = 0."""

    m1, m2, l1, l2 = 1.5, 0.7, 0.4, 0.3

    def __init__(self) -> None:
        upper = body(self.m1, -self.l1 * Z)
        lower = body(self.m2, -self.l2 * Z)
        self.robot = Robot.from_description(
            chain(("revolute", Y, 0.0 * Z, upper), ("revolute", Y, -self.l1 * Z, lower))
        )

    def mass_matrix(self, q: Array) -> Array:
        m1, m2, l1, l2, c = self.m1, self.m2, self.l1, self.l2, np.cos(q[1])
        M12 = m2 * (l2**2 + l1 * l2 * c)
        M11 = m1 * l1**2 + m2 * (l1**2 + 2.0 * l1 * l2 * c + l2**2)
        return np.array([[M11, M12], [M12, m2 * l2**2]])

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """From Christoffel symbols."""
        h = -self.m2 * self.l1 * self.l2 * np.sin(q[1])
        return np.array([[h * v[1], h * (v[0] + v[1])], [-h * v[0], 0.0]])

    def christoffel(self, q: Array) -> Array:
        h = -self.m2 * self.l1 * self.l2 * np.sin(q[1])
        return np.array([[[0.0, h], [h, h]], [[-h, 0.0], [0.0, 0.0]]])

    def gravity(self, q: Array) -> Array:
        m1, m2, l1, l2 = self.m1, self.m2, self.l1, self.l2
        lower = m2 * G * l2 * np.sin(q[0] + q[1])
        return np.array([(m1 + m2) * G * l1 * np.sin(q[0]) + lower, lower])

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        m1, m2, l1, l2 = self.m1, self.m2, self.l1, self.l2
        height1 = -l1 * np.cos(q[0])
        height2 = height1 - l2 * np.cos(q[0] + q[1])
        return float(0.5 * v @ self.mass_matrix(q) @ v), G * (m1 * height1 + m2 * height2)


class CartPole:
    """A cart along x, and on it a pole that turns about y; the pole stands up at q = 0."""

    cart, pole, length, inertia = 2.0, 0.5, 0.6, 0.02

    def __init__(self) -> None:
        top = body(self.pole, self.length * Z, 0.01, self.inertia, 0.01)
        cart = body(self.cart, 0.0 * X)
        self.robot = Robot.from_description(
            chain(("prismatic", X, 0.0 * X, cart), ("revolute", Y, 0.0 * X, top))
        )

    def mass_matrix(self, q: Array) -> Array:
        coupling = self.pole * self.length * np.cos(q[1])
        turning = self.inertia + self.pole * self.length**2
        return np.array([[self.cart + self.pole, coupling], [coupling, turning]])

    def bias(self, q: Array, v: Array) -> Array:
        s = self.pole * self.length * np.sin(q[1])
        return np.array([-s * v[1] ** 2, -s * G])


def free_body(mass: float = 2.0, moments: tuple[float, float, float] = (0.1, 0.2, 0.25)) -> Robot:
    """One rigid body that floats, with its frame at the center of mass."""
    link = Link("body", body(mass, 0.0 * X, *moments))
    return Robot.from_description(Description("free", (link,), ()), "floating")
