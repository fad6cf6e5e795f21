"""Derivatives of a run: the tangent and the adjoint of a step as steps of their own, compiled like every other.

May import `runners` and what stands above it.
"""
