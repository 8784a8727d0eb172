#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Gavel's own simulator on the same 120 jobs and 12 V100: under rules=gavel every JCT equals the simulator's within 1e-6 s. The expected
# values are TRACE_POLICY_CLUSTER.csv in oracles/gavel, made by that simulator.
. "${srcdir:-.}/tests/tap.sh"
dir=$data/oracles/gavel

# gavel ALLOCATION CLUSTER RULES: the run, into $work/out
gavel() {
  "$ORRERY" jobs "$dir/single120.trace" --format gavel --throughputs "$dir/simulation_throughputs.json" \
    --cluster "$2" --policy gavel --set "policy.gavel.allocation=$1" --set "policy.gavel.rules=$3" \
    --check --no-figures -q --out "$work/out" >/dev/null
}

if need "$dir/single120.trace" && need "$dir/simulation_throughputs.json"; then
  for a in fifo fifo_perf isolated; do
    gavel "$a" 12x1:v100 gavel
    ok $? "$a: the command runs under --check"
    # theirs: job_id,arrival,scale_factor,"job type",steps,jct; ours: job_id,..,jct_s,..
    is "$(awk -F, 'NR == FNR { if (FNR > 1) theirs[$1] = $NF; next }
      FNR > 1 { n++; d = $6 - theirs[$1]; if (d < 0) d = -d; if (!($1 in theirs) || d > 1e-6) print "job " $1 ": off by " d }
      END { print n " jobs" }' "$dir/single120_${a}_12-0-0.csv" "$work/out/gavel.jobs.csv" | tail -n 5)" "120 jobs" \
      "$a: every JCT is theirs within 1e-6 s"
  done
  # Three types of GPU, where the allocations by linear program have something to choose.
  for a in max_min_fairness max_sum_throughput finish_time_fairness; do
    for rules in own gavel; do
      gavel "$a" 4x1:v100,4x1:p100,4x1:k80 "$rules"
      ok $? "$a, rules=$rules: the command runs under --check"
    done
  done
fi
tap_done
