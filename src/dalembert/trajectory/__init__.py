"""The record of a run: named arrays, what was preserved, how it was computed; xarray and netCDF in and out."""

from .boundary import boundary_value
from .interpolation import Interpolated
from .record import Trajectory, batch_error, check_single, has_energy, load
from .simulating import simulate
from .sweep import Sweep, sweep

__all__ = [
    "Interpolated",
    "Sweep",
    "Trajectory",
    "batch_error",
    "boundary_value",
    "check_single",
    "has_energy",
    "load",
    "simulate",
    "sweep",
]
