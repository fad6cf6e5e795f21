"""A program: the list of operations that a traced function consists of, each of them once.

`program.py` holds one operation at a time, for small systems; `array_program.py` whole arrays of them, for large ones.
The others are what both are made of. May import `machine`.
"""
