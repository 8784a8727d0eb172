#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Deployments, models, prices and roles of a serving run: their effects, error messages, and remarks on inputs without effect.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
echo '{"name": "a", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [1000, 1500]}' >a.json
sed 's/"a"/"b"/' a.json >b.json
echo '{"name": "l", "source": "made up", "kind": "llm", "weight_bytes": 1e9, "kv_bytes_per_token": 1e5, "curves": {"prompt_tokens": [1, 1000], "prompt_s": [0.1, 1], "decodes": [1, 64], "decode_s": [0.05, 0.1]}}' >l.json
printf 'arrival_s,model\n0,a\n0.5,a\n3,a\n' >r.csv
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,5\n0.5,20,6\n3,5,2\n' >t.csv
cat >base.json <<'E'
{"world": "serve", "trace": "r.csv", "models": ["a.json", "b.json"], "cluster": "2x4:a100,1x2:v100",
 "deployments": [{"model": "a", "replicas": 1, "tp": 2, "gpu_types": "a100"}, {"model": "b.json", "replicas": 1}],
 "policies": ["fifo"]}
E
metric() { awk -F, -v m="$2" '$2 == m { print $3 }' "$1/summary.csv"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { off = a - b; print (off * off < 1e-12 * (1 + b * b)) ? "near" : a " for " b }'; }

# ---- refusals: an edit of the scenario, and the message ----
while IFS='@' read -r edit expected; do
  sed -E "$edit" base.json >x.json
  said=$("$orrery" run x.json --no-figures -q 2>&1)
  like "$? $said" "^2 orrery: (x\.json: )?$expected" "$edit"
done <<'E'
s/"model": "a"/"model": "c"/@\$\.deployments\[0\]\.model: expected "any" or one of the models: a, b, found "c"
s/"model": "a"/"model": 7/@\$\.deployments\[0\]\.model: expected "any" or one of the models: a, b, found "7"
s/"model": "a"/"modell": "a"/@unknown key "deployments\[0\]\.modell"|.*modell
s/"tp": 2/"tp": 0/@\$\.deployments\[0\]\.tp: expected a whole number from 1 to 4096, found "0"
s/"tp": 2/"pp": 4097/@\$\.deployments\[0\]\.pp: expected a whole number from 1 to 4096
s/"tp": 2/"kv_blocks": -1/@\$\.deployments\[0\]\.kv_blocks: expected a whole number from 0 to 1000000000
s/"tp": 2/"role": "all"/@\$\.deployments\[0\]\.role: expected both, prefill or decode, found "all"
s/"tp": 2/"role": 1/@\$\.deployments\[0\]\.role: expected both, prefill or decode, found "1"
s/"tp": 2/"role": "decode"/@policy fifo: the policy treats all replicas alike, but \$\.deployments\[0\] has a role: expected a policy with roles \(distserve, splitwise\), a plugin
s/"tp": 2/"role": "prefill"/@policy fifo: the policy treats all replicas alike, but \$\.deployments\[0\] has a role: expected a policy with roles \(distserve, fastertransformer, mlfq, orca, sarathi, splitwise, vllm\), a plugin
s/"tp": 2/"role": "decode"/; s/"fifo"/"vllm"/@policy vllm: \$\.deployments\[0\] has a role, but no deployment has the role prefill, from whose replicas requests are sent on: expected a deployment with this role, a policy that sends requests on itself \(distserve, splitwise\), or
s/"gpu_types": "a100"/"gpu_types": "h100"/@\$\.deployments\[0\]\.gpu_types: expected types that the cluster has, found "h100"
s/"gpu_types": "a100"/"gpu_types": "v100,h100"/@\$\.deployments\[0\]\.gpu_types: expected types that the cluster has
s/"gpu_types": "a100"/"gpu_types": 3/@\$\.deployments\[0\]\.gpu_types: expected GPU types separated by commas, found "3"
s/"gpu_types": "a100"/"gpu_types": \["a100"\]/@\$\.deployments\[0\]\.gpu_types: expected GPU types separated by commas, found a list or an object
s/"replicas": 1, "tp"/"replicas": 0, "tp"/@\$\.deployments\[0\]\.replicas: expected at least 1, because "most" is 0
s/"replicas": 1, "tp"/"replicas": 1, "least": 2, "most": 3, "tp"/@\$\.deployments\[0\]\.replicas: expected from 2 \("least"\) to 3 \("most"\), found 1
s/"replicas": 1, "tp"/"replicas": 4, "least": 2, "most": 3, "tp"/@\$\.deployments\[0\]\.replicas: expected from 2 \("least"\) to 3 \("most"\), found 4
s/"replicas": 1, "tp"/"replicas": 1, "least": 3, "most": 2, "tp"/@\$\.deployments\[0\]\.most: expected at least 3, the value of "least", found 2
s/"replicas": 1, "tp"/"replicas": 5, "tp"/@\$\.deployments\[0\]: 5 replicas of 2 x 1 GPUs are 10 GPUs: expected at most 8, the GPUs of the cluster of these types
s/"replicas": 1\}/"replicas": 11}/@\$\.deployments\[1\]: 11 replicas of 1 x 1 GPUs are 11 GPUs: expected at most 10, the GPUs of the cluster$
s/"replicas": 1\}/"replicas": 9}/@\$\.deployments: request 11 GPUs in total: expected at most 10, the GPUs of the cluster
s/\{"model": "b.json"[^}]*\}/7/@\$\.deployments\[1\]: expected an object
s/"deployments": .*\],/"deployments": [],/@\$\.deployments: expected a list of 1 to 4096 objects
s/"deployments": .*\],/"deployments": {},/@\$\.deployments: expected a list of 1 to 4096 objects
s/\["a.json", "b.json"\]/[]/@\$\.models: expected a list of 1 to [0-9]+ models
s/"models": \["a.json", "b.json"\], //@expected a model \(--model NAME or FILE\.json\)
s/"b.json"\]/"a.json"]/@\$\.models\[1\]: duplicate name "a" \(of model 0\): expected a unique name
s/"b.json"\]/7]/@\$\.models\[1\]: expected the name of a model, a file, or a model as an object
s/"b.json"\]/""]/@\$\.models\[1\]: expected the name of a model
s/"b.json"\]/"none.json"]/@\$\.models\[1\]: none\.json: No such file
s/"b.json"\]/{"name": "b"}]/@\$\.models\[1\]
s/r.csv/none.csv/@none\.csv: No such file
s/"trace": "r.csv", //@expected a trace
s/2x4:a100,1x2:v100/2x0/@cluster 2x0: expected at least one GPU
s/\["a.json", "b.json"\]/["b.json"]/; s/"model": "a", //@.*r\.csv:2: request 0 names model "a": expected a served model \(--model\), or serve.any_model=true, which
s/"policies"/"prices": "a100", &/@\$\.prices: expected auto, none or TYPE=USD,\.\., found "a100"
s/"policies"/"prices": "a100=1,h100=2", &/@\$\.prices: expected GPU types of the cluster, found "h100"
s/"policies"/"prices": "a100=x", &/@\$\.prices\.a100: expected USD per GPU and hour, from 0 to 1e6, found "x"
s/"policies"/"prices": {"a100": -1}, &/@\$\.prices\.a100: expected USD per GPU and hour, from 0 to 1e6, found "-1"
s/"policies"/"prices": {"a100": 1000001}, &/@\$\.prices\.a100: expected USD per GPU and hour
s/"policies"/"prices": 7, &/@\$\.prices: expected auto, none, TYPE=USD,\.\. or an object with such keys, found "7"
s/"policies"/"serve": {"autoscale": "rate", "scale_interval": 0}, &/@serve\.scale_interval: expected a time above 0 together with serve\.autoscale, found 0
s/"policies"/"serve": {"autoscale": "rate"}, &/@serve\.autoscale=rate: expected a deployment with a maximum number of replicas \("most"\)
s/"policies"/"serve": {"sessions": "replay"}, "resample": "1h", &/@\$\.resample: expected no resampling with serve\.sessions
s/r.csv/poisson:rate=1,n=0/; s/"policies"/"serve": {"any_model": true}, &/@.*
E
refuse() { said=$("$orrery" serve "${@:2}" -q 2>&1); like "$? $said" "^2 orrery: $1" "${*:2}"; }
one=(t.csv --model l.json --cluster 1x2:a100 --policy vllm)
refuse 'serve: --attainment: expected this option only together with --find-rate' "${one[@]}" --attainment 0.9
refuse 'serve: --find-rate stores no runs: expected neither --db nor --out' "${one[@]}" --find-rate ttft=1s --db x.db
refuse '--find-rate: ttft is given twice: expected it once' "${one[@]}" --find-rate ttft=1s,ttft=2s
refuse '--find-rate: expected ttft=TIME, tpot=TIME or e2e=TIME' "${one[@]}" --find-rate ttfp=1s
refuse '--find-rate: expected .*ttft' "${one[@]}" --find-rate ttft=0
refuse '--attainment: expected a share of the requests above 0 and at most 1' "${one[@]}" --find-rate ttft=1s --attainment 1.5
refuse '--attainment: expected a share of the requests above 0 and at most 1' "${one[@]}" --find-rate ttft=1s --attainment 0
refuse '--find-rate: expected no --until, because an end of the run cuts off requests' "${one[@]}" --find-rate ttft=1s --until 5
refuse '--find-rate: expected no serve\.clients' "${one[@]}" --find-rate ttft=1s --set serve.clients=2

# ---- meanings ----
"$orrery" run base.json --no-figures -q --check --out o
# Three requests of 1 s run one after the other: 0-1, 1-2 and 3-4 s. Model a has two GPUs and b one GPU, for 4 s.
is "$? $(near "$(metric o completion_mean)" "$(awk 'BEGIN { printf "%.17g", 3.5 / 3 }')") $(near "$(metric o gpu_hours)" "$(awk 'BEGIN { printf "%.17g", 12 / 3600 }')")" "0 near near" \
  "a deployment has replicas of its GPUs"
for prices in '"a100=3.6,v100=7.2"' '{"a100": 3.6, "v100": "7.2"}'; do
  sed "s/\"policies\"/\"prices\": $prices, &/; s/\"replicas\": 1}/\"replicas\": 1, \"gpu_types\": \"v100\"}/" base.json >x.json
  "$orrery" run x.json --no-figures -q --check --out p
  is "$? $(near "$(metric p usd)" "$(awk 'BEGIN { printf "%.17g", (8 * 3.6 + 4 * 7.2) / 3600 }')")" "0 near" "prices by type: $prices"
  is "$("$orrery" scenario show x.json | tr -d ' \t\n' | grep -c '"prices":{"a100":"3.6","v100":"7.2"}')" 1 "scenario show writes them"
done
# The resolved scenario contains prices, not their sources: a run of it notes the same sources.
"$orrery" run base.json --no-figures -q --db given.db && "$orrery" scenario show base.json >shown.json && "$orrery" run shown.json --no-figures -q --db shown.db
is "$? $("$orrery" db digest given.db)" "0 $("$orrery" db digest shown.db)" "the scenario that is shown gives the same digest"
like "$("$orrery" db show shown.db --run 1)" '^  prices +a100: 2\.745 USD per GPU hour \(AWS' "prices of the catalogue have their source"
sed 's/"policies"/"prices": "a100=0,v100=7.2", &/; s/"replicas": 1}/"replicas": 1, "gpu_types": "v100"}/' base.json >x.json
"$orrery" run x.json --no-figures -q --check --out p
is "$? $(near "$(metric p usd)" "$(awk 'BEGIN { printf "%.17g", 4 * 7.2 / 3600 }')")" "0 near" "a type may cost nothing"
sed 's/"policies"/"prices": "none", &/' base.json >x.json
"$orrery" run x.json --no-figures -q --out n
is "$? $(metric n usd)" "0 " "without prices no cost is reported"
sed -E 's/"replicas": 1, "tp": 2, "gpu_types": "a100"/"least": 1, "most": 2/' base.json >x.json
is "$("$orrery" scenario show x.json | tr -d ' \t\n' | grep -c '"model":"a","replicas":"1","tp":"1","pp":"1","role":"both","gpu_types":"","kv_blocks":"0","least":"1","most":"2"')" 1 \
  "a deployment that is scaled begins with its least number of replicas"
sed -E 's/"deployments": .*\],/"serve": {"any_model": true},/; s/, "b.json"//' base.json >x.json
is "$("$orrery" scenario show x.json | tr -d ' \t\n' | grep -c '"deployments":\[{"model":"a","replicas":"10",')" 1 "a single deployment has the whole cluster"
is "$("$orrery" scenario show base.json | tr -d ' \t\n' | grep -c '"gpu_types":"a100".*"model":"b","replicas":"1"')" 1 "deployments name models and types"
"$orrery" serve r.csv --set models=a.json,b.json --cluster 2x1:a100 --policy fifo --no-figures -q --out m
is "$? $(metric m requests_completed)" "0 3" "models may be a list of names"

# Tiers are shared by models. Blocks of c have 1.6e6 bytes, those of d 0.8e6. The replica of c has room for four blocks: its second and third
# request push three others out, which fill the DRAM. The block that the second request of d pushes out pushes one of c into the pool.
llm() { echo '{"name": "'"$1"'", "source": "made up", "kind": "llm", "weight_bytes": 1, "kv_bytes_per_token": '"$2"', "closed": {"constant_ms": 5, "token_ms": 0, "context_ms": 0, "pair_ms": 0}}' >"$1.json"; }
llm c 1e5
llm d 5e4
printf 'arrival_s,model,prompt_tokens,output_tokens,blocks\n0,c,33,1,1 2\n1,c,33,1,3 4\n2,c,33,1,5 6\n3,d,33,1,1 2\n4,d,33,1,3 4\n' >tiers.csv
echo '{"world": "serve", "trace": "tiers.csv", "trace_options": {"block_tokens": 16}, "models": ["c.json", "d.json"], "cluster": "1x2:a100", "policies": ["vllm"],
 "deployments": [{"model": "c", "kv_blocks": 4}, {"model": "d", "kv_blocks": 4}], "serve": {"prefix_cache": true, "kv_dram": 4.8e6, "kv_pool": 1e9}}' >tiers.json
"$orrery" run tiers.json --no-figures -q --check --out o
is "$? $(metric o kv_dram_written_bytes) $(metric o kv_pool_written_bytes)" "0 5600000 1600000" "a block has the bytes of its own model in each tier"

# The cache of the decode replica holds 160 tokens. Adaptive roles let the prefill replica, of 320, decode a request of 199.
printf 'arrival_s,prompt_tokens,output_tokens\n0,100,100\n' >roles.csv
for roles in fixed adaptive; do
  echo '{"world": "serve", "trace": "roles.csv", "models": ["l.json"], "cluster": "2x1:a100", "policies": ["vllm"], "serve": {"roles": "'$roles'"},
   "deployments": [{"role": "prefill", "kv_blocks": 20}, {"role": "decode", "kv_blocks": 10}]}' >roles.json
  "$orrery" run roles.json --no-figures --check --out o >$roles 2>&1
  is "$? $(metric o requests_completed)" "0 $([ $roles = fixed ]; echo $?)" "roles=$roles: the number of requests completed"
done
like "$(cat fixed)" '1 larger than the KV cache of a replica \(320 tokens for the prompt, 160 for prompt and output\)' "the sizes of both roles"
is "$(grep -c 'serve.roles has no effect' adaptive)" 0 "adaptive roles have an effect on a request that fixed roles refuse"

# ---- inputs without effect ----
while IFS='|' read -r input expected arguments; do
  read -ra words <<<"$arguments"
  said=$("$orrery" serve "${words[@]}" --no-figures 2>&1) rc=$?
  got=$(grep -oE "$input has no effect: .*" <<<"$said" | head -n 1 | sed "s/^$input has no effect: //")
  [ -n "$got" ] || got=yes
  is "$rc ${got%%;*}" "0 $expected" "effect of $input: $arguments"
done <<'E'
serve.swap_Bps|no KV cache was swapped out|t.csv --model l.json --cluster 1x1:a100 --policy vllm --set serve.swap_Bps=1e9
serve.kv_Bps|no KV cache was sent to another replica|t.csv --model l.json --cluster 1x1:a100 --policy vllm --set serve.kv_Bps=1e9
serve.engine|no language model by layers is served|t.csv --model l.json --cluster 1x1:a100 --policy vllm --set serve.engine=lmdeploy
precision|times and bytes of the models are given by their files|r.csv --model a.json --cluster 1x1:a100 --policy fifo --precision fp32
serve.queue_limit|no request arrived at a replica with that many requests|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.queue_limit=2
serve.shed|no request reached its deadline while it waited|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.shed=late --set serve.slo=9s
serve.shed|yes|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.shed=late --set serve.slo=300ms
serve.kv_block|no language model is served|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.kv_block=8
serve.kv_block|yes|t.csv --model l.json --cluster 1x1:a100 --policy vllm --set serve.kv_block=8
serve.prefix_cache|the trace has no hashes of prompts|t.csv --model l.json --cluster 1x1:a100 --policy vllm --set serve.prefix_cache=true
serve.router|one replica takes new requests|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.router=round-robin
serve.router|yes|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.router=round-robin --set serve.queue_limit=1
serve.router|yes|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set serve.router=round-robin
serve.router|one replica takes new requests|t.csv --model l.json --cluster 1x1:a100 --policy vllm --set serve.router=conductor --slo-ttft 1s
serve.router|yes|t.csv --model l.json --cluster 1x1:a100 --policy vllm --set serve.router=conductor --slo-ttft 10ms
serve.scale_target|serve.autoscale=none|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set serve.scale_target=3
serve.start_up|no replica was added later|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set serve.start_up=3s
serve.notice|nodes do not fail|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set serve.notice=3s
serve.think|neither serve.clients nor serve.sessions is set|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set serve.think=3s
serve.think|yes|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set serve.think=3s --set serve.clients=2
serve.think_law|serve.think is 0|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set serve.think_law=fixed --set serve.clients=2
serve.any_model|no request names a model that is not served|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.any_model=true
serve.any_model|yes|r.csv --model b.json --cluster 1x1:a100 --policy fifo --set serve.any_model=true
failures.mttr|no node failed before the end|r.csv --model a.json --cluster 2x1:a100 --policy fifo --set failures.mtbf=9999h --set failures.mttr=1s
serve.ci_level|the run has no interval|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.ci_level=0.9
record|a sample of up to 10000 rows contains every request|r.csv --model a.json --cluster 1x1:a100 --policy fifo --record sample
until|the last request ended before that time|r.csv --model a.json --cluster 1x1:a100 --policy fifo --until 10
until|yes|r.csv --model a.json --cluster 1x1:a100 --policy fifo --until 3.5
until|yes|r.csv --model a.json --cluster 1x1:a100 --policy fifo --until 2.5
seed|nothing of this run is drawn at random|r.csv --model a.json --cluster 1x1:a100 --policy fifo --seed 5
seed|yes|r.csv --model a.json --cluster 2x1:a100 --policy fifo --seed 5 --set serve.router=random
seed|yes|poisson:rate=1,n=9 --model a.json --cluster 1x1:a100 --policy fifo --seed 5
seed|yes|r.csv --model a.json --cluster 1x1:a100 --policy fifo --seed 5 --set serve.clients=1 --set serve.think=2s
seed|nothing of this run is drawn at random|r.csv --model a.json --cluster 1x1:a100 --policy fifo --seed 5 --set serve.clients=1 --set serve.think=2s --set serve.think_law=fixed
serve.interference|no two runs shared a replica|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.interference=occupancy
serve.slowdowns|serve.interference is not pairwise|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.slowdowns=a:a=2
serve.exit|no run was aborted|r.csv --model a.json --cluster 1x1:a100 --policy fifo --set serve.exit=now
E

# ---- the only replica that is large enough is down ----
# An iteration takes 10 ms and 0.1 ms per token. Caches of 160 and 640 tokens; the large replica is down from 1 to 5 s. The two requests of
# 60 + 240 tokens start together at 5 s: 22 ms for both prompts, and 239 iterations of 10.2 ms, until 7.4598 s. The small one: 16 + 19 x 10.1.
echo '{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 1, "kv_bytes_per_token": 1000, "closed": {"constant_ms": 10, "token_ms": 0.1, "context_ms": 0, "pair_ms": 0}}' >m.json
printf 'arrival_s,prompt_tokens,output_tokens\n0.5,60,240\n2,60,240\n2,60,20\n' >large.csv
printf 'time_s,node,event\n1,1,fail\n5,1,repair\n' >down.csv
head -2 down.csv >lost.csv
echo '{"world": "serve", "trace": "large.csv", "models": ["m.json"], "cluster": "2x1", "policies": ["vllm", "sarathi", "distserve", "splitwise"], "failures": {"trace": "down.csv"},
 "deployments": [{"model": "m", "replicas": 1, "kv_blocks": 10}, {"model": "m", "replicas": 1, "kv_blocks": 40}]}' >sizes.json
"$orrery" run sizes.json --check --no-figures -q --record explain --out held
for p in vllm sarathi distserve; do
  is "$(tail -n +2 held/$p.requests.csv | cut -d, -f 1,3,4 | sort | tr ',\n' '  ')" "0 5.022000000 7.459800000 1 5.022000000 7.459800000 2 2.016000000 2.207900000 " "$p: requests wait for the replica that can hold them"
done
# splitwise starts the first prompt alone: 16 ms, then the second one with the first one's decode, 16.1 ms, and iterations of 10.2 ms.
is "$(tail -n +2 held/splitwise.requests.csv | cut -d, -f 1,3,4 | sort | tr ',\n' '  ')" "0 5.016000000 7.459700000 1 5.032100000 7.469800000 2 2.016000000 2.207900000 " "splitwise: they wait too"
# It does not come back: they are refused when nothing else can happen.
for p in vllm distserve splitwise; do
  said=$("$orrery" run sizes.json --policy $p --check --no-figures --set failures.trace=lost.csv 2>&1)
  like "$? $said" '^2 of 3 requests were refused: 2 larger than the KV cache of a replica \(640 tokens\)' "$p: the large replica never comes back"
done

# ---- the number of residents, by default vLLM's max_num_seqs ----
# 300 requests of 1 + 100 tokens at once: 256 of them take 100 iterations of 10 + 25.6 ms, so the others start at 3.56 s.
{ echo arrival_s,prompt_tokens,output_tokens && yes 0,1,100 | head -300; } >burst.csv
"$orrery" serve burst.csv --model m.json --cluster 1x1 --kv-blocks 100000 --policy vllm,sarathi,orca --check --no-figures -q --out burst
for p in vllm sarathi orca; do
  is "$(tail -n +2 burst/$p.requests.csv | cut -d, -f 5 | sort | uniq -c | tr -s ' \n' ' ')" " 256 0.000000000 44 3.560000000 " "$p: at most 256 residents"
done

# ---- cold starts ----
# 20 requests at once need 20 / 8 replicas, so the first check starts two.
{ echo arrival_s,prompt_tokens,output_tokens && yes 0,10,3000 | head -20; } >burst.csv
echo '{"world": "serve", "trace": "burst.csv", "models": ["m.json"], "cluster": "4x1", "policies": ["vllm"], "serve": {"autoscale": "outstanding"},
 "deployments": [{"replicas": 1, "most": 4, "kv_blocks": 100000}]}' >cold.json
like "$("$orrery" run cold.json --no-figures 2>&1)" '^replicas added after the start: 2, which served at once \(serve.start_up=0\): no time to get GPUs and to load weights is counted' "replicas that start in no time"
is "$("$orrery" run cold.json --no-figures --set serve.start_up=1s 2>&1 | grep -c 'served at once')" 0 "not with a time to start"
tap_done
