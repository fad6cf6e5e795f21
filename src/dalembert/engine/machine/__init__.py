"""Machine code: how numbers and operations are written for LLVM, and how its text becomes code that is kept.

Knows neither programs nor steps. Imports nothing of the engine but the contract.
"""
