"""What a trajectory can do that other rooms know: loaded when it is first asked for, because data flows down."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..errors import InputError
from ..later import Later
from ..problem import has_own_inputs, inputs_of
from ..stepping import flat_parameters, parameter_places
from .sensors import sensors_of


class Attached:
    """The inputs of a run; pictures from `plots`, a page from `studio`; joints, bodies, contacts and energies of a
    multibody model from `mechanism`; the work that was done from `energy_balance`, the
    zeros of a function from `section`, derivatives by what the run began with from `gradient`."""

    plot = Later()
    animate = Later()
    view = Later()
    _repr_html_ = Later()
    joint = Later()
    body = Later()
    contact = Later()
    energies = Later()
    motions = Later()
    energy_balance = Later()
    section = Later()
    touching = Later()
    gradient = Later()

    _arrays: Any
    system: Any
    t: Any
    _info: Any

    @functools.cached_property
    def u(self) -> Any:
        """The inputs at the saved states, (N, inputs): those of the step that ends there, and for the first state those
        with which the motion begins."""
        if "u" in self._arrays:
            return self._arrays["u"]
        if self.system is None or not inputs_of(self.system).size:
            raise InputError("this run has no inputs: its system declares none, or was not saved with it.")
        return np.zeros((*np.shape(self.t), inputs_of(self.system).size))

    @property
    def tangent(self) -> Any:
        """The linear map along the run, d(q, p)(t_k) / d(q, p)(t_0) at the saved times, (N, 2n, 2n)."""
        if "tangent" not in self._arrays:
            raise InputError("the linear map along this run was not asked for: da.simulate(..., tangent=True).")
        return self._arrays["tangent"]

    @functools.cached_property
    def sensors(self) -> dict[str, Any]:
        """What the system's `sensors` say at the saved states, by name, time first; empty where it has none."""
        return sensors_of(self)  # pyright: ignore[reportArgumentType]

    @property
    def h(self) -> Any:
        """The step size, or those of all steps."""
        return self._info["h"]

    def _parameters_by_row(self, system: Any) -> Any:
        """The parameters of every saved state, where they changed during the run; None where they did not."""
        if "u" not in self._arrays or not has_own_inputs(system):
            return None
        rows = np.tile(np.asarray(flat_parameters(system)), (len(self.t), 1))
        place, size = parameter_places(system)["input_values"], self.u.shape[1]
        rows[:, place] = np.tile(self.u, (place.stop - place.start) // size)
        return rows
