#!/usr/bin/env bash
# What surrounds quantized products in libqgemm, TensorFlow Lite and ONNX Runtime, from nothing to a table.
# Usage: run.sh [ELEMENTS...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=benches/engines.sh
. "$here/../engines.sh"

"${CXX:-c++}" -std=c++11 -O2 -shared -fPIC -I "$installed/include" "$here/around.cc" \
  -L "$installed/lib" -lqgemm -Wl,-rpath,"$installed/lib" -o "$built/libaround.so"

"$venv/bin/python" "$here/compare.py" "$built/libaround.so" "$@"
