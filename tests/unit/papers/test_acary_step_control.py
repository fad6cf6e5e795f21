"""Figure 3 of Acary: in both problems the estimate (61) decides on the steps, and not a largest step."""

import numpy as np
import pytest

from dalembert.papers.acary.fig_3 import LARGEST, METHODS, controlled, simulated


@pytest.mark.parametrize("problem", list(METHODS))
def test_the_estimate_decides_while_anything_moves(problem):
    """Otherwise the two kinds of control would draw one curve."""
    ends = []
    for event_aware in (False, True):
        run = simulated(problem, controlled(1e-3, event_aware))
        moving = np.abs(run.v[:-1, 0]) > 1e-2
        assert np.max(np.diff(run.t)[moving]) < 0.99 * LARGEST
        ends.append(len(run.t))
    assert ends[0] != ends[1]
