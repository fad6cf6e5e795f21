"""From a function of JAX to a program.

`interpreter.py` walks through the jaxpr, `primitives.py` says what each of JAX's operations becomes. May import
`values` and what stands above it.
"""
