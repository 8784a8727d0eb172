#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Misleading inputs are rejected or reported: requests without tokens, roles that are unknown to a policy, rejected requests,
# a rate that is limited by a cause other than load, nodes that fail faster than requests are served.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
llm=(--model llama2-7b --cluster 1x1:a100 --no-figures)
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' o/summary.csv; }

# ---- requests without tokens ----
without() { # WHAT TRACE ARGS..: exit code and message
  local said
  said=$("$orrery" serve "$2" "${llm[@]}" --policy vllm -q "${@:3}" 2>&1)
  is "$? $said" "2 orrery: $1" "$2 for a language model"
}
generator="llama2-7b is a language model: expected both options of the generator, as in prompt=500,output=100 or prompt=azure-conv,output=azure-conv"
columns="llama2-7b is a language model: expected the columns prompt_tokens and output_tokens, or another trace (orrery trace list)"
without "poisson:rate=2,n=50: the requests of this trace have neither prompt nor output tokens, but $generator" poisson:rate=2,n=50
without "poisson:rate=2,n=50,prompt=500: the requests of this trace have no output tokens, but $generator" poisson:rate=2,n=50,prompt=500
without "poisson:rate=2,n=50,output=9: the requests of this trace have no prompt tokens, but $generator" poisson:rate=2,n=50,output=9
without "poisson:rate=2,n=50: the requests of this trace have neither prompt nor output tokens, but $generator" poisson:rate=2,n=50 --find-rate ttft=1s
printf 'arrival_s,request_id\n0,a\n1,b\n' >bare.csv
printf 'arrival_s,prompt_tokens\n0,10\n1,20\n' >prompts.csv
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,20,0\n2,0,0\n' >some.csv
without "bare.csv: the requests of this trace have neither prompt nor output tokens, but $columns" bare.csv
without "prompts.csv: the requests of this trace have no output tokens, but $columns" prompts.csv
said=$("$orrery" serve some.csv "${llm[@]}" --policy vllm --json 2>&1)
is "$?" 0 "rows without tokens among others are served"
like "$said" '2 of 3 requests have no prompt or no output tokens in the trace and count as one token of each' "with a remark"
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >slow.json
"$orrery" serve poisson:rate=2,n=50 --model slow.json --cluster 1x1 --policy fifo -q
is "$?" 0 "a table model needs no tokens"
printf 'arrival_s,model,prompt_tokens,output_tokens\n0,slow,0,0\n1,llama2-7b,0,0\n' >both.csv
said=$("$orrery" serve both.csv --model slow.json,llama2-7b --cluster 1x2:a100 --policy fifo -q 2>&1)
like "$? $said" '^2 .*both.csv: the requests of this trace have neither prompt nor output tokens, but llama2-7b is a language model' "requests without tokens are refused if one of the models is a language model"
echo '{"name": "text", "source": "made up", "kind": "table", "batch": [1], "length": [10, 20], "between": "up", "latency_ms": [[5], [8]]}' >text.json
like "$("$orrery" serve poisson:rate=2,n=50 --model text.json --cluster 1x1 --policy fifo -q 2>&1; echo $?)" \
  '^orrery: poisson:rate=2,n=50: the requests of this trace have no prompt tokens, but the latency of text depends on them: expected an option of the generator, as in prompt=100$' \
  "a table with lengths needs prompt tokens"
is "$("$orrery" serve poisson:rate=2,n=50,prompt=15 --model text.json --cluster 1x1 --policy fifo -q 2>&1; echo $?)" 0 "with them it serves"

# ---- the time before the first request: 100 s of 110.02 s ----
printf 'arrival_s\n100\n110\n' >late.csv
like "$("$orrery" serve late.csv --model slow.json --cluster 1x1 --policy fifo --no-figures 2>&1)" \
  '^GPU hours, cost, utilisation and mean use of memory include the 100 s before the first request, 90\.9 % of the run \(orrery trace slice --rebase' "a late start is reported"
printf 'arrival_s\n20\n110\n' >later.csv
is "$("$orrery" serve later.csv --model slow.json --cluster 1x1 --policy fifo --no-figures 2>&1 | grep -c 'before the first request')" 0 "a short wait is not"

# ---- the time after the last arrival: 60 requests of 20 ms, one each 16 ms, end at 1.2 s, 256 ms after the last one ----
awk 'BEGIN { print "arrival_s"; for (i = 0; i < 60; i++) print 0.016 * i }' >ends.csv
ends() { "$orrery" serve "$1" --model slow.json --cluster 1x1 --policy fifo --no-figures 2>&1 | grep 'after the last arrival'; }
is "$(ends ends.csv)" "requests/s, other rates and cost per token include the 0.256 s after the last arrival, 21.3 % of the run: more requests bring them closer to \
those of a steady load" "a long end is reported"
awk 'BEGIN { print "arrival_s"; for (i = 0; i < 60; i++) print 0.001 * i }' >burst.csv
is "$(ends burst.csv)" "" "the end of a burst is not"

# ---- several models ----
is "$("$orrery" serve poisson:rate=1,n=5,prompt=10,output=5 --model llama2-7b,llama3.2-1b --cluster 1x2:a100 --policy vllm,sarathi 2>&1)" \
  'orrery: scenario: $.deployments[0] serves any model, but replicas of the language model llama2-7b serve no other: expected a scenario with replicas for each model, "deployments": [{"model": "llama2-7b", "replicas": 1}, ..]' \
  "language models have replicas of their own"

# ---- roles ----
roles() { # FIRST SECOND POLICY: the roles of two deployments
  echo '{"world": "serve", "trace": "poisson:rate=4,n=60,prompt=300,output=20", "models": ["llama2-7b"], "cluster": "2x1:a100",
 "deployments": [{"role": "'"$1"'"}, {"role": "'"$2"'"}], "policies": ["'"$3"'"]}' >roles.json
  "$orrery" run roles.json --no-figures -q --check 2>&1
}
for policy in $("$orrery" policy list --kind serve | awk '/^  / { print $1 }'); do
  [[ "$policy" =~ ^(splitwise|distserve)$ ]] && continue
  said=$(roles both decode "$policy")
  why="the policy treats all replicas alike, but \$.deployments[1] has a role: expected a policy with roles (distserve, splitwise), a plugin with the flag ORR_SERVE_ROLES or ORR_SERVE_HANDS_OFF"
  [[ "$policy" =~ ^(vllm|sarathi|orca|fastertransformer|mlfq)$ ]] &&
    why="\$.deployments[1] has a role, but no deployment has the role prefill, from whose replicas requests are sent on: expected a deployment with this role, a policy that sends requests on itself (distserve, splitwise)"
  is "$said" "orrery: policy $policy: $why, or \"role\": \"both\"" "$policy refuses roles"
done
for policy in splitwise distserve vllm sarathi orca fastertransformer mlfq; do
  is "$(roles prefill decode "$policy"; echo $?)" 0 "$policy takes them"
done
is "$(roles both both vllm; echo $?)" 0 "the role both is no role"
said=$(roles prefill prefill splitwise)
is "$? $said" '2 orrery: roles.json: $.deployments: model llama2-7b has replicas for prefill only: expected also replicas with the role decode or both' "replicas that run decodes are required"
said=$(roles decode decode splitwise)
is "$? $said" '2 orrery: roles.json: $.deployments: model llama2-7b has replicas for decode only: expected also replicas with the role prefill or both' "replicas that run prompts are required"
like "$("$orrery" policy show splitwise)" '^roles: runs prompts on prefill replicas' "policy show describes the roles of splitwise"
: "${CC:=cc}"
if command -v "${CC%% *}" >/dev/null; then
  "$orrery" policy new mine --kind serve >/dev/null
  $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o mine.so mine.c
  like "$(roles prefill decode ./mine.so)" 'policy mine: the policy treats all replicas alike' "a plugin that does not distinguish roles is refused"
  sed 's/^ORR_POLICY_SERVE(\(.*\), params, ops);/ORR_POLICY_SERVE_FLAGS(\1, ORR_SERVE_ROLES, params, ops);/' mine.c >aware.c
  $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o aware.so aware.c
  said=$(roles prefill decode ./aware.so)
  is "$(printf '%s' "$said" | grep -c 'tell prefill')" 0 "a plugin with ORR_SERVE_ROLES gets them"
else
  skip "no C compiler ($CC)" 2
fi

# ---- the reasons for refused requests ----
cat >m.json <<'EOT'
{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 0, "kv_bytes_per_token": 1000, "longest": 2000,
 "closed": {"constant_ms": 5, "token_ms": 0.05, "context_ms": 1e-4, "pair_ms": 1e-6}}
EOT
cat >sizes.csv <<'EOT'
arrival_s,request_id,prompt_tokens,output_tokens
0,fits,100,10
0,context1,1990,11
0,context2,5000,1
0,cache,900,101
0,batch,500,10
1,late1,200,10
1,late2,200,10
1,late3,200,10
EOT
"$orrery" serve sizes.csv --model m.json --cluster 1x1 --kv-blocks 60 --policy vllm --set policy.vllm.max_tokens=400 --set serve.queue_limit=2 \
  --check --json --out o --db r.db --no-figures >json 2>said
is "$? $(cat said)" "0 " "a run with refused requests"
is "$(metric vllm refused_context) $(metric vllm refused_kv_cache) $(metric vllm refused_policy) $(metric vllm shed_queue_limit)" "2 1 1 1" "metrics count them by reason"
remark='4 of 8 requests were refused: 2 longer than the context of m \(2000 tokens of prompt and output\); 1 larger than the KV cache of a replica \(960 tokens\); 1 by the policy: prompt longer than max_tokens'
like "$(cat json)" "$remark" "a remark in JSON"
like "$(cat json)" '1 of 8 requests were shed: 1 by serve.queue_limit=2' "another for those that were shed"
"$orrery" serve sizes.csv --model m.json --cluster 1x1 --kv-blocks 60 --policy vllm --set policy.vllm.max_tokens=400 --set serve.queue_limit=2 \
  --json --out again --db r.db --no-figures >json2 2>said
is "$(cmp json json2; cmp o/vllm.requests.csv again/vllm.requests.csv; echo $?)" 0 "the database has both"
printf 'arrival_s,samples\n0,1\n1,3\n' >batches.csv
like "$("$orrery" serve batches.csv --model slow.json --cluster 1x1 --policy fifo --json)" '1 of 2 requests were refused: 1 of a size or length that the model.s table lacks' "of table models"
like "$("$orrery" serve poisson:rate=100,n=200 --model slow.json --cluster 1x1 --policy fifo --slo 50ms --set serve.shed=late --json)" \
  '[0-9]+ of 200 requests were shed: [0-9]+ by serve.shed=late' "by deadline"

# ---- the limit that determines the rate found ----
small=(--model m.json --cluster 1x1 --kv-blocks 3000)
load=poisson:rate=5,n=300,prompt=100,output=20
like "$("$orrery" serve $load "${small[@]}" --policy vllm --find-rate ttft=200ms,tpot=10s)" \
  ', bound by ttft: of the completed requests [0-9.]+ % keep ttft, 100 % keep tpot(; the share crosses 90 % more than once, from [0-9.]+ requests/s on)? \([0-9]+ runs\)$' "TTFT binds"
like "$("$orrery" serve $load "${small[@]}" --policy vllm --find-rate ttft=1h,tpot=20ms)" \
  ', bound by tpot: of the completed requests 100 % keep ttft, [0-9.]+ % keep tpot(; the share crosses 90 % more than once, from [0-9.]+ requests/s on)? \([0-9]+ runs\)$' "TPOT binds"
like "$("$orrery" serve $load "${small[@]}" --policy vllm --find-rate e2e=2s --json)" '"bound": "e2e".*"above_ttft_attainment": null.*"above_e2e_attainment": 0\.[0-9]+' "E2E binds, in JSON"
like "$("$orrery" serve $load "${small[@]}" --policy vllm --find-rate e2e=1h --set serve.queue_limit=3)" \
  ', bound by refused requests: of the completed requests 100 % keep e2e; refused [0-9.]+ % \(queue-limit [0-9.]+ %\) \([0-9]+ runs\)$' "the limit of a queue binds"
long=poisson:rate=5,n=300,prompt=100-3000,output=20
like "$("$orrery" serve $long "${small[@]}" --policy vllm --find-rate e2e=1h)" \
  '^vllm: no rate was found at which 90 % of the requests meet the SLO \([0-9.]+ % at [0-9.]+ requests/s, the only rate tried, bound by refused requests: .*refused ([0-9.]+) % \(context \1 %\)\) \(1 run\)$' \
  "requests that no replica can ever serve end the search at once"
like "$("$orrery" serve $long "${small[@]}" --policy vllm --find-rate e2e=1h --json)" '"bound": "refused", .*"above_refused_by": \{"context": 0\.[0-9]+\}, "runs": 1\}' "in JSON"

# ---- precision of weights and KV cache ----
# Llama-2-7B has 6,738,415,616 parameters and 2 x 32 layers x 4096 elements of keys and values per token.
show() { "$orrery" model show llama2-7b --served --device h100 --profile none --json "$@"; }
number() { tr -d '\t' | sed -n 's/^"'"$1"'":\([0-9.e+-]*\),*$/\1/p' | head -n 1; }
is "$(for p in fp32 tf32 fp16 bf16 fp8; do show --precision $p | number weight_bytes; done | tr '\n' ' ')" "26953662464 26953662464 13476831232 13476831232 7000825856 " \
  "bytes of weights by precision"
is "$(for p in fp32 fp16 fp8; do show --precision $p | number kv_bytes_per_token; done | tr '\n' ' ')" "1048576 524288 524288 " "the KV cache has at least 2 bytes an element"
is "$(awk -v a="$(show --precision fp8 | number kv_tokens_of_90_percent)" -v b="$(show | number kv_tokens_of_90_percent)" 'BEGIN { print int(a - b + 0.5) }')" 12352 \
  "weights of one byte leave room for 6,476,005,376 / 524,288 more tokens"
is "$(awk -v a="$(show --precision fp8 | number linear)" -v b="$(show | number linear)" 'BEGIN { print (a / b > 0.45 && a / b < 0.6) }')" 1 \
  "one decode reads half the bytes of weights: about half the time"
serve_at() { "$orrery" serve poisson:rate=2,n=20,prompt=500,output=10 --model llama2-7b --cluster 1x1:h100 --policy vllm --no-figures "$@"; }
tokens() { serve_at "$@" | sed -n 's/^KV cache of a replica: .*: \([0-9]*\) tokens (serve.kv_part); 90 % of the memory is for weights and KV cache$/\1/p'; }
like "$(serve_at)" '^llama2-7b: 13\.48 GB of weights \(fp16, 2 bytes per parameter\), 524288 bytes of KV cache per token \(fp16: kv_precision=auto\); context of 4096 tokens of prompt and output$' \
  "assumptions below the table: weights, KV cache, context"
like "$(serve_at --precision fp8)" '^llama2-7b: 7\.001 GB of weights \(fp8, 1 byte per weight of the linear layers of blocks, 2 per other parameter\), 524288 bytes of KV cache per token \(fp16: kv_precision=auto\)' "fp8: weights of one byte, the cache stays"
like "$(serve_at --precision fp8 --kv-precision fp8)" ', 262144 bytes of KV cache per token \(fp8\)' "--kv-precision sets the cache"
is "$(awk -v a="$(tokens --kv-precision fp8)" -v b="$(tokens)" 'BEGIN { print (b > 1e5 && a >= 2 * b && a < 2 * b + 32) }')" 1 "a cache of one byte an element has twice the tokens"
is "$("$orrery" scenario show poisson:rate=2,n=20,prompt=5,output=5 --world serve --model llama2-7b --cluster 1x1:h100 --policy vllm | tr -d '\t' | grep -c '^"kv_precision":"auto",$')" 1 \
  "scenario show"
like "$("$orrery" serve poisson:rate=2,n=20,prompt=5,output=5 --model m.json --cluster 1x1 --kv-blocks 99 --policy vllm --precision fp8)" \
  '^precision has no effect: times and bytes of the models are given by their files$' "--precision has no effect on a model whose file gives times and bytes"
said=$(serve_at --precision fp8 --device a100 2>&1)
like "$? $said" '^2 .*device a100.* has no fp8: expected' "a device without fp8"

like "$(serve_at --weights int4 --kv-precision int8)" '^llama2-7b: 3\.889 GB of weights \(int4, 0\.519531 byte per weight of the linear layers of blocks, 2 per other parameter\), computed with in fp16, 262144 bytes of KV cache per token \(int8\)' \
  "weights of 4 bits, a cache of 8"
is "$(awk -v a="$(tokens --weights int4)" -v b="$(tokens)" 'BEGIN { print (a - b > 18250 && a - b < 18300) }')" 1 "which leave room for 9,587,523,584 / 524,288 more tokens"
is "$(awk -v a="$(show --weights int8 | number linear)" -v b="$(show | number linear)" 'BEGIN { print (a / b > 0.5 && a / b < 0.65) }')" 1 "half the bytes, and conversions"
said=$(serve_at --weights fp4 2>&1)
like "$? $said" '^2 .*\$\.weights: expected auto, fp8, int8 or int4, found .fp4' "a format that does not exist"
said=$(show --weights int3 2>&1)
like "$? $said" '^2 .*--weights: expected auto, fp8, int8 or int4, found .int3' "nor in orrery model"

# ---- options without effect ----
idle=$(serve_at --set serve.swap_Bps=1e9 --set serve.kv_Bps=1e9 --set serve.queue_limit=99 --set serve.start_up=3s --set serve.think=1s \
  --set serve.prefix_cache=true --router random --set serve.scale_target=3)
is "$(printf '%s\n' "$idle" | sed -n 's/ has no effect: .*//p' | sort | tr '\n' ' ')" \
  "serve.kv_Bps serve.prefix_cache serve.queue_limit serve.router serve.scale_target serve.start_up serve.swap_Bps serve.think " "each option without an effect is named"
is "$(serve_at | grep -c 'has no effect')" 0 "options at their defaults are not named"
like "$("$orrery" serve poisson:rate=60,n=50 --model slow.json --cluster 1x1 --policy fifo --set serve.interference=occupancy)" \
  '^serve.interference has no effect: no two runs shared a replica$' "a remark says that no two runs shared a replica"
busy=$("$orrery" serve poisson:rate=20,n=300,prompt=900,output=80 --model m.json --cluster 1x1 --kv-blocks 300 --policy vllm --set policy.vllm.preemption=swap \
  --set serve.swap_Bps=1e9 --set serve.queue_limit=40)
is "$(printf '%s\n' "$busy" | grep -c 'has no effect')" 0 "options that had an effect are not in a remark"
like "$busy" '^a KV cache that is swapped out or in makes the next iteration longer, at serve.swap_Bps=1e\+09 for all GPUs of a replica together$' "a remark states how copies of KV caches are timed if there were any"
like "$(roles prefill decode splitwise; "$orrery" run roles.json --no-figures)" \
  '^KV caches move at serve.kv_Bps=2.5e\+10 each, regardless of the number of concurrent transfers$' "a remark states how transfers of KV caches are timed"

# ---- mlfq: long waits must not make requests swap one another out ----
sed 's/"longest": 2000,//; s/1000,/131072,/' m.json >vidur.json
value() { sed -n '/"'"$1"'":/,/"value"/ s/.*"value":[^0-9]*\([0-9.e+-]*\).*/\1/p' | head -n 1; }
within() { awk -v v="${1:-x}" -v low="$2" -v high="$3" 'BEGIN { exit !(v + 0 >= low && v + 0 <= high) }'; }
mlfq=(--model vidur.json --cluster 1x1 --kv-blocks 30208 --policy mlfq --json --record summary)
burst=mmpp:rates=1\|20,durations=60\|30,n=2000,prompt=2000,output=30
mean=$("$orrery" serve "$burst" "${mlfq[@]}" | value completion_mean)
within "$mean" 1 200
ok $? "bursts: the mean completion with defaults is $mean s, at most 200 s"
worse=$("$orrery" serve "$burst" "${mlfq[@]}" --set policy.mlfq.starve=10s | value completion_mean)
within "$worse" 500 9999
ok $? "with starve=10s it is $worse s: it is off by default"
azure=$traces/azure_llm_2023/AzureLLMInferenceTrace_code.csv
if need "$azure"; then
  mean=$("$orrery" serve "$azure" "${mlfq[@]}" | value completion_mean)
  within "$mean" 1 60
  ok $? "Azure's code trace: the mean completion with defaults is $mean s, at most 60 s"
fi

# ---- nodes that fail faster than requests are served ----
said=$(timeout 300 "$orrery" serve poisson:rate=1,n=5,prompt=500,output=2000 "${llm[@]}" --policy vllm --set failures.mtbf=100ms --set failures.mttr=1ms -q 2>&1)
like "$? $said" '^1 orrery: policy vllm: at [0-9.]+ s: nodes fail faster than requests are served: [0-9]+ failures since a request last ended, and 5 requests have not ended' \
  "a run that would not end"
"$orrery" serve poisson:rate=1,n=5,prompt=500,output=2000 "${llm[@]}" --policy vllm --set failures.mtbf=100ms --set failures.mttr=1ms --until 20s -q
is "$?" 0 "--until ends it"
tap_done
