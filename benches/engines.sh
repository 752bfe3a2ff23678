# shellcheck shell=bash
# What comparisons with TensorFlow Lite, ONNX Runtime and others begin with; for their run.sh to source. Installs the engines and libqgemm,
# and sets
#   root       the project's folder
#   venv       where Python has the engines
#   built      where to put what is compiled
#   installed  where libqgemm is installed
#
# QGEMM_PEERS_CACHE  where packages and builds are kept (default ~/.cache/qgemm-peers)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${QGEMM_PEERS_CACHE:-$HOME/.cache/qgemm-peers}
venv=$cache/network-venv
built=$cache/network
installed=$built/installed
mkdir -p "$cache"

[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
for packages in numpy "ai-edge-litert flatbuffers" "onnx onnxruntime"; do
  # shellcheck disable=SC2086 # words are packages
  "$venv/bin/pip" --disable-pip-version-check install -q $packages >&2 || echo "cannot install $packages" >&2
done

nice cmake -S "$root" -B "$built" -DCMAKE_BUILD_TYPE=Release -DQGEMM_BUILD_TESTS=OFF >/dev/null
nice cmake --build "$built" >&2
cmake --install "$built" --prefix "$installed" >/dev/null
