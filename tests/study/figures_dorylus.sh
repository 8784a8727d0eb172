#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures dorylus: dense graphs favour GPUs, sparse graphs serverless functions; missed published values are reported.
. "${srcdir:-.}/tests/tap.sh"
folder=$work/dorylus
cp -r "$srcdir/scenarios/dorylus" "$folder" && chmod -R u+w "$folder"
sed -i -e 's/"iterations": 4/"iterations": 2/' -e 's/"learn.seeds": 4/"learn.seeds": 1/' "$folder"/*.json
"$ORRERY" figures "$folder" --no-figures --out "$work/o" --db "$work/runs.db" -q >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 " "the folder is carried out"

# Columns are counted from the right, because texts may contain commas: source within error_closed error simulated closed high low published.
table() {
  awk -F, -v id="\"$1\"" -v from_end="$2" '$1 == id { sub(/,"[^"]*"$/, ""); print $(NF - from_end) }' "$work/o/table.csv"
}
between() { awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { print((x != "" && x + 0 >= low && x + 0 <= high) ? "inside" : x) }'; }
for id in D5-time D5-cost D5-value; do
  is "$(table $id 0)" yes "$id is within a factor of 1.5"
done
is "$(table D4-amazon 0) $(table D4-friendster 0)" "no no" "D4 is reported as missed"
is "$(between "$(table D7-reddit_small 3)" 0 0.1) $(between "$(table D7-reddit_large 3)" 0 0.3)" "inside inside" "Reddit: GPUs have the higher value"
is "$(between "$(table D7-friendster 3)" 3 8)" inside "Friendster: functions have the higher value"
is "$(between "$(table D6-tuned 3)" 60 120) $(between "$(table D6-limit 3)" 60 160) $(between "$(table D6-tuned-friendster 3)" 80 320)" "inside inside inside" "the tuner ends near the best number"
is "$(between "$(table D6-amazon 3)" 60 160) $(between "$(table D6-friendster 3)" 40 320)" "inside inside" "the best number of functions is inside the sweep"
is "$(between "$(table D4-best 3)" 1.5 10)" inside "with CPUs that compute products slowly, functions have the higher value"
# Rows of the timeline: graph servers, weight servers and functions; messages and work of both directions.
is "$(awk -F, 'NR > 1 { n[$1 < 8 ? "server" : $1 < 12 ? "weights" : "function", $4]++ }
  END { print (n["server", "forward"] > 0), (n["server", "send"] > 0), (n["weights", "optimizer"] > 0), (n["function", "forward"] > 0), (n["function", "backward"] > 0), (n["function", "send"] > 0) }' \
  "$work/o/timeline-amazon-lambda.csv")" "1 1 1 1 1 1" "the timeline has servers and functions"
for change in 's/"rows": "amazon.${shown}.spans"/"rows": "amazon.${shown}.value"/|amazon.lambda.value: expected RUN.LABEL.spans' \
  's/"rows": "amazon.${shown}.spans"/"rows": "amazon.other.spans"/|"other"' 's/"rows": "amazon.${shown}.spans"/"x": {}/|unknown key "x"'; do
  rm -rf "$work/bad" && cp -r "$folder" "$work/bad" && sed -i "${change%|*}" "$work/bad/figures.json"
  "$ORRERY" figures "$work/bad" --no-figures --out "$work/bad/o" --db "$work/runs.db" -q >"$work/said" 2>&1
  like "$? $(cat "$work/said")" "^2 orrery: .*figures\[[0-9]+\]: .*${change#*|}" "refused: ${change#*|}"
done
tap_done
