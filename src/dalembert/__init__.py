"""dalembert: simulate constrained mechanical systems and keep their structure.

The public names stand in `__init__.pyi`, by the room they come from. A room is loaded when one of its names is first
asked for, so that `import dalembert` and `dalembert --help` are quick.
"""

import ast as _ast
import importlib.util as _util
import pathlib as _pathlib
import sys as _sys

from . import later as _later
from . import optional as _optional

__version__ = "0.2.0"

# Who provides what a class only names, because data flows downward: pictures of trajectories, poses of models.
_later.PROVIDERS |= {
    "Attached.plot": "dalembert.plots:plot",
    "Attached.animate": "dalembert.plots:animate",
    "Attached.view": "dalembert.studio:view_run",
    "Attached._repr_html_": "dalembert.plots:trajectory_html",
    "AbstractSystem._repr_html_": "dalembert.plots:system_html",
    "Method._repr_html_": "dalembert.plots:method_html",
    "Fit.plot": "dalembert.plots:plot_residuals",
    # What joints and bodies did is found from the poses of a run.
    "Attached.joint": "dalembert.trajectory.mechanism:joint",
    "Attached.body": "dalembert.trajectory.mechanism:body",
    "Attached.contact": "dalembert.trajectory.mechanism:contact",
    "Attached.energies": "dalembert.trajectory.mechanism:energies",
    "Attached.motions": "dalembert.trajectory.mechanism:motions",
    # The work that was done is found from the saved states.
    "Attached.energy_balance": "dalembert.trajectory.energy_balance:of_run",
    # Zeros between the saved states are found by the engine.
    # The contacts of spheres are recorded by the run that finds them.
    "Attached.touching": "dalembert.stepping.sphere_run:touching",
    "Attached.section": "dalembert.trajectory.section:section",
    # A run is taken once more to be differentiated.
    "Attached.gradient": "dalembert.simulation.gradients:gradient",
    # The units of a gap follow from values that the engine computes, which the equations do not know.
    "Evaluation.values": "dalembert.engine:RowFunction",
    "Evaluation.jacobian": "dalembert.engine:RowJacobian",
    # Poses are found by the engine, which models do not know.
    "Multibody.assemble": "dalembert.stepping:assemble_model",
    "Multibody.check": "dalembert.stepping:check_model",
}


class _DoublePrecision:
    """Switches JAX to 64-bit numbers as soon as it is loaded, by whomever: before anything is traced."""

    def find_spec(self, name, path=None, target=None):
        if name != "jax":
            return None
        _sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
        try:
            spec = _util.find_spec(name)
        finally:  # until it is loaded: an attempt may end in between
            _sys.meta_path.insert(0, self)  # pyright: ignore[reportArgumentType]
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                module.config.update("jax_enable_x64", True)
                if self in _sys.meta_path:
                    _sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]

            spec.loader.exec_module = exec_module
        return spec


class _Missing:
    """The last to be asked for a module: it finds none, but optional packages are explained."""

    def find_spec(self, name, path=None, target=None):
        if name in _optional.EXTRA_OF:
            _optional.explain(name)


_sys.meta_path.append(_Missing())  # pyright: ignore[reportArgumentType]
if "jax" in _sys.modules:
    _sys.modules["jax"].config.update("jax_enable_x64", True)
else:
    _sys.meta_path.insert(0, _DoublePrecision())  # pyright: ignore[reportArgumentType]


def _public_names() -> dict[str, str]:
    """From every public name to its room, as the stub file says it; a room stands for itself."""
    stub = _ast.parse(_pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    rooms = {
        alias.name: node.module or alias.name
        for node in stub.body
        if isinstance(node, _ast.ImportFrom)
        for alias in node.names
    }
    (public,) = [_ast.literal_eval(node.value) for node in stub.body if isinstance(node, _ast.Assign)]
    return {name: rooms[name] for name in public}


_ROOM_OF = _public_names()
__all__ = list(_ROOM_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str):
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    from .interruption import loaded  # not before: `import dalembert` loads next to nothing

    module = loaded(f"{__name__}.{room}")
    globals()[name] = module if room == name else getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
