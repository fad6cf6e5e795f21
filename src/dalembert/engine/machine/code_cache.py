"""Compiled code on disk, for the next process.

Cached code is executed, so the folder must belong to the user and be writable by nobody else; every entry carries a
checksum, and one that does not match is compiled anew. What was not used for longest goes when the folder grows beyond
its limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import pathlib
import stat
import tempfile
import time

import platformdirs

from ...errors import InputError

#: Megabytes (of 10^6 bytes) that the entries may take if DALEMBERT_CACHE_SIZE does not say otherwise.
SIZE = 500.0
#: As parts of that: what is left after older ones have gone, and what a process may write before it looks again.
LEFT, LOOK_AGAIN = 0.9, 0.05
#: Seconds after which nobody can be writing a file any more that is not yet an entry.
LEFTOVER = 3600.0
_MAGIC = b"dalembert-code-1\n"
#: How the names begin of files that are not yet entries (whose names are hexadecimal numbers).
_UNFINISHED = "unfinished-"
#: Bytes that this process has written since it looked how much there is, by folder.
_written: dict[pathlib.Path, float] = {}


def cache_folder() -> pathlib.Path | None:
    """The folder of compiled code, or None if it is not private to this user or if there is to be none."""
    if not _limit():
        return None
    chosen = os.environ.get("DALEMBERT_CACHE_DIR")
    folder = pathlib.Path(chosen) if chosen else pathlib.Path(platformdirs.user_cache_dir("dalembert"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # who may write to the outer folder may put another one in the place of the inner one
        is_private = all([_made_private(place) for place in (folder, folder / "code")])
    except OSError:
        return None
    return folder / "code" if is_private else None


def _limit() -> float:
    """Bytes that all entries together may take."""
    given = os.environ.get("DALEMBERT_CACHE_SIZE", "").strip() or SIZE
    with contextlib.suppress(ValueError):
        megabytes = float(given)
        if 0 <= megabytes < math.inf:
            return 1e6 * megabytes
    raise InputError(
        f"the environment variable DALEMBERT_CACHE_SIZE is {given!r}; it should be the number of megabytes that "
        f"compiled code may take on disk, such as {SIZE:g}, or 0 for none"
    )


def _made_private(folder: pathlib.Path) -> bool:
    """Whether a folder, made here if there is none, belongs to this user and only this user may write to it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def read(key: str) -> bytes | None:
    """The code of an entry, None if there is no sound one."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        content = (folder / key).read_bytes()
        os.utime(folder / key)  # it was used just now
    except OSError:
        return None
    head, digest, code = (
        content[: len(_MAGIC)],
        content[len(_MAGIC) : len(_MAGIC) + 32],
        content[len(_MAGIC) + 32 :],
    )
    sound = head == _MAGIC and hashlib.sha256(key.encode() + code).digest() == digest
    return code if sound else None


def write(key: str, code: bytes) -> None:
    """Atomically, so that two processes never see half an entry; a full disk only means no cache."""
    folder = cache_folder()
    if folder is None:
        return
    content = _MAGIC + hashlib.sha256(key.encode() + code).digest() + code
    try:
        file, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=folder)
    except OSError:
        return
    try:
        with open(file, "wb") as opened:
            opened.write(content)
        os.replace(name, folder / key)
    except BaseException as failure:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if not isinstance(failure, OSError):
            raise
        return
    _written[folder] = _written.get(folder, math.inf) + len(content)
    if _written[folder] > LOOK_AGAIN * _limit():
        _written[folder] = 0.0
        _tidy(folder, _limit())


def _tidy(folder: pathlib.Path, limit: float) -> None:
    """Remove what killed processes left, and the entries that were used longest ago, if all are too large together.
    Other processes may do so at the same time."""
    entries = []
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            with contextlib.suppress(OSError):
                status = file.stat(follow_symlinks=False)
                # the second name is that of leftovers of earlier versions
                if file.name.startswith((_UNFINISHED, "tmp")):
                    if time.time() - status.st_mtime > LEFTOVER:
                        os.unlink(file.path)
                else:
                    entries.append((status.st_mtime, status.st_size, file.path))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        if total <= LEFT * limit:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
