#!/usr/bin/env bash
# Calls the C interface with what libFuzzer invents, under AddressSanitizer. Each file in capi-tests/fuzz/src/bin is a
# target: all of them, or those named, run at the same time.
#
# Usage: fuzz.sh SECONDS [TARGET...]
#
# QGEMM_FUZZ_SEED is where the inventing begins; each time elsewhere, if it is not set.
#
# Inputs that reach new code are kept in target/fuzz/corpus, where the next run begins. An input that fails is kept in
# target/fuzz: the program in target/fuzz/*/release, with that file as its argument, fails again.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
# shellcheck source=capi-tests/sanitizers.sh
. capi-tests/sanitizers.sh
need gcc g++ libc6-dev clang libclang-rt-dev
seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -as .rs capi-tests/fuzz/src/bin/*.rs)

# What cargo-fuzz passes: branches are counted, and comparisons reported.
flags=(--cfg fuzzing -Cpasses=sancov-module)
for part in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=("-Cllvm-args=-sanitizer-coverage-$part")
done
# Clang brings a libFuzzer. Without it, another is compiled.
libfuzzer=$(clang -fsanitize=fuzzer -x c /dev/null '-###' 2>&1 | grep -o '[^ "]*/libclang_rt\.fuzzer[^ "]*\.a' | head -n 1) || true
[ ! -e "$libfuzzer" ] || export CUSTOM_LIBFUZZER_PATH=$libfuzzer
# Accesses are checked by functions: 0.7 of the time to compile, and 1.5 times the runs, for those have no branches to count.
flags+=(-Cllvm-args=-asan-instrumentation-with-call-threshold=0)
# Kernels that this processor does not run take most of the time to compile.
if [ "$(uname -m)" = x86_64 ] && ! grep -qwE 'avx512bw|avx_vnni' /proc/cpuinfo; then flags+=(--cfg only_avx2); fi
# One crate, optimized once, for with LTO it is twice; and little, which takes half the time to compile.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
RUSTFLAGS="$(sanitizer address) ${flags[*]}" cargo build --locked --release --target "$machine" \
  --manifest-path capi-tests/fuzz/Cargo.toml --target-dir target/fuzz

run() {
  local log=target/fuzz/$1.log
  mkdir -p "target/fuzz/corpus/$1"
  # Long inputs from the start, for where one ends the target takes the first of each choice.
  if RUST_BACKTRACE=0 "target/fuzz/$machine/release/$1" -max_total_time="$seconds" -seed="${QGEMM_FUZZ_SEED:-0}" \
    -len_control=0 -max_len=512 -timeout=60 -artifact_prefix="target/fuzz/$1-" "target/fuzz/corpus/$1" >"$log" 2>&1; then
    echo "fuzz: $1: $(sed -n 's/^Done //p' "$log")"
  else
    echo "fuzz: $1 fails:"
    sed -n '/panicked at\|ERROR:/,$p' "$log" | head -n 80
    grep 'Test unit written' "$log"
    return 1
  fi
}
running=()
for target in "${targets[@]}"; do
  run "$target" &
  running+=($!)
done
status=0
for process in "${running[@]}"; do
  wait "$process" || status=1
done
exit $status
