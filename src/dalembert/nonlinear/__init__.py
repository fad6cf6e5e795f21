"""Roots and complementarity. Knows no mechanics."""

from .block_diagonal import BlockDiagonalSolver
from .complementarity import LcpSolution, lcp_residual, solve_lcp
from .friction_cone import BlockMatrix, FrictionSolution, block_matrix, friction_residual, solve_friction
from .newton import Root, find_root
from .semismooth import NewtonLcpSolution, lcp_newton

__all__ = [
    "BlockDiagonalSolver",
    "BlockMatrix",
    "FrictionSolution",
    "LcpSolution",
    "NewtonLcpSolution",
    "Root",
    "block_matrix",
    "find_root",
    "friction_residual",
    "lcp_newton",
    "lcp_residual",
    "solve_friction",
    "solve_lcp",
]
