"""Which kernels a daemon needs before it is ready, and in which order the others follow.

It needs the loop, what every session uses, what requests for dynamics, kinematics and torques call,
and the laws that the configuration names. Other laws come next.
"""

from __future__ import annotations

from collections.abc import Iterable

from torqued.kernels.compilation.jit import ENTRIES
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.steps import STEPS

NEEDED = (
    "run_servo",
    "serve_session",
    "evaluate",
    *STEPS.values(),
    "gravity_torque",
    "finite_vector",
    "finite_matrix",
    "finite_tensor",
    "unit_quaternions_at",
    "inverse_dynamics",
    "forward_dynamics",
    "frame_poses",
    "mass_matrix",
    "expand",
    "expand_position",
    "project_vector",
    "project_matrix",
)

#: First of those that follow.
FIRST_IN_BACKGROUND = (
    "answer_arrivals",
    "evaluate_once",
    "observe",
    *(law.entry for law in LAWS.values()),
)


def needed(laws: Iterable[str] = ()) -> list[str]:
    """Kernels without which the daemon is not ready, those of `laws` among them."""
    return list(dict.fromkeys((*NEEDED, *(LAWS[law].entry for law in laws))))


def others(laws: Iterable[str] = ()) -> list[str]:
    """All other kernels, in order."""
    first = set(needed(laws))
    return [name for name in dict.fromkeys((*FIRST_IN_BACKGROUND, *ENTRIES)) if name not in first]
