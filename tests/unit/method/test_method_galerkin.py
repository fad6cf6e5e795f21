"""Galerkin integrators: what is refused, and the methods they coincide with."""

import functools

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import (
    BeadOnRotatingHoop,
    DoublePendulum,
    DrivenPendulum,
    HamiltonianSphericalPendulum,
    Kepler,
    PolarPendulum,
    SphericalPendulum,
)

# -- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"degree": 0}, "degree must be an integer >= 1, got 0"),
        ({"degree": 2.0}, "degree must be an integer >= 1, got 2.0"),
        ({"degree": True}, "degree must be an integer >= 1, got True"),
        ({"degree": "2"}, "degree must be an integer >= 1, got '2'"),
        ({"degree": 3, "nodes": 2}, r"nodes r = 2 < degree s = 3: .* Use nodes >= degree"),
        ({"degree": 3, "nodes": 2, "quadrature": "lobatto"}, "nodes r = 2 < degree s = 3"),
        ({"degree": 2, "nodes": 2.5}, "nodes must be an integer >= 1, got 2.5"),
        ({"degree": 1, "nodes": 1, "quadrature": "lobatto"}, "nodes must be an integer >= 2, got 1"),
        ({"degree": 2, "multiplier_degree": 3}, r"multiplier_degree w = 3 with degree s = 2: .* <= 2"),
        ({"degree": 2, "multiplier_degree": 3, "constraint_quadrature": "radau"}, "multiplier_degree <= 2"),
        ({"degree": 2, "multiplier_degree": 4, "constraint_quadrature": "gauss"}, "multiplier_degree <= 3"),
        ({"degree": 2, "multiplier_degree": 0}, "multiplier_degree must be an integer >= 1, got 0"),
        ({"degree": 2, "quadrature": "simpson"}, "quadrature must be one of 'gauss', 'lobatto', got 'simpson'"),
        ({"degree": 2, "quadrature": "radau"}, "quadrature must be one of 'gauss', 'lobatto', got 'radau'"),
        ({"degree": 2, "constraint_quadrature": "simpson"}, "constraint_quadrature must be one of"),
    ],
)
def test_refused_arguments(arguments, message):
    with pytest.raises(da.InputError, match=message):
        da.Galerkin(**arguments)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (da.Galerkin(2), "Galerkin(2)"),
        (da.Galerkin(2, 1), "Galerkin(2, multiplier_degree=1)"),
        (da.Galerkin(1, quadrature="lobatto"), "Galerkin(1, quadrature='lobatto')"),
        (da.Galerkin(3, project=False), "Galerkin(3, project=False)"),
    ],
)
def test_names_are_what_one_types(method, name):
    assert method.name == name


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_claims_of_the_standard_choice(degree):
    claims = da.Galerkin(degree).claims
    assert claims.order == claims.multiplier_order == 2 * degree
    assert claims.symmetric
    assert claims.symplectic
    assert claims.constraints == ("position", "velocity")
    raw = da.Galerkin(degree, project=False).claims
    assert not raw.symplectic
    assert raw.symmetric_positions
    assert raw.constraints == ("position",)
    assert "raw momenta of order" in raw.note


# -- equivalences --------------------------------------------------------------------------------------------------

SYSTEMS = {
    "double pendulum": DoublePendulum(),
    "spherical pendulum": SphericalPendulum(),
    "hamiltonian": HamiltonianSphericalPendulum(),
    "polar pendulum": PolarPendulum(),
    "rotating hoop": BeadOnRotatingHoop(),
    "driven pendulum": DrivenPendulum(),
    "kepler": Kepler(),
}


@functools.cache
def run_of(system: str, method: da.Method):
    start = SYSTEMS[system].start()
    return da.simulate(SYSTEMS[system], method, start.q0, start.v0, t=(0.0, 0.5), h=0.025)


def check_equal(system: str, one: da.Method, other: da.Method, quantities=("q", "p", "v")) -> None:
    first, second = run_of(system, one), run_of(system, other)
    for name in quantities:
        assert np.max(np.abs(getattr(first, name) - getattr(second, name))) <= 1e-12, name


@pytest.mark.parametrize("system", ["double pendulum", "spherical pendulum", "driven pendulum", "rotating hoop"])
def test_trapezoidal_rule_of_linear_motion_is_rattle(system):
    """For a constant mass matrix; otherwise the velocities at both ends of RATTLE differ."""
    check_equal(system, da.Galerkin(1, quadrature="lobatto", nodes=2), da.Rattle())


@pytest.mark.parametrize("system", ["double pendulum", "spherical pendulum", "rotating hoop"])
def test_without_projection_it_is_shake(system):
    raw = da.Galerkin(1, quadrature="lobatto", nodes=2, project=False)
    check_equal(system, raw, da.Shake())
    lam, wanted = run_of(system, raw).lam[1:], run_of(system, da.Shake()).lam[1:]
    assert np.max(np.abs(lam - wanted)) <= 1e-9 * np.max(np.abs(wanted))


@pytest.mark.parametrize("system", ["double pendulum", "polar pendulum", "rotating hoop", "hamiltonian", "kepler"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_standard_choice_is_the_gauss_spark_method(system, degree):
    check_equal(system, da.Galerkin(degree), da.gauss_spark(degree))


@pytest.mark.parametrize("system", ["spherical pendulum", "polar pendulum", "hamiltonian"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_lobatto_quadrature_with_fewer_multipliers_is_the_lobatto_spark_method(system, count):
    check_equal(system, da.Galerkin(count, count - 1, "lobatto", nodes=count), da.lobatto_spark(count, "AB"))


@pytest.mark.parametrize("system", SYSTEMS)
def test_lobatto_with_two_stages_is_rattle(system):
    check_equal(system, da.lobatto_spark(2, "AB"), da.Rattle())


@pytest.mark.parametrize("system", ["double pendulum", "polar pendulum"])
def test_projection_leaves_the_positions_alone(system):
    check_equal(system, da.Galerkin(2), da.Galerkin(2, project=False), ("q",))
    assert np.max(np.abs(run_of(system, da.Galerkin(2)).p - run_of(system, da.Galerkin(2, project=False)).p)) > 1e-8


def test_more_nodes_than_needed_change_nothing_where_the_integrand_is_a_polynomial():
    """Constant mass and gravity: L is a polynomial of degree 2s - 2 along q_d, and both rules integrate it."""
    check_equal("double pendulum", da.Galerkin(2), da.Galerkin(2, quadrature="lobatto", nodes=3))
    first = run_of("polar pendulum", da.Galerkin(2))
    second = run_of("polar pendulum", da.Galerkin(2, quadrature="lobatto", nodes=3))
    assert np.max(np.abs(first.q - second.q)) > 1e-8


@pytest.mark.parametrize(
    ("system", "degrees"), [(da.gallery.Pendulum(), (1, 2, 3, 4)), (da.gallery.DoublePendulum(), (1, 2))]
)
def test_the_engine_leaves_no_more_unknowns_than_the_null_space(system, degrees):
    """s n equations are what the null space method would leave: eliminating the multipliers does as well."""
    start = system.start()
    for s in degrees:
        run = da.simulate(system, da.Galerkin(s), start.q0, start.v0, t=(0.0, 0.02), h=0.01)
        assert sum(run.stats["newton_unknowns"]) <= s * len(start.q0)
