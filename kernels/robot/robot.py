"""`Robot`: the friendly face of the kernels. Checks what comes in, allocates what goes out.

    robot = Robot.named("panda")
    q, v = robot.random_state(np.random.default_rng(0))
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, v)

Its methods are in a class for each concept, a file each:

    core.py                model, tree with a workspace (tree.py), frames by name (frame_table.py)
    loading.py             where robots come from
    joints.py              joints by name; configurations.py: points and steps of the manifold
    dynamics.py            equations of motion; control_terms.py: what controllers are made of
    frames.py              poses, Jacobians and motions; centroidal.py: center of mass
    contacts.py            held frames, friction, impacts; constraints.py: states and torques
    derivatives.py         of the equations of motion; geometry.py: by where joints are
    inverse_kinematics.py  configurations for targets; capsules.py: distances from itself

`in_coordinates` gives the same methods in another chart (charts/charted_robot.py), `batch` for many
states (kernels/batch/).

A robot has one workspace: calls of two threads at once are refused. `copy()` gives each thread its
own robot for the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from torqued.kernels.batch.batch import Batch
from torqued.kernels.charts import Chart, Coordinates
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.integration.simulation import Simulation, simulate
from torqued.kernels.model.attach import described, joined, pose_of
from torqued.kernels.model.description import Array
from torqued.kernels.model.edit import with_inertia, with_joint_frame
from torqued.kernels.model.model import Dofs, Model
from torqued.kernels.result_checks import alone, finite
from torqued.kernels.robot.capsules import Capsules
from torqued.kernels.robot.centroidal import Centroidal
from torqued.kernels.robot.configurations import Configurations
from torqued.kernels.robot.constraint_set import Constraint
from torqued.kernels.robot.constraints import Constraints
from torqued.kernels.robot.control_terms import ControlTerms
from torqued.kernels.robot.derivatives import Derivatives
from torqued.kernels.robot.geometry import Geometry
from torqued.kernels.robot.inverse_kinematics import Poses
from torqued.kernels.robot.loading import Loading, equipped
from torqued.kernels.robot.pinocchio_names import PINOCCHIO_NAMES
from torqued.kernels.robot.screws import Screws


class Robot(
    Loading,
    Configurations,
    Centroidal,
    Constraints,
    Derivatives,
    ControlTerms,
    Geometry,
    Poses,
    Capsules,
):
    """A loaded robot. SI units, radians; conventions in docs/NOTATION.md.

    `point` (3,) is in a frame's own axes; the default is the frame's origin. `representation` is
    `hybrid` (world axes, at the frame's origin), `body` (frame's axes), `spatial` (world axes, at
    the world's origin) or `mixed` (angular in frame axes, linear in world axes). 6-D vectors are
    [angular; linear]. A velocity v of None is rest.
    """

    @cached_property
    def screws(self) -> Screws:
        """The equations of [M18] in closed form and in each representation, natively."""
        return Screws(self)

    def copy(self) -> Self:
        """The same robot with its own workspace, for another thread."""
        return type(self)(self.model)

    def batch(
        self, threads: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Batch:
        """The same methods for many states, (N, …) arrays, in so many threads: by default one for
        each core that this process may use. `progress(done, total)` is called now and then."""
        return Batch(self, threads, progress)

    def with_payload(self, payloads: Any) -> Self:
        """This robot with a tool or a payload, or several, as part of its bodies.

        Each is a map of `frame`, `mass`, `center`, `inertia`: kernels/model/payloads.py.
        """
        return type(self)(equipped(self.model, {"payloads": payloads}, None))

    def with_friction(self, friction: Any) -> Self:
        """This robot with measured friction, a map of `viscous` and `coulomb`: a number, or a map
        by joint; kernels/model/friction.py."""
        return type(self)(equipped(self.model, {}, friction))

    def attach(self, other: Robot, frame: str, pose: Any = None, prefix: str = "") -> Self:
        """This robot with another one on it, whose root link is fixed to a frame at a pose (4, 4),
        and whose names get the prefix: kernels/model/attach.py.

        Attach first: robots with a payload, or with friction or bodies that were changed, are
        refused.
        """
        own, added = described("this robot", self), described("other", other)
        tree = joined(own, added, frame, pose_of(pose), prefix, "attach")
        renamed = (replace(x, frame=prefix + x.frame) for x in other.model.capsules)
        options: Any = {"gravity": self.gravity_vector, "accept_unphysical": True}
        robot = type(self).from_description(tree, self.model.base, **options)
        return type(self)(replace(robot.model, capsules=(*self.model.capsules, *renamed)))

    def set_inertia(self, frame: str, mass: float, center: Any = None, inertia: Any = None) -> None:
        """Give the body that carries a frame another inertia, from now on; nothing is compiled.

        The body is all links that are fixed together, in the frame's axes: mass in kg, `center`
        (3,) of mass in m, `inertia` in kg m² about it; kernels/model/edit.py. Batches, charts and
        `screws` of the robot follow; handles of the workspace that were taken before, and copies of
        the robot, have the former one.
        """
        self._become(with_inertia(self.model, frame, mass, center, inertia))

    def set_joint_frame(self, joint: str, pose: Any, relative_to: str | None = None) -> None:
        """Put a joint at another pose (4, 4) on the body that it hangs on, from now on.

        The pose is relative to a frame of that body, by default the first of its links.
        """
        self._become(with_joint_frame(self.model, joint, pose, relative_to))

    @alone
    def _become(self, model: Model) -> None:
        """Forget everything of the former model; charts and controllers look at `users` too."""
        users = self.users
        self.__dict__.clear()
        Robot.__init__(self, model)
        self.users = users

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
    def locked(self) -> dict[str, float]:
        """Joints that are held, which q and v leave out, and their positions (rad or m)."""
        return {joint.name: joint.position for joint in self.model.locked}

    @property
    def postures(self) -> tuple[str, ...]:
        """Names for `posture`."""
        return tuple(self.model.description.postures)

    @property
    def constraints(self) -> dict[str, tuple[Constraint, ...]]:
        """Contacts and loops that its file has, by name: `contact_dynamics` and others take
        them."""
        return dict(self.model.description.constraints)

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
            return ChartedRobot(self, coordinates)
        if coordinates not in self._charted:
            self._charted[coordinates] = ChartedRobot(self, coordinates)
        return self._charted[coordinates]

    @cached_property
    def _charted(self) -> dict[str, ChartedRobot]:
        return {}

    @finite
    def simulate(
        self,
        q: Any,
        v: Any = None,
        tau: Any = None,
        seconds: float = 1.0,
        dt: float = 1e-3,
        method: str = "rkmk4",
        contacts: Sequence[Constraint] = (),
        every: int = 1,
        report: Callable[[int, int], None] | None = None,
    ) -> Simulation:
        """The motion from q, v: times (k,), q (k, nq), v (k, nv) and torques (k, nv).

        `tau` is what acts: nothing, torques (nv,), a row (steps, nv) for each step, a function of
        t, q and v, or a `Controller`, whose torque is held over a step as on a robot. `method` is
        "rkmk4" or "rkmk2" (Munthe-Kaas Runge-Kutta of that order), "momentum" (order 4; keeps the
        spatial momentum of a floating robot to rounding) or "euler" (semi-implicit, order 1).
        `contacts` are held as in `contact_dynamics`, loops and rows among them. Every `every`-th
        step is recorded, and `report(steps done, of how many)` is called.
        """
        return simulate(self, q, v, tau, seconds, dt, method, contacts, every, report)
