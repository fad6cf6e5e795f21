"""The frame of the experiments, and that every experiment fits into it."""

import inspect

import numpy as np
import pytest

from dalembert.errors import InputError
from dalembert.papers import (
    CONFIRMED,
    CORRECTED,
    EXPERIMENTS,
    MOTIONS,
    REFUTED,
    Claim,
    Experiment,
    Motion,
    Paper,
    Result,
    erratum,
    experiment_named,
    judged,
)
from dalembert.papers.energy import judge_energy
from dalembert.papers.jay.fig_8_4 import growth_exponent, later_to_earlier, starting_values

PAPER = Paper(9, "someone", "Someone, Something, 1900", "Something")


def test_a_claim_knows_three_verdicts():
    with pytest.raises(InputError, match="verdict must be one of 'confirmed'"):
        Claim("it holds", "perhaps", "1")


def test_verdicts_follow_from_the_measurement():
    assert judged(True, "a", "b") == Claim("a", CONFIRMED, "b")
    assert judged(True, "a", "b", correction="c", note="n") == Claim("a", CORRECTED, "b", "c n")
    assert judged(np.bool_(False), "a", "b", correction="c") == Claim("a", REFUTED, "b", "c", as_expected=False)
    assert judged(np.bool_(False), "a", "b").as_expected is False


def test_a_known_erratum_is_expected_to_be_refuted():
    assert erratum(False, "a", "b", "why") == Claim("a", REFUTED, "b", "why", as_expected=True)
    assert erratum(True, "a", "b", "why") == Claim("a", CONFIRMED, "b", "why", as_expected=False)


def test_columns_have_one_length():
    Result({"table": {"x": [1, 2], "y": np.zeros(2)}})
    with pytest.raises(InputError, match=r"columns of the table 'table' must have one length, got \{'x': 1, 'y': 2\}"):
        Result({"table": {"x": [1], "y": [1, 2]}})


@pytest.mark.parametrize("name", ["someone", "else-fig-1", "someone fig 1", "someone-Fig-1"])
def test_names_begin_with_the_paper(name):
    with pytest.raises(InputError, match="such as someone-fig-1"):
        Experiment(name, PAPER, "title", "setup", lambda quick: Result(), lambda result: None)  # pyright: ignore


def test_unknown_names_are_answered_with_the_known_ones():
    assert experiment_named("Jay-Fig-8.1") is EXPERIMENTS["jay-fig-8.1"]
    with pytest.raises(InputError, match=r"unknown experiment 'jay-fig-9'; expected one of: .*jay-fig-8.1.*wenger"):
        experiment_named("jay-fig-9")


def test_papers_are_in_order():
    numbers = [experiment.paper.number for experiment in EXPERIMENTS.values()]
    assert numbers == sorted(numbers)
    assert [name for name in EXPERIMENTS if name.startswith("jay-")] == [f"jay-fig-8.{k}" for k in (1, 2, 3, 4)]


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_is_described(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert experiment.title
    assert experiment.paper.citation
    assert len(experiment.setup.split()) > 30
    assert experiment.setup.count("$") % 2 == 0
    assert list(inspect.signature(experiment.run).parameters) == ["quick"]
    assert list(inspect.signature(experiment.draw).parameters) == ["result"]


def test_a_bounded_energy_error_is_told_from_a_drift():
    t = np.linspace(0.0, 100.0, 5001)
    assert judge_energy(t, 1e-3 * np.sin(t)).bounded
    assert not judge_energy(t, 1e-3 * np.sin(t) + 2e-5 * t).bounded
    assert not judge_energy(t, 1e-5 * t * np.sin(t)).bounded
    assert judge_energy(t, 1e-16 * np.arange(5001) / 5001).bounded  # roundoff says nothing


def test_growth_exponents_are_found():
    t = np.linspace(0.0, 1000.0, 5001)
    for exponent in (0.8, 1.0, 1.3):
        assert growth_exponent(t, 0.3 + 0.02 * t**exponent) == pytest.approx(exponent, abs=0.03)
    assert growth_exponent(t, np.full_like(t, 0.3)) == 0.0
    assert later_to_earlier(np.full(100, 0.3)) == pytest.approx(1.0)
    assert later_to_earlier(t) == pytest.approx(9.0, rel=1e-2)


def test_starting_values_lie_on_one_energy_surface():
    q0, v0 = starting_values(10)
    kinetic = 0.5 * np.sum(v0**2, axis=1)
    pairs = q0[:, 4] ** 2 * q0[:, 5] ** 2 + np.sum(q0[:, 1:4] ** 2 * q0[:, 4:] ** 2, axis=1)
    np.testing.assert_allclose(kinetic + 0.5 * (np.sum(q0**2, axis=1) + pairs), 3.06, rtol=1e-15)


def test_every_paper_has_motions():
    assert set(MOTIONS) == {experiment.paper.key for experiment in EXPERIMENTS.values()}
    assert all(len(motions) >= 2 for motions in MOTIONS.values())


@pytest.mark.parametrize(("key", "name"), [("odae", "cubic"), ("jay", "skate"), ("wenger", "pendulums")])
def test_motions_can_be_computed(key, name):
    motion = MOTIONS[key][name]()
    assert motion.points.shape[0] == len(motion.t)
    assert motion.title
    assert motion.caption


@pytest.mark.long
@pytest.mark.parametrize("name", [(key, name) for key, motions in MOTIONS.items() for name in motions], ids="-".join)
def test_all_motions_can_be_computed(name):
    assert np.ptp(MOTIONS[name[0]][name[1]]().points) > 0.5


def test_motions_are_checked():
    t = np.linspace(0.0, 1.0, 3)
    with pytest.raises(InputError, match=r"points must have shape \(3, points, 2 or 3\), got \(2, 1, 2\)"):
        Motion("a", "b", t, np.zeros((2, 1, 2)))
    with pytest.raises(InputError, match="must be finite"):
        Motion("a", "b", t, np.full((3, 1, 2), np.nan))
    with pytest.raises(InputError, match="needs 1 names, got 2"):
        Motion("a", "b", t, np.zeros((3, 1, 2)), names=("x", "y"))
