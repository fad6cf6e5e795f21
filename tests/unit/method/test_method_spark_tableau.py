"""SPARK tableaux: what is refused, and which claims follow from the coefficients."""

import equinox as eqx
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import NonholonomicParticle, Pendulum
from dalembert.method.tableau import quadrature, runge_kutta_matrix

MIDPOINT = {"A": [[0.5]], "b": [1.0], "c": [0.5]}
LOBATTO_A = runge_kutta_matrix("A", 3)
LOBATTO = quadrature("lobatto", 3)


def tableau(**changes) -> da.SparkTableau:
    return da.SparkTableau(**(MIDPOINT | changes))


def lobatto_tableau(**changes) -> da.SparkTableau:
    return da.SparkTableau(**({"A": LOBATTO_A, "b": LOBATTO.weights, "c": LOBATTO.nodes} | changes))


# -- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": [[0.5, 0.5]]}, r"A of a SPARK tableau with 1 stages must have shape \(1, 1\), got \(1, 2\)"),
        ({"b": []}, r"b of a SPARK tableau must have shape \(s,\), got \(0,\)"),
        ({"b": [[1.0]]}, r"b of a SPARK tableau must have shape \(s,\), got \(1, 1\)"),
        ({"c": [0.0, 1.0]}, r"c of a SPARK tableau with 1 stages must have shape \(1,\), got \(2,\)"),
        ({"A_hat": [0.5]}, r"A_hat of .* must have shape \(1, 1\), got \(1,\)"),
        ({"A_tilde": [[0.5], [0.5]]}, r"A_tilde of .* must have shape \(1, 1\), got \(2, 1\)"),
        ({"b_hat": [0.5, 0.5]}, r"b_hat of .* must have shape \(1,\), got \(2,\)"),
        ({"b_tilde": [0.5, 0.5]}, r"b_tilde of .* must have shape \(1,\), got \(2,\)"),
        ({"omega": [[1.0, 0.0]]}, r"omega of .* must have shape \(1, 1\), got \(1, 2\)"),
        ({"A": [[np.nan]]}, r"A of a SPARK tableau must be finite, got \[\[nan\]\]"),
        ({"c": [np.inf]}, "c of a SPARK tableau must be finite"),
        ({"A": "gauss"}, "A of a SPARK tableau must be an array of numbers, got 'gauss'"),
        ({"b": [0.0]}, "with a zero weight b_i has no symplectic partner; give A_hat"),
        ({"b": [1.0], "A_hat": [[0.5]], "b_tilde": [0.0]}, r"reactions .* are not determined: \[Omega A~; b~\]"),
        ({"A_tilde": [[0.0]], "omega": [[1.0]]}, "are not determined: Omega A~ is singular"),
    ],
)
def test_refused_tableaux(changes, message):
    with pytest.raises(da.InputError, match=message):
        tableau(**changes)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_lobatto_iiia_for_the_reactions_is_refused_with_the_reason(count):
    with pytest.raises(da.InputError, match=r"\[Omega A~; b~\] is singular .* Lobatto IIIA is one such A~; use IIIB"):
        da.lobatto_spark(count, "ABA")


@pytest.mark.parametrize("families", ["", "E", "ABCD", "a", "AB*", None, 3])
def test_refused_families(families):
    with pytest.raises(da.InputError, match="one to three of the Lobatto families A, B, C, C"):
        da.lobatto_spark(3, families)


@pytest.mark.parametrize("build", [lambda: da.gauss_spark(0), lambda: da.lobatto_spark(1), lambda: da.gauss_spark(1.5)])
def test_refused_numbers_of_stages(build):
    with pytest.raises(da.InputError, match="quadrature needs at least"):
        build()


def test_refused_kind_of_euler():
    with pytest.raises(da.InputError, match=r'euler_spark\("I"\) or euler_spark\("II"\), got \'III\''):
        da.euler_spark("III")


def test_spark_needs_a_tableau():
    with pytest.raises(da.InputError, match=r"da.Spark expects a da.SparkTableau, got list"):
        da.Spark([[0.5]])


# -- claims of one's own tableaux ----------------------------------------------------------------------------------


def test_midpoint_by_hand_has_the_claims_of_the_ready_made_one():
    own, ready = da.Spark(tableau()), da.gauss_spark(1)
    assert own.claims == ready.claims
    assert own.claims.order == 2
    assert own.claims.symmetric
    assert own.claims.symplectic


def test_lobatto_by_hand_is_the_ready_made_one():
    """The partner of IIIA is found; only the nodes of holonomic constraints differ."""
    own, ready = lobatto_tableau(), da.lobatto_spark(3).tableau
    for key in ("A", "A_hat", "A_tilde", "b", "b_hat", "b_tilde", "c", "omega"):
        assert getattr(own, key).array == pytest.approx(getattr(ready, key).array, abs=1e-15)
    assert da.Spark(own).claims == da.lobatto_spark(3).claims


def test_forces_that_are_not_the_partner_of_the_velocities_lose_the_principle():
    claims = da.Spark(lobatto_tableau(A_hat=runge_kutta_matrix("D", 3), A_tilde=runge_kutta_matrix("D", 3))).claims
    assert claims.order == 4
    assert claims.symmetric
    assert not claims.symplectic
    assert not claims.momentum
    assert "no discrete Lagrange-d'Alembert principle" in claims.note


def test_coefficients_that_are_not_symmetric_lose_the_symmetry():
    claims = da.lobatto_spark(3, "ABC").claims
    assert claims.order == 4
    assert claims.symplectic
    assert not claims.symmetric


def test_unequal_weights_lose_the_principle():
    claims = da.Spark(lobatto_tableau(b_hat=[0.25, 0.5, 0.25], A_hat=runge_kutta_matrix("B", 3))).claims
    assert claims.order == 2
    assert not claims.symplectic


@pytest.mark.parametrize(
    ("method", "order"),
    [
        *[(da.gauss_spark(s), 2 * s) for s in range(1, 7)],
        *[(da.lobatto_spark(s, families), 2 * s - 2)
          for s in range(2, 7) for families in ("AB", "ABC", "ABC*", "ABD", "D", "AD", "B", "C")],
        (da.euler_spark("I"), 1),
        (da.euler_spark("II"), 1),
        (da.standard_gauss(1), 2),
        (da.standard_gauss(2), 2),
        (da.standard_gauss(3), 4),
    ],
    ids=lambda x: x.name if isinstance(x, da.Method) else str(x),
)  # fmt: skip
def test_claimed_orders(method, order):
    assert method.order == method.claims.multiplier_order == order


def test_an_order_that_needs_equal_steps_is_claimed_for_those_only():
    assert [da.standard_gauss(s).claims.unequal_order for s in (1, 2, 3, 4)] == [1, None, 3, None]
    assert da.gauss_spark(3).claims.unequal_order is None


def test_constraints_at_the_stages_only_are_not_claimed_at_the_end():
    claims = da.standard_gauss(2).claims
    assert claims.constraints == ("position",)
    assert not claims.symmetric
    assert "hold at the stages only" in claims.note


def test_one_low_order_part_decides():
    claims = da.Spark(da.SparkTableau(A=[[0.5]], b=[1.0], c=[0.5], A_hat=[[0.5]], A_tilde=[[1.0]])).claims
    assert claims.order == 1
    assert not claims.symmetric


# -- identity ------------------------------------------------------------------------------------------------------


def test_equal_tableaux_are_one_key():
    assert da.gauss_spark(2).tableau == da.gauss_spark(2).tableau
    assert hash(da.gauss_spark(2).tableau) == hash(da.gauss_spark(2).tableau)
    assert da.gauss_spark(2).tableau != da.gauss_spark(3).tableau
    assert da.lobatto_spark(3, "ABC").tableau != da.lobatto_spark(3, "ABC*").tableau
    assert eqx.tree_equal(da.gauss_spark(2), da.gauss_spark(2))


def test_coefficients_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="read-only"):
        da.gauss_spark(2).tableau.A.array[0, 0] = 1.0


def test_names_are_what_one_types():
    assert da.gauss_spark(2).name == "gauss_spark(2)"
    assert da.lobatto_spark(3, "ABC*").name == 'lobatto_spark(3, "ABC*")'
    assert da.euler_spark("II").name == 'euler_spark("II")'
    assert da.Spark(tableau()).name.startswith("Spark(SparkTableau(A=[[0.5]], b=[1.0], c=[0.5]")
    assert da.Spark(tableau(name="mine")).name == "mine"


# -- systems that do not fit ---------------------------------------------------------------------------------------


def test_a_tableau_without_nodes_for_holonomic_constraints():
    """Two stages at the same place: no polynomial passes through both velocities."""
    twice = da.SparkTableau(
        A=[[0.25, 0.25], [0.25, 0.25]], b=[0.5, 0.5], c=[0.5, 0.5], A_tilde=[[0.25, 0.0], [0.5, 0.5]],
        omega=[[1.0, 0.0]],
    )  # fmt: skip
    start = Pendulum().start()
    with pytest.raises(da.MethodDoesNotFit, match="no nodes for holonomic constraints"):
        da.simulate(Pendulum(), da.Spark(twice), start.q0, start.v0)


@pytest.mark.parametrize("method", [da.Rattle(), da.Galerkin(2)], ids=lambda method: method.name)
def test_methods_for_holonomic_constraints_refuse_others(method):
    start = NonholonomicParticle().start()
    with pytest.raises(da.MethodDoesNotFit, match="does not treat nonholonomic"):
        da.simulate(NonholonomicParticle(), method, start.q0, start.v0)
