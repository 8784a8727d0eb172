#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The generator chat: conversations whose prompts repeat the turns before, and hashes of their blocks.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
check() { ok "$(awk "BEGIN { print !($1) }")" "$2 ($1)"; }

"$orrery" trace synth chat:n=20000,rate=2,turns=5,gap=30s,system=500,assistants=3,context=1000000,prompt=exp:100,output=exp:200 --to requests -o c.csv --seed 7 >/dev/null
# Per conversation: arrivals rise, each prompt is the last context and something new, and the hashes of the last context stay.
awk -F, 'NR > 1 {
    n = split($11, hash, " "); s = $9
    if (n != int($5 / 16)) bad_count++
    if (s in prompt) {
      if (!($2 > at[s])) bad_order++
      if (!($5 > prompt[s] + output[s])) bad_context++
      m = split(blocks[s], before, " ")
      for (i = 1; i <= m; i++) if (before[i] != hash[i]) bad_prefix++
    } else { chats++; last = $2; system_of[hash[1]]++; if (31 < n) own[hash[32]]++ }
    turns++; new += $5 - (s in prompt ? prompt[s] + output[s] : 500); out += $6; gaps += (s in at ? $2 - at[s] : 0); has_gap += s in at
    at[s] = $2; prompt[s] = $5; output[s] = $6; blocks[s] = $11 }
  END { for (h in own) if (own[h] > 1) shared++; for (h in system_of) systems++
    print bad_count + 0, bad_order + 0, bad_context + 0, bad_prefix + 0, shared + 0, systems, chats, last, new / turns, out / turns, gaps / has_gap }' c.csv >sums
read -r count order context prefix shared systems chats last new out gap <sums
is "$count $order $context $prefix" "0 0 0 0" "full blocks have hashes; turns follow each other, repeat the context and its hashes"
is "$shared $systems" "0 3" "three system prompts; the first block after them is the conversation's own"
# Means: 20,000 turns, so 5 standard errors are below 4 %. The last conversations lack turns, so turns per conversation are not compared.
check "($chats / $last / 2 - 1) ^ 2 < 0.08 ^ 2" "conversations begin at the rate"
check "($new / 100.5 - 1) ^ 2 < 0.04 ^ 2" "new tokens of a prompt"
check "($out / 200.5 - 1) ^ 2 < 0.04 ^ 2" "tokens of an answer"
check "($gap / 30 - 1) ^ 2 < 0.05 ^ 2" "gaps"
"$orrery" trace synth chat:n=30000,rate=1000,turns=4,gap=1ms,context=1000000,prompt=10,output=10 --to requests -o t.csv >/dev/null
check "($(awk -F, 'NR > 1 && !($9 in seen) { seen[$9]; n++ } END { print (NR - 1) / n }' t.csv) / 4 - 1) ^ 2 < 0.05 ^ 2" "turns of a conversation"
# The context bounds every prompt and its output.
"$orrery" trace synth chat:n=5000,context=2000,prompt=exp:300,output=exp:300 --to requests -o b.csv >/dev/null
is "$(awk -F, 'NR > 1 && $5 + $6 > 2000' b.csv | wc -l)" 0 "the context is kept"

# A run on the generator equals a run on its file.
serve() { "$orrery" serve "$@" --model llama2-7b --cluster 1x2:a100-80g --policy vllm --set serve.prefix_cache=true --record metrics --no-figures -q; }
serve chat:n=3000,rate=1,prompt=exp:100,output=exp:100 --out g
"$orrery" trace synth chat:n=3000,rate=1,prompt=exp:100,output=exp:100 --to requests -o f.csv >/dev/null
cat >f.json <<'EOT'
{"world": "serve", "trace": "f.csv", "trace_options": {"block_tokens": 16}, "models": ["llama2-7b"], "cluster": "1x2:a100-80g",
 "policies": ["vllm"], "serve": {"prefix_cache": true}, "record": "metrics"}
EOT
"$orrery" run f.json --out f --no-figures -q
cmp -s g/summary.csv f/summary.csv
ok $? "the generator and its file give the same metrics"
hit=$(awk -F, '$2 == "prefix_hit_share" { print $3 }' g/summary.csv)
check "${hit:-0} > 0.3 && ${hit:-0} < 1" "prompts are found in the prefix cache"

# Closed loop: a turn follows the answer to the previous turn, regardless of the load.
"$orrery" trace synth chat:n=2000,rate=1,history=false,prompt=exp:100,output=exp:100 --to requests -o h.csv >/dev/null
is "$(awk -F, 'NR > 1 && $11 != ""' h.csv | wc -l)" 0 "without history there are no hashes"
serve h.csv --set serve.sessions=grow --set serve.think=10s --out h --check
is "$(awk -F, '$2 == "requests_completed" { print $3 }' h/summary.csv)" 2000 "every turn of a closed loop is answered"
said=$("$orrery" trace synth chat:system=2000 --to requests -o x.csv 2>&1)
is "$? $said" "2 orrery: generator chat: system=2000 of context=4096 tokens: expected a system prompt of at most a quarter of the context" "a system prompt that fills the context"
tap_done
