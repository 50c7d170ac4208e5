"""Units of what goes into a law and comes out of it, by name.

A joint that slides has m where one that turns has rad, and N where that has N m.
"""

from __future__ import annotations

_UNITS = {
    "": ("violated", "iterations", "link", "active", "contact", "touching", "orientation", "pose"),
    "rad": ("q", "q_ref", "motor_q", "posture", "posture.position"),
    "rad/s": (
        "v",
        "v_ref",
        "motor_v",
        "port",
        "posture.velocity",
        "posture_velocity",
        "base.velocity",
    ),
    "rad/s²": ("a", "a_ref", "posture.acceleration", "posture_acceleration"),
    "rad/s³": ("jerk_ref",),
    "rad/s⁴": ("snap_ref",),
    "N m": ("tau", "tau_ff", "g", "bias", "external", "external_torque"),
    "J": ("storage", "energy"),
    "W": ("dissipation", "reference_power"),
    "m": ("position", "com"),
    "rad/s, m/s": ("velocity",),
    "rad/s², m/s²": ("acceleration", "Jdot_v"),
    "m/s": ("com.velocity",),
    "m/s²": ("com.acceleration",),
    "rad, m": ("error",),
    "kg m², kg": ("inertia",),
    "kg, kg m, kg m²": ("load",),
    "N": ("force", "max_force", "contact_force"),
    "N m, N": ("wrench", "wrench_wanted", "exerted", "measured_wrench", "momentum.rate"),
    "kg m²/s, kg m/s": ("momentum", "momentum.momentum"),
    "kg m²": ("M", "Gamma"),
    "kg m²/s": ("C", "Mdot"),
    "1, m": ("J",),
}
_BY_NAME = {name: unit for unit, names in _UNITS.items() for name in names}


def unit_of(name: str) -> str:
    """The unit of a reference or output: `elbow.position` has that of `position`, and q_command
    and q_measured that of q."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _BY_NAME[name.rpartition(".")[2].removesuffix("_command").removesuffix("_measured")]
