#!/usr/bin/env bash
# The errors of products with fewer than 8 bits: run.sh [DIRECTORY]. Writes the data, the tables of the README and its
# plot anew; or all of it to a directory. It needs a Rust toolchain, a C compiler and Python 3.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
plot=${1:-$here}/error_by_depth.svg
out=${1:-$target/bit_depths}
data=$root/capi-tests/data/googlenet_conv
mkdir -p "$out"

cargo rustc -p qgemm --quiet --release --lib --crate-type staticlib --manifest-path "$root/Cargo.toml"
# -ffp-contract=off: the same figures everywhere.
"${CC:-cc}" -std=c11 -O3 -march=native -ffp-contract=off -Wall -Wextra -pedantic -I"$root/include" "$here"/*.c \
  "$root/capi-tests/bit_depth_reference.c" -o "$out/bit_depths" "$target/release/libqgemm.a" -lpthread -ldl -lm
for what in layer crossings depths; do
  "$out/bit_depths" $what "$data" > "$out/$what.csv"
done
python3 "$here/plot.py" "$out/depths.csv" > "$plot"
python3 "$here/tables.py" "$out/layer.csv" "$out/crossings.csv" "$out/depths.csv" | tee "$out/tables.md"
