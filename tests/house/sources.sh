#!/usr/bin/env bash
# A build of changed sources does not reuse the stored runs of another build; equal results have equal digests.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"
. "$srcdir/tests/house/tree.sh"

like "$("$ORRERY" --version)" '^orrery [0-9.]+ \(sources [0-9a-f]{12}\)$' "--version has the hash of the sources"
run() { "$1" jobs poisson:rate=0.02,n=40,mean=300,gpus=2 --cluster 1x4:v100 --policy fifo --db "$2" --no-figures >/dev/null 2>said; }
cd "$work" || exit 1
run "$ORRERY" x.db && run "$ORRERY" x.db
is "$(grep -c 'taken from x.db' said)" 1 "a second run of the same program is taken from the database"

mkdir empty
is "$(cd empty &&
  make -n -f "$top_builddir/Makefile" srcdir="$source" top_srcdir="$source" VPATH="$source" cli/policy_new.o 2>/dev/null | awk '/>paths.h/ { made = 1 } /policy_new.c/ { print made + 0; exit }')" \
  1 "in an empty folder, an object is compiled after paths.h is made, without make all"

hot=$(cd "$source" && sh -c "$(sed -n '/^hot_objects()/,/^}/p' bootstrap.sh)"' && hot_objects')
is "$(wc -w <<<"$hot" | awk '{ print ($1 > 25) }') $(for o in $hot; do [ -f "$top_builddir/$o" ] || echo "$o"; done)" "1 " \
  "bootstrap.sh demo optimises objects of the program"

can_copy "another build" 7 || exit 0
copy_tree
build_tree
same=$tree/build/orrery
is "$("$same" --version)" "$("$ORRERY" --version)" "a build of the same sources in another folder has the same hash"
run "$same" x.db
is "$(grep -c 'taken from x.db' said)" 1 "the run of a build of the same sources is taken from the database"
echo '/* A change. */' >>"$tree/policies/jobs/fifo.c"
build_tree
is "$([ "$("$same" --version)" != "$("$ORRERY" --version)" ]; echo $?)" 0 "a program with a changed policy has another hash"
cp x.db other.db
run "$same" other.db
is "$(grep -c 'taken from' said) $("$same" db runs other.db | wc -l)" "0 3" "a program with a changed policy simulates again, and its run is stored beside the other"
run "$same" alone.db
is "$("$same" db digest alone.db)" "$("$ORRERY" db digest x.db)" "equal results have the same digest"
tap_done
