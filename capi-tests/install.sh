# shellcheck shell=bash
# Sourced by the scripts beside it. `need PACKAGE...` installs what is missing of these Debian packages.

need() {
  local missing=() package as_root=()
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local install=("${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  # A mirror may be changing just now.
  for _ in 1 2 3; do
    "${install[@]}" update >/dev/null &&
      "${install[@]}" install -y --no-install-recommends --no-remove "${missing[@]}" >/dev/null && return
    sleep 5
  done
  return 1
}
