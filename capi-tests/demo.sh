#!/usr/bin/env bash
# Builds libqgemm and a C program that runs a real GoogLeNet layer through it, and runs that.
# Usage: demo.sh [THREADS]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
need cmake make gcc g++ libc6-dev
cmake -S . -B target/demo -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build target/demo --target googlenet
target/demo/cmake/capi-tests/programs/googlenet "$@"
