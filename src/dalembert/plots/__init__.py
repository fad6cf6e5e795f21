"""Figures one would print, and films: every function takes a run and, to save it, a path.

`plot` and `animate` have the signature of methods; the package attaches them to `Trajectory`.
"""

from .comparison import plot_energy_errors, plot_work_precision
from .figures import plot, plot_constraints, plot_convergence, plot_energy, plot_path, plot_phase
from .film import FILM_TYPES, animate
from .notebook import method_html, system_html, trajectory_html
from .residuals import plot_residuals
from .style import FIGURE_TYPES, checked_target, write_atomically

__all__ = [
    "FIGURE_TYPES",
    "FILM_TYPES",
    "animate",
    "checked_target",
    "method_html",
    "plot",
    "plot_constraints",
    "plot_convergence",
    "plot_energy",
    "plot_energy_errors",
    "plot_path",
    "plot_phase",
    "plot_residuals",
    "plot_work_precision",
    "system_html",
    "trajectory_html",
    "write_atomically",
]
