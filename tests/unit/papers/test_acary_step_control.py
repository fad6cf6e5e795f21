"""Figure 3 of Acary: the step control of the whole figure, not only of its quick part."""

import pytest

from dalembert.papers.acary.fig_3 import TOLERANCES, controlled, largest_step


@pytest.mark.parametrize("event_aware", [False, True])
def test_every_tolerance_of_the_figure_gives_a_step_control(event_aware):
    for tolerance in TOLERANCES:
        control = controlled(tolerance, event_aware)
        assert control.h0 <= control.h_max == largest_step(tolerance)
