"""A controller for compiled code: one record, whose address every law takes."""

import numpy as np

#: Filled by `Controller`, then owned by what runs the law: the loop, or the controller itself.
CONTROL = np.dtype(
    [
        ("address", "u8"),  # of this record
        ("law", "u8"),  # address of the law's compiled function
        ("observer", "u8"),  # the same for the observer; 0: none
        # addresses of the steps of a tick; steps.py
        ("put_on", "u8"),
        ("follow", "u8"),
        ("evaluate", "u8"),
        ("guard", "u8"),
        ("watch", "u8"),
        ("law_memory", "u8"),  # address of memory that the law alone uses; 0: none
        ("want", "i8"),  # quantities of a stream; quantities.py
        ("frames", "u8"),  # address of the frames that they are about
        ("frame_count", "i8"),
        ("representation", "i8"),
        ("data", "u8"),  # address of the session's arrays; session_arrays.py
        ("remembered", "i8"),  # how much of `memory` carries over from tick to tick
        ("most_iterations", "i8"),  # of a solver; 0: there is none
        ("iteration_time", "f8"),  # ns that one takes, estimated
        ("iterations", "i8"),  # allowed in this tick, for lack of time; 0: all
        ("cut", "i8"),  # 1: the last torque was not the law's own, nothing is to be learned from it
        ("elapsed", "f8"),  # s from the state before to this one; 0 where none came
        # references; references/follow.py
        ("source", "i8"),  # FROM_STATES, or FROM_ORDERS of a commander
        ("followed", "i8"),  # status bits of references, as of the newest state
        ("limited", "i8"),  # 1: references that are given are limited
        ("references_latched", "i8"),  # 1: they began with what a state had
        ("move_time", "f8"),  # s since a planned movement began
        ("move_seconds", "f8"),  # s that it takes; 0: there is none
        # what comes after the law
        ("has_state", "i8"),  # 1: the state is not too old for walls to go by
        ("has_walls", "i8"),  # 1: joints have walls
        ("walls", "i8"),  # bits: which walls changed a torque when one last did; status.wall_names
        ("wall_energy", "f8"),  # J that walls have taken from the robot and may give back
        ("low_pass", "f8"),  # Hz, of torques; 0: none
        ("has_last_torque", "i8"),  # 1: there is a torque before this one
        ("moves", "i8"),  # 1: a virtual robot has its state; virtual_robot.py
        ("feels", "i8"),  # 1: external torques act on it
        ("lag", "f8"),  # s by which the robot follows it
        ("status", "i8"),  # bits of the last tick, limits included; 0 before the first
        ("accounts", "i8"),  # 1: results have the law's balance of power
        ("reference_velocity", "i8"),  # where it begins in the state; -1: the law has none
        ("reference_torque", "i8"),  # the same of `tau_ff`
        ("friction_share", "f8"),  # of the friction that is compensated
        ("bias_rate", "f8"),  # 1/s, of integral action
    ],
    align=True,
)
