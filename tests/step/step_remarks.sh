#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Remarks on options of the step world without effect, and its assumptions: the scenarios of tests/world/cases/remarks.json.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/world/remarks_of.sh"
remarks_of step
tap_done
