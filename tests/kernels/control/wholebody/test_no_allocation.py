"""Ticks allocate nothing, and no robot needs code of its own."""

from pathlib import Path

import numpy as np
import pytest

from support.compiled_kernels import allocations, assert_no_allocator
from support.wholebody_cases import FEET, STANDING, biped, random_state
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES
from torqued.kernels.control.wholebody.balance import Balance
from torqued.kernels.control.wholebody.controller import count
from torqued.kernels.control.wholebody.whole_body import WholeBody


def controllers():
    robot = biped(0)
    return {"whole_body": WholeBody(robot, STANDING, FEET), "balance": Balance(robot, FEET)}


def call_of(control, q, v):
    robot = control.robot
    state, out = control.pack(q, v, control.hold(q)), np.zeros(count(control.outputs))
    law = getattr(COMPILED, control.ENTRY)
    arguments = (robot.work.handle, control.address, state, robot.nq, robot.nv, control.gains, out)
    return law, arguments


@pytest.mark.parametrize("name", ["whole_body", "balance"])
def test_tick_allocates_nothing(name, statistics):
    control = controllers()[name]
    law, arguments = call_of(control, *random_state(control.robot, 0))
    law(*arguments)
    before = allocations()
    law(*arguments)
    owners = sum(isinstance(x, np.ndarray) for x in arguments)  # numba makes one for each array
    assert allocations() == before + owners
    assert_no_allocator(name)


def resident_kb():
    """Memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


@pytest.mark.parametrize("name", ["whole_body", "balance"])
def test_memory_does_not_grow_with_ticks(name):
    control = controllers()[name]
    law, arguments = call_of(control, *random_state(control.robot, 0))
    state = arguments[2]
    for _ in range(200):
        law(*arguments)
    before = resident_kb()
    for k in range(3000):
        state[-2 * len(FEET)] = k % 3 > 0  # the solver changes its size
        law(*arguments)
    assert resident_kb() - before < 256


def test_controllers_that_are_gone_give_their_memory_back():
    robot = biped(0)
    for _ in range(20):
        WholeBody(robot, STANDING, FEET)
    before = resident_kb()
    for _ in range(200):
        WholeBody(robot, STANDING, FEET)
    assert resident_kb() - before < 4096  # one is some 300 kB


def test_all_robots_share_their_code():
    for robot in (biped(0), Robot.family("quadruped", 12), Robot.family("chain", 5)):
        control = WholeBody(robot, [{"kind": "posture"}, {"kind": "com"}])
        control.torque(*random_state(robot, 0), control.hold(robot.neutral()))
    assert len(ENTRIES["whole_body"][0].overloads) == 1
