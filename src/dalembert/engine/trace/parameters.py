"""The parameters of an operation of JAX, and which of them its translation has read.

What a translation does not read it does not honour: it would mean another function. So every parameter must be read,
or say nothing about the numbers, or say nothing at all.
"""

from __future__ import annotations

from ...errors import UnsupportedByEngine

#: how an operation is computed, where, and by what name; promises of the caller; rules for transformations that are
#: over when a function is translated
_NO_NUMBERS = frozenset(
    {
        *("sharding", "out_sharding", "in_shardings", "out_shardings", "in_layouts", "out_layouts", "ctx_mesh"),
        *("donated_invars", "keep_unused", "inline", "name", "compiler_options_kvs", "memory_space"),
        *("accuracy", "precision", "weak_type", "unroll", "linear", "_split_transpose"),
        *("indices_are_sorted", "unique_indices", "is_stable", "branches_platforms"),
        *("prevent_cse", "differentiated", "policy", "symbolic_zeros", "num_consts", "out_trees"),
        *("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "bwd_fun", "fwd", "fwd_jaxpr"),
    }
)


class Parameters(dict):
    """Parameters that know which of them were read."""

    def __init__(self, given: dict) -> None:
        super().__init__(given)
        self._read: set[str] = set()

    def __getitem__(self, name: str):
        self._read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default=None):
        self._read.add(name)
        return super().get(name, default)

    def unread(self) -> list[str]:
        """The parameters that say something about the numbers and were not read."""
        left = self.keys() - self._read - _NO_NUMBERS
        return sorted(name for name in left if dict.__getitem__(self, name) is not None)

    def refuse_unread(self, operation: str) -> None:
        for name in self.unread():
            raise UnsupportedByEngine(f"the operation {operation!r} with {name} = {str(self[name])[:60]}")
