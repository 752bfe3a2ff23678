#!/usr/bin/env bash
# Convolution layers in libqgemm, TensorFlow Lite, ONNX Runtime and oneDNN, from nothing to a table.
# Usage: run.sh [BITS]
# Weights have so many bits, 8 unless told. Of 8, oneDNN and ONNX Runtime may saturate on processors without VNNI; of 7, not.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=benches/engines.sh
. "$here/../engines.sh"

"$venv/bin/pip" --disable-pip-version-check install -q onednn-cpu-gomp onednn-devel-cpu-gomp >&2 ||
  echo "cannot install oneDNN" >&2

# Makes a library of a file: library NAME OPTION...
library() {
  "${CXX:-c++}" -std=c++11 -O2 -Wall -Wextra -shared -fPIC "$here/$1.cc" "${@:2}" -o "$built/liblayers_$1.so"
}

library libqgemm -I "$installed/include" -L "$installed/lib" -lqgemm -Wl,-rpath,"$installed/lib"
# What is missing is left out.
library onednn -isystem "$venv/include" -L "$venv/lib" -l:libdnnl.so.3 -Wl,-rpath,"$venv/lib" ||
  rm -f "$built/liblayers_onednn.so"

# For oneDNN; the others are told otherwise to take one thread.
OMP_NUM_THREADS=1 "$venv/bin/python" "$here/compare.py" "$built" "$@"
