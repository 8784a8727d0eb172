#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures speculation: speed-ups within 3 % of the closed form, and the gain falls with the batch.
. "${srcdir:-.}/tests/tap.sh"
"$ORRERY" figures "$srcdir/scenarios/speculation" --no-figures --out "$work/o" -q >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 " "the book runs"
# Columns are counted from the right, because texts may contain commas: source within error_closed error simulated closed high low published.
rows() { sed 's/,"[^"]*"$//' "$work/o/table.csv" | awk -F, -v id="$1" -v from_end="$2" '$1 ~ "^\"?" id { print $(NF - from_end) }'; }
is "$(rows S- 0 | sort | uniq -c | tr -d ' \n')" 20yes "20 speed-ups by drafts and batch are within 3 % of the closed form"
is "$(rows best- 3 | tr '\n' ' ')" "4 3 2 2 " "the best numbers of drafts for 1, 8, 32 and 128 requests"
is "$(rows 'llama-.*-0.7' 3 | awk 'NR > 1 && $1 >= last { rises++ } { last = $1 } END { print NR, rises + 0 }')" "9 0" "Llama 2 70B: the gain falls with the batch"
is "$(rows 'llama-256-0.5' 3 | awk '{ print ($1 < 1) }')" 1 "and is a loss for 256 requests"
tap_done
