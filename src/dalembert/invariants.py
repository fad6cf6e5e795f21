"""Ready-made invariants: functions of positions that translations and rotations do not change."""

from .formulation import dot_products, edge_products, squared_distances, squared_triple_products, symmetries

__all__ = ["dot_products", "edge_products", "squared_distances", "squared_triple_products", "symmetries"]
