#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Each kind of part in results/parts.def has a test by hand that expects its sentence: a time and the phrase of the kind.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "a test of the tree, not of the program"
cd "$srcdir" || exit 1

# Files of the cases by hand, one or more per world.
cases=(tests/jobs/explain.sh tests/jobs/partitions.sh tests/serve/unit_serve_explain.c tests/spot/unit_spot_explain.c tests/step/step_explain.sh tests/step/unit_path.c
  tests/mixed/mixed_explain.sh)
# A C string may be divided: 'a "<newline>"b' reads as 'a b'.
expected=$(cat "${cases[@]}" | tr '\n\t' '  ' | sed 's/" *"//g')

# has_case PHRASE: a test expects, say, "3 min 20 s PHRASE"
has_case() { grep -qE "[0-9] (ns|us|ms|s|min|h|d) $1( |[,;\"':.]|\$)" <<<"$expected"; }
kinds() { sed -n 's/^PART_KIND([A-Z_]*, "\([^"]*\)", [A-Z]*, "\([^"]*\)".*/\1|\2/p' results/parts.def; }

is "$(kinds | wc -l)" "$(grep -c '^PART_KIND(' results/parts.def)" "all kinds are read"
missing=$(kinds | while IFS='|' read -r word phrase; do
  has_case "$phrase" || echo "$word: no test expects a time followed by \"$phrase\""
done)
is "$missing" "" "every kind has a case by hand"
has_case "frobnicated"
is $? 1 "a phrase that no test expects is found missing"
tap_done
