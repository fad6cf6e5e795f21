"""Checkpoints: resumed runs to the last bit, prefixes, refused stores, damaged files, interruption, halved steps."""

import errno
import json
import os
import pathlib
import shutil
import signal

import numpy as np
import pytest
import xarray as xr

import dalembert as da
from dalembert.cli.app import run as command
from dalembert.storage import store_files
from dalembert.storage.checkpoint import StoredRecord


class Pendulum(da.System):
    length: float = 1.0
    gravity: float = 9.81

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - self.length**2)


class Stone(da.System):
    """A ball that bounces on a floor."""

    restitution: float = 0.8

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[0]

    def gap(self, t, q):
        return q


NAMES = ("t", "q", "v", "p", "lam", "iterations")
PENDULUM = {"system": Pendulum(), "q0": [1.0, 0.0], "v0": [0.0, 0.0], "t": (0.0, 20.0), "h": 0.01, "save_every": 5}
DOUBLE = da.gallery.system_named("double-pendulum")()
CASES = {
    "native": {**PENDULUM, "method": da.Rattle()},
    "composition": {**PENDULUM, "method": da.Composition(da.Rattle(), "triple-jump")},
    "xla": {**PENDULUM, "method": da.Rattle(), "engine": "xla", "t": (0.0, 4.0)},
    "few states": {**PENDULUM, "method": da.Rattle(), "save_every": 1000},
    "uncompensated": {**PENDULUM, "method": da.Rattle(), "compensated": False},
    "contact": {
        "system": Stone(), "q0": [1.0], "v0": [0.0], "t": (0.0, 20.0), "h": 0.01, "save_every": 5,
        "method": da.MoreauJean(),
    },
    "events": {
        "system": Stone(), "q0": [1.0], "v0": [0.0], "t": (0.0, 20.0), "h": 0.01, "save_every": 5,
        "method": da.EventCapturing(da.half_explicit(4)),
    },
    "halved steps and new pivots": {
        "system": DOUBLE, "q0": DOUBLE.start().q0, "v0": DOUBLE.start().v0, "t": (0.0, 6.0), "h": 0.1,
        "method": da.Rattle(), "retry": True,
    },
}  # fmt: skip


def simulate(case, path, every=200, **changes) -> da.Trajectory:
    arguments = {**CASES[case], **changes}
    return da.simulate(**arguments, checkpoint=path, checkpoint_every=every)


@pytest.fixture(autouse=True)
def ctrl_c_is_heard(monkeypatch):
    """A process that was started in the background may ignore the signal, and so would the runs in it. Here runs begin
    right after one that was interrupted."""
    monkeypatch.setattr("dalembert.interruption.SOON", 0.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(monkeypatch, chunks: int, kill: bool = False) -> None:
    """Let Ctrl-C, or death before anything is written, come after so many chunks."""
    ended, calls = StoredRecord.chunk_ended, []

    def chunk_ended(record):
        calls.append(record.step)
        if len(calls) == chunks:
            if kill:
                raise MemoryError("killed")
            signal.raise_signal(signal.SIGINT)
        ended(record)

    monkeypatch.setattr(StoredRecord, "chunk_ended", chunk_ended)


def contents(path: pathlib.Path) -> dict[str, bytes]:
    """All numbers of a store: its arrays and the last carry."""
    files = {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("c.*")}
    last = max((path / "checkpoints").iterdir())
    files[last.name] = json.dumps(json.loads(last.read_text())["body"]["carry"], sort_keys=True).encode()
    return files


def assert_same(path, whole, case="native"):
    assert contents(path) == contents(whole)
    one, other = simulate(case, path, None), simulate(case, whole, None)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> pathlib.Path:
    """The undisturbed run, not to be changed."""
    path = tmp_path_factory.mktemp("whole") / "run.zarr"
    with pytest.MonkeyPatch.context() as patch:  # this comes before what a single test prepares
        patch.setattr("dalembert.interruption.SOON", 0.0)
        assert simulate("native", path).status
    return path


@pytest.fixture
def copy(whole, tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(whole, tmp_path / "run.zarr"))


# -- the run is the same -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_is_the_undisturbed_one_bit_for_bit(case, tmp_path, monkeypatch):
    # otherwise pivots are chosen anew only after many rescued steps
    monkeypatch.setattr("dalembert.engine.runners.native.RESCUES_A_CHANGE", 0)
    every = {"halved steps and new pivots": 10, "xla": 40}.get(case, 200)
    undisturbed = simulate(case, tmp_path / "whole.zarr", every)
    assert undisturbed.status
    for chunks, kill in ((2, False), (3, True), (1, False)):
        with monkeypatch.context() as patch:
            interrupt(patch, chunks, kill)
            if kill:
                with pytest.raises(MemoryError):
                    simulate(case, tmp_path / "run.zarr", every)
            else:
                part = simulate(case, tmp_path / "run.zarr", every)
                assert part.status.code == -1
                assert 0 < part.status.step < undisturbed.status.step
    resumed = simulate(case, tmp_path / "run.zarr", every)
    assert str(resumed.status) == str(undisturbed.status)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(resumed, name), getattr(undisturbed, name))
    assert contents(tmp_path / "run.zarr") == contents(tmp_path / "whole.zarr")
    assert resumed.stats["newton_iterations"] == undisturbed.stats["newton_iterations"]
    if case.startswith("halved"):
        assert resumed.stats["halved_steps"] == undisturbed.stats["halved_steps"] > 0
        assert resumed.stats["pivot_changes"] == undisturbed.stats["pivot_changes"] > 0


def test_checkpoints_do_not_change_the_run(tmp_path):
    plain = da.simulate(**CASES["native"])
    kept = simulate("native", tmp_path / "run.zarr", None)
    for name in (*NAMES, "energy", "constraint"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(plain, name))
    assert kept.status
    assert str(kept.status) == str(plain.status)


def test_a_finished_run_is_not_computed_again(whole, monkeypatch):
    before = contents(whole)
    monkeypatch.setattr(StoredRecord, "absorb", None)
    assert simulate("native", whole).status
    assert contents(whole) == before


# -- always readable -----------------------------------------------------------------------------------------


def test_a_prefix_can_be_loaded_while_the_run_goes_on(whole, tmp_path, monkeypatch):
    full, ended, seen = da.load(whole), StoredRecord.chunk_ended, []

    def chunk_ended(record):
        ended(record)
        early = da.load(tmp_path / "run.zarr")  # while it is being written
        np.testing.assert_array_equal(early.q, full.q[: len(early)])
        record._settle()
        part = da.load(tmp_path / "run.zarr")
        assert bool(part.status) == (record.step == 2000)
        np.testing.assert_array_equal(part.q, full.q[: len(part)])
        with xr.open_zarr(tmp_path / "run.zarr") as dataset:
            np.testing.assert_array_equal(dataset["q"].values, part.q)
            np.testing.assert_array_equal(dataset["t"].values, part.t)
        seen.append(len(part))

    monkeypatch.setattr(StoredRecord, "chunk_ended", chunk_ended)
    simulate("native", tmp_path / "run.zarr")
    assert seen == [41, 81, 121, 161, 201, 241, 281, 321, 361, 401][: len(seen)]
    assert len(seen) >= 9


def test_a_loaded_store_tells_what_it_is(whole):
    run = da.load(whole)
    assert run.status
    assert len(run) == 401
    assert run.provenance["system"] == "Pendulum"
    assert run.provenance["parameters"] == {"length": 1.0, "gravity": 9.81}
    with pytest.raises(da.InputError, match="need the system"):
        _ = run.energy


def test_arrays_of_a_store_are_those_of_xarray(whole):
    with xr.open_zarr(whole) as dataset:
        assert dataset["q"].dims == ("time", "coordinate")
        np.testing.assert_array_equal(dataset["raw_lam"].values, da.load(whole)._arrays["raw_lam"])


# -- refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"system": Pendulum(length=1.0, gravity=9.8)}, "parameter gravity: 9.81 in the store, 9.8 now"),
        (
            {"system": Stone(), "method": da.MoreauJean(), "q0": [1.0], "v0": [0.0]},
            "system: 'Pendulum' in the store, 'Stone' now",
        ),
        ({"method": da.Shake()}, r"method: 'Rattle\(\)' in the store, 'Shake\(\)' now"),
        ({"h": 0.02}, "h: 0.01 in the store, 0.02 now"),
        ({"t": (0.0, 30.0)}, "steps: 2000 in the store, 3000 now"),
        ({"save_every": 10}, "save_every: 5 in the store, 10 now"),
        ({"v0": [0.0, 0.1]}, "starting values: not the same"),
        ({"engine": "xla"}, "engine: 'native' in the store, 'xla' now"),
        ({"compensated": False}, "compensated: True in the store, False now"),
        ({"checkpoint_every": 100}, "checkpoint_every: 200 in the store, 100 now"),
    ],
)
def test_a_store_of_another_run_is_refused(whole, changes, message):
    arguments = {**CASES["native"], "checkpoint_every": 200, **changes}
    with pytest.raises(da.InputError, match=message):
        da.simulate(**arguments, checkpoint=whole)


def test_other_equations_under_the_same_name_are_refused(whole):
    class Other(Pendulum):
        def lagrangian(self, t, q, v):
            return 0.5 * v @ v - self.gravity * q[1] - 0.1 * q[0]

    Other.__qualname__ = "Pendulum"
    with pytest.raises(da.InputError, match="equations of a step: not the same"):
        simulate("native", whole, system=Other())


def test_another_version_is_refused(whole, monkeypatch):
    from dalembert.storage import identity

    versions = {**identity._versions(), "dalembert": "9.9.9"}
    monkeypatch.setattr(identity, "_versions", lambda: versions)
    with pytest.raises(da.InputError, match=r"version dalembert: '[\d.]+' in the store, '9.9.9' now"):
        simulate("native", whole)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"h": [0.5, 0.5], "t": (0.0, 1.0), "save_every": 1}, "one step size"),
        ({"precision": "extended"}, "float64"),
        ({"q0": np.ones((3, 2)), "v0": np.zeros((3, 2))}, "single run"),
        ({"checkpoint_every": 0}, "checkpoint_every must be a positive integer"),
        ({"checkpoint": 3}, "expected the path of"),
        ({"checkpoint": "no/such/folder/run.zarr"}, "does not exist"),
        ({"checkpoint": None}, "checkpoint_every needs checkpoint"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path, changes, message):
    arguments = {**CASES["native"], "checkpoint": tmp_path / "run.zarr", "checkpoint_every": 100, **changes}
    with pytest.raises(da.InputError, match=message):
        da.simulate(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_a_store_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(da.InputError, match="not a run written by dalembert"):
        simulate("native", tmp_path)
    with pytest.raises(da.InputError, match="not a run written by dalembert"):
        da.load(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_two_runs_cannot_write_to_one_store(copy, monkeypatch):
    ended = StoredRecord.run_ended

    def run_ended(record):
        ended(record)
        with pytest.raises(da.InputError, match="another run is writing"):
            simulate("native", copy)

    monkeypatch.setattr(StoredRecord, "run_ended", run_ended)
    simulate("native", copy)


# -- damage --------------------------------------------------------------------------------------------------


def flip(path: pathlib.Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(bytes(data))


def cut(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("harm", [flip, cut, os.remove])
@pytest.mark.parametrize(
    "file", ["q/c.4.0", "iterations/c.4", "checkpoints/000000000001000.json", "checkpoints/000000000000800.json"]
)
def test_damage_is_found_and_the_run_goes_on_before_it(whole, copy, harm, file):
    harm(copy / file)
    part = da.load(copy)
    assert not part.status
    assert 121 <= len(part) <= 161  # one checkpoint before the damage at most
    np.testing.assert_array_equal(part.q, da.load(whole).q[: len(part)])
    assert simulate("native", copy).status
    assert_same(copy, whole)


def test_a_damaged_start_begins_the_run_again(whole, copy):
    (copy / "v/c.0.0").unlink()
    with pytest.raises(da.InputError, match="damaged from the start"):
        da.load(copy)
    assert simulate("native", copy).status
    assert_same(copy, whole)


def test_one_copy_of_the_description_is_enough(whole, copy):
    (copy / "description.json").write_text("{")
    assert len(da.load(copy)) == 401
    assert_same(copy, whole)
    cut(copy / "zarr.json")  # a single byte may lie in what zarr reads and da.load does not need
    with pytest.raises(da.InputError, match="damaged"):
        da.load(copy)


def test_numbers_that_are_not_finite_are_never_handed_out(copy):
    """Not even where every checksum fits."""
    values = np.fromfile(copy / "q/c.4.0")
    values[7] = np.nan
    (copy / "q/c.4.0").write_bytes(values.tobytes())
    place = copy / "checkpoints/000000000001000.json"
    body = json.loads(place.read_text())["body"]
    body["digests"]["q"]["4"] = store_files.digest(values.tobytes())
    place.write_text(json.dumps(store_files.envelope(body)))
    assert np.isfinite(da.load(copy).q).all()
    assert len(da.load(copy)) < 170


def test_a_full_disk_ends_the_run_and_leaves_what_was_written(whole, tmp_path, monkeypatch):
    path, written = tmp_path / "run.zarr", []

    def sync(descriptor):
        written.append(descriptor)
        if len(written) > 60:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(store_files.os, "fsync", sync)
        with pytest.raises(da.CheckpointFailure, match=r"No space left on device. The store is intact up to step \d+"):
            simulate("native", path)
    part = da.load(path)
    assert 1 < len(part) < 401
    assert simulate("native", path).status
    assert_same(path, whole)


# -- interruption and failure --------------------------------------------------------------------------------


def test_a_second_interruption_stops_at_once(whole, tmp_path, monkeypatch):
    ended = StoredRecord.run_ended

    def run_ended(record):
        signal.raise_signal(signal.SIGINT)
        ended(record)

    with monkeypatch.context() as patch:
        interrupt(patch, 3)
        patch.setattr(StoredRecord, "run_ended", run_ended)
        with pytest.raises(KeyboardInterrupt):
            simulate("native", tmp_path / "run.zarr")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert len(da.load(tmp_path / "run.zarr")) > 1
    simulate("native", tmp_path / "run.zarr")
    assert_same(tmp_path / "run.zarr", whole)


def test_a_failed_run_is_kept_and_fails_again_at_the_same_place_unless_steps_are_halved(tmp_path):
    case, path = "halved steps and new pivots", tmp_path / "run.zarr"
    with pytest.raises(da.StepFailure) as failure:
        simulate(case, path, 10, retry=False)
    stopped = da.load(path)
    assert stopped.status.code > 0
    assert stopped.status.step == failure.value.trajectory.status.step
    assert str(stopped.status) == str(failure.value.trajectory.status)
    again = simulate(case, path, 10, retry=False, on_failure="return")
    assert again.status.step == stopped.status.step
    assert simulate(case, path, 10).status
    assert "of them halved" in str(da.load(path).status)


def test_halved_steps_are_as_good_as_small_ones():
    run = da.simulate(Pendulum(), da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 10.0), h=1.0, retry=True)
    assert run.status
    assert run.stats["halved_steps"] > 0
    assert "of them halved" in run.status.message
    assert run.iterations.shape == (10,)
    np.testing.assert_allclose(run.constraint, 0.0, atol=1e-12)


def test_resume_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "run.zarr"
    options = ["--t-end", "1", "--h", "0.01", "--checkpoint", str(path), "--checkpoint-every", "20"]
    assert command(["simulate", "pendulum", *options, "--param", "length=2.0"]) == 0
    full = da.load(path).q
    (path / "q/c.2.0").unlink()
    assert len(da.load(path)) < len(full)
    assert command(["resume", str(path)]) == 0
    assert "ok: 100 steps" in capsys.readouterr().out
    np.testing.assert_array_equal(da.load(path).q, full)


def test_resume_never_runs_a_file_that_only_the_store_names(tmp_path, capsys):
    model, path = tmp_path / "model.py", tmp_path / "run.zarr"
    model.write_text(
        "import dalembert as da\n\n\nclass Stone(da.System):\n    def lagrangian(self, t, q, v):\n"
        "        return 0.5 * v @ v - q[0]\n"
    )
    options = ["--q0", "1", "--v0", "0", "--t-end", "1", "--h", "0.1", "--checkpoint", str(path)]
    assert command(["simulate", f"{model}:Stone", *options]) == 0
    assert command(["resume", str(path)]) == 2
    assert "not in the gallery" in capsys.readouterr().err
    assert command(["resume", str(path), f"{model}:Stone"]) == 0
