"""Is the step small enough for the fastest oscillation of the system? Beyond a limit a method is unstable, or blind.

A step of size h turns an oscillation of frequency omega by h omega. RATTLE, SHAKE and the symplectic Euler method are
stable for h omega < 2 only; implicit methods may stay bounded beyond that, but a wave that turns by more than 2 in a
step is not followed by any of them.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..problem import OverdeterminedDAE
from ..trajectory import StepResolution, Trajectory, check_single, resolution_of


def step_resolution(run: Trajectory) -> StepResolution:
    """Compare the step size of a run with the fastest oscillation of its system, at some of its saved states."""
    check_single(run, "examine")
    if run.system is None:
        raise InputError("step_resolution needs the system, which a loaded file does not hold; repeat the run.")
    if isinstance(run.system, OverdeterminedDAE):
        raise InputError("step_resolution is for systems with a Lagrangian or a Hamiltonian, got an OverdeterminedDAE.")
    system = run._require_system("its linearised equations")
    return resolution_of(system, run._info["rows"], run.t, run.q, run.v, run.p, float(np.max(np.abs(run._info["h"]))))
