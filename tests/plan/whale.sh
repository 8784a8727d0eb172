# Whale's load balance: the speed-up by shares in proportion to speed, the order of stages by memory, and the rule that moves
# samples to
# GPUs with free memory.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
source=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' o/summary.csv; }
within() { awk -v v="$1" -v w="$2" -v e="$3" 'BEGIN { exit !(v / w > 1 - e && v / w < 1 + e) }'; }

# Compute only: 8 V100 and 8 GPUs that are r times slower. With equal shares the slow GPUs determine the time;
# balanced shares are (1 + r)/2 times as fast.
printf 'idx,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n0,a,10,20,4000,0\n1,b,10,20,4000,0\n' >compute.csv
for r in 1.4 1.6 1.8 2.0; do
  # The slower GPU has the peak of a V100 divided by r, with the efficiency of the V100.
  sed "s/\"fp32\": *15.7/\"fp32\": $(awk "BEGIN { print 15.7 / $r }")/; s/\"name\": *\"v100\"/\"name\": \"slower\"/; s/\"aliases\": *\[[^]]*\]/\"aliases\": []/" \
    "$source/hwmodel/devices/v100.json" >slower.json
  printf 'name,gpus,type\nfast,8,v100\nslow,8,./slower.json\n' >nodes.csv
  "$ORRERY" plan compute.csv:batch=4 --cluster nodes.csv --global-batch 256 --micro-batch 256 --policy whale@even,whale --profile none \
    --set policy.even.balance=false --set policy.even.stages=1 --set policy.whale.stages=1 --set step.update_cost=none --out o -q --no-figures
  gain=$(awk "BEGIN { print $(metric even iteration_s) / $(metric whale iteration_s) }")
  within "$gain" "$(awk "BEGIN { print (1 + $r) / 2 }")" 0.02
  ok $? "speeds $r to 1: balanced shares are $gain times as fast ((1 + r)/2 within 2 %)"
done

# Two stages run on a V100 of 32 GB and a P100 of 16 GB. Stage 0 keeps two micro-batches, which need more than 16
# GB.
printf 'idx,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n0,a,10,20,10000000000,4000\n1,b,6.6,13.2,10000000000,4000\n' >memory.csv
w2() { "$ORRERY" plan memory.csv:batch=4 --cluster "$1" --global-batch 32 --micro-batch 4 --policy whale --set policy.whale.stages=2 \
  --set policy.whale.memory_first="$2" --profile none -o "$3" -q --no-figures 2>&1; }
like "$(w2 1x1:p100,1x1:v100-32g false no.json)" 'no plan fits in memory \(1 of 1 evaluated plans exceed a GPU.s memory\): expected more GPUs, or GPUs with more memory' "no plan fits if the first stage is on the P100"
w2 1x1:p100,1x1:v100-32g true yes.json
ok $? "a plan fits if the first stage is on the V100"
like "$(tr -d '\n\t' <yes.json)" '"gpus":"1".*"gpus":"0"' "memory_first: the first stage is on the V100"
"$ORRERY" step --plan yes.json -q --check
ok $? "orrery step runs the plan"

# With shares in proportion to speed the P100 would run out of memory, so samples move to the V100.
printf 'idx,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n0,a,10,20,4000000000,4000\n' >loop.csv
"$ORRERY" plan loop.csv:batch=4 --cluster 1x1:v100-32g,1x1:p100 --global-batch 44 --micro-batch 44 --policy whale --set policy.whale.stages=1 \
  --profile none -o loop.json -q --no-figures
ok $? "samples move until all shares fit into memory"
like "$(tr -d '\n\t' <loop.json)" '"device_shares":"0.6[0-9]*,0.3[0-9]*"' "samples move to the GPU with more memory"
like "$("$ORRERY" plan loop.csv:batch=4 --cluster 1x1:v100-32g,1x1:p100 --global-batch 60 --micro-batch 60 --policy whale \
  --set policy.whale.stages=1 --profile none 2>&1)" 'no plan fits' "no plan fits if no GPU has free memory"
tap_done
