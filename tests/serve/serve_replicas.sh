#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --find-replicas by hand: 12 requests arrive at once and take 1 s each, one at a time, so with n replicas the last answer comes after
# ceil(12 / n) s. And against a scan by single runs.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
printf '{"name": "m", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [1000]}' >m.json
{ echo arrival_s; for i in 0 1 2 3 4 5 6 7 8 9 10; do echo 0; done; echo 0.001; } >r.csv
fleet() { # ARGS..: without the remark on short traces
  "$orrery" serve r.csv --model m.json --policy fifo "$@" 2>&1 | sed '/too few for queues to build up/d'
  return "${PIPESTATUS[0]}"
}
number() { grep -o "\"$1\": [^,}]*" <<<"$2" | cut -d' ' -f2; }

is "$(fleet --cluster 2x4:a100 --prices a100=2 --find-replicas e2e=3s --attainment 1)" "fifo: 4 replicas on 4 GPUs at 8 USD per hour: 100 % of the requests meet the SLO, 1 per second and GPU; \
with one replica less 75 %, bound by e2e: of the completed requests 75 % keep e2e (6 runs)" "three answers a replica: four replicas"
is "$(fleet --cluster 2x4:a100 --prices none --find-replicas e2e=12s --attainment 1)" "fifo: 1 replica on 1 GPU: 100 % of the requests meet the SLO, 1 per second and GPU (3 runs)" "one replica"
is "$(fleet --cluster 2x4 --replicas 3 --find-replicas e2e=3s --attainment 1)" "fifo: no number of replicas was found at which 100 % of the requests meet the SLO \
(75 % with 3, the largest number tried, bound by e2e: of the completed requests 75 % keep e2e) (3 runs)" "--replicas bounds the search"
is "$(fleet --cluster 1x1 --find-replicas e2e=3s --attainment 1 | grep -c 'the only number tried')" 1 "one GPU"
json=$(fleet --cluster 2x4:a100 --prices a100=2 --find-replicas e2e=3s --attainment 1 --json)
is "$(number replicas "$json") $(number gpus "$json") $(number attainment "$json") $(number usd_per_hour "$json") $(number below_attainment "$json") $(number bound "$json") $(number most_replicas "$json")" \
  '4 4 1 8 0.75 "e2e" 8' "JSON"
is "$(number runs "$json") $(grep -c '"larger_insufficient": \[\]' <<<"$json")" "6 1" "larger fleets suffice"
awk 'NR == 1 { print "arrival_s,samples"; next } { print $0 "," (NR < 5 ? 2 : 1) }' r.csv >large.csv
is "$("$orrery" serve large.csv --model m.json --policy fifo --cluster 1x4 --find-replicas e2e=12s 2>&1)" "fifo: no number of replicas exists at which 90 % of the requests meet the SLO \
(75 % with 1, bound by refused requests: of the completed requests 100 % keep e2e; refused 25 % (batch-size 25 %)) (1 run)" "requests that are refused by any fleet"

# 12 requests of 1 s, one each 0.5 s: two replicas serve each at once, so all arrive within 5.5 mean latencies. One each second: 11.
awk 'BEGIN { print "arrival_s"; for (i = 0; i < 12; i++) print i / 2 }' >half.csv
half=(half.csv --model m.json --policy fifo --cluster 1x4 --find-replicas e2e=1s --attainment 1)
is "$("$orrery" serve "${half[@]}" 2>&1 | tail -n +2)" "fifo: with these replicas all requests arrive within 5.5 mean latencies, too few for queues to build up: \
a longer trace (at least 10) may need more of them" "a short trace"
is "$("$orrery" serve "${half[@]}" --compress 0.5 2>&1 | wc -l) $(number arrivals_span_latencies "$("$orrery" serve "${half[@]}" --json 2>/dev/null)")" "1 5.5" "twice as long: no remark; JSON"

# A language model against single runs: no smaller number of replicas keeps the SLO, and the number found does.
llm=(poisson:rate=60,n=600,prompt=500,output=100 --model llama2-7b --cluster 2x8:a100-80g --policy vllm)
json=$("$orrery" serve "${llm[@]}" --find-replicas ttft=300ms,tpot=40ms --attainment 0.95 --json 2>/dev/null)
n=$(number replicas "$json")
for i in $(seq 1 "${n:-0}"); do
  "$orrery" serve "${llm[@]}" --replicas "$i" --slo-ttft 300ms --slo-tpot 40ms --record metrics --out o --no-figures -q
  share[i]=$(awk -F, '$2 == "attainment" { print $3 }' o/summary.csv)
done
echo "# shares by replicas: ${share[*]}"
ok "$(awk -v n="${n:-0}" -v s="${share[*]}" 'BEGIN { split(s, x, " "); bad = n < 2; for (i = 1; i < n; i++) bad += x[i] >= 0.95; print bad + !(x[n] >= 0.95) }')" "the smallest of $n fleets keeps the SLO, the smaller ones do not"

# A trace that begins at 1,000,000 s: costs per token are those of a fleet that is idle until then, and the search says so, as a run does.
printf 'arrival_s,prompt_tokens,output_tokens\n1000000,10,5\n1000000.5,20,6\n1000003,5,2\n' >late.csv
late=(late.csv --model llama2-7b --cluster 2x1:a100 --policy vllm --find-replicas ttft=1s)
like "$("$orrery" serve "${late[@]}" 2>&1)" '^vllm: USD per million output tokens include the 1000000 s before the first request, 100 % of the run' "a late begin"
is "$(number idle_before_s "$("$orrery" serve "${late[@]}" --json 2>/dev/null)") $("$orrery" serve "${late[@]}" --prices none 2>&1 | grep -c before)" "1000000 0" "a late begin: JSON; without prices"

# Several deployments: mixes are tried in order of their price. Four replicas are needed: four A100 cost 2 USD. If there are only two A100,
# two A100 and two H100 cost 3 USD. Of several mixes of one price, the one with the highest share is chosen, the first on ties.
mix() { # A100s H100s ARGS..
  printf '{"world": "serve", "trace": "r.csv", "cluster": "1x4:a100,1x4:h100", "models": ["m.json"], "policies": ["fifo"], "deployments": [{"gpu_types": "a100", "replicas": %s}, {"gpu_types": "h100", "replicas": %s}]}' "$1" "$2" >mix.json
  "$orrery" serve --scenario mix.json "${@:3}" 2>&1 | grep -v 'too few for queues to build up'
}
is "$(mix 4 4 --prices a100=2,h100=3 --find-replicas e2e=3s --attainment 1)" "fifo: 4 + 0 replicas on 4 GPUs at 8 USD per hour: 100 % of the requests meet the SLO, 1 per second and GPU, 1800 per USD (9 runs)" \
  "the cheapest mix"
json=$(mix 2 4 --prices a100=2,h100=3 --find-replicas e2e=3s --attainment 1 --json)
like "$json" '"replicas": \[2, 2\], "gpus": 4, "attainment": 1, "goodput_per_gpu_per_s": 1, "usd_per_hour": 10,' "two A100 and two H100"
like "$(mix 2 1 --prices none --find-replicas e2e=3s --attainment 1)" 'fifo: no mix of replicas was found at which 100 % of the requests meet the SLO \(75 % at most\) \(5 runs\)' "no mix suffices"

# Two models: each keeps a replica, else its requests would wait forever.
sed 's/"m"/"n"/' m.json >n.json
{ echo arrival_s,model; for _ in 0 1 2 3; do echo "0,m"; echo "0.001,n"; done; } >two.csv
printf '{"world": "serve", "trace": "two.csv", "cluster": "1x4", "models": ["m.json", "n.json"], "policies": ["fifo"], "deployments": [{"model": "m", "replicas": 2}, {"model": "n", "replicas": 2}]}' >two.json
like "$("$orrery" serve --scenario two.json --find-replicas e2e=3s --attainment 1 --prices none 2>&1)" '^fifo: 2 \+ 2 replicas on 4 GPUs: 100 % .*\(4 runs\)$' "each model keeps a replica"

refuse() { # MESSAGE ARGS..
  local said
  said=$(fleet --cluster 1x2 "${@:2}")
  like "$? $said" "^2 orrery: (serve: )?$1" "refused: $1"
}
refuse '--find-rate and --find-replicas exclude each other' --find-replicas e2e=1s --find-rate e2e=1s
refuse '--find-replicas stores no runs' --find-replicas e2e=1s --db x.db
refuse '--find-replicas: expected ttft=TIME, tpot=TIME or e2e=TIME, comma-separated, found "x"' --find-replicas x
refuse '--find-replicas: expected no --until' --find-replicas e2e=1s --until 3s
refuse '--attainment: expected this option only together with --find-rate or --find-replicas' --attainment 0.5
tap_done
