"""Figure 5: half-explicit Runge-Kutta methods between the impacts."""

import dalembert as da

from .capturing import experiment

EXPERIMENT = experiment(
    "acary-fig-5",
    "Order of event-capturing schemes with half-explicit Runge-Kutta methods",
    {f"half-explicit {order}": da.half_explicit(order) for order in (2, 3, 4, 5)},
    (53, 71, 97, 139, 199, 283, 401, 563, 797, 1129, 1597),
)
