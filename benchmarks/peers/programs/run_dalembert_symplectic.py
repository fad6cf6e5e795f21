"""dalembert with methods that keep the symplectic structure: compositions of RATTLE and collocation in time."""

from __future__ import annotations

from measure import main
from problems import Problem
from run_dalembert import SYMPLECTIC, Dalembert

import dalembert as da


def make(problem: Problem) -> Dalembert:
    return Dalembert(problem, SYMPLECTIC)


if __name__ == "__main__":
    main(make, da.__version__)
