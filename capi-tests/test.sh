#!/usr/bin/env bash
# Runs all tests: formatting, lints, the Rust tests, and through them the C and C++ programs, on every kernel that this
# processor runs; those it does not run, and those for Arm, are run on emulated ones. The Rust tests run once more under
# sanitizers, and a fuzzer calls the C interface. Says how long each step takes.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
need cmake make ninja-build gcc g++ clang libclang-rt-dev libc6-dev pkg-config binutils shellcheck libgemmlowp-dev libpng-dev
need valgrind || echo "instructions: NOT TESTED: valgrind cannot be installed"
# Without these some steps test less, and say so. Installed now, for two steps at a time could not.
need rustc-web cargo-web rust-web-src gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static \
  cpio xorriso xz-utils || true

# `step NAME COMMAND...`
step() {
  local start=$SECONDS
  echo "test.sh: $1"
  "${@:2}"
  echo "test.sh: $1: took $((SECONDS - start)) s"
}

lint() {
  cargo fmt --check
  cargo fmt --check --manifest-path capi-tests/fuzz/Cargo.toml
  shellcheck -x .ci/run capi-tests/*.sh capi-tests/consumer/*.sh capi-tests/engines/*.sh benches/*/*.sh
  cargo clippy --locked --all-targets -- -D warnings
  # Nothing is linked, so any libFuzzer will do.
  CUSTOM_LIBFUZZER_PATH=/dev/null cargo clippy --locked --manifest-path capi-tests/fuzz/Cargo.toml --target-dir target \
    -- -D warnings
}

# The thread pool, in the orders of events that loom finds with three preemptions. Loom itself is what takes time: all else
# is compiled without optimizations, which would take longer.
model_check() {
  CARGO_PROFILE_DEV_OPT_LEVEL=0 RUSTFLAGS="--cfg loom" cargo test --locked --lib --target-dir target/loom pool
}

emulate() {
  step "emulated x86" bash capi-tests/emulated.sh
  step "emulated Arm" bash capi-tests/arm.sh
}

step "formatting and lints" lint
# An emulator keeps one processor busy, and so does a compiler at the end of a crate: two of them at a time.
emulate >target/emulated.log 2>&1 &
emulation=$!
trap 'kill "$emulation" 2>/dev/null || true' EXIT
step "loom" model_check
step "sanitizers" bash capi-tests/sanitized.sh
step "fuzzing" bash capi-tests/fuzz.sh 30
step "all tests of this machine" cargo test --locked
status=0
wait "$emulation" || status=$?
trap - EXIT
cat target/emulated.log
[ $status -eq 0 ]
