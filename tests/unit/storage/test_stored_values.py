"""A checkpoint whose checksums fit but whose values no run has is refused, and never reaches compiled code."""

import base64
import json
import shutil

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import Pendulum
from dalembert.storage.store_files import envelope, to_json

CALL = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "t": (0.0, 2.0), "h": 0.01, "checkpoint_every": 100}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A store with its last checkpoint after 100 of 200 steps."""
    path = tmp_path_factory.mktemp("stores") / "run.zarr"
    da.simulate(Pendulum(), da.Rattle(), **CALL, checkpoint=path)
    newest = sorted((path / "checkpoints").glob("*.json"))[-1]
    newest.unlink()
    return path


def crafted(path, change):
    file = sorted((path / "checkpoints").glob("*.json"))[-1]
    body = json.loads(file.read_text())["body"]
    change(body)
    file.write_bytes(to_json(envelope(body)))


def array(body, name, change):
    """Change one array of the carry."""
    entry = body["carry"][name]
    values = np.frombuffer(base64.b64decode(entry["data"]), entry["array"]).reshape(entry["shape"]).copy()
    values[...] = change(values)
    entry["data"] = base64.b64encode(values.tobytes()).decode()


def pivots(body, **entries):
    state = {"array": "float64", "shape": [8], "data": base64.b64encode(np.ones(8).tobytes()).decode()}
    body["condition"][0]["pivots"] = {"state": state, "t": 0.5, "h": 0.01, "seed": 3} | entries


CHANGES = {
    "known, far too large": lambda b: array(b, "known", lambda x: 2**40),
    "known, one too large": lambda b: array(b, "known", lambda x: 6),
    "known, negative": lambda b: array(b, "known", lambda x: -1),
    "history": lambda b: array(b, "history", lambda x: np.nan),
    "contraction": lambda b: array(b, "contraction", lambda x: -1.0),
    "compensation": lambda b: array(b, "compensation", lambda x: 0.5),
    "state": lambda b: array(b, "state", lambda x: x + 1e-9),
    "infinite state": lambda b: array(b, "state", lambda x: np.inf),
    "step": lambda b: array(b, "step", lambda x: 99),
    "counts": lambda b: b["condition"][0]["mended"].update(guess_restarts=-1),
    "other counts": lambda b: b["condition"][0]["mended"].update(others=1),
    "status": lambda b: b.update(status=77),
    "halved": lambda b: b.update(halved=10**6),
    "total": lambda b: b["iterations"].update(total=-5),
    "open": lambda b: b["worst"].update(open=[1, 2, 3]),
    "seconds": lambda b: b["stats"].update(wall_seconds=-1.0),
    "pivots at another size": lambda b: pivots(b, h=1e9),
    "pivots at another time": lambda b: pivots(b, t=1e9),
    "pivots without a number": lambda b: pivots(b, seed=2**70),
}


@pytest.mark.parametrize("name", CHANGES)
def test_values_that_no_run_has_are_refused(begun, tmp_path, name):
    path = tmp_path / "run.zarr"
    shutil.copytree(begun, path)
    crafted(path, CHANGES[name])
    with pytest.raises(da.InputError, match=r"cannot go on from .*its checkpoint after 100 steps is damaged"):
        da.simulate(Pendulum(), da.Rattle(), **CALL, checkpoint=path)


def test_what_was_written_goes_on_to_the_same_bits(begun, tmp_path):
    path = tmp_path / "run.zarr"
    shutil.copytree(begun, path)
    crafted(path, lambda body: None)
    run = da.simulate(Pendulum(), da.Rattle(), **CALL, checkpoint=path)
    whole = da.simulate(Pendulum(), da.Rattle(), **CALL, checkpoint=tmp_path / "whole.zarr")
    np.testing.assert_array_equal(run.q, whole.q)
