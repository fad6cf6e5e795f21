"""The order of the Taylor method in positions, momenta and both kinds of multipliers, beside Gauss SPARK of order 8."""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import GALLERY

#: Where orders are fitted, and by how much more steps some systems need.
END = {
    "polar-pendulum": 1.0, "double-pendulum": 0.5, "four-bar": 0.5, "driven-pendulum": 1.0,
    "nonholonomic-particle": 4.0, "ball-on-turntable": 4.0, "mobile-robot": 3.0,
    "hamiltonian-spherical-pendulum": 1.0, "kepler": 2.0,
}  # fmt: skip
FAST = {"double-pendulum", "four-bar"}
STEPS = {4: (120, 170, 240, 340), 8: (24, 34, 48, 68)}
#: Elsewhere eighth order reaches roundoff before it is asymptotic.
EIGHTH = ("double-pendulum", "driven-pendulum", "kepler")


QUICK = {"double-pendulum", "ball-on-turntable", "hamiltonian-spherical-pendulum"}
CASES = [
    pytest.param(degree, name, marks=() if name in QUICK else pytest.mark.long)
    for degree, names in ((4, END), (8, EIGHTH))
    for name in names
]


@pytest.mark.parametrize(("degree", "name"), CASES)
def test_order_of_all_quantities(degree, name):
    system, end = GALLERY[name](), END[name]
    start = system.start()

    def state_at_end(method, steps):
        run = da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=end / steps, save_every=steps)
        return {part: getattr(run, part)[-1] for part in ("q", "p", "lam", "psi")}

    reference = state_at_end(da.gauss_spark(4), 800)
    steps = [n * (2 if name in FAST else 1) for n in STEPS[degree]]
    found = [state_at_end(da.Taylor(degree), n) for n in steps]
    for part, exact in reference.items():
        if exact.size:
            errors = [np.max(np.abs(state[part] - exact)) for state in found]
            slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
            assert slope == pytest.approx(degree, abs=0.2), part
