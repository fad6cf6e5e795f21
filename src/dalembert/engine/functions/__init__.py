"""Functions that are evaluated a few times, with their Jacobians: traced and eliminated, but not compiled.

May import `elimination` and what stands above it.
"""
