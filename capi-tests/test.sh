#!/usr/bin/env bash
# Runs all tests: formatting, lints, the Rust tests, and through them the C and C++ programs, on every kernel that this
# processor runs; those it does not run are run on an emulated one. The Rust tests run once more under
# sanitizers, and a fuzzer calls the C interface.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
need cmake make ninja-build gcc g++ clang libclang-rt-dev libc6-dev pkg-config binutils shellcheck libgemmlowp-dev
need valgrind || echo "instructions: NOT TESTED: valgrind cannot be installed"
cargo fmt --check
cargo fmt --check --manifest-path capi-tests/fuzz/Cargo.toml
shellcheck -x .ci/run capi-tests/*.sh capi-tests/consumer/*.sh benches/*/*.sh
cargo clippy --locked --all-targets -- -D warnings
# Nothing is linked, so any libFuzzer will do.
CUSTOM_LIBFUZZER_PATH=/dev/null cargo clippy --locked --manifest-path capi-tests/fuzz/Cargo.toml --target-dir target \
  -- -D warnings
# The thread pool, in the orders of events that loom finds with three preemptions.
RUSTFLAGS="--cfg loom" cargo test --locked --lib --target-dir target/loom pool
bash capi-tests/emulated.sh
bash capi-tests/sanitized.sh
bash capi-tests/fuzz.sh 30
cargo test --locked
