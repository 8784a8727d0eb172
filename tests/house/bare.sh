# bare.sh - a minimal Debian in a folder, shared by chroot.sh and package.sh: source it as root, with $suite, $mirror and $where set
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
base=$where/$suite.base
mounted=()
unmount_all() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount "${mounted[i]}"; done
  mounted=()
}
trap unmount_all EXIT

# bare_base: makes the base system with debootstrap, unless a complete one exists
bare_base() {
  [ "$(id -u)" -eq 0 ] || { echo "${0##*/}: run as root" >&2; exit 1; }
  command -v debootstrap >/dev/null || { echo "${0##*/}: apt-get install debootstrap first" >&2; exit 1; }
  mkdir -p "$where"
  [ ! -e "$base/.complete" ] || return 0
  rm -rf "$base"
  # shellcheck disable=SC2086 # options are split on purpose
  debootstrap ${DEBOOTSTRAP_OPTIONS:-} --variant=minbase "$suite" "$base" "$mirror" >"$where/debootstrap.log" 2>&1 ||
    { tail "$where/debootstrap.log"; exit 1; }
  umount "$base/proc" "$base/sys" 2>/dev/null
  touch "$base/.complete"
}

# bare_copy ROOT: makes ROOT a fresh copy of the base system with this machine's proxy and name servers, and mounts /proc
bare_copy() {
  local root=$1 conf
  rm -rf "$root"
  cp -a "$base" "$root"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  # Copies this machine's proxy for the mirror, if one is configured.
  for conf in $(grep -lisE 'proxy' /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2>/dev/null); do
    cp "$conf" "$root/etc/apt/apt.conf.d/"
  done
  mount -t proc proc "$root/proc" && mounted+=("$root/proc")
}
