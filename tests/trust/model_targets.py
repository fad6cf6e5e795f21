"""Models of bodies and joints, each with arguments that are right, so that a test can spoil some.

What a call builds is used at once: the model becomes a system, whose poses are assembled.
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
from bad_inputs import Target

import dalembert as da

ROBOT = """<robot name="arm"><link name="base"/>
<link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/></joint></robot>"""


def _poses(model: da.Multibody) -> np.ndarray:
    return np.asarray(model.assemble().q0)


def _model(**arguments: Any) -> np.ndarray:
    model = da.Multibody(**arguments)
    model.body("ball", 1.0, (1.0, 1.0, 1.0))
    return _poses(model)


def _jointed(kind: Any, **options: Any) -> np.ndarray:
    """A body held by one joint a unit beside its centre of mass, or at a distance."""
    model = da.Multibody()
    body = model.body("arm", 1.0, (0.1, 0.2, 0.25), at=(1.0, 0.0, 0.0))
    on_body = body.point(0.0 if isinstance(kind, da.Distance) else -1.0, 0, 0)
    model.joint("hinge", model.ground.point(0, 0, 0), on_body, kind, **options)
    return _poses(model)


def _shaped(shape: Any, **more: Any) -> np.ndarray:
    model = da.Multibody()
    model.body("stone", shape=shape, **({"density": 2.0} | more))
    return _poses(model)


def _loaded(path: Any = "robot.urdf", **options: Any) -> np.ndarray:
    if isinstance(path, str) and path == "robot.urdf":
        pathlib.Path(path).write_text(ROBOT, encoding="utf-8")
    return _poses(da.load_model(path, **options))


def _joints() -> list[Target]:
    axis, none = {"axis": "z"}, {}
    kinds: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
        "Fixed": (none, none), "Spherical": (none, none), "Floating": (none, none),
        "Revolute": (axis, {"axis": "vector"}), "Continuous": (axis, {"axis": "choice"}),
        "Prismatic": (axis, {"axis": "vector"}), "Cylindrical": (axis, {"axis": "vector"}),
        "Planar": (axis, {"axis": "vector"}), "PointOnLine": (axis, {"axis": "vector"}),
        "PointOnPlane": (axis, {"axis": "vector"}),
        "Screw": (axis | {"pitch": 0.5}, {"axis": "vector", "pitch": "number"}),
        "Universal": ({"axis": "x", "second": "y"}, {"axis": "vector", "second": "vector"}),
        "Distance": ({"length": 1.0}, {"length": "number"}),
        "PointOnCurve": ({"curve": lambda r: r[1] ** 2 + r[2]}, {"curve": "other"}),
        "SixAxis": ({"locked": "xyz|rx ry"}, {"locked": "choice"}),
    }  # fmt: skip
    options = {"damping": "number", "friction": "number", "stiffness": "number", "limits": "vector"}
    more = {"damping": 0.1, "friction": 0.1, "stiffness": 1.0, "limits": (-1.0, 1.0)}

    def joint(name: str, good: dict[str, Any], spoilt: dict[str, str]) -> Target:
        def call(**arguments: Any) -> np.ndarray:
            return _jointed(getattr(da, name)(**arguments))

        return Target(name, call, lambda: dict(good), spoilt)

    found = [joint(name, *kind) for name, kind in kinds.items() if kind[1]]
    # those without arguments of their own are tried with the options of a joint
    found += [
        Target(name, lambda name=name, **at: _jointed(getattr(da, name)(), **at), lambda: {"at": None},
               {"at": "vector"})
        for name, kind in kinds.items() if not kind[1]
    ]  # fmt: skip
    found.append(
        Target("Revolute, options", lambda **given: _jointed(da.Revolute("y"), **given), lambda: dict(more), options)
    )
    return found


def _shapes() -> list[Target]:
    corners = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    sizes: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
        "Sphere": ({"radius": 0.5}, {"radius": "number"}),
        "Box": ({"size": (1.0, 2.0, 3.0)}, {"size": "vector"}),
        "Cylinder": ({"radius": 0.5, "length": 2.0}, {"radius": "number", "length": "number"}),
        "Capsule": ({"radius": 0.5, "length": 2.0}, {"radius": "number", "length": "number"}),
        "Ellipsoid": ({"radii": (1.0, 2.0, 3.0)}, {"radii": "vector"}),
        "ConvexMesh": ({"points": corners}, {"points": "vector"}),
    }  # fmt: skip
    return [
        Target(
            name, lambda name=name, **given: _shaped(getattr(da, name)(**given)),
            lambda size=size: {"at": (0.0, 0.0, 0.0), "rotation": None} | size,
            {"at": "vector", "rotation": "vector"} | spoilt,
        )
        for name, (size, spoilt) in sizes.items()
    ]  # fmt: skip


def model_targets() -> list[Target]:
    """Bodies, joints, shapes and files."""
    return [
        Target("Multibody", _model, lambda: {"gravity": (0.0, 0.0, -9.81), "name": "Model"},
               {"gravity": "vector", "name": "choice"}),
        Target("Multibody.body", lambda **given: _shaped(None, **({"density": None} | given)),
               lambda: {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "com": (0.0, 0.0, 0.0), "at": None, "rotation": None},
               {"mass": "number", "inertia": "vector", "com": "vector", "at": "vector", "rotation": "vector"}),
        Target("nearest_inertia", da.nearest_inertia, lambda: {"inertia": (1.0, 1.0, 3.0)}, {"inertia": "vector"}),
        Target("load_model", _loaded,
               lambda: {"path": "robot.urdf", "ignore": (), "packages": {}, "base": "fixed", "inertia": "refuse",
                        "gravity": (0.0, 0.0, -9.81), "restitution": 0.0, "loops": None},
               {"path": "path", "restitution": "number", "loops": "other",
                "ignore": "choice", "packages": "other", "base": "choice", "inertia": "choice",
                "gravity": "vector"}),
        *_joints(),
        *_shapes(),
    ]  # fmt: skip
