"""What derivatives come as, where they are more than a few matrices."""

from __future__ import annotations

from dataclasses import dataclass

from torqued.kernels.model.description import Array


@dataclass(frozen=True)
class SecondDerivatives:
    """Of τ = M a + bias by pairs of q, v and a, (nv, nv, nv) each: [j, k, l] is of τ_j.

    Those by a and v, and by a and a, are zero.
    """

    dtau_dqdq: Array  # ∂/∂q_l of ∂τ_j/∂q_k
    dtau_dvdv: Array  # ∂²τ_j/∂v_k∂v_l
    dtau_dqdv: Array  # ∂²τ_j/∂q_k∂v_l
    dM_dq: Array  # ∂M_jk/∂q_l, which is ∂²τ_j/∂a_k∂q_l
