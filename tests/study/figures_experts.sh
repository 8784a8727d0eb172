#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures experts, with fewer points: the identities, the library's latencies and DeepSeek's measured pair are met.
. "${srcdir:-.}/tests/tap.sh"
folder=$work/experts
cp -r "$srcdir/scenarios/experts" "$folder" && chmod -R u+w "$folder"
awk '/"ep": \[/ { print "    \"ep\": [8, 64],"; skip = 1 } /"skew": \[/ { print "    \"skew\": [0, 0.5],"; skip = 1 }
  /"gpus": \[/ { print "    \"gpus\": [16, 64],"; skip = 1 } !skip { print } /\]/ { skip = 0 }' "$srcdir/scenarios/experts/figures.json" >"$folder/figures.json"
"$ORRERY" figures "$folder" --no-figures --out "$work/o" -q >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 " "the folder is carried out"
# Columns are counted from the right, because texts may contain commas: source within error_closed error simulated closed high low published.
rows() { sed 's/,"[^"]*"$//' "$work/o/table.csv" | awk -F, -v id="$1" -v from_end="$2" '$1 ~ "^\"?" id { print $(NF - from_end) }'; }
is "$(rows 'MO4-[a-z]*-(16|32|128|256)' 0 | sort | uniq -c | tr -d ' \n')" 8yes "MO4: eight latencies of DeepEP between nodes, within 15 %"
is "$(rows 'MO[267]' 0 | sort | uniq -c | tr -d ' \n')" 7yes "MO2, MO6, MO7: nodes and GPUs of a token; identities"
is "$(rows MO5 1 | awk '{ good += $1 != "" && $1 < 1e-6 && $1 > -1e-6 } END { print good, NR }')" "3 3" "MO5: bytes and time of node-forwarding"
is "$(rows MO9 0)" yes "MO9: tokens per second of DeepSeek-V3's training step"
is "$(rows 'pair"?$' 0)" yes "DeepSeek's pair, given its kernel times, within 5 %"
pair=$(rows 'pair"?$' 3) bound=$(rows pair-bound 3)
echo "# pair $pair, bound $bound, measured 129.0 ms"
is "$(awk -v p="$pair" -v b="$bound" 'BEGIN { print ((129 - p) ^ 2 < (129 - b) ^ 2) }')" 1 "and nearer than the bound max(compute, communication)"
is "$(rows MO8-plain-0.5 3 | awk '{ print ($1 > 1.5) }') $(rows MO8-copies-0.5 3 | awk '{ print ($1 < 1.05) }')" "1 1" \
  "MO8: skew makes a layer longer, copies of hot experts undo it"
tap_done
