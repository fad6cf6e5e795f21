"""What is left of measurements after a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import instance
from ..control import Fit
from .style import PALETTE, check_figure, new_figure, save_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_residuals(fit: Fit, path=None) -> Figure:
    """(measured - computed) / noise of every output against time; the band holds 95 of 100 of normal noise."""
    instance("fit", fit, Fit, "what da.fit gave")
    check_figure(path)
    with style():
        figure = new_figure(7.2, 3.6, path)
        axes = figure.add_subplot()
        axes.axhspan(-1.96, 1.96, color="0.92", zorder=0)
        axes.axhline(0.0, color="0.6", lw=0.8)
        outputs = fit.residuals[0].shape[1]
        for k in range(outputs):
            t = np.concatenate(fit.times)
            left = np.concatenate([part[:, k] for part in fit.residuals])
            axes.plot(t, left, ls="", marker="o", ms=3.0, color=PALETTE[k % len(PALETTE)], label=f"output {k}")
        axes.set_xlabel("$t$")
        axes.set_ylabel("residual / noise")
        if outputs > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)
    return figure
