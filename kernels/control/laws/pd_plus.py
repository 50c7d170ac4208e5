"""PD+ (Paden and Panja): τ = M a_ref + C v_ref + g − K σ(e) − D(q) ė, e = q − q_ref, ė = v − v_ref.

Tracks moving references without cancelling the robot's own dynamics. Because Ṁ = C + Cᵀ, the
storage ½ ėᵀ M ė + P(e), with P the potential of the spring K σ(e) (saturation.py), falls by exactly
ėᵀ D(q) ė, D(q) = D + r M(q): passive for any reference. Errors that are large, and all of a joint
whose spring is weak, are drawn in with the speed w(e) besides: v_r = v_ref − w(e) then takes the
place of v_ref and s = v − v_r that of ė, and wᵀ K σ is taken away too.
"""

from torqued.kernels.control import law
from torqued.kernels.control.laws.feed_forward import feed_forward, fit
from torqued.kernels.control.laws.pd import REPLACES, SCALING, gains, linearization
from torqued.kernels.control.saturation import bounded_spring, fill_approach

LAW = law.joint_law(
    "pd_plus",
    "pd_plus_torque",
    gains,
    linearization=linearization,
    scaling=SCALING,
    replaces=REPLACES,
)


@law.law
def pd_plus_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = law.open_control(handle, address)
    n = sizes.nv
    e, v_r, a = data.rows[0], data.rows[1], data.rows[2]
    spring, braking, free = data.rows[3], data.rows[4], data.rows[5]
    tau, s, v = data.out[:n], law.port(sizes, data), law.velocity(sizes, data)
    wanted = law.v_ref(sizes, data)
    given = law.a_ref(sizes, data)
    r, bounds = data.gains[2 * n * n], data.gains[2 * n * n + 1 :]
    limits, speeds, rates = bounds[:n], bounds[n : 2 * n], bounds[2 * n :]
    law.expand_state(sizes, data)
    law.joint_error(work, sizes, data, law.q_ref(sizes, data), e)
    fill_approach(data.gains, limits, speeds, rates, e, v_r, a)
    energy = bounded_spring(data.gains, 0, limits, e, spring)
    taken = law.inner(v_r, spring)
    for k in range(n):
        v_r[k] = wanted[k] - v_r[k]
        s[k] = v[k] - v_r[k]
        a[k] = given[k] - a[k] * (v[k] - wanted[k]) - r * s[k]
    motion = feed_forward(work, data, v_r, a, tau)
    law.times(data.gains, n * n, s, braking)
    for k in range(n):
        tau[k] -= spring[k] + braking[k]
    dissipation = law.inner(s, braking) + r * motion + taken
    law.put_power(sizes, data, 0.5 * motion + energy, dissipation, 0.0)
    return fit(work, data, v_r, tau, e, free)
