"""Figure 3 of Acary: the step control of the whole figure, not only of its quick part."""

import numpy as np
import pytest

import dalembert as da
from dalembert.papers.acary.fig_3 import SHOWN, TOLERANCES, controlled, largest_step
from dalembert.papers.acary.problems import END, PROBLEMS


@pytest.mark.parametrize("event_aware", [False, True])
@pytest.mark.parametrize("problem", SHOWN)
def test_every_tolerance_of_the_figure_gives_a_step_control(problem, event_aware):
    for tolerance in TOLERANCES:
        control = controlled(problem, tolerance, event_aware)
        assert control.h0 <= control.h_max == largest_step(problem, tolerance)


def test_on_the_oscillator_the_estimate_decides():
    """Otherwise the two kinds of control would draw one curve."""
    ends = []
    for event_aware in (False, True):
        control = controlled("oscillator", 1e-3, event_aware)
        run = da.simulate(PROBLEMS["oscillator"], da.MoreauJean(), q0=[1.0], v0=[0.0], t=(0.0, END), h=control)
        assert np.max(np.diff(run.t)) < 0.99 * control.h_max
        ends.append(len(run.t))
    assert ends[0] != ends[1]
