#!/usr/bin/env python3
"""Draws us against the best rival on each shape, a diagram for each kind of product: plot.py RESULTS.csv... > plot.svg"""

import argparse
import math
import sys
from pathlib import Path

from results import Results

sys.path.append(str(Path(__file__).resolve().parent.parent))
from svg import line, picture, rectangle, text  # noqa: E402, beside this directory

COLUMNS, GAP, TOP = 2, 36, 96
# Of one diagram: its names of shapes, our GOPS, then ratios from 1/4 to 4, then the rivals.
NAMES, OURS, BARS, RIVALS, ROW, TITLE = 104, 58, 280, 190, 19, 46
WIDTH = NAMES + OURS + BARS + RIVALS
MOST = 4
FASTER, SLOWER = "#1f6fb2", "#d9822b"


def place(ratio):
    """Where a ratio is among the bars, which are logarithmic."""
    ratio = min(MOST, max(1 / MOST, ratio))
    return NAMES + OURS + BARS / 2 * (1 + math.log(ratio) / math.log(MOST))


class Diagram:
    """One kind of product: (shape, our GOPS, rival's GOPS, rival) of each shape that both have computed."""

    def __init__(self, results, wanted, mine):
        self.title = wanted
        self.rows = []
        for setting in results.settings(wanted):
            ours, rival = results.best(setting, wanted, mine)
            if ours and rival:
                self.rows.append((setting[0], ours[0], rival[0], rival[1]["library"]))

    def height(self):
        return TITLE + ROW * len(self.rows)

    def draw(self, x, y):
        yield text(x, y + 16, self.title, 14, extra='font-weight="bold"')
        bottom = y + self.height()
        for ratio, name in ((1 / 4, "1/4"), (1 / 2, "1/2"), (1, "1"), (2, "2"), (4, "4 x")):
            at = x + place(ratio)
            yield line(at, y + TITLE - 6, at, bottom, "#555" if ratio == 1 else "#dedede")
            yield text(at, y + TITLE - 11, name, 11, "middle", "#777")
        for number, row in enumerate(self.rows):
            yield from self.bar(x, y + TITLE + number * ROW, *row)

    def bar(self, x, y, shape, ours, rivals, rival):
        ratio = ours / rivals
        start, end = sorted((place(1), place(ratio)))
        colour = FASTER if ratio >= 1 else SLOWER
        base = y + ROW - 6
        yield text(x + NAMES, base, shape, 11, "end")
        yield text(x + NAMES + OURS - 8, base, f"{ours:.4g}", 11, "end", "#111")
        yield rectangle(x + start, y + 3, max(1, end - start), ROW - 6, colour, f"{shape}: {ours:.1f} to {rivals:.1f}")
        # The figure stands beyond the bar's end.
        if ratio >= 1:
            yield text(x + end + 4, base, f"{ratio:.2f}", 11, "start", colour)
        else:
            yield text(x + start - 4, base, f"{ratio:.2f}", 11, "end", colour)
        yield text(x + NAMES + OURS + BARS + 48, base, f"{rivals:.4g}  {rival}", 11, "start", "#555")


def content(diagrams, heights):
    yield text(GAP, 34, "libqgemm against the best rival on each shape", 20)
    explanation = "Ratio of GOPS; left of the bars ours, right the rival's. Only rivals whose results were right."
    yield text(GAP, 58, explanation, 12, colour="#555")
    yield rectangle(GAP, 70, 14, 10, FASTER)
    yield text(GAP + 20, 79, "libqgemm is faster")
    yield rectangle(GAP + 160, 70, 14, 10, SLOWER)
    yield text(GAP + 180, 79, "the rival is faster")
    y = TOP
    for number, diagram in enumerate(diagrams):
        yield from diagram.draw(GAP + number % COLUMNS * (WIDTH + GAP), y)
        if number % COLUMNS == COLUMNS - 1:
            y += heights[number // COLUMNS] + GAP


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", metavar="RESULTS.csv")
    parser.add_argument("--mine", default="qgemm", help="the library that is compared with the others")
    arguments = parser.parse_args()
    results = Results(arguments.results)
    diagrams = [Diagram(results, wanted, arguments.mine) for wanted in results.kinds()]
    diagrams = [diagram for diagram in diagrams if diagram.rows]
    heights = [
        max(diagram.height() for diagram in diagrams[first : first + COLUMNS])
        for first in range(0, len(diagrams), COLUMNS)
    ]
    width, height = GAP + COLUMNS * (WIDTH + GAP), TOP + sum(heights) + GAP * len(heights)
    print("\n".join(picture(width, height, content(diagrams, heights))))


if __name__ == "__main__":
    main()
