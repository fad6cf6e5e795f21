"""All methods in one place: `da.methods.Rattle()`, and by name in `da.methods.ALL`."""

from .method import (
    METHODS,
    Adjoint,
    Composition,
    EnergyMomentum,
    EventCapturing,
    Galerkin,
    Langevin,
    McLachlanPerlmutter,
    Method,
    ModifiedLobatto,
    MoreauJean,
    Rattle,
    SchatzmanPaoli,
    Shake,
    Spark,
    SymplecticEuler,
    Taylor,
    euler_spark,
    gauss_spark,
    lobatto_spark,
    standard_gauss,
)

#: The methods that the command line knows, by their names there; `da.CATALOGUE` are those whose claims the table shows.
ALL: dict[str, Method] = {name: entry.method for name, entry in METHODS.items()}
#: Those that are made from a number of stages, named like classes.
GaussSpark, LobattoSpark, EulerSpark = gauss_spark, lobatto_spark, euler_spark

__all__ = [
    "ALL",
    "Adjoint",
    "Composition",
    "EnergyMomentum",
    "EulerSpark",
    "EventCapturing",
    "Galerkin",
    "GaussSpark",
    "Langevin",
    "LobattoSpark",
    "McLachlanPerlmutter",
    "Method",
    "ModifiedLobatto",
    "MoreauJean",
    "Rattle",
    "SchatzmanPaoli",
    "Shake",
    "Spark",
    "SymplecticEuler",
    "Taylor",
    "euler_spark",
    "gauss_spark",
    "lobatto_spark",
    "standard_gauss",
]
