#!/usr/bin/env bash
# Records anew what other engines compute, into data/engines, with the packages that requirements*.txt name; then does
# the same with the newest packages, and compares libqgemm's results with both. See data/engines/README.md.
#
# Needs Python 3.11 with venv, for which the last tflite-runtime is, a C and a C++ compiler, and a connection to PyPI.
# All but data/engines is in target/engines.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/engines
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=2

# `install WHICH PACKAGE...`: into an environment of its own.
install() {
  local venv=$work/$1
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --upgrade "${@:2}"
}

# `record WHICH DIRECTORY`
record() {
  local venv=$work/$1
  mkdir -p "$2"
  "$work/older/bin/python" "$here/tflite_cases.py" "$2"
  "$venv/bin/python" "$here/tflite_cases.py" "$2"
  "$venv/bin/python" "$here/onnxruntime_cases.py" "$2"
  c++ -std=c++11 -O1 -Wall -Wextra -Werror -shared -fPIC -isystem "$venv/include" -o "$work/product_$1.so" \
    "$here/onednn_product.cc" -L"$venv/lib" -ldnnl "-Wl,-rpath,$venv/lib"
  "$venv/bin/python" "$here/onednn_cases.py" "$work/product_$1.so" "$2"
}

build() {
  nice cargo build --release --lib --manifest-path "$root/Cargo.toml" --target-dir "$target"
  # By the name under which programs look for it.
  cp "$target/release/libqgemm.so" "$work/libqgemm.so.0"
  (cd "$root/capi-tests" && cc -std=c99 -Wall -Wextra -pedantic -O2 -I../include -o "$work/engines" \
    '-DENGINES_DATA=""' engines.c engines_onednn.c engines_onnxruntime.c engines_tflite.c recorded.c \
    "$work/libqgemm.so.0" "-Wl,-rpath,$work" -lm)
}

mkdir -p "$work"
mapfile -t pinned <"$here/requirements.txt"
mapfile -t older <"$here/requirements_older.txt"
install pinned "${pinned[@]}"
install older "${older[@]}"
# So that it is the same on newer processors.
ONEDNN_MAX_CPU_ISA=AVX2 record pinned "$root/capi-tests/data/engines"
install newest "${pinned[@]%%==*}"
record newest "$work/data"
build
"$work/engines" "$root/capi-tests/data/engines"
"$work/engines" "$work/data"
