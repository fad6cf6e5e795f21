"""Random models, native against XLA against an independent motion: no silent difference.

The fast tests take fixed seeds. The long ones take as many as fit into DALEMBERT_FUZZ_MINUTES (2 by default, an hour in
`make test-long`), from DALEMBERT_FUZZ_SEED on (a new one each time by default); the message of a failure has the script
that reproduces it.
"""

import os
import time

import jax
import numpy as np
import pytest
import trials
from random_models import SMOOTH, smooth_model
from trials import AGREES, DIFFERS, FAILED, REFUSED, TRIALS, Outcome, judged, reduced, summary

MINUTES = float(os.environ.get("DALEMBERT_FUZZ_MINUTES", "2"))
SEED = int(os.environ.get("DALEMBERT_FUZZ_SEED", time.time_ns() % 10**9))
#: What comes after what in the long test, and the two workers that share it.
KINDS = ("smooth", "smooth", "expression", "smooth", "contact", "smooth", "smooth", "large")
PARTS = 2
#: The part of all trials that may be refused or fail with a status.
MOST_REFUSED = 0.1


def tried(kind: str, seed: int) -> Outcome:
    """The outcome of one trial; a silent difference fails the test, with the smallest model that shows it."""
    outcome = TRIALS[kind](seed)
    if outcome.kind == DIFFERS:
        if kind == "smooth":
            outcome = reduced(outcome, lambda model: judged(model, outcome.method, outcome.steps, "xla"))
        pytest.fail(
            f"python tests/trust/trials.py {kind} {seed}\n{outcome.detail}\n\n{outcome.script()}", pytrace=False
        )
    return outcome


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [2, 3, 5])
def test_some_smooth_models(seed):
    assert tried("smooth", seed).kind != FAILED


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(2))
def test_some_contacts(seed):
    assert tried("contact", seed).kind == AGREES


def test_some_expressions():
    tried("expression", 0)


@pytest.mark.filterwarnings("ignore")
def test_some_large_model():
    assert tried("large", 0).kind == AGREES


def test_a_model_that_is_slightly_wrong_is_a_difference(monkeypatch):
    """The comparison notices an exact end that is off by a thousandth, and prints a script that runs."""
    model = next(model for model in map(smooth_model, range(20, 40)) if model.smoothness == SMOOTH)
    exact = trials.exact_end

    def slightly_wrong(model):
        parts, condition = exact(model)
        return {name: part * 1.001 for name, part in parts.items()}, condition

    assert judged(model, "gauss-spark-2", 20).kind == AGREES
    monkeypatch.setattr(trials, "exact_end", slightly_wrong)
    found = judged(model, "gauss-spark-2", 20)
    assert found.kind == DIFFERS
    compile(found.script(), "<script>", "exec")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_many_models(part):
    end, outcomes, seed = time.monotonic() + 60 * MINUTES / PARTS, [], SEED + part
    while time.monotonic() < end:
        outcomes.append(tried(KINDS[len(outcomes) % len(KINDS)], seed))
        seed += PARTS
        if len(outcomes) % 25 == 0:
            jax.clear_caches()
    said = summary(outcomes)
    print(f"\nseeds {SEED + part}, {SEED + part + PARTS}, ... {seed - PARTS}\n{said}")
    refused = np.mean([outcome.kind in (REFUSED, FAILED) for outcome in outcomes]) if outcomes else 0.0
    assert refused <= MOST_REFUSED, said
