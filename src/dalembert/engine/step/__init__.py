"""One step of a method as a program after elimination: what all code is made from.

May import `functions` and what stands above it.
"""
