"""Mimic joints: kernels work on the free tree, these map its coordinates to the robot's.

q_free = multiplier q[index] + offset and v_free = G v, with one number per row of G, so that a
projection is a scatter: M = Gᵀ M_free G.
"""

from torqued.kernels.compilation.jit import entry
from torqued.kernels.primitives.layout import INDICES, MATRIX, TENSOR, VECTOR


@entry(INDICES, VECTOR, VECTOR, VECTOR, VECTOR)
def expand_position(index, multiplier, offset, q, q_free):
    """q_free = multiplier q[index] + offset."""
    for k in range(len(index)):
        q_free[k] = multiplier[k] * q[index[k]] + offset[k]


@entry(INDICES, VECTOR, VECTOR, MATRIX, MATRIX)
def expand_positions(index, multiplier, offset, Q, Q_free):
    """The same row by row."""
    for r in range(Q.shape[0]):
        expand_position(index, multiplier, offset, Q[r], Q_free[r])


@entry(INDICES, VECTOR, VECTOR, VECTOR)
def expand(index, multiplier, x, x_free):
    """x_free = G x."""
    for k in range(len(index)):
        x_free[k] = multiplier[k] * x[index[k]]


@entry(INDICES, VECTOR, MATRIX, MATRIX)
def expand_rows(index, multiplier, X, X_free):
    """x_free = G x row by row."""
    for r in range(X.shape[0]):
        expand(index, multiplier, X[r], X_free[r])


@entry(INDICES, VECTOR, VECTOR, VECTOR)
def project_vector(index, multiplier, x_free, x):
    """x = Gᵀ x_free."""
    x[:] = 0.0
    for k in range(len(index)):
        x[index[k]] += multiplier[k] * x_free[k]


@entry(INDICES, VECTOR, MATRIX, MATRIX)
def project_rows(index, multiplier, J_free, J):
    """J = J_free G."""
    J[:, :] = 0.0
    for r in range(J.shape[0]):
        for k in range(len(index)):
            J[r, index[k]] += multiplier[k] * J_free[r, k]


@entry(INDICES, VECTOR, MATRIX, MATRIX)
def project_matrix(index, multiplier, M_free, M):
    """M = Gᵀ M_free G."""
    M[:, :] = 0.0
    for i in range(len(index)):
        for j in range(len(index)):
            M[index[i], index[j]] += multiplier[i] * multiplier[j] * M_free[i, j]


@entry(INDICES, VECTOR, TENSOR, TENSOR)
def project_tensor(index, multiplier, Gamma_free, Gamma):
    """Γ_abc = Σ G_ia G_jb G_kc Γ_free,ijk."""
    Gamma[:, :, :] = 0.0
    for i in range(len(index)):
        for j in range(len(index)):
            weight = multiplier[i] * multiplier[j]
            for k in range(len(index)):
                Gamma[index[i], index[j], index[k]] += weight * multiplier[k] * Gamma_free[i, j, k]
