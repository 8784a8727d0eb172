#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Small traces with results computed by hand. An iteration takes 10 ms, 1 ms per processed token and 0.1 ms per token that the
# decodes have processed before.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
cat >m.json <<'EOT'
{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 0, "kv_bytes_per_token": 1000,
 "closed": {"constant_ms": 10, "token_ms": 1, "context_ms": 0.1, "pair_ms": 0}}
EOT
# golden NAME POLICY TRACE EXPECTED ARGS..: expected lines are "first completed preemptions", in ms
golden() {
  local name=$1 policy=$2 trace=$3 expected=$4
  shift 4
  timeout 60 "$orrery" serve "$trace" --model m.json --cluster 1x1 --policy "$policy" --check --out o --no-figures -q "$@" >said 2>&1
  is "$? $(cat said)$(awk -F, 'NR > 1 { printf "\n%.6f %.6f %d", 1000 * $3, 1000 * $4, $6 }' "o/$policy.requests.csv")" "$(printf '0 \n%s' "$expected")" "$name"
}

# Request r0 arrives at 0 with 10 prompt tokens and 3 output tokens; r1 arrives at 5 ms with 20 and 2.
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,3\n0.005,20,2\n' >two.csv
many=(--kv-blocks 1000)
# Times of iterations in ms: r0's prompt 10 + 10; r1's prompt 10 + 20; one decode of both 10 + 2 + 0.1 x (11 + 21);
# one decode of r0 10 + 1 + 0.1 x 12.
golden "vllm: prompts alone, then decodes" vllm two.csv "20.000000 77.400000 0
50.000000 65.200000 0" "${many[@]}"
# Chunks have 16 tokens. Times of iterations in ms: r0's prompt 20; a decode of r0 with 15 tokens of r1's prompt 10
# + 16 + 1.1; a decode of r0 with the other 5 tokens 10 + 6 + 1.2; a decode of r1 10 + 1 + 2.1.
golden "sarathi: decodes with a chunk of the next prompt" sarathi two.csv "20.000000 64.300000 0
64.300000 77.400000 0" "${many[@]}" --set policy.sarathi.chunk=16
# Times of iterations in ms: r0's prompt 20; a decode of r0 with all of r1's prompt 10 + 21 + 1.1; a decode of both
# 10 + 2 + 0.1 x (12 + 21). splitwise has the same times. So has mlfq until a request uses up its first quantum.
mixed="20.000000 67.400000 0
52.100000 67.400000 0"
golden "orca: decodes with the whole prompt" orca two.csv "$mixed" "${many[@]}"
golden "splitwise: decodes with the whole prompt" splitwise two.csv "$mixed" "${many[@]}"
golden "mlfq: decodes with the whole prompt" mlfq two.csv "$mixed" "${many[@]}"
# r0 takes 20 + 12.1 + 12.2 ms, then r1 takes 30 + 13.1 ms.
alone="20.000000 44.300000 0
74.300000 87.400000 0"
golden "static batches: r1 waits for the end of r0" fastertransformer two.csv "$alone" "${many[@]}"
golden "fifo: r1 waits for the end of r0" fifo two.csv "$alone" "${many[@]}"

# There are 8 blocks of 4 tokens; the prompts of 10 and 14 tokens hold 3 and 4 blocks. Times in ms: the prompts take
# 34, two decodes of both 10 + 2 + 2.6 and 10 + 2 + 2.8. Then r0 takes the last block, so r1, with 3 outputs, is
# evicted and restarts with 17 tokens. Decodes of r0 alone take 11 + 1.3, .., 11 + 1.7. Then r1's 17 tokens take 27,
# and its decodes 12.8 and 12.9.
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,8\n0,14,6\n' >tight.csv
for policy in vllm sarathi; do
  golden "$policy: the last resident restarts when blocks run out" $policy tight.csv "34.000000 125.900000 0
34.000000 178.600000 1" --kv-blocks 8 --set serve.kv_block=4
done
# The first request uses all blocks: 32 tokens are processed. The 33rd token is the last output, which no iteration
# processes.
printf 'arrival_s,prompt_tokens,output_tokens\n0,30,3\n0,31,3\n' >whole.csv
for policy in vllm sarathi splitwise mlfq; do
  golden "$policy: a request may take all blocks; one that needs more is refused" $policy whole.csv \
    "$(awk 'BEGIN { print "40.000000 68.300000 0\n0.000000 0.000000 0" }')" --kv-blocks 8 --set serve.kv_block=4
done

# Prefix cache: r1 finds two of its three blocks, 8 of 10 tokens, and processes the other 2 tokens.
printf 'arrival_s,prompt_tokens,output_tokens,blocks\n0,10,1,1 2 3\n1,10,1,1 2 4\n' >prefix.csv
golden "cached tokens are not processed again" vllm prefix.csv "20.000000 20.000000 0
1012.000000 1012.000000 0" --kv-blocks 100 --set serve.kv_block=4 --set trace_options.block_tokens=4 --set serve.prefix_cache=true
is "$(awk -F, '$2 == "prefix_hit_share" { print $3 + 0 }' o/summary.csv)" 0.4 "prefix_hit_share is the share of prompt tokens found in the cache"

# One prefill and one decode replica; a token has 1,000 bytes, sent at 10^6 B/s. Times in ms: r0's prompt 20,
# transfer 11, decodes 12.1 + 12.2. From 20 on: r1's prompt 30, transfer 21, decode 13.1.
cat >split.json <<'EOT'
{"world": "serve", "models": ["m.json"], "cluster": "2x1", "policies": ["splitwise"], "serve": {"kv_Bps": "1e6"},
 "deployments": [{"role": "prefill", "kv_blocks": 1000}, {"role": "decode", "kv_blocks": 1000}]}
EOT
"$orrery" serve two.csv --scenario split.json --check --out o --no-figures -q
is "$(awk -F, 'NR > 1 { printf "%.6f %.6f %d;", 1000 * $3, 1000 * $4, $11 }' o/splitwise.requests.csv)" \
  "20.000000 55.300000 1;50.000000 84.100000 1;" "a cache moves from the prefill to the decode replica"
tap_done
