# shellcheck shell=bash
# Sourced by the scripts beside it: how Rust code is compiled for a sanitizer.

# Compilers of releases then take the options of nightly ones, too.
export RUSTC_BOOTSTRAP=1

# This machine, by Rust's name: with --target, even for this one, build scripts are compiled without RUSTFLAGS.
# shellcheck disable=SC2034 # for the scripts
machine=$(rustc -vV | sed -n 's/^host: //p')

# `sanitizer address` prints the flags. The toolchains of rustup bring the runtime; Debian's leave that to Clang.
sanitizer() {
  printf -- '-Zsanitizer=%s' "$1"
  compgen -G "$("${RUSTC:-rustc}" --print target-libdir)/librustc*_rt.${1:0:1}san.a" >/dev/null ||
    printf ' -Zexternal-clangrt -Clinker=clang -Clink-arg=-fsanitize=%s' "$1"
}
