#!/usr/bin/env bash
# Runs all tests: formatting, lints, the Rust tests, and the C and C++ programs, on every kernel that this processor runs;
# those it does not run, and those for Arm, are run on emulated ones. Some programs run once more under sanitizers,
# and a fuzzer calls the C interface.
#
# Two steps at a time, and all of them, whatever fails. What a step printed is shown when it ends, and how long it took.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
need cmake make ninja-build gcc g++ clang libclang-rt-dev libc6-dev pkg-config binutils shellcheck libgemmlowp-dev libpng-dev
need valgrind || echo "instructions: NOT TESTED: valgrind cannot be installed"
# Without these some steps test less, and say so. Installed now, for two steps at a time could not.
need rustc-web cargo-web rust-web-src gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static \
  cpio xorriso xz-utils || true

# Nothing is compiled twice, so no copies for the next time; and a failing assertion tells its place without debug information.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

lint() {
  cargo fmt --check --all
  cargo fmt --check --manifest-path capi-tests/fuzz/Cargo.toml
  shellcheck -x .ci/run capi-tests/*.sh capi-tests/consumer/*.sh capi-tests/engines/*.sh benches/*/*.sh
  cargo clippy --locked --all-targets -- -D warnings
  # Nothing is linked, so any libFuzzer will do.
  CUSTOM_LIBFUZZER_PATH=/dev/null cargo clippy --locked --manifest-path capi-tests/fuzz/Cargo.toml --target-dir target \
    -- -D warnings
}

# The C and C++ programs, with the library that ships, and then some of them on an emulated processor: not before, for they
# lie in one directory.
programs() {
  cargo test --locked --test header --test capi
  bash capi-tests/emulated.sh
}

# The thread pool, in the orders of events that loom finds with two or three preemptions. One test after the other: loom maps
# and unmaps stacks all the time, for which two of them would wait.
model_check() {
  RUSTFLAGS="--cfg loom" cargo test --locked --test model --target-dir target/loom -- --test-threads 1
}

running=() failed=()

# `start NAME COMMAND...`, in a group of processes of its own.
start() {
  local log=target/steps/$1.log began=$SECONDS
  set -m
  (
    trap 'show_times "$?" "$log" "$began"' EXIT
    "${@:2}"
  ) >"$log" 2>&1 </dev/null &
  set +m
  running[$!]=$1
}

# `show_times STATUS LOG BEGAN`: those of the step that ends.
show_times() {
  times >"$2.times"
  echo "took $((SECONDS - $3)) s; of processors, in programs and in the system: $(tail -n 1 "$2.times")"
  exit "$1"
}

# Waits until a step ends.
await() {
  local process status=0
  wait -n -p process "${!running[@]}" || status=$?
  local name=${running[process]}
  unset "running[process]"
  [ "$status" -eq 0 ] || failed+=("$name")
  sed "s/^/$name: /" "target/steps/$name.log"
}

stop() {
  local process
  for process in "${!running[@]}"; do kill -- "-$process" 2>/dev/null || true; done
}
trap stop EXIT

# A compiler at the end of a crate keeps one processor busy, and so does an emulator: two steps at a time. What takes longest
# comes first.
mkdir -p target/steps
for step in lint arm:"bash capi-tests/arm.sh" programs memory:"bash capi-tests/memory.sh 45" \
  data_races:"bash capi-tests/data_races.sh" unit_tests:"cargo test --locked --lib" model_check; do
  [ ${#running[@]} -lt 2 ] || await
  read -ra command <<<"${step#*:}"
  start "${step%%:*}" "${command[@]}"
done
while [ ${#running[@]} -gt 0 ]; do await; done
echo "test.sh: took $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
  # Once more: whoever is shown only the end of this output finds the reason there.
  for name in "${failed[@]}"; do tail -n 100 "target/steps/$name.log" | sed "s/^/FAILED: $name: /"; done
  echo "test.sh: FAILED: ${failed[*]}"
  exit 1
fi
