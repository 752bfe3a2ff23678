"""What the sweep measured: seconds of each product, by variant."""

import csv
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))


def sizes(shape):
    return tuple(int(size) for size in shape.split("x"))


def gops(shape, seconds):
    m, n, k = sizes(shape)
    return 2e-9 * m * n * k / seconds


class Points:
    """The fastest time of each product, over all passes: what disturbs a product only makes it slower."""

    def __init__(self, path):
        self.seconds = {"grid": {}, "random": {}}  # {(library, variant): {shape: seconds}}
        self.rows = {}  # one row of each variant
        self.wrong = []
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                self.add(row)

    def add(self, row):
        if row["check"].startswith("WRONG"):
            self.wrong.append(row)
            # The grid stays whole: who reads the times is told.
            if row["class"] != "grid":
                return
        who, shape = (row["library"], row["variant"]), row["shape"]
        seconds = float(row["us_p10"]) * 1e-6
        known = self.seconds[row["class"]].setdefault(who, {})
        known[shape] = min(seconds, known.get(shape, seconds))
        self.rows.setdefault(who, row)
