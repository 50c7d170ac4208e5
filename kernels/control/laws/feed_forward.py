"""What a reference takes without feedback: τ = M a + C(q, v) w + g, in one sweep over the tree."""

from __future__ import annotations

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import expand_v, project
from torqued.kernels.dynamics.kinematics import move, place
from torqued.kernels.dynamics.rnea import add_armature, collect_forces
from torqued.kernels.dynamics.tracking import carry_reference, tracking_forces


@kernel
def feed_forward(work, data, w, a, tau):
    """τ for a reference velocity w and acceleration a; needs expand_state.

    Damping D(q) = r M(q) is an acceleration −r ė and costs nothing: it goes into a.
    """
    expand_v(data, w, data.w_free)
    expand_v(data, a, data.a_free)
    place(work, data.q_free)
    move(work, data.v_free)
    carry_reference(work, data.w_free, data.a_free)
    tracking_forces(work)
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    project(data, data.tau_free, tau)
