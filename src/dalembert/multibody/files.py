"""Models from files, by the root element of the file."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from ..arguments import choice, number, shown
from ..errors import InputError, ModelError
from .loops import close_loops
from .markup import read_markup
from .model import Multibody
from .urdf import load_urdf


def load_model(
    path, *, ignore: Iterable[str] = (), packages: Mapping[str, Any] | None = None, base: str = "fixed",
    inertia: str = "refuse", gravity=(0.0, 0.0, -9.81), restitution=0.0, loops=None,
) -> Multibody:  # fmt: skip
    """A model from a file: URDF (`<robot>`), or MJCF (`<mujoco>`, which needs the package `mujoco`).

    Args:
        path: the file.
        ignore: what may be left out, by name; without it, what has no counterpart here is an error.
        packages: folders of packages, for names such as package://robot/meshes/arm.stl.
        base: whether the root link of a URDF file is "fixed" to the ground or "floating".
        inertia: "refuse" links whose inertia no body can have, or take the "nearest" one.
        gravity: the acceleration of free fall, which a URDF file does not say.
        restitution: that of all contacts, which an MJCF file does not say.
        loops: a second file (`<loops>`) with the joints that close loops, which URDF has no words for.

    `model.remarks` lists what was read and is not part of the equations.
    """
    ignore = (ignore,) if isinstance(ignore, str) else ignore
    if not isinstance(ignore, tuple | list | set | frozenset) or not all(isinstance(name, str) for name in ignore):
        raise InputError(f"ignore must be the names of what may be left out, got {shown(ignore)}.")
    packages = {} if packages is None else packages
    if not isinstance(packages, Mapping) or not all(
        isinstance(place, str | pathlib.Path) for place in packages.values()
    ):
        raise InputError(f"packages must be folders by the name of their package, got {shown(packages)}.")
    choice("base", base, ("fixed", "floating"))
    choice("inertia", inertia, ("refuse", "nearest"))
    restitution = number("restitution", restitution, 0.0, 1.0)
    root = read_markup(path)
    if root.tag == "robot":
        model = load_urdf(root, ignore=tuple(ignore), packages=packages, base=base, inertia=inertia, gravity=gravity)
    elif root.tag == "mujoco":
        from .mjcf import load_mjcf

        model = load_mjcf(path, ignore=tuple(ignore), restitution=restitution)
    else:
        raise ModelError(
            f"{root.file}, line {root.line}: expected <robot> (URDF) or <mujoco> (MJCF), got <{shown(root.tag, 40)}>."
        )
    if loops is not None:
        close_loops(model, read_markup(loops))
    return model
