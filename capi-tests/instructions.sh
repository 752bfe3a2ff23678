#!/usr/bin/env bash
# Counts the instructions of some products and of packing, and fails where there are more than instructions.c allows.
#
# usage: instructions.sh PROGRAM
set -euo pipefail
program=$1
if ! command -v valgrind >/dev/null; then
  echo "instructions: NOT TESTED: valgrind is not installed"
  exit 77
fi
counts=$(mktemp -d)
trap 'rm -r "$counts"' EXIT
status=0
# valgrind knows no AVX-512, so the kernel is one that it runs on any machine.
QGEMM_ISA=avx2 valgrind -q --tool=callgrind --callgrind-out-file="$counts/count" "$program" >"$counts/allowed" ||
  status=$?
if [ "$status" -ne 0 ]; then exit "$status"; fi
awk '
  # The dumps: what each was made for, and the instructions since the counts were set to zero.
  /^desc: Trigger: Client Request: / { name = $NF }
  /^(totals|summary): / { count[name] = $2 }
  FILENAME ~ /allowed$/ {
    each = count[$1] / $2
    verdict = !($1 in count) ? "NOT COUNTED" : each > $4 ? "MORE than" : "at most"
    if (verdict != "at most") failed = 1
    printf "%-20s %10.4f instructions for each %s, %s %g\n", $1, each, $3, verdict, $4
    lines++
  }
  END { exit failed || !lines }
' "$counts"/count.* "$counts/allowed"
