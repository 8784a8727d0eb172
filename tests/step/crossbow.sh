#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Crossbow: throughput by number of learners, the tuner, the all-reduce of the central average model, learning on small
# problems.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

# metric NAME ARGUMENTS..: prints a metric of one run
metric() {
  local m=$1
  shift
  "$orrery" step "$@" --out o -q 2>said || cat said >&2
  awk -F, -v m="$m" '$2 == m { print $3 }' o/summary.csv
}

# One GPU with occupancy 0.3 and no loss by interference: relative to one learner, 1 to 5 learners have the
# throughput 1, 2, 3, 1/0.3 and 1/0.3. The time of a task cancels out.
alone=(resnet50 --cluster 1x1:v100 --batch 16 --policy crossbow --set policy.crossbow.occupancy=0.3 --set step.update_cost=none)
for m in 1 2 3 4 5; do
  metric samples_per_s "${alone[@]}" --set policy.crossbow.learners=$m --set step.iterations=5
done >rates
is "$(awk 'NR == 1 { one = $1 } { printf "%s%.6f", (NR > 1 ? " " : ""), $1 / one }' rates)" "1.000000 2.000000 3.000000 3.333333 3.333333" \
  "throughput of 1 to 5 learners of occupancy 0.3"
tuned=("${alone[@]}" --set policy.crossbow.tune=true --set step.iterations=40)
like "$("$orrery" step "${tuned[@]}")" 'learners=4 per GPU \(tuned: 2, 3, 4, 5, 4\), means include [0-9]+ clocks' "the tuner visits 1 to 5 learners and ends at 4"
like "$("$orrery" step "${tuned[@]}" --set policy.crossbow.threshold=0.12)" 'learners=3 per GPU \(tuned: 2, 3, 4, 3\)' \
  "with a threshold of 12 % it ends at 3, as 4 learners give 11 % more"
like "$("$orrery" step "${tuned[@]}" --set policy.crossbow.interval=3 --set step.iterations=80)" '\(tuned: 2, 3, 4, 5, 4\)' \
  "with 3 clocks per measurement the learners are tuned from 2 to 5 and back to 4"
is "$("$orrery" step "${tuned[@]}" --check -q; echo $?)" 0 "--check finds no error"

# 8 GPUs, 25.56 M parameters (97.5 MiB), 10 GB/s: an all-reduce takes 2 * 7/8 * 97.5 MiB / 10 GB/s = 17.9 ms.
# Without tasks it is exposed; a task of 30 ms hides it.
eight=(resnet50 --cluster 8x1:v100 --network star:bw=80Gbps,lat=0 --batch 16 --policy crossbow --set step.update_cost=none)
sum=$(metric iteration_s "${eight[@]}" --set step.compute_s=1e-9 --set step.iterations=10)
is "$(awk -v t="$sum" 'BEGIN { print (t > 0.017 && t < 0.0188) ? "17.9 ms" : t }')" "17.9 ms" "the all-reduce of ResNet-50 takes 17.9 ms"
hidden=$(metric iteration_s "${eight[@]}" --set step.compute_s=0.03 --set step.iterations=10)
is "$(awk -v t="$hidden" 'BEGIN { print (t - 0.03) ^ 2 < 1e-16 ? "hidden" : t }')" hidden "the all-reduce is hidden behind a task of 30 ms"
every=$(metric iteration_s "${eight[@]}" --set step.compute_s=0.005 --set policy.crossbow.sync_every=4 --set step.iterations=10)
is "$(awk -v t="$every" 'BEGIN { print (t - 0.02) ^ 2 < 1e-16 ? "hidden" : t }')" hidden "the all-reduce is hidden behind four tasks of 5 ms (sync_every=4)"

# The all-reduce takes longer than the task: in the mean of 10 clocks each clock has the 5 ms of its task, although the learners run one
# clock ahead.
share=$(metric compute_s "${eight[@]}" --set step.compute_s=0.005 --set step.iterations=10)
is "$(awk -v t="$share" 'BEGIN { print (t - 0.005) ^ 2 < 1e-16 ? "5 ms" : t }')" "5 ms" "learners compute for 5 ms in each clock"

# Real SGD: one learner per GPU whose correction is the whole distance would be unstable, because alpha (k + 1) >=
# 2.
learn=(resnet50 --cluster 4x1:v100 --batch 16 --policy crossbow --set policy.crossbow.learners=2 --set step.iterations=400
  --set learn.problem=logistic --set learn.seeds=1 --set learn.max_samples=20000)
fine=$(metric final_loss "${learn[@]}")
is "$(awk -v x="$fine" 'BEGIN { print (x > 0 && x < 0.6) ? "learns" : x }')" learns "8 learners at alpha 0.1 learn"
"$orrery" step "${learn[@]}" --set policy.crossbow.alpha=0.23 >stdout 2>&1
like "$(cat stdout)" 'alpha \(k \+ 1\) = 2\.07 .*expected alpha below 0\.222' "alpha 0.23 with 8 learners is unstable: a warning says so"

# EASGD: with one learner per GPU and an equal alpha, synchronous model averaging performs the same arithmetic. Only
# the times differ.
both=(lenet_mnist --cluster 4x1:v100 --network star:bw=8Gbps,lat=0 --batch 16 --policy crossbow,easgd --set policy.easgd.beta=0.4
  --set step.iterations=200 --set learn.problem=mlp --set learn.seeds=2 --set learn.max_samples=9600)
for every in 1 5; do
  "$orrery" step "${both[@]}" --set policy.crossbow.sync_every=$every --set policy.easgd.sync_every=$every --out o -q 2>said || cat said >&2
  is "$(awk -F, '$2 == "final_loss" { print $3 }' o/summary.csv | uniq -c | awk '{ print $1 }')" 2 "EASGD, an exchange every $every: the loss of Crossbow with one learner"
done
# An all-reduce of 1,111,946 parameters at 1 GB/s takes 2 * 3/4 * 4 bytes each = 6.6717 ms. It follows a barrier in
# every fifth iteration of 10 ms.
behind=$(metric iteration_s "${both[@]:0:7}" --policy easgd --set policy.easgd.sync_every=5 --set step.compute_s=0.01 --set step.update_cost=none --set step.iterations=20)
is "$(awk -v t="$behind" 'BEGIN { x = (0.05 + 6 * 1111946e-9) / 5; print (t / x - 1) ^ 2 < 1e-6 ? "exposed" : t " not " x }')" exposed \
  "EASGD's all-reduce is exposed in every fifth iteration"
tap_done
