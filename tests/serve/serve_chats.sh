#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Closed loops of conversations (serve.sessions=replay): a generator gives the same run as its rows in a file; a turn follows the answer to the
# one before after the think time; later turns find the earlier ones in the prefix cache.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
printf '{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 1e9, "kv_bytes_per_token": 1000, "closed": {"constant_ms": 5, "token_ms": 0.05, "context_ms": 1e-4, "pair_ms": 1e-6}}' >m.json
chat=chat:rate=0.5,n=120,turns=6,gap=2s,system=100,context=2000,prompt=60,output=40
chats() { "$orrery" serve "$1" --model m.json --cluster 2x1:a100 --replicas 2 --policy vllm --router session-affinity --check --record all --no-figures -q \
  --set serve.prefix_cache=true --set serve.sessions=replay --set serve.think=3s --set serve.think_law=fixed --out "$2" "${@:3}"; }
chats "$chat" a || exit 1
"$orrery" trace synth "$chat" --seed 1 -o rows.csv >/dev/null 2>&1 || "$orrery" trace synth "$chat" -o rows.csv >/dev/null
chats rows.csv b --set trace_options.block_tokens=16
times() { cut -d, -f2-6 "$1/vllm.requests.csv"; }
ok "$(diff <(times a) <(times b) >/dev/null; echo $?)" "the generator and its rows in a file give the same times"
# The context of a turn is repeated by the trace, or grows with the answers: the same prompts.
alone=(--set serve.prefix_cache=false)
chats "$chat" whole "${alone[@]}"
chats "$chat,history=false" grown "${alone[@]}" --set serve.sessions=grow
ok "$(diff <(times whole) <(times grown) >/dev/null; echo $?)" "prompts that grow from new tokens and the system prompt give the same times as prompts with their history"
# Users that take the rows one by one: the hashes of a row are its own.
for x in "$chat" rows.csv; do
  # shellcheck disable=SC2046 # an option for the file
  "$orrery" serve "$x" --model m.json --cluster 2x1:a100 --replicas 2 --policy vllm --check --no-figures -q --set serve.prefix_cache=true --set serve.clients=4 --set serve.think=1s \
    $([ "$x" = rows.csv ] && echo "--set trace_options.block_tokens=16") --out "users_${x%%:*}"
done
ok "$(diff <(times users_chat) <(times users_rows.csv) >/dev/null; echo $?)" "clients: the generator and its rows in a file give the same times"
# Sessions are a column of the rows, not of the results.
is "$(paste -d, <(tail -n +2 rows.csv) <(tail -n +2 a/vllm.requests.csv) | awk -F, -v head="$(head -1 rows.csv)" '
  BEGIN { n = split(head, h, ","); for (i = 1; i <= n; i++) if (h[i] == "session") s = i }
  { arrival = $(n + 2); end = $(n + 4); if ($s in last) { turns++; gap = arrival - last[$s]; if (gap < 2.999999 || gap > 3.000001) bad++ } last[$s] = end }
  END { print bad + 0, (turns > 20) }')" "0 1" "each turn arrives 3 s after the answer to the one before"
ok "$(awk -F, '$2 == "prefix_hit_share" { print !($3 > 0.5) }' a/summary.csv)" "most tokens of the prompts are in the cache"
is "$("$orrery" serve poisson:rate=1,n=5,prompt=10,output=5 --model m.json --cluster 1x1:a100 --policy vllm --set serve.sessions=replay 2>&1 | grep -c 'expected a trace with sessions, or the generator chat')" 1 \
  "a generator without sessions"
# A conversation of two turns, one after the other. The first prompt has 160 tokens and the answer 160; the second one repeats both and has 160
# more. Its first 10 blocks of 16 are in the cache; the answer is computed again, so 480 - 160 tokens are processed, and the run says so.
blocks() { seq -s' ' 1 "$1"; }
printf 'arrival_s,prompt_tokens,output_tokens,session,blocks\n0,160,160,1,%s\n100,480,10,1,%s\n' "$(blocks 10)" "$(blocks 30)" >two.csv
said=$("$orrery" serve two.csv --model m.json --cluster 1x1:a100 --policy vllm --check --no-figures --set serve.prefix_cache=true --set trace_options.block_tokens=16 --out two 2>&1)
is "$(awk -F, '$2 == "prompt_tokens_processed" { print $3 }' two/summary.csv)" 480 "outputs are not cached"
like "$said" 'prefix caches keep prompts, not outputs: the next turn' "the run says so"
tap_done
