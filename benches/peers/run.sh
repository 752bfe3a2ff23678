#!/usr/bin/env bash
# The side-by-side benchmark, from nothing to a table.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: benches/peers/run.sh [--quick] [--sweep | --no-sweep] [--threads N] [--out DIR] [qbench options...]

Installs the rivals from package registries, builds libqgemm and the harness, measures the limits of this
machine and then everybody interleaved; then libqgemm on every size from 1 to 300. DIR (default: a new one in
the cache) gets results.csv, limits.csv, summary.md and plot.svg, and of the sweep sweep.csv, heatmap.svg and
worst.md. A rival that cannot be had is skipped with a message.

  --quick      ten shapes, few samples, and no sweep: minutes instead of an hour or two
  --sweep      only the sweep: minutes
  --no-sweep   all but the sweep
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
compare=1
sweep=1
out=$cache/results/$(date +%Y%m%d-%H%M%S)
qbench_options=()

say() { printf '# %s\n' "$*" >&2; }

parse_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) quick=1 sweep='' qbench_options+=("$1") ;;
      --sweep) sweep=1 compare='' ;;
      --no-sweep) sweep='' ;;
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

# qbench, with all that it has to know of this machine.
qbench() {
  local ort=("$venv"/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*)
  QB_ORT=${ort[0]} "$build/qbench" --threads "$threads" "$@"
}

measure_contenders() {
  qbench "${qbench_options[@]}" --out "$out/results.csv"
  # Who saturates may show what it can where that does no harm.
  if [[ " ${qbench_options[*]} " != *" --s8-bits "* ]] && grep -q WRONG "$out/results.csv"; then
    say "once more with s8 weights of 7 bits, for those who saturate"
    qbench --variants u8s8,s8s8 "${qbench_options[@]}" --s8-bits 7 --out "$out/results-7-bits.csv"
  fi
}

# Several passes, in different orders, of which the fastest counts; then some products beside the rivals.
measure_sweep() {
  say "every size from 1 to 300"
  local pass parts=()
  for pass in 1 2 3 random; do
    local options=(--libs qgemm --variants "gemm_u8u8s32_zpab_kn,gemm_u8u8u8_zpab_pack")
    if [ "$pass" = random ]; then options=(--variants "u8u8s32,u8u8u8"); fi
    python3 "$here/sweep/grid.py" "$pass" >"$out/sweep-$pass.txt"
    qbench --quiet --shapes-file "$out/sweep-$pass.txt" "${options[@]}" --rounds 5 --sample-ms 0.1 \
      --out "$out/sweep-$pass.csv"
    parts+=("$out/sweep-$pass.csv")
    rm "$out/sweep-$pass.txt"
  done
  head -q -n 1 "${parts[0]}" >"$out/sweep.csv"
  tail -q -n +2 "${parts[@]}" >>"$out/sweep.csv"
  rm "${parts[@]}"
}

describe_machine() {
  printf '# libqgemm and its peers\n\n'
  printf '%s, %s CPUs, %s, %s.\n' "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
    "$("${CXX:-g++}" --version | head -n 1)" "$(date -u +%Y-%m-%d)"
  printf 'libqgemm at %s.\n' "$(git -C "$root" describe --always --dirty 2>/dev/null || echo 'an unknown commit')"
  printf 'Options: --threads %s %s\n\n' "$threads" "${qbench_options[*]}"
}

# The files of a kind that hold anything.
written() {
  local file
  for file in "$@"; do
    if [ -s "$file" ]; then printf '%s\n' "$file"; fi
  done
}

summarize() {
  local limits results status=0
  mapfile -t limits < <(written "$out"/limits*.csv)
  mapfile -t results < <(written "$out/results.csv" "$out/results-7-bits.csv")
  describe_machine >"$out/summary.md"
  python3 "$here/summarize.py" "${limits[@]/#/--limits=}" "${results[@]}" >>"$out/summary.md" || status=$?
  python3 "$here/plot.py" "${results[@]}" >"$out/plot.svg"
  cat "$out/summary.md"
  return "$status"
}

summarize_sweep() {
  local limits status=0
  mapfile -t limits < <(written "$out"/limits*.csv)
  python3 "$here/sweep/heatmap.py" "$out/sweep.csv" "${limits[@]}" >"$out/heatmap.svg"
  python3 "$here/sweep/worst.py" "$out/sweep.csv" >"$out/worst.md" || status=$?
  cat "$out/worst.md"
  return "$status"
}

parse_options "$@"
mkdir -p "$cache" "$out"
install_debian_packages
install_python_packages
build_libqgemm
build_harness
measure_limits limits.csv
[ -n "$quick" ] || [ -z "$compare" ] || measure_memory_and_tiles
[ -z "$compare" ] || measure_contenders
[ -z "$sweep" ] || measure_sweep
measure_limits limits-after.csv
status=0
[ -z "$compare" ] || summarize || status=1
[ -z "$sweep" ] || summarize_sweep || status=1
say "written: $out"
exit "$status"
