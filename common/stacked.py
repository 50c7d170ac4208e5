"""Fields of a batch that belong to a state: they have one more dimension in front."""

from __future__ import annotations

#: So have the wrenches in `f_ext` and the arrays in `references`, and may have values of `targets`.
STACKED = (
    *("q", "v", "a", "jerk", "snap", "tau", "w", "b", "dt"),
    *("motor_q", "motor_v", "external_torque", "measured_wrench"),
)
