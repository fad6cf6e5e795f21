"""Runs: repeatable to the last bit, the same however they are cut, alone or in an ensemble; few Newton iterations."""

import numpy as np
import pytest

import dalembert as da
from dalembert.engine.runners import choice
from dalembert.gallery import Chain, Pendulum

START = Pendulum().start()
SPAN = {"t": (0.0, 2.0), "h": 0.01}


def pendulum(**options):
    return da.simulate(Pendulum(), da.Rattle(), START.q0, START.v0, **(SPAN | options))


# -- determinism ----------------------------------------------------------------------------------------------


def test_two_runs_are_equal_to_the_last_bit():
    one, other = pendulum(), pendulum()
    for part in ("t", "q", "p", "v", "lam"):
        assert getattr(one, part).tobytes() == getattr(other, part).tobytes()


@pytest.mark.parametrize("every", [2, 5, 200])
def test_saving_less_does_not_change_what_is_saved(every):
    assert pendulum(save_every=every).q.tobytes() == pendulum().q[::every].tobytes()


def test_chunks_change_a_run_by_roundoff_only(tune):
    """The scales in which Newton's updates are measured are found anew for every chunk: not bitwise, but roundoff."""
    whole = pendulum()
    tune(chunk_operations=3000)
    pieces = pendulum()
    np.testing.assert_allclose(pieces.q, whole.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(pieces.p, whole.p, rtol=0, atol=1e-13)
    assert pieces.stats["newton_iterations"] <= whole.stats["newton_iterations"] + 200
    assert len(pieces.iterations) == 200


# -- ensembles ------------------------------------------------------------------------------------------------


def starts(members: int) -> tuple[np.ndarray, np.ndarray]:
    angle, speed = np.linspace(0.1, 2.5, members), np.linspace(-2.0, 2.0, members)[:, None]
    q0 = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    return q0, speed * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_members_are_what_single_runs_are():
    q0, v0 = starts(11)
    batch = da.simulate(Pendulum(), da.Rattle(), q0, v0, **SPAN)
    assert batch.q.shape == (11, 201, 2)
    assert np.all(batch.status == 0)
    for k in (0, 5, 10):
        alone = da.simulate(Pendulum(), da.Rattle(), q0[k], v0[k], **SPAN)
        np.testing.assert_allclose(batch.q[k], alone.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(batch.p[k], alone.p, rtol=0, atol=1e-12)


def test_observables_of_an_ensemble_are_those_of_its_members():
    gravity = np.array([1.0, 5.0, 9.81])
    run = da.simulate(Pendulum(gravity=gravity), da.Rattle(), [1.0, 0.0], [0.0, 1.0], t=(0.0, 0.2), h=0.01)
    for name in ("energy", "constraint", "hidden"):
        together = getattr(run, name)
        assert together.shape == (3, 21)
        for k in range(3):
            np.testing.assert_array_equal(together[k], getattr(run.member(k), name))
    for name, values in run.invariants.items():
        np.testing.assert_array_equal(values[1], run.member(1).invariants[name])


def test_ensembles_are_repeatable_to_the_last_bit():
    q0, v0 = starts(7)
    one, other = (da.simulate(Pendulum(), da.Rattle(), q0, v0, **SPAN) for _ in range(2))
    assert one.q.tobytes() == other.q.tobytes()


def test_member_that_fails_does_not_stop_the_others():
    q0, v0 = starts(9)
    v0 = v0.copy()
    v0[3] *= 1000.0  # a turn in a fraction of a step
    with pytest.raises(da.StepFailure, match="1 of 9 members of the batch failed, the first is member 3"):
        da.simulate(Pendulum(), da.Rattle(), q0, v0, **SPAN)
    batch = da.simulate(Pendulum(), da.Rattle(), q0, v0, on_failure="return", **SPAN)
    assert np.flatnonzero(batch.status).tolist() == [3]
    assert batch.stats["run_alone"] == 1
    good = np.delete(np.arange(9), 3)
    assert np.max(np.abs(np.sum(batch.q[good] ** 2, axis=-1) - 1.0)) <= 1e-13
    np.testing.assert_array_equal(batch.q[3, -1], batch.q[3, -2])  # stays where it failed
    alone = da.simulate(Pendulum(), da.Rattle(), q0[4], v0[4], **SPAN)
    np.testing.assert_allclose(batch.q[4], alone.q, rtol=0, atol=1e-12)


def test_parameters_may_be_batched():
    lengths = np.array([0.5, 1.0, 2.0])
    q0 = lengths[:, None] * np.asarray(START.q0)
    batch = da.simulate(Pendulum(length=lengths), da.Rattle(), q0, np.asarray(START.v0), **SPAN)
    for k, length in enumerate(lengths):
        alone = da.simulate(Pendulum(length=length), da.Rattle(), q0[k], START.v0, **SPAN)
        np.testing.assert_allclose(batch.q[k], alone.q, rtol=0, atol=1e-12)


def test_members_must_agree_in_number():
    q0, v0 = starts(4)
    with pytest.raises(da.InputError, match=r"must agree in number, got leading axes of \[3, 4\]"):
        da.simulate(Pendulum(), da.Rattle(), q0, v0[:3], **SPAN)
    with pytest.raises(da.InputError, match=r"must agree in number, got leading axes of \[2, 4\]"):
        da.simulate(Pendulum(length=np.ones(2)), da.Rattle(), q0, v0, **SPAN)


# -- extended precision ---------------------------------------------------------------------------------------


def test_extended_precision():
    run, double = pendulum(precision="extended"), pendulum()
    assert run.q.dtype == run.p.dtype == np.longdouble
    g = (run.q[1:, 0] ** 2 + run.q[1:, 1] ** 2 - 1) / 2
    assert g.dtype == np.longdouble
    assert np.max(np.abs(g)) <= 1e-18
    np.testing.assert_allclose(run.q.astype(float), double.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.p.astype(float), double.p, rtol=0, atol=1e-12)


def test_extended_precision_is_refused_by_xla_and_for_batches():
    with pytest.raises(da.InputError, match='precision="extended" needs the native engine'):
        pendulum(precision="extended", engine="xla")
    with pytest.raises(da.InputError, match="double precision"):
        da.simulate(Pendulum(), da.Rattle(), *starts(2), **SPAN, precision="extended")
    with pytest.raises(da.InputError, match='precision must be "double" or "extended"'):
        pendulum(precision="quadruple")


# -- effort ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("system", "unknowns"), [(Pendulum(), [1]), (Chain(links=2), [2]), (Chain(links=5), [5])])
def test_newton_effort(system, unknowns):
    choice._native.cache_clear()  # pivots chosen at the start of another test may leave other unknowns
    start = system.start()
    run = da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 2.0), h=0.01)
    assert run.stats["newton_unknowns"] == unknowns
    assert run.stats["newton_iterations"] == np.sum(run.iterations)
    assert run.stats["newton_iterations"] <= 3 * 200
    assert run.stats["unknowns"] == run.stats["substituted"] + run.stats["solved_directly"] + sum(unknowns)
    assert "pivot_changes" not in run.stats
    assert "rescued_steps" not in run.stats
