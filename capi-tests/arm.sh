#!/usr/bin/env bash
# Cross-builds libqgemm for 64-bit Arm and tests it on emulated processors of three kinds: one with NEON alone, one with
# dot products, one with I8MM. An instruction that a processor does not have ends a test, so what is chosen there is right.
#
# On the last of them, which runs all kernels, the C and C++ programs are run with the best, and some with each; on all three
# the Rust unit tests that go over the kernels. What takes memory or time beyond measure is left out, and so are the kernels of
# awkward shapes: they are tested on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=capi-tests/install.sh
. capi-tests/install.sh
directory=target/arm
target=aarch64-unknown-linux-gnu

not_tested() {
  echo "arm: NOT TESTED: $*"
  exit
}

[ "$(uname -m)" = x86_64 ] || not_tested "it is cross-built on x86-64 only"
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! need cmake make gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static rustc-web cargo-web ||
  dpkg --compare-versions "$(dpkg-query -W -f '${Version}' rustc-web)" lt "$oldest"; then
  not_tested "a cross compiler, qemu, or Debian's rustc-web, $oldest or later, is not to be had"
fi

# Rust's standard library for Arm is in Debian's package for Arm. It is unpacked here and not installed, for with packages
# for Arm installed there would be two C libraries for qemu, and threads would hang.
unpack_standard_library() {
  local apt=$PWD/$directory/apt options version
  version=$(dpkg-query -W -f '${Version}' rustc-web)
  library=$directory/std-$version
  [ -e "$library/usr" ] && return
  mkdir -p "$apt/lists/partial"
  : >"$apt/status"
  options=(-q -o Acquire::Retries=3 -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=
    -o "Dir::State::Lists=$apt/lists" -o "Dir::State::Status=$apt/status"
    -o "Dir::Cache::pkgcache=$apt/packages.bin" -o "Dir::Cache::srcpkgcache=$apt/sources.bin")
  # A mirror may be changing just now.
  for _ in 1 2 3; do
    apt-get "${options[@]}" update >/dev/null 2>&1 || true
    if (cd "$apt" && apt-get "${options[@]}" download "libstd-rust-web-dev=$version" >/dev/null 2>&1); then
      dpkg -x "$apt"/libstd-rust-web-dev_*_arm64.deb "$library.part"
      rm "$apt"/*.deb
      mv "$library.part" "$library"
      return
    fi
    sleep 5
  done
  return 1
}
unpack_standard_library || not_tested "Rust's standard library for Arm, libstd-rust-web-dev, is not to be had"

export RUSTC=/usr/bin/rustc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
standard_library=(-L "$PWD/$library/usr/lib/rustlib/$target/lib")

# What ships. gemmlowp's library is not there for Arm, but its headers are, with vectors of fixed-point numbers.
configuration=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DQGEMM_CARGO=/usr/bin/cargo)
[ ! -e /usr/include/gemmlowp ] || configuration+=(-DGEMMLOWP_INCLUDE_DIR=/usr/include/gemmlowp)
cmake -S . -B "$directory/capi" "${configuration[@]}" >/dev/null 2>&1
RUSTFLAGS="${standard_library[*]}" cmake --build "$directory/capi" --parallel 2 >"$directory/build.log" 2>&1 ||
  { cat "$directory/build.log"; exit 1; }
programs=$directory/capi/cmake/capi-tests/programs

# The unit tests do without the packages that only other tests need, and without what makes a compiler slow.
unit_tests=$(RUSTFLAGS="--cfg emulated ${standard_library[*]}" CARGO_PROFILE_RELEASE_LTO=off \
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true \
  /usr/bin/cargo test --locked --lib --release --no-run --message-format=json --target "$target" \
  --target-dir "$directory/unit" 2>"$directory/unit.log" |
  sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1) || { cat "$directory/unit.log"; exit 1; }

# `emulated CPU SECONDS PROGRAM ARGUMENT...`: no run lasts for ever.
emulated() {
  QEMU_CPU=$1 timeout "$2" qemu-aarch64-static -L /usr/aarch64-linux-gnu "${@:3}"
}

for processor in cortex-a53:neon neoverse-n1:dotprod max:i8mm; do
  cpu=${processor%:*} best=${processor#*:}
  # The best kernel is found by itself, and has the results that all have.
  emulated "$cpu" 120 "$programs/golden_hashes" capi-tests/data/golden_hashes.txt | tee "$directory/golden.log"
  grep -qx "kernel: $best" "$directory/golden.log" ||
    { echo "arm: $cpu does not take the kernel $best"; exit 1; }
  # What goes over the kernels; where only the tiles differ from those of the first, what multiplies. The last runs all kernels,
  # so there is more, but for the largest products and those that are for kernels of another architecture.
  case $best in
    neon) tests=(every_kernel) ;;
    dotprod) tests=(kernel::tests::every_kernel kernel::weighted conv::tests::every_kernel_agrees_with conv::depthwise) ;;
    *)
      tests=(kernel:: conv:: pack:: --skip tiles_of_every_depth --skip a_product_of_many_blocks --skip a_product_cut_into_blocks
        --skip products_of_64_columns --skip lines_a_memory_page_apart)
      ;;
  esac
  QGEMM_TESTS_KERNELS="i8mm dotprod neon scalar" PROPTEST_CASES=8 emulated "$cpu" 900 "$unit_tests" --test-threads 2 "${tests[@]}"
done

# Left out, beside what CMake leaves out where it cross-builds: what the compilers of this machine say of headers; the
# plain kernel, which is the same code everywhere, but for its results; and for all kernels but one most programs.
QGEMM_ISA=scalar emulated max 120 "$programs/golden_hashes" capi-tests/data/golden_hashes.txt
# Random calls, a quarter of those that are made with the best kernel.
for kernel in neon dotprod; do
  QGEMM_ISA=$kernel emulated max 240 "$programs/gemm" 0 1500
  QGEMM_ISA=$kernel emulated max 240 "$programs/conv" 0 400
done
cd "$directory/capi"
left_out='^header\.|clang|\.scalar$'
QEMU_CPU=max ctest --parallel 2 --timeout 240 --output-on-failure --exclude-regex "$left_out|\.(neon|dotprod)$"
QEMU_CPU=max ctest --parallel 2 --timeout 240 --output-on-failure --exclude-regex "$left_out" \
  --tests-regex '^(packed_products|golden_hashes|googlenet|mobilenet|drop_in)\.(neon|dotprod)$'
