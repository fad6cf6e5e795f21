"""What lies on disk: checkpoints of a run, its files, the stores of sweeps.

It sees the loop over steps, whose record it keeps; the loop knows of it only what `stepping.loop.Keeping` says.
"""

from .checkpoint import is_store, request_of
from .files import dataset_of
from .formats import read, write
from .store import Store, StoredStates
from .store_files import Damaged, temporary_of
from .stored_arrays import StoredArrays, call_of, read_store
from .versions import versions

__all__ = [
    "Damaged",
    "Store",
    "StoredArrays",
    "StoredStates",
    "call_of",
    "dataset_of",
    "is_store",
    "read",
    "read_store",
    "request_of",
    "temporary_of",
    "versions",
    "write",
]
