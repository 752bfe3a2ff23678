#!/usr/bin/env bash
# Runs under AddressSanitizer what calls the C interface: the fuzzers, for so many seconds, and then C and C++ programs,
# with each kernel that this processor runs.
#
# Usage: memory.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."
# Always from the same seed: a failure is of what has changed.
QGEMM_FUZZ_SEED=1 bash capi-tests/fuzz.sh "${1:?usage: memory.sh SECONDS}"
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
# shellcheck source=capi-tests/sanitizers.sh
. capi-tests/sanitizers.sh
need cmake ninja-build

# The same archive, for it takes long to compile. Only shared libraries of the sanitizer leave no symbol undefined.
runtime=$(clang -print-file-name="libclang_rt.asan-$(uname -m).so")
cmake -S . -B target/asan -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
  -DCMAKE_{C,CXX}_FLAGS="-fsanitize=address -shared-libasan" -DCMAKE_BUILD_RPATH="${runtime%/*}" \
  -DQGEMM_ARCHIVE="$PWD/target/fuzz/$machine/release/libqgemm_fuzz.a" >/dev/null
# Some tests ask for more than there is.
export ASAN_OPTIONS=allocator_may_return_null=1
# Left out: what has fences around its memory already, what counts or exhausts it, and children of fork().
programs=(bit_depth blas conv engines fully_connected gemm lines mobilenet packed packed_errors
  packed_products prepared ranges tables tensors)
cmake --build target/asan --target kernels "${programs[@]}" >/dev/null
# The plain kernel takes minutes, and has no memory of its own.
cd target/asan
ctest --parallel 2 --timeout 300 --output-on-failure --tests-regex "^($(IFS='|'; echo "${programs[*]}"))\." --exclude-regex '\.scalar$'
