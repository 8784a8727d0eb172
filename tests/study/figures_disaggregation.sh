#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures disaggregation with few rates: counts of DistServe's simulator; a generator replaces a missing trace.
. "${srcdir:-.}/tests/tap.sh"
cp -r "$srcdir/scenarios/disaggregation" "$work/small" && chmod -R u+w "$work/small"
tr -d '\n' <"$work/small/figures.json" | sed 's/"rate": \[[^]]*\]/"rate": [4, 12]/; s/"prefills": \[[^]]*\]/"prefills": [2, 5]/' >"$work/f" && mv "$work/f" "$work/small/figures.json"
rows() { sed 's/,"[^"]*"$//' "$work/o/table.csv" | awk -F, -v id="$1" -v from_end="$2" '$1 ~ "^\"?" id { print $(NF - from_end) }'; }
if need "$traces/azure_llm_2023/AzureLLMInferenceTrace_conv.csv"; then
  ORRERY_TRACE_PATH=$traces "$ORRERY" figures "$work/small" --no-figures --out "$work/o" -q >"$work/said" 2>&1
  is "$? $(cat "$work/said")" "0 " "the book runs"
  is "$(rows 'D[3-8]' 0 | sort | uniq -c | tr -d ' \n')" 3no28yes "28 of 31 values of DistServe's simulator are within the bounds"
  is "$(rows D3 0 | sort | uniq -c | tr -d ' \n') $(rows D6 0 | sort -u | tr -d '\n') $(rows D5 3)" "9yes yes 5" "all fleets with roles, all loads, the smallest fleet"
  is "$(rows gain-tight 3 | awk '{ print ($1 > 1) }')" 1 "a tight limit between tokens: replicas of their own serve more"
fi
sed -i 's/"file": "/"file": "no-/; s/n=1000,prompt/n=100,prompt/' "$work/small/figures.json"
said=$("$ORRERY" figures "$work/small" --no-figures --out "$work/s" 2>&1 >"$work/table")
is "$? $(printf '%s\n' "$said" | grep -c 'SKIPPED: .* a generator replaces it')" "0 1" "without the trace a generator is used, and the output says so"
is "$(grep -c '^D[3-8]' "$work/table") $(grep -c '^best-' "$work/table")" "0 3" "published rows are left out"
tap_done
