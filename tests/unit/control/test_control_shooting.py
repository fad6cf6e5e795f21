"""Multiple shooting finds the plans of direct transcription, with fewer unknowns."""

import importlib.util

import numpy as np
import pytest
from control_systems import Blade, CartPole

import dalembert as da


def effort(t, q, v, u):
    return 0.5 * u @ u


class FreeCart(CartPole):
    """Without bounds of the push."""

    inputs = ("push",)


CART = {"start": ([0.0, 0.0, -0.5], np.zeros(3)), "end": ([0.3, 0.3, -0.5], np.zeros(3)), "horizon": 2.0, "steps": 10}


@pytest.mark.parametrize("method", [da.Rattle(), da.Galerkin(2)])
def test_both_transcriptions_have_the_same_optimum(method):
    direct = da.optimal_control(FreeCart(), method, **CART, cost=effort)
    shot = da.optimal_control(FreeCart(), method, **CART, cost=effort, transcription="shooting")
    assert shot.stats["unknowns"] < 0.75 * direct.stats["unknowns"]
    assert shot.cost == pytest.approx(direct.cost, rel=1e-11)
    for name in ("q", "v", "u", "costate", "lam"):
        assert np.allclose(getattr(shot, name), getattr(direct, name), atol=1e-8), name
    assert np.max(shot.constraint) < 1e-13


@pytest.mark.skipif(importlib.util.find_spec("ipyopt") is None, reason="needs the extra control")
def test_shooting_with_bounds_a_free_length_and_rolling():
    s = np.linspace(0.0, 1.0, 13)
    asked = {
        "start": (np.zeros(3), np.zeros(3)), "end": ([0.0, 1.0, 0.0], np.zeros(3)), "horizon": (2.0, 6.0), "steps": 12,
        "guess": np.stack([0.7 * np.sin(np.pi * s), s, 1.2 * np.sin(np.pi * s)], axis=1),
        "cost": lambda t, q, v, u: 1.0 + u @ u, "bounds": {"q": ([-1.0, -1.0, -1.0], [1.0, 2.0, 1.0])},
    }  # fmt: skip
    direct = da.optimal_control(Blade(), da.gauss_spark(1), **asked)
    shot = da.optimal_control(Blade(), da.gauss_spark(1), **asked, transcription="shooting")
    assert shot.cost == pytest.approx(direct.cost, rel=1e-8)
    assert shot.horizon == pytest.approx(direct.horizon, rel=1e-6)
    assert np.allclose(shot.q, direct.q, atol=1e-5)


def test_a_wrong_transcription_is_refused():
    with pytest.raises(da.InputError, match="transcription"):
        da.optimal_control(FreeCart(), da.Rattle(), **CART, cost=effort, transcription="collocation")
