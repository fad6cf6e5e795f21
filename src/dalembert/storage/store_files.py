"""Files of a store: written whole or not at all, checked when read, never executed.

A JSON file is an envelope {"checksum": ..., "body": ...} with the digest of its body. Arrays inside are base64 text
with a type and a shape. Whatever is wrong with a file becomes `Damaged`, which does not leave the store.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pathlib
import secrets
import stat
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

#: No description and no checkpoint is longer; a longer file is not read.
LONGEST_JSON = 1 << 30
#: So many files are synced side by side.
MOST_AT_ONCE = 8
_TYPES = {"float64": "<f8", "int64": "<i8"}


class Damaged(Exception):
    """A file of a store is missing, cut short, changed, or not what its name says."""


def digest(data: bytes | memoryview) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def temporary_of(path: pathlib.Path) -> pathlib.Path:
    """Where a file is written before it gets its name; processes that write the same file do not meet there."""
    return path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")


def write_whole(files: Mapping[pathlib.Path, bytes | memoryview], sync: bool = True) -> None:
    """Write files so that the name of each always means its old or its new content, also after a crash of the machine.

    They are synced side by side: what takes the time is to wait for the disk, and it takes several at once.
    """
    temporary = {path: temporary_of(path) for path in files}

    def write(path: pathlib.Path) -> None:
        with open(temporary[path], "wb") as file:
            file.write(files[path])
            if sync:
                file.flush()
                os.fsync(file.fileno())

    try:
        if len(files) > 1:
            with ThreadPoolExecutor(min(len(files), MOST_AT_ONCE)) as pool:
                list(pool.map(write, files))
        else:
            for path in files:
                write(path)
        for path in files:
            os.replace(temporary[path], path)
    except OSError:
        for path in temporary.values():
            path.unlink(missing_ok=True)
        raise


def sync_folder(path: pathlib.Path) -> None:
    """Make renamed files of a folder last; where folders cannot be opened (Windows) there is nothing to do."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_whole(path: pathlib.Path, size: int | None = None, whole: int | None = None) -> bytes:
    """The first `size` bytes of a regular file of `whole` bytes (or `size`); or all, of one as long as JSON may be."""
    whole = size if whole is None else whole
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):  # a pipe would wait for ever
            raise Damaged(f"{path.name} is not a regular file")
        if size is None and found.st_size > LONGEST_JSON:
            raise Damaged(f"{path.name} is too long")
        if size is not None and found.st_size != whole:
            raise Damaged(f"{path.name} has {found.st_size} bytes instead of {whole}")
        with open(path, "rb") as file:
            return file.read(-1 if size is None else size)
    except (OSError, ValueError) as error:
        raise Damaged(f"{path.name} cannot be read ({type(error).__name__})") from error


# -- JSON ----------------------------------------------------------------------------------------------------


def _canonical(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def envelope(body: Any) -> dict[str, Any]:
    return {"checksum": digest(_canonical(body)), "body": body}


def opened(content: Any) -> dict[str, Any]:
    """The body of an envelope."""
    if not (isinstance(content, dict) and set(content) == {"checksum", "body"} and isinstance(content["body"], dict)):
        raise Damaged("not an envelope with a checksum")
    try:
        found = digest(_canonical(content["body"]))
    except (ValueError, RecursionError) as error:
        raise Damaged("its body is not plain JSON") from error
    if content["checksum"] != found:
        raise Damaged("its checksum does not fit")
    return content["body"]


def to_json(content: Any) -> bytes:
    return json.dumps(content, indent=1, allow_nan=False).encode()


def read_json(path: pathlib.Path) -> Any:
    try:
        return json.loads(read_whole(path))
    except (ValueError, RecursionError, MemoryError) as error:
        raise Damaged(f"{path.name} is not JSON") from error


# -- arrays in JSON ------------------------------------------------------------------------------------------


def packed(value: Any) -> Any:
    """Arrays, and lists and dictionaries of them, as JSON."""
    if isinstance(value, dict):
        return {name: packed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [packed(part) for part in value]
    if isinstance(value, np.ndarray):
        kind = value.dtype.name
        data = np.ascontiguousarray(value).astype(_TYPES[kind], copy=False).tobytes()
        return {"array": kind, "shape": list(value.shape), "data": base64.b64encode(data).decode()}
    return value


def unpacked(value: Any) -> Any:
    """The inverse of `packed`."""
    if isinstance(value, list):
        return [unpacked(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "array" not in value:
        return {name: unpacked(part) for name, part in value.items()}
    try:
        data = base64.b64decode(value["data"], validate=True)
        return np.frombuffer(data, dtype=_TYPES[value["array"]]).reshape([int(n) for n in value["shape"]]).copy()
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged("it holds an array that cannot be read") from error


def array_metadata(shape: list[int], chunk: list[int], kind: str, dimensions: Iterable[str]) -> dict[str, Any]:
    """What describes an array of plain little-endian numbers in the third version of the zarr format."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "NaN" if kind == "float64" else 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
        "dimension_names": list(dimensions),
    }
