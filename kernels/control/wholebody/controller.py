"""What whole-body controllers have in common: memory, names, packing, one tick in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.control.references.given import checked_reference
from torqued.kernels.control.wholebody.daqp import UNBOUNDED, LeastDistance, require_daqp
from torqued.kernels.control.wholebody.layout import (
    CLASSES,
    Array,
    Program,
    ProgramSizes,
    allocate_program,
)
from torqued.kernels.control.wholebody.parsing import parse_limits
from torqued.kernels.input_checks import choice, map_or_none, nonnegative, numbers, whole_number
from torqued.kernels.primitives.arrays import Memory
from torqued.kernels.primitives.no_copies import refuse_copy
from torqued.kernels.result_checks import alone

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: ns of a multiplication in the solver, with all that belongs to it; rather too long.
PER_PRODUCT = 0.5

Shapes = dict[str, tuple[int, ...]]

#: Most steps of the solver in a tick that may be asked for.
MAX_ITERATIONS = 10000


def count(shapes: Shapes) -> int:
    """Numbers in arrays of these shapes."""
    return sum(int(np.prod(shape)) for shape in shapes.values())


class ContactController:
    """Holds the memory that compiled code works in; one tick at a time.

    references   name → shape of what each tick brings after q and v, in order
    outputs      name → shape of what each tick gives, in order
    gains        weights and gains as one array, may change while running; `gain_names` its parts
    address      that the compiled law takes, valid as long as this object lives
    """

    ENTRY = ""  # name of the compiled entry

    robot: Robot
    memory: Memory[Program, ProgramSizes]
    solver: LeastDistance
    references: Shapes
    outputs: Shapes
    gains: Array
    gain_names: dict[str, slice]

    __reduce__ = refuse_copy

    @property
    def program(self) -> Program:
        """The arrays that compiled code works in."""
        return self.memory.arrays

    @property
    def address(self) -> int:
        return self.memory.address

    def _allocate(self, sizes: dict[str, int], task: Any, contact: Any, iterations: Any) -> None:
        """Memory for everything, with what is known of the robot filled in."""
        require_daqp()
        whole_number("iterations", iterations, 1, MAX_ITERATIONS)
        robot, mimics = self.robot, self.robot.model.mimics
        self.users = robot.users
        variables, rows = sizes["variables"], sizes["most_rows"]
        self.solver = LeastDistance(variables, rows, iterations)
        self.iterations = iterations
        # An iteration looks at every row, and updates a factor of the active ones.
        self.iteration_time = PER_PRODUCT * variables * (rows + variables)
        whole = ProgramSizes(
            nq=robot.nq,
            nv=robot.nv,
            nq_free=robot.nq_free,
            nv_free=robot.nv_free,
            base=6 if robot.model.base == "floating" else 0,
            follows=int(mimics.present),
            references=count(self.references),
            forces=3 * sizes["points"],
            solver_matrix=len(self.solver.A),
            **sizes,
        )
        self.memory = allocate_program(whole, task, contact, self.solver)
        program = self.program
        program.q_multiplier[:], program.q_offset[:] = mimics.q_multiplier, mimics.offset
        program.q_index[:], program.v_index[:] = mimics.q_index, mimics.v_index
        program.v_multiplier[:] = mimics.multiplier
        program.leader[mimics.leaders_v] = 1.0

    def _set_limits(self, limits: Any, period: Any, fade: Any, damping: Any) -> None:
        program = self.program
        for name, values in parse_limits(self.robot, limits).items():
            getattr(program, name)[:] = values
        program.options[:] = (
            nonnegative("period", period),
            nonnegative("fade", fade),
            nonnegative("fallback_damping", damping),
        )

    def _name_gains(self, parts: Mapping[str, Any]) -> None:
        """Lay out gains: a number or an array for each name."""
        self.gain_names, start = {}, 0
        for name, value in parts.items():
            size = np.size(value)
            self.gain_names[name] = slice(start, start + size)
            start += size
        self.gains = np.concatenate([np.ravel(value) for value in parts.values()]).astype(float)

    #: Gains without which there is no unique solution.
    POSITIVE: tuple[str, ...] = ()

    def pack_gains(self, changes: Mapping[str, Any] | None) -> Array:
        """The present gains with some changed, by name; one number sets all of an array."""
        gains = self.gains.copy()
        for name, value in map_or_none("gains", changes).items():
            part = self.gain_names[choice("gains", name, self.gain_names)]
            size = part.stop - part.start
            given = numbers(f"gains.{name}", value, (), (size,))
            if (given < 0.0).any():
                field = f"gains.{name}"
                raise InputError(f"{field} is {given.min()}, expected no negative numbers", field)
            gains[part] = given
        for name in self.POSITIVE:
            if not gains[self.gain_names[name]].all():
                raise InputError(f"gains.{name} is 0, expected a positive number", f"gains.{name}")
        return gains

    def pack(self, q: Any, v: Any, references: Mapping[str, Any] | None) -> Array:
        """The flat state [q, v, references].

        Velocities and accelerations may be left out (zero), as may `active` (all are),
        `max_force` (no limit) and `contact_force` (zero).
        """
        tree = self.robot.tree
        parts = [tree.own_q(q), tree.own_v("v", v)]
        given = map_or_none("references", references)
        for name in given:
            choice("references", name, self.references)
        for name, shape in self.references.items():
            value = given.get(name)
            if value is None:
                value = self._default(name, shape)
            parts.append(checked_reference(name, value, shape))
        return np.concatenate(parts)

    def _default(self, name: str, shape: tuple[int, ...]) -> Array:
        if name in ("active", "max_force"):
            return np.full(shape, 1.0 if name == "active" else UNBOUNDED)
        if name.rsplit(".", 1)[-1] in ("position", "orientation"):
            raise InputError(f"references.{name} is missing", f"references.{name}", None, "present")
        return np.zeros(shape)

    def torque(self, q: Any, v: Any, references: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One tick in this process: `outputs` by name, and `status` bits.

        `violated` is a word: the class of constraints that could not be met, or "nothing".
        """
        return self.tick(self.pack(q, v, references))

    @alone
    def tick(self, state: Array) -> dict[str, Any]:
        """The same from a packed state."""
        out, robot = np.zeros(count(self.outputs)), self.robot
        law = getattr(COMPILED, self.ENTRY)
        status = law(robot.work.handle, self.address, state, robot.nq, robot.nv, self.gains, out)
        answer: dict[str, Any] = {"status": int(status)}
        at = 0
        for name, shape in self.outputs.items():
            size = int(np.prod(shape))
            answer[name] = out[at : at + size].reshape(shape)
            at += size
        answer["violated"] = CLASSES[int(answer["violated"][0])]
        answer["iterations"] = int(answer["iterations"][0])
        return answer

    def frame_pose_of(self, q: Any, frame: Any) -> Array:
        """Pose (4, 4) of a frame of a task's record."""
        frames = np.zeros(1, frame.dtype).view(np.recarray)
        frames[0] = frame
        poses = np.empty((1, 4, 4))
        COMPILED.frame_poses(self.robot.work.handle, self.robot.tree.q(q), frames, poses)
        pose: Array = poses[0]
        return pose
