#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures dorylus: dense graphs favour GPUs, sparse graphs functions; misses are reported as missed.
. "${srcdir:-.}/tests/tap.sh"
folder=$work/dorylus
cp -r "$srcdir/scenarios/dorylus" "$folder" && chmod -R u+w "$folder"
sed -i -e 's/"iterations": 4/"iterations": 2/' -e 's/"learn.seeds": 4/"learn.seeds": 1/' "$folder"/*.json
"$ORRERY" figures "$folder" --no-figures --out "$work/o" -q >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 " "the folder is carried out"

# Columns are counted from the right, because texts may contain commas: source within error_closed error simulated closed high low published.
table() {
  awk -F, -v id="\"$1\"" -v from_end="$2" '$1 == id { sub(/,"[^"]*"$/, ""); print $(NF - from_end) }' "$work/o/table.csv"
}
between() { awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { print((x != "" && x + 0 >= low && x + 0 <= high) ? "inside" : x) }'; }
for id in D5-time D5-cost D5-value; do
  is "$(table $id 0)" yes "$id is within a factor of 1.5"
done
is "$(table D4-amazon 0) $(table D4-friendster 0)" "no no" "D4 is said to be missed"
is "$(between "$(table D7-reddit_small 3)" 0 0.1) $(between "$(table D7-reddit_large 3)" 0 0.3)" "inside inside" "Reddit: GPUs have the higher value"
is "$(between "$(table D7-friendster 3)" 3 8)" inside "Friendster: functions have the higher value"
is "$(between "$(table D6-amazon 3)" 60 160) $(between "$(table D6-friendster 3)" 40 320)" "inside inside" "the best number of functions is inside the sweep"
is "$(between "$(table D4-best 3)" 1.5 10)" inside "with CPUs that compute products slowly, functions have the higher value"
tap_done
