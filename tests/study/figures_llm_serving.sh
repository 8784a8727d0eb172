#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures llm-serving at few loads: counts are exact with the traces; generators replace missing traces.
. "${srcdir:-.}/tests/tap.sh"
cp -r "$srcdir/scenarios/llm-serving" "$work/small" && chmod -R u+w "$work/small"
sed -i 's/"load": \[.*\]/"load": [4]/; s/load=1\]/load=4]/g' "$work/small/figures.json"
# column ID N: prints a column of the table, counted from the right because texts may contain commas: within, error_closed, error, simulated, closed, ..
column() { awk -F, -v id="\"$1\"" -v c="$2" '$1 == id { sub(/,"[^"]*"$/, ""); print $(NF - c) }' "$work/o/table.csv"; }

if [ "${ORR_SANITIZED:-}" = 1 ]; then
  skip "the whole traces are left out under sanitizers"
elif need "$traces/azure_llm_2023/AzureLLMInferenceTrace_conv.csv" && need "$traces/mooncake_conversation/conversation_trace.jsonl.gz"; then
  ORRERY_TRACE_PATH=$traces "$ORRERY" figures "$work/small" --no-figures --out "$work/o" -q >"$work/said" 2>&1
  is "$? $(cat "$work/said")" "0 " "orrery figures llm-serving runs"
  # Number of rows with more than 4,096 tokens of prompt and output, counted with awk and Python.
  for policy in vllm sarathi orca splitwise fastertransformer mlfq; do
    is "$(column "refused-conv-$policy" 3) $(column "refused-code-$policy" 3) $(column "refused-mooncake-$policy" 3)" "1612 1257 8158" \
      "$policy: what no context has room for is refused"
  done
  for trace in conv code mooncake; do
    is "$(column requests-$trace 0) $(column lost-$trace-a100-80g 3) $(column lost-$trace-h100 3)" "yes 0 0" "$trace: all that came ended"
  done
  # 54,063,104 of 144,793,823 prompt tokens are in complete blocks of an earlier request.
  ok "$(awk -v s="$(column cached-unbounded 3)" 'BEGIN { d = s / (54063104 / 144793823) - 1; print !(d * d < 1e-6) }')" \
    "a cache without bounds finds what the trace repeats"
  ok "$(awk -v a="$(column cached-h100-prefix-aware 3)" -v b="$(column cached-h100-round-robin 3)" 'BEGIN { print !(a > 3 * b && a < 0.3734) }')" \
    "16 replicas find less than that, and more by prefix-aware routing than in turn"
fi
sed -i 's/"file": "/"file": "no-/; s/n=[0-9]*,prompt/n=300,prompt/' "$work/small/figures.json"
said=$("$ORRERY" figures "$work/small" --no-figures --out "$work/s" 2>&1 >"$work/table")
is "$? $(printf '%s\n' "$said" | grep -c 'SKIPPED: .* a generator replaces it')" "0 3" "without the traces generators are used, and the output says so"
is "$(grep -c '^requests-\|^refused-conv' "$work/table")" 0 "rows that count requests of the traces are left out"
is "$(awk '/^lost-/ { n++; left += $(NF - 3) } END { print n, left + 0 }' "$work/table")" "6 0" "all requests that arrived ended"
tap_done
