#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --find-rate against a fine grid of rates: within 1 % of the largest rate at which enough requests meet the SLO.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
cat >m.json <<'EOT'
{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 0, "kv_bytes_per_token": 1000,
 "closed": {"constant_ms": 20, "token_ms": 0.1, "context_ms": 1e-4, "pair_ms": 0}}
EOT
n=600
[ "${ORR_SANITIZED:-}" = 1 ] && n=150
# against NAME POLICY TTFT TPOT ARGS..: checks a grid in steps of 0.5 % from 3 % below to 3 % above the rate found
against() {
  local name=$1 policy=$2 ttft=$3 tpot=$4 factor best=0 c share
  shift 4
  factor=$("$orrery" serve "$@" --policy "$policy" --find-rate "ttft=$ttft,tpot=$tpot" --json -q 2>/dev/null | sed -n 's/.*[{ ]"factor": \([0-9.e+-]*\).*/\1/p')
  # shellcheck disable=SC2013
  for c in $(awk -v f="${factor:-1}" 'BEGIN { for (k = -6; k <= 6; k++) printf "%.9g ", f * (1 + 0.005 * k) }'); do
    "$orrery" serve "$@" --policy "$policy" --compress "$c" --slo-ttft "$ttft" --slo-tpot "$tpot" --record summary --out o --no-figures -q
    share=$(awk -F, '$2 == "attainment" { print $3 }' o/summary.csv)
    best=$(awk -v b="$best" -v c="$c" -v s="$share" 'BEGIN { print (s >= 0.9 && c > b) ? c : b }')
  done
  ok "$(awk -v f="${factor:-0}" -v b="$best" 'BEGIN { d = f / (b ? b : 1) - 1; print !(f > 0 && d < 0.01 && d > -0.01) }')" "$name: found $factor, grid $best"
}
for policy in vllm orca; do
  against "$policy, Poisson arrivals" $policy 1s 60ms "poisson:rate=8,n=$n,prompt=50-800,output=20-200" --model m.json --cluster 1x1 --kv-blocks 3000
done
azure=$traces/azure_llm_2023/AzureLLMInferenceTrace_conv.csv
if need "$azure"; then
  for policy in vllm orca; do
    against "$policy, Azure's conversation" $policy 2s 200ms "$azure" --model llama2-70b --cluster 1x8:a100-80g --tp 8
  done
fi
small=(--model m.json --cluster 1x1 --kv-blocks 3000)
like "$("$orrery" serve poisson:rate=5,n=200,prompt=100,output=20 "${small[@]}" --policy vllm --find-rate ttft=1us 2>&1)" \
  '^vllm: no rate was found at which 90 % of the requests meet the SLO \(0 % at [0-9.e-]+ requests/s, the lowest tried, bound by ttft: of the completed requests 0 % keep ttft\)' "never attained"
like "$("$orrery" serve poisson:rate=5,n=200,prompt=100,output=20 "${small[@]}" --policy vllm --find-rate e2e=1000h 2>&1)" \
  '100 % of the requests meet the SLO; enough requests also meet it at every higher rate tried' "SLO attained at every rate"
# A batch waits for up to a minute until it is full. Only a high rate fills it in time.
like "$("$orrery" serve poisson:rate=0.2,n=200,prompt=100,output=20 "${small[@]}" --policy fastertransformer --set policy.fastertransformer.timeout=60s \
  --find-rate ttft=2s 2>&1)" '^fastertransformer: [0-9.]+ requests/s, [0-9.]+ times .*: 9[0-9.]+ % of the requests meet the SLO; at ' \
  "an SLO that is attained at high rates only"
tap_done
