"""SPARK methods on constraints of every kind: mixed, affine, time-dependent, nonlinear, with reactions that do work."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.diagnostics import end_errors, observed_order, reference_solution, reversibility_defect
from dalembert.diagnostics.claims import measure_order, measure_unequal_order
from dalembert.gallery import MobileRobot, NonholonomicParticle
from dalembert.gallery.settings import case_of
from dalembert.method.spark import SparkUnknowns
from dalembert.problem import State


def mixed() -> da.System:
    """Five coordinates, a mass matrix that depends on q, a sphere, and a constraint on the velocity across it."""
    return da.system(
        lambda t, q, v: 0.5 * (v @ v) + 0.25 * (q[3] * v[4]) ** 2 - q[2] - 0.5 * (q @ q) - 0.2 * jnp.sin(q[0] * q[3]),
        holonomic=lambda t, q: 0.5 * (q[0] ** 2 + q[1] ** 2 + q[2] ** 2 - 1.0 - 0.3 * q[3] ** 2),
        nonholonomic=lambda t, q, v: v[4] - q[1] * v[3] - jnp.sin(q[0]) * v[2],
        name="mixed",
    )


def moving() -> da.System:
    """Affine in the velocity, and dependent on time."""
    return da.system(
        lambda t, q, v: 0.5 * (v @ v) - q[0] ** 2 - q[1] ** 2,
        nonholonomic=lambda t, q, v: v[2] - q[1] * v[0] - 0.4 * jnp.cos(1.3 * t),
        name="moving",
    )


def bent() -> da.System:
    """Nonlinear in the velocity and dependent on time; the force follows Chetaev's rule."""
    return da.system(
        lambda t, q, v: 0.5 * (v @ v) - 0.5 * (q @ q),
        nonholonomic=lambda t, q, v: 0.5 * (v[0] ** 2 + v[1] ** 2) - (1.0 + 0.2 * jnp.sin(t)) * v[2],
        name="bent",
    )


def rough() -> da.System:
    """A friction that grows with the square of the constraint force: nonlinear in psi."""
    return da.system(
        lambda t, q, v: 0.5 * (v @ v) - q[0] ** 2 - q[1] ** 2,
        nonholonomic=lambda t, q, v: v[2] - q[1] * v[0],
        reaction=lambda t, q, v, psi: -0.2 * (psi @ psi) * (v + jnp.array([0.0, 0.0, 0.5])),
        force=lambda t, q, v: -0.1 * v,
        name="rough",
    )


def rough_by_hand() -> State:
    """With n = k_v and n . v = 0 the multiplier of `rough` solves 0.1 psi^2 + |n|^2 psi = n . F - v0 v1."""

    def rates(t, y):
        q, v = y[:3], y[3:]
        n, force = np.array([-q[1], 0.0, 1.0]), np.array([-2 * q[0], -2 * q[1], 0.0]) - 0.1 * v
        psi = (np.sqrt((n @ n) ** 2 + 0.4 * (n @ force - v[0] * v[1])) - n @ n) / 0.2
        return v, force - n * psi - 0.2 * psi**2 * (v + np.array([0.0, 0.0, 0.5])), psi

    solution = solve_ivp(
        lambda t, y: np.concatenate(rates(t, y)[:2]), (0.0, END), np.concatenate(start_of("rough")), method="DOP853",
        rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    y = solution.y[:, -1]
    return State(q=y[:3], p=y[3:], v=y[3:], lam=np.zeros(0), psi=np.array([rates(END, y)[2]]))


SYSTEMS = {"mixed": mixed(), "moving": moving(), "bent": bent(), "rough": rough()}
#: Near these the start lies; `da.consistent` moves it onto the constraints.
NEAR = {
    "mixed": ([0.6, 0.3, 0.8, 0.5, 0.2], [0.5, -0.4, 0.1, 0.8, 0.3]),
    "moving": ([1.0, 0.2, 0.0], [0.1, 1.0, 0.4]),
    "bent": ([1.0, 0.2, 0.0], [0.3, 1.0, 0.6]),
    "rough": ([1.0, 0.2, 0.0], [0.1, 1.0, 0.0]),
}
END = 2.0
STEPS = {2: (40, 80, 160, 320), 4: (16, 24, 36, 54), 6: (14, 19, 26, 36)}


@functools.cache
def start_of(name: str):
    found = da.consistent(SYSTEMS[name], *(np.array(x) for x in NEAR[name]))
    return np.asarray(found.q), np.asarray(found.v)


@functools.cache
def reference_of(name: str):
    return rough_by_hand() if name == "rough" else reference_solution(SYSTEMS[name], *start_of(name), (0.0, END))


CASES = [
    *[("mixed", method) for method in (
        da.gauss_spark(1), da.gauss_spark(2), da.gauss_spark(3),
        da.lobatto_spark(2), da.lobatto_spark(3), da.lobatto_spark(4), da.lobatto_spark(3, "ABD"),
    )],
    *[(name, method) for name in ("moving", "bent", "rough")
      for method in (da.gauss_spark(2), da.lobatto_spark(3), da.gauss_spark(3))],
]  # fmt: skip


@pytest.mark.parametrize(("name", "method"), CASES, ids=lambda x: x.name if isinstance(x, da.Method) else x)
def test_order_and_constraints(name, method):
    system, order = SYSTEMS[name], method.claims.order
    quantities = ("q", "v", "p", "psi", *(("lam",) if system.provides("holonomic") else ()))
    found = end_errors(
        system, method, *start_of(name), (0.0, END), END / np.array(STEPS[order], dtype=float), reference_of(name),
        quantities=quantities,
    )  # fmt: skip
    for quantity in quantities:
        slope = observed_order(found.hs, found.errors[quantity]).slope
        assert slope == pytest.approx(order, abs=0.2), quantity
    run = da.simulate(system, method, *start_of(name), t=(0.0, 50.0), h=0.05)
    assert np.max(run.constraint) <= 1e-13
    assert np.max(run.hidden) <= 1e-13


@pytest.mark.parametrize(
    ("name", "method"),
    [("mixed", da.gauss_spark(2)), ("moving", da.lobatto_spark(3)), ("bent", da.gauss_spark(2))],
    ids=lambda x: x.name if isinstance(x, da.Method) else x,
)
def test_reversible(name, method):
    found = reversibility_defect(SYSTEMS[name], method, *start_of(name), (0.0, END), 0.05)
    assert found.q <= 1e-11
    assert found.p <= 1e-11


@pytest.mark.parametrize("families", ["ABC", "ABC*", "D", "AD"])
@pytest.mark.parametrize("stages", [2, 3])
def test_other_lobatto_families_have_their_order(families, stages):
    system, method = MobileRobot(), da.lobatto_spark(stages, families)
    start, order = system.start(), 2 * stages - 2
    found = end_errors(
        system, method, start.q0, start.v0, (0.0, 3.0), 3 / np.array(STEPS[order], dtype=float), system.exact(3.0),
        quantities=("q", "v", "psi"),
    )  # fmt: skip
    for quantity, errors in found.errors.items():
        assert observed_order(found.hs, errors).slope == pytest.approx(order, abs=0.2), quantity


@pytest.mark.parametrize(("stages", "q_order", "v_order"), [(1, 2, 2), (2, 4, 2), (3, 6, 4)])
def test_standard_gauss_loses_order_and_leaves_the_constraint(stages, q_order, v_order):
    """Constraints at the stages instead of the end of the step."""
    system, method = MobileRobot(), da.standard_gauss(stages)
    start = system.start()
    found = end_errors(
        system, method, start.q0, start.v0, (0.0, 3.0), 3 / np.array([20.0, 30.0, 45.0, 68.0]), system.exact(3.0),
        quantities=("q", "v"),
    )  # fmt: skip
    assert observed_order(found.hs, found.errors["q"]).slope == pytest.approx(q_order, abs=0.2)
    assert observed_order(found.hs, found.errors["v"]).slope == pytest.approx(v_order, abs=0.2)
    assert method.claims.order == v_order
    run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 3.0), h=0.1)
    assert np.max(run.hidden) > 1e-6


@pytest.mark.parametrize(("stages", "order"), [(1, 1), (2, 2), (3, 3)])
def test_standard_gauss_has_its_order_for_odd_stages_with_equal_steps_only(stages, order):
    """Errors of the momentum that change their sign from step to step cancel where the steps are equal."""
    case = case_of("mobile-robot", MobileRobot(), da.standard_gauss(stages))
    assert measure_order(case, "p", case.claims.order).holds
    found = measure_unequal_order(case, {"p": case.claims.unequal_order or case.claims.order})
    assert found.value == pytest.approx(order, abs=0.2)
    assert measure_unequal_order(case, {"p": 4}).holds is False


def test_lobatto_pairs_differ_where_the_constraint_matrix_moves():
    """IIIA-B and IIIA-B-D agree while the robot keeps its heading, and only then."""
    for spin, equal in ((0.0, True), (1.0, False)):
        system = MobileRobot(spin=spin)
        start = system.start()
        runs = [
            da.simulate(system, da.lobatto_spark(2, families), start.q0, start.v0, t=(0.0, 5.0), h=0.1)
            for families in ("AB", "ABD")
        ]
        assert (np.max(np.abs(runs[0].q - runs[1].q)) <= 1e-12) == equal


# -- Newton from afar ----------------------------------------------------------------------------------------------


class FromAfar(da.Spark):
    """Multipliers guessed far off."""

    offset: float = 0.0

    def guess(self, step: da.Step) -> SparkUnknowns:
        x = super().guess(step)
        return x._replace(Psi=x.Psi + self.offset, Lam=x.Lam - self.offset)


@pytest.mark.parametrize("name", ["mixed", "bent", "rough"])
@pytest.mark.parametrize("offset", [10.0, 1e3])
def test_a_poor_guess_of_the_multipliers_converges_or_is_reported(name, offset):
    """Guesses on the other side of zero would find the second root of the quadratic equation of `rough`, rightly."""
    tableau = da.gauss_spark(2).tableau
    wanted = da.simulate(SYSTEMS[name], da.Spark(tableau), *start_of(name), t=(0.0, 1.0), h=0.05)
    run = da.simulate(
        SYSTEMS[name], FromAfar(tableau, offset), *start_of(name), t=(0.0, 1.0), h=0.05, on_failure="return"
    )
    if run.status:
        assert np.max(np.abs(run.q - wanted.q)) <= 1e-10
    else:
        assert "failed" in run.status.message
        taken = len(run)
        assert np.max(np.abs(run.q - wanted.q[:taken])) <= 1e-10


def test_a_poor_guess_is_no_matter_where_the_equations_are_linear_in_the_multipliers():
    start = NonholonomicParticle().start()
    runs = [
        da.simulate(NonholonomicParticle(), FromAfar(da.gauss_spark(2).tableau, offset), start.q0, start.v0, h=0.05)
        for offset in (0.0, 1e3)
    ]
    assert np.max(np.abs(runs[0].q - runs[1].q)) <= 1e-12
