#!/usr/bin/env python3
"""Draws the errors by depth, with 7 bits of lhs and 5 of rhs: plot.py depths.csv > error_by_depth.svg"""

import csv
import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from svg import circle, line, picture, text  # noqa: E402, beside this directory

PANELS = {
    "real": "A layer of GoogLeNet",
    "rectified": "A bell by a bell cut off at zero",
    "gaussian": "A bell by a bell",
    "uniform": "All values as likely",
    "constant_lines": "Lines of one value",
    "two_levels": "Both sides change halfway",
}
COLOURS = {"nearest": "#c0392b", "add-mod": "#1f6fb2", "compensated": "#1e8449"}
THRESHOLD = 384
LEFT, TOP, WIDTH, HEIGHT = 62, 92, 300, 210
COLUMNS, STEP_X, STEP_Y = 3, 372, 284
DEPTHS = (4, 4096)


def read(path):
    """{data: {rule: [(depth, rms, predicted)]}}"""
    series = {data: {rule: [] for rule in COLOURS} for data in PANELS}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            shown = (row["lhs_bits"], row["rhs_bits"]) == ("7", "5") and row["rule"] in COLOURS
            if shown and int(row["depth"]) >= DEPTHS[0]:
                point = int(row["depth"]), float(row["rms"]), float(row["predicted_rms"])
                series[row["data"]][row["rule"]].append(point)
    return series


class Panel:
    """One diagram, both of its scales logarithmic."""

    def __init__(self, number, rules):
        self.x0 = LEFT + number % COLUMNS * STEP_X
        self.y0 = TOP + number // COLUMNS * STEP_Y
        errors = [error for points in rules.values() for _, error, _ in points]
        # Errors below one are only of the last rounding.
        self.low = math.floor(math.log10(max(1, min(errors))))
        self.high = math.ceil(math.log10(max(errors)))

    def x(self, depth):
        return self.x0 + WIDTH * math.log(depth / DEPTHS[0]) / math.log(DEPTHS[1] / DEPTHS[0])

    def y(self, error):
        exponent = math.log10(max(error, 10**self.low))
        return self.y0 + HEIGHT * (1 - (exponent - self.low) / (self.high - self.low))

    def frame(self, title):
        yield text(self.x0, self.y0 - 10, title, 13, extra='font-weight="bold"')
        for depth in (4, 16, 64, 256, 1024, 4096):
            yield line(self.x(depth), self.y0, self.x(depth), self.y0 + HEIGHT, "#e6e6e6")
            yield text(self.x(depth), self.y0 + HEIGHT + 16, depth, 11, "middle")
        for exponent in range(self.low, self.high + 1):
            yield line(self.x0, self.y(10**exponent), self.x0 + WIDTH, self.y(10**exponent), "#e6e6e6")
            yield text(self.x0 - 6, self.y(10**exponent) + 4, f"{10**exponent:,}".replace(",", " "), 11, "end")
        threshold = self.x(THRESHOLD)
        yield line(threshold, self.y0, threshold, self.y0 + HEIGHT, "#888", 'stroke-dasharray="4 3"')
        yield text(threshold - 4, self.y0 + HEIGHT - 6, THRESHOLD, 11, "end", "#777")

    def curve(self, points, colour):
        ends = " ".join(f"{self.x(depth):.1f},{self.y(error):.1f}" for depth, error, _ in points)
        yield f'<polyline points="{ends}" fill="none" stroke="{colour}" stroke-width="2"/>'

    def prediction(self, points, colour):
        for depth, _, predicted in points:
            yield circle(self.x(depth), self.y(predicted), colour)


def legend():
    x = LEFT
    for rule, colour in COLOURS.items():
        yield line(x, 52, x + 26, 52, colour, 'stroke-width="2"')
        yield text(x + 32, 56, rule)
        x += 130
    yield circle(x + 6, 52, "#333")
    yield text(x + 16, 56, "predicted from how often each value occurs")
    yield line(x + 312, 44, x + 312, 60, "#888", 'stroke-dasharray="4 3"')
    yield text(x + 320, 56, "where nearest gives way to add-mod by default")


def diagrams(series, width, height):
    yield text(LEFT, 28, "Error of an accumulator (root mean square) by depth, 7 bits x 5 bits", 17)
    yield from legend()
    for number, (data, title) in enumerate(PANELS.items()):
        panel = Panel(number, series[data])
        yield from panel.frame(title)
        for rule, colour in COLOURS.items():
            points = series[data][rule]
            yield from panel.curve(points, colour)
            # Values that come in long runs are not at random, and nothing is predicted of them.
            if data not in ("constant_lines", "two_levels"):
                yield from panel.prediction(points, colour)
    yield text(width / 2, height - 8, "depth", 12, "middle")


if __name__ == "__main__":
    size = LEFT + COLUMNS * STEP_X - 40, TOP + 2 * STEP_Y - 24
    print("\n".join(picture(*size, diagrams(read(sys.argv[1]), *size))))
