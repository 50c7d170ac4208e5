"""A potential that leads joints away from their ends, in the null space of a frame.

    W = Σ ∫ k σ(x) dx

with k in proportion to the posture's spring, σ bounded like that (saturation.py), and x how far a
joint is inside the zone before its end, or beyond its posture where that is in the zone too. So a
posture is held wherever it is, and a joint that the frame's motion takes towards its end is held
back by more than its posture. The law fades this out before a direction of the frame is lost.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.laws.frame_spring import POSTURE
from torqued.kernels.control.saturation import potential, saturated

#: rad or m, of a zone, and as a share of the way between both ends at most.
ZONE, SHARE = 0.5, 0.2
#: Times the stiffness of the posture's spring.
STIFFER = 3.0


@kernel
def lead_away(sizes, data, e, posture_v, pull):
    """`pull` (nv,) becomes the gradient of W. Returns W, and W/s that it loses as the posture moves
    with `posture_v` (nv,)."""
    energy, moved = 0.0, 0.0
    for k in range(sizes.nv):
        i, stiffness = data.coordinate[k], STIFFER * data.gains[POSTURE + (sizes.nv + 1) * k]
        pull[k] = 0.0
        if i < 0:
            continue
        q, zone = data.state[i], zone_of(data.lower[k], data.upper[k])
        x = min(max(q - data.upper[k] + zone, 0.0), max(e[k], 0.0))
        y = min(max(data.lower[k] + zone - q, 0.0), max(-e[k], 0.0))
        limit = data.gains[POSTURE + 2 * sizes.nv * sizes.nv + 5 + k]
        pull[k] = stiffness * saturated(x - y, limit)
        energy += stiffness * potential(x - y, limit)
        if x - y == e[k]:
            moved += pull[k] * posture_v[k]
    return energy, moved


@kernel
def zone_of(lower, upper):
    return min(ZONE, SHARE * (upper - lower))
