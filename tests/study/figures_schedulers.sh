#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures schedulers, with 150 generated jobs: every policy has its rows, conservation laws hold, and orders that are known hold.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small schedulers 's/"file": "[^"]*", "otherwise": "[^"]*"/"file": "none.csv", "otherwise": "philly-like:n=150,load=1.2"/'
sed -i 's/"18x8"\|"5x8"\|"8x4"/"12x8"/' "$work"/schedulers/*.json
sed -i 's/"seed": 1/"drop_unfit": true, "seed": 1/; s/"drop_unfit": true,$//' "$work"/schedulers/{philly,trace120}.json
ORRERY_DATA_PATH=$work "$ORRERY" figures "$work/schedulers/" --check -q --out "$work/out" >"$work/said" 2>&1
is "$? $(grep -v 'none.csv\|left out' "$work/said")" "0 " "orrery figures schedulers"
rows=$(sed -n '2,$s/^"\([^"]*\)","[^"]*",/\1,/p' "$work/out/table.csv")
is "$(printf '%s\n' "$rows" | grep -c .)" 211 "a row for each of three values, 26 policies and two traces, for three values of seven policies, and 34 published orders"
is "$(printf '%s\n' "$rows" | awk -F, '!($6 > 0) { print $1 }')" "" "every value is above 0"
for what in philly itp; do
  is "$(for p in fifo fjf srtf; do simulated "jct-$what-$p"; done | sort -gr | paste -sd' ')" \
    "$(for p in fifo fjf srtf; do simulated "jct-$what-$p"; done | paste -sd' ')" "$what: fifo > fjf > srtf"
done
drawn jct-philly jct-itp fairness-philly fairness-itp
tap_done
