#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies at their defaults on small traces, with results computed by hand: sizes between those of a table, GPUs of different memory, SLOs
# of the trace, prompts longer than 4096 tokens.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# serve POLICY ARGS..: "completion in ms, replica" of each request, in order; "-" if it was not completed
serve() {
  timeout 60 "$orrery" serve "${@:2}" --policy "$1" --check --out o --no-figures -q >said 2>&1 || { cat said; return; }
  awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? " " : ""), ($10 == "completed" ? sprintf("%g,%d", 1000 * $4, $11) : "-") } END { print "" }' "o/$1.requests.csv"
}

# ---- sizes between two sizes of a table: 10 ms and 4 GiB per sample ----
cat >line.json <<'EOT2'
{"name": "line", "source": "by hand", "kind": "table", "between": "linear", "batch": [1, 5, 9], "latency_ms": [10, 50, 90],
 "memory_unit_bytes": 1073741824, "memory": [4, 20, 36]}
EOT2
printf 'arrival_s,samples,slo_s\n0,3,1\n0.01,3,0.055\n0.02,1,1\n' >between.csv
# A v100 has 16 GiB: 4 samples. Batches: 3, 3, 1; or 3, then 3 and 1 together.
is "$(serve fifo between.csv --model line.json --cluster 1x1:v100)" "30,0 60,0 70,0" "fifo: 3 samples take 30 ms"
is "$(serve cascade between.csv --model line.json --cluster 1x1:v100)" "30,0 70,0 70,0" "cascade: 4 samples take 40 ms"
# Request 1 must start by 65 - 30 = 35 ms, and starts at 30 ms.
is "$(serve fifo between.csv --model line.json --cluster 1x1:v100 --set serve.shed=hopeless)" "30,0 60,0 70,0" "the latest start follows from 30 ms"

# ---- a GPU of 8 GiB and one of 16 GiB ----
cat >big.json <<'EOT2'
{"name": "big", "source": "by hand", "kind": "table", "batch": [1, 5], "latency_ms": [10, 50], "memory_unit_bytes": 1073741824, "memory": [4, 12]}
EOT2
printf 'arrival_s,samples\n0,5\n0.001,1\n0.002,5\n1,1\n' >sizes.csv
for policy in fifo tf-serving clipper cascade irina clockwork academus; do
  is "$(serve $policy sizes.csv --model big.json --cluster 1x1:2080,1x1:v100)" "50,1 11,0 100,1 1010,0" "$policy: 12 GiB run on the larger GPU"
done
is "$(serve fifo sizes.csv --model big.json --cluster 1x1:2080,1x1:v100 --router round-robin)" "50,1 60,1 110,1 1010,1" "fifo with a router: 12 GiB run on the larger GPU"
# Without a plan nexus takes GPUs in turn: 1 for the first request, because it is too large for 0, then 1, 1 for 0, and 1.
like "$(serve nexus sizes.csv --model big.json --cluster 1x1:2080,1x1:v100)" '^50,1 60,1 110,1 ' "nexus: 12 GiB run on the larger GPU"
# Two models of 3 GB each; a batch of a takes 4 GB, so it fits on the smaller GPU alone, but not beside b.
echo '{"name": "a", "source": "by hand", "kind": "table", "batch": [1], "latency_ms": [10], "weight_bytes": 3e9, "memory": [4e9]}' >a.json
echo '{"name": "b", "source": "by hand", "kind": "table", "batch": [1], "latency_ms": [20], "weight_bytes": 3e9, "memory": [1e9]}' >b.json
printf 'arrival_s,model\n0,a\n0.001,b\n0.1,a\n' >two.csv
for policy in tf-serving clipper cascade irina clockwork academus; do
  is "$(serve $policy two.csv --model a.json,b.json --cluster 1x1:2080,1x1:v100)" "10,1 21,0 110,1" "$policy: the weights of other models count"
done
# On one GPU of 8 GiB, clockwork unloads b for a, and loads it again in 0 s.
is "$(serve clockwork two.csv --model a.json,b.json --cluster 1x1:2080)" "10,0 30,0 110,0" "clockwork unloads a model whose weights leave too little memory"
# fifo loads models in 100 ms, on two GPUs at once: a from 0, b from 10 ms.
for m in a b; do sed 's/"weight_bytes"/"load_ms": 100, "weight_bytes"/' $m.json >slow_$m.json; done
printf 'arrival_s,model\n0,a\n0.01,b\n0.2,a\n' >loads.csv
is "$(serve fifo loads.csv --model slow_a.json,slow_b.json --cluster 1x2:2080 --set serve.preloaded=false)" "110,0 130,1 210,0" "fifo: a model is loaded while another replica loads"
like "$("$orrery" serve loads.csv --model slow_a.json,slow_b.json --cluster 1x2:2080 --policy fifo --set serve.preloaded=false --no-figures 2>&1)" \
  'a: latencies of its table on any GPU type; a load takes 0.1 s' "the run names the time of a load"
like "$("$orrery" serve two.csv --model a.json,b.json --cluster 1x2:2080 --policy fifo --set serve.preloaded=false --no-figures 2>&1)" \
  'a: latencies of its table on any GPU type; loads take no time \(load_ms of a model.s file\)' "and that loads take no time"
# Replica 0 serves both models, 1 only b. At 10 ms replica 0 becomes idle, and a request for b arrives while one for a waits.
echo '{"world": "serve", "models": ["a.json", "b.json"], "cluster": "1x2:2080", "policies": ["fifo"],
 "deployments": [{"replicas": 1}, {"model": "b", "replicas": 1}]}' >both.json
printf 'arrival_s,model\n0,a\n0.005,a\n0.01,b\n' >meet.csv
is "$(serve fifo meet.csv --scenario both.json)" "10,0 20,0 30,1" "fifo: a request finds the replica that serves only its model"

# academus: 1 request with 8 students; 9 of 17 wait, so 8 run with 4; 8 with 4; the last one with 5. The mean is over requests: 77 / 18.
{ echo arrival_s; echo 0; for _ in $(seq 17); do echo 0.001; done; } >burst.csv
echo '{"name": "s", "source": "by hand", "kind": "table", "between": "up", "batch": [1, 8], "latency_ms": [10, 10]}' >s.json
serve academus burst.csv --model s.json --cluster 1x1 >/dev/null
is "$(awk -F, '$2 == "students" { printf "%.6f", $3 }' o/summary.csv)" 4.277778 "academus: mean number of students of a request"
# A group of two replicas: 10 ms. While one is down, both students run on the other, which they fill: 20 ms.
printf 'time_s,node,event\n2,n1,fail\n5,n1,repair\n' >nodes.csv
printf 'arrival_s\n1\n3\n6\n' >three.csv
group=(--model s.json --cluster 2x1 --set policy.academus.gpus=2 --set policy.academus.students=2 --set serve.interference=occupancy)
is "$(serve academus three.csv "${group[@]}" --failures nodes.csv)" "1010,0 3020,0 6010,0" "academus: a group that has lost a replica serves"
like "$("$orrery" serve three.csv "${group[@]}" --replicas 1 --policy academus 2>&1)" 'gpus: expected at least 2 replicas at the start, the size of a group, found 1$' \
  "academus: a group needs its replicas at the start"

# ---- an SLO of the trace is the same as --slo ----
echo '{"name": "m", "source": "by hand", "kind": "table", "between": "up", "batch": [1, 2, 4, 8, 16, 32], "latency_ms": [10, 12, 16, 24, 40, 72]}' >m.json
for policy in clipper nexus clockwork tf-serving irina; do
  own=$(serve $policy poisson:rate=300,n=1000,slo=50ms --model m.json --cluster 1x1)
  is "$own" "$(serve $policy poisson:rate=300,n=1000 --model m.json --cluster 1x1 --slo 50ms)" "$policy: an SLO of the trace"
  like "$own" ',0 .*,0' "$policy: requests complete"
done
# ---- occupancy: one sample fills a quarter of the GPU, eight fill it; two students of eight samples take twice as long ----
echo '{"name": "q", "source": "made up", "kind": "table", "batch": [1, 8], "latency_ms": [10, 20], "occupancy": 0.25}' >quarter.json
printf 'arrival_s,samples\n0,1\n1,8\n' >quarter.csv
is "$(serve academus quarter.csv --model quarter.json --cluster 1x1 --set policy.academus.students=2 --set serve.interference=occupancy)" "10,0 1040,0" "academus: a larger batch fills more of the GPU"

# ---- clockwork on a pipeline of two stages: a batch leaves after the one before it, so each completed request meets its deadline ----
for front in "" "--set serve.front=per-replica --set serve.front_Bps=1e10"; do
  # shellcheck disable=SC2086 # several words
  serve clockwork "poisson:rate=400,n=1500,model=vgg16|resnet18,slo=7ms" --model vgg16,resnet18 --cluster 1x2:p100 --pp 2 $front >/dev/null
  is "$(awk -F, 'NR > 1 && $10 == "completed" { n++; late += $4 - $2 > 0.0070001 } END { print late + 0, (n > 1000) }' o/clockwork.requests.csv)" "0 1" \
    "clockwork knows the batches in later stages $front"
done

# ---- padding: a table with between=up computes its next size and its next length: 1 x 8 and 4 x 16 tokens for 1 x 6 and 3 x 10 ----
echo '{"name": "u", "source": "made up", "kind": "table", "batch": [1, 4], "length": [8, 16], "latency_ms": [[5, 8], [6, 9]], "between": "up"}' >up.json
printf 'arrival_s,samples,prompt_tokens\n0,1,6\n1,3,10\n' >up.csv
serve fifo up.csv --model up.json --cluster 1x1 >/dev/null
is "$(awk -F, '$2 == "padding_share" { print $3 }' o/summary.csv)" 0.5 "half of 72 tokens are padding"

# ---- nexus without a plan: each model takes its GPUs in turn ----
echo '{"world": "serve", "models": ["a.json", "b.json"], "cluster": "1x4", "policies": ["nexus"],
 "deployments": [{"model": "a", "replicas": 2}, {"model": "b", "replicas": 2}]}' >turns.json
printf 'arrival_s,model\n0,a\n0.1,b\n0.2,a\n0.3,b\n0.4,a\n' >turns.csv
is "$(serve nexus turns.csv --scenario turns.json)" "10,0 120,2 210,1 320,3 410,0" "nexus: alternating models use all GPUs"

# ---- long prompts of a model with a long context: an iteration takes 10 ms and 0.01 ms per token ----
echo '{"name": "l", "source": "by hand", "kind": "llm", "weight_bytes": 0, "kv_bytes_per_token": 1000, "longest": 20000,
 "closed": {"constant_ms": 10, "token_ms": 0.01, "context_ms": 0, "pair_ms": 0}}' >l.json
sed 's/"longest": 20000, *//' l.json >any.json
printf 'arrival_s,prompt_tokens,output_tokens\n0,8000,1\n0,8000,1\n0,8000,1\n' >long.csv
is "$(serve vllm long.csv --model l.json --cluster 1x1 --kv-blocks 10000)" "170,0 170,0 260,0" "vllm: two prompts of 8000 in a context of 20000"
is "$(serve vllm long.csv --model any.json --cluster 1x1 --kv-blocks 10000)" "90,0 180,0 270,0" "vllm: one after the other without a limit of the context"
is "$(serve vllm long.csv --model l.json --cluster 1x1 --kv-blocks 10000 --set policy.vllm.max_tokens=4096)" "- - -" "vllm: max_tokens given"

# ---- caches of 320 and of 1600 tokens: prompts of 1000 tokens take 20 ms, one at a time, on the larger one ----
printf 'arrival_s,prompt_tokens,output_tokens\n0,1000,1\n0,1000,1\n0.001,1000,1\n' >thousand.csv
caches() { # POLICY BLOCKS0 BLOCKS1 ROUTER
  echo '{"world": "serve", "models": ["l.json"], "cluster": "2x1", "policies": ["'"$1"'"], "serve": {"router": "'"$4"'"},
 "deployments": [{"replicas": 1, "kv_blocks": '"$2"'}, {"replicas": 1, "kv_blocks": '"$3"'}]}' >caches.json
  serve "$1" thousand.csv --scenario caches.json
}
for policy in vllm mlfq; do
  is "$(caches $policy 100 20 auto)" "20,0 40,0 60,0" "$policy: the first replica is the larger one"
  is "$(caches $policy 20 100 auto)" "20,1 40,1 60,1" "$policy: the second replica is the larger one"
done
for router in lor round-robin session-affinity power-of-two; do
  is "$(caches vllm 20 100 $router)" "20,1 40,1 60,1" "$router: requests go to a cache that can hold them"
done

# ---- the latest start that can meet a deadline is that of the faster GPU ----
# An H100 takes T = 45 ms for a prompt, an L4 357 ms. Request 3 waits for request 1, and ends after 2 T. Request 2 would end after 714 ms.
echo '{"world": "serve", "models": ["llama2-7b"], "cluster": "1x1:l4,1x1:h100", "policies": ["vllm"],
 "serve": {"shed": "hopeless", "slo": "400ms", "router": "round-robin"}, "deployments": [{"gpu_types": "l4"}, {"gpu_types": "h100"}]}' >mixed.json
printf 'arrival_s,prompt_tokens,output_tokens\n0,2000,1\n0,2000,1\n0.001,2000,1\n0.001,2000,1\n' >four.csv
is "$(serve vllm four.csv --scenario mixed.json | awk '{ split($2, a, ","); split($4, b, ","); print $3, b[2], b[1] / a[1] }')" "- 1 2" "serve.shed=hopeless counts the faster GPU"

like "$("$orrery" serve poisson:rate=1,n=5,prompt=9,output=9 --model llama-3-8b --cluster 1x1:a100 --policy vllm 2>&1)" \
  'model llama-3-8b has a latency table, .*, or a language model \(orrery model list --served\)$' "a network, whose served model has another name"

tap_done
