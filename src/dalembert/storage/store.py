"""A run on disk that grows chunk by chunk: a zarr group that every reader of zarr opens, and that is always valid.

    run.zarr/zarr.json                     the group and, consolidated, its arrays with the length that is valid now
    run.zarr/q/zarr.json, q/c.0.0, ...     an array, one file for a fixed number of rows, plain little-endian numbers
    run.zarr/description.json              what was run; a copy lies in zarr.json
    run.zarr/checkpoints/000000001000.json the whole state of the run after 1000 steps, and digests of the rows so far

The files are written here and not by a zarr library, since the order matters: rows first, then the checkpoint that
vouches for them, then the group that shows them; each as a temporary file that is synced and renamed. A zarr library
would write the length of an array before or after its rows, without a sync, and could not tell a row that was never
written from one that was lost.

Checkpoints form a chain, each with the digests of the rows since the one before (of the last file, which still grows,
up to its last valid row). The run is valid up to the last link of the chain at which every digest fits.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from .store_files import (
    Damaged,
    array_metadata,
    digest,
    envelope,
    opened,
    packed,
    read_json,
    read_whole,
    sync_folder,
    to_json,
    unpacked,
    write_whole,
)

FORMAT = 1
DESCRIPTION, CHECKPOINTS, GROUP, LOCK = "description.json", "checkpoints", "zarr.json", "lock"


@dataclass(frozen=True)
class Column:
    """An array of the store: one row a saved state, or one an interval between two of them."""

    name: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]  # of one row
    kind: str = "float64"

    @property
    def row_bytes(self) -> int:
        return 8 * int(np.prod(self.shape, dtype=np.int64))

    def rows(self, states: int) -> int:
        """How many rows belong to so many saved states."""
        return states if self.dimensions[0] == "time" else states - 1

    def metadata(self, rows: int, chunk_rows: int) -> dict[str, Any]:
        """Of the array in the third version of the zarr format."""
        return array_metadata([rows, *self.shape], [chunk_rows, *self.shape], self.kind, self.dimensions)

    def file(self, chunk: int) -> str:
        return ".".join(["c", str(chunk), *("0" for _ in self.shape)])


@dataclass(frozen=True)
class Checkpoint:
    """One link of the chain."""

    step: int
    states: int  # saved states up to there
    body: dict[str, Any]


class Store:
    """A store that exists. `description` is what the creator passed in; nothing in it is interpreted here."""

    def __init__(self, path: pathlib.Path, description: dict[str, Any]) -> None:
        self.path, self.description = path, description
        try:
            layout = description["layout"]
            self.chunk_rows = int(layout["chunk_rows"])
            self.total_states = int(layout["states"])
            self.columns = {
                name: Column(name, tuple(map(str, c["dimensions"])), tuple(map(int, c["shape"])), c["kind"])
                for name, c in layout["columns"].items()
            }
            fine = all(
                name.isidentifier()
                and column.kind in ("float64", "int64")
                and column.dimensions[0] in ("time", "interval")
                and len(column.dimensions) == 1 + len(column.shape)
                and all(0 < n < 1 << 40 for n in column.shape)
                for name, column in self.columns.items()
            )
            if not fine or not {"t", "q", "v", "p"} <= set(self.columns) or min(self.chunk_rows, self.total_states) < 1:
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise Damaged("its description is incomplete") from error

    # -- creating and opening ----------------------------------------------------------------------------------

    @classmethod
    def prepared(
        cls, path: pathlib.Path, description: dict[str, Any], columns: list[Column], chunk_rows: int, states: int
    ) -> Store:
        """A new store beside its final place: it appears there only when it is published with a first checkpoint."""
        layout = {
            "chunk_rows": chunk_rows,
            "states": states,
            "columns": {
                c.name: {"dimensions": list(c.dimensions), "shape": list(c.shape), "kind": c.kind} for c in columns
            },
        }
        place = pathlib.Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        store = cls(place, {"format": FORMAT, **description, "layout": layout})
        try:
            place.chmod(0o755)
            (place / CHECKPOINTS).mkdir()
            files = {place / DESCRIPTION: to_json(envelope(store.description))}
            for column in columns:
                (place / column.name).mkdir()
                files[place / column.name / GROUP] = to_json(column.metadata(column.rows(states), chunk_rows))
            write_whole(files)
        except BaseException:
            store.discard()
            raise
        return store

    def publish(self, path: pathlib.Path) -> None:
        os.replace(self.path, path)
        self.path = path
        sync_folder(path.parent)

    def discard(self) -> None:
        """Remove a store that was not published."""
        shutil.rmtree(self.path, ignore_errors=True)

    @classmethod
    def open(cls, path: pathlib.Path) -> Store:
        """The store at a path; `InputError` if there is none that can be read."""
        if not path.is_dir():
            raise InputError(f"cannot open {path}: {'it is not a folder' if path.exists() else 'no such store'}.")
        reasons = []
        for read in (lambda: read_json(path / DESCRIPTION), lambda: read_json(path / GROUP)["attributes"]["dalembert"]):
            try:
                description = opened(read())
                if description.get("format") != FORMAT:
                    raise InputError(
                        f"{path} is a store of format {description.get('format')!r}; this release reads {FORMAT}."
                    )
                return cls(path, description)
            except (Damaged, KeyError, TypeError) as error:
                reasons.append(str(error))
        raise InputError(f"cannot open {path}: not a run written by dalembert, or damaged ({reasons[0]}).")

    # -- reading -----------------------------------------------------------------------------------------------

    def checkpoints(self) -> Iterator[Checkpoint]:
        """The links of the chain that are intact, with all rows they vouch for, from the start on."""
        known: set[int | None] = {None}
        for path in self._checkpoint_files():
            try:
                found = self._checked(path)
            except Damaged:
                return
            if found.body["previous"] not in known:
                return
            known.add(found.step)
            yield found

    def last(self) -> Checkpoint | None:
        """The end of what is valid; None if nothing is."""
        last = None
        for checkpoint in self.checkpoints():
            last = checkpoint
        return last

    def read(self, name: str, states: int) -> np.ndarray:
        """The rows of one array that belong to so many states."""
        column = self.columns[name]
        rows = column.rows(states)
        pieces = [
            self._rows(column, chunk, min(self.chunk_rows, rows - chunk * self.chunk_rows))
            for chunk in range(-(-rows // self.chunk_rows))
        ]
        return np.concatenate(pieces) if pieces else np.zeros((0, *column.shape), column.kind)

    def open_rows(self, name: str, states: int) -> tuple[int, np.ndarray]:
        """The file of an array that is not full yet, by its number, and the rows in it."""
        column = self.columns[name]
        chunk, count = divmod(column.rows(states), self.chunk_rows)
        return chunk, self._rows(column, chunk, count) if count else np.zeros((0, *column.shape), column.kind)

    def row(self, name: str, number: int) -> np.ndarray:
        """One row of an array."""
        chunk, place = divmod(number, self.chunk_rows)
        return self._rows(self.columns[name], chunk, place + 1)[place]

    def _checkpoint_files(self) -> list[pathlib.Path]:
        try:
            names = sorted(name for name in os.listdir(self.path / CHECKPOINTS) if name.endswith(".json"))
        except OSError:
            return []
        return [self.path / CHECKPOINTS / name for name in names]

    def _checked(self, path: pathlib.Path) -> Checkpoint:
        body = opened(read_json(path))
        try:
            checkpoint = Checkpoint(int(body["step"]), int(body["states"]), unpacked(body))
            previous = body["previous"]
            if path.stem != _stem(checkpoint.step) or not 1 <= checkpoint.states <= self.total_states:
                raise ValueError
            if previous is not None and not (isinstance(previous, int) and previous < checkpoint.step):
                raise ValueError
            for name, column in self.columns.items():
                self._check_rows(column, column.rows(checkpoint.states), checkpoint.body["digests"].get(name, {}))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise Damaged(f"{path.name} is incomplete") from error
        return checkpoint

    def _check_rows(self, column: Column, rows: int, digests: dict[str, str]) -> None:
        for chunk, expected in digests.items():
            count = min(self.chunk_rows, rows - int(chunk) * self.chunk_rows)
            values = self._rows(column, int(chunk), count)
            if digest(values.data.cast("B")) != expected:
                raise Damaged(f"{column.name}/{column.file(int(chunk))} was changed")
            if column.name in ("t", "q", "v", "p") and not np.isfinite(values).all():
                raise Damaged(f"{column.name}/{column.file(int(chunk))} holds numbers that are not finite")

    def _rows(self, column: Column, chunk: int, count: int) -> np.ndarray:
        """The first rows of one file, which is always as long as all its rows: other readers of zarr insist on it."""
        if not 0 < count <= self.chunk_rows:
            raise Damaged(f"{column.name} has no rows {chunk}")
        file = self.path / column.name / column.file(chunk)
        data = read_whole(file, count * column.row_bytes, self.chunk_rows * column.row_bytes)
        return np.frombuffer(data, dtype=np.dtype(column.kind).newbyteorder("<")).reshape((count, *column.shape))

    # -- writing -----------------------------------------------------------------------------------------------

    def commit(
        self, step: int, states: int, previous: int | None, rows: dict[str, tuple[int, np.ndarray]],
        body: dict[str, Any], digests: dict[str, dict[str, str]] | None = None,
    ) -> dict[str, dict[str, str]]:  # fmt: skip
        """Add a checkpoint after `step` steps and so many states; the digests in it, to which others may be given.

        `rows` holds for each array the number of the file in which they begin, and all rows from its beginning on.
        """
        new, files = {}, {}
        for name, part in rows.items():
            new[name] = {}
            for chunk, data, checksum in self._pieces(self.columns[name], *part):
                new[name][str(chunk)] = checksum
                files[self.path / name / self.columns[name].file(chunk)] = data
        write_whole(files)
        digests = {name: (digests or {}).get(name, {}) | part for name, part in new.items()}
        body = {"step": step, "states": states, "previous": previous, "digests": digests, **body}
        folder = self.path / CHECKPOINTS
        write_whole({folder / f"{_stem(step)}.json": to_json(envelope(packed(body)))})
        sync_folder(folder)
        self.show(states)
        return digests

    def _pieces(self, column: Column, first: int, values: np.ndarray) -> Iterator[tuple[int, memoryview, str]]:
        """Number, content and digest of the files that hold the rows."""
        values = np.ascontiguousarray(values, dtype=np.dtype(column.kind).newbyteorder("<"))
        for start in range(0, len(values), self.chunk_rows):
            piece = values[start : start + self.chunk_rows]
            checksum = digest(piece.data.cast("B"))
            if len(piece) < self.chunk_rows:  # zarr wants whole chunks; the length of the array hides the rest
                piece = np.concatenate([piece, np.zeros((self.chunk_rows - len(piece), *column.shape), piece.dtype)])
            yield first + start // self.chunk_rows, piece.data.cast("B"), checksum

    def show(self, states: int) -> None:
        """Let readers of zarr see so many states."""
        arrays = {name: c.metadata(c.rows(states), self.chunk_rows) for name, c in self.columns.items()}
        group = {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {"dalembert": envelope(self.description)},
            "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": arrays},
        }
        write_whole({self.path / GROUP: to_json(group)}, sync=False)  # nothing depends on it: it can be made again

    def forget_after(self, step: int) -> None:
        """Remove the checkpoints behind a step, the newest first, so that the chain stays whole all the time."""
        for path in reversed(self._checkpoint_files()):
            if path.stem > _stem(step) or not path.stem.isdigit():
                path.unlink(missing_ok=True)

    def forget(self, step: int) -> None:
        """Remove one checkpoint; no other one may have it as the previous one."""
        (self.path / CHECKPOINTS / f"{_stem(step)}.json").unlink(missing_ok=True)


class StoredStates(NamedTuple):
    """So many states of a store, which are read when they are asked for."""

    store: Store
    states: int


def _stem(step: int) -> str:
    return f"{step:015d}"
