#!/usr/bin/env bash
# A whole network in libqgemm, TensorFlow Lite and ONNX Runtime, from nothing to a table.
# Usage: run.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=benches/engines.sh
. "$here/../engines.sh"

mobilenet=$root/capi-tests/mobilenet
"${CXX:-c++}" -std=c++11 -O3 -shared -fPIC -I "$mobilenet" -I "$installed/include" -I "$installed/include/qgemm/gemmlowp" \
  "$here/network.cc" "$mobilenet/network.cc" "$mobilenet/steps.cc" \
  -L "$installed/lib" -lqgemm -Wl,-rpath,"$installed/lib" -o "$built/libnetwork.so"

"$venv/bin/python" "$here/compare.py" "$built/libnetwork.so"
