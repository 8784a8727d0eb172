#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures philly, with 2,000 generated jobs, two sizes and frequent failures. No published values; conservation laws hold.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small philly 's/"file": "[^"]*", //; s/"otherwise": "[^"]*"/"file": "none.csv", "otherwise": "philly-like:n=2000,load=1.5"/' 's/\[72, 80, 96\]/[16, 24]/'
sed -i 's/"154d"/"20d"/' "$work/philly/failing.json"

"$ORRERY" figures "$work/philly/" --check -q --out "$work/out" --db "$work/philly.db" >"$work/said" 2>&1
is "$? $(grep -v 'none.csv' "$work/said")" "0 " "orrery figures philly"
rows=$(sed -n '2,$s/^"\([^"]*\)","[^"]*",/\1,/p' "$work/out/table.csv")
is "$(printf '%s\n' "$rows" | grep -c .)" 64 "a row for each of four values, eight policies and two sizes"
# Policies whose order is known: strict order of submission waits longest, the shortest remaining time waits least.
for nodes in 16 24; do
  is "$(for p in fifo easy srtf; do simulated "jct-$p-$nodes"; done | sort -gr | paste -sd' ')" \
    "$(for p in fifo easy srtf; do simulated "jct-$p-$nodes"; done | paste -sd' ')" "$nodes nodes: fifo > easy-backfill > srtf"
  is "$(for p in fifo fjf easy conservative qssf gittins las srtf; do between "lost-$p-$nodes" 0.001 100000; done | sort -u)" 1 \
    "$nodes nodes: every policy loses work to failures"
done
is "$(sqlite3 "$work/philly.db" 'SELECT count(*) FROM runs')" 32 "two runs per policy and size"
drawn jct wait lost
tap_done
