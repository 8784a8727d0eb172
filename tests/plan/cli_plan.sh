# The plan verb: plan files that the step world runs, profiles, errors, plugins, Ctrl-C.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
cd "$work" || exit 1
source=$(cd "$OLDPWD/$srcdir" 2>/dev/null || cd "$srcdir" && pwd)
profile() { # FILE ROWS..: a profile of these rows
  { echo 'idx,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes'; printf '%s\n' "${@:2}"; } >"$1"
}
profile chain.csv 0,a,2,4,4000000,4000000 1,b,2,4,400000,4000000 2,c,2,4,4000000,4000000 3,d,2,4,4000,40000000
plan() { "$ORRERY" plan "$@" --no-figures; }

# ---- orrery step runs the plan file without changes ----
plan chain.csv:batch=4 --cluster 2x2:v100 --global-batch 64 --policy data-parallel,dapple,pipedream,straight -o p.json --json -q >runs.json
ok $? "four policies on a profile"
best=$(grep -A2 '"iteration_s"' runs.json | sed -n 's/.*"value":[^0-9]*\([0-9.e-]*\).*/\1/p' | sort -g | head -n 1)
found=$("$ORRERY" step --plan p.json --json -q | grep -A2 '"iteration_s"' | sed -n 's/.*"value":[^0-9]*\([0-9.e-]*\).*/\1/p' | head -n 1)
is "$found" "$best" "orrery step --plan takes the time that the search reported, the best of all policies"
like "$("$ORRERY" step --plan p.json)" '^policy .* predicted$' "the table of orrery step --plan has the predicted time"
like "$("$ORRERY" run p.json -q --json)" '"predicted_iteration_s"' "orrery run executes a plan file"
like "$("$ORRERY" step --plan p.json --network star:bw=1Gbps)" '^(dapple|megatron) ' "flags override the plan file"
like "$(plan chain.csv:batch=4 --cluster 2x2:v100 --global-batch 64 --policy data-parallel)" 'layers measured on v100 at batch 4, times in proportion for batches of 16$' "64 samples on 4 GPUs: measured times of 4 are multiplied"
like "$(plan chain.csv:batch=4 --cluster 1x1:v100 --global-batch 4 --policy data-parallel)" 'layers measured on v100 at batch 4(;|$)' "a batch as measured"
# By hand, M = 1, 2, 4 micro-batches on 1 + 2 GPUs cost 2.4 (1 - 1/M) + 2.448/M, and no all-reduce outlasts a block; M = 4 is the cheapest, but
# a GPU of stage 1 would hold 2 samples, 20 GB. With M = 8 it holds 1: 0.3 x 7 + 2.448/8 + 1/3 - 0.3 = 2.43933; M = 16 costs 2.586.
profile large.csv 0,a,1,2,4000,4000 1,b,100,200,10000000000,1000000000
own=$(plan large.csv:batch=1 --cluster 3x1:v100 --global-batch 16 --policy dapple --json -q | grep -A1 '"own_s"' | sed -n 's/.*"value":[^0-9]*//p')
like "$own" '^2\.43933' "dapple: the cheapest micro-batch that fits in memory"
like "$(plan large.csv:batch=1 --cluster 3x1:v100 --global-batch 16 --micro-batch 4 --policy dapple 2>&1)" \
  'GPU 1 would hold 22 GB: expected .*; a smaller --micro-batch needs less$' "dapple: a given micro-batch that does not fit"
plan chain.csv:batch=4 --cluster 2x2:v100 --policy dapple,dapple@general --set policy.general.search=general --out o -q
is "$(cd o && echo *.plan.json)" "dapple.plan.json general.plan.json" "--out writes the plan of each policy"
plan chain.csv:batch=4 --cluster 2x2:v100 --policy dapple --db x.db -q
like "$(plan chain.csv:batch=4 --cluster 2x2:v100 --policy dapple --db x.db --out again 2>&1)" 'taken from x.db' "a stored plan is reused"
"$ORRERY" step --plan again/dapple.plan.json -q
ok $? "-o writes the plan of a stored run"
a=$(plan chain.csv:batch=4 --cluster 2x2:v100 --policy dapple,pipedream --json -q -j 1) b=$(plan chain.csv:batch=4 --cluster 2x2:v100 --policy dapple,pipedream --json -q -j 2)
is "$a" "$b" "the same bytes for one and two threads"
# step.nic_efficiency is at its default of 0.96 in another spelling; the plan file has only options with other values.
problem=(chain.csv:batch=4 --cluster 2x2:v100 --policy dapple --set step.nic_efficiency=0.960 --set step.optimizer=adam)
plan "${problem[@]}" --db given.db -o p.json -q
"$ORRERY" scenario show "${problem[@]}" --world plan >shown.json && "$ORRERY" run shown.json --db shown.db -q --no-figures
is "$? $("$ORRERY" db digest given.db)" "0 $("$ORRERY" db digest shown.db)" "the scenario that is shown gives the same digest"
is "$(tr -d ' \t\n' <p.json | grep -o '"batch":.*"policies"')" '"batch":"32","step":{"optimizer":"adam"},"policies"' "a plan file has the options that differ from defaults"
plan lenet5 --cluster 1x4:v100 --policy data-parallel,straight,dapple -q --check
ok $? "a model of the catalogue"
plan gpt:hidden=256,layers=4,heads=4,seq=64,vocab=1000 --cluster 1x2:v100,1x2:p100 --policy data-parallel,straight,pipedream -q --check
ok $? "a transformer on GPUs of two types"

# ---- submeshes of alpa, and metrics of the best plan ----
# Three equal layers on nodes of three GPUs: stages of two GPUs have the smallest T, but the second one would be on two nodes.
profile three.csv 0,a,2,4,4000,40000000 1,b,2,4,4000,40000000 2,c,2,4,4000,40000000
gpus_of() { tr -d ' \t\n' <"$1" | grep -o '"gpus":"[^"]*"' | cut -d'"' -f4 | xargs; }
for cluster in 2x3:v100 1x3:v100,1x6:v100; do
  plan three.csv:batch=4 --cluster "$cluster" --global-batch 64 --micro-batch 4 --policy alpa -o "${cluster%%:*}.json" -q
done
is "$(gpus_of 2x3.json), $(gpus_of 1x3.json)" "0-2 3-5, 0-8" "no submesh of alpa crosses nodes of three GPUs, or of three and six"
"$ORRERY" plan lenet5 --cluster 100x1:v100 --network star:bw=100Gbps,lat=0s --global-batch 26000 --micro-batch 26000 --policy alpa -o far.json -q \
  --no-figures
is "$(gpus_of far.json)" "0-99" "of more than 64 numbers of nodes, all nodes are one"
metric() { sed -n "s/^$1,$2,\([^,]*\),.*/\1/p" "$3/summary.csv"; }
profile few.csv 0,a,4,8,4000000,400000 1,b,1,2,400000,0 2,c,2,4,4000,40000000
plan few.csv:batch=4 --cluster 2x2:v100 --global-batch 64 --policy alpa,pipedream --out every -q
for each in alpa=stage_sum_s pipedream=slowest_stage_s; do
  micro=$(tr -d ' \t\n' <"every/${each%=*}.plan.json" | sed -n 's/.*"micro_batch":\([0-9]*\).*/\1/p')
  plan few.csv:batch=4 --cluster 2x2:v100 --global-batch 64 --micro-batch "$micro" --policy "${each%=*}" --out one -q
  is "$(metric "${each%=*}" "${each#*=}" every)" "$(metric "${each%=*}" "${each#*=}" one)" "${each#*=} is of the plan with micro-batches of $micro"
  rm -r one
done

# A search that reports its progress may take longer than --policy-timeout.
plan resnet50 --cluster 2x6:v100 --global-batch 256 --micro-batch 256 --policy dapple --set policy.dapple.search=general --policy-timeout 1 -q 2>said
is "$? $(cat said)" "0 " "a search of some seconds, with a limit of one second between reports of progress"

# ---- the profile ----
bad() { "$ORRERY" plan "$1" --cluster 1x2:v100 --policy straight --db x.db --fresh 2>&1; echo "exit $?"; }
before=$("$ORRERY" db digest x.db)
like "$(bad chain.csv)" 'chain.csv: unknown batch size: expected it after the name, as in chain.csv:batch=32' "the batch size of the measured layers is required"
profile n.csv 0,a,2,-4,1,1
like "$(bad n.csv:batch=4)" '^orrery: n.csv:2: bwd_ms: expected a number of at least 0, found "-4"$' "a negative time: file and line"
profile g.csv 0,a,2,4,1,1 2,c,2,4,1,1
like "$(bad g.csv:batch=4)" '^orrery: g.csv:3: idx: expected 1, because layers are numbered from 0 without gaps, found 2$' "a missing layer: file and line"
echo idx,layer,fwd_ms >h.csv
like "$(bad h.csv:batch=4)" '^orrery: h.csv:1: no column "bwd_ms": expected the columns' "a missing column"
profile e.csv
like "$(bad e.csv:batch=4)" 'e.csv:2?.*expected a line for each layer|expected a column' "no layers"
like "$(bad chain.csv:batch=4,devise=v100)" 'did you mean "device"?' "an unknown option of a profile"
is "$(bad n.csv:batch=4 | tail -n 1) $("$ORRERY" db digest x.db)" "exit 2 $before" "exit 2, and the database is unchanged"
# Stages with experts have one shard: the closed form and the executor agree.
"$ORRERY" plan moe:hidden=1024,layers=4,heads=16,seq=512,vocab=50257,experts=8,top_k=2,width=512 --cluster 2x4:h100 --policy grid --no-figures --out moe >table 2>said
is $? 0 "grid plans a model with experts ($(head -n 1 said))"
like "$(cat table)" "stages with experts have one shard" "and says that it has no shards of experts"
ok "$(awk -F, '$2 == "closed_form_worst_error" { print !($3 <= 0.1) }' moe/summary.csv)" "the executor is within 10 % of the closed form"
# Two parts per set send over one NIC in turn, as the executor's streams do; each was given a share of it, so the plan was predicted 12 % too fast.
"$ORRERY" plan bert-large --cluster 3x4:a100 --network star:bw=10Gbps --global-batch 384 --policy grid --set policy.grid.recompute=selective \
  --set step.iterations=1 --no-figures --out slow -q
ok "$(awk -F, '$2 == "closed_form_worst_error" { print !($3 <= 0.03) }' slow/summary.csv)" "interleaved stages on slow links: within 3 % of the closed form"
# The all-reduce of the last stage shares NICs with its last gradients: without this the plan was predicted 14 % too fast, and others are faster.
"$ORRERY" plan vgg16 --cluster 4x8:h100 --network star:bw=100Gbps --global-batch 384 --policy grid --set step.iterations=1 --no-figures --out last -q
ok "$(awk -F, '$2 == "closed_form_worst_error" { print !($3 <= 0.03) }' last/summary.csv)" "all-reduces beside gradients: within 3 % of the closed form"
# 175 layers and six submeshes: 92,000 candidates for the longest stage.
"$ORRERY" plan resnet-50 --cluster 2x4:v100,2x4:p100 --policy alpa --no-figures -q 2>said
is "$? $(cat said)" "0 " "alpa cuts a chain of 175 layers"
like "$("$ORRERY" plan chain.csv:batch=4 --cluster 1x2:v100 --precision fp16 --policy straight 2>&1)" 'measured in fp32' "measured layers are in fp32: another precision is refused"
like "$("$ORRERY" plan --cluster 1x2:v100 --policy straight 2>&1)" 'expected PROBLEM \(a model such as bert-large, or a file\)' "no problem"
like "$("$ORRERY" plan lenet5 --cluster 1x1:v100 --policy dapple 2>&1)" 'search=bipartition: expected at least 2 GPUs' "a policy that needs more GPUs"
like "$("$ORRERY" plan gpt:hidden=8192,layers=48,heads=64,seq=1024,vocab=51200 --cluster 1x2:v100 --policy data-parallel,straight 2>&1)" \
  'policy data-parallel: no plan fits in memory \(7 of 7 evaluated plans exceed a GPU.s memory\): expected more GPUs, or GPUs with more memory' "nothing fits"
# 16 bytes per parameter of 39 billion parameters on two GPUs of 16 GB: no stage fits, whatever the batch.
said=$("$ORRERY" plan gpt:hidden=8192,layers=48,heads=64,seq=1024,vocab=51200 --cluster 1x2:v100 --micro-batch 4 --policy alpa,straight 2>&1)
like "$said" 'policy alpa: no division into stages fits in memory: expected a smaller micro-batch, recompute=full, more GPUs' "alpa says why it has no plan"
like "$("$ORRERY" plan gpt:hidden=8192,layers=48,heads=64,seq=1024,vocab=51200 --cluster 1x2:v100 --micro-batch 4 --policy alpa \
  --set step.ignore_memory=true 2>/dev/null)" 'alpa: [12] stages?: ' "without limits of memory alpa has a plan"
like "$said" 'policy straight: no plan fits in memory .* or a smaller micro-batch$' "a given micro-batch may be the reason"
like "$(plan chain.csv:batch=4 --cluster 1x7:v100 --global-batch 64 --policy grid -q 2>&1)" \
  'policy grid: no grid for 7 GPUs, [0-9]+ pieces and a global batch of 64: expected shards x stages x replicas = GPUs' "no grid has seven GPUs"

# Plans of GPT 1.3B on 4 GPUs and 6.7B on 16 that Alpa's authors publish (github alpa-projects/alpa, benchmark suites; p3.16xlarge): two stages
# of two GPUs without shards (128 samples in 6 micro-batches; here 126); two stages of eight GPUs with four shards.
gpt() { "$ORRERY" plan "gpt:seq=1024,vocab=51200,$1" --cluster "$2" --global-batch "$3" --micro-batch "$4" --precision fp16 \
  --network star:bw=25Gbps --policy alpa --set policy.alpa.recompute=full --set step.optimizer=adam --no-figures 2>/dev/null; }
like "$(gpt hidden=2048,layers=24,heads=32 1x4:v100 126 21)" 'alpa: 2 stages: layers x GPUs in model order [0-9]+x2 [0-9]+x2; micro-batches of 21; ' "Alpa's published plan of GPT 1.3B"
like "$(gpt hidden=4096,layers=32,heads=32 2x8:v100 64 8)" 'alpa: 2 stages: layers x GPUs in model order [0-9]+x8/4 [0-9]+x8/4; micro-batches of 8; ' "Alpa's published plan of GPT 6.7B"
# 15B with Adam on 32 GPUs of 16 GB: stages of eight GPUs with four shards, too. The first one keeps as many micro-batches as there are stages,
# for which it has no memory with a fourth of the blocks.
like "$(gpt hidden=5120,layers=48,heads=40 4x8:v100 128 8)" 'alpa: 5 stages: layers x GPUs in model order 74x4/4 72x4/4 144x8/4 144x8/4 147x8/4; ' \
  "micro-batches in flight decide the cuts of GPT 15B"

# The memory of a plan is the executor's peak, with unequal interleaved parts and with shards: GPUs of 16 GiB (2^34 bytes).
peak() { # of plan.json
  "$ORRERY" step --plan plan.json --json -q | grep -A1 '"peak_memory_bytes"' | sed -n 's/.*"value":[^0-9]*\([0-9.e+-]*\).*/\1/p'
}
held() {
  sed -n 's/.*"predicted_memory_share":[^0-9]*\([0-9.e+-]*\).*/\1/p' plan.json | awk '{ printf "%.0f", $1 * 2 ^ 34 }'
}
"$ORRERY" plan gpt:hidden=2048,layers=24,heads=16,seq=1024,vocab=51200 --cluster 2x2:p100,2x2:v100 --network star:bw=100Gbps --policy grid \
  --set policy.grid.recompute=none -o plan.json -q
is "$(awk -v a="$(held)" -v b="$(peak)" 'BEGIN { print (a > 1e9 && a - b < 2 && b - a < 2) }')" 1 "memory of unequal interleaved parts"
"$ORRERY" plan gpt:hidden=1024,layers=26,heads=16,seq=512,vocab=51200 --cluster 2x4:v100 --network star:bw=100Gbps --global-batch 16 \
  --micro-batch 8 --policy grid --set policy.grid.pp=2 --set policy.grid.tp=4 --set policy.grid.recompute=none -o plan.json -q
is "$(awk -v a="$(held)" -v b="$(peak)" 'BEGIN { print (a > 1e9 && a - b < 2 && b - a < 2) }')" 1 "shards divide the scores of the vocabulary"

# The next time step of an LSTM needs the output of its gates, so no stage begins between its products and its gates.
"$ORRERY" plan gnmt --cluster 8x1:v100 --network star:bw=10Gbps --policy alpa -o plan.json -q
is "$(grep -c first_layer plan.json), $(grep -c 'first_layer.*gates' plan.json)" "8, 0" "no stage begins with the gates of an LSTM"

# ---- plugins ----
: "${CC:=cc}"
if command -v "${CC%% *}" >/dev/null; then
  $CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$source/include" -o hostile.so "$source/tests/plugins/plan_hostile.c"
  ok $? "a plugin compiles with the public headers only"
  hostile() { "$ORRERY" plan "${2:-lenet5}" --cluster 1x2:v100 --global-batch 16 --policy ./hostile.so --set "policy.plan-hostile.fault=$1" \
    --no-figures -q "${@:3}" 2>&1; echo "exit $?"; }
  is "$(hostile none)" "exit 0" "a plugin without faults runs"
  while IFS='|' read -r fault expected; do
    like "$(hostile "$fault")" "^orrery: policy plan-hostile: $expected" "$fault"
  done <<'EOT'
twice|stage 1: GPU 0 is already in stage 0: expected each GPU once$
left-out|stage 1: piece [0-9]+ of the model is missing: expected it as the first piece, found [0-9]+$
share|stage 0: shares: expected the sum 1, found 1.1$
micro|micro-batch: expected a divisor of the 16 samples of an iteration, found 4.57143$
nothing|the search evaluated no plan
error|no search on Sundays
silent|search\(\) failed without a message: expected a message in \*err
name|orr_plan_put: expected a name
EOT
  like "$(hostile memory gpt:hidden=8192,layers=48,heads=64,seq=1024,vocab=51200)" \
    'policy plan-hostile: the plan does not fit into memory: stage 1: GPU 1 would hold [0-9.]+ GB: expected at most [0-9.]+ GB, the memory of the GPU' "too little memory"

  # After Ctrl-C the best plan so far is printed, and nothing is stored.
  cp x.db y.db
  slow=(plan lenet5 --cluster 1x2:v100 --global-batch 16 --policy ./hostile.so --set policy.plan-hostile.fault=slow
    --set plan.budget=1000000000000 --db y.db -o kept.json -q)
  env --default-signal=INT "$ORRERY" "${slow[@]}" 2>said &
  pid=$!
  sleep 1
  kill -INT $pid
  wait $pid
  like "$? $(cat said)" '^130 orrery: .*plan-hostile: interrupted after [0-9]+ evaluations: the best plan so far takes [0-9.e-]+ s and is in kept.json$' "Ctrl-C"
  "$ORRERY" step --plan kept.json -q
  ok $? "after Ctrl-C the file has the best plan so far"
  is "$("$ORRERY" db digest y.db)" "$before" "the database is unchanged"
  # A script ignores SIGINT for its background processes.
  "$ORRERY" "${slow[@]}" 2>said &
  pid=$!
  sleep 0.5
  kill -INT $pid
  sleep 0.3
  ok "$(kill -0 $pid; echo $?)" "an ignored SIGINT stays ignored"
  kill -TERM $pid
  wait $pid 2>/dev/null
  "$ORRERY" policy new mine --kind plan >said
  like "$(ORRERY=$ORRERY ORRERY_CFLAGS=-I$source/include sh ./mine_test.sh 2>&1)" '^ok: as fast as data-parallel$' "policy new writes a policy that passes its own test"
else
  skip "no C compiler ($CC)" 15
fi
tap_done
