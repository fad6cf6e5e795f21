"""Compiled steps of systems of the gallery, for tests that look inside."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.engine.contract import StepFunctions
from dalembert.engine.runners.native import NativeRun
from dalembert.problem import prepared
from dalembert.stepping.consistent import prepare_start
from dalembert.stepping.shared_equations import flat_parameters
from dalembert.stepping.step import assemble


def functions_and_start(
    system: str | da.System, method, given: da.gallery.Start | None = None
) -> tuple[StepFunctions, np.ndarray, np.ndarray]:
    """The step functions of a method on a system, or one named so, and the state and the parameters it starts from."""
    system = da.gallery.system_named(system)() if isinstance(system, str) else system
    given = given or system.start()
    system = prepared(system)
    start = prepare_start(system, given.q0, given.v0, None, 0.0, project=False, redundant="refuse")
    functions = assemble(system, method, start.layout, start.rows)
    return functions, np.concatenate([np.ravel(part) for part in start.state]), np.asarray(flat_parameters(system))


def runner_and_start(system: str | da.System, method, h: float) -> tuple[NativeRun, np.ndarray, np.ndarray]:
    """The native runner of a method on a system, and the state and the parameters that it starts from."""
    functions, state, parameters = functions_and_start(system, method)
    return NativeRun(functions, state, 0.0, h, parameters, True), state, parameters
