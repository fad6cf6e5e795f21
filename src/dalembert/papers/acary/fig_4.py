"""Figure 4: implicit Runge-Kutta methods between the impacts."""

import dalembert as da

from .capturing import experiment

METHODS = {
    "Radau IIA 3": da.radau_iia(2),
    "Radau IIA 5": da.radau_iia(3),
    "Lobatto IIIA 2": da.lobatto_iiia(2),
    "Lobatto IIIA 4": da.lobatto_iiia(3),
    "Lobatto IIIA 6": da.lobatto_iiia(4),
}

EXPERIMENT = experiment(
    "acary-fig-4",
    "Order of event-capturing schemes with implicit Runge-Kutta methods",
    METHODS,
    (53, 71, 97, 139, 199, 283, 401, 563, 797, 1129, 1597),
)
