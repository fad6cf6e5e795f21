"""From equations with everything unknown to the few unknowns that Newton has to find.

Substitution, the Schur complement, block triangular form and the elimination inside a block, for programs of either
kind. May import `trace` and what stands above it.
"""
