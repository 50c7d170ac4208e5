"""Which kernels a daemon has before it is ready, and in which order the others follow.

Needed are the loop with all that every session goes through, what requests for dynamics, kinematics
and torques call, and the laws that a configuration names. Other laws come next, those that most
robots are tried with first.
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

#: What follows first.
SOON = (
    "answer_arrivals",
    "evaluate_once",
    "observe",
    *(law.entry for law in LAWS.values()),
)


def needed(laws: Iterable[str] = ()) -> list[str]:
    """Kernels without which the daemon is not ready, those of `laws` among them."""
    return list(dict.fromkeys((*NEEDED, *(LAWS[law].entry for law in laws))))


def others(laws: Iterable[str] = ()) -> list[str]:
    """All that follow, in order."""
    first = set(needed(laws))
    return [name for name in dict.fromkeys((*SOON, *ENTRIES)) if name not in first]
