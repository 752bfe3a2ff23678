#!/usr/bin/env python3
"""The products of the sweep, as qbench reads them: grid.py PASS for the grid in an order of its own, grid.py random.

In another order each time, because a machine has better and worse minutes, and no point shall have them all.
"""

import random
import sys

# One short of what tiles and vectors are multiples of, that, and one past it.
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97]
SIZES += [127, 128, 129, 191, 192, 193, 255, 256, 257, 300]
DEPTHS = [7, 32, 64, 129, 300]
TRIPLES = 300


def main():
    if sys.argv[1:] == ["random"]:
        choice = random.Random(1)
        lines = [f"random {'x'.join(str(choice.randint(1, 300)) for _ in range(3))}" for _ in range(TRIPLES)]
    else:
        lines = [f"grid {m}x{n}x{k}" for m in SIZES for n in SIZES for k in DEPTHS]
        random.Random(sys.argv[1]).shuffle(lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
