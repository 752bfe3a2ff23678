#!/usr/bin/env bash
# Runs all tests: formatting, lints, the Rust tests, and through them the C and C++ programs, on every kernel that this
# processor runs; those it does not run are run on an emulated one.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
need cmake make ninja-build gcc g++ clang libc6-dev pkg-config binutils shellcheck libgemmlowp-dev
cargo fmt --check
shellcheck -x .ci/run capi-tests/*.sh capi-tests/consumer/*.sh benches/peers/*.sh
cargo clippy --locked --all-targets -- -D warnings
# The thread pool, in the orders of events that loom finds with three preemptions.
RUSTFLAGS="--cfg loom" cargo test --locked --lib --target-dir target/loom pool
bash capi-tests/emulated.sh
cargo test --locked
