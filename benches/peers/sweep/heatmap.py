#!/usr/bin/env python3
"""Draws the sweep, each product as a small square: heatmap.py sweep.csv [limits.csv...] > heatmap.svg"""

import sys

from grid import DEPTHS, SIZES
from points import Points, gops

from results import Limits
from svg import picture, rectangle, text

CELL, LEFT, TOP = 9, 60, 104
STEP_X, STEP_Y = len(SIZES) * CELL + 40, len(SIZES) * CELL + 74
LABELLED = (1, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 300)
# From nothing to all of it.
COLOURS = [(255, 246, 205), (199, 228, 180), (110, 197, 190), (46, 145, 192), (36, 75, 157), (10, 24, 80)]


def along(share):
    """Where on the scale a share is: products that reach little are told apart better than those that reach much."""
    return min(1, max(0, share)) ** 0.5


def colour(share):
    at = along(share) * (len(COLOURS) - 1)
    low = min(int(at), len(COLOURS) - 2)
    mixed = [round(a + (b - a) * (at - low)) for a, b in zip(COLOURS[low], COLOURS[low + 1])]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def panel(x, y, k, seconds, limit):
    side = len(SIZES) * CELL
    yield text(x, y - 8, f"k = {k}", 13, extra='font-weight="bold"')
    for i, m in enumerate(SIZES):
        for j, n in enumerate(SIZES):
            shape = f"{m}x{n}x{k}"
            speed = gops(shape, seconds[shape])
            title = f"{shape}: {speed:.3g} GOPS, {100 * speed / limit:.0f} %"
            yield rectangle(x + j * CELL, y + i * CELL, CELL - 0.5, CELL - 0.5, colour(speed / limit), title)
    for size in LABELLED:
        middle = (SIZES.index(size) + 0.5) * CELL
        yield text(x - 4, y + middle + 3, size, 8, "end", "#666")
        yield text(0, 0, size, 8, "end", "#666", f'transform="translate({x + middle + 3:.1f} {y + side + 5:.1f}) rotate(-90)"')


def legend(x, y, meaning):
    for step in range(101):
        yield rectangle(x + step * 3, y, 3.2, 12, colour((step / 100) ** 2))
    for share in (0, 1, 5, 10, 25, 50, 75, 100):
        yield text(x + along(share / 100) * 300, y + 25, f"{share} %", 10, "middle", "#555")
    yield text(x + 330, y + 11, meaning, 12)


def content(points, limits):
    ours = {who: seconds for who, seconds in points.seconds["grid"].items() if who[0] == "qgemm"}
    limit = next((limits.of(points.rows[who]) for who in ours), None)
    meaning = f"of the kernel's limit, {limit:.0f} GOPS" if limit else "of each variant's own best"
    yield text(LEFT, 34, "Every size from 1 to 300: rows m (down) by columns n (across), at several depths k", 20)
    yield from legend(LEFT, 48, meaning)
    for row, ((library, variant), seconds) in enumerate(ours.items()):
        y = TOP + row * STEP_Y
        yield text(0, 0, variant, 13, "middle", extra=f'transform="translate(20 {y + STEP_Y / 2 - 20:.0f}) rotate(-90)"')
        most = limit or max(gops(shape, time) for shape, time in seconds.items())
        for column, k in enumerate(DEPTHS):
            yield from panel(LEFT + column * STEP_X, y + 20, k, seconds, most)


def main():
    points, limits = Points(sys.argv[1]), Limits(sys.argv[2:])
    rows = sum(library == "qgemm" for library, _ in points.seconds["grid"])
    size = LEFT + len(DEPTHS) * STEP_X, TOP + rows * STEP_Y + 10
    print("\n".join(picture(*size, content(points, limits))))


if __name__ == "__main__":
    main()
