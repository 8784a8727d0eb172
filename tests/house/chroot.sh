#!/usr/bin/env bash
# chroot.sh - checks that ./bootstrap.sh works on a bare machine
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   tests/house/chroot.sh [SUITE [MIRROR]]         (as root; not part of make check)
#
# Makes a minimal Debian (SUITE: bookworm) with debootstrap in $CHROOT_DIR (default
# $TMPDIR/orrery-chroot), unpacks `git archive` of the last commit there, and runs
# ./bootstrap.sh demo and ./bootstrap.sh check, twice each: as root on one bare system,
# then, on another, as a user with sudo. An existing base system is reused.
# Takes some minutes and about 2 GB; the result is kept for inspection. CHROOT_COMMANDS
# replaces "demo check demo check". Ubuntu: DEBOOTSTRAP_OPTIONS=--components=main,universe
# tests/house/chroot.sh jammy http://archive.ubuntu.com/ubuntu, with ubuntu-keyring installed.
set -u
suite=${1:-bookworm} mirror=${2:-http://deb.debian.org/debian}
top=$(cd "$(dirname "$0")/../.." && pwd)
where=${CHROOT_DIR:-${TMPDIR:-/tmp}/orrery-chroot}
. "$top/tests/house/bare.sh"
bare_base
bad=0

# try WHO: runs the four commands on a fresh system, as root or as the user "visitor"
try() {
  local who=$1 root=$where/$suite.$1 home
  bare_copy "$root"
  home=/root
  if [ "$who" != root ]; then
    home=/home/$who
    chroot "$root" sh -c "apt-get update && apt-get install -y --no-install-recommends sudo &&
      useradd -m -s /bin/sh $who && echo '$who ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$who" >"$where/$who.sudo.log" 2>&1 ||
      { tail "$where/$who.sudo.log"; exit 1; }
  fi
  mkdir -p "$root$home/orrery"
  git -C "$top" archive HEAD | tar -x -C "$root$home/orrery"
  chroot "$root" chown -R "$who" "$home/orrery"
  for command in ${CHROOT_COMMANDS:-demo check demo check}; do
    local start=$SECONDS log=$where/$who.$command.log
    if chroot "$root" su "$who" -c "cd $home/orrery && PATH=/usr/sbin:/usr/bin:/sbin:/bin ./bootstrap.sh $command" \
      >"$log" 2>&1 </dev/null; then
      echo "ok - $who: ./bootstrap.sh $command ($((SECONDS - start)) s): $(grep . "$log" | tail -n 1)"
    else
      tail -n 40 "$log"
      echo "not ok - $who: ./bootstrap.sh $command ($((SECONDS - start)) s); $log"
      bad=1
    fi
  done
  unmount_all
}

try root
try visitor
exit $bad
