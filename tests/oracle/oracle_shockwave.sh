#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Shockwave's fork of Gavel on its own 120 jobs and 32 GPUs, in which jobs change their batch (experiments F3, F4, F8, F9). The expected
# values are oracles/shockwave: POLICY.jobs.csv are JCTs of that simulator, shipped_POLICY.jobs.csv those that its authors ship.
. "${srcdir:-.}/tests/tap.sh"
dir=$data/oracles/shockwave
need "$dir/trace120.csv" || { tap_done; exit 0; }
# run POLICY [SETTING..]: under rules=shockwave, into $work/out
run() {
  local p=$1 settings=() s
  shift
  for s in rules=shockwave round=120s "batch_throughputs=$dir/throughputs_v100.csv" "batch_schedule=$dir/gns_batch_schedule.csv" "$@"; do settings+=(--set "policy.$p.$s"); done
  "$ORRERY" jobs "$dir/trace120.csv" --cluster 8x4 --policy "$p" "${settings[@]}" \
    --check --no-figures -q --out "$work/out" >/dev/null
}
jcts() {
  awk -F, 'NR == FNR { if (FNR > 1) theirs[$1] = $2; next }
    FNR > 1 { d = $6 - theirs[$1]; if (d < 0) d = -d; if (!($1 in theirs) || d > 1e-6) print "job " $1 ": off by " d; else n++ }
    END { print n + 0 " jobs" }' "$dir/$1.jobs.csv" "$work/out/$2.jobs.csv" | tail -n 5
}
metric() { awk -F, -v m="$1" '$2 == m { printf "%.5f", $3 }' "$work/out/summary.csv"; }
# theirs FILE: worst rho and share of unfair jobs from the column ftf_static, 5 decimals
theirs() { awk -F, 'NR > 1 { if ($3 > w) w = $3; u += $3 > 1.05; n++ } END { printf "%.5f %.5f", w, u / n }' "$dir/$1.jobs.csv"; }

run gandiva-fair
ok $? "F3: the command runs under --check"
is "$(jcts gandiva_fair gandiva-fair)" "120 jobs" "F3: gandiva-fair decides by itself, batches change: every JCT is theirs within 1e-6 s"
is "$(awk -F, 'FNR > 1 { s += $6; if ($5 > e) e = $5 } END { printf "%.4f %.4f", s / 120, e }' "$work/out/gandiva-fair.jobs.csv")" "12574.2725 32367.4344" \
  "F3: mean JCT and makespan"
is "$(metric ftf_static_max) $(metric ftf_unfair)" "$(theirs gandiva_fair)" "F8: the worst rho and the share of unfair jobs"
# F8, job by job: rho = JCT / (exclusive time x max(1, 120 / 32)), rounded to 5 decimals
is "$(awk -F, 'FILENAME ~ /trace120/ { alone[$1] = $8; next } FILENAME ~ /gandiva_fair/ { rho[$1] = $3; next }
  FNR > 1 { d = $6 / (alone[$1] * 120 / 32) - rho[$1]; if (d < 1.01e-5 && -d < 1.01e-5) n++ } END { print n }' \
  "$dir/trace120.csv" "$dir/gandiva_fair.jobs.csv" "$work/out/gandiva-fair.jobs.csv")" 120 "F8: rho of each job"
for a in max_min_fairness max_sum_throughput_perf allox; do
  run gavel allocation=replay "shares=$dir/$a.x.csv"
  is "$(jcts $a gavel)" "120 jobs" "F4: $a: every JCT is theirs under their X"
  is "$(metric ftf_static_max) $(metric ftf_unfair)" "$(theirs $a)" "F8: $a: the worst rho and the share of unfair jobs"
done
# F9: policies that decide without replay.
means=() makespans=() rhos=()
for p in gandiva-fair max-min mst ossp themis; do
  run $p
  means+=("$(metric jct_mean) $p") makespans+=("$(metric makespan) $p") rhos+=("$(metric ftf_static_max) $p")
done
first() { printf '%s\n' "$@" | sort -g | head -n 1 | cut -d' ' -f 2; }
last() { printf '%s\n' "$@" | sort -g | tail -n 1 | cut -d' ' -f 2; }
echo "# mean JCT: ${means[*]}"
echo "# makespan: ${makespans[*]}"
echo "# worst rho: ${rhos[*]}"
is "$(first "${makespans[@]}") $(last "${rhos[@]}")" "ossp ossp" "F9: ossp has the least makespan and the worst rho"
is "$(first "${means[@]}")" mst "F9: mst has the least mean JCT"
is "$(first "${rhos[@]}")" gandiva-fair "F9: gandiva-fair has the least worst rho"

# ---- messages ----
refused() { { "$ORRERY" jobs "$dir/trace120.csv" --cluster 8x4 --policy gandiva-fair --set policy.gandiva-fair.rules=shockwave "$@" >/dev/null; } 2>&1; }
like "$(refused)" "rules=shockwave: expected batch_throughputs=FILE, a CSV file with columns model,batch,gpus,steps_per_s" "no table of speeds"
printf 'model,batch,gpus,steps_per_s\nLM,5,1,-1\n' >"$work/bad.csv"
like "$(refused --set "policy.gandiva-fair.batch_throughputs=$work/bad.csv")" "bad.csv:2: column 4: expected a number of at least 0" "a speed below 0"
printf 'model,batch,gpus,steps_per_s\nVGG,5,1,1\n' >"$work/bad.csv"
like "$(refused --set "policy.gandiva-fair.batch_throughputs=$work/bad.csv")" 'bad.csv:2: model: expected LM, .*found "VGG"' "an unknown model"
tap_done
