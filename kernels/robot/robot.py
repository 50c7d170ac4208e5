"""`Robot`: the friendly face of the kernels. Checks what comes in, allocates what goes out.

    robot = Robot.named("panda")
    q, v = robot.random_state(np.random.default_rng(0))
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, v)

A robot is composed of parts, a file each: `dynamics`, `frames`, `centroidal`, `contacts`,
`constraints`, `inverse_kinematics`, `configurations`, `control_terms`, `derivatives`. They compute
natively, on a tree with checked states (`tree.py`) and frames by name (`frame_table.py`). Methods
of several of them are declared in `constrained.py`, `posable.py`, `differentiable.py` and
`simulated.py`. `in_coordinates` gives the same methods
in another chart (charts/charted_robot.py), and `coordinates=` is short for that: result_checks.py
wraps every method that computes for it.

A robot has one workspace and is not to be shared between threads; `copy()` gives another one for
the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from torqued.kernels.batch.batch import Batch
from torqued.kernels.charts import Chart, Coordinates, RedundantBase, chart_of
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.dynamics.evaluation_plan import EvaluationPlan
from torqued.kernels.model.changes import with_inertia, with_joint_frame
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Dofs, Model
from torqued.kernels.result_checks import in_any_coordinates
from torqued.kernels.robot.centroidal import Centroidal
from torqued.kernels.robot.configurations import Configurations
from torqued.kernels.robot.constrained import Constrained
from torqued.kernels.robot.constraints import Constraints
from torqued.kernels.robot.contacts import Contacts
from torqued.kernels.robot.control_terms import ControlTerms
from torqued.kernels.robot.derivatives import Derivatives
from torqued.kernels.robot.differentiable import Differentiable
from torqued.kernels.robot.dynamics import Dynamics
from torqued.kernels.robot.frame_table import FrameTable, Wrenches
from torqued.kernels.robot.frames import Frames
from torqued.kernels.robot.geometry import Geometry
from torqued.kernels.robot.inverse_kinematics import InverseKinematicsSolver
from torqued.kernels.robot.loading import Loadable, equipped
from torqued.kernels.robot.near_tree import near_tree
from torqued.kernels.robot.pinocchio_names import PINOCCHIO_NAMES
from torqued.kernels.robot.points import Points
from torqued.kernels.robot.posable import Posable
from torqued.kernels.robot.screws import Screws
from torqued.kernels.robot.simulated import Simulated
from torqued.kernels.robot.tree import FreeTree


class Robot(Loadable, Differentiable, Simulated, Constrained, Posable, Points):
    """A loaded robot. SI units, radians; conventions in docs/NOTATION.md.

    `point` (3,) is in a frame's own axes; the default is the frame's origin. `representation` is
    `hybrid` (world axes, at the frame's origin), `body` (frame's axes), `spatial` (world axes, at
    the world's origin) or `mixed` (angular in frame axes, linear in world axes). 6-D vectors are
    [angular; linear].
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tree = tree = FreeTree(model)
        self.frame_table = table = FrameTable(model)
        near = near_tree(tree)
        #: Whether configurations are looked at, as rounding counts in some (near_tree.py).
        self.reaches_far = near is not tree
        self._dynamics = Dynamics(near, table)
        self._frames = Frames(tree, table)
        self.contacts = Contacts(near, table, self._frames)
        self._constraints = Constraints(near, self._dynamics, self.contacts)
        self._poses = InverseKinematicsSolver(tree, table)
        self._centroidal = Centroidal(tree)
        self._configurations = Configurations(tree)
        self._control = ControlTerms(near)
        self._derivatives = Derivatives(near, table, self._dynamics, self.contacts)
        self._geometry = Geometry(tree, table)
        #: The equations of [M18] in closed form and in each representation, natively.
        self.screws = Screws(tree, table)
        self._charted: dict[str, ChartedRobot] = {}
        #: Sizes of q and v, and of those of the tree with mimic joints free.
        self.nq, self.nv = tree.nq, tree.nv
        self.nq_free, self.nv_free = tree.nq_free, tree.nv_free
        self.work = tree.work

    def copy(self) -> Self:
        """The same robot with a workspace of its own, for another thread."""
        return type(self)(self.model)

    def batch(
        self, threads: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Batch:
        """The same methods for many states, (N, …) arrays, in so many threads: by default one for
        each core that this process may use. `progress(done, total)` is told now and then."""
        return Batch(self, threads, progress)

    def carrying(self, loads: Any) -> Self:
        """This robot with a tool or a payload, or several, as part of its bodies.

        Each is a map of `frame`, `mass`, `centre`, `inertia`: kernels/model/loads.py.
        """
        return type(self)(equipped(self.model, {"loads": loads}, None))

    def with_friction(self, friction: Any) -> Self:
        """This robot with measured friction, a map of `viscous` and `coulomb`: a number, or a map
        by joint; kernels/model/losses.py."""
        return type(self)(equipped(self.model, {}, friction))

    def set_inertia(self, frame: str, mass: float, centre: Any = None, inertia: Any = None) -> None:
        """Give the body that carries a frame another inertia, from now on; nothing is compiled.

        The body is all links that are fixed together, in the frame's axes: mass in kg, `centre`
        (3,) of mass in m, `inertia` in kg m² about it; kernels/model/changes.py. Whoever has
        taken the workspace's handle, or a copy of the robot, keeps the former one.
        """
        Robot.__init__(self, with_inertia(self.model, frame, mass, centre, inertia))

    def set_joint_frame(self, joint: str, pose: Any, relative_to: str | None = None) -> None:
        """Put a joint at another pose (4, 4) on the body that it hangs on, from now on.

        The pose is relative to a frame of that body, by default the first of its links.
        """
        Robot.__init__(self, with_joint_frame(self.model, joint, pose, relative_to))

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: {self.model.base} base, nq={self.nq}, nv={self.nv}>"

    def __getattr__(self, name: str) -> Any:
        hint = f"; here it is {PINOCCHIO_NAMES[name]!r}" if name in PINOCCHIO_NAMES else ""
        raise AttributeError(f"a robot has no {name!r}{hint}", name=name, obj=self)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def warnings(self) -> tuple[str, ...]:
        """Faults of the robot's file that do no harm."""
        return self.model.warnings

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints in the order of their coordinates; followers of other joints left out."""
        return self.model.joint_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Links, then joints whose name no link has."""
        return self.frame_table.names

    @property
    def gravity_vector(self) -> Array:
        """Acceleration of free fall in world axes, m/s²."""
        return np.array(self.model.world["gravity"][0])

    @property
    def limits(self) -> Dofs:
        """Limits, damping, friction and rotor inertia of the robot's own coordinates."""
        return self.model.own_dofs

    @property
    def quaternions(self) -> list[tuple[str, int]]:
        """Joints with quaternions, and where these begin in q."""
        return self.tree.quaternions

    def in_coordinates(self, coordinates: Coordinates) -> Robot | ChartedRobot:
        """This robot in other coordinates (docs/COORDINATES.md): the same methods, with all that
        goes in and comes out in the chart of that name, or of `Custom(A, A_rate)`."""
        if isinstance(coordinates, str) and coordinates == "native":
            return self
        return self._in_chart(coordinates)

    def chart(self, coordinates: Coordinates) -> Chart:
        """The chart itself: q, v, a and τ both ways, its sizes `nq` and `nv`, A and its rate."""
        return self._in_chart(coordinates).chart

    def _in_chart(self, coordinates: Coordinates) -> ChartedRobot:
        """Named charts are made once."""
        if not isinstance(coordinates, str):
            return ChartedRobot(self, chart_of(self, coordinates))
        if coordinates not in self._charted:
            self._charted[coordinates] = ChartedRobot(self, chart_of(self, coordinates))
        return self._charted[coordinates]

    @in_any_coordinates
    def neutral(self, *, coordinates: Coordinates = "native") -> Array:
        """All coordinates zero and quaternions at identity, shape (nq,)."""
        return self._configurations.neutral()

    @in_any_coordinates
    def random_state(
        self, rng: np.random.Generator, *, coordinates: Coordinates = "native"
    ) -> tuple[Array, Array]:
        """q within limits (± π or ± 1 m where there are none) and v of order one."""
        return self._configurations.random_state(rng)

    @in_any_coordinates
    def integrate(self, q: Any, v: Any, dt: float, *, coordinates: Coordinates = "native") -> Array:
        """q after moving with constant v for dt seconds, shape (nq,)."""
        return self._configurations.integrate(q, v, dt)

    @in_any_coordinates
    def difference(self, q0: Any, q1: Any, *, coordinates: Coordinates = "native") -> Array:
        """The velocity (nv,) that takes q0 to q1 in one second: inverse of integrate."""
        return self._configurations.difference(q0, q1)

    def base_constraint(
        self, q: Any, v: Any, *, coordinates: Coordinates = "quaternion"
    ) -> RedundantBase:
        """What the base's redundant parameters must keep to, in `quaternion` and
        `rotation_matrix`: selection matrix, constraint, multiplier, projector ([BK12] eq. 28-35).
        """
        return self._in_chart(coordinates).base_constraint(q, v)

    @in_any_coordinates
    def mass_matrix(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """M(q), shape (nv, nv)."""
        return self._dynamics.mass_matrix(q)

    @in_any_coordinates
    def mass_matrix_rate(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> Array:
        """Ṁ(q, v), shape (nv, nv), from the rates of inertias (not from C)."""
        return self._dynamics.mass_matrix_rate(q, v)

    @in_any_coordinates
    def coriolis_matrix(
        self,
        q: Any,
        v: Any,
        factorization: str = "christoffel",
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """C(q, v), shape (nv, nv), with Ṁ = C + Cᵀ.

        `christoffel` is the one that Γ sums to ([EW21] eq. 10); `direct` is eq. 9's.
        """
        return self._dynamics.coriolis_matrix(q, v, factorization)

    @in_any_coordinates
    def christoffel(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """Γ(q), shape (nv, nv, nv), with C_ij = Σ_k Γ_ijk v_k.

        Symmetric in j, k where v is the rate of coordinates; for spherical and floating joints
        they are the coefficients of quasi-velocities.
        """
        return self._dynamics.christoffel(q)

    @in_any_coordinates
    def gravity(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """g(q), shape (nv,): the torques that hold the robot still."""
        return self._dynamics.gravity(q)

    @in_any_coordinates
    def bias(
        self,
        q: Any,
        v: Any,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """C(q, v) v + g(q) − Σ Jᵀ f_ext, shape (nv,)."""
        return self._dynamics.bias(q, v, f_ext)

    @in_any_coordinates
    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """τ = M a + C v + g − Σ Jᵀ f_ext, shape (nv,).

        `f_ext` maps frame names to what acts on the robot there: wrenches (6,) [moment; force] at
        the frame's origin in world axes, or `Wrench`es at any of its points, or lists of those.
        """
        return self._dynamics.inverse_dynamics(q, v, a, f_ext)

    @in_any_coordinates
    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """Accelerations (nv,) under torques tau and external wrenches, in O(N).

        Where joints mimic others, the equations of the leaders are solved by Cholesky instead.
        """
        return self._dynamics.forward_dynamics(q, v, tau, f_ext)

    @in_any_coordinates
    def solve_mass(self, q: Any, b: Any, *, coordinates: Coordinates = "native") -> Array:
        """x with M(q) x = b, in O(N) per right-hand side; b is (nv,) or (nv, k)."""
        return self._dynamics.solve_mass(q, b)

    @in_any_coordinates
    def mass_product(self, q: Any, w: Any, *, coordinates: Coordinates = "native") -> Array:
        """M(q) w in O(N), shape (nv,)."""
        return self._dynamics.mass_product(q, w)

    @in_any_coordinates
    def coriolis_product(
        self, q: Any, v: Any, w: Any, *, coordinates: Coordinates = "native"
    ) -> Array:
        """C(q, v) w in O(N), shape (nv,), with the Christoffel-consistent C."""
        return self._dynamics.coriolis_product(q, v, w)

    @in_any_coordinates
    def coriolis_transposed_product(
        self, q: Any, v: Any, w: Any = None, *, coordinates: Coordinates = "native"
    ) -> Array:
        """C(q, v)ᵀ w in O(N), shape (nv,); w defaults to v, as momentum observers need it."""
        return self._dynamics.coriolis_transposed_product(q, v, w)

    @in_any_coordinates
    def energy(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> tuple[float, float]:
        """Kinetic energy, rotors included, and potential energy (0 at the world's origin), J."""
        return self._dynamics.energy(q, v)

    @in_any_coordinates
    def dynamics(
        self,
        q: Any,
        v: Any = None,
        want: Sequence[str] = ("M", "C", "g"),
        frames: Sequence[str] = (),
        representation: str = "hybrid",
        *,
        coordinates: Coordinates = "native",
    ) -> dict[str, Any]:
        """Any of the quantities of dynamics/quantities.py: M, Mdot, C, Gamma, g, bias, energy,
        com, momentum, and per frame J, Jdot_v, pose.

        One walk over the tree for all of them. Results by name; those per frame are dicts by
        frame. v may be left out where nothing wanted depends on it.
        """
        return self._dynamics.dynamics(q, v, want, frames, representation)

    def plan(
        self, want: Sequence[str], frames: Sequence[str] = (), representation: str = "hybrid"
    ) -> EvaluationPlan:
        """What `dynamics` looks up for these, for callers of the compiled `evaluate`."""
        return self._dynamics.plan(want, frames, representation)

    def results_of(self, plan: EvaluationPlan, out: Any) -> dict[str, Any]:
        """What `evaluate` has put into a plan's arrays, as `dynamics` returns it."""
        return self._dynamics.results(plan, out)

    @in_any_coordinates
    def frame_pose(
        self, q: Any, frame: str, point: Any = None, *, coordinates: Coordinates = "native"
    ) -> Array:
        """Homogeneous pose (4, 4) of a frame in the world."""
        return self._frames.pose(q, frame, point)

    @in_any_coordinates
    def frame_jacobian(
        self,
        q: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J (6, nv): twist of the frame = J v."""
        return self._frames.jacobian(q, frame, representation, point)

    @in_any_coordinates
    def frame_velocity(
        self,
        q: Any,
        v: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J v (6,), without forming J."""
        return self._frames.motion(q, v, None, frame, representation, point)[0]

    @in_any_coordinates
    def frame_acceleration(
        self,
        q: Any,
        v: Any,
        a: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J a + J̇ v (6,): the rate of `frame_velocity`; gravity is not in it."""
        a = self.tree.own_v("a", a)
        return self._frames.motion(q, v, a, frame, representation, point)[1]

    @in_any_coordinates
    def frame_bias(
        self,
        q: Any,
        v: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J̇ v (6,)."""
        return self._frames.motion(q, v, None, frame, representation, point)[1]

    @in_any_coordinates
    def frame_jerk(
        self,
        q: Any,
        v: Any,
        a: Any,
        jerk: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J q⃛ + 2 J̇ a + J̈ v (6,): the rate of `frame_acceleration`; `jerk` is q⃛ (nv,)."""
        v, a, jerk = (self.tree.own_v(*x) for x in (("v", v), ("a", a), ("jerk", jerk)))
        return self._frames.rates(q, v, a, jerk, frame, 3, representation, point)["jerk"]

    @in_any_coordinates
    def frame_jacobian_rate(
        self,
        q: Any,
        v: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J̇ (6, nv): the rate of `frame_jacobian` along v."""
        v = self.tree.own_v("v", v)
        return self._frames.rates(q, v, None, None, frame, 2, representation, point)["Jdot"]

    @in_any_coordinates
    def frame_jacobian_second_rate(
        self,
        q: Any,
        v: Any,
        a: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J̈ (6, nv): the rate of `frame_jacobian_rate` along v and a."""
        v, a = self.tree.own_v("v", v), self.tree.own_v("a", a)
        return self._frames.rates(q, v, a, None, frame, 3, representation, point)["Jddot"]

    @in_any_coordinates
    def frame_hessian(
        self,
        q: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """∂J/∂q (6, nv, nv): [:, j, k] is the derivative of column j of J along column k of v.

        J̇ = H v. Where v is the rate of coordinates, k counts those.
        """
        return self._frames.hessian(q, frame, representation, point)

    @in_any_coordinates
    def kinematics(
        self,
        q: Any,
        v: Any = None,
        a: Any = None,
        jerk: Any = None,
        frames: Sequence[str] = (),
        order: int = 1,
        representation: str = "hybrid",
        *,
        coordinates: Coordinates = "native",
    ) -> dict[str, dict[str, Array]]:
        """Motions of frames from one walk over the tree, maps from frames by name.

        order 0: pose; from 1 on velocity, J; from 2 on acceleration, Jdot; 3: jerk, Jddot. v is
        needed from order 1 on; a and jerk are zero where they are not given.
        """
        return self._frames.kinematics(q, v, a, jerk, frames, order, representation)

    @property
    def total_mass(self) -> float:
        """Mass of all moving bodies, kg (without what is fixed to the world)."""
        return self._centroidal.mass

    @in_any_coordinates
    def center_of_mass(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """Centre of mass (3,) of the moving bodies in the world."""
        return self._centroidal.center_of_mass(q)

    @in_any_coordinates
    def center_of_mass_jacobian(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """J (3, nv): velocity of the centre of mass = J v; zero for a robot without mass."""
        return self._centroidal.center_of_mass_jacobian(q)

    @in_any_coordinates
    def centroidal_matrix(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """A_G (6, nv): `centroidal_momentum` = A_G v."""
        return self._centroidal.matrix(q)

    @in_any_coordinates
    def centroidal_momentum(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> Array:
        """[angular momentum about the centre of mass; linear momentum], world axes."""
        return self._centroidal.momentum(q, v)

    @in_any_coordinates
    def centroidal_bias(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> Array:
        """Ȧ_G v (6,): the rate of the centroidal momentum while v stays constant."""
        return self._centroidal.bias(q, v)

    @in_any_coordinates
    def tracking_torque(
        self, q: Any, v: Any, v_ref: Any, a_ref: Any, *, coordinates: Coordinates = "native"
    ) -> Array:
        """M a_ref + C(q, v) v_ref + g in O(N), shape (nv,): Slotine and Li's feed-forward."""
        return self._control.tracking_torque(q, v, v_ref, a_ref)

    @in_any_coordinates
    def generalized_momentum(
        self, q: Any, v: Any, *, coordinates: Coordinates = "native"
    ) -> tuple[Array, Array]:
        """p = M v and Cᵀ v − g, (nv,) each: ṗ is the latter plus all torques."""
        return self._control.generalized_momentum(q, v)

    @property
    def inertial_parameters(self) -> Array:
        """Ten numbers per body in its own frame, (10 bodies,): m, m c, Ī (xx xy xz yy yz zz).

        Bodies as the model has them: links joined by fixed joints are one.
        """
        return self._control.inertial_parameters()

    @in_any_coordinates
    def regressor(
        self, q: Any, v: Any, a: Any, v_ref: Any = None, *, coordinates: Coordinates = "native"
    ) -> Array:
        """Y (nv, 10 bodies) with M a + C(q, v) v_ref + g = Y π, π = `inertial_parameters`.

        v_ref is v where it is not given. Rotor inertias are no part of π.
        """
        return self._control.regressor(q, v, a, v_ref)
