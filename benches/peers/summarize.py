#!/usr/bin/env python3
"""Markdown tables from the CSV of qbench: all kinds of product at a glance, then each.

Several files may be runs of one benchmark; medians are taken over them. Results that were found wrong are in
no comparison and are listed at the end. Exits with 1 if one of them is ours.
"""

import argparse
import sys
from collections import defaultdict

from results import Limits, Results, label, packing, speed, types


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def ratio(ours, theirs):
    return f"{ours / theirs:.2f} x" if theirs else "-"


def print_limits(limits):
    if not limits.rows:
        return
    print("## Limits of this machine, measured in this run\n")
    rows = []
    for (sequence, threads), row in limits.rows.items():
        if sequence == "clock":
            rows.append([f"clock: {float(row['gmacs_med']) / int(threads):.2f} GHz", threads, "", ""])
        else:
            rows.append([sequence, threads, f"{float(row['gops_med']):.0f}", row["macs_per_cycle"]])
    table(["instructions", "threads", "GOPS", "MAC/cycle"], rows)


def glance_cell(results, setting, wanted, mine):
    ours, rival = results.best(setting, wanted, mine)
    if not ours:
        return "-"
    against = f" ({ratio(ours[0], rival[0])})" if rival else ""
    return f"{ours[0]:.1f}{against}"


def print_glance(results, mine):
    """Our best variant of each kind."""
    ours = [row for row in results.rows.values() if row["library"] == mine]
    print("## At a glance\n")
    print("Our GOPS, in brackets by how much the fastest rival with right results is slower: below 1 it is faster.\n")
    for state in dict.fromkeys(packing(row) for row in ours):
        print(f"### {state.capitalize()}\n")
        columns = list(dict.fromkeys(types(row) for row in ours if packing(row) == state))
        threads = {setting[1] for setting in results.settings()}
        rows = [
            [shape if len(threads) == 1 else f"{shape} on {count}"]
            + [glance_cell(results, (shape, count), f"{column}, {state}", mine) for column in columns]
            for shape, count in results.settings()
        ]
        table(["M x N x K", *columns], rows)


def kind_rows(results, limits, wanted, mine):
    for setting in results.settings(wanted):
        everybody = results.at(setting, wanted)
        rivals = [pair for pair in everybody if pair[1]["library"] != mine]
        ours = sorted((pair for pair in everybody if pair[1]["library"] == mine), key=lambda pair: pair[1]["variant"])
        best, best_row = rivals[0] if rivals else (0, None)
        rival_cells = [label(best_row), f"{best:.1f}"] if rivals else ["-", "-"]
        for gops, row in ours:
            same_call = next((g for g, r in rivals if r["variant"] == row["variant"]), 0)
            cells = [row["variant"], f"{gops:.1f}", ratio(gops, best), ratio(gops, same_call), limits.share(gops, row)]
            yield [*setting, *rival_cells, *cells]
        if not ours:
            yield [*setting, *rival_cells, "-", "-", "-", "-", "-"]


def print_kinds(results, limits, mine):
    head = ["M x N x K", "threads", "best rival", "its GOPS", "ours", "our GOPS", "ratio", "to the same call", "of the limit"]
    for wanted in results.kinds():
        print(f"## {wanted}\n")
        table(head, kind_rows(results, limits, wanted, mine))


def print_wrong(results):
    """One line for each contender: where it was wrong, and how fast."""
    if not results.wrong:
        return
    print("## Wrong results, in no comparison\n")
    print("Where s8 weights of 7 bits make them right, they saturate: vpmaddubsw sums two products in 16 bits.\n")
    lines = defaultdict(list)
    for (shape, threads, *_), row in results.wrong.items():
        lines[(label(row), row["s8_bits"], threads)].append(f"{shape} ({speed(row):.1f})")
    rows = [[contender, ", ".join(shapes), bits, threads] for (contender, bits, threads), shapes in lines.items()]
    table(["contender", "M x N x K (its GOPS)", "bits of s8", "threads"], rows)


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
    print_limits(limits)
    print_glance(results, arguments.mine)
    print_kinds(results, limits, arguments.mine)
    print_wrong(results)
    return any(row["library"] == arguments.mine for row in results.wrong.values())


if __name__ == "__main__":
    sys.exit(main())
