"""τ = M a + C(q, v) w + g in one sweep over the tree, and what of it motors can give.

Where they are too weak, all but C w + g is scaled down as a whole: torques that are cut joint by
joint turn the acceleration into another direction, and an arm that is cut for long spins up.
"""

from torqued.common.status import CLAMPED
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import expand_v, project
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.rnea import add_armature, collect_forces
from torqued.kernels.dynamics.tracking import carry_reference, rotors_motion, tracking_forces

#: What is not bias is not scaled down further than this. Joints that are too weak even so are cut
#: one by one: a joint that hardly holds its weight must not stop all others from braking.
MIN_SHARE = 0.2


@kernel
def feed_forward(work, data, w, a, tau):
    """τ for a reference velocity w and acceleration a; needs expand_state. Returns sᵀ M s of the
    velocity error s = v − w.

    Damping D(q) = r M(q) is an acceleration −r ė and costs nothing: it goes into a.
    """
    expand_v(data, w, data.w_free)
    expand_v(data, a, data.a_free)
    body_poses(work, data.q_free)
    body_velocities(work, data.v_free)
    carry_reference(work, data.w_free, data.a_free)
    motion = tracking_forces(work) + rotors_motion(work, data.v_free, data.w_free)
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    project(data, data.tau_free, tau)
    return motion


@kernel
def fit(work, data, w, tau, zero, bias):
    """Scale τ − (C w + g) until τ keeps within efforts; needs feed_forward with the same w.

    `zero` and `bias` (nv,) are scratch. Returns status bits.
    """
    within = True
    for k in range(len(tau)):
        within = within and abs(tau[k]) <= data.effort[k]
        zero[k] = 0.0
    if within:
        return 0
    feed_forward(work, data, w, zero, bias)
    for k in range(len(tau)):
        bias[k] = tau[k] - bias[k]
    return scale_into(data.effort, bias, tau)


@kernel
def scale_into(effort, force, tau):
    """Let τ = bias + force keep within efforts by less of the force. Returns status bits."""
    share = 1.0
    for k in range(len(tau)):
        bias = tau[k] - force[k]
        room = effort[k] - bias if force[k] > 0.0 else effort[k] + bias
        if 0.0 < room < share * abs(force[k]):
            share = room / abs(force[k])
    if share == 1.0:
        return 0
    share = max(share, MIN_SHARE)
    for k in range(len(tau)):
        tau[k] -= (1.0 - share) * force[k]
    return CLAMPED
