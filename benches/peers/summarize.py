#!/usr/bin/env python3
"""Markdown tables from the CSV of qbench, one for each kind of product.

Several files may be runs of one benchmark; medians are taken over them. Results that were found wrong are in
no comparison and are listed at the end. Exits with 1 if one of them is ours.
"""

import argparse
import csv
import statistics
import sys
from collections import defaultdict

# The instruction sequence that bounds each of our kernels, as limits/peak.c names it.
LIMIT_OF_KERNEL = {
    "avx512vnni": "vpdpbusd zmm",
    "avxvnni": "vpdpbusd ymm",
    "avx512": "vpmaddwd+vpaddd zmm",
    "avx2": "vpmaddwd+vpaddd ymm",
}
TYPES = {"u": "u8", "s": "s8", "i": "s32", "f": "f32"}


def kind(row):
    """What is compared with what: the types, and whether the weights were packed beforehand."""
    product = f"{TYPES[row['a']]} x {TYPES[row['b']]} -> {TYPES[row['out']]}"
    if row["a"] == "f":
        return product
    return f"{product}, weights packed {'beforehand' if row['prepacked'] == '1' else 'in the call'}"


def speed(row):
    """GOPS: by thread time for one thread, by the best wall clock for several."""
    return float(row["gops"] if row["threads"] == "1" else row["gops_wall_best"])


class Results:
    """The rows of all files, by (shape, threads) and kind."""

    def __init__(self, paths):
        self.speeds = defaultdict(list)  # of each (shape, threads, library, variant)
        self.rows = {}
        self.wrong = {}
        for path in paths:
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    self.add(row)

    def add(self, row):
        key = (row["shape"], row["threads"], row["library"], row["variant"])
        if row["check"].startswith("WRONG"):
            self.wrong[key] = row
            return
        self.rows.setdefault(key, row)
        self.speeds[key].append(speed(row))

    def kinds(self):
        order = {}
        for row in self.rows.values():
            order.setdefault(kind(row), row["a"] == "f")
        return sorted(order, key=lambda k: order[k])  # f32 last, otherwise as measured

    def settings(self, wanted):
        return list(dict.fromkeys(key[:2] for key, row in self.rows.items() if kind(row) == wanted))

    def at(self, setting, wanted):
        """(median GOPS, row) of everybody in one setting and kind, the fastest first."""
        found = [
            (statistics.median(self.speeds[key]), row)
            for key, row in self.rows.items()
            if key[:2] == setting and kind(row) == wanted
        ]
        return sorted(found, key=lambda pair: -pair[0])


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

    def share(self, gops, row):
        limit = self.gops.get((LIMIT_OF_KERNEL.get(row["kernel"]), row["threads"]))
        return f"{100 * gops / limit:.0f} %" if limit and row["a"] != "f" else "-"

    def print(self):
        if not self.rows:
            return
        print("## Limits of this machine, measured in this run\n")
        print("| instructions | threads | GOPS | MAC/cycle |\n|---|---|---|---|")
        for (sequence, threads), row in self.rows.items():
            if sequence == "clock":
                print(f"| clock: {float(row['gmacs_med']) / int(threads):.2f} GHz | {threads} | | |")
            else:
                print(f"| {sequence} | {threads} | {float(row['gops_med']):.0f} | {row['macs_per_cycle']} |")
        print()


def label(row):
    return f"{row['library']} {row['variant']}"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f} x" if theirs else "-"


def print_kind(results, limits, wanted, mine):
    print(f"## {wanted}\n")
    head = ["M x N x K", "threads", "best rival", "its GOPS", "ours", "our GOPS", "ratio", "to the same call", "of the limit"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for setting in results.settings(wanted):
        everybody = results.at(setting, wanted)
        rivals = [pair for pair in everybody if pair[1]["library"] != mine]
        ours = sorted((pair for pair in everybody if pair[1]["library"] == mine), key=lambda pair: pair[1]["variant"])
        best, best_row = rivals[0] if rivals else (0, None)
        rival_cells = [label(best_row), f"{best:.1f}"] if rivals else ["-", "-"]
        for gops, row in ours:
            same_call = next((g for g, r in rivals if r["variant"] == row["variant"]), 0)
            cells = [row["variant"], f"{gops:.1f}", ratio(gops, best), ratio(gops, same_call), limits.share(gops, row)]
            print("| " + " | ".join([*setting, *rival_cells, *cells]) + " |")
        if not ours:
            print("| " + " | ".join([*setting, *rival_cells, "-", "-", "-", "-", "-"]) + " |")
    print()


def print_wrong(results):
    """One line for each contender: where it was wrong, and how fast."""
    if not results.wrong:
        return
    print("## Wrong results, in no comparison\n")
    print("Where `--s8-bits 7` makes them right, they saturate: vpmaddubsw sums two products in 16 bits.\n")
    print("| contender | M x N x K (its GOPS) | threads |\n|---|---|---|")
    lines = defaultdict(list)
    for (shape, threads, *_), row in results.wrong.items():
        lines[(label(row), threads)].append(f"{shape} ({speed(row):.1f})")
    for (contender, threads), shapes in lines.items():
        print(f"| {contender} | {', '.join(shapes)} | {threads} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="RESULTS.csv")
    parser.add_argument("--limits", action="append", default=[], metavar="LIMITS.csv", help="what build/peak printed")
    parser.add_argument("--mine", default="qgemm", help="the library that is compared with the others")
    arguments = parser.parse_args()
    results, limits = Results(arguments.results), Limits(arguments.limits)
    everybody = [*results.rows.values(), *results.wrong.values()]
    contenders = dict.fromkeys(" ".join(filter(None, (r["library"], r["version"], r["kernel"]))) for r in everybody)
    print("Contenders: " + "; ".join(contenders) + ".\n")
    limits.print()
    for wanted in results.kinds():
        print_kind(results, limits, wanted, arguments.mine)
    print_wrong(results)
    return any(row["library"] == arguments.mine for row in results.wrong.values())


if __name__ == "__main__":
    sys.exit(main())
