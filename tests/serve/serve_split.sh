#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Prefill and decode replicas with transfers of caches, and prefix caches under two routers.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
n=600
[ "${ORR_SANITIZED:-}" = 1 ] && n=150
# A prompt of 1,000 tokens takes 120 ms. An iteration of decodes takes 20 ms plus 0.1 ms per decode. The cache has
# 100 kB per token.
cat >m.json <<'EOT'
{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 0, "kv_bytes_per_token": 100000,
 "closed": {"constant_ms": 20, "token_ms": 0.1, "context_ms": 1e-4, "pair_ms": 0}}
EOT
pools() { # NAME DEPLOYMENTS
  echo '{"world": "serve", "models": ["m.json"], "cluster": "4x1", "policies": ["splitwise"], "deployments": ['"$2"']}' >"$1.json"
}
pools mixed '{"replicas": 4, "kv_blocks": 10000}'
pools split '{"role": "prefill", "replicas": 2, "kv_blocks": 10000}, {"role": "decode", "replicas": 2, "kv_blocks": 10000}'
serve() { # NAME TRACE ARGS..: --check holds blocks and tokens to conservation
  local name=$1
  shift
  rm -rf o
  timeout 100 "$orrery" serve "$@" --scenario "$name.json" --check --out o --no-figures -q >said 2>&1 || { cat said; return 1; }
}
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
check() { ok "$(awk "BEGIN { print !($1) }")" "$2 ($1)"; }

# Patel et al., "Splitwise", ISCA 2024, section 4: prompts in the same iterations as decodes lengthen the time
# between tokens; prompts on separate machines leave it unchanged.
for s in mixed split; do
  for rate in 2 12; do
    serve $s "poisson:rate=$rate,n=$n,prompt=1000,output=100"
    eval "tpot_${s}_$rate=$(metric tpot_p99) gap_${s}_$rate=$(metric token_gap_p99) done_${s}_$rate=$(metric requests_completed)"
  done
done
# shellcheck disable=SC2154
{
  is "$done_mixed_2 $done_mixed_12 $done_split_2 $done_split_12" "$n $n $n $n" "every request is completed"
  check "$tpot_mixed_12 > 1.35 * $tpot_mixed_2" "mixed: six times the load lengthens the time per token"
  check "$tpot_split_12 < 1.2 * $tpot_split_2" "split: six times the load does not lengthen the time per token"
  check "$gap_mixed_12 > 0.12" "mixed: the longest gaps are those of a prompt, 120 ms"
  check "$gap_split_12 < 0.03" "split: no decode waits for a prompt"
}
# With one request there is no queue. The 1,001 tokens of 100 kB take 4.004 ms at 25 GB/s, and 80.08 ms over a link
# of 10 Gb/s.
one='poisson:rate=1,n=1,prompt=1000,output=100'
serve split "$one" && base=$(metric completion_mean)
serve split "$one" --set serve.kv_Bps=1e9
check "($(metric completion_mean) - $base - 0.1001 + 0.004004) ^ 2 < 1e-16" "a cache takes bytes / serve.kv_Bps"
serve split "$one" --network star:bw=10Gbps,lat=0 && fast=$(metric completion_mean)
serve split "$one" --network star:bw=5Gbps,lat=0
check "($(metric completion_mean) - $fast - 0.08008) ^ 2 < 1e-12" "over a network bytes / bandwidth of its links"
for network in star:bw=10Gbps star:bw=40Gbps racks:bw=10Gbps; do
  serve split "poisson:rate=6,n=$n,prompt=1000,output=100" --network $network
  is "$? $(cat said) $(metric requests_completed)" "0  $n" "$network: all arrive, conservation holds"
done
# The memory holds one prompt, which stays there during its transfer. So each prompt waits, but for a finite time.
pools tight '{"role": "prefill", "replicas": 1, "kv_blocks": 64}, {"role": "decode", "replicas": 2, "kv_blocks": 70}'
serve tight "poisson:rate=8,n=100,prompt=1000,output=100" --set serve.kv_Bps=1e8
is "$? $(cat said) $(metric requests_completed)" "0  100" "little memory on both replicas: all requests complete"

# Seven conversations have ten turns each on four replicas. Turn k has a prompt of 8 k tokens that starts with the
# prompt of turn k - 1. If all turns are on one replica, 8 (k - 1) of 8 k tokens are cached: 45/55 in total. Round
# robin returns to a replica after four turns: 8 (k - 4) tokens are cached, 21/55 in total.
pools chat '{"replicas": 4, "kv_blocks": 10000}'
sed -i 's/"splitwise"/"vllm"/' chat.json
awk 'BEGIN { print "arrival_s,prompt_tokens,output_tokens,blocks"
  for (k = 1; k <= 10; k++) for (s = 0; s < 7; s++) {
    printf "%d,%d,1,", 70 * k + s * 10, 8 * k
    for (i = 1; i <= 2 * k; i++) printf "%s%d", (i > 1 ? " " : ""), s * 100 + i
    print "" } }' >chat.csv
cached() {
  serve chat chat.csv --set serve.kv_block=4 --set trace_options.block_tokens=4 --set serve.prefix_cache=true --router "$1"
  awk -F, '$2 == "prefix_hit_share" { printf "%.9f", $3 }' o/summary.csv
}
is "$(cached prefix-aware)" 0.818181818 "prefix-aware routing finds every conversation"
is "$(cached round-robin)" 0.381818182 "round robin finds each fourth turn"

mooncake=$traces/mooncake_conversation/conversation_trace.jsonl.gz
if need "$mooncake"; then
  cat >long.json <<'EOT'
{"world": "serve", "cluster": "4x8:h100", "tp": 8, "policies": [{"policy": "vllm", "set": {"max_tokens": 131072}}],
 "models": [{"name": "long", "source": "a longer context", "kind": "llm", "longest": 131072, "layers": {"dnn": "llama2_70b"}}],
 "serve": {"prefix_cache": "true"}}
EOT
  share() { serve long "$mooncake" --set trace_options.first=3000 --compress 0.5 --router "$1" && metric prefix_hit_share; }
  check "$(share prefix-aware) > 1.5 * $(share round-robin)" "Mooncake on four replicas: prefix-aware routing finds more"
  # Routers that know caches, or guess them, find more than those that see loads only, which find about as much as round robin.
  rr=$(share round-robin) jsq=$(share jsq)
  check "$jsq < 1.15 * $rr && $jsq > 0.85 * $rr" "the shortest queue finds about as much as round robin"
  for router in sglang sglang:rule=v0.1 dynamo conductor prefix-aware:load_factor=1.25; do
    check "$(share "$router") > 1.15 * $jsq" "$router finds more than the shortest queue"
  done
fi
tap_done
