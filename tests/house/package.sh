#!/usr/bin/env bash
# package.sh - builds the Debian package and checks that it works on a bare machine and leaves nothing behind
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   tests/house/package.sh [SUITE [MIRROR]]         (as root; not part of make check; make check-package)
#
# Makes a minimal Debian (SUITE: bookworm) with debootstrap in $CHROOT_DIR (default $TMPDIR/orrery-chroot), as chroot.sh does.
# On one copy of it the package is built with its build dependencies only and read by lintian; on another the package is installed,
# used and purged. Takes some minutes and about 2 GB; the systems are kept for inspection. PACKAGE=FILE.deb skips the build. Without
# root or debootstrap the test is skipped.
set -u
suite=${1:-bookworm} mirror=${2:-http://deb.debian.org/debian}
top=$(cd "$(dirname "$0")/../.." && pwd)
where=${CHROOT_DIR:-${TMPDIR:-/tmp}/orrery-chroot}
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  echo "1..0 # SKIP package.sh: expected root and debootstrap: the package was NOT checked"
  exit 77
fi
. "$top/tests/house/bare.sh"
bare_base
n=0 bad=0
# check STATUS WHAT [LOG]: prints a line of TAP, and the end of the log of a failure
check() {
  n=$((n + 1))
  [ "$1" -eq 0 ] && echo "ok $n - $2" && return
  [ -z "${3:-}" ] || tail -n 25 "$3" | sed 's/^/# /'
  echo "not ok $n - $2"
  bad=1
}
# inside ROOT LOG COMMAND: runs a command as root on that system, without the variables of this one
inside() { chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -c "$3" >"$2" 2>&1 </dev/null; }

# ---- the package ----
package=${PACKAGE:-}
if [ -z "$package" ]; then
  root=$where/$suite.builder log=$where/builder.log
  bare_copy "$root"
  mkdir -p "$root/build/orrery"
  git -C "$top" archive HEAD | tar -x -C "$root/build/orrery"
  inside "$root" "$log" "apt-get update && apt-get install -y --no-install-recommends dpkg-dev lintian &&
    cd /build/orrery && apt-get build-dep -y --no-install-recommends ./"
  check $? "the build dependencies are in $suite" "$log"
  inside "$root" "$log" "cd /build/orrery && DEB_BUILD_OPTIONS=parallel=$(nproc) dpkg-buildpackage -us -uc -b"
  check $? "dpkg-buildpackage builds with these alone" "$log"
  inside "$root" "$log" "cd /build && lintian --fail-on error,warning orrery_*.changes"
  check $? "lintian has no error and no warning" "$log"
  package=$(ls "$root"/build/orrery_*.deb) || exit 1
fi

# ---- install ----
root=$where/$suite.user log=$where/package.log
bare_copy "$root"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666,mode=620 && mounted+=("$root/dev/pts")
inside "$root" "$log" "apt-get update && useradd -m -s /bin/bash visitor"
check $? "the bare system has a user" "$log"
cp "$package" "$root/tmp/orrery.deb"
inside "$root" "$log" "apt-get install -y /tmp/orrery.deb"
check $? "apt installs the package with what it depends on" "$log"
inside "$root" "$where/files" "dpkg -L orrery"

# as_visitor WHAT COMMAND: runs a command as the user, in an empty folder that all commands share
as_visitor() {
  mkdir -p "$root/home/visitor/work"
  chroot "$root" chown -R visitor /home/visitor
  inside "$root" "$log" "cd /home/visitor/work && su visitor -c '$2'"
  check $? "$1" "$log"
}
# logged PATTERN WHAT: checks the text of the last command
logged() { grep -Eq -- "$1" "$log"; check $? "$2" "$log"; }

as_visitor "the demo of the README" "orrery jobs philly-like --cluster 48x8:v100 --policy fifo,srtf,las,easy-backfill --replications 50 --out demo --db demo.db"
logged '^las +4.08 \[4.00, 4.22\] h' "prints the table of the README"
as_visitor "with figures, by the recommended gnuplot" 'for f in demo/jct-cdf.svg demo/jct-cdf.pdf demo/jct-cdf.png demo/gantt-las.svg; do test -s $f || exit 1; done'
as_visitor "doctor" "orrery doctor"
grep -q '^MISSING' "$log"
check $((! $?)) "doctor misses nothing that the package should have" "$log"
as_visitor "model show --json, and --file as a model to start from" "orrery model show llama2-7b --json >llama.json && test -s llama.json && orrery model show vgg16 --file >vgg.json && orrery step vgg.json --cluster 2x1:v100 --policy allreduce"
as_visitor "device show --json as a device to start from" "orrery device show v100 --json >mine.json && orrery step vgg.json --cluster 2x1:v100 --device mine.json --policy allreduce"
as_visitor "the figures of a book" "orrery figures stanza --out drawn -q && ls drawn/*.svg drawn/table.csv"
as_visitor "a report" "orrery report demo.db -o report.html && test -s report.html"

# ---- manual, completion, policies: with the programs that read them ----
inside "$root" "$log" "apt-get install -y --no-install-recommends man-db bash-completion gcc libc6-dev pkg-config libpython3.11"
check $? "man-db, bash-completion, gcc, pkg-config and libpython3" "$log"
for page in orrery orrery-jobs orrery-report; do
  as_visitor "man $page" "man $page | cat"
  logged '^NAME' "man $page is a page"
done
# A terminal of the user, whose Tab key completes; the command printed after it has its words.
as_visitor "a terminal" 'printf "orrery device show v100-pc\t | head -n 1\norrery figures stan\t--no-such\norrery jobs x.csv --policy las,sr\t --no-such\norrery mod\tlist | head -n 1\nexit\n" >keys
  script -qec "bash -i" typed <keys >/dev/null; tr -d "\007" <typed'
logged 'orrery device show v100-pcie ' "Tab completes a device"
logged 'orrery figures stanza ' "Tab completes a book"
logged 'orrery jobs x.csv --policy las,srtf' "Tab completes a policy after a comma"
logged 'orrery model list' "Tab completes a command"
as_visitor "pkg-config and policy cflags name the headers" 'orrery policy new mine && cc -shared -fPIC $(pkg-config --cflags orrery) -o mine.so mine.c && rm mine.so'
as_visitor "a policy in C" 'cc -shared -fPIC $(orrery policy cflags) -o mine.so mine.c && orrery jobs philly-like:n=200 --cluster 64x8:v100 --policy fifo,./mine.so'
as_visitor "a policy in Python" 'orrery policy new mypolicy --lang python && orrery jobs philly-like:n=200 --cluster 64x8:v100 --policy fifo,mypolicy.py'

# ---- purge ----
inside "$root" "$log" "dpkg --purge orrery"
check $? "dpkg --purge" "$log"
grep -vx '/\.' "$where/files" | while read -r file; do
  [ ! -e "$root$file" ] || inside "$root" /dev/null "dpkg -S '$file'" || echo "$file"
done >"$where/rest"
# Names with "orrery" outside the home folders, the package given above, and the logs of dpkg and apt.
find "$root" -xdev -path "$root/proc" -prune -o -path "$root/home" -prune -o -path "$root/tmp/orrery.deb" -prune -o \
  -name '*orrery*' -print >>"$where/rest"
[ ! -s "$where/rest" ]
check $? "leaves no file of the package" "$where/rest"
[ "$(wc -l <"$where/files")" -gt 100 ]
check $? "of more than 100 files ($(wc -l <"$where/files"))"
unmount_all
echo "1..$n"
exit $bad
