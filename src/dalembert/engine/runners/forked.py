"""Processes that were forked from one in which JAX had already run.

A fork copies one thread only. The threads of JAX's compiler and of its computations do not exist in the child, which
would wait for them for ever. What this library compiles itself runs there; where JAX is needed, `ForkedProcess` says
so.
"""

from __future__ import annotations

import os

import jax
from jax._src import xla_bridge

from ...errors import ForkedProcess

#: The event that JAX announces before it compiles anything.
_COMPILES = "/jax/core/compile/backend_compile_duration"
_state = {"without JAX": False}


def check_jax_works() -> None:
    """Refuse what would hang."""
    if _state["without JAX"]:
        raise ForkedProcess(
            "this process was forked from one in which JAX had run, and JAX would hang in it. Start it with "
            'multiprocessing.get_context("spawn") (or "forkserver"; for concurrent.futures.ProcessPoolExecutor as '
            'mp_context), or fork before the first run. Native runs and batches work here: engine="native".'
        )


def _in_the_child() -> None:
    if xla_bridge.backends_are_initialized() and not _state["without JAX"]:
        _state["without JAX"] = True
        jax.monitoring.register_scalar_listener(_before_it_compiles)


def _before_it_compiles(event: str, value: float, **details) -> None:
    if event == _COMPILES:
        check_jax_works()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_in_the_child)
