#!/usr/bin/env bash
# Builds libqgemm and two programs, and runs them: a C program that multiplies the matrices of a real GoogLeNet layer; and a
# C++ program in which a whole int8 network looks for a person in a picture, its own or another (PGM or PNG).
# Usage: demo.sh [THREADS [PICTURE]]
set -euo pipefail
picture=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
need cmake make gcc g++ libc6-dev
need libpng-dev || echo "Without libpng pictures have to be PGM files."
cmake -S . -B target/demo -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build target/demo --target googlenet mobilenet
programs=target/demo/cmake/capi-tests/programs
"$programs/googlenet" "${1:-1}"
echo
"$programs/mobilenet" ${picture:+"$picture"}
