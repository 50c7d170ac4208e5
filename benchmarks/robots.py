"""A robot in torqued and the same robot in Pinocchio, at the same states.

Pinocchio orders joints by name, has cos and sin for unlimited revolute joints, and puts the linear
part of a twist first. States are mapped, and results compared before anything is timed: two
programs are only worth comparing while they compute the same thing.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from torqued.benchmarks.contacts import CONTACTS, ContactProblem
from torqued.benchmarks.hessian import KERNEL as HESSIAN
from torqued.benchmarks.hessian import HessianProblem
from torqued.benchmarks.second_order import KERNEL as SECOND_ORDER
from torqued.benchmarks.second_order import SecondOrderProblem
from torqued.benchmarks.timing import Call
from torqued.common.errors import ModelWarning, TorquedError
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.derivatives.space import derivative_space
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model import catalog
from torqued.kernels.model.families import family

Array = NDArray[np.float64]

#: The robots of a full run.
ROBOTS = ("chain20", "tree20", "biped20", "quadruped20", "panda", "talos")
KERNELS = ("coriolis", "christoffel", "rnea", "crba", "aba", "rnea_derivatives", "aba_derivatives")

#: The catalogue's name of a robot, where it differs.
FILES = {"talos": "talos_reduced"}

#: What to know about a robot's model when reading its figures.
NOTES = {
    "panda": "panda: its second finger moves on its own in both programs, 9 DoF",
    "talos": "talos: talos_reduced.urdf with a floating base, 38 DoF",
}

#: Largest difference of results, relative to the largest entry.
TOLERANCE = 1e-9

_FAMILY_NAME = re.compile(rf"({'|'.join(catalog.FAMILIES)})([0-9]+)")


class DisagreementError(TorquedError):
    """torqued and Pinocchio differ, so that their times say nothing."""


@dataclass(frozen=True)
class State:
    """One state in the coordinates of one of the programs."""

    q: Array
    v: Array
    a: Array
    tau: Array


class Case:
    """Both programs on one robot. Calls are valid as long as this object lives."""

    def __init__(self, name: str, robot: Robot, model: Any, states: int) -> None:
        self.name = name
        self.robot = robot
        self.model, self.data = model, model.createData()
        if (robot.nv, robot.nv_free) != (model.nv, model.nv):
            raise DisagreementError(f"{name}: {robot.nv} DoF here, {model.nv} in Pinocchio")
        self.order = velocity_map(robot, model)
        rng = np.random.default_rng(0)
        self.states = [self._random_state(rng) for _ in range(states)]
        self.pin_states = [self.to_pin(state) for state in self.states]
        n = robot.nv
        self._M, self._Mdot, self._C = np.zeros((3, n, n))
        self._dq, self._dv = np.zeros((2, n, n))
        self.space = derivative_space(robot.work.arrays)
        self._Gamma = np.zeros((n, n, n))
        self._tau, self._a = np.zeros((2, n))
        self.contacts = {
            kernel: ContactProblem(self, contacts)
            for kernel, contacts in CONTACTS.get(name, {}).items()
        }
        self.hessian = HessianProblem(self)
        #: Where Pinocchio's C++ for it can be compiled.
        self.second_order: SecondOrderProblem | None = None

    @property
    def kernels(self) -> tuple[str, ...]:
        """What there is to measure on this robot."""
        compiled = (SECOND_ORDER,) if self.second_order else ()
        return (*KERNELS, HESSIAN, *compiled, *self.contacts)

    def _random_state(self, rng: np.random.Generator) -> State:
        """Torques are those of a motion of order one: random ones would throw the robot about."""
        q, v = self.robot.random_state(rng)
        a = rng.normal(size=self.robot.nv)
        return State(q, v, a, self.robot.inverse_dynamics(q, v, a))

    def with_velocity(self, state: State, v: Array) -> State:
        """The state with another velocity, and torques for the same accelerations."""
        return replace(state, v=v, tau=self.robot.inverse_dynamics(state.q, v, state.a))

    def to_pin(self, state: State) -> State:
        v, a, tau = np.empty((3, self.robot.nv))
        v[self.order], a[self.order], tau[self.order] = state.v, state.a, state.tau
        return State(pinocchio_q(self.robot, self.model, state.q), v, a, tau)

    def ours(self, kernel: str) -> list[Call]:
        """The in-place kernels: no checks, no allocation."""
        if kernel in self.contacts:
            return self.contacts[kernel].ours()
        if kernel == HESSIAN:
            return self.hessian.ours()
        if kernel == SECOND_ORDER and self.second_order:
            return self.second_order.ours()
        handle = self.robot.work.handle
        calls: dict[str, Any] = {
            "coriolis": lambda s: (
                COMPILED.coriolis_matrix,
                (handle, s.q, s.v, self._M, self._Mdot, self._C),
            ),
            "christoffel": lambda s: (COMPILED.christoffel, (handle, s.q, self._Gamma)),
            "rnea": lambda s: (COMPILED.inverse_dynamics, (handle, s.q, s.v, s.a, self._tau)),
            "crba": lambda s: (COMPILED.mass_matrix, (handle, s.q, self._M)),
            "aba": lambda s: (COMPILED.forward_dynamics, (handle, s.q, s.v, s.tau, self._a)),
            "rnea_derivatives": lambda s: (
                COMPILED.inverse_dynamics_derivatives,
                (handle, self.space.address, s.q, s.v, s.a, self._M, self._dq, self._dv),
            ),
            "aba_derivatives": lambda s: (
                COMPILED.forward_dynamics_derivatives,
                (handle, self.space.address, s.q, s.v, s.tau, self._dq, self._dv, self._M),
            ),
        }
        return [calls[kernel](state) for state in self.states]

    def method(self, kernel: str) -> list[Call]:
        """The methods of `Robot`: input checked, result allocated."""
        if kernel in self.contacts:
            return self.contacts[kernel].method()
        if kernel == HESSIAN:
            return self.hessian.method()
        if kernel == SECOND_ORDER and self.second_order:
            return self.second_order.method()
        robot = self.robot
        calls: dict[str, Any] = {
            "coriolis": lambda s: (robot.coriolis_matrix, (s.q, s.v)),
            "christoffel": lambda s: (robot.christoffel, (s.q,)),
            "rnea": lambda s: (robot.inverse_dynamics, (s.q, s.v, s.a)),
            "crba": lambda s: (robot.mass_matrix, (s.q,)),
            "aba": lambda s: (robot.forward_dynamics, (s.q, s.v, s.tau)),
            "rnea_derivatives": lambda s: (robot.inverse_dynamics_derivatives, (s.q, s.v, s.a)),
            "aba_derivatives": lambda s: (robot.forward_dynamics_derivatives, (s.q, s.v, s.tau)),
        }
        return [calls[kernel](state) for state in self.states]

    def pinocchio(self, kernel: str, convention: Any = None) -> list[Call]:
        """Pinocchio's functions, which write into its data. `crba` and `aba` have a convention."""
        if kernel in self.contacts:
            return self.contacts[kernel].pinocchio()
        if kernel == HESSIAN:
            return self.hessian.pinocchio()
        if kernel == SECOND_ORDER and self.second_order:
            return self.second_order.pinocchio()
        more = () if convention is None else (convention,)
        here = (self.model, self.data)
        calls: dict[str, Any] = {
            "coriolis": lambda s: (pin.computeCoriolisMatrix, (*here, s.q, s.v)),
            "christoffel": lambda s: (pin.computeCoriolisMatrix, (*here, s.q, s.v)),
            "rnea": lambda s: (pin.rnea, (*here, s.q, s.v, s.a)),
            "crba": lambda s: (pin.crba, (*here, s.q, *more)),
            "aba": lambda s: (pin.aba, (*here, s.q, s.v, s.tau, *more)),
            "rnea_derivatives": lambda s: (pin.computeRNEADerivatives, (*here, s.q, s.v, s.a)),
            "aba_derivatives": lambda s: (pin.computeABADerivatives, (*here, s.q, s.v, s.tau)),
        }
        return [calls[kernel](state) for state in self.pin_states]

    def verify(self, kernels: Iterable[str] = ()) -> None:
        """Raises where a kernel's results and Pinocchio's differ by more than rounding."""
        for kernel in kernels or self.kernels:
            for k, state in enumerate(self.states):
                for function, arguments in (self.ours(kernel)[k], self.pinocchio(kernel)[k]):
                    function(*arguments)
                for what, here, there in self._results(kernel, state, k):
                    self._require_equal(kernel, what, here, there)

    def _results(self, kernel: str, state: State, k: int) -> Iterable[tuple[str, Array, Array]]:
        """What the last calls of a kernel gave, here and there, in torqued's coordinates."""
        if kernel in self.contacts:
            yield from self.contacts[kernel].results()
            return
        if kernel == HESSIAN:
            yield self.hessian.result(k)
            return
        if kernel == SECOND_ORDER and self.second_order:
            yield from self.second_order.results()
            return
        order = self.order
        square = np.ix_(order, order)
        if kernel in ("coriolis", "christoffel"):
            C = np.array(self.data.C)[square]
            if kernel == "christoffel":
                yield "Γ v", self._Gamma @ state.v, C
                return
            pin.crba(self.model, self.data, pinocchio_q(self.robot, self.model, state.q))
            yield "C", self._C, C
            yield "Ṁ", self._Mdot, C + C.T
        if kernel in ("coriolis", "crba"):
            M = np.triu(self.data.M)  # only the upper half is promised
            yield "M", self._M, (M + np.triu(M, 1).T)[square]
        if kernel == "rnea_derivatives":
            yield "∂τ/∂q", self._dq, np.array(self.data.dtau_dq)[square]
            yield "∂τ/∂v", self._dv, np.array(self.data.dtau_dv)[square]
            M = np.triu(self.data.M)
            yield "M", self._M, (M + np.triu(M, 1).T)[square]
        if kernel == "aba_derivatives":
            yield "∂a/∂q", self._dq, np.array(self.data.ddq_dq)[square]
            yield "∂a/∂v", self._dv, np.array(self.data.ddq_dv)[square]
            inverse = np.triu(self.data.Minv)
            yield "∂a/∂τ", self._M, (inverse + np.triu(inverse, 1).T)[square]
        if kernel == "rnea":
            yield "τ", self._tau, np.array(self.data.tau)[order]
        if kernel == "aba":
            yield "a", self._a, np.array(self.data.ddq)[order]

    def _require_equal(self, kernel: str, what: str, here: Array, there: Array) -> None:
        scale = max(float(np.abs(there).max()), 1e-300)
        difference = float(np.abs(here - there).max()) / scale
        if not difference <= TOLERANCE:
            raise DisagreementError(
                f"{self.name}, {kernel}: {what} differs from Pinocchio's by {difference:.1e} of "
                f"its largest entry, at most {TOLERANCE:.0e} is rounding; nothing was timed"
            )


def require_known(name: str) -> None:
    """Raises for a name that `load` does not know."""
    if not _FAMILY_NAME.fullmatch(name):
        catalog.find_file(FILES.get(name, name))


def load(name: str, states: int) -> Case:
    """The case of that name: a robot of `ROBOTS`, a family of any size, or one of the catalogue."""
    known = _FAMILY_NAME.fullmatch(name)
    if known:
        return load_family(known[1], int(known[2]), states)
    path = catalog.find_file(FILES.get(name, name))
    floating = name == "talos"
    with warnings.catch_warnings():
        # Faults of the file that do no harm are not this command's subject.
        warnings.simplefilter("ignore", ModelWarning)
        robot = Robot.from_urdf(path, base="floating" if floating else "fixed", mimic="free")
    root = [pin.JointModelFreeFlyer()] if floating else []
    return Case(name, robot, pin.buildModelFromUrdf(str(path), *root), states)


def load_family(kind: str, dofs: int, states: int) -> Case:
    """A member of one of the papers' families, handed to Pinocchio as URDF."""
    robot = Robot.family(kind, dofs)
    root = [pin.JointModelFreeFlyer()] if robot.model.base == "floating" else []
    model = pin.buildModelFromXML(to_urdf(family(kind, dofs)), *root)
    return Case(f"{kind}{dofs}", robot, model, states)


def velocity_map(robot: Robot, model: Any) -> NDArray[np.int64]:
    """Where each of torqued's velocities is in Pinocchio's."""
    there = np.empty(robot.nv, dtype=np.int64)
    for joint in robot.model.joints:
        first = model.idx_vs[model.getJointId(joint.name)]
        own = np.arange(first, first + joint.nv)
        if joint.type == "floating":
            own = np.roll(own, 3)  # [linear; angular] there
        there[joint.v : joint.v + joint.nv] = own
    return there


def pinocchio_q(robot: Robot, model: Any, q: Array) -> Array:
    """Pinocchio's coordinates for torqued's q."""
    out = np.empty(model.nq)
    for joint in robot.model.joints:
        index = model.getJointId(joint.name)
        own = q[joint.q : joint.q + joint.nq]
        if joint.nq == 1 and model.nqs[index] == 2:
            own = np.array([np.cos(own[0]), np.sin(own[0])])
        out[model.idx_qs[index] :][: len(own)] = own
    return out
