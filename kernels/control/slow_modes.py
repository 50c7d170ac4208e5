"""Springs that are constant and make no mode too fast, in any of many configurations."""

from __future__ import annotations

import numpy as np

from torqued.kernels.control.law import Array

#: Steps of the search at most, and how far beyond the bound a mode may still be when it ends.
STEPS, CLOSE = 60, 0.02


def slowed(mobility: Array, k: Array, most: float) -> Array:
    """(n,) of k (n,) as much as leaves no eigenvalue of A diag(k) above `most`.

    `mobility` (N, n, n) has A of N configurations, such as M⁻¹. Directions pay for a mode that is
    too fast by their part in it: a light one does not make others soft.
    """
    k = np.minimum(
        k, most / np.maximum(np.diagonal(mobility, axis1=1, axis2=2).max(axis=0), 1e-300)
    )
    for _ in range(STEPS):
        root = np.sqrt(k)
        values, vectors = np.linalg.eigh(root[:, None] * mobility * root)
        excess = np.log(np.maximum(values[:, -1] / most, 1.0))
        if excess.max(initial=0.0) < CLOSE:
            break
        k = k * np.exp(-(vectors[:, :, -1] ** 2 * excess[:, None]).max(axis=0))
    root = np.sqrt(k)
    fastest = float(np.linalg.eigvalsh(root[:, None] * mobility * root).max(initial=0.0))
    return np.asarray(k * min(1.0, most / max(fastest, 1e-300)))
