"""What the methods claim on systems that nobody chose: random chains, trees and loops, potentials, constraints, floors.

Compiling a system takes a second, so that the fast tests see few of them; `make test-long` sees many.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_systems import AboveFloor, FreeMasses, Sample, Skidding, samples

import dalembert as da
from dalembert.method import CATALOGUE
from dalembert.method.catalogue import FAMILY_CATALOGUE

#: Residuals in units of the constraints, which are squares of lengths of about 1 to 5.
ROUNDOFF = 1e-11
END, STEPS = 0.5, 50

METHODS = {
    name: entry.method for name, entry in (CATALOGUE | FAMILY_CATALOGUE).items() if name != "symplectic-euler"
} | {
    "energy-momentum": da.EnergyMomentum("gonzalez"),
    "energy-momentum-velocity": da.EnergyMomentum("gonzalez", velocity_level=True),
}
HOLONOMIC = sorted(name for name, method in METHODS.items() if "holonomic" in method.handles)
NONHOLONOMIC = sorted(name for name, method in METHODS.items() if "nonholonomic" in method.handles)
QUICK = ("rattle", "lobatto-spark-2", "euler-spark-2")


def some(examples: int):
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


def many(examples: int):
    return settings(
        max_examples=examples, deadline=None, database=None, print_blob=True, suppress_health_check=list(HealthCheck)
    )


def check_claims(sample: Sample, method: da.Method) -> None:
    """Constraints, momenta of the symmetries that the system has, energy, and the way back."""
    claims, system = method.claims, sample.system
    run = da.simulate(
        system, method, sample.q0, sample.v0, t=(0.0, END), h=END / STEPS, project=True, on_failure="return"
    )
    if not run.status:  # a step that failed is said to have failed; what came before it still has to hold
        assert "failed" in run.status.message
    assert np.all(np.isfinite(run.q))
    assert np.all(np.isfinite(run.p))
    scale = max(1.0, float(np.max(np.abs(run.v))), float(np.max(np.abs(run.q)))) ** 2
    if "position" in claims.constraints:
        assert np.max(run.constraint) <= ROUNDOFF * scale
    if "velocity" in claims.constraints:
        assert np.max(run.hidden) <= ROUNDOFF * scale
    if claims.momentum and not system.provides("nonholonomic"):
        for name, values in run.momenta.items():
            assert np.ptp(values) <= ROUNDOFF * scale * len(sample.q0), name
    if claims.energy:
        assert np.ptp(run.energy) <= ROUNDOFF * max(scale, float(np.max(np.abs(run.energy))))
    if claims.symmetric and run.status:
        back = da.reversibility_defect(system, method, run.q[0], run.v[0], (0.0, END / 5), END / STEPS)
        assert max(back.q, back.p) <= 1e-9 * scale


def check_floor(sample: Sample, restitution: float) -> None:
    """Masses that fall on a floor: no impact and no flight gains energy, and no mass sinks in by more than a step."""
    system = sample.system
    start = sample.q0.reshape(-1, system.dimension)
    start[:, -1] = np.abs(start[:, -1]) + 0.05
    floor = AboveFloor(
        masses=system.masses, lengths=np.zeros(0), stiffness=np.zeros(0), gravity=system.gravity, quartic=0.0,
        dimension=system.dimension, restitution=restitution,
    )  # fmt: skip
    for h in (0.02, 0.01):
        run = da.simulate(floor, da.MoreauJean(), start.ravel(), sample.v0, t=(0.0, 1.0), h=h)
        # where gravity presses a mass that is leaving the floor, a step may gain what gravity does in it
        allowed = 1e-12 + 2 * h**2 * system.gravity**2 * float(np.sum(system.masses))
        assert np.max(np.diff(run.energy)) <= allowed
        impact = np.any(run.impulse[1:] > 0, axis=1)
        assert np.max(np.diff(run.energy)[~impact], initial=0.0) <= 1e-12 * (1 + np.max(np.abs(run.energy)))
        assert np.min(run.gap) >= -h * (np.max(np.abs(run.v)) + h * system.gravity)


@some(3)
@given(sample=samples(most_points=3), name=st.sampled_from(QUICK))
def test_some_bars(sample, name):
    check_claims(sample, METHODS[name])


@some(2)
@given(sample=samples(Skidding, ("chain",), 3), name=st.sampled_from(("lobatto-spark-2", "gauss-spark-1")))
def test_some_blades(sample, name):
    check_claims(sample, METHODS[name])


@some(2)
@given(sample=samples(FreeMasses, ("chain",), 3))
def test_some_springs_with_an_energy_momentum_method(sample):
    check_claims(sample, METHODS["energy-momentum"])


@some(2)
@given(sample=samples(FreeMasses, ("chain",), 2), restitution=st.floats(0.0, 1.0))
def test_some_floors(sample, restitution):
    check_floor(sample, restitution)


@pytest.mark.long
@many(60)
@given(sample=samples(), name=st.sampled_from(HOLONOMIC))
def test_bars(sample, name):
    check_claims(sample, METHODS[name])


@pytest.mark.long
@many(20)
@given(sample=samples(FreeMasses), name=st.sampled_from(HOLONOMIC))
def test_springs(sample, name):
    check_claims(sample, METHODS[name])


@pytest.mark.long
@many(30)
@given(sample=samples(Skidding), name=st.sampled_from(NONHOLONOMIC))
def test_blades(sample, name):
    check_claims(sample, METHODS[name])


@pytest.mark.long
@many(30)
@given(sample=samples(FreeMasses), restitution=st.floats(0.0, 1.0))
def test_floors(sample, restitution):
    check_floor(sample, restitution)
