#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Gavel's own simulator on the same 120 jobs and 12 V100: under rules=gavel every JCT equals the simulator's within 1e-6 s.
# The expected
# values are TRACE_POLICY_CLUSTER.csv in oracles/gavel and TRACE__POLICY__CLUSTER.jobs.csv in oracles/gavel-more, made by that
# simulator. The optimum of a linear program is rarely unique, so these JCTs are compared under a replay of the simulator's
# own X
# (TRACE__POLICY__CLUSTER.x.csv).
. "${srcdir:-.}/tests/tap.sh"
dir=$data/oracles/gavel

# gavel ALLOCATION CLUSTER RULES: runs into $work/out
gavel() {
  "$ORRERY" jobs "$dir/single120.trace" --format gavel --throughputs "$dir/simulation_throughputs.json" \
    --cluster "$2" --policy gavel --set "policy.gavel.allocation=$1" --set "policy.gavel.rules=$3" \
    --check --no-figures -q --out "$work/out" >/dev/null
}

if need "$dir/single120.trace" && need "$dir/simulation_throughputs.json"; then
  for a in fifo fifo_perf isolated; do
    gavel "$a" 12x1:v100 gavel
    ok $? "$a: the command runs under --check"
    # simulator: job_id,arrival,scale_factor,"job type",steps,jct; orrery: job_id,..,jct_s,..
    is "$(awk -F, 'NR == FNR { if (FNR > 1) theirs[$1] = $NF; next }
      FNR > 1 { n++; d = $6 - theirs[$1]; if (d < 0) d = -d; if (!($1 in theirs) || d > 1e-6) print "job " $1 ": off by " d }
      END { print n " jobs" }' "$dir/single120_${a}_12-0-0.csv" "$work/out/gavel.jobs.csv" | tail -n 5)" "120 jobs" \
      "$a: every JCT is theirs within 1e-6 s"
  done
fi

more=$data/oracles/gavel-more
# run TRACE CLUSTER SETTING..: runs under rules=gavel, into $work/out. CLUSTER: V100s-P100s-K80s.
run() {
  local trace=$1 cluster=${2//-/ } settings=() setting
  read -r v p k <<<"$cluster"
  cluster=${v}x1:v100
  [ "$p" = 0 ] || cluster=$cluster,${p}x1:p100,${k}x1:k80
  shift 2
  for setting in "$@"; do settings+=(--set "policy.gavel.$setting"); done
  "$ORRERY" jobs "$trace" --format gavel --throughputs "$dir/simulation_throughputs.json" --cluster "$cluster" --policy gavel \
    --set policy.gavel.rules=gavel "${settings[@]}" --check --no-figures -q --out "$work/out" >/dev/null
}
# jcts FILE: prints the number of jobs whose JCT equals that of FILE (job_id,jct_s) within 1e-6 s, and the first jobs that
# differ
jcts() {
  awk -F, 'NR == FNR { if (FNR > 1) theirs[$1] = $2; next }
    FNR > 1 { d = $6 - theirs[$1]; if (d < 0) d = -d; if (!($1 in theirs) || d > 1e-6) print "job " $1 ": off by " d; else n++ }
    END { print n + 0 " jobs" }' "$1" "$work/out/gavel.jobs.csv" | tail -n 5
}
single=$dir/single120.trace
multi=$more/multi96.trace
if need "$single" && need "$more/single120__isolated__444.jobs.csv"; then
  run "$single" 4-4-4 allocation=isolated
  is "$(jcts "$more/single120__isolated__444.jobs.csv")" "120 jobs" "isolated, 4-4-4: jobs with a share of 0 get the GPUs left over"
  run "$multi" 8-8-8 allocation=isolated
  is "$(jcts "$more/multi96__isolated__888.jobs.csv")" "96 jobs" "isolated, 8-8-8, jobs on 1, 2 and 4 GPUs: every JCT is theirs"
fi

# AlloX decides without replay: its assignment, with its ties, is restated.
for c in 444 1200; do
  if need "$more/single120__allox__$c.jobs.csv"; then
    "$ORRERY" jobs "$single" --format gavel --throughputs "$dir/simulation_throughputs.json" --policy allox --set policy.allox.rules=gavel \
      --cluster "$([ $c = 444 ] && echo 4x1:v100,4x1:p100,4x1:k80 || echo 12x1:v100)" --check --no-figures -q --out "$work/out" >/dev/null
    mv "$work/out/allox.jobs.csv" "$work/out/gavel.jobs.csv"
    is "$(jcts "$more/single120__allox__$c.jobs.csv")" "120 jobs" "allox, $c: every JCT is theirs without replay"
    is "$(awk -F, 'FNR > 1 { s += $6 } END { printf "%.4f", s / 120 }' "$work/out/gavel.jobs.csv")" \
      "$([ $c = 444 ] && echo 23235.6539 || echo 18709.5536)" "allox, $c: the mean JCT"
  fi
done
# Water filling decides without replay; its optimum is unique up to ties between jobs.
if need "$more/single120__max_min_fairness_water_filling_perf__444.jobs.csv"; then
  "$ORRERY" jobs "$single" --format gavel --throughputs "$dir/simulation_throughputs.json" --policy max-min --set policy.max-min.rules=gavel \
    --cluster 4x1:v100,4x1:p100,4x1:k80 --check --no-figures -q --out "$work/out" >/dev/null
  is "$(awk -F, 'NR == FNR { if (FNR > 1) theirs += $2; next } FNR > 1 { ours += $6 }
      END { d = 100 * (ours / theirs - 1); print (d < 1 && -d < 1) ? "near" : d " % off" }' \
    "$more/single120__max_min_fairness_water_filling_perf__444.jobs.csv" "$work/out/max-min.jobs.csv")" near \
    "max-min with water filling: the mean JCT is theirs within 1 %"
fi

# replayed NAME TRACE CLUSTER JOBS SETTING..: checks every JCT under the simulator's own X
replayed() {
  local name=$1 trace=$2 cluster=$3 jobs=$4
  shift 4
  if need "$more/$name.x.csv"; then
    run "$trace" "$cluster" allocation=replay "shares=$more/$name.x.csv" "$@"
    is "$(jcts "$more/$name.jobs.csv")" "$jobs jobs" "$name: every JCT is theirs under their X"
  fi
}
for a in allox finish_time_fairness finish_time_fairness_perf max_min_fairness max_min_fairness_perf max_min_fairness_water_filling_perf \
  max_sum_throughput_perf min_total_duration_perf; do
  replayed "single120__${a}__444" "$single" 4-4-4 120
done
for a in allox finish_time_fairness_perf max_min_fairness_perf max_sum_throughput_perf; do
  replayed "single120__${a}__1200" "$single" 12-0-0 120
done
for a in finish_time_fairness_perf max_min_fairness_perf; do
  replayed "multi96__${a}__888" "$multi" 8-8-8 96
done
# own NAME CLUSTER ALLOCATION PERCENT: checks that the mean JCT under this program's choice among the optima is near that
# of the simulator
own() {
  if need "$more/$1.jobs.csv"; then
    run "$single" "$2" "allocation=$3"
    ok $? "$3, $2: the command runs under --check"
    is "$(awk -F, -v most="$4" 'NR == FNR { if (FNR > 1) theirs += $2; next } FNR > 1 { ours += $6 }
      END { d = 100 * (ours / theirs - 1); print (d < most && -d < most) ? "near" : d " % off" }' \
      "$more/$1.jobs.csv" "$work/out/gavel.jobs.csv")" near "$3, $2: the mean JCT is theirs within $4 %"
  fi
}
own single120__max_min_fairness_perf__444 4-4-4 max_min_fairness 1
own single120__max_min_fairness_perf__1200 12-0-0 max_min_fairness 1
own single120__max_sum_throughput_perf__444 4-4-4 max_sum_throughput 10
own single120__max_sum_throughput_perf__1200 12-0-0 max_sum_throughput 10
# The simulator's documents state no tolerance for finish-time fairness.
if need "$single"; then
  run "$single" 4-4-4 allocation=finish_time_fairness
  ok $? "finish_time_fairness, 4-4-4: the command runs under --check"
fi

replayed single120__mmf_shuffle__444 "$single" 4-4-4 120 type_shuffle=true
if need "$more/single120__mmf_shuffle__444.x.csv"; then
  is "$(awk -F, 'FNR > 1 { s += $6 } END { printf "%.4f", s / 120 }' "$work/out/gavel.jobs.csv")" 51966.2114 \
    "with the types shuffled in each round: the mean JCT is theirs"
  run "$single" 4-4-4 allocation=replay "shares=$more/single120__max_min_fairness__444.x.csv" type_shuffle=true 2>"$work/err"
  is $? 1 "an X without shuffle is refused in a run with shuffle"
  like "$(cat "$work/err")" "recomputation [0-9]+ .*: expected" "the message names the recomputation and its time"
fi
tap_done
