"""Several phases as one problem of optimisation: the steps of each, and the links between them.

z = (z of every phase, impulses and slacks of every link); the rows stand in the same order. A `Phased` problem answers
like a `Transcription`, so that the same solvers find its optimum.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse

from .links import Joint, Link, Place, make_link
from .transcription import Transcription, Values


class Phased:
    """The problem of the module's docstring as functions of one vector z."""

    def __init__(self, parts: list[Transcription], joints: Sequence[Joint], ends: Sequence[np.ndarray]) -> None:
        """`ends`: (q, v) near the end of every phase."""
        self.parts = parts
        self.offsets = np.cumsum([0, *(part.count for part in parts)])
        self.first_rows = np.cumsum([0, *(part.row_count for part in parts)])
        self.links: list[Link] = []
        self.count, self.row_count = int(self.offsets[-1]), int(self.first_rows[-1])
        for joint in joints:
            place = Place(self.count, self.row_count)
            link = make_link(parts, self.offsets, ends[joint.before], joint, place)
            self.links.append(link)
            self.count, self.row_count = self.count + link.unknowns, self.row_count + link.row_count
        self.lower, self.upper = self._bounds("lower", -np.inf), self._bounds("upper", np.inf)
        for j in range(1, len(parts)):  # the time at which a phase begins follows from its link
            self.lower[self.offsets[j + 1] - 2], self.upper[self.offsets[j + 1] - 2] = -np.inf, np.inf
        self.row_lower = np.concatenate(
            [part.row_lower for part in parts] + [np.zeros(k.row_count) for k in self.links]
        )
        self.row_upper = np.concatenate(
            [part.row_upper for part in parts] + [np.zeros(k.row_count) for k in self.links]
        )
        for link in self.links:
            end = link.first.row + link.row_count
            self.row_upper[end - link.rows.forces : end] = np.inf
        self.pattern = self._pattern()
        self._hessian_pattern: tuple[np.ndarray, np.ndarray] | None = None

    def _bounds(self, name: str, free: float) -> np.ndarray:
        of_links = np.full(self.count - self.offsets[-1], free)
        return np.concatenate([*(getattr(part, name) for part in self.parts), of_links])

    def own(self, z: np.ndarray) -> list[np.ndarray]:
        """z of every phase."""
        return [z[a:b] for a, b in itertools.pairwise(self.offsets)]

    def own_multipliers(self, multipliers: np.ndarray) -> list[np.ndarray]:
        """The multipliers of the rows of every phase."""
        return [multipliers[a:b] for a, b in itertools.pairwise(self.first_rows)]

    def slacks(self, z: np.ndarray) -> np.ndarray:
        """Those of all phases and links."""
        of_parts = [part.slacks(own) for part, own in zip(self.parts, self.own(z), strict=True)]
        return np.concatenate(of_parts + [z[link.slacks] for link in self.links])

    def lengths(self, z: np.ndarray) -> np.ndarray:
        """Those of all phases."""
        return z[self.offsets[1:] - 1]

    def size(self, z: np.ndarray) -> float:
        """The largest coordinate."""
        return max(part.size(own) for part, own in zip(self.parts, self.own(z), strict=True))

    def _link_values(self, z: np.ndarray, link: Link) -> Any:
        return link.functions.local(z[link.places][None], link.parameters[None])

    def _link_rows(self, z: np.ndarray, link: Link, values: np.ndarray) -> np.ndarray:
        rows = values.copy()
        rows[link.of_g] -= link.dependent @ z[link.slacks]
        return rows

    def evaluate(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Cost and rows alone."""
        found = [part.evaluate(own) for part, own in zip(self.parts, self.own(z), strict=True)]
        rows = [rows for _, rows in found]
        rows += [self._link_rows(z, link, self._link_values(z, link).values[0]) for link in self.links]
        return sum(cost for cost, _ in found) + self._cost_of_links(z), np.concatenate(rows)

    def _cost_of_links(self, z: np.ndarray) -> float:
        return 0.5 * sum(float(z[link.slacks] @ z[link.slacks]) for link in self.links)

    def __call__(self, z: np.ndarray) -> Values:
        """Cost and rows with their derivatives."""
        found = [part(own) for part, own in zip(self.parts, self.own(z), strict=True)]
        gradient = np.concatenate([values.gradient for values in found] + [np.zeros(self.count - self.offsets[-1])])
        rows, entries = [values.rows for values in found], [values.entries for values in found]
        for link in self.links:
            local = self._link_values(z, link)
            gradient[link.slacks] = z[link.slacks]
            rows.append(self._link_rows(z, link, local.values[0]))
            entries += [local.entries[0], -link.dependent.ravel()]
        cost = sum(values.cost for values in found) + self._cost_of_links(z)
        return Values(cost, gradient, np.concatenate(rows), np.concatenate(entries))

    def _pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the derivatives of the rows, in the order of `Values.entries`."""
        rows, columns = [], []
        for part, row, column in zip(self.parts, self.first_rows[:-1], self.offsets[:-1], strict=True):
            own = part.pattern
            rows.append(row + own[0])
            columns.append(column + own[1])
        z = np.ones(self.count)
        for link in self.links:
            local, slacks = self._link_values(z, link), np.indices(link.dependent.shape).reshape(2, -1)
            rows += [link.first.row + local.row, link.first.row + link.rows.motion + slacks[0]]
            columns += [link.places[local.column], link.slacks.start + slacks[1]]
        return np.concatenate(rows), np.concatenate(columns)

    def jacobian(self, values: Values) -> sparse.csr_matrix:
        """The derivatives of the rows by z."""
        return sparse.csr_matrix((values.entries, self.pattern), shape=(self.row_count, self.count))

    def _link_curvature(self, z: np.ndarray, multipliers: np.ndarray, link: Link) -> Any:
        own = multipliers[link.first.row : link.first.row + link.row_count]
        return link.functions.local.curvature(z[link.places][None], own[None], link.parameters[None])

    def hessian_entries(self, z: np.ndarray, multipliers: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """The lower triangle of the second derivatives of scale cost + multipliers . rows; several entries may lie in
        one place."""
        own, local = zip(self.parts, self.own(z), self.own_multipliers(multipliers), strict=True), []
        found = [part.hessian_entries(z, mu, scale) for part, z, mu in own]
        for link in self.links:
            local.append(self._link_curvature(z, multipliers, link))
            found += [local[-1].entries[0], np.full(link.dependent.shape[1], scale)]
        if self._hessian_pattern is None:
            self._hessian_pattern = self._curvature_places(local)
        return np.concatenate(found)

    def _curvature_places(self, local: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of the second derivatives."""
        rows, columns = [], []
        for part, first in zip(self.parts, self.offsets[:-1], strict=True):
            rows.append(first + part.hessian_pattern[0])
            columns.append(first + part.hessian_pattern[1])
        for link, one in zip(self.links, local, strict=True):
            slacks = np.arange(link.slacks.start, link.slacks.stop)
            pair = link.places[one.row], link.places[one.column]
            rows += [np.maximum(*pair), slacks]
            columns += [np.minimum(*pair), slacks]
        return np.concatenate(rows), np.concatenate(columns)

    @property
    def hessian_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Where these entries lie."""
        if self._hessian_pattern is None:
            self.hessian_entries(np.ones(self.count), np.ones(self.row_count))
        assert self._hessian_pattern is not None
        return self._hessian_pattern

    def costate_at_end(self, z: np.ndarray, multipliers: np.ndarray, phase: int) -> np.ndarray:
        """What the links add to the derivative of the remaining cost by the last state of a phase."""
        found = np.zeros(self.parts[phase].sizes.state)
        for link in self.links:
            if link.joint.before == phase:
                found = found + self._link_curvature(z, multipliers, link).values[0, : len(found)]
        return found

    # -- words -------------------------------------------------------------------------------------------------

    def name_of(self, row: int) -> str:
        """What messages call a row."""
        for j, (part, first) in enumerate(zip(self.parts, self.first_rows[:-1], strict=True)):
            if row < first + part.row_count:
                return f"{part.name_of(row - first)} of phase {j}"
        link = next(link for link in self.links if row < link.first.row + link.row_count)
        return f"{link.name_of(row - link.first.row)} where phase {link.joint.after} begins"

    def name_of_unknown(self, place: int) -> str:
        """What messages call an entry of z that has bounds."""
        j = int(np.searchsorted(self.offsets, place, side="right")) - 1
        return f"{self.parts[j].name_of_unknown(place - self.offsets[j])} of phase {j}"

    @property
    def is_motion(self) -> np.ndarray:
        """Which rows are equations of the motion or its start, and no conditions."""
        found = [part.is_motion for part in self.parts]
        for link in self.links:
            own = np.ones(link.row_count, bool)
            own[link.of_g], own[link.row_count - link.rows.forces :] = False, False
            found.append(own)
        return np.concatenate(found)

    def slack_part(self, z: np.ndarray) -> np.ndarray:
        """What the slacks take from every row."""
        found = [part.slack_part(own) for part, own in zip(self.parts, self.own(z), strict=True)]
        for link in self.links:
            own = np.zeros(link.row_count)
            own[link.of_g] = link.dependent @ z[link.slacks]
            found.append(own)
        return np.concatenate(found)


#: What a solver is given.
Problem = Transcription | Phased
