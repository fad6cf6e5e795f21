"""From a function of JAX to a program.

`interpreter.py` walks through the jaxpr, `primitives.py` says what each of JAX's operations becomes, `lookup.py` reads
and `writing.py` writes at places that depend on the state, `matrices.py` factorises small matrices. May import `values`
and what stands above it.
"""
