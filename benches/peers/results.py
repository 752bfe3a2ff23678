"""What qbench and limits/peak wrote: speeds by shape and kind of product, and what the processor can do."""

import csv
import statistics
from collections import defaultdict

# The instruction sequence that bounds each of our kernels, as limits/peak.c names it.
LIMIT_OF_KERNEL = {
    "amx": "tdpbusd",
    "avx512vnni": "vpdpbusd zmm",
    "avxvnni": "vpdpbusd ymm",
    "avx512bw": "vpmaddwd+vpaddd zmm",
    "avx2": "vpmaddwd+vpaddd ymm",
}
TYPES = {"u": "u8", "s": "s8", "i": "s32", "f": "f32"}


def types(row):
    weights = TYPES[row["b"]]
    if weights == "s8" and row["s8_bits"] != "8":
        weights = f"s8 of {row['s8_bits']} bits"
    return f"{TYPES[row['a']]} x {weights} -> {TYPES[row['out']]}"


def packing(row):
    return "weights packed beforehand" if row["prepacked"] == "1" else "weights as given"


def kind(row):
    """What is compared with what: the types, and whether the weights were packed beforehand."""
    return types(row) if row["a"] == "f" else f"{types(row)}, {packing(row)}"


def label(row):
    return f"{row['library']} {row['variant']}"


def speed(row):
    """GOPS: by thread time for one thread, by the best wall clock for several."""
    return float(row["gops"] if row["threads"] == "1" else row["gops_wall_best"])


class Results:
    """The rows of all files; medians are taken over them. What was found wrong is kept apart."""

    def __init__(self, paths):
        self.speeds = defaultdict(list)  # of each (shape, threads, bits of s8, library, variant)
        self.rows = {}
        self.wrong = {}
        for path in paths:
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    self.add(row)

    def add(self, row):
        key = (row["shape"], row["threads"], row["s8_bits"], row["library"], row["variant"])
        if row["check"].startswith("WRONG"):
            self.wrong[key] = row
            return
        self.rows.setdefault(key, row)
        self.speeds[key].append(speed(row))

    def kinds(self):
        """Weights as given before those packed beforehand, f32 last, otherwise as measured."""
        order = list(dict.fromkeys(types(row) for row in self.rows.values()))
        rank = {kind(row): (row["a"] == "f", order.index(types(row)), row["prepacked"]) for row in self.rows.values()}
        return sorted(rank, key=rank.get)

    def settings(self, wanted=None):
        """(shape, threads) of one kind, or of all."""
        return list(dict.fromkeys(key[:2] for key, row in self.rows.items() if wanted in (None, kind(row))))

    def at(self, setting, wanted):
        """(median GOPS, row) of everybody in one setting and kind, the fastest first."""
        found = [
            (statistics.median(self.speeds[key]), row)
            for key, row in self.rows.items()
            if key[:2] == setting and kind(row) == wanted
        ]
        return sorted(found, key=lambda pair: -pair[0])

    def best(self, setting, wanted, mine):
        """The fastest of ours and of the others, each (GOPS, row) or None."""
        everybody = self.at(setting, wanted)
        ours = next((pair for pair in everybody if pair[1]["library"] == mine), None)
        rival = next((pair for pair in everybody if pair[1]["library"] != mine), None)
        return ours, rival


class Limits:
    """The instruction limits; of several measurements the higher, for the processor could do it."""

    def __init__(self, paths):
        self.gops = {}
        self.rows = {}
        for path in paths:
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    key = (row["sequence"], row["threads"])
                    if float(row["gops_med"]) >= self.gops.get(key, 0):
                        self.gops[key] = float(row["gops_med"])
                        self.rows[key] = row

    def of(self, row):
        """GOPS that the kernel cannot exceed; None if unknown, or if small numbers let it do more."""
        if row["a"] == "f" or row["s8_bits"] != "8":
            return None
        return self.gops.get((LIMIT_OF_KERNEL.get(row["kernel"]), row["threads"]))

    def share(self, gops, row):
        limit = self.of(row)
        return f"{100 * gops / limit:.0f} %" if limit else "-"
