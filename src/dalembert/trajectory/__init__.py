"""The record of a run: named arrays, what was preserved, how it was computed; xarray and netCDF in and out."""

from .boundary import boundary_value
from .interpolation import Interpolated
from .record import Trajectory, batch_error, check_single, load
from .simulating import simulate

__all__ = ["Interpolated", "Trajectory", "batch_error", "boundary_value", "check_single", "load", "simulate"]
