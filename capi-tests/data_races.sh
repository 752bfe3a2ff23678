#!/usr/bin/env bash
# Runs products on several threads under ThreadSanitizer, with the kernels for AVX2: threads share the same memory with each.
# Takes some minutes.
#
# ThreadSanitizer needs a standard library that is compiled for it, or takes that one's locks for races. Debian has the
# source in a package, and the compiler that it goes with.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
# shellcheck source=capi-tests/sanitizers.sh
. capi-tests/sanitizers.sh
need gcc clang libclang-rt-dev libc6-dev

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! need rustc-web cargo-web rust-web-src ||
  dpkg --compare-versions "$(dpkg-query -W -f '${Version}' rustc-web)" lt "$oldest"; then
  echo "data_races: NOT TESTED: Debian's rustc-web and rust-web-src, $oldest or later, are not to be had"
  exit
fi

# Sanitized code is slow to compile: no copies of it, no more debug information than backtraces show, less optimized, and
# without the kernels that take longest. Arithmetic that overflows, and assertions, are found elsewhere.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_PROFILE_DEV_OPT_LEVEL=1
export CARGO_PROFILE_DEV_OVERFLOW_CHECKS=false CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false
mkdir -p target/tsan
clang -O2 -fno-builtin -c -o target/tsan/memory.o capi-tests/tsan_memory.c
export RUSTC=/usr/bin/rustc
RUSTFLAGS="$(sanitizer thread) --cfg only_avx2 -Clink-arg=target/tsan/memory.o"
export RUSTFLAGS
export TSAN_OPTIONS=halt_on_error=1
/usr/bin/cargo rustc -p qgemm --locked -Zbuild-std --lib --target "$machine" --target-dir target/tsan --crate-type staticlib

# Definitions that results are compared with share nothing.
for source in product weights; do
  clang -std=c99 -O2 -Iinclude -c -o "target/tsan/$source.o" "capi-tests/$source.c"
done
# No children of fork(): ThreadSanitizer's allocator may have been locked by a thread that they do not have, and stays so.
for program in threads contexts_gemm packed_products; do
  clang -std=c99 -g -O1 -fsanitize=thread -DWITH_CHILDREN=0 -Iinclude -o "target/tsan/$program" "capi-tests/$program.c" \
    target/tsan/{product,weights,memory}.o "target/tsan/$machine/debug/libqgemm.a" -lpthread -ldl -lm
  "target/tsan/$program"
done
