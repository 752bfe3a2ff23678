#!/usr/bin/env bash
# What surrounds quantized products in libqgemm, TensorFlow Lite and ONNX Runtime, from nothing to a table.
# Usage: run.sh [ELEMENTS...]
#
# QGEMM_PEERS_CACHE  where packages and builds are kept (default ~/.cache/qgemm-peers)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${QGEMM_PEERS_CACHE:-$HOME/.cache/qgemm-peers}
venv=$cache/network-venv
mkdir -p "$cache"

[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
for packages in numpy "ai-edge-litert flatbuffers" "onnx onnxruntime"; do
  # shellcheck disable=SC2086 # words are packages
  "$venv/bin/pip" --disable-pip-version-check install -q $packages >&2 || echo "cannot install $packages" >&2
done

nice cmake -S "$root" -B "$cache/network" -DCMAKE_BUILD_TYPE=Release -DQGEMM_BUILD_TESTS=OFF >/dev/null
nice cmake --build "$cache/network" >&2
installed=$cache/network/installed
cmake --install "$cache/network" --prefix "$installed" >/dev/null
"${CXX:-c++}" -std=c++11 -O2 -shared -fPIC -I "$installed/include" "$here/around.cc" \
  -L "$installed/lib" -lqgemm -Wl,-rpath,"$installed/lib" -o "$cache/network/libaround.so"

"$venv/bin/python" "$here/compare.py" "$cache/network/libaround.so" "$@"
