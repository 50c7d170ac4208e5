"""Screw theory of multibody systems after [M18]: four representations of one motion.

rates            first and second rates of twists and Jacobians, as each representation sees them
hessian          ∂J/∂q of a frame, compiled
partials         partial derivatives of its columns to any order, by nested screw products
newton_euler     inverse dynamics by one recursion in any representation, compiled
arbitrary_frame  the same in a frame of choice, which itself moves
closed_forms     M, C, Γ and the momentum form, for trees
representations  from one representation to another, for numbers from anywhere
"""

from torqued.kernels.screws.representations import (
    adjoint,
    bracket,
    convert,
    convert_wrench,
    transformation,
)

__all__ = ["adjoint", "bracket", "convert", "convert_wrench", "transformation"]
