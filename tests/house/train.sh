# The runs whose profile ./bootstrap.sh fast uses: each of them works.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
is "$(ORRERY=$ORRERY bash "$srcdir/tests/bench/train.sh" 2>&1)$?" 0 "tests/bench/train.sh runs"
like "$(cd "$srcdir" && ./bootstrap.sh help)" '^  fast ' "bootstrap.sh describes the fast program"
tap_done
