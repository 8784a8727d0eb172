#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures restarts, with fewer points: effective training time of 16,384 GPUs against Daly's formula (Future Generation Computer Systems 22,
# 2006): t exp(-R/M) / (M (exp((t + c)/M) - 1)).
. "${srcdir:-.}/tests/tap.sh"
folder=$work/restarts
cp -r "$srcdir/scenarios/restarts" "$folder" && chmod -R u+w "$folder"
# list NAME VALUES: sed's command that replaces an axis.
list() { printf '/"%s": \\[/,/\\]/c\\    "%s": [%s],\n' "$1" "$1" "$2"; }
{ list t "126, 252, 504" && list spares "0, 16" && list minutes "0, 10" | sed 's/,$//'; } >"$work/axes"
sed -i -f "$work/axes" "$folder/figures.json"
"$ORRERY" figures "$folder" --no-figures --out "$work/o" -q >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 " "the folder is carried out"
# Columns are counted from the right, because texts may contain commas: source within error_closed error simulated closed high low published.
rows() { sed 's/,"[^"]*"$//' "$work/o/table.csv" | awk -F, -v id="$1" -v from_end="$2" '$1 ~ "^\"?" id { print $(NF - from_end) }'; }
is "$(for id in effective- interval- young daly; do rows $id 1; done | awk '{ good += $1 != "" && $1 < 0.003 && $1 > -0.003 } END { print good, NR }')" "7 7" \
  "effective training time is Daly's within 0.3 %"
is "$(rows optimum 1 | awk '{ print ($1 < 0.1 && $1 > -0.1) }')" 1 "the best interval is Daly's within 10 %: $(rows optimum 1)"
is "$(rows spares-0 3 | awk '{ print ($1 < 0.4) }') $(rows spares-16 1 | awk '{ print ($1 < 0.003 && $1 > -0.003) }')" "1 1" \
  "a job without spares waits for repairs; 16 spares are as good as any number"
tap_done
