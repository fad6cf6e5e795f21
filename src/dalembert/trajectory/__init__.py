"""The record of a run: named arrays, what was preserved, how it was computed; xarray and netCDF in and out."""

from .record import Trajectory, batch_error, check_single, load, simulate

__all__ = ["Trajectory", "batch_error", "check_single", "load", "simulate"]
