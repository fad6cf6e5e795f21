"""Compiled code on disk: taken again if sound, compiled anew if damaged, and never from a folder others can write."""

import ctypes
import hashlib
import os
import pathlib

import numpy as np
import pytest

from dalembert.engine.machine import code_cache
from dalembert.engine.machine.code_cache import cache_folder
from dalembert.engine.machine.compilation import compile_text
from dalembert.errors import InputError

TEXT = """
define void @run(ptr %x) {
  %a = load double, ptr %x
  %b = fmul double %a, 3.0
  store double %b, ptr %x
  ret void
}
"""


def result(text: str = TEXT) -> tuple[float, bool]:
    """What the code makes of 2, and whether it came from the cache."""
    code, from_cache = compile_text(text, 2)
    number = np.array([2.0])
    code.function("run", ctypes.c_void_p)(number.ctypes.data)
    return float(number[0]), from_cache


@pytest.fixture
def folder(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path))
    return tmp_path / "code"


def entries(folder) -> list[pathlib.Path]:
    return sorted(folder.iterdir())


def test_second_compilation_comes_from_the_cache(folder):
    assert result() == (6.0, False)
    assert result() == (6.0, True)
    assert len(entries(folder)) == 1


def test_another_program_or_effort_is_another_entry(folder):
    result()
    assert result(TEXT.replace("3.0", "5.0")) == (10.0, False)
    assert compile_text(TEXT, 1)[1] is False
    assert len(entries(folder)) == 3


def test_folder_and_entries_are_private(folder):
    result()
    assert folder.stat().st_mode & 0o077 == 0
    assert all(entry.stat().st_mode & 0o077 == 0 for entry in entries(folder))


def flip(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: flip(content, 0),
        lambda content: flip(content, 20),
        lambda content: flip(content, len(content) // 2),
        lambda content: flip(content, len(content) - 1),
        lambda content: content[:-1],
        lambda content: content[:30],
        lambda content: content + b"x",
        lambda content: b"",
    ],
    ids=["magic", "checksum", "code", "last byte", "cut", "only a head", "longer", "empty"],
)
def test_damaged_entry_is_compiled_anew(folder, damage):
    result()
    (entry,) = entries(folder)
    sound = entry.read_bytes()
    entry.write_bytes(damage(sound))
    assert result() == (6.0, False)
    assert result() == (6.0, True)
    assert hashlib.sha256(entry.read_bytes()).digest() == hashlib.sha256(sound).digest()


def test_entry_under_a_wrong_name_is_not_taken(folder):
    result()
    (first,) = entries(folder)
    result(TEXT.replace("3.0", "5.0"))
    (other,) = set(entries(folder)) - {first}
    other.write_bytes(first.read_bytes())
    assert result(TEXT.replace("3.0", "5.0")) == (10.0, False)


@pytest.mark.parametrize("mode", [0o777, 0o722, 0o720, 0o702])
def test_folder_that_others_can_write_is_not_used(folder, mode):
    result()
    (entry,) = entries(folder)
    folder.chmod(mode)
    assert cache_folder() is None
    assert result() == (6.0, False)  # not read, though it is there
    assert result(TEXT.replace("3.0", "5.0")) == (10.0, False)
    assert entries(folder) == [entry]  # nor written
    folder.chmod(0o700)
    assert result() == (6.0, True)


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_folder_in_one_that_others_can_write_is_not_used(folder, mode):
    result()
    folder.parent.chmod(mode)
    assert cache_folder() is None
    assert result() == (6.0, False)  # somebody else could have put another folder there
    folder.parent.chmod(0o700)
    assert result() == (6.0, True)


def test_folder_that_is_a_link_is_not_used(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    assert cache_folder() is None
    assert result() == (6.0, False)
    assert entries(tmp_path / "elsewhere") == []


def test_folder_of_somebody_else_is_not_used(folder, monkeypatch):
    result()
    other = os.getuid() + 1
    monkeypatch.setattr(code_cache.os, "getuid", lambda: other)
    assert cache_folder() is None
    assert result() == (6.0, False)


def test_without_a_folder_everything_still_compiles(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "file"))
    assert cache_folder() is None
    assert result() == (6.0, False)


def used(folder, numbers: range, size: int = 1000) -> list[pathlib.Path]:
    """Entries that were used one after the other, long ago."""
    for number in numbers:
        code_cache.write(f"{number:04x}", bytes(size))
        os.utime(folder / f"{number:04x}", (number, number))
    return entries(folder)


@pytest.fixture
def small(folder, monkeypatch) -> pathlib.Path:
    """A cache for 10 kilobytes, into which this process has not yet written."""
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0.01")
    monkeypatch.setattr(code_cache, "_written", {})
    return folder


def test_it_does_not_grow_beyond_its_limit(small):
    left = used(small, range(1, 40))
    assert 8_000 < sum(entry.stat().st_size for entry in left) <= 10_000
    assert [entry.name for entry in left] == [f"{number:04x}" for number in range(40 - len(left), 40)]


def test_what_is_used_stays(small):
    used(small, range(1, 9))
    for number in range(9, 40):
        assert code_cache.read("0003") == bytes(1000)
        used(small, range(number, number + 1))
    assert (small / "0003").exists()
    assert not (small / "0004").exists()


def test_a_cache_of_an_earlier_process_is_made_smaller(small, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "1")
    used(small, range(1, 40))
    monkeypatch.setattr(code_cache, "_written", {})
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0.01")
    code_cache.write("ffff", b"")
    assert len(entries(small)) < 12


def test_leftovers_of_killed_processes_are_swept(small):
    small.parent.mkdir(exist_ok=True)
    small.mkdir(mode=0o700)
    old, young = small / "unfinished-1", small / "unfinished-2"
    for file in (old, young, small / "tmpabc"):
        file.write_bytes(b"half")
    for file in (old, small / "tmpabc"):
        os.utime(file, (1, 1))
    code_cache.write("ffff", b"")
    assert [entry.name for entry in entries(small)] == ["ffff", "unfinished-2"]


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(code_cache.os, "replace", full)
    assert result() == (6.0, False)
    assert entries(folder) == []


def test_no_megabytes_mean_no_cache(folder, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0")
    assert result() == (6.0, False)
    assert result() == (6.0, False)
    assert not folder.exists()


@pytest.mark.parametrize("size", ["many", "-1", "nan", "inf"])
def test_a_size_that_is_none_is_refused(folder, monkeypatch, size):
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", size)
    with pytest.raises(InputError, match=r"DALEMBERT_CACHE_SIZE is .* megabytes"):
        result()
