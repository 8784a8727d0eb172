#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures routing with few loads: the published order of routers; chats replace a missing trace.
. "${srcdir:-.}/tests/tap.sh"
cp -r "$srcdir/scenarios/routing" "$work/small" && chmod -R u+w "$work/small"
tr -d '\n' <"$work/small/figures.json" | sed 's/"load": \[[^]]*\]/"load": [1]/; s/"rate": \[[^]]*\]/"rate": [30]/' >"$work/f" && mv "$work/f" "$work/small/figures.json"
sed -i 's/n=6000,/n=1500,/' "$work/small/chat.json"
row() { sed 's/,"[^"]*"$//' "$work/o/table.csv" | awk -F, -v id="$1" -v from_end="$2" '{ gsub("\"", "", $1) } $1 == id { print $(NF - from_end) }'; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > b) }'; }
if [ "${ORR_SANITIZED:-}" = 1 ]; then
  skip "the whole trace is left out under sanitizers"
elif need "$traces/mooncake_conversation/conversation_trace.jsonl.gz"; then
  ORRERY_TRACE_PATH=$traces "$ORRERY" figures "$work/small" --no-figures --out "$work/o" -q >"$work/said" 2>&1
  is "$? $(cat "$work/said")" "0 " "the book runs"
  is "$(row order 3)" 3 "TTFT: random, least load, local prefix and Conductor have the published order"
  is "$(above "$(row hits-sglang 3)" "$(awk -v x="$(row hits-jsq 3)" 'BEGIN { print 2 * x }')")" 1 "the cache-aware router hits at least twice as much as least load"
  is "$(awk -v a="$(row hits-jsq 3)" -v b="$(row hits-round-robin 3)" 'BEGIN { r = a / b; print (r > 0.8 && r < 1.25) }')" 1 "least load hits about as much as round robin"
  is "$(above "$(row chat-hits-prefix-aware 3)" "$(row chat-hits-random 3)")" 1 "chats: a router that follows prefixes hits more than random"
fi
sed -i 's/"file": "/"file": "no-/; s/n=12031,/n=200,/' "$work/small/figures.json"
said=$("$ORRERY" figures "$work/small" --no-figures --out "$work/s" 2>&1 >"$work/table")
is "$? $(printf '%s\n' "$said" | grep -c 'SKIPPED: .* a generator replaces it')" "0 1" "without the trace chats are generated, and the output says so"
is "$(grep -c '^ttft-' "$work/table") $(grep -c '^seconds-' "$work/table")" "0 11" "published rows are left out"
tap_done
