"""Tableaux, of which methods are made: `da.EventCapturing(da.tableaux.radau_iia(3))`. A tableau is no method."""

from .method import (
    SCHEMES,
    HolonomicPart,
    RungeKutta,
    SparkTableau,
    gauss_legendre,
    half_explicit,
    lobatto_iiia,
    radau_iia,
)

__all__ = [
    "SCHEMES",
    "HolonomicPart",
    "RungeKutta",
    "SparkTableau",
    "gauss_legendre",
    "half_explicit",
    "lobatto_iiia",
    "radau_iia",
]
