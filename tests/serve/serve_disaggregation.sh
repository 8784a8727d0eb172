#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Prefill and decode on separate replicas, at the command line: links of KV caches, parallelism by role, messages.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
n=400
[ "${ORR_SANITIZED:-}" = 1 ] && n=60
pools() { # NAME DEPLOYMENTS
  echo '{"world": "serve", "models": ["llama2-70b"], "cluster": "5x8:h100", "policies": ["distserve"], "deployments": ['"$2"']}' >"$1.json"
}
pools split '{"role": "prefill", "replicas": 2, "tp": 4, "pp": 2}, {"role": "decode", "replicas": 3, "tp": 8}'
pools mixed '{"role": "prefill", "replicas": 2, "tp": 8}, {"role": "both", "replicas": 3, "tp": 8}'
serve() { # NAME ARGS..
  local name=$1
  shift
  rm -rf o
  timeout 100 "$orrery" serve "poisson:rate=8,n=$n,prompt=1000,output=100" --scenario "$name.json" --check --out o --no-figures "$@" >said 2>&1
}
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }

serve split -q
is "$? $(metric requests_completed) $(metric kv_transfers)" "0 $n $n" "every request is sent once and completes, conservation holds"
is "$(grep -c 'no deployment has the role' o/notes.csv)" 0 "replicas have roles"
free=$(metric ttft_mean)
# 1,000 tokens of 327,680 bytes take 26.2144 ms at 12.5 GB/s. Prompts of one replica end further apart.
serve split --set serve.kv_link=fifo --set serve.kv_Bps=12.5e9 -q
is "$? $(metric ttft_mean)" "0 $free" "the link leaves the first tokens unchanged"
ok "$(awk -v x="$(metric kv_transfer_mean)" 'BEGIN { print !((x - 0.0262144) ^ 2 < 1e-24) }')" "a transfer takes 26.2144 ms ($(metric kv_transfer_mean) s)"
serve split --set serve.kv_link=fifo --set serve.kv_Bps=0.5e9 -q
ok "$(awk -v x="$(metric kv_transfer_mean)" 'BEGIN { print !(x > 1) }')" "over a link that is too slow they queue ($(metric kv_transfer_mean) s)"
serve split --network star:bw=100Gbps -q
is "$? $(metric requests_completed)" "0 $n" "caches cross a network as flows"
serve mixed -q
is "$? $(metric requests_completed)" "0 $n" "replicas of both roles take decodes too"
serve split --set serve.kv_link=fifo --network star
is "$?" 2 "a FIFO link and a network exclude one another"
# Other policies of language models: the world sends their requests on.
serve split --policy vllm,sarathi,orca,fastertransformer --set serve.pipeline=micro-batches -q
is "$?" 2 "orca forms no micro-batches on the prefill pipeline"
serve split --policy vllm,sarathi,orca,fastertransformer -q
is "$? $(metric requests_completed | tr '\n' ' ')$(metric kv_transfers | tr '\n' ' ')" "0 $n $n $n $n $n $n $n $n " "four other policies: every request is sent once and completes"
serve split --policy vllm,sarathi --set serve.pipeline=micro-batches --set serve.decode_router=fewest-waiting --set serve.kv_link=fifo -q
is "$? $(metric requests_completed | tr '\n' ' ')" "0 $n $n " "with micro-batches in flight, over FIFO links"
for rule in fewest-requests round-robin; do
  serve split --policy vllm --set serve.decode_router=$rule -q
  tail -n +2 o/vllm.requests.csv | cut -d, -f11 | sort | uniq -c >replicas.$rule
done
is "$(awk '$2 >= 2 { print $1 }' replicas.round-robin | sort -n | tr '\n' ' ')" "$((n / 3)) $((n / 3)) $((n - n / 3 * 2)) " "round robin over the decode replicas"
serve split --set serve.decode_router=round-robin
like "$(cat said)" 'serve.decode_router has no effect: the policy chooses decode replicas itself' "distserve has a rule of its own, and a remark says so"
serve split --policy mlfq --set serve.decode_admission=reserve -q
is "$? $(metric requests_completed | tr '\n' ' ')$(metric kv_transfers | tr '\n' ' ')" "0 $n $n " "mlfq too, with caches that wait for room"
# Replicas for one model each: requests go to the replicas of their model.
echo '{"world": "serve", "models": ["llama3-8b", "llama2-7b"], "cluster": "1x2:h100", "policies": ["splitwise"],
 "deployments": [{"model": "llama3-8b"}, {"model": "llama2-7b"}]}' >two.json
for router in token-jsq jsq round-robin; do
  "$orrery" serve 'poisson:rate=1,n=20,prompt=100,output=20,model=llama3-8b|llama2-7b' --scenario two.json --set policy.splitwise.router=$router \
    --check --out o --no-figures -q
  is "$? $(metric requests_completed)" "0 20" "splitwise, $router: each model has its own replica"
done
# Prompts and decodes share an iteration of a prefill replica while the other replicas are down or too small.
echo '{"world": "serve", "models": ["llama3-8b"], "cluster": "4x2:h100", "policies": ["splitwise"], "failures": {"mtbf": "20s", "mttr": "5s"},
 "deployments": [{"role": "prefill", "replicas": 2, "kv_blocks": 400}, {"role": "both", "replicas": 2, "kv_blocks": 200}]}' >few.json
"$orrery" serve gamma:rate=5,cv=4,n=150,prompt=exp:500,output=exp:60 --scenario few.json --seed 20 --check --no-figures -q
is "$?" 0 "splitwise: decodes on prefill replicas that also run prompts"
"$orrery" policy show distserve >said
like "$(cat said)" 'by stage: starts the work of each pipeline stage itself' "policy show states the ability"
said=$("$orrery" serve "poisson:rate=8,n=20,prompt=1000,output=100" --model llama2-7b --cluster 2x1:h100 --policy distserve,splitwise,vllm --no-figures 2>&1)
is "$(grep -c 'no deployment has the role prefill or decode ("role" of "deployments" in a scenario): every replica does both' <<<"$said")" 1 \
  "policies for roles without roles: said once"
is "$("$orrery" serve "poisson:rate=8,n=20,prompt=1000,output=100" --model llama2-7b --cluster 2x1:h100 --policy vllm --no-figures 2>&1 | grep -c 'has the role')" 0 \
  "policies without their own roles: not said"
said=$("$orrery" serve "poisson:rate=8,n=20,prompt=1000,output=100" --model llama2-70b --cluster 1x8:h100 --policy vllm --no-figures 2>&1)
like "$? $said" '^[12] orrery: .*the weights leave no memory for a KV cache \(serve.kv_part=0.9 of 1 GPUs\): expected more GPUs per replica \(--tp, --pp\)' "too little memory: what to change"
tap_done
