"""The discrete equations, one family a file."""

from .base import Advance, Claims, Method, Step
from .catalogue import CATALOGUE, method_named
from .galerkin import Galerkin
from .rattle import Rattle, Shake
from .spark import Spark, euler_spark, gauss_spark, lobatto_spark, standard_gauss
from .spark_tableau import HolonomicPart, SparkTableau

__all__ = [
    "CATALOGUE",
    "Advance",
    "Claims",
    "Galerkin",
    "HolonomicPart",
    "Method",
    "Rattle",
    "Shake",
    "Spark",
    "SparkTableau",
    "Step",
    "euler_spark",
    "gauss_spark",
    "lobatto_spark",
    "method_named",
    "standard_gauss",
]
