#!/usr/bin/env bash
# The side-by-side benchmark, from nothing to a table.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: benches/peers/run.sh [--quick] [--threads N] [--out DIR] [qbench options...]

Installs the rivals from package registries, builds libqgemm and the harness, measures the limits of this
machine and then everybody interleaved. DIR (default: a new one in the cache) gets results.csv, limits.csv
and summary.md. A rival that cannot be had is skipped with a message.

  --quick      seven shapes, few samples: minutes instead of half an hour
  --threads N  on N threads (default 1)
  others       go to qbench, for example --libs qgemm,gemmlowp --class conv --shape 64x64x64 --s8-bits 7

QGEMM_PEERS_CACHE  where packages and builds are kept (default ~/.cache/qgemm-peers)
QGEMM_SO           a libqgemm.so to measure instead of building one
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${QGEMM_PEERS_CACHE:-$HOME/.cache/qgemm-peers}
venv=$cache/venv
build=$cache/build
threads=1
quick=
out=$cache/results/$(date +%Y%m%d-%H%M%S)
qbench_options=()

say() { printf '# %s\n' "$*" >&2; }

parse_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) quick=1 qbench_options+=("$1") ;;
      --threads) threads=${2:?--threads wants a number} && shift ;;
      --out) out=${2:?--out wants a directory} && shift ;;
      -h | --help) usage && exit ;;
      *) qbench_options+=("$1") ;;
    esac
    shift
  done
}

# Runs as root, if that can be had without asking.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_debian_packages() {
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here: install g++, clang, make, gemmlowp and OpenBLAS yourself"
    return
  fi
  local package updated=
  for package in g++ clang make python3-venv libgemmlowp-dev libopenblas-dev; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then continue; fi
    say "installing $package"
    if [ -z "$updated" ]; then
      as_root apt-get -qq update >&2 || say "apt-get update failed"
      updated=1
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$package" >&2 ||
      say "cannot install $package: what needs it is skipped"
  done
}

install_python_packages() {
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || return 0
  local packages pip=("$venv/bin/pip" --disable-pip-version-check)
  for packages in "onednn-cpu-gomp onednn-devel-cpu-gomp" "mkl mkl-devel" onnxruntime; do
    # shellcheck disable=SC2086 # words are packages
    "${pip[@]}" show -q $packages >/dev/null 2>&1 && continue
    say "installing $packages"
    # shellcheck disable=SC2086
    "${pip[@]}" install -q $packages >&2 || say "cannot install $packages: skipped"
  done
}

build_libqgemm() {
  if [ -n "${QGEMM_SO:-}" ]; then return; fi
  say "building libqgemm"
  if nice cargo build -q --release --lib --manifest-path "$root/Cargo.toml" --target-dir "$cache/target" >&2; then
    export QGEMM_SO=$cache/target/release/libqgemm.so
  else
    say "libqgemm does not build: the rivals run without it"
    export QGEMM_SO=/nonexistent/libqgemm.so
  fi
}

build_harness() {
  say "building the harness and the adapters"
  nice make -s -k -C "$here" O="$build" VENV="$venv" >&2 || say "what did not build is skipped"
  if [ ! -x "$build/qbench" ]; then
    say "the harness itself did not build"
    exit 1
  fi
}

# Before and after the contenders, because a machine has better and worse minutes.
measure_limits() {
  [ -x "$build/peak" ] || return 0
  say "limits of this machine"
  "$build/peak" "$threads" >"$out/$1"
}

measure_memory_and_tiles() {
  if [ -x "$build/bandwidth" ]; then "$build/bandwidth" "$threads" >"$out/bandwidth.csv"; fi
  if [ -x "$build/pattern" ]; then "$build/pattern" >"$out/pattern.csv"; fi
}

measure_contenders() {
  local ort=("$venv"/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*)
  QB_ORT=${ort[0]} "$build/qbench" --threads "$threads" "${qbench_options[@]}" --out "$out/results.csv"
}

describe_machine() {
  printf '# libqgemm and its peers\n\n'
  printf '%s, %s CPUs, %s, %s.\n' "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
    "$("${CXX:-g++}" --version | head -n 1)" "$(date -u +%Y-%m-%d)"
  printf 'libqgemm at %s.\n' "$(git -C "$root" describe --always --dirty 2>/dev/null || echo 'an unknown commit')"
  printf 'Options: --threads %s %s\n\n' "$threads" "${qbench_options[*]}"
}

summarize() {
  local limits=() file status=0
  for file in "$out"/limits*.csv; do
    if [ -s "$file" ]; then limits+=(--limits "$file"); fi
  done
  describe_machine >"$out/summary.md"
  python3 "$here/summarize.py" "${limits[@]}" "$out/results.csv" >>"$out/summary.md" || status=$?
  cat "$out/summary.md"
  say "written: $out"
  return "$status"
}

parse_options "$@"
mkdir -p "$cache" "$out"
install_debian_packages
install_python_packages
build_libqgemm
build_harness
measure_limits limits.csv
[ -n "$quick" ] || measure_memory_and_tiles
measure_contenders
measure_limits limits-after.csv
summarize
