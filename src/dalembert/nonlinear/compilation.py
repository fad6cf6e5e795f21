"""Loops over numbers as machine code. Importing this module imports numba, so do it where the code is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable) -> Any:
    """The function as machine code, kept between runs beside its source or in the cache folder of the user.

    Where neither folder can be written, the code is compiled anew in every run.
    """
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return numba.njit(error_model="numpy")(function)
