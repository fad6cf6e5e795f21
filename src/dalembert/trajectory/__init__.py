"""The record of a run: named arrays, what was preserved, how it was computed; xarray and netCDF in and out."""

from .energy_balance import EnergyBalance
from .interpolation import Interpolated
from .rank import smallest_singular_values, times_of_zero
from .record import Trajectory, batch_error, check_single, has_energy, load
from .resolution import StepResolution, resolution_of

__all__ = [
    "EnergyBalance",
    "Interpolated",
    "StepResolution",
    "Trajectory",
    "batch_error",
    "check_single",
    "has_energy",
    "load",
    "resolution_of",
    "smallest_singular_values",
    "times_of_zero",
]
