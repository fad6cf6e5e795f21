"""Files that cannot be read or written, model files that do not import: what the user reads."""

import numpy as np
import pytest
import xarray as xr

import dalembert as da
from dalembert.cli.app import run as command


def test_loading_what_is_not_there(tmp_path):
    with pytest.raises(da.InputError, match=r"cannot load .*nothing.nc: no such file"):
        da.load(tmp_path / "nothing.nc")
    with pytest.raises(da.InputError, match="not a run written by dalembert"):
        da.load(tmp_path)


def test_loading_a_text_file(tmp_path):
    path = tmp_path / "text.nc"
    path.write_text("not a netCDF file")
    with pytest.raises(da.InputError, match=r"cannot load .*text.nc: not a trajectory saved by dalembert"):
        da.load(path)


def test_loading_another_netcdf_file(tmp_path):
    path = tmp_path / "other.nc"
    xr.Dataset({"temperature": ("x", np.arange(3.0))}).to_netcdf(path, engine="netcdf4")
    with pytest.raises(da.InputError, match=r"cannot load .*other.nc: not a trajectory saved by dalembert"):
        da.load(path)


def test_saving_into_a_missing_folder(simulate, tmp_path):
    with pytest.raises(da.InputError, match=r"cannot save to .*run.nc: the folder .*missing does not exist"):
        simulate().save(tmp_path / "missing" / "run.nc")


def test_saving_over_a_folder(simulate, tmp_path):
    with pytest.raises(da.InputError, match="it is a folder"):
        simulate().save(tmp_path)
    assert list(tmp_path.parent.glob("*.part")) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import dalembert as da\nimport no_such_module\n", "line 2: ModuleNotFoundError: No module named"),
        ("x = 1\n\nclass Broken(\n", "line 3: SyntaxError: '(' was never closed"),
        ("def f():\n    raise ValueError('two\\nlines')\n\nf()\n", "line 2: ValueError: two lines"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
    ],
)
def test_model_file_that_does_not_import(tmp_path, capsys, text, message):
    path = tmp_path / "model.py"
    path.write_text(text)
    assert command(["simulate", f"{path}:Model"]) == 2
    error = capsys.readouterr().err
    assert error == f"error: cannot import {path}, {error.partition('model.py, ')[2]}"
    assert message in error
    assert error.count("\n") == 1


def test_model_file_that_is_not_there(tmp_path, capsys):
    assert command(["check", f"{tmp_path / 'none.py'}:Model"]) == 2
    assert capsys.readouterr().err == f"error: cannot import {tmp_path / 'none.py'}: no such file.\n"
