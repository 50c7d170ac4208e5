"""What wrenches on frames add to ∂τ/∂q: their axes stay those of the world when the body turns.

In ∂τ/∂q the force on a subtree turns with it. A wrench (m, f) at p does not; its point only moves
along. The difference, for a turn ω, is

    E ω = [ω × m + p × (ω × f); ω × f],   E = [−m× − p× f×, 0; −f×, 0]

which has the form of a Coriolis factor: twelve numbers, summed over subtrees.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.primitives.spatial import dot, dot6, factor_times, factor_transposed_times
from torqued.kernels.primitives.tuples import accumulate12, load6, load12
from torqued.kernels.primitives.workspace import block_of, lane_of


@kernel
def external_factor(m, f, p):
    """E as twelve numbers; p× f× = f pᵀ − (p·f) 1."""
    pf = dot(p, f)
    return (
        pf - f[0] * p[0],
        m[2] - f[0] * p[1],
        -m[1] - f[0] * p[2],
        -m[2] - f[1] * p[0],
        pf - f[1] * p[1],
        m[0] - f[1] * p[2],
        m[1] - f[2] * p[0],
        -m[0] - f[2] * p[1],
        pf - f[2] * p[2],
        f[0],
        f[1],
        f[2],
    )


@kernel
def external_factors(work, space, frames, wrenches):
    """space.force_factor of every subtree; needs body_poses."""
    space.force_factor[:, :] = 0.0
    for k in range(len(frames)):
        if frames[k].body >= 0:
            _, p = frame_placement(work, frames[k])
            m = (wrenches[k, 0], wrenches[k, 1], wrenches[k, 2])
            f = (wrenches[k, 3], wrenches[k, 4], wrenches[k, 5])
            accumulate12(space.force_factor[frames[k].body], external_factor(m, f, p))
    for i in range(len(work.bodies) - 1, 0, -1):
        parent = work.bodies[i].parent
        if parent >= 0:
            accumulate12(space.force_factor[parent], load12(space.force_factor[i]))


@kernel
def add_external(work, space, frames, wrenches, dq):
    """∂τ_j/∂q_k += S_jᵀ E^C S_k of body ⌈jk⌉; needs body_poses. The path is entered again."""
    external_factors(work, space, frames, wrenches)
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        E = load12(space.force_factor[b])
        for k in range(body.columns):
            c = body.column + k
            S = load6(work.columns[c].S)
            outer, inner = factor_times(E, S), factor_transposed_times(E, S)
            for position in range(body.depth):
                block, lane = space.path[block_of(position)], lane_of(position)
                i = block.column[lane]
                S_i = load6(work.columns[i].S)
                dq[i, c] += dot6(S_i, outer)
                dq[c, i] += dot(S_i, inner)
            for i in range(body.column, body.column + body.columns):
                dq[i, c] += dot6(load6(work.columns[i].S), outer)
            block, lane = space.path[block_of(body.depth + k)], lane_of(body.depth + k)
            block.column[lane] = c
