"""Faults of a long run: killed at any moment, a full disk, damaged and hostile files. Takes minutes."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import netCDF4
import numpy as np
import pytest

import dalembert as da
from dalembert.storage import files, store, store_files

STEPS, KILLS = 1_000_000, 20
#: Damaged stores and damaged files: together at least 2,000.
DAMAGES, DAMAGED_FILES = 1_200, 1_000

PROGRAM = """
import sys
import dalembert as da

pendulum = da.gallery.system_named("double-pendulum")()
start = pendulum.start()
print("ready", flush=True)
run = da.simulate(
    pendulum, da.Rattle(), start.q0, start.v0, t=(0.0, {end}), h=0.001, save_every={save_every},
    checkpoint=sys.argv[1], checkpoint_every={every},
)
assert run.status, run.status
"""


def program(steps: int = STEPS, save_every: int = 100, every: int = 5_000) -> str:
    return PROGRAM.format(end=steps * 0.001, save_every=save_every, every=every)


def begin(path: pathlib.Path, text: str) -> subprocess.Popen:
    """Start the run in a process of its own and wait until it is about to simulate."""
    process = subprocess.Popen([sys.executable, "-c", text, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def finish(path: pathlib.Path, text: str) -> float:
    """Run to the end; the seconds it takes after the start of Python."""
    process, begun = begin(path, text), time.perf_counter()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()
    return time.perf_counter() - begun


def numbers(path: pathlib.Path) -> dict[str, bytes]:
    """All rows of a store (not what fills its last chunks up, which no reader sees), and its last carry."""
    opened, last = store.Store.open(path), max((path / "checkpoints").glob("*.json"))
    body = json.loads(last.read_text())["body"]
    rows = {name: opened.read(name, body["states"]).tobytes() for name in opened.columns}
    return rows | {last.name: json.dumps(body["carry"], sort_keys=True).encode()}


@pytest.mark.long
def test_a_run_killed_twenty_times_gives_the_bytes_of_the_undisturbed_one(tmp_path, capsys):
    whole, path, chance = tmp_path / "whole.zarr", tmp_path / "run.zarr", random.Random(0)
    seconds = finish(whole, program())
    full, reached = da.load(whole), [0]
    while len(reached) <= KILLS:
        process = begin(path, program())
        try:
            process.wait(timeout=chance.uniform(0.0, 1.0) * seconds / 4)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        part = da.load(path) if path.exists() else None
        if part is not None:
            np.testing.assert_array_equal(part.q, full.q[: len(part)])
            assert part.status.step >= reached[-1]  # nothing that was written is lost
        if part is not None and part.status:  # at its end before it was killed often enough
            shutil.rmtree(path)
            reached[-1] = 0
        else:
            reached.append(0 if part is None else part.status.step)
    finish(path, program())
    assert numbers(path) == numbers(whole)
    with capsys.disabled():
        print(f"\n{KILLS} kills in a run of {STEPS:,} steps ({seconds:.1f} s), steps reached: {reached[1:]}")


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk(tmp_path):
    text = program(400_000, 10, 20_000)
    whole, disk = tmp_path / "whole.zarr", tmp_path / "disk"
    finish(whole, text)
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        process = begin(disk / "run.zarr", text)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 1
        assert "CheckpointFailure" in errors.decode()
        assert "No space left on device" in errors.decode()
        part = da.load(disk / "run.zarr")
        assert 1 < len(part) < 40_001
        np.testing.assert_array_equal(part.q, da.load(whole).q[: len(part)])
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        finish(disk / "run.zarr", text)
        assert numbers(disk / "run.zarr") == numbers(whole)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# -- damaged and hostile files -------------------------------------------------------------------------------


def flip_bits(path: pathlib.Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 5) if data else 0):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(data))


def cut(path: pathlib.Path, chance: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data) + 1)])


def remove(path: pathlib.Path, chance: random.Random) -> None:
    path.unlink()


def rename(path: pathlib.Path, chance: random.Random) -> None:
    path.rename(path.with_name(chance.choice(["x", "c.99.0", "c.1.0", "zarr.json", "000000000000077.json"])))


def swap(path: pathlib.Path, chance: random.Random) -> None:
    other = chance.choice([p for p in path.parent.iterdir() if p.is_file()])
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)


def noise(path: pathlib.Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(chance.randrange(3000)))


def random_json(chance: random.Random, depth: int = 0):
    kinds = [None, True, -1, 10**30, 1e308, "NaN", "../../etc/passwd", "\x00", [], {}]
    if depth < 3 and chance.random() < 0.6:
        names = ["checksum", "body", "step", "states", "format", "layout", "columns", "run", "info", "carry", "array"]
        return {chance.choice(names): random_json(chance, depth + 1) for _ in range(4)}
    return chance.choice(kinds)


def write_json(path: pathlib.Path, chance: random.Random) -> None:
    path.write_text(json.dumps(random_json(chance)) if chance.random() < 0.9 else "[" * 100_000)


def forge(path: pathlib.Path, chance: random.Random) -> None:
    """Change an entry of a JSON file at random and make its checksum fit."""
    if path.suffix != ".json" or path.name == "zarr.json":
        return noise(path, chance)
    place = body = json.loads(path.read_text())["body"]
    while True:
        key = chance.choice(list(place) if isinstance(place, dict) else list(range(len(place))))
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner) or chance.random() < 0.2:
            break
        place = inner
    place[key] = random_json(chance)
    path.write_text(json.dumps(store_files.envelope(body)))


def make_pipe(path: pathlib.Path, chance: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def make_folder(path: pathlib.Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


HARMS = [flip_bits, cut, remove, rename, swap, noise, write_json, forge, make_pipe, make_folder]


@pytest.mark.long
def test_damaged_stores_give_a_prefix_or_a_typed_error(tmp_path, capsys):
    system = da.gallery.system_named("pendulum")()
    start = system.start()

    def simulate(path):
        return da.simulate(
            system, da.Rattle(), start.q0, start.v0, t=(0.0, 2.0), h=0.01, checkpoint=path, checkpoint_every=40
        )

    whole, path, chance = tmp_path / "whole.zarr", tmp_path / "run.zarr", random.Random(1)
    simulate(whole)
    full, expected = da.load(whole), numbers(whole)
    counts = {"prefix": 0, "refused": 0, "resumed to the same bytes": 0, "not resumed": 0}
    slowest = 0.0
    for number in range(DAMAGES):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(whole, path)
        harms = []
        for _ in range(chance.randint(1, 3)):
            file = chance.choice(sorted(p for p in path.rglob("*") if p.is_file()))
            harms.append(chance.choice(HARMS))
            harms[-1](file, chance)
        begun = time.perf_counter()
        try:
            part = da.load(path)
            assert np.isfinite(part.q).all()
            np.testing.assert_array_equal(part.q, full.q[: len(part)])
            assert isinstance(str(part.status), str)
            counts["prefix"] += 1
        except da.DalembertError:
            counts["refused"] += 1
        slowest = max(slowest, time.perf_counter() - begun)
        if number % 8 == 0:
            try:
                assert simulate(path).status
                if forge in harms:  # with a right checksum: no accident, and a run may go on from what it is told
                    continue
                assert numbers(path) == expected, f"damage {number}: {[harm.__name__ for harm in harms]}"
                counts["resumed to the same bytes"] += 1
            except da.DalembertError:
                counts["not resumed"] += 1
    assert slowest < 5.0
    with capsys.disabled():
        print(f"\n{DAMAGES} damaged stores: {counts}, slowest load {slowest:.2f} s")


# -- netCDF files --------------------------------------------------------------------------------------------


def spoil_attribute(path: pathlib.Path, chance: random.Random) -> None:
    """Hostile metadata, with a digest that fits."""
    with netCDF4.Dataset(path, "a") as dataset:
        name = chance.choice(["dalembert", "status"])
        if chance.random() < 0.3:
            dataset.setncattr(
                name, chance.choice(["", "[", "null", "NaN", "[" * 100_000, json.dumps(random_json(chance))])
            )
            return
        body = json.loads(dataset.getncattr(name))
        body[chance.choice(list(body))] = random_json(chance)
        dataset.setncattr(name, json.dumps(body))


def spoil_numbers(path: pathlib.Path, chance: random.Random) -> None:
    """NaN and infinities among the states, with a digest that fits."""
    with netCDF4.Dataset(path, "a") as dataset:
        values = dataset[chance.choice(["q", "v", "p"])]
        values[chance.randrange(len(values)), 0] = chance.choice([np.nan, np.inf])


def rename_array(path: pathlib.Path, chance: random.Random) -> None:
    with netCDF4.Dataset(path, "a") as dataset:
        name = chance.choice(["q", "v", "p", "lam", "t", "energy", "constraint_violation"])
        dataset.renameVariable(name, chance.choice(["x", "raw_energy", "invariant_x"]))


FILE_HARMS = [flip_bits, cut, noise, write_json, make_pipe, make_folder, remove]
HOSTILE_HARMS = [spoil_attribute, spoil_numbers, rename_array]


def damage_files(tmp_path: pathlib.Path, count: int, seed: int) -> dict[str, int]:
    """Damage a saved run in many ways, and load it: refused with a typed error, or the numbers that were saved."""
    system = da.gallery.system_named("pendulum")()
    start = system.start()
    whole, path = tmp_path / "whole.nc", tmp_path / "run.nc"
    saved = da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 2.0), h=0.01)
    saved.save(whole)
    bare = whole.read_bytes()[: -len(files.MARK) - files.DIGEST_BYTES]
    chance, counts = random.Random(seed), {"unchanged": 0, "refused": 0, "other description": 0}
    for _ in range(count):
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        hostile = chance.random() < 0.4
        path.write_bytes(bare if hostile else whole.read_bytes())
        chance.choice(HOSTILE_HARMS if hostile else FILE_HARMS)(path, chance)
        if hostile:
            files.seal(path)
        begun = time.perf_counter()
        try:
            run = da.load(path)
            np.testing.assert_array_equal(run.q, saved.q)
            for text in (repr(run), str(run.status), repr(run.stats)):
                assert isinstance(text, str)
            counts["other description" if hostile else "unchanged"] += 1
        except da.DalembertError:
            counts["refused"] += 1
        assert time.perf_counter() - begun < 5.0
    return counts


def test_some_damaged_files(tmp_path):
    counts = damage_files(tmp_path, 40, seed=3)
    assert counts["unchanged"] == 0  # every damage of the bytes is noticed
    assert counts["refused"] > 20


@pytest.mark.long
def test_damaged_files(tmp_path, capsys):
    counts = damage_files(tmp_path, DAMAGED_FILES, seed=2)
    with capsys.disabled():
        print(f"\n{DAMAGED_FILES} damaged netCDF files: {counts}")
    assert counts["unchanged"] == 0
