#!/bin/bash
# Builds the library for aarch64, and prints what llvm-mca predicts for the inner loops of its kernels. Debian or Ubuntu;
# installs what is missing: llvm, and without rustup Debian's newest Rust with the standard library of arm64.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
target=aarch64-unknown-linux-gnu
directory=$(realpath "${CARGO_TARGET_DIR:-target}")/arm-assembly
mkdir -p "$directory"

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

install() {
    root apt-get -qq update >&2
    root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >&2
}

# The newest llvm-mca there is: old ones do not know the newer processors.
newest() { find /usr/bin -name 'llvm-mca-*' | sort -V | tail -n 1; }
mca=$(newest)
if [ -z "$mca" ] || [ "${mca##*-}" -lt 19 ]; then
    install "$(apt-cache search --names-only '^llvm-[0-9]+$' | cut -d' ' -f1 | sort -V | tail -n 1)"
    mca=$(newest)
fi

# Nothing is linked: the compiler needs the target's standard library, but no linker.
has_target() { [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ]; }
if ! has_target && command -v rustup >/dev/null; then
    rustup target add "$target" >&2
fi
if ! has_target; then
    export PATH=/usr/bin:/bin
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then install rustc-web cargo-web; fi
fi
if ! has_target; then
    # Unpacked, not installed: packages of two architectures would get in each other's way.
    lists=$directory/apt
    mkdir -p "$lists/lists/partial"
    : >"$lists/status"
    version=$(dpkg-query -W -f '${Version}' rustc-web)
    apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
        -o Dir::State::Lists="$lists/lists" -o Dir::State::status="$lists/status"
        -o Dir::Cache::pkgcache="$lists/packages" -o Dir::Cache::srcpkgcache="$lists/sources")
    "${apt[@]}" update >&2
    (cd "$lists" && "${apt[@]}" download "libstd-rust-web-dev=$version" >&2 && dpkg -x libstd-rust-web-dev_*.deb std)
    root cp -a "$lists/std/usr/lib/rustlib/$target" "$(dirname "$(dirname "$(rustc --print target-libdir)")")/"
fi

CARGO_PROFILE_RELEASE_LTO=off CARGO_TARGET_DIR=$directory \
    cargo rustc -p qgemm --release --lib --crate-type rlib --target "$target" -- --emit asm -C debuginfo=0 >&2
assembly=$(find "$directory/$target/release/deps" -name 'qgemm*.s' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)

echo "Predicted by $("$mca" --version | grep -o 'LLVM version.*'), not measured:"
echo
python3 "$here/predict.py" "$mca" "$assembly"
