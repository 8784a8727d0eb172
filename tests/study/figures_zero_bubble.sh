#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures zero-bubble: every length and rate of the authors' schedulers is met, every closed form equal.
. "${srcdir:-.}/tests/tap.sh"
"$ORRERY" figures "$srcdir/scenarios/zero-bubble" --no-figures --out "$work/o" -q >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 " "the folder is carried out"
# Columns are counted from the right, because texts may contain commas: source within error_closed error simulated closed high low published.
rows() { sed 's/,"[^"]*"$//' "$work/o/table.csv" | awk -F, -v id="$1" -v from_end="$2" '$1 ~ "^\"?" id { print $(NF - from_end) }'; }
is "$(rows ZB6 0 | sort | uniq -c | tr -d ' \n')" 9yes "ZB6: nine bubble rates of three models"
is "$(rows ZB7 0 | sort | uniq -c | tr -d ' \n')" 12yes "ZB7: longest stage and makespan of six schedules"
is "$(rows 'ZB1|peak|dual' 1 | awk '$1 == "" { none++ } $1 == 0 && $1 != "" { equal++ } END { print equal, none + 0, NR }')" "33 0 33" \
  "closed forms equal: bubbles by hand, peaks, bubbles of DualPipe"
is "$(awk -F, 'NR > 1 { n[$5]++ } END { print n["forward"], n["backward"], n["weight gradient"] }' <(sed 's/"//g' "$work/o/schedule-zb-1p.csv" | awk -F, '{ print $1","$2","$3",x,"$4 }'))" \
  "128 128 128" "the picture of ZB-1p has every F, B and W of 16 micro-batches on 8 stages"
tap_done
