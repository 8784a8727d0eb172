#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Devices, profiles and networks of a training step at the command line: names, defaults, refusals, draws of the costs.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
model=(lenet5 --no-figures --policy allreduce)
# step ARGUMENTS..: runs lenet5; the summary is in o/summary.csv
step() { rm -rf o && "$orrery" step "${model[@]}" --out o -q "$@" 2>said || cat said; }
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
# near A B: prints "near" if A / B is within 1e-9 of 1
near() { awk -v a="$1" -v b="$2" 'BEGIN { off = a / b - 1; print (off * off < 1e-18) ? "near" : a " for " b }'; }
times() { cut -d, -f2- o/summary.csv | md5sum; }

# ---- devices ----
step --cluster 2x1:v100
plain=$(times)
step --cluster 2x1:v100-spot
is "$(times)" "$plain" "v100-spot is a v100 with another price"
step --cluster 2x1:k80 --device v100
is "$(times)" "$plain" "--device replaces the device of the cluster's types"
step --cluster 2x1:v100 --profile auto
is "$(times)" "$plain" "--profile auto is the default"
step --cluster 2x1:v100 --profile v100
is "$(times)" "$plain" "the default profile of a V100 is v100"
step --cluster 2x1:V100 --profile V100
is "$(times)" "$plain" "names of devices and profiles ignore case"
step --cluster 2x1:v100 --profile none
is "$([ "$(times)" != "$plain" ] && echo differs)" differs "--profile none leaves the data sheet"
table=$("$orrery" step "${model[@]}" --cluster 2x1:v100 --profile none)
like "$table" '^times of layers: data sheet only: roofline of v100' "which is said below the table"
table=$("$orrery" step "${model[@]}" --cluster 1x1:v100,1x1:a100 --profile a100)
like "$table" 'v100: data sheet only: roofline of v100 .*; a100: profile a100 ' "a named profile is used by its own device only"
table=$("$orrery" step "${model[@]}" --cluster 1x1:v100,1x1:a100)
like "$table" 'v100: profile v100 .*; a100: profile a100 ' "by default each type has its own"

refused() {
  while IFS='|' read -r args expected; do
    # shellcheck disable=SC2086
    said=$("$orrery" step "${model[@]}" $args 2>&1 >/dev/null)
    is "$? $said" "2 orrery: $expected" "refused: $args"
  done
}
refused <<'E'
--cluster 2x1:v100 --profile a100|profile a100: its device is a100: expected a profile of v100, another --device, or --profile none
--cluster 2x1:v100 --profile nosuch|unknown profile "nosuch": 'orrery calib list' shows all profiles; the name of a file ends in .json
--cluster 2x1:v100 --cost-samples 1|scenario: $.cost_samples: expected 0, or at least 2 draws, found "1"
--cluster 2x1:v100 --cost-samples 3 --replications 2|scenario: $.replications: expected 1 with cost_samples: intervals are computed either from replications or from draws of the costs
--cluster 2x1:v100 --cost-samples 3 --profile none|cost_samples: device v100 has no profile, so there are no laws to draw (--profile FILE)
--cluster 2x1:-spot|unknown device "-spot": 'orrery device list' shows all devices; the name of a file ends in .json
--cluster 2x0:cpus=4|cluster 2x0:cpus=4: expected at least one GPU
E

# ---- the link between the GPUs of a node: by default that of the node's device (V100 150 GB/s, A100 300 GB/s, 8 us); the message is
# within the second node ----
cat >message.json <<'E'
{ "barrier": true, "ops": [{ "id": "t", "transfer": { "from": 2, "to": 3, "bytes": 15e9 } }] }
E
message=(lenet5 --no-figures --policy graph --set policy.graph.file=message.json)
seconds() { rm -rf o && "$orrery" step "${message[@]}" --out o -q "$@" && metric iteration_s; }
is "$(near "$(seconds --cluster 2x2:a100)" 0.050008)" near "a message between two A100 of a node"
is "$(near "$(seconds --cluster 1x2:v100,1x2:a100)" 0.050008)" near "also beside a node of V100"
is "$(near "$(seconds --cluster 1x2:a100,1x2:v100)" 0.100008)" near "a message between two V100 beside a node of A100"
is "$(near "$(seconds --cluster 2x2:a100 --network star:gpu_bw=15GBps,gpu_lat=0)" 1)" near "a network that states the link"

# ---- draws of the costs ----
step --cluster 2x1:v100 --cost-samples 20
is "$(metric cost_samples)" 20 "the number of draws is a metric"
drawn=$(cat o/summary.csv)
is "$(awk -F, '$2 == "iteration_s" || $2 == "samples_per_s" { print $2, ($4 < $3 && $3 < $5) }' o/summary.csv | paste -sd,)" \
  "samples_per_s 1,iteration_s 1" "time and throughput lie within the intervals of their draws"
value=$(metric iteration_s)
is "$(awk -F, '$2 == "compute_s" { print $4 $5 }' o/summary.csv)" "" "other metrics have none"
step --cluster 2x1:v100 --cost-samples 20 -j1
is "$(cat o/summary.csv)" "$drawn" "one thread or several draw the same"
step --cluster 2x1:v100 --cost-samples 20 --seed 2
is "$([ "$(cat o/summary.csv)" != "$drawn" ] && echo differs) $(metric iteration_s)" "differs $value" \
  "another seed draws other laws, and the times by the laws themselves are the same"
like "$("$orrery" step "${model[@]}" --cluster 2x1:v100 --cost-samples 20)" 'intervals: 95 % of 20 draws of its laws' "the table says so"
step --cluster 2x1:v100
is "$(metric cost_samples)$(metric iteration_s)" "$value" "without draws there is no such metric, and the time is the same"

# ---- options of the cost model ----
step --cluster 2x1:v100 --profile none --set cost.efficiency=1
fast=$(metric compute_s)
step --cluster 2x1:v100 --profile none --set cost.efficiency=0.01
is "$(awk -v a="$fast" -v b="$(metric compute_s)" 'BEGIN { print (b > a) }')" 1 "cost.efficiency: products at a hundredth of the peak take longer"
tiny=(gpt:hidden=64,layers=2,heads=2,seq=64,vocab=100 --no-figures --policy allreduce --cluster 1x1:v100 --batch 4 --out o -q)
computes() { rm -rf o && "$orrery" step "${tiny[@]}" "$@" && metric compute_s; }
base=$(computes)
is "$(awk -v a="$base" -v b="$(computes --set cost.fused_attention=true)" 'BEGIN { print (b < a) }')" 1 "cost.fused_attention saves time"
is "$(awk -v a="$base" -v b="$(computes --set cost.fused_elementwise=true)" 'BEGIN { print (b < a) }')" 1 "cost.fused_elementwise saves time"
is "$(awk -v a="$base" -v b="$(computes --set cost.dropout=true)" 'BEGIN { print (b > a) }')" 1 "cost.dropout costs time"
# Two blocks, two heads, 64 x 64 scores: a fused kernel does not keep 2 x 8192 elements of 4 bytes for each of 4 samples. Dropout keeps
# for each score an output and a mask of one byte, and a mask for each of the 64 x 64 elements of two additions.
keeps() { rm -rf o && "$orrery" step "${tiny[@]}" "$@" && metric peak_memory_bytes; }
base=$(keeps)
is "$((base - $(keeps --set cost.fused_attention=true)))" $((4 * 2 * 8192 * 4)) "cost.fused_attention does not keep scores"
is "$(($(keeps --set cost.dropout=true) - base))" $((4 * 2 * (8192 * 5 + 2 * 4096))) "cost.dropout keeps masks and the output of dropout"
remark() { "$orrery" step "${model[@]}" --cluster 2x1:v100 "$@" | grep 'has no effect'; }
is "$(remark --set cost.dropout=true)" "cost.dropout has no effect: kernel times of the model do not depend on it" "a convolutional network has no dropout"
is "$(remark --set cost.fused_attention=true)" "cost.fused_attention has no effect: kernel times of the model do not depend on it" "a convolutional network has no attention"
is "$(remark --set cost.measured=true)" \
  "cost.measured has no effect: no step time is measured for this device, model, batch and precision" "no measured step is known"
is "$(remark --profile none --set cost.efficiency=0.01)" "" "an option with an effect has no remark"
is "$(remark --profile v100)" "profile has no effect: the profiles of the devices are the same by default" "naming the default profile"
is "$(remark --profile none)" "" "another profile than the default"
is "$(remark --seed 3)" "seed has no effect: nothing of this run is drawn at random" "a seed without draws"
is "$(remark --seed 3 --cost-samples 5)$(remark --seed 3 --set step.stragglers=uniform)" "" "a seed with draws"
is "$(remark --set step.merge=on)" "step.merge has no effect: auto merges the same lanes" "merge=on where auto merges"
# ---- collectives of unlike lanes ----
gpt=gpt:hidden=1024,layers=4,heads=16,seq=128,vocab=32000
# run MODEL POLICY ARGUMENTS..: iteration time of the policy
run() { rm -rf o && "$orrery" step "$1" --policy "$2" --no-figures --out o -q --set step.update_cost=none "${@:3}" && metric iteration_s; }
lanes() { run $gpt megatron --set policy.megatron.tp=4 --set policy.megatron.dp_bytes=0 --network star:bw=100Gbps,lat=500us "$@"; }
one=$(lanes --cluster 1x4:a100,2x2:a100)
is "$(near "$one" "$(lanes --cluster 2x2:a100,1x4:a100)")" near "the order of the nodes does not matter: a lane inside a node, a lane on two nodes"
is "$(awk -v a="$(lanes --cluster 2x4:a100)" -v b="$one" 'BEGIN { print (b > 1.2 * a) }')" 1 "the lane on two nodes is slower"
is "$(near "$one" "$(lanes --cluster 4x2:a100)")" near "as slow as two such lanes"
is "$(near "$(lanes --cluster 1x4:h100,1x4:a100)" "$(lanes --cluster 1x4:a100,1x4:h100)")" near "likewise lanes of two types"
lanes --cluster 1x4:a100,2x2:a100 --set step.merge=on 2>said
like "$(cat said)" 'step.merge=on: collectives of the lanes differ in algorithm or speed' "such lanes cannot be merged"
all() { run vgg16 allreduce --set policy.allreduce.overlap=false --set policy.allreduce.algorithm="$1" --network star:bw=10Gbps "${@:2}"; }
is "$(near "$(all hierarchical --cluster 1x4:a100,2x2:a100)" "$(all hierarchical --cluster 2x2:a100,1x4:a100)")" near \
  "islands of nodes of unequal size: the largest size that divides all"
is "$(awk -v a="$(all hierarchical --cluster 1x4:a100,2x2:a100)" -v b="$(all ring --cluster 1x4:a100,2x2:a100)" 'BEGIN { print a < 0.95 * b }')" 1 \
  "so the algorithm is hierarchical"
flow=$(all nvls-tree --cluster 4x8:h100)
is "$(awk -v a="$(all nvls-tree --cluster 4x8:h100 --set step.fidelity=analytic)" -v b="$flow" 'BEGIN { print a / b < 1.01 && b / a < 1.01 }')" 1 \
  "nvls-tree with one NIC per node: the closed form shares it among the GPUs"
tap_done
