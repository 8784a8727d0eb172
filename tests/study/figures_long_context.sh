#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures long-context, with fewer sequences: closed forms of context parallelism are met.
. "${srcdir:-.}/tests/tap.sh"
folder=$work/long-context
cp -r "$srcdir/scenarios/long-context" "$folder" && chmod -R u+w "$folder"
awk '/"tokens": \[/ { print "    \"tokens\": [16384, 131072],"; skip = 1 } !skip { print } /\]/ { skip = 0 }' "$srcdir/scenarios/long-context/figures.json" \
  >"$folder/figures.json"
"$ORRERY" figures "$folder" --no-figures --out "$work/o" -q >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 " "the folder is carried out"
# Columns are counted from the right, because texts may contain commas: source within error_closed error simulated closed high low published.
rows() { sed 's/,"[^"]*"$//' "$work/o/table.csv" | awk -F, -v id="$1" -v from_end="$2" '$1 ~ "^\"?" id { print $(NF - from_end) }'; }
is "$(rows CP 1 | awk '{ good += $1 != "" && $1 < 1e-9 && $1 > -1e-9 } END { print good, NR }')" "8 8" \
  "CP2, CP3, CP4: times of a layer, the threshold, contiguous against zigzag order"
is "$(sed 's/"//g' "$work/o/throughput.csv" | awk -F, '/131072/ && /zigzag/ { a = $(NF - 2) } /131072/ && /contiguous/ { b = $(NF - 2) } END { print (a / b > 1.7 && a / b < 2) }')" 1 \
  "zigzag order has nearly twice the throughput of contiguous order"
tap_done
