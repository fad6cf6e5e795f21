"""Records of runs, held beside JAX: through a traced program goes only the number of a record.

A run leaves its record here and gives back a number; the derivative asks for the record by it, and takes the run once
more where it is gone. So a number may be asked for never, once or often, by whatever JAX makes of a program.

Two bounds hold what is kept: `records_held` bytes of records that nobody has asked for yet, and `records_spent` bytes
of those that were, for the second of two derivatives of one run. The oldest go first.
"""

from __future__ import annotations

import itertools
import threading
from typing import Generic, Protocol, TypeVar

from ..tuning import tuning


class Sized(Protocol):
    """What knows how many bytes it holds."""

    @property
    def bytes(self) -> int:
        """How many."""
        ...


_Record = TypeVar("_Record", bound=Sized)

#: The number of no record.
NONE = 0


class Records(Generic[_Record]):
    """Records by number; threads may share it."""

    def __init__(self) -> None:
        self._fresh: _Kept[_Record] = _Kept()
        self._spent: _Kept[_Record] = _Kept()
        self._numbers, self._lock = itertools.count(NONE + 1), threading.Lock()

    def keep(self, record: _Record) -> int:
        """Keep a record for a while; the number by which it is found."""
        with self._lock:
            number = next(self._numbers)
            self._fresh.put(number, record, tuning().records_held)
        return number

    def put_back(self, number: int, record: _Record) -> None:
        """Keep one that was made once more, as long as others that were asked for."""
        with self._lock:
            self._spent.put(number, record, tuning().records_spent)

    def find(self, number: int) -> _Record | None:
        """The record of this number, if it is still there."""
        with self._lock:
            record = self._fresh.take(number) or self._spent.take(number)
            if record is not None:
                self._spent.put(number, record, tuning().records_spent)
        return record

    @property
    def bytes(self) -> int:
        """How much is held."""
        return self._fresh.bytes + self._spent.bytes


class _Kept(Generic[_Record]):
    """Records in the order in which they came, and how many bytes these are."""

    def __init__(self) -> None:
        self._by_number: dict[int, _Record] = {}
        self.bytes = 0

    def take(self, number: int) -> _Record | None:
        record = self._by_number.pop(number, None)
        self.bytes -= 0 if record is None else record.bytes
        return record

    def put(self, number: int, record: _Record, bound: int) -> None:
        """Keep it, and drop the oldest until the others are within the bound."""
        self.take(number)
        self._by_number[number] = record
        self.bytes += record.bytes
        while self.bytes > bound:
            self.take(next(iter(self._by_number)))
