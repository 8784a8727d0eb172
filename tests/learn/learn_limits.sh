#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Limits of learning at the command line: learn.max_samples, seeds, options out of range.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
# learn POLICY ARGUMENTS..: runs once on 4 GPUs with gradients of 32 samples; the summary is in o/summary.csv
learn() {
  local policy=$1
  shift
  rm -rf o
  "$orrery" step lenet5 --cluster 4x1:v100 --no-figures --out o -q --policy "$policy" "$@" 2>&1
}
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
# spread METRIC: prints whether the metric has an interval around its value
spread() { awk -F, -v m="$1" '$2 == m { print ($4 != "" && $4 <= $3 && $3 <= $5) ? "interval" : "none" }' o/summary.csv; }

# Synchronous training stops after whole iterations of 4 x 32 samples, asynchronous training after single gradients
# of 32.
learn allreduce --set learn.seeds=1 --set learn.max_samples=1000
is "$(metric learn_samples)" 896 "synchronous: the seven iterations of 128 samples that fit into 1000"
learn allreduce --set learn.seeds=1 --set learn.max_samples=1024
is "$(metric learn_samples)" 1024 "a limit of exactly eight iterations"
learn allreduce --set learn.seeds=1 --set learn.max_samples=128
is "$(metric learn_samples)" 128 "a limit of one iteration"
is "$(learn allreduce --set learn.seeds=1 --set learn.max_samples=127; echo $?)" \
  "orrery: policy allreduce: learn.max_samples=127: expected at least 128, the gradients of an iteration (4) times learn.batch (32)
2" "a limit below one iteration is refused"
asp=(--set policy.parameter-server.mode=asp --set learn.seeds=1 --set step.stragglers=lognormal)
learn parameter-server "${asp[@]}" --set learn.max_samples=1000
is "$(metric learn_samples)" 992 "asynchronous: the 31 gradients that fit into 1000"
learn parameter-server "${asp[@]}" --set learn.max_samples=1024
is "$(metric learn_samples)" 1024 "a limit of exactly 32 gradients"
learn parameter-server "${asp[@]}" --set learn.max_samples=32
is "$(metric learn_samples)" 32 "a limit of one gradient"
is "$(learn parameter-server "${asp[@]}" --set learn.max_samples=31; echo $?)" \
  "orrery: policy parameter-server: learn.max_samples=31: expected at least 32, the gradients of an iteration (1) times learn.batch (32)
2" "a limit below one gradient is refused"
learn ako --set learn.seeds=1 --set learn.max_samples=1000
is "$(metric learn_samples)" 992 "ako: 31 gradients"

# Several seeds give the mean a confidence interval; a standard deviation needs at least two seeds.
learn allreduce --set learn.seeds=1 --set learn.max_samples=1024
is "$(metric seeds) $(spread final_loss) $(metric final_loss_sd)" "1 none " "one seed: no interval and no deviation"
one=$(metric final_loss)
learn allreduce --set learn.seeds=10 --set learn.max_samples=1024
is "$(metric seeds) $(spread final_loss) $(metric seeds_reached)" "10 interval 0" "ten seeds: an interval"
is "$(metric final_loss | awk -v a="$one" '{ print ($1 != a) }') $(metric final_loss_sd | awk '{ print ($1 > 0) }')" "1 1" "whose losses differ"
learn allreduce --set learn.seeds=10 --set learn.max_samples=1024 --set learn.target=0.68 --set learn.eval_samples=128
is "$(metric seeds_reached) $(spread time_to_target_s) $(metric target_loss)" "10 interval 0.68000000000000005" "a target that every seed meets has a time"
is "$(metric learn_samples | awk '{ print ($1 < 1024) }')" 1 "and ends the runs"
learn allreduce --set learn.seeds=10 --set learn.max_samples=1024 --set learn.target=1e-6
is "$(metric seeds_reached) $(metric time_to_target_s)" "0 " "a target that no seed meets has none"
like "$("$orrery" step resnet50 --cluster 2x1:v100 --policy allreduce --set learn.seeds=2 --set learn.max_samples=1024 --set learn.target=1e-6)" \
  '0 of 2 training runs reached the loss learn.target=1e-06' "and a remark"
learn allreduce --set learn.seeds=1 --set learn.max_samples=1024 --set learn.eval_worst=true
is "$(awk -F, '$2 == "worst_replica_loss" { w = $3 } $2 == "final_loss" { f = $3 } END { print w - f, (f > 0) }' o/summary.csv)" "0 1" \
  "the worst replica of synchronous training is as good as the others"
learn allreduce --set learn.seeds=1 --set learn.max_samples=1024 --set learn.problem=noise
is "$(metric final_loss)$(metric worst_replica_loss)" "" "noise has no loss"
is "$(awk -F, '$2 == "learn_samples" { n = $3 } $2 == "learn_samples_per_s" { r = $3 } END { print (r > 0), n }' o/summary.csv)" "1 1024" \
  "and has a throughput"

refused() {
  while IFS='|' read -r option expected; do
    said=$(learn allreduce --set "learn.$option")
    like "$? $said" "^2 orrery: $expected" "refused: learn.$option"
  done
}
refused <<'E'
seeds=0|learn: seeds: expected .* from 1 to 10000, found "0"
seeds=10001|learn: seeds: expected .* from 1 to 10000, found "10001"
rows=0|learn: rows: expected .*, found "0"
batch=0|learn: batch: expected .*, found "0"
classes=1|learn: classes: expected .*, found "1"
condition=0.9|learn: condition: expected .*, found "0.9"
momentum=1|learn: momentum: expected .*, found "1"
momentum=-0.1|learn: momentum: expected .*, found "-0.1"
lr=-1|learn: lr: expected .*, found "-1"
decay=1.1|learn: decay: expected .*, found "1.1"
history=0|learn: history: expected .*, found "0"
shards=-1|learn: shards: expected .*, found "-1"
max_samples=0|learn: max_samples: expected .*, found "0"
ci_level=0.4|learn: ci_level: expected .*, found "0.4"
ci_level=1|learn: ci_level: expected .*, found "1"
problem=mlpp|learn: problem: .*"mlpp"
E
tap_done
