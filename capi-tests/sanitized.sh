#!/usr/bin/env bash
# Runs the unit tests under AddressSanitizer; and products on several threads, with each kernel, under ThreadSanitizer.
# Takes some minutes. Kernels that this processor does not run are left out.
#
# Usage: sanitized.sh [address|thread]
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

# Sanitized code is slow to compile: no copies of it, no more debug information than backtraces show, and less optimized.
# Arithmetic that overflows, and assertions, are found without sanitizers.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_PROFILE_DEV_OPT_LEVEL=1
export CARGO_PROFILE_DEV_OVERFLOW_CHECKS=false CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false
# Some tests allocate more than there is.
export ASAN_OPTIONS=allocator_may_return_null=1

# Left out: a test that leaks, as it is meant to; arithmetic of single numbers, which has no memory to go wrong in; two long
# walks over sizes, in code that other tests go through with random ones; and what is fetched ahead, which accesses nothing.
without=(--skip the_last_error_is_kept_and_cut_to_its_room --skip real:: --skip fixed_point:: --skip tanh:: --skip logistic::
  --skip tiles_of_every_depth --skip a_product_of_many_blocks_adds_segments --skip few_lines_agree_whether_the_second_cache)
if [ "${1:-address}" = address ]; then
  PROPTEST_CASES=20 RUSTFLAGS=$(sanitizer address) cargo test --locked --lib --target "$machine" \
    --target-dir target/asan -- "${without[@]}"
fi
[ "${1:-thread}" = thread ] || exit 0

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! need rustc-web cargo-web rust-web-src ||
  dpkg --compare-versions "$(dpkg-query -W -f '${Version}' rustc-web)" lt "$oldest"; then
  echo "sanitized: NOT TESTED: data races: Debian's rustc-web and rust-web-src, $oldest or later, are not to be had"
  exit
fi

mkdir -p target/tsan
clang -O2 -fno-builtin -c -o target/tsan/memory.o capi-tests/tsan_memory.c
export RUSTC=/usr/bin/rustc
RUSTFLAGS="$(sanitizer thread) -Clink-arg=target/tsan/memory.o"
export RUSTFLAGS
export TSAN_OPTIONS=halt_on_error=1
/usr/bin/cargo rustc --locked -Zbuild-std --lib --target "$machine" --target-dir target/tsan --crate-type staticlib

# Definitions that results are compared with share nothing.
for source in product weights; do
  clang -std=c99 -O2 -Iinclude -c -o "target/tsan/$source.o" "capi-tests/$source.c"
done
# No children of fork(): ThreadSanitizer's allocator may have been locked by a thread that they do not have, and stays so.
for program in kernels threads contexts_gemm packed_products; do
  clang -std=c99 -g -O1 -fsanitize=thread -DWITH_CHILDREN=0 -Iinclude -o "target/tsan/$program" "capi-tests/$program.c" \
    target/tsan/{product,weights,memory}.o "target/tsan/$machine/debug/libqgemm.a" -lpthread -ldl -lm
done
target/tsan/contexts_gemm
names=$(target/tsan/kernels)
for kernel in $names; do
  # The plain one takes minutes, and threads share its products as they do others'.
  [ "$kernel" != scalar ] || continue
  for program in threads packed_products; do
    status=0
    QGEMM_ISA=$kernel "target/tsan/$program" || status=$?
    # Skipped: the processor does not run it.
    [ $status -eq 0 ] || [ $status -eq 77 ] || exit $status
  done
done
