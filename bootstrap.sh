#!/bin/sh
# bootstrap.sh - installs requirements, builds, tests or demonstrates orrery on a bare machine
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Works from a git checkout, from `git archive` output and from a release, as root or as a user with sudo, and can be
# repeated: completed steps are skipped. Needs a network only if a package is missing.
set -u
LC_ALL=C
export LC_ALL

usage() {
  cat <<'END'
usage: ./bootstrap.sh [build | fast | demo | check | deps | help]

  build   install what is missing, configure and compile (the default)
  fast    build, in BUILD/fast, a program that runs 1.1 to 1.4 times as fast, for long runs and
          large studies: GCC compiles it with the profile of short runs, as one unit; this takes
          5 minutes on two cores. Same results, byte for byte
  demo    build, in BUILD/quick with little optimisation unless BUILD has a program, then replay
          50 random months of a large GPU cluster under several policies: prints means and
          differences with intervals, leaves a database and a figure
  check   build, then run all tests; the last line is "N passed, N failed, N skipped"
  deps    only install what is missing
  help    this text

environment:
  ORRERY_BUILD      folder to build in, from the root of the tree (default: build)
  CONFIGURE_FLAGS   options for configure, such as "--enable-werror --prefix=/opt/orrery"
  CFLAGS, CC        as usual (CFLAGS: -O2 by default); they count when a build folder is first configured
  JOBS              how many things to compile or test at once (default: all processors)
  ORRERY_DATA_PATH  folder with traces/ and other data that some tests compare with
END
}

say() { printf '%s\n' "bootstrap: $*"; }
fail() { printf '%s\n' "bootstrap: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Prints the requirements of orrery, one per line: Debian package, probe that works without dpkg, purpose. Probes: cmd = a
# command, pc = a pkg-config module, h = a header that the compiler finds.
needs() {
  cat <<'END'
gcc            cmd:cc         a C11 compiler
libc6-dev      h:stdio.h      the C library's headers
make           cmd:make       make
autoconf       cmd:autoreconf autoconf, 2.69 or later
automake       cmd:automake   automake, 1.16 or later
pkg-config     cmd:pkg-config pkg-config
libgsl-dev     pc:gsl         GNU Scientific Library: random numbers, fits
libsqlite3-dev pc:sqlite3     SQLite, 3.31 or later: the database of results
libcjson-dev   pc:libcjson    cJSON: scenarios, devices, models
libglpk-dev    h:glpk.h       GLPK: linear programs of some policies
zlib1g-dev     pc:zlib        zlib: .gz traces
libzstd-dev    pc:libzstd     zstd: .zst traces
nettle-dev     pc:nettle      nettle: hashes of inputs
gnuplot-nox    cmd:gnuplot    gnuplot: figures
sqlite3        cmd:sqlite3    the sqlite3 command: tests look into databases with it
xz-utils       cmd:xz         xz: make dist
END
}

# is_there PACKAGE PROBE
is_there() {
  if have dpkg-query; then
    case $(dpkg-query -W -f='${Status}\n' "$1" 2>/dev/null) in *"ok installed"*) return 0 ;; esac
  fi
  case $2 in
    cmd:cc) have "${CC:-cc}" ;;
    cmd:*) have "${2#cmd:}" ;;
    pc:*) have pkg-config && pkg-config --exists "${2#pc:}" 2>/dev/null ;;
    h:*) have "${CC:-cc}" && echo "#include <${2#h:}>" | "${CC:-cc}" -E - >/dev/null 2>&1 ;;
  esac
}

# Prints the lines of needs() whose probe fails.
missing() {
  needs | while read -r package probe what; do
    is_there "$package" "$probe" || echo "$package $probe $what"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@" </dev/null
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

apt_install() {
  as_root apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

install_deps() {
  list=$(missing)
  [ -n "$list" ] || return 0
  packages=$(echo "$list" | while read -r package _; do printf '%s ' "$package"; done)
  packages=${packages% }
  if ! have apt-get || ! have dpkg-query; then
    {
      say "these are missing (with the names that their packages have on Debian):"
      echo "$list" | while read -r package _ what; do printf '  %-15s %s\n' "$package" "$what"; done
      say "this is neither Debian nor Ubuntu, so install them with this system's package"
      say "manager and run ./bootstrap.sh again; nothing else needs to change."
    } >&2
    exit 1
  fi
  by_hand="Run this as root, then ./bootstrap.sh again:
  apt-get update && apt-get install $packages"
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || fail "missing: $packages
You are not root and there is no sudo here. $by_hand"
    if ! sudo -n true 2>/dev/null; then
      [ -t 0 ] || fail "missing: $packages
sudo wants a password and there is no terminal to ask on. $by_hand"
      say "sudo may ask for your password"
    fi
  fi
  say "installing $packages"
  # A new machine has no package lists; those of an old machine may be out of date.
  # shellcheck disable=SC2086 # the list is meant to be split
  if ! apt-cache show $packages >/dev/null 2>&1 || ! apt_install $packages; then
    as_root apt-get -o DPkg::Lock::Timeout=300 update ||
      fail "apt-get could not fetch the package lists (see above). Is there a network?
$by_hand"
    apt_install $packages ||
      fail "apt-get could not install what is missing (see above). $by_hand"
  fi
  still=$(missing | while read -r package _; do printf '%s ' "$package"; done)
  [ -z "$still" ] || fail "still missing after the installation: $still"
}

# quietly WHAT COMMAND...: runs the command with output to the log; prints the log only if it fails
quietly() {
  what=$1
  shift
  say "$what"
  echo "== $*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null && return 0
  tail -n 40 "$log" >&2
  fail "$what failed; the lines above are the end of $log"
}

newer_than() { # FILE PATTERN...: is some file of that name newer than FILE?
  file=$1
  shift
  for pattern in "$@"; do
    [ -z "$(find . -name 'build*' -prune -o -name "$pattern" -newer "$file" -print)" ] || return 0
  done
  return 1
}

generate_configure() {
  if [ -f configure ] && [ -f Makefile.in ] && [ -f build-aux/tap-driver.sh ] &&
    ! newer_than configure configure.ac && ! newer_than Makefile.in Makefile.am '*.mk'; then
    return 0
  fi
  quietly "generating configure" autoreconf --install --force
}

# Sets what configure is called with: $from, the source folder, and $CFLAGS.
set_configure() {
  case $build in
    /* | */* | .*) from=$top ;;
    *) from=.. ;; # shorter paths in messages
  esac
  rm -f "$build/.configured"
  # Without -g, which is configure's default, compiling takes a sixth less time.
  CFLAGS=${CFLAGS--O2}
  export CFLAGS
}

# Generates and configures in a new checkout with automake beside configure, in two thirds of the time. If a step fails,
# generate_configure and configure_build begin again, with messages.
configure_at_once() {
  set_configure
  aclocal -I m4 && autoconf && autoheader && mkdir -p build-aux && aux=$(automake --print-libdir) || return
  for file in ar-lib compile depcomp install-sh missing tap-driver.sh; do cp "$aux/$file" build-aux/ || return; done
  automake --add-missing --copy >"$build/automake.log" 2>&1 &
  # shellcheck disable=SC2086 # flags are meant to be split
  (cd "$build" && "$from/configure" --no-create ${CONFIGURE_FLAGS:-})
  configured=$?
  wait $! && [ "$configured" -eq 0 ] && (cd "$build" && ./config.status) && echo "${CONFIGURE_FLAGS:-} in $top" >"$build/.configured"
}

configure_build() {
  if [ -f config.status ]; then
    fail "this tree was configured in place (there is a config.status beside bootstrap.sh), and
make cannot build in two places from it. Run 'make distclean' here, then ./bootstrap.sh again;
or continue in place with 'make' and 'make check'."
  fi
  # Makefiles contain paths, so a tree that was moved or copied is configured again.
  wanted="${CONFIGURE_FLAGS:-} in $top"
  if [ -f "$build/config.status" ] && [ -f "$build/Makefile" ] &&
    [ "$(cat "$build/.configured" 2>/dev/null)" = "$wanted" ]; then
    return 0
  fi
  set_configure
  quietly "configuring in $build" sh -c 'cd "$1" && shift && "$@"' sh "$build" "$from/configure" ${CONFIGURE_FLAGS:-}
  echo "$wanted" >"$build/.configured"
}

# build [TARGET...]: all by default. $hot: objects to compile first, with -O1: -O2 takes longer than it saves; V=1 lets make run
# the compiler without a shell.
hot=
build() {
  install_deps
  mkdir -p "$build" || fail "cannot make the folder $build; set ORRERY_BUILD to one that can be written"
  log=$build/bootstrap.log
  : >"$log" || fail "cannot write to $build; set ORRERY_BUILD to another folder"
  if [ -n "$hot" ] && [ ! -f configure ] && [ ! -f config.status ] && [ ! -f "$build/config.status" ]; then
    say "generating configure and configuring in $build"
    configure_at_once >>"$log" 2>&1 </dev/null || rm -f configure "$build/config.status"
  fi
  generate_configure
  configure_build
  say "compiling in $build"
  # No rule names paths.h as a prerequisite, so it is made first.
  # shellcheck disable=SC2086 # the list is meant to be split
  { make -C "$build" --no-print-directory paths.h &&
    { [ -z "$hot" ] || make -C "$build" --no-print-directory -j"$jobs" V=1 CFLAGS='-O1 -w -pipe' $hot; } &&
    make -C "$build" --no-print-directory -j"$jobs" ${hot:+V=1} "${@:-all}"; } >"$build/make.log" 2>&1 </dev/null || {
    grep -v '^ *\(CC\|AR\|CCLD\|GEN\) ' "$build/make.log" | tail -n 60 >&2
    fail "compiling failed; the lines above are the end of $build/make.log"
  }
  warnings=$(grep -c 'warning:' "$build/make.log")
  [ "$warnings" -eq 0 ] || say "$warnings warnings, in $build/make.log"
}

check() {
  build
  if [ -z "${ORRERY_DATA_PATH:-}" ] && [ -d "$top/../shared" ]; then
    ORRERY_DATA_PATH=$(cd "$top/../shared" && pwd)
    export ORRERY_DATA_PATH
  fi
  say "testing in $build"
  find "$build" -name '*.trs' -exec rm -f {} +
  # All output goes to check.log. Standard output omits the lines of passed tests.
  { make -C "$build" --no-print-directory -j"$jobs" check </dev/null; echo $? >"$build/check.status"; } 2>&1 |
    tee "$build/check.log" |
    grep --line-buffered -E '^(FAIL|XPASS|ERROR|SKIP):|^[^ ]*: (fatal )?error:|: warning:'
  sh tests/summary.sh --status "$(cat "$build/check.status")" "$build"
}

# Prints the objects that take nine tenths of the demonstration's time.
hot_objects() {
  echo 'base/num.o base/rng.o base/mem.o base/sbuf.o results/hist.o results/stats.o results/timeline.o traces/draw.o traces/jobset.o'
  echo 'sim/engine/engine.o sim/engine/ladder.o sim/engine/watch.o sim/cluster/pool.o sim/cluster/placement.o sim/cluster/cluster.o'
  for file in queue query progress life slots metrics actions run calls rates tenants decisions group; do echo "sim/jobs/$file.o"; done
  for file in las preemptive gpu_budget backfill srtf; do echo "policies/jobs/libpolicies_a-$file.o"; done
}

# Builds the program for the demonstration in half the time, in a separate folder: only the code that takes the
# demonstration's time is optimised, dependencies are not tracked, and GPUs cannot be measured. Results are the same
# bytes.
build_quickly() {
  hot=$(hot_objects)
  build=$build/quick
  CFLAGS='-O0 -w -pipe'
  CONFIGURE_FLAGS="--without-cuda --disable-dependency-tracking ${CONFIGURE_FLAGS:-}"
  if [ -f "$build/orrery" ] && newer_than "$build/orrery" '*.h' '*.def'; then rm -rf "$build"; fi
  build orrery
}

# Demonstrates the jobs world on the embedded default: a generator that reproduces the published statistics of Microsoft's
# Philly trace, on a cluster small enough for the policies to differ. One month of jobs is heavy-tailed, so the table
# averages over replications. The figure and the rows show replication 0. docs/figures.sh makes the README's figure from
# the same run. The module for GPUs and the manual are not built: the demonstration needs the program alone.
demo() {
  into=$build/demo
  if [ -n "${CFLAGS+set}" ] || [ -f "$build/.configured" ]; then build orrery; else build_quickly; fi
  mkdir -p "$into" || fail "cannot make the folder $into"
  set -- jobs philly-like --cluster 48x8:v100 --policy fifo,srtf,las,easy-backfill --replications 50 \
    --out "$into" --db "$into/demo.db"
  say "running: orrery $*"
  "$build/orrery" "$@" || fail "the demonstration failed (see above)"
  [ -s "$into/jct-cdf.svg" ] || fail "the demonstration drew no figure (see above)"
  cat <<END

table      $into/summary.csv
jobs       $into/POLICY.jobs.csv
database   $into/demo.db      (orrery db runs $into/demo.db)
figure     $into/jct-cdf.svg  (and .pdf, .png; utilisation, queue-length, gantt beside it)

END
  if [ -n "$hot" ]; then
    echo "Next: ./bootstrap.sh compiles the optimised program, ${into%/*}/orrery ($build/orrery was compiled quickly and is slower)"
  else
    echo "Next: $build/orrery --help, and docs/tutorial.md"
  fi
}

# Builds the program with profile-guided and link-time optimisation. Counts of threads may be lost, hence -fprofile-correction.
fast() {
  build=$build/fast
  probe=$(mktemp -d) || exit 1
  optimised='-O2 -flto=auto -fprofile-use -fprofile-correction -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch'
  # shellcheck disable=SC2086 # flags are meant to be split
  (cd "$probe" && echo 'int main(void) { return 0; }' >a.c && "${CC:-cc}" $optimised -Werror a.c) >/dev/null 2>&1 ||
    { rm -rf "$probe"; fail "${CC:-cc} lacks an option of \"$optimised\": ./bootstrap.sh fast needs GCC 10 or later"; }
  rm -rf "$probe"
  # Objects of an earlier call were compiled with other options.
  [ ! -d "$build" ] || find "$build" \( -name '*.o' -o -name '*.a' -o -name '*.gcda' -o -name orrery \) -exec rm -f {} +
  CONFIGURE_FLAGS="--disable-dependency-tracking ${CONFIGURE_FLAGS:-}"
  build orrery CFLAGS='-O2 -w -fprofile-generate'
  quietly "profiling: tests/bench/train.sh" env ORRERY="$build/orrery" bash tests/bench/train.sh
  find "$build" \( -name '*.o' -o -name '*.a' -o -name orrery \) -exec rm -f {} +
  build orrery CFLAGS="$optimised -w"
}

case ${1:-build} in
  build | fast | demo | check | deps) ;;
  help | -h | --help) usage; exit 0 ;;
  *) printf '%s\n' "bootstrap: no command \"$1\"" >&2; usage >&2; exit 2 ;;
esac
[ $# -le 1 ] || { printf '%s\n' "bootstrap: one command at a time, got: $*" >&2; usage >&2; exit 2; }

cd "$(dirname "$0")" || exit 1
top=$(pwd)
build=${ORRERY_BUILD:-build}
case $top$build in
  *[[:space:]]*) fail "make cannot work where a path has blanks; move the tree (or set ORRERY_BUILD): $top" ;;
esac
jobs=${JOBS:-$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
case ${1:-build} in
  deps) install_deps; say "nothing is missing" ;;
  build) build; say "done: $build/orrery --help; install it with 'make -C $build install'" ;;
  fast) fast; say "done: $build/orrery --help" ;;
  demo) demo ;;
  check) check ;;
esac
