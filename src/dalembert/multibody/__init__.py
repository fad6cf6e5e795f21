"""Bodies, joints, robots from files: models from which a `System` comes."""

from .bodies import Body, BodyElement, Point
from .configuration import GROUND
from .files import load_model
from .formulations import as_directors, pose_system, system_of
from .inertia import nearest_inertia
from .joints import (
    Continuous,
    Cylindrical,
    Distance,
    Fixed,
    Floating,
    Joint,
    Planar,
    PointOnCurve,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    Screw,
    SixAxis,
    Spherical,
    Universal,
)
from .model import Multibody
from .shapes import Box, Capsule, ConvexMesh, Cylinder, Ellipsoid, Shape, Sphere
from .spheres import Spheres
from .system import MultibodySystem, row_names

__all__ = [
    "GROUND",
    "Body",
    "BodyElement",
    "Box",
    "Capsule",
    "Continuous",
    "ConvexMesh",
    "Cylinder",
    "Cylindrical",
    "Distance",
    "Ellipsoid",
    "Fixed",
    "Floating",
    "Joint",
    "Multibody",
    "MultibodySystem",
    "Planar",
    "Point",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "Screw",
    "Shape",
    "SixAxis",
    "Sphere",
    "Spheres",
    "Spherical",
    "Universal",
    "as_directors",
    "load_model",
    "nearest_inertia",
    "pose_system",
    "row_names",
    "system_of",
]
