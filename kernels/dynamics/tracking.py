"""What passivity-based tracking needs, in O(N) and without forming a matrix.

With a reference velocity w and acceleration a the torque of Slotine and Li is

    τ = M a + C(q, v) w + g,     f_i = I_i A_i + B(v_i, I_i) W_i

where W = Σ S w and A = Σ (S a + Ṡ w) − gravity are sums over a body's path, and B is the factor
of [EW21] eq. 10, so that Ṁ − 2C is skew. All of it is linear in the bodies' inertial parameters.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import world_inertia
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.rnea import add_armature, collect_forces, rest_acceleration
from torqued.kernels.primitives.layout import MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO6,
    add,
    add6,
    add_scaled6,
    angular,
    coriolis_factor,
    cross,
    dot6,
    factor_times,
    inertia_times,
    join,
    linear,
    rotate,
    rotate_back,
    subtract6,
)
from torqued.kernels.primitives.tuples import load3, load6, load9, store6
from torqued.kernels.primitives.workspace import open_work

#: Inertial parameters of a body: m, h = m c (3), Ī about the frame's origin (xx xy xz yy yz zz).
PARAMETERS = 10


@kernel
def carry_reference(work, w, a):
    """Auxiliary.w = W and State.a = A of every body; needs body_velocities."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        W, A = ZERO6, rest_acceleration(work)
        if body.parent >= 0:
            W, A = load6(work.auxiliary[body.parent].w), load6(work.states[body.parent].a)
        for c in range(body.column, body.column + body.columns):
            S = load6(work.columns[c].S)
            W = add_scaled6(W, S, w[c])
            A = add_scaled6(A, S, a[c])
            A = add_scaled6(A, load6(work.columns[c].Sdot), w[c])
        store6(work.auxiliary[i].w, W)
        store6(work.states[i].a, A)


@kernel
def tracking_forces(work):
    """f_i of every body; needs carry_reference. Returns sᵀ M s of s = v − w, rotors left out."""
    total = 0.0
    for i in range(len(work.bodies)):
        state = work.states[i]
        inertia = world_inertia(work.bodies[i], state)
        v, W = load6(state.v), load6(work.auxiliary[i].w)
        store6(state.f, tracking_force(inertia, v, W, load6(state.a)))
        s = subtract6(v, W)
        total += dot6(s, inertia_times(inertia, s))
    return total


@kernel
def rotors_motion(work, v, w):
    """What rotors add to sᵀ M s of s = v − w."""
    total = 0.0
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        for k in range(body.columns):
            s = v[body.column + k] - w[body.column + k]
            total += body.armature[k] * s * s
    return total


@kernel
def tracking_force(inertia, v, W, A):
    return add6(inertia_times(inertia, A), factor_times(coriolis_factor(inertia, v), W))


@kernel
def carry_error(work, s):
    """Auxiliary.s = Σ S s of every body; returns sᵀ M s. Needs body_poses."""
    total = 0.0
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        state = work.states[i]
        twist = ZERO6
        if body.parent >= 0:
            twist = load6(work.auxiliary[body.parent].s)
        for k in range(body.columns):
            c = body.column + k
            twist = add_scaled6(twist, load6(work.columns[c].S), s[c])
            total += body.armature[k] * s[c] * s[c]
        store6(work.auxiliary[i].s, twist)
        total += dot6(twist, inertia_times(world_inertia(body, state), twist))
    return total


@kernel
def in_frame(R, p, x):
    """A motion vector at the common origin in a frame at R, p."""
    w = angular(x)
    return join(rotate_back(R, w), rotate_back(R, add(linear(x), cross(w, p))))


@kernel
def from_frame(R, p, f):
    """A force vector in a frame at R, p at the common origin."""
    force = rotate(R, linear(f))
    return join(add(rotate(R, angular(f)), cross(p, force)), force)


@kernel
def unit_inertia(k):
    """All inertial parameters zero, the k-th one."""
    return (
        1.0 if k == 0 else 0.0,
        1.0 if k == 1 else 0.0,
        1.0 if k == 2 else 0.0,
        1.0 if k == 3 else 0.0,
        1.0 if k == 4 else 0.0,
        1.0 if k == 5 else 0.0,
        1.0 if k == 6 else 0.0,
        1.0 if k == 7 else 0.0,
        1.0 if k == 8 else 0.0,
        1.0 if k == 9 else 0.0,
    )


@kernel
def load_parameters(p):
    return (p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9])


@kernel
def parameter_force(work, i, R, p, parameters):
    """The force on body i that more inertia takes, at the common origin; needs carry_reference.

    The parameters are in a frame of the body that is at R, p.
    """
    state = work.states[i]
    v, W = in_frame(R, p, load6(state.v)), in_frame(R, p, load6(work.auxiliary[i].w))
    A = in_frame(R, p, load6(state.a))
    f = tracking_force(load_parameters(parameters), v, W, A)
    return from_frame(R, p, f)


@kernel
def parameter_gradient(work, i, R, p, gradient):
    """∂(sᵀ τ)/∂π of such parameters: their part of Yᵀ s; needs carry_error."""
    state = work.states[i]
    v, W = in_frame(R, p, load6(state.v)), in_frame(R, p, load6(work.auxiliary[i].w))
    A, twist = in_frame(R, p, load6(state.a)), in_frame(R, p, load6(work.auxiliary[i].s))
    for k in range(PARAMETERS):
        gradient[k] = dot6(twist, tracking_force(unit_inertia(k), v, W, A))


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def tracking_torque(handle, q, v, w, a, out):
    """out = M a + C(q, v) w + g."""
    work = open_work(handle)
    body_poses(work, q)
    body_velocities(work, v)
    carry_reference(work, w, a)
    tracking_forces(work)
    collect_forces(work, out)
    add_armature(work, a, out)


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR, MATRIX)
def regressor(handle, q, v, w, a, Y):
    """Y (nv, 10 bodies) with M a + C(q, v) w + g = Y π, rotor inertias left out."""
    work = open_work(handle)
    body_poses(work, q)
    body_velocities(work, v)
    carry_reference(work, w, a)
    Y[:, :] = 0.0
    for i in range(len(work.bodies)):
        state = work.states[i]
        R, p = load9(state.R), load3(state.p)
        own_v, own_W = in_frame(R, p, load6(state.v)), in_frame(R, p, load6(work.auxiliary[i].w))
        own_A = in_frame(R, p, load6(state.a))
        for k in range(PARAMETERS):
            f = from_frame(R, p, tracking_force(unit_inertia(k), own_v, own_W, own_A))
            b = i
            while b >= 0:
                body = work.bodies[b]
                for c in range(body.column, body.column + body.columns):
                    Y[c, PARAMETERS * i + k] = dot6(load6(work.columns[c].S), f)
                b = body.parent
