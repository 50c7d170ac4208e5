"""Equations of motion as expressions, by [EW21] Algorithm 2 and by partial derivatives of M.

All arithmetic is exact: numbers of the model become fractions (rotations by way of quaternions, so
that they stay rotations), and expressions are polynomials in cos q_k, sin q_k and q_k, kept free of
sin² by sin² = 1 − cos². That form is unique, so that two ways are compared by plain equality.

Unlike in the compiled kernels there is no common frame: what a column k brings in is expressed in
the axes of its own body. So an entry is made of the angles between its outermost and its innermost
joint and of those behind them alone, where world axes would multiply out those before them, only
for sin² = 1 − cos² to take them away again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sympy import QQ, Expr, Symbol, cos, sin
from sympy.polys.rings import ring

from torqued.common.errors import InputError
from torqued.kernels.charts.rotation import quaternion_of
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Model
from torqued.kernels.primitives.layout import HELICAL, PRISMATIC, REVOLUTE

#: More coordinates than this give expressions that nobody wants to see.
MAX_COORDINATES = 15

#: Digits that a number of the model is taken for, and the largest denominator in a quaternion.
DIGITS, DENOMINATOR = 12, 10**7

QUANTITIES = ("M", "C", "Gamma", "g", "tau")

#: A polynomial; vectors and matrices are nested lists of them.
Poly = Any
Vector = list[Poly]


@dataclass(frozen=True)
class Body:
    """What the model says about one body, exactly."""

    parent: int
    kind: int
    pitch: Fraction
    R: list[list[Fraction]]
    p: list[Fraction]
    mass: Fraction
    com: list[Fraction]
    inertia: list[list[Fraction]]
    armature: Fraction


def exact(x: float) -> Fraction:
    return Fraction(f"{float(x):.{DIGITS}g}")


def exact_rotation(R: Array) -> list[list[Fraction]]:
    """A rotation with rational entries, near R to rounding: that of a rational quaternion."""
    numbers = quaternion_of(R)
    numbers = numbers / numbers[int(np.abs(numbers).argmax())]
    x, y, z, w = (Fraction(float(n)).limit_denominator(DENOMINATOR) for n in numbers)
    n = 2 / (x * x + y * y + z * z + w * w)
    return [
        [1 - n * (y * y + z * z), n * (x * y - z * w), n * (x * z + y * w)],
        [n * (x * y + z * w), 1 - n * (x * x + z * z), n * (y * z - x * w)],
        [n * (x * z - y * w), n * (y * z + x * w), 1 - n * (x * x + y * y)],
    ]


def exact_bodies(model: Model) -> list[Body]:
    """The bodies; joints with quaternions and joints that follow others are refused."""
    for joint in model.joints:
        if joint.nq != joint.nv:
            raise InputError(
                f"robot {model.name!r}: joint {joint.name!r} is {joint.type}, expected joints "
                "whose velocities are the rates of their coordinates (a fixed base, no quaternions)"
            )
    if model.mimics.present:
        raise InputError(f"robot {model.name!r}: joints that follow others, expected mimic='free'")
    if not 1 <= len(model.bodies) <= MAX_COORDINATES:
        raise InputError(
            f"robot {model.name!r}: {len(model.bodies)} coordinates, expected 1 to "
            f"{MAX_COORDINATES}: expressions grow fast"
        )
    out = []
    for b in model.bodies:
        xx, xy, xz, yy, yz, zz = map(exact, b.inertia)
        out.append(
            Body(
                int(b.parent),
                int(b.kind),
                exact(b.pitch),
                exact_rotation(b.R.reshape(3, 3)),
                list(map(exact, b.p)),
                exact(b.mass),
                list(map(exact, b.com)),
                [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
                exact(b.armature[0]),
            )
        )
    return out


def transposed(A: list[Vector]) -> list[Vector]:
    return [list(row) for row in zip(*A, strict=True)]


class Equations:
    """Of one robot: polynomials for M, Γ, C, g and τ."""

    def __init__(self, model: Model, motion: bool = True) -> None:
        """Without `motion` there are no symbols for v and a, which C and τ need: arithmetic is
        faster the fewer symbols there are."""
        self.bodies = exact_bodies(model)
        self.n = n = len(self.bodies)
        letters = "csqva" if motion else "csq"
        names = [f"{letter}{k}" for letter in letters for k in range(n)]
        self.ring, *generators = ring(names, QQ)
        symbols = [generators[m * n : (m + 1) * n] for m in range(len(letters))]
        nothing: list[Vector] = [[], []]
        self.c, self.s, self.q, self.v, self.a = (symbols + nothing)[:5]
        self.gravity = [self.ring(exact(x)) for x in model.world["gravity"][0]]
        self._place()
        self._add_up()

    def short(self, x: Poly) -> Poly:
        """Without sin², the one form of it: term by term s^e = s^(e−2) − s^(e−2) c²."""
        n = self.n
        long = [powers for powers in x if max(powers[n : 2 * n]) > 1]
        if not long:
            return x
        out = dict(x)
        while long:
            powers = long.pop()
            factor = out.pop(powers, 0)
            k = next(k for k in range(n) if powers[n + k] > 1)
            lower = list(powers)
            lower[n + k] -= 2
            for sign in (1, -1):
                term = tuple(lower)
                out[term] = out.get(term, 0) + sign * factor
                if max(term[n : 2 * n]) > 1:
                    long.append(term)
                lower[k] += 2
        return self.ring.from_dict(out)

    def sum(self, terms: Sequence[Poly]) -> Poly:
        total = self.ring(0)
        for term in terms:
            total = total + term
        return self.short(total)

    def dot(self, x: Vector, y: Vector) -> Poly:
        return self.sum([a * b for a, b in zip(x, y, strict=True)])

    def cross(self, x: Vector, y: Vector) -> Vector:
        return [
            self.short(x[1] * y[2] - x[2] * y[1]),
            self.short(x[2] * y[0] - x[0] * y[2]),
            self.short(x[0] * y[1] - x[1] * y[0]),
        ]

    def times(self, A: list[Vector], x: Vector) -> Vector:
        return [self.dot(row, x) for row in A]

    def product(self, A: list[Vector], B: list[Vector]) -> list[Vector]:
        columns = [list(column) for column in zip(*B, strict=True)]
        return [[self.dot(row, column) for column in columns] for row in A]

    def plus(self, x: Vector, y: Vector) -> Vector:
        return [a + b for a, b in zip(x, y, strict=True)]

    def scaled(self, x: Vector, factor: Poly) -> Vector:
        return [self.short(a * factor) for a in x]

    def _place(self) -> None:
        """Of every body, its pose in its parent's axes and its motion column S = (ω, u) in its
        own, where it is constant."""
        one, zero = self.ring(1), self.ring(0)
        z, nothing = [zero, zero, one], [zero] * 3
        self.R: list[list[Vector]] = []
        self.p: list[Vector] = []
        self.S: list[tuple[Vector, Vector]] = []
        for i, body in enumerate(self.bodies):
            R = [[self.ring(x) for x in row] for row in body.R]
            p = [self.ring(x) for x in body.p]
            axis = [row[2] for row in R]
            if body.kind in (REVOLUTE, HELICAL):
                c, s = self.c[i], self.s[i]
                R = self.product(R, [[c, -s, zero], [s, c, zero], [zero, zero, one]])
                self.S.append((z, nothing))
                if body.kind == HELICAL:
                    p = self.plus(p, self.scaled(axis, body.pitch * self.q[i]))
                    self.S[i] = (z, self.scaled(z, self.ring(body.pitch)))
            elif body.kind == PRISMATIC:
                p = self.plus(p, self.scaled(axis, self.q[i]))
                self.S.append((nothing, z))
            self.R.append(R)
            self.p.append(p)

    def _add_up(self) -> None:
        """Composite inertias (m, h, Ī) about the bodies' origins in their axes, [EW21] eq. 15."""
        self.inertias: list[tuple[Poly, Vector, list[Vector]]] = []
        for body in self.bodies:
            m, c = self.ring(body.mass), [self.ring(x) for x in body.com]
            own = [[self.ring(x) for x in row] for row in body.inertia]
            self.inertias.append((m, self.scaled(c, m), self._shifted(own, [m * 0] * 3, m, c)))
        for i in reversed(range(self.n)):
            above = self.bodies[i].parent
            if above >= 0:
                (m, h, about), R, p = self.inertias[i], self.R[i], self.p[i]
                h = self.times(R, h)
                turned = self.product(self.product(R, about), transposed(R))
                more = self._shifted(turned, h, m, p)
                M, H, About = self.inertias[above]
                rows = [self.plus(x, y) for x, y in zip(About, more, strict=True)]
                carried = self.plus(h, self.scaled(p, m))
                self.inertias[above] = (M + m, self.plus(H, carried), rows)

    def _shifted(self, about: list[Vector], h: Vector, m: Poly, p: Vector) -> list[Vector]:
        """Ī about a point from which the origin is at p, by parallel axes:

        Ī + (2 h·p + m p·p) 1 − h pᵀ − p hᵀ − m p pᵀ.
        """
        k = self.plus(self.scaled(p, m), h)
        whole = self.short(self.dot(h, p) + self.dot(k, p))
        return [
            [
                self.short(about[r][c] - h[r] * p[c] - p[r] * k[c] + (whole if r == c else 0))
                for c in range(3)
            ]
            for r in range(3)
        ]

    def columns(self, k: int) -> list[tuple[int, Vector, Vector]]:
        """All columns j of the path of k, from k on inwards, as (j, ω, u) in the axes of k."""
        one, zero = self.ring(1), self.ring(0)
        A = [[one if r == c else zero for c in range(3)] for r in range(3)]  # from j's axes to k's
        arm = [zero] * 3  # from j to k
        out = []
        for j in self.path(k):
            w, u = (self.times(A, x) for x in self.S[j])
            out.append((j, w, self.plus(u, self.cross(w, arm))))
            A = self.product(A, transposed(self.R[j]))
            arm = self.plus(arm, self.times(A, self.p[j]))
        return out

    def path(self, i: int) -> list[int]:
        """From a body up to the root."""
        found = []
        while i >= 0:
            found.append(i)
            i = self.bodies[i].parent
        return found

    def _force(self, k: int) -> tuple[Vector, Vector]:
        """I^C S of a column."""
        m, h, about = self.inertias[k]
        w, u = self.S[k]
        moment = self.plus(self.times(about, w), self.cross(h, u))
        force = self.plus(self.scaled(u, m), self.cross(w, h))
        return moment, force

    def mass_matrix(self) -> list[Vector]:
        M = [[self.ring(0)] * self.n for _ in range(self.n)]
        for k in range(self.n):
            moment, force = self._force(k)
            for j, w, u in self.columns(k):
                M[j][k] = M[k][j] = self.dot(w + u, moment + force)
            M[k][k] = M[k][k] + self.ring(self.bodies[k].armature)
        return M

    def christoffel(self) -> list[list[Vector]]:
        """Γ by Algorithm 2, with B̃ = B(S_k, I^C_k) for i ⪯ j ⪯ k."""
        n = self.n
        Gamma = [[[self.ring(0)] * n for _ in range(n)] for _ in range(n)]
        for k in range(n):
            T, momentum = self._factor(k)
            columns = self.columns(k)
            for place, (j, w_j, u_j) in enumerate(columns):
                ahead = self.times(T, w_j) + self.cross(w_j, momentum)  # B̃ S_j
                back = self.plus(self.times(transposed(T), w_j), self.cross(momentum, u_j))
                for i, w, u in columns[place:]:
                    Gamma[i][j][k] = Gamma[i][k][j] = self.dot(w + u, ahead)
                    if j != k:
                        second = self.dot(w, back)  # S_iᵀ B̃ᵀ S_j, zero for k itself
                        if i != j:
                            Gamma[j][i][k] = Gamma[j][k][i] = second
                        Gamma[k][i][j] = Gamma[k][j][i] = -second
        return Gamma

    def _factor(self, k: int) -> tuple[list[Vector], Vector]:
        """T and ℓ of B(S_k, I^C_k): T = ω× (Ī − ½ tr(Ī) 1) − h× u×, ℓ = m u + ω × h."""
        m, h, about = self.inertias[k]
        w, u = self.S[k]
        half = self.short((about[0][0] + about[1][1] + about[2][2]) * QQ(1, 2))
        hu = self.dot(h, u)
        columns = []
        for c in range(3):
            column = [about[r][c] - (half if r == c else 0) for r in range(3)]
            turned = self.cross(w, column)
            columns.append(
                [self.short(turned[r] - u[r] * h[c] + (hu if r == c else 0)) for r in range(3)]
            )
        T = [list(row) for row in zip(*columns, strict=True)]
        return T, self.plus(self.scaled(u, m), self.cross(w, h))

    def derivative(self, x: Poly, k: int) -> Poly:
        """∂x/∂q_k."""
        turning = x.diff(self.s[k]) * self.c[k] - x.diff(self.c[k]) * self.s[k]
        return self.short(turning + x.diff(self.q[k]))

    def christoffel_by_partials(self) -> list[list[Vector]]:
        """Γ by its definition, [EW21] eq. 4."""
        M, n = self.mass_matrix(), range(self.n)
        dM = [[[self.derivative(M[i][j], k) for k in n] for j in n] for i in n]
        half = QQ(1, 2)
        return [
            [[(dM[i][j][k] + dM[i][k][j] - dM[j][k][i]) * half for k in n] for j in n] for i in n
        ]

    def coriolis_matrix(self, Gamma: list[list[Vector]]) -> list[Vector]:
        """C_ij = Σ_k Γ_ijk v_k."""
        return [[self.dot(row, self.v) for row in plane] for plane in Gamma]

    def gravity_torque(self) -> Vector:
        """g_k = −S_kᵀ of the weight of everything that k carries."""
        g: Vector = []
        falling: list[Vector] = []  # gravity in the axes of every body
        for k in range(self.n):
            above = self.bodies[k].parent
            outside = falling[above] if above >= 0 else self.gravity
            falling.append(self.times(transposed(self.R[k]), outside))
            m, h, _ = self.inertias[k]
            w, u = self.S[k]
            g.append(-self.dot(w + u, self.cross(h, falling[k]) + self.scaled(falling[k], m)))
        return g

    def quantity(self, name: str) -> Any:
        """Nested lists of polynomials of one of `QUANTITIES`."""
        if name == "M":
            return self.mass_matrix()
        if name == "Gamma":
            return self.christoffel()
        if name == "C":
            return self.coriolis_matrix(self.christoffel())
        if name == "g":
            return self.gravity_torque()
        C, M = self.coriolis_matrix(self.christoffel()), self.mass_matrix()
        terms = (self.times(M, self.a), self.times(C, self.v), self.gravity_torque())
        return [self.sum(parts) for parts in zip(*terms, strict=True)]

    def expression(self, x: Poly) -> Expr:
        """In cos q_k and sin q_k."""
        substitutions: dict[Symbol, Any] = {}
        for k in range(self.n):
            q = Symbol(f"q{k}")
            substitutions |= {Symbol(f"c{k}"): cos(q), Symbol(f"s{k}"): sin(q)}
        return x.as_expr().xreplace(substitutions)
