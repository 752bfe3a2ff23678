#!/usr/bin/env bash
#
# Runs a Linux x86-64 program on an emulated CPU that has instructions this
# machine may lack: AVX-512 (F, BW, VL, VBMI, VNNI) and AVX-VNNI. QEMU emulates
# none of them, but the Bochs PC emulator does. So this script boots a Debian
# kernel in Bochs, with your files and the shared libraries they need in an
# initramfs, runs one command there, copies what it prints to stdout, and exits
# with its exit status. It needs a Debian-like host with apt. The first run
# builds Bochs (a few minutes) and keeps it in a cache; later runs take some
# ten seconds to boot, and then run some ten to a hundred times slower than native.
# Only correctness can be tested this way, never speed.
#
# Usage: bochs.sh [--features SET] [--timeout SECONDS] FILE... -- COMMAND [ARG...]
#
#   --features SET   all         AVX-512 with VNNI, and AVX-VNNI (the default)
#                    avx512vnni  AVX-512 with VBMI and VNNI, no AVX-VNNI
#                    avx512bw    AVX-512 F, BW, VL, DQ, CD: no VBMI, no VNNI
#                    avxvnni     AVX-VNNI and no AVX-512
#                    or a CPU model by the name Bochs has for it
#   --timeout SECONDS  give up after this long, boot included (default 600)
#
# Each FILE (or directory) goes to /t/BASENAME, without debug information.
# COMMAND runs in /t, which is also first in PATH; busybox supplies the usual
# commands (for more than one program: -- sh -c './a && ./b'). Environment
# variables that begin with QGEMM_ are passed on. The exit status is COMMAND's,
# or 124 after a timeout, or 125 if the emulator or this script failed.
#
# QGEMM_BOCHS_CACHE: where to keep what was built (~/.cache/qgemm-bochs).
set -euo pipefail

die() { echo "bochs.sh: $*" >&2; exit 125; }
usage() { sed -n '/^# Usage/,/^# QGEMM/s/^# \{0,1\}//p' "$0"; }

model=sapphire_rapids limit=600 files=()
while [ $# -gt 0 ]; do
  case $1 in
    --features)
      [ $# -ge 2 ] || die "--features needs a value"
      case $2 in
        all) model=sapphire_rapids ;;
        avx512vnni) model=corei7_icelake_u ;;
        avx512bw) model=corei7_skylake_x ;;
        avxvnni) model=arrow_lake ;;
        *) model=$2 ;;
      esac
      shift 2 ;;
    --timeout)
      [ $# -ge 2 ] || die "--timeout needs a value"
      limit=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    -*) die "unknown option $1" ;;
    *) [ -e "$1" ] || die "no such file: $1"
       files+=("$1"); shift ;;
  esac
done
[ $# -gt 0 ] || die "no command: see bochs.sh --help"
[[ $limit =~ ^[1-9][0-9]*$ && $model =~ ^[a-z0-9_]+$ ]] || die "bad option value"

cache=${QGEMM_BOCHS_CACHE:-$HOME/.cache/qgemm-bochs}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
work=$(mktemp -d "$cache/run.XXXXXX")
bochs_pid=
# shellcheck disable=SC2317 # called by the trap
cleanup() {
  [ -z "$bochs_pid" ] || kill "$bochs_pid" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 125' INT TERM HUP

# Tools of the host, installed if they are missing.
install_tools() {
  local missing=() t sudo=()
  for t in cpio xorriso g++ make xz:xz-utils strip:binutils ldd:libc-bin flock:util-linux; do
    command -v "${t%%:*}" >/dev/null || missing+=("${t##*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || sudo=(sudo -n)
  "${sudo[@]}" apt-get -q update
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y --no-install-recommends install "${missing[@]}"
}

# Fills the cache: the kernel, BIOS, boot loader and busybox are unpacked from
# packages of Debian 12, not installed. Bochs is built from the source package of
# Debian 13: Debian 12's Bochs 2.7 has no CPU model with AVX-VNNI, and Debian's own
# builds carry a debugger that is of no use here. apt checks the signatures, with
# package lists of its own, kept apart from the host's.
build_cache() {
  local b=$work/build d mirror key=/usr/share/keyrings/debian-archive-keyring.gpg
  # The mirror that this machine's apt uses.
  # shellcheck disable=SC2016 # apt expands them
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
    sed -n 's, bookworm$,,p' | head -n 1)
  [ -n "$mirror" ] || { echo "no mirror of Debian 12 among apt's sources"; return 1; }
  mkdir -p "$b"/{lists/partial,cache/archives/partial,src,root}
  cat >"$b/sources.list" <<END
deb [arch=amd64 signed-by=$key] $mirror bookworm main
deb-src [signed-by=$key] $mirror trixie main
END
  local apt=(-q -o "Dir::Etc::SourceList=$b/sources.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$b/lists" -o "Dir::Cache=$b/cache" -o APT::Sandbox::User=root)
  cd "$b"
  apt-get "${apt[@]}" update
  local kernel
  kernel=$(apt-cache "${apt[@]}" depends linux-image-cloud-amd64 |
    sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
  apt-get "${apt[@]}" download "$kernel" bochsbios vgabios isolinux syslinux-common busybox-static
  for d in ./*.deb; do dpkg -x "$d" root; done
  mkdir new
  cp root/boot/vmlinuz-* new/vmlinuz
  cp root/usr/share/bochs/BIOS-bochs-latest root/usr/share/vgabios/vgabios.bin \
    root/usr/lib/ISOLINUX/isolinux.bin root/usr/lib/syslinux/modules/bios/ldlinux.c32 \
    root/bin/busybox new/

  cd src
  apt-get "${apt[@]}" source --tar-only bochs
  tar --strip-components=1 -xf bochs_*.orig.tar.*
  # No AMX: Linux 6.1 fails to start on Bochs's. No show-ips: its signal handler
  # writes to the log, and now and then deadlocks with a message being written.
  # The rest is left out for speed.
  CFLAGS='-O3 -fomit-frame-pointer -w' CXXFLAGS='-O3 -fomit-frame-pointer -w' ./configure \
    --enable-cpu-level=6 --enable-x86-64 --enable-avx --enable-evex --disable-amx \
    --enable-all-optimizations --with-nogui --disable-plugins --disable-debugger \
    --disable-docbook --disable-readline --disable-vmx --disable-svm --disable-cet \
    --disable-protection-keys --disable-alignment-check --disable-stats --disable-show-ips
  make -j"$(nproc)" bochs
  strip -o ../new/bochs bochs
  rm -rf "$cache/rig-2"
  mv ../new "$cache/rig-2"
}
(
  install_tools
  flock 9
  [ -x "$cache/rig-2/bochs" ] && exit
  echo "bochs.sh: building the emulator in $cache (once, some minutes)" >&2
  mkdir -p "$work"
  (build_cache) >"$cache/build.log" 2>&1 </dev/null && exit
  tail -n 20 "$cache/build.log" >&2
  exit 1
) 9>"$cache/lock" >&2 </dev/null || die "setup failed"
rm -rf "$work/build"
rig=$cache/rig-2

# The initramfs. ldd names the libraries; whatever their place on the host, they
# go to /lib in the guest, where LD_LIBRARY_PATH finds them.
root=$work/root
mkdir -p "$root"/{bin,dev,etc,lib,lib64,proc,sys,t,tmp} "$work/iso/isolinux"
cp "$rig/busybox" "$root/bin/"
for f in "${files[@]}"; do
  cp -rL "$f" "$root/t/"
  while IFS= read -r -d '' elf; do
    while read -r lib arrow path _; do
      case $arrow$path in
        '=>'/*) cp -L "$path" "$root/lib/$lib" ;;
        '=>not') [ -e "$root/t/$lib" ] || echo "bochs.sh: $elf needs $lib: not found" >&2 ;;
        *) case $lib in /*) cp -L "$lib" "$root/lib64/" ;; esac ;;
      esac
    done < <(ldd "$elf" 2>/dev/null || true)
  done < <(find -L "$f" -type f -print0)
done
find "$root/t" -type f -exec strip -g {} + 2>/dev/null || true

for v in $(compgen -e QGEMM_ || true); do
  [ "$v" = QGEMM_BOCHS_CACHE ] || printf 'export %s=%q\n' "$v" "${!v}"
done >"$root/etc/env"
printf '%q ' "$@" >"$root/etc/command"
# The command's output goes to the first serial port, its exit status to the
# second. stty sets the raw mode, and at the end waits until all has been sent.
cat >"$root/init" <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
stty -F /dev/ttyS0 115200 raw -echo
stty -F /dev/ttyS1 115200 raw -echo
export HOME=/t TMPDIR=/tmp PATH=/t:/bin LD_LIBRARY_PATH=/t:/lib
. /etc/env
cd /t
sh /etc/command >/dev/ttyS0 2>&1 </dev/null
echo "exit status: $?" >/dev/ttyS1
stty -F /dev/ttyS0 raw
stty -F /dev/ttyS1 raw
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/iso/initrd"

# clearcpuid=580 hides FSRM (fast short rep mov) from the kernel: without it Linux
# 6.1 hangs early on the newer models. (Bochs lacks the register that says fast
# strings are on, so the kernel drops ERMS but keeps FSRM, and it seems that its
# memmove then goes wrong.) noreplace-smp saves thousands of code patches at boot;
# reboot=t turns a kernel panic into the end of the emulator.
cp "$rig/isolinux.bin" "$rig/ldlinux.c32" "$work/iso/isolinux/"
cp "$rig/vmlinuz" "$work/iso/vmlinuz"
cat >"$work/iso/isolinux/isolinux.cfg" <<'END'
DEFAULT linux
PROMPT 0
LABEL linux
 KERNEL /vmlinuz
 INITRD /initrd
 APPEND console=ttyS0,115200 loglevel=0 rdinit=/init clearcpuid=580 no5lvl noreplace-smp nokaslr mitigations=off tsc=reliable lpj=100000 random.trust_cpu=on panic=-1 reboot=t
END
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
  -no-emul-boot -boot-load-size 4 -boot-info-table "$work/iso" >"$work/xorriso.log" 2>&1 ||
  die "xorriso: $(cat "$work/xorriso.log")"

# A low ips (instructions per emulated second) makes the serial ports fast.
cat >"$work/bochsrc" <<END
display_library: nogui
cpu: model=$model, count=1, ips=10000000, reset_on_triple_fault=0, ignore_bad_msrs=1
clock: sync=none
megs: 1024
romimage: file="$rig/BIOS-bochs-latest"
vgaromimage: file="$rig/vgabios.bin"
ata0-master: type=cdrom, path="$work/boot.iso", status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev="$work/out"
com2: enabled=1, mode=file, dev="$work/status"
log: "$work/bochs.log"
panic: action=fatal
error: action=ignore
speaker: enabled=0
END
: >"$work/out"
: >"$work/status"
timeout -k 5 "$limit" "$rig/bochs" -q -f "$work/bochsrc" >"$work/bochs.out" 2>&1 </dev/null &
bochs_pid=$!
tail -n +1 -s 0.2 -f --pid="$bochs_pid" "$work/out" &
wait "$!" || true
rc=0
wait "$bochs_pid" || rc=$?
bochs_pid=

status=$(sed -n 's/^exit status: \([0-9]\{1,3\}\).*/\1/p' "$work/status" | head -n 1)
if [ -n "$status" ]; then
  echo "bochs.sh: exit status: $status" >&2
  exit "$status"
fi
case $rc in 124 | 137) echo "bochs.sh: timeout after $limit seconds" >&2; exit 124 ;; esac
tail -n 5 "$work/bochs.log" >&2 || true
grep -A 1 'exiting with' "$work/bochs.out" >&2 || true
die "the emulated machine stopped without an exit status"
