"""Compiled code on disk: taken again if sound, compiled anew if damaged, and never from a folder others can write."""

import ctypes
import hashlib
import os
import pathlib

import numpy as np
import pytest

from dalembert.engine.machine import compilation as llvm_compile
from dalembert.engine.machine.compilation import cache_folder, compile_text

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
    monkeypatch.setattr(llvm_compile.os, "getuid", lambda: other)
    assert cache_folder() is None
    assert result() == (6.0, False)


def test_without_a_folder_everything_still_compiles(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "file"))
    assert cache_folder() is None
    assert result() == (6.0, False)
