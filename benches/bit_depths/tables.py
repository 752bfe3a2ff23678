#!/usr/bin/env python3
"""Prints the tables of the README: tables.py layer.csv crossings.csv depths.csv"""

import csv
import sys

RULES = ["nearest", "xorshift", "add-mod", "compensated"]
DATA = ["real", "rectified", "gaussian", "uniform", "constant_lines", "two_levels"]
DEPTHS = ["16", "64", "192", "383", "1020", "4096"]


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def bits(row):
    return f'{row["lhs_bits"]} x {row["rhs_bits"]}'


def row_of(cells):
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    return "\n".join([row_of(head), row_of(["---"] * len(head))] + [row_of(row) for row in rows])


def layer_cell(row):
    error = f'{float(row["accumulator_rms"]):.0f}, {float(row["mean"]):+.2f}, {row["largest"]}'
    return f"**{error}**" if row["passes"] == "1" else error


def layer_table(rows):
    names = list(dict.fromkeys(bits(row) for row in rows))
    cells = {(bits(row), row["rule"]): layer_cell(row) for row in rows}
    return table(["bits"] + RULES, [[name] + [cells[name, rule] for rule in RULES] for name in names[1:]])


def crossing_cell(row):
    # 0 means that there is none.
    measured, predicted = (row[column] if row[column] != "0" else "none" for column in ("measured", "predicted"))
    return measured if measured == predicted else f"{measured} ({predicted})"


def crossing_table(rows):
    names = list(dict.fromkeys(bits(row) for row in rows))
    cells = {(row["data"], bits(row)): crossing_cell(row) for row in rows}
    data = [name for name in DATA if (name, names[0]) in cells]
    return table(["data"] + names, [[name] + [cells[name, b] for b in names] for name in data])


def depth_table(rows):
    cells = {(row["data"], row["depth"], row["rule"]): row["rms"] for row in rows if bits(row) == "7 x 5"}
    rules = ["nearest", "add-mod", "compensated"]
    lines = [[data] + [" / ".join(f"{float(cells[data, depth, rule]):.0f}" for rule in rules) for depth in DEPTHS]
             for data in DATA]
    return table(["data"] + DEPTHS, lines)


if __name__ == "__main__":
    layer, crossings, depths = map(read, sys.argv[1:])
    print(layer_table(layer), crossing_table(crossings), depth_table(depths), sep="\n\n")
