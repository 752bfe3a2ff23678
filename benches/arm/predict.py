#!/usr/bin/env python3
"""predict.py ASSEMBLY: what llvm-mca predicts for the inner loops of the Arm kernels, as a table in Markdown."""

import re
import subprocess
import sys

CORES = ["cortex-a55", "cortex-a76", "neoverse-n1", "neoverse-v1", "neoverse-v2"]
# Module, and the extensions that a core has to have for it.
KERNELS = [("neon", ""), ("neon_narrow", ""), ("dotprod", "+dotprod"), ("i8mm", "+i8mm")]
HAVE = {"cortex-a55": "+dotprod", "cortex-a76": "+dotprod", "neoverse-n1": "+dotprod"}
EVERYTHING = "+dotprod+i8mm"
# Multiplications of one instruction.
MACS = {r"[us]mmla\b": 32, r"[us]dot\b": 16, r"[us]m(ull|lal)2?\s.*8h": 8}
# Instructions without which there are no sums.
WORK = r"\s*([us]mmla|[us]dot|[us]mull|[us]mlal|[us]adalp)\b"
ITERATIONS = 300


def macs(line):
    return sum(count for pattern, count in MACS.items() if re.match(r"\s*" + pattern, line))


def functions(assembly, module):
    """The bodies of the functions of a kernel's module."""
    name = re.compile(rf"^_\w*6kernel{len(module)}{module}\w*:")
    for start, line in enumerate(assembly):
        if name.match(line):
            ends = (i for i in range(start, len(assembly)) if assembly[i].startswith(".Lfunc_end"))
            yield assembly[start : next(ends, start)]


def loops(function):
    """The innermost loops: from a label to a branch back to it, with no other label between."""
    label, body = None, []
    for line in function:
        if found := re.match(r"(\.L\w+):", line):
            label, body = found[1], []
        elif re.match(r"\s+[a-z]", line):
            body.append(line)
            if re.match(rf"\s+(b\.\w+|cbn?z|tbn?z)\s.*{re.escape(label)}$" if label else "$", line):
                yield list(body)


def largest_loop(assembly, module):
    """The loop of the full tile: the one that multiplies most in one pass, and among these the shortest."""
    found = [loop for function in functions(assembly, module) for loop in loops(function)]
    return max(found, key=lambda loop: (sum(map(macs, loop)), -len(loop)))


def cycles(mca, core, body):
    options = ["-mtriple=aarch64", f"-mcpu={core}", "-mattr=+dotprod,+i8mm", f"-iterations={ITERATIONS}"]
    run = subprocess.run([mca, *options], input="\n".join(body), capture_output=True, text=True, check=True)
    return int(re.search(r"Total Cycles:\s+(\d+)", run.stdout)[1]) / ITERATIONS


def limit(mca, core, body):
    """Cycles of the loop's multiplications and additions alone, each with registers of its own."""
    alone, seen = [], 0
    for line in body:
        if re.match(WORK, line):
            # Sources that nothing writes, and targets in turn, so that nothing waits.
            register = iter([f"v{seen % 24}", "v30", "v31"])
            alone.append(re.sub(r"\bv\d+", lambda _: next(register), line))
            seen += 1
    return cycles(mca, core, alone)


def main():
    mca, path = sys.argv[1:]
    assembly = open(path, encoding="utf-8").read().split("\n")
    print("| kernel | instructions, spills | core | MACs per cycle | limit | of the limit |")
    print("| --- | --- | --- | --- | --- | --- |")
    for module, needs in KERNELS:
        body = largest_loop(assembly, module)
        count = sum(map(macs, body))
        spills = sum("[sp" in line for line in body)
        for core in CORES:
            if needs not in HAVE.get(core, EVERYTHING):
                continue
            found, best = count / cycles(mca, core, body), count / limit(mca, core, body)
            print(f"| {module} | {len(body)}, {spills} | {core} | {found:.1f} | {best:.1f} | {100 * found / best:.0f} % |")


if __name__ == "__main__":
    main()
