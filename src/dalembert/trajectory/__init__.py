"""The record of a run: named arrays, what was preserved, how it was computed; xarray and netCDF in and out."""

from .interpolation import Interpolated
from .record import Trajectory, batch_error, check_single, has_energy, load

__all__ = ["Interpolated", "Trajectory", "batch_error", "check_single", "has_energy", "load"]
