"""Orders of methods on models, in both formulations, by the digits of the heavy top.

Places of the centre are those of Euler's equations, by DOP853 at 3e-14. The inertia of the top is a disc's: two
directors are coordinates, the third is their vector product, and the mass matrix of "joints" depends on them.
"""

import numpy as np
import pytest

import dalembert as da

PLACE = np.array([0.605550561377, 0.598957681795, -0.523983027430])  # at t = 0.2


def error(coordinates, method, h):
    """The error of the centre at t = 0.2, and how far the energy goes from its start."""
    model = da.Multibody(name="HeavyTop")
    top = model.body("top", mass=15.0, inertia=(0.234375, 0.46875, 0.234375), com=(0, 1, 0))
    model.joint("tip", model.ground, top, da.Spherical(), at=(0, 0, 0))
    start = model.assemble(coordinates=coordinates, spin={"top": (0, 150, -4.61538)})
    run = da.simulate(model.system(coordinates), method, start.q0, start.v0, t=(0, 0.2), h=h)
    return np.max(np.abs(run.body("top").centre[-1] - PLACE)), np.ptp(run.energy) / abs(run.energy[0])


CASES = [
    pytest.param(da.Galerkin(2), 4, 1e-3, id="galerkin-2"),
    pytest.param(da.gauss_spark(2), 4, 1e-3, id="gauss-spark-2"),
    pytest.param(da.Rattle(), 2, 5e-4, id="rattle", marks=pytest.mark.long),
    pytest.param(da.Shake(), 2, 5e-4, id="shake", marks=pytest.mark.long),
    pytest.param(da.Galerkin(3), 6, 2e-3, id="galerkin-3", marks=pytest.mark.long),
    pytest.param(da.gauss_spark(3), 6, 2e-3, id="gauss-spark-3", marks=pytest.mark.long),
    pytest.param(da.Composition(da.Rattle(), "yoshida4"), 4, 5e-4, id="yoshida4", marks=pytest.mark.long),
    pytest.param(da.Composition(da.Rattle(), "kahan-li6"), 6, 1e-3, id="kahan-li6", marks=pytest.mark.long),
    pytest.param(da.Taylor(8), 8, 4e-3, id="taylor-8", marks=pytest.mark.long),
]


@pytest.mark.parametrize("coordinates", ["directors", "joints"])
@pytest.mark.parametrize(("method", "order", "h"), CASES)
def test_orders_in_both_formulations(method, order, h, coordinates):
    # order 8 falls to the last digit of the reference within few halvings: one slope over two of them, h to h / 4, is
    # 8.3 by directors, where those of one halving each are 9.2 and 7.4, and 7.9 in joints
    ratio = 2 if order < 8 else 4
    coarse, fine = (error(coordinates, method, step)[0] for step in (h, h / ratio))
    assert np.log2(coarse / fine) / np.log2(ratio) == pytest.approx(order, abs=0.2 if order < 8 else 0.4)
    assert fine < 1e-2


@pytest.mark.parametrize("gradient", ["mean-value", pytest.param("gonzalez", marks=pytest.mark.long)])
def test_energy_momentum_by_directors(gradient):
    """Of order 2, with the energy to roundoff."""
    method = da.EnergyMomentum(gradient=gradient)
    (coarse, _), (fine, energy) = (error("directors", method, step) for step in (2e-3, 1e-3))
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.1)
    assert energy < 1e-13
