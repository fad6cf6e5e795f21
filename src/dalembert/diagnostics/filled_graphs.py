"""Distances of filled-in graphs, compiled. Importing this module imports numba.

A graph is a connected line through points (t, x_1, ..., x_n), the rows of an array. The distance of two points is
the Euclidean one or max(|dt|, |dx|), with the Euclidean |dx|.
"""

from __future__ import annotations

import numpy as np

from ..nonlinear.compilation import compiled

#: Pieces of a graph shorter than this part of its extent are not divided further.
SHORTEST_PIECE = 1e-13
#: Segments in a leaf of the tree of boxes.
LEAF = 8


@compiled
def length_of(vector, euclidean):
    squares = 0.0
    for k in range(1, len(vector)):
        squares += vector[k] ** 2
    if euclidean:
        return np.sqrt(vector[0] ** 2 + squares)
    return max(abs(vector[0]), np.sqrt(squares))


@compiled
def distance_to_segment(point, begin, end, euclidean):
    """Distance of a point from a segment.

    On the segment, dt = a + b s and |dx|^2 = c + 2 d s + e s^2 with 0 <= s <= 1. The maximum of |dt| and |dx| is
    convex in s: it is smallest where one of the two is, where both are equal, or at an end.
    """
    a, b = begin[0] - point[0], end[0] - begin[0]
    c = d = e = 0.0
    for k in range(1, len(point)):
        offset, edge = begin[k] - point[k], end[k] - begin[k]
        c += offset * offset
        d += offset * edge
        e += edge * edge
    if euclidean:
        length = b * b + e
        s = min(max(-(a * b + d) / length, 0.0), 1.0) if length > 0.0 else 0.0
        return np.sqrt((a + b * s) ** 2 + max(c + s * (2.0 * d + s * e), 0.0))
    square, half, rest = b * b - e, a * b - d, a * a - c
    root = np.sqrt(max(half * half - square * rest, 0.0))
    larger = -half - root if half > 0.0 else -half + root
    nearest = np.inf
    for candidate in range(6):
        s = 0.0
        if candidate == 1:
            s = 1.0
        elif candidate == 2 and b > 0.0:
            s = -a / b
        elif candidate == 3 and e > 0.0:
            s = -d / e
        elif candidate == 4 and square != 0.0:
            s = larger / square
        elif candidate == 5 and larger != 0.0:
            s = rest / larger
        s = min(max(s, 0.0), 1.0)
        nearest = min(nearest, max(abs(a + b * s), np.sqrt(max(c + s * (2.0 * d + s * e), 0.0))))
    return nearest


@compiled
def boxes_of(graph):
    """Least and largest coordinates of the segments in each node of a binary tree; node k has 2 k and 2 k + 1."""
    leaves = 1
    while leaves * LEAF < len(graph) - 1:
        leaves *= 2
    low = np.full((2 * leaves, graph.shape[1]), np.inf)
    high = np.full((2 * leaves, graph.shape[1]), -np.inf)
    for segment in range(len(graph) - 1):
        node = leaves + segment // LEAF
        for k in range(graph.shape[1]):
            low[node, k] = min(low[node, k], graph[segment, k], graph[segment + 1, k])
            high[node, k] = max(high[node, k], graph[segment, k], graph[segment + 1, k])
    for node in range(leaves - 1, 0, -1):
        for k in range(graph.shape[1]):
            low[node, k] = min(low[2 * node, k], low[2 * node + 1, k])
            high[node, k] = max(high[2 * node, k], high[2 * node + 1, k])
    return low, high


@compiled
def distance_to_box(point, low, high, gap, euclidean):
    for k in range(len(point)):
        gap[k] = max(low[k] - point[k], point[k] - high[k], 0.0)
    return length_of(gap, euclidean)


@compiled
def nearest_segment(point, graph, low, high, hint, euclidean, enough):
    """The segment nearest to the point and its distance, or the first one found within `enough`.

    The search begins with the segment `hint` and leaves out every box farther away than what it has found.
    """
    leaves = len(low) // 2
    found, nearest = hint, distance_to_segment(point, graph[hint], graph[hint + 1], euclidean)
    gap = np.empty(len(point))
    nodes, distances = np.empty(64, dtype=np.int64), np.empty(64)
    nodes[0], distances[0] = 1, 0.0
    waiting = 1
    while waiting > 0 and nearest > enough:
        waiting -= 1
        node = nodes[waiting]
        if distances[waiting] >= nearest:
            continue
        if node >= leaves:
            first = (node - leaves) * LEAF
            for segment in range(first, min(first + LEAF, len(graph) - 1)):
                distance = distance_to_segment(point, graph[segment], graph[segment + 1], euclidean)
                if distance < nearest:
                    found, nearest = segment, distance
            continue
        left = distance_to_box(point, low[2 * node], high[2 * node], gap, euclidean)
        right = distance_to_box(point, low[2 * node + 1], high[2 * node + 1], gap, euclidean)
        nearer = 2 * node if left <= right else 2 * node + 1
        nodes[waiting], distances[waiting] = 4 * node + 1 - nearer, max(left, right)
        nodes[waiting + 1], distances[waiting + 1] = nearer, min(left, right)
        waiting += 2
    return found, nearest


@compiled
def farthest(a, b, euclidean, accuracy):
    """sup over the points of the graph a of their distance from the graph b, to the relative accuracy given.

    Each segment of a is divided until no part can exceed what has been found. A part cannot, if one segment S of b
    is near enough to both its ends: the distance from S is convex.
    """
    low, high = boxes_of(b)
    extent = 0.0
    for k in range(a.shape[1]):
        extent = max(extent, np.max(a[:, k]) - np.min(a[:, k]))
    largest, hint = 0.0, 0
    begins, ends = np.empty(128), np.empty(128)
    for i in range(len(a) - 1):
        edge = a[i + 1] - a[i]
        length = length_of(edge, euclidean)
        begins[0], ends[0] = 0.0, 1.0
        waiting = 1
        while waiting > 0:
            waiting -= 1
            begin, end = begins[waiting], ends[waiting]
            middle, half = 0.5 * (begin + end), 0.5 * (end - begin) * length
            hint, distance = nearest_segment(a[i] + middle * edge, b, low, high, hint, euclidean, largest - half)
            if distance <= largest - half:
                continue
            largest = max(largest, distance)
            bound = max(
                distance_to_segment(a[i] + begin * edge, b[hint], b[hint + 1], euclidean),
                distance_to_segment(a[i] + end * edge, b[hint], b[hint + 1], euclidean),
            )
            if bound > (1.0 + accuracy) * largest and half > SHORTEST_PIECE * extent:
                begins[waiting], ends[waiting] = begin, middle
                begins[waiting + 1], ends[waiting + 1] = middle, end
                waiting += 2
    return largest
