#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Small serving runs whose rows and metrics are compared completely with values computed by hand.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# metrics FOLDER LABEL WANT WHAT: compares all metrics of a run, except those of memory in use and the number of
# events, with WANT (NAME=VALUE ..)
metrics() {
  is "$(awk -F, -v l="$2" '$1 == l && $2 !~ /^(events|kv_use_mean|memory_use_m.*)$/ { printf "%s=%.9g\n", $2, $3 }' "$1/summary.csv")" "$(tr ' ' '\n' <<<"$3" | grep .)" "$4"
}

# ---- a table of 1 s per sample: three replicas, of which two serve the requests at 0 and 5 s ----
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [1000]}' >slow.json
printf 'arrival_s\n0\n5\n' >r.csv
cat >fleet.json <<'EOT'
{"world": "serve", "trace": "r.csv", "cluster": "2x2:a100,1x2:v100", "models": ["slow.json"], "policies": ["fifo"], "prices": {"a100": 3.6, "v100": 1.8},
 "deployments": [{"model": "slow", "replicas": 2, "gpu_types": "a100"}, {"model": "any", "replicas": 1, "gpu_types": "v100"}], "serve": {"start_up": "2s"}}
EOT
"$orrery" run fleet.json --check --no-figures -q --out fleet
is "$(cat fleet/fifo.requests.csv)" "request_id,arrival_s,first_token_s,completed_s,queue_s,preemptions,model,prompt_tokens,output_tokens,status,replica
0,0.000000000,1.000000000,1.000000000,0.000000000,0,slow,1,0,completed,0
1,5.000000000,6.000000000,6.000000000,0.000000000,0,slow,1,0,completed,0" "requests of a fleet"
is "$(cat fleet/fifo.replicas.csv)" "replica,deployment,model,gpus,places,start_s,ready_s,stop_s,reason
0,0,slow,1,n0:1,0.000000000,0.000000000,6.000000000,over
1,0,slow,1,n0:1,0.000000000,0.000000000,6.000000000,over
2,1,slow,1,n2:1,0.000000000,0.000000000,6.000000000,over" "its replicas, which all end with the run"
# The replicas are present for 18 s in total and work for 2 s; the cost is 12 s x 3.6 and 6 s x 1.8 USD/h.
metrics fleet fifo "completion_mean=1 completion_p50=1 completion_p90=1 completion_p99=1 completion_max=1 sample_completion_mean=1 queue_mean=0
queue_p50=0 queue_p99=0 duration=6 throughput=0.333333333 goodput=0.333333333 requests=2 requests_completed=2 requests_refused=0 requests_shed=0
requests_unfinished=0 refused_context=0 refused_kv_cache=0 refused_batch_size=0 refused_memory=0 refused_no_replica=0 refused_policy=0 shed_queue_limit=0
shed_deadline=0 shed_policy=0 preemptions=0 restarts=0 stacked_runs=0 utilisation=0.111111111 in_system_mean=0.333333333 in_system_max=1
replica_hours=0.005 gpu_hours=0.005 padding_share=0 lost_work=0 usd=0.015 usd_per_million_samples=7500" "its metrics"
is "$("$orrery" scenario show fleet.json | tr -d '\t\n ' | grep -o '"deployments":\[[^]]*\]')" \
  '"deployments":[{"model":"slow","replicas":"2","tp":"1","pp":"1","role":"both","gpu_types":"a100","kv_blocks":"0","least":"0","most":"0"},{"model":"slow","replicas":"1","tp":"1","pp":"1","role":"both","gpu_types":"v100","kv_blocks":"0","least":"0","most":"0"}]' \
  "its deployments, shown"
sed 's/"gpu_types": "v100"/"gpu_types": "v100,a100"/' fleet.json >any.json
like "$("$orrery" scenario show any.json | tr -d '\t\n ')" '"gpu_types":"a100,v100","kv_blocks"' "types in the order of the cluster"

# ---- a language model: an iteration takes 100 ms, 10 ms per token and 1 ms per token of context of its decodes ----
echo '{"name": "w", "source": "made up", "kind": "llm", "weight_bytes": 1e9, "kv_bytes_per_token": 1e5, "longest": 100, "closed": {"constant_ms": 100, "token_ms": 10, "context_ms": 1, "pair_ms": 0}}' >w.json
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,3\n0.05,20,2\n1,5,1\n2,200,5\n' >t.csv
"$orrery" serve t.csv --model w.json --cluster 1x1:a100 --policy vllm,orca --prices a100=3.6 --check --no-figures --out lm -q
# Iterations under vllm: prompts of 10 and 20 tokens until 0.2 and 0.5 s; two decodes at contexts of 11 and 21 until
# 0.652 s; one decode at 12 until 0.774 s; the prompt of 5 tokens from 1 to 1.15 s. A prompt of 200 tokens is too
# long.
is "$(cat lm/vllm.requests.csv)" "request_id,arrival_s,first_token_s,completed_s,queue_s,preemptions,model,prompt_tokens,output_tokens,status,replica
0,0.000000000,0.200000000,0.774000000,0.000000000,0,w,10,3,completed,0
1,0.050000000,0.500000000,0.652000000,0.150000000,0,w,20,2,completed,0
2,1.000000000,1.150000000,1.150000000,0.000000000,0,w,5,1,completed,0
3,2.000000000,,,,0,w,200,5,refused," "requests under vllm"
# Iterations under orca: the prompt of 20 tokens with a decode at a context of 11 until 0.521 s, two decodes at 12
# and 21 until 0.674 s.
is "$(cut -d, -f1-4 lm/orca.requests.csv | sed -n 2,4p)" "0,0.000000000,0.200000000,0.674000000
1,0.050000000,0.521000000,0.674000000
2,1.000000000,1.150000000,1.150000000" "requests under orca"
# Completion times are 0.774, 0.602 and 0.15 s; first tokens take 0.2, 0.45 and 0.15 s. The gaps between tokens are
# 0.452, 0.122 and 0.152 s, so the means per token are 0.287 and 0.152 s. The replica is busy for 0.924 of 2 s, at
# 3.6 USD/h.
metrics lm vllm "completion_mean=0.508666667 completion_p50=0.602 completion_p90=0.7396 completion_p99=0.77056 completion_max=0.774
sample_completion_mean=0.508666667 queue_mean=0.05 queue_p50=0 queue_p99=0.147 ttft_mean=0.266666667 ttft_p50=0.2 ttft_p90=0.4 ttft_p99=0.445
tpot_mean=0.2195 tpot_p50=0.2195 tpot_p90=0.2735 tpot_p99=0.28565 token_gap_mean=0.242 token_gap_p50=0.152 token_gap_p99=0.446 token_gap_max=0.452
duration=1.15 throughput=2.60869565 goodput=2.60869565 output_tokens=6 tokens_per_second=5.2173913 iterations=5 prompt_tokens_processed=35 requests=4
requests_completed=3 requests_refused=1 requests_shed=0 requests_unfinished=0 refused_context=1 refused_kv_cache=0 refused_batch_size=0 refused_memory=0
refused_no_replica=0 refused_policy=0 shed_queue_limit=0 shed_deadline=0 shed_policy=0 preemptions=0 restarts=0 stacked_runs=0 swaps=0 kv_transfers=0
utilisation=0.462 in_system_mean=0.763 in_system_max=2 replica_hours=0.000555555556 gpu_hours=0.000555555556 lost_work=0 usd=0.002
usd_per_million_tokens=333.333333" "metrics under vllm"
# The cache has room for (0.9 x 40 GiB - 1e9) / 1e5 tokens, in blocks of 16.
is "$(grep '^vllm,assumption' lm/notes.csv)" 'vllm,assumption,"w: 1 GB of weights (given by its file), 100000 bytes of KV cache per token (given by its file); context of 100 tokens of prompt and output"
vllm,assumption,"KV cache of a replica: w on a100 (tp 1, pp 1): 376544 tokens (serve.kv_part); 90 % of the memory is for weights and KV cache"' "what the run assumed"
like "$(cat lm/notes.csv)" '^vllm,remark,1 of 4 requests were refused: 1 longer than the context of w \(100 tokens of prompt and output\)$' "and refused"
for cut in 0.3 0.7; do
  "$orrery" serve t.csv --model w.json --cluster 1x1:a100 --policy vllm --check --no-figures --out cut -q --until $cut
  cut -d, -f1-4,10 cut/vllm.requests.csv | tail -n +2
done >cut.csv
is "$(cat cut.csv)" "0,0.000000000,0.200000000,,unfinished
1,0.050000000,,,unfinished
0,0.000000000,0.200000000,,unfinished
1,0.050000000,0.500000000,0.652000000,completed" "requests at an earlier end"

# ---- a sample keeps at most 10,000 rows: every second request of 10,500 ----
echo '{"name": "m", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [1]}' >m.json
"$orrery" serve "poisson:rate=100,n=10500" --model m.json --cluster 1x1:a100 --policy fifo --record sample --no-figures --out sample -q
is "$(awk -F, 'NR > 1 && $1 != 2 * (NR - 2) { other++ } END { print NR - 1, other + 0 }' sample/fifo.requests.csv)" "5250 0" "rows of a sample"
tap_done
