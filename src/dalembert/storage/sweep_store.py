"""A sweep on disk: one zarr group for all trajectories, filled piece by piece, in any order and by many processes.

    sweep.zarr/zarr.json             the group with all arrays in full length; xarray opens it at any time
    sweep.zarr/q/c.3.0.0             the trajectories of piece 3, plain little-endian numbers
    sweep.zarr/finished/000003.json  written after the numbers of piece 3, with their digests
    sweep.zarr/description.json      what is swept

A piece is finished if its mark is there and every digest in it fits. Files are written whole or not at all, so a
process that dies leaves nothing behind that counts; what it began is computed again, to the same bytes.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .identity import differences
from .store_files import (
    Damaged,
    array_metadata,
    digest,
    envelope,
    opened,
    read_json,
    read_whole,
    sync_folder,
    to_json,
    write_whole,
)

FORMAT = 1
DESCRIPTION, FINISHED, GROUP = "description.json", "finished", "zarr.json"


@dataclass(frozen=True)
class SweepColumn:
    """An array over all trajectories; `piece` of them lie in one file, or all where it is None."""

    name: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    kind: str = "float64"
    piece: int | None = None

    def metadata(self) -> dict[str, Any]:
        """Of the array in the third version of the zarr format."""
        chunk = [self.shape[0] if self.piece is None else self.piece, *self.shape[1:]]
        return array_metadata(list(self.shape), chunk, self.kind, self.dimensions)

    def file(self, number: int) -> str:
        return ".".join(["c", str(number), *("0" for _ in self.shape[1:])])

    def content(self, values: np.ndarray) -> memoryview:
        """The bytes of one file; zarr wants whole pieces, and the length of the array hides the rest."""
        values = np.ascontiguousarray(values, dtype=np.dtype(self.kind).newbyteorder("<"))
        missing = 0 if self.piece is None else self.piece - len(values)
        if missing:
            values = np.concatenate([values, np.zeros((missing, *values.shape[1:]), values.dtype)])
        return values.data.cast("B")


class SweepStore:
    """A store that exists."""

    def __init__(self, path: pathlib.Path, columns: list[SweepColumn]) -> None:
        self.path = path
        self.columns = {column.name: column for column in columns}

    @classmethod
    def open_or_create(
        cls, path: pathlib.Path, identity: dict[str, Any], columns: list[SweepColumn], fixed: dict[str, np.ndarray]
    ) -> SweepStore:
        """The store of this very sweep; one of another sweep is refused, with the differences named."""
        store = cls(path, columns)
        if path.exists():
            store._check(identity)
            return store
        if not path.parent.is_dir():
            raise InputError(f"cannot create {path}: {path.parent} is not a folder.")
        place = pathlib.Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            place.chmod(0o755)
            (place / FINISHED).mkdir()
            description = envelope({"format": FORMAT, "sweep": identity})
            group = {
                "zarr_format": 3,
                "node_type": "group",
                # the labels of the grid become coordinates of the dataset that xarray makes of it
                "attributes": {"dalembert": description, "coordinates": " ".join(fixed)},
                "consolidated_metadata": {
                    "kind": "inline",
                    "must_understand": False,
                    "metadata": {column.name: column.metadata() for column in columns},
                },
            }
            files: dict[pathlib.Path, bytes | memoryview] = {
                place / DESCRIPTION: to_json(description),
                place / GROUP: to_json(group),
            }
            for column in columns:
                (place / column.name).mkdir()
                files[place / column.name / GROUP] = to_json(column.metadata())
            for name, values in fixed.items():
                files[place / name / store.columns[name].file(0)] = store.columns[name].content(values)
            write_whole(files)
            try:
                os.replace(place, path)
            except OSError:
                if not (path / DESCRIPTION).is_file():
                    raise
                shutil.rmtree(place, ignore_errors=True)  # another process has begun the same sweep meanwhile
                store._check(identity)
                return store
            sync_folder(path.parent)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return store

    def _check(self, identity: dict[str, Any]) -> None:
        try:
            found = opened(read_json(self.path / DESCRIPTION))
            stored, form = found["sweep"], found["format"]
        except (Damaged, KeyError, TypeError) as error:
            raise InputError(f"{self.path} exists and is no sweep that can be continued ({error}).") from error
        if form != FORMAT:
            raise InputError(f"{self.path} is a sweep of format {form!r}; this release reads {FORMAT}.")
        different = differences(stored, identity)
        if different:
            raise InputError(
                f"{self.path} belongs to another sweep: {'; '.join(different)}. "
                "Choose another store, or remove this one."
            )

    def is_finished(self, number: int) -> bool:
        """Whether a piece was computed, and its numbers are those that were written."""
        try:
            digests = opened(read_json(self._mark(number)))["digests"]
            return all(
                digest(read_whole(self.path / name / self.columns[name].file(number), size)) == checksum
                for name, (size, checksum) in digests.items()
            )
        except (Damaged, KeyError, TypeError, ValueError):
            return False

    def write(self, number: int, values: dict[str, np.ndarray]) -> None:
        """The numbers of a piece, then its mark."""
        contents = {name: self.columns[name].content(array) for name, array in values.items()}
        write_whole({self.path / name / self.columns[name].file(number): data for name, data in contents.items()})
        digests = {name: [len(data), digest(data)] for name, data in contents.items()}
        write_whole({self._mark(number): to_json(envelope({"piece": number, "digests": digests}))})
        sync_folder(self.path / FINISHED)

    def _mark(self, number: int) -> pathlib.Path:
        return self.path / FINISHED / f"{number:06d}.json"
