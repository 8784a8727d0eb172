#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Policy shockwave: plans of two and three jobs by hand, all jobs end under --check, equal bytes; the authors' 120 jobs. The program itself:
# tests/jobs/unit_shockwave.c.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# ends TRACE CLUSTER [SETTING..]
ends() {
  local set=() s
  for s in "${@:3}"; do set+=(--set "$s"); done
  "$orrery" jobs "$1" --cluster "$2" --policy shockwave "${set[@]}" --check --no-figures -q --out out >/dev/null 2>err || cat err
  awk -F, 'NR > 1 { printf "%s%g", sep, $5; sep = " " } END { print "" }' out/shockwave.jobs.csv
}
# One GPU, lambda 0, k 0, a window of one round of 100 s. The round would complete the job of 100 s, or do a tenth of the job of 1000 s.
# Neither has done any work, so the gains are log(2 / 1) and log(1.1 / 1).
printf 'submit_s,duration_s,gpus\n0,1000,1\n0,100,1\n' >two.csv
is "$(ends two.csv 1x1 policy.shockwave.round=100s policy.shockwave.window=1 policy.shockwave.k=0 policy.shockwave.lambda=0)" "1100 100" "the job that progresses most runs first"
market=(policy.shockwave.round=100s policy.shockwave.k=0 policy.shockwave.lambda=0)
# At 100 s job 0 has 10 s left. Of three rounds it needs a tenth of one. The other job would gain from all the rest, which is 2.8 rounds
# with five chords. Job 0 runs in the third round, because a plan that completes a job gives it a whole round.
printf 'submit_s,duration_s,gpus\n0,110,1\n50,1000,1\n' >rest.csv
is "$(ends rest.csv 1x1 "${market[@]}" policy.shockwave.window=3)" "310 1110" "a job with a part of a round left has a round of the plan"
# A start costs 90 s of a round of 100 s. Jobs 0 and 1 take turns, and each round with a start does 10 s of work, because the cost of a
# start is no progress.
printf 'submit_s,duration_s,gpus\n0,200,1\n0,200,1\n0,10000,1\n' >costs.csv
first=$(ends costs.csv 1x1 "${market[@]}" policy.shockwave.window=1 policy.shockwave.offset=0.01 jobs.start_cost=90s)
is "$(awk '{ print ($1 < 6000), ($2 < 6000), ($3 > 14000) }' <<<"$first")" "1 1 1" "costs of starts are no progress ($first)"
# Two GPUs, lambda large: the longest job runs throughout, and the others share the other GPU.
printf 'submit_s,duration_s,gpus\n0,100,1\n0,100,1\n0,300,1\n' >long.csv
is "$(ends long.csv 1x2 policy.shockwave.round=100s policy.shockwave.window=3 policy.shockwave.k=0 policy.shockwave.lambda=1000 | cut -d' ' -f 3)" 300 "a large lambda keeps the makespan"
{
  echo submit_s,duration_s,gpus
  awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) printf "%d,%d,%d\n", t += int(200 * rand()), 60 + int(4000 * rand()), 2 ^ int(3 * rand()) }'
} >many.csv
first=$(ends many.csv 2x4)
is "$(wc -w <<<"$first")" 60 "all jobs end"
is "$(ends many.csv 2x4)" "$first" "the same times again"
is "$(ends many.csv 2x4 policy.shockwave.error=2 | wc -w)" 60 "estimates that are wrong by a factor of 2"
# rho^100 exceeds the largest double: a job of 1 s has waited for more than an hour.
printf 'submit_s,duration_s,gpus\n0,100000,1\n0,1,1\n0,100000,1\n100,1,1\n' >wait.csv
is "$(ends wait.csv 1x1 policy.shockwave.k=100 | wc -w)" 4 "weights of any size"
like "$("$orrery" jobs two.csv --cluster 1x1:v100,1x1:t4 --policy shockwave 2>&1)" "shockwave: expected a cluster with one GPU type" "two types"
# The authors' 120 jobs (oracles/shockwave): as shipped, the makespan and the worst rho are the smallest of these policies.
trace=$data/oracles/shockwave/trace120.csv
if need "$trace"; then
  "$orrery" jobs "$trace" --cluster 8x4 --policy shockwave,gandiva-fair,max-min,mst,ossp,themis,allox --set policy.gandiva-fair.round=120s --set policy.max-min.round=120s \
    --set policy.mst.round=120s --set policy.ossp.round=120s --set policy.themis.round=120s --set jobs.start_cost=20s --check --no-figures -q --out out >/dev/null 2>err || cat err
  least() { awk -F, -v m="$1" '$2 == m { print $3, $1 }' out/summary.csv | sort -g | awk 'NR == 1 { print $2 }'; }
  is "$(least makespan) $(least ftf_static_max)" "shockwave shockwave" "120 jobs: the least makespan and the least worst rho of seven policies"
fi
tap_done
