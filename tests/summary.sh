#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# summary.sh - counts test points: N passed, N failed, N skipped
#
# Usage: tests/summary.sh [--status N] [--quiet] BUILD...
#
# Reads the .trs files that `make check` left in the build folders. Prints the log of every failed test (unless
# --quiet), then the counts. --status is the exit status of make: a failure of make without a failed test counts as
# one failure. Exits with 1 on any failure.
set -u
status=0 quiet=0
while :; do
  case ${1-} in
    --status) status=$2; shift 2 ;;
    --quiet) quiet=1; shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "usage: tests/summary.sh [--status N] [--quiet] BUILD..." >&2; exit 2; }

first=$1
list() { find "$@" -name 'orrery-[0-9]*' -prune -o -name '*.trs' -print | sort; }

if [ "$quiet" -eq 0 ]; then
  list "$@" | while read -r trs; do
    grep -Eq '^:test-result: (FAIL|XPASS|ERROR)' "$trs" || continue
    log=${trs%.trs}.log
    echo
    echo "== failed: ${log%.log} (all of it: $log)"
    # Prints the failed points with the comments that explain them, and the end of the log.
    awk '/^(# |#$)/ { said = said $0 "\n"; next }
         /^not ok/ && !/# (TODO|SKIP)/ { printf "%s%s\n", said, $0 }
         { said = "" }' "$log" | head -n 60
    # The log of a test that ended early ends with the reason; a failed test exits with 1 in any case.
    if grep '^ERROR: ' "$log" | grep -qv 'exited with status 1$' || ! grep -q '^not ok' "$log"; then
      echo "... the end:"
      grep -vE '^(PASS|FAIL|SKIP): ' "$log" | tail -n 15
    fi
  done
fi

list "$@" | {
  passed=0 failed=0 skipped=0
  while read -r trs; do
    # An error (a crash, a missing plan, the exit status) counts as one additional failure only if no point
    # failed.
    # shellcheck disable=SC2046 # three numbers
    set -- $(awk '/^:test-result: (PASS|XFAIL)/ { p++ } /^:test-result: SKIP/ { s++ }
      /^:test-result: (FAIL|XPASS)/ { f++ } /^:test-result: ERROR/ { e = 1 }
      END { print p + 0, f ? f : e + 0, s + 0 }' "$trs")
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
  done
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
    # The tests did not start, because a program failed to compile or link.
    if [ "$quiet" -eq 0 ] && [ -f "$first/check.log" ]; then
      grep -vE '^(PASS|SKIP):|^ +(CC|CCLD|AR|GEN) ' "$first/check.log" | tail -n 40
      echo "make check ended with status $status before the tests; the lines above are the end of $first/check.log"
    fi
    failed=1
  fi
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
}
