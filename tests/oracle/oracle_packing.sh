#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies that share GPUs, against the published simulators on the same jobs: gandiva as in Gavel (oracles/gavel-more), with and without a
# replay of its shares; muri under a replay of Muri's groups, and its baselines SRSF and SRTF (oracles/muri).
. "${srcdir:-.}/tests/tap.sh"
gavel=$data/oracles/gavel
more=$data/oracles/gavel-more
muri=$data/oracles/muri
# same FILE KEY VALUE OURS COLUMN TOLERANCE: prints the number of jobs whose value in column OURS equals theirs, and the first that differ
same() {
  awk -F, -v key="$2" -v value="$3" -v column="$5" -v most="$6" 'NR == FNR { if (FNR > 1) theirs[$key] = $value; next }
    FNR > 1 { d = $column - theirs[$1]; if (d < 0) d = -d; if (!($1 in theirs) || d > most) print "job " $1 ": off by " d; else n++ }
    END { print n + 0 " jobs" }' "$1" "$4" | tail -n 5
}
if need "$more/single40__gandiva__222.jobs.csv" && need "$gavel/simulation_throughputs.json"; then
  run() {
    "$ORRERY" jobs "$more/single40.trace" --format gavel --throughputs "$gavel/simulation_throughputs.json" --cluster 2x1:v100,2x1:p100,2x1:k80 \
      --policy gandiva --set policy.gandiva.rules=gavel "$@" --check --no-figures -q --out "$work/out" >/dev/null
  }
  run
  is "$(same "$more/single40__gandiva__222.jobs.csv" 1 2 "$work/out/gandiva.jobs.csv" 6 1e-6)" "40 jobs" "gandiva: every JCT is theirs within 1e-6 s, policy included"
  is "$(awk -F, 'FNR > 1 { s += $6 } END { printf "%.4f", s / 40 }' "$work/out/gandiva.jobs.csv")" 31978.1695 "gandiva: the mean JCT"
  run --set "policy.gandiva.shares=$more/single40__gandiva__222.x.csv"
  is "$(same "$more/single40__gandiva__222.jobs.csv" 1 2 "$work/out/gandiva.jobs.csv" 6 1e-6)" "40 jobs" "gandiva: every JCT is theirs under their shares"
  run --set policy.gandiva.seed=1
  [ "$(same "$more/single40__gandiva__222.jobs.csv" 1 2 "$work/out/gandiva.jobs.csv" 6 1e-6)" != "40 jobs" ]
  ok $? "gandiva: another seed draws other pairs"
fi
if need "$muri/t60_muri.jobs.csv"; then
  run() {
    "$ORRERY" jobs "$muri/t60.trace.csv" --format muri --set trace_options.work=iterations --cluster 8x8 --policy muri \
      --set policy.muri.rules=muri "$@" --check --no-figures -q --out "$work/out" >/dev/null
  }
  run --set "policy.muri.groups=$muri/t60_groups.csv"
  is "$(same "$muri/t60_muri.jobs.csv" 2 6 "$work/out/muri.jobs.csv" 5 1e-6)" "60 jobs" "muri: every end is theirs under their groups"
  run --set policy.muri.pack=1
  is "$(same "$muri/t60_srsf.jobs.csv" 2 6 "$work/out/muri.jobs.csv" 5 1e-6)" "60 jobs" "one job per group is their SRSF: every end"
  run --set policy.muri.pack=1 --set policy.muri.order=time
  is "$(same "$muri/t60_srtf.jobs.csv" 2 6 "$work/out/muri.jobs.csv" 5 1e-6)" "60 jobs" "one job per group, in order of time, is their SRTF: every end"
  run
  is "$(awk -F, 'FNR > 1 { s += $6 } END { d = s / 60 / 171421.9372 - 1; print (d < 0.1 && d > -0.1) ? "near" : s / 60 }' "$work/out/muri.jobs.csv")" near \
    "muri by its own matchings: the mean JCT is within 10 % of theirs"
fi
tap_done
