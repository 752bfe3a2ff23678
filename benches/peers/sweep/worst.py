#!/usr/bin/env python3
"""Names the products that take longer than they should: worst.py sweep.csv > worst.md

Should, that is by what their neighbours in the grid take, by what larger products take, and by what rivals take.
"""

import math
import statistics
import sys

from grid import DEPTHS, SIZES
from points import Points, gops, sizes

SHOWN = 15
REACH = 2  # neighbours on each side


def name(m, n, k):
    return f"{m}x{n}x{k}"


def solved(matrix, right):
    """Gauss's elimination, of three equations."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for i in range(3):
        pivot = max(range(i, 3), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(3):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][3] / rows[i][i] for i in range(3)]


def predicted(seconds, i, j, k):
    """The plane through the neighbours' logarithms, where product (i, j) is; less what they stray from it themselves."""
    reach_i = range(max(0, i - REACH), min(len(SIZES), i + REACH + 1))
    reach_j = range(max(0, j - REACH), min(len(SIZES), j + REACH + 1))
    matrix, right = [[0.0] * 3 for _ in range(3)], [0.0] * 3
    for other_i in reach_i:
        for other_j in reach_j:
            if (other_i, other_j) == (i, j):
                continue
            terms = 1, math.log(SIZES[other_i] / SIZES[i]), math.log(SIZES[other_j] / SIZES[j])
            value = math.log(seconds[name(SIZES[other_i], SIZES[other_j], k)])
            for r in range(3):
                right[r] += terms[r] * value
                for c in range(3):
                    matrix[r][c] += terms[r] * terms[c]
    return math.exp(solved(matrix, right)[0])


def beside_neighbours(seconds):
    """(how much longer, product, what it is compared with) of each."""
    for k in DEPTHS:
        for i, m in enumerate(SIZES):
            for j, n in enumerate(SIZES):
                should = predicted(seconds, i, j, k)
                took = seconds[name(m, n, k)]
                yield took / should, name(m, n, k), f"{gops(name(m, n, k), should):.4g} GOPS"


def beside_larger(seconds):
    """The same, beside the fastest of the products that contain it."""
    fastest = {}  # (seconds, product) of all products that are as large or larger
    last = len(SIZES) - 1
    for l in reversed(range(len(DEPTHS))):
        for i in reversed(range(len(SIZES))):
            for j in reversed(range(len(SIZES))):
                product = name(SIZES[i], SIZES[j], DEPTHS[l])
                steps = [(i + 1, j, l), (i, j + 1, l), (i, j, l + 1)]
                larger = [fastest[at] for at in steps if at[0] <= last and at[1] <= last and at[2] < len(DEPTHS)]
                if larger and min(larger)[0] < seconds[product]:
                    yield seconds[product] / min(larger)[0], product, min(larger)[1]
                fastest[i, j, l] = min([*larger, (seconds[product], product)])


def print_worst(title, explanation, head, findings, seconds):
    findings = sorted(findings, reverse=True)
    print(f"### {title}\n\n{explanation}\n")
    if not findings:
        print("None.\n")
        return
    above = sum(ratio > 1.1 for ratio, *_ in findings)
    print(f"{above} of {len(seconds)} take more than 1.1 times as long as that.\n")
    print(f"| M x N x K | our GOPS | times as long | {head} |\n|---|---|---|---|")
    for ratio, product, other in findings[:SHOWN]:
        print(f"| {product} | {gops(product, seconds[product]):.4g} | {ratio:.2f} | {other} |")
    print()


def beside_rivals(points, mine):
    """The same for products at random, beside the fastest rival with right results of that type and packing."""
    sums = {}
    for who, seconds in points.seconds["random"].items():
        row = points.rows[who]
        key = row["out"], row["prepacked"]
        for shape, time in seconds.items():
            sums.setdefault((key, shape), {}).setdefault(who[0] == mine, []).append((time, " ".join(who)))
    for ((out, prepacked), shape), times in sums.items():
        if len(times) == 2:
            ours, rival = min(times[True]), min(times[False])
            yield ours[0] / rival[0], shape, (ours, rival, f"{out} {prepacked}")


def print_rivals(points, mine):
    findings = sorted(beside_rivals(points, mine), reverse=True)
    if not findings:
        return
    print("## Products at random, beside the best rival\n")
    print(f"u8 x u8, sizes from 1 to 300. In the median we take {statistics.median(f[0] for f in findings):.2f} of its time;")
    print(f"longer in {sum(f[0] > 1 for f in findings)} of {len(findings)}.\n")
    print("| M x N x K | ours | our GOPS | times as long | rival | its GOPS |\n|---|---|---|---|---|---|")
    for ratio, shape, (ours, rival, _) in findings[:SHOWN]:
        speeds = [f"{gops(shape, seconds):.4g}" for seconds in (ours[0], rival[0])]
        print(f"| {shape} | {ours[1]} | {speeds[0]} | {ratio:.2f} | {rival[1]} | {speeds[1]} |")
    print()


def main():
    points = Points(sys.argv[1])
    mine = "qgemm"
    print("# The worst of the sweep\n")
    print("Times are the fastest of all passes. A product that is here in run after run is slow; once, it had bad luck.\n")
    for row in points.wrong:
        print(f"Not right: {row['library']} {row['variant']} {row['shape']}: {row['check']}\n")
    for (library, variant), seconds in points.seconds["grid"].items():
        print(f"## {library} {variant}\n")
        explanation = f"By the plane through the logarithms of the times of up to {(2 * REACH + 1) ** 2 - 1} neighbours."
        print_worst("Beside their neighbours", explanation, "expected", beside_neighbours(seconds), seconds)
        explanation = "A product need not take longer than one that contains it: it could be padded."
        print_worst("Slower than a larger product", explanation, "faster", beside_larger(seconds), seconds)
    print_rivals(points, mine)
    return any(row["library"] == mine for row in points.wrong)


if __name__ == "__main__":
    sys.exit(main())
