# orrery model experts; loads of experts from a file; step policies with experts.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

# Expected numbers: the hypergeometric law for 4 of 8 nodes (3.629, 7.359); FP8 with scales 7168 + 4 x 56 bytes.
out=$("$orrery" model experts deepseek-v3 --ep 64)
ok $? "model experts works"
like "$out" '^expected nodes of a token +3\.629' "nodes of a token"
like "$out" '^expected GPUs of a token +7\.359' "GPUs of a token"
like "$out" '^token in FP8 with scales, bytes +7392$' "bytes of a token"
json=$("$orrery" model experts deepseek-v3 --ep 32 --groups 4 --json)
value() { printf '%s\n' "$json" | awk -F'[:,]' -v k="\"$1\"" '$1 ~ k { print $2 + 0; exit }'; }
like "$(value nodes_per_token)" '^3\.614' "--groups 4 on 4 nodes, all of them: 3.614 nodes"
is "$(value per_expert_outside_bytes)" "$((4096 * 8 * 7392 * 3 / 4))" "once per expert: 3/4 of the pairs leave the node"
json=$("$orrery" model experts mixtral-8x7b --ep 8 --skew 0.5 --json)
# 8 experts, Zipf 0.5: 8 / (1 + 1/sqrt(2) + .. + 1/sqrt(8)) = 8 / 4.3712
like "$(value gpu_imbalance)" '^1\.830' "Zipf 0.5 over 8 experts: the busiest GPU has 1.830 times the mean"
is "$("$orrery" model experts mixtral-8x7b --ep 8 --skew 0.5 --draws 1000 --seed 3)" "$("$orrery" model experts mixtral-8x7b --ep 8 --skew 0.5 --draws 1000 --seed 3)" \
  "draws repeat with the seed"

printf '4 1 1 1\n1 1 1 1 # of layer 0\n' >loads.txt
like "$("$orrery" model experts mixtral-8x7b --ep 8 --loads loads.txt)" '^busiest expert / mean +2\.9' "loads from a file: 8 x 4 / 11"
refused() { "$orrery" "$@" >said 2>&1; echo "$? $(head -n 1 said)"; }
printf '4 1 1\n1 x 1 1\n' >bad.txt
like "$(refused model experts mixtral-8x7b --loads bad.txt)" '^2 .*bad.txt:2: expected a number of at least 0, found "x"' "a wrong number: its line"
like "$(refused model experts mixtral-8x7b --loads nowhere.txt)" '^2 .*nowhere.txt' "a file that is missing"
like "$(refused model experts resnet50)" '^2 .*expected a mixture of experts' "a model without experts"
like "$(refused model show mixtral-8x7b --ep 4)" "^2 .*only in 'orrery model experts MODEL'" "options of experts elsewhere"
like "$(refused model experts mixtral-8x7b --ep 0)" '^2 .*--ep: expected a whole number from 1' "--ep 0"
like "$(refused model experts mixtral-8x7b --placement best)" '^2 .*--placement: expected auto' "an unknown placement"
like "$(refused model experts deepseek-v3 --ep 48)" '^0 ' "experts that the GPUs do not divide"

small=moe:hidden=256,layers=4,heads=4,seq=128,vocab=1000,experts=8,top_k=2,width=128
step() { "$orrery" step "$small" --cluster 2x4:a100 --batch 1 --no-figures "$@"; }
# The memory of a micro-batch is free after its backward pass.
peak() { step --policy megatron --set policy.megatron.ep=8 --set policy.megatron.ep_overlap="$1" --set step.iterations="$2" --json |
  awk '/"peak_memory_bytes"/ { getline; print }'; }
is "$(peak two-batch 9)" "$(peak two-batch 3)" "two batches: more iterations take no more memory"
is "$(peak two-batch 3)" "$(peak none 3)" "two batches take the memory of one batch of twice the size"
like "$(step --policy local-sgd --set policy.local-sgd.local_steps=30)" 'less than a period of 30 after the first' "fewer iterations than a period"
like "$(step --policy expert-parallel --set policy.expert-parallel.expert_load=loads.txt)" 'imbalance=2\.9' "step: loads from a file"
# A pair is the work of one micro-batch: its samples are those of a forward and a backward pass in turn, one of each of 8 GPUs.
for w in train pair; do
  step --policy expert-parallel --set policy.expert-parallel.work=$w --out o -q 2>/dev/null
  awk -F, '$2 == "samples_per_s" { r = $3 } $2 == "iteration_s" { t = $3 } END { printf "%.6f ", r * t }' o/summary.csv
done >samples
is "$(cat samples)" "8.000000 8.000000 " "a pair counts the samples of one micro-batch"
like "$(step --policy expert-parallel)" 'an iteration is the forward pass, layers=1 of 4 with experts' "what an iteration is"
# The line of a pair of 58 layers is longer than 255 characters. The kernels of a layer do not depend on the work of an iteration.
for w in pair dispatch; do
  "$orrery" step deepseek-v3 --cluster 8x8:h100 --precision bf16 --batch 1 --policy expert-parallel --set policy.expert-parallel.work=$w \
    --set policy.expert-parallel.layers=4 --set step.iterations=1 --no-figures --out o -q 2>/dev/null
  awk -F, '$2 == "choice_mlp_w" { print $3 }' o/summary.csv
done >last
like "$(sort -u last | tr '\n' ' ')" '^0\.00[1-9][0-9]* $' "a long line keeps its last number: the weight gradient of the MLP"
like "$(refused step "$small" --cluster 2x4:a100 --policy expert-parallel --set policy.expert-parallel.expert_load=bad.txt --no-figures)" \
  '^2 .*bad.txt:2: expected a number' "step: a wrong number in a file"
like "$(step --policy megatron --set policy.megatron.ep=8)" 'ep=8 nodes_per_token=1\.57' "megatron states the nodes of a token: 2 (1 - C(4,2)/C(8,2)) = 1.571"
like "$(refused step "$small" --cluster 2x4:a100 --policy megatron --set policy.megatron.ep=16 --no-figures)" '^2 .*ep=16: expected a divisor of the 8 GPUs' "more experts' GPUs than a stage has"
step --policy megatron --set policy.megatron.ep=8 --policy expert-parallel --set policy.expert-parallel.expert_skew=0.5 --export chakra:traces -q >said 2>&1
is "$? $(find traces -name '*.et' | wc -l)" "0 16" "traces of both are written: a file for each rank"
tap_done
