"""Numbers for the operations of a program: by numpy, by a compiled walk, or as the source of a Python function.

May import `program` and what stands above it.
"""
