"""The printed tables, and that orders are measured rightly."""

import numpy as np
import pytest

from dalembert.papers.wenger import orders
from dalembert.papers.wenger.efficiency import Costs, at_accuracy
from dalembert.papers.wenger.orders import agrees, measure, pendulum
from dalembert.papers.wenger.printed import QUANTITIES, Entry, entries


@pytest.mark.parametrize(("rule", "count"), [("gauss", 168), ("lobatto", 228)])
def test_tables_are_complete(rule, count):
    found = entries(rule)
    assert sum(len(entry.orders) for entry in found) == count
    assert len({(entry.s, entry.w, entry.rule_order) for entry in found}) == count // 3
    assert all(entry.nodes >= entry.s >= entry.w for entry in found)


def test_entries_stand_where_they_are_printed():
    found = {(entry.s, entry.w, entry.rule_order): entry.orders for entry in entries("lobatto")}
    assert found[2, 2, 2] == {"q": 2, "p": 2, "lam": None}
    assert found[5, 3, 8] == {"q": 4, "p": 2, "lam": 2}
    assert found[6, 6, 12] == {"q": 12, "p": 8, "lam": 6}
    found = {(entry.s, entry.w, entry.rule_order): entry.orders for entry in entries("gauss")}
    assert found[6, 3, 12] == {"q": 2, "p": 2, "lam": None}
    assert found[5, 4, 10] == {"q": 8, "p": 6, "lam": 4}


@pytest.mark.parametrize("rule", ["gauss", "lobatto"])
def test_printed_orders_follow_the_rules_of_the_text(rule):
    for entry in entries(rule):
        if entry.shaded:
            assert entry.orders["q"] == min(2 * entry.s, entry.rule_order, 2 * entry.w)
        if entry.shaded and entry.rule_order >= 2 * entry.s:
            even = entry.w % 2 == 0
            assert entry.orders["p"] == entry.w + (2 if even else 1)
            assert entry.orders["lam"] == entry.w + (0 if even else 1)


def test_agreement():
    assert agrees(1.9, 2)
    assert not agrees(1.4, 2)
    assert agrees(0.02, None)
    assert not agrees(2.0, None)
    assert agrees(None, 4) is None


def test_slopes_leave_roundoff_out():
    steps = [160, 80, 40, 20, 10, 5]
    errors = [max(1.0 / n**6, 1e-12) for n in steps]
    slope, points = orders._slope(steps, errors, floor=2e-12)
    assert slope == pytest.approx(6.0)
    assert points == 5
    assert orders._slope(steps, [1e-13] * 6, floor=1e-12) == (None, 0)


def test_orders_of_the_lowest_method():
    entry = Entry(1, 1, "gauss", 2, {"q": 2, "p": 2, "lam": 2})
    found = measure(pendulum(), entry, check_positions=True)
    assert found.lost == []
    for name in QUANTITIES:
        assert found.slopes[name] == pytest.approx(2.0, abs=0.05)


def test_a_divergent_multiplier_is_seen():
    entry = next(e for e in entries("lobatto") if (e.s, e.w, e.rule_order) == (2, 2, 2))
    found = measure(pendulum(), entry)
    assert [agrees(found.slopes[name], entry.orders[name]) for name in QUANTITIES] == [True, True, True]
    assert abs(found.slopes["lam"]) < 0.2


def test_cost_of_an_accuracy():
    found = Costs([10, 20, 40], [1e-2, 1e-4, 1e-6], [1.0, 2.0, 4.0], [100.0, 200.0, 400.0])
    assert at_accuracy(found, 1e-4) == pytest.approx(200.0)
    assert at_accuracy(found, 1e-3) == pytest.approx(np.sqrt(2) * 100.0)
    assert at_accuracy(found, 1e-8) == pytest.approx(800.0)
    assert at_accuracy(found, 1.0, "seconds") == 1.0
