"""A layered layout of a directed graph: `layout` places boxes in ranks, and bends long edges.

The algorithm is that of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of
Hierarchical System Structures" (1981): ranks by the longest path, invisible boxes where an edge
passes a rank, an order in each rank by the mean of the neighbors, and positions that minimize the
squared distances to the neighbors without overlaps.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

Point = tuple[float, float]

_SWEEPS = 12  # down and up, to order a rank and to place its boxes


@dataclass
class Layout:
    """The result of `layout`.

    Attributes:
      centers: The center of each box.
      paths: For each edge the points that it passes, from box to box.
      size: The width and height of the drawing.
    """

    centers: list[Point]
    paths: list[list[Point]]
    size: Point


def layout(
    sizes: list[Point], edges: list[tuple[int, int]], gap: float = 24.0, rank_gap: float = 34.0
) -> Layout:
    """Place boxes from top to bottom so that edges point down.

    Args:
      sizes: The width and height of each box.
      edges: Pairs of the number of a box and of one below it, without cycles.
      gap: The distance between boxes side by side.
      rank_gap: The distance between ranks.

    Returns:
      The positions, from (0, 0) at the top left.
    """
    ranks = _ranks(len(sizes), edges)
    widths = [size[0] for size in sizes]
    chains, links = [], []  # the boxes that each edge passes, and the edges between ranks
    places = list(ranks)
    for first, last in edges:
        chain = [first]
        for rank in range(ranks[first] + 1, ranks[last]):
            chain.append(len(places))
            places.append(rank)
            widths.append(0.0)
        chain.append(last)
        chains.append(chain)
        links += list(itertools.pairwise(chain))
    rows: list[list[int]] = [[] for _ in range(max(places, default=-1) + 1)]
    for box, rank in enumerate(places):
        rows[rank].append(box)
    above: list[list[int]] = [[] for _ in places]
    below: list[list[int]] = [[] for _ in places]
    for first, last in links:
        above[last].append(first)
        below[first].append(last)
    _order(rows, above, below)
    x = _positions(rows, widths, above, below, gap)
    heights = [max((sizes[b][1] for b in row if b < len(sizes)), default=0.0) for row in rows]
    middle, y = [], 0.0
    for height in heights:
        middle.append(y + height / 2)
        y += height + rank_gap
    left = min((x[b] - widths[b] / 2 for b in range(len(x))), default=0.0)
    right = max((x[b] + widths[b] / 2 for b in range(len(x))), default=0.0)
    centers = [(x[b] - left, middle[places[b]]) for b in range(len(places))]
    paths = []
    for chain in chains:
        first, last = chain[0], chain[-1]
        start = (centers[first][0], centers[first][1] + sizes[first][1] / 2)
        end = (centers[last][0], centers[last][1] - sizes[last][1] / 2)
        bends: list[Point] = []
        for box in chain[1:-1]:  # straight through the rank that it passes
            half = heights[places[box]] / 2
            bends += [(centers[box][0], centers[box][1] + sign * half) for sign in (-1, 1)]
        paths.append([start, *bends, end])
    return Layout(centers[: len(sizes)], paths, (right - left, max(y - rank_gap, 0.0)))


def _ranks(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """Return the longest path from a source to each box; sources move down to their successors."""
    below: list[list[int]] = [[] for _ in range(count)]
    pending = [0] * count
    for first, last in edges:
        below[first].append(last)
        pending[last] += 1
    ranks, ready, order = [0] * count, [b for b in range(count) if not pending[b]], []
    sources = set(ready)
    while ready:
        box = ready.pop()
        order.append(box)
        for other in below[box]:
            ranks[other] = max(ranks[other], ranks[box] + 1)
            pending[other] -= 1
            if not pending[other]:
                ready.append(other)
    for box in sources:
        if below[box]:
            ranks[box] = min(ranks[other] for other in below[box]) - 1
    return ranks


def _order(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Sort each rank by the mean place of the neighbors, down and up."""
    place = {box: k for row in rows for k, box in enumerate(row)}
    best, fewest = [list(row) for row in rows], _crossings(rows, below, place)
    for sweep in range(_SWEEPS):
        neighbors = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            means = {
                box: sum(place[n] for n in neighbors[box]) / len(neighbors[box])
                if neighbors[box]
                else place[box]
                for box in row
            }
            row.sort(key=means.__getitem__)
            place.update((box, k) for k, box in enumerate(row))
        crossings = _crossings(rows, below, place)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    for row, ordered in zip(rows, best, strict=True):
        row[:] = ordered


def _crossings(rows: list[list[int]], below: list[list[int]], place: dict[int, int]) -> int:
    count = 0
    for row in rows:
        ends = [place[other] for box in row for other in sorted(below[box], key=place.__getitem__)]
        count += sum(a > b for k, a in enumerate(ends) for b in ends[k + 1 :])
    return count


def _positions(
    rows: list[list[int]],
    widths: list[float],
    above: list[list[int]],
    below: list[list[int]],
    gap: float,
) -> list[float]:
    """Return the horizontal centers: close to the neighbors, and without overlaps."""
    x = [0.0] * len(widths)
    for row in rows:
        offset = 0.0
        for box in row:
            x[box] = offset + widths[box] / 2
            offset += widths[box] + gap
        for box in row:
            x[box] -= (offset - gap) / 2
    for sweep in range(_SWEEPS + 1):  # the last sweep uses both sides
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            targets = []
            for box in row:
                near = above[box] if sweep % 2 == 0 else below[box]
                near = near if sweep < _SWEEPS - 1 else above[box] + below[box]
                targets.append(sum(x[n] for n in near) / len(near) if near else x[box])
            _place(row, targets, widths, gap, x)
    return x


def _place(
    row: list[int], targets: list[float], widths: list[float], gap: float, x: list[float]
) -> None:
    """Set the centers of a row near their targets (isotonic regression of the free space)."""
    offsets = [0.0]
    for left, right in itertools.pairwise(row):
        offsets.append(offsets[-1] + (widths[left] + widths[right]) / 2 + gap)
    blocks: list[tuple[float, int]] = []  # sums and counts of the targets of adjacent boxes
    for target, offset in zip(targets, offsets, strict=True):
        total, count = target - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            other_total, other_count = blocks.pop()
            total, count = total + other_total, count + other_count
        blocks.append((total, count))
    values = [total / count for total, count in blocks for _ in range(count)]
    for box, value, offset in zip(row, values, offsets, strict=True):
        x[box] = value + offset
