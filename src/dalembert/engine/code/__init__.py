"""From the program of a step to text for LLVM: straight lines, loops over equal operations, or a kernel for a GPU.

May import `step` and what stands above it.
"""
