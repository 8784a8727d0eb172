#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Conservation laws on random traces with stages, occupancies, memory, deadlines, sizes and users: every policy of the jobs world ends every
# job, and --check finds no GPU in two groups, no memory exceeded and no work lost. ORRERY_TRACES: number of traces (default 40).
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
traces=${ORRERY_TRACES:-40}
[ "${ORR_SANITIZED:-}" != 1 ] || traces=4
# replay needs a file of decisions, pollux jobs that adapt.
policies=$("$orrery" policy list --kind jobs | awk 'NR > 1 && NF && $1 != "replay" && $1 != "pollux" && $1 ~ /^[a-z][a-z-]*$/ { printf "%s%s", sep, $1; sep = "," }')
like "$policies" ',gandiva,.*,muri,elasticflow,' "the policies are listed"
models=(auto stages occupancy slices)
trace() {
  awk -v seed="$1" 'BEGIN { srand(seed)
    print "submit_s,duration_s,gpus,iterations,stages,occupancy,gpu_mem_mib,deadline_s,user,queue,speedup,limit_s"
    n = 8 + int(rand() * 17); t = 0
    for (i = 0; i < n; i++) { t += int(rand() * 300); g = 2 ^ int(rand() * 4); d = 1 + int(rand() * 2000); it = 1 + int(rand() * 500)
      printf "%d,%d,%d,%d,", t, d, g, it
      if (rand() < 0.8) printf "%.3f;%.3f;%.3f", rand(), rand() + 0.001, rand()
      printf ",%s,%d,%s,u%d,q%d,", rand() < 0.7 ? sprintf("%.2f", 0.05 + 0.9 * rand()) : "", rand() * 9000,
        rand() < 0.6 ? t + int(d * (1 + 3 * rand())) : "", rand() * 3, rand() * 2
      if (rand() < 0.4) printf "%d:1;%d:1.7", g, 2 * g
      printf ",%d\n", d * (1 + rand()) } }'
}
bad=0
shares=0
for ((i = 1; i <= traces; i++)); do
  trace "$i" >t.csv
  cluster=2x4:v100
  ((i % 3)) || cluster=1x8:v100,1x4:p100
  ((i % 5)) || cluster=2x8:v100:cpus=16
  these=$policies
  [[ $cluster != *,* ]] || these=${policies/,shockwave/} # which takes all GPUs as equal
  if ! "$orrery" jobs t.csv --cluster "$cluster" --drop-unfit --policy "$these" --interference "${models[i % 4]}" --set jobs.preempt_cost=3s \
    --check --no-figures -q --out out >/dev/null 2>err; then
    bad=$((bad + 1))
    echo "# trace $i: $(head -c 400 err)"
  fi
  shares=$((shares + $(awk -F, '$2 == "shared_starts" { n += $3 } END { print n + 0 }' out/summary.csv)))
  left=$(awk -F, '$2 == "jobs_unfinished" && $3 > 0 { n++ } END { print n + 0 }' out/summary.csv)
  [ "$left" = 0 ] || { bad=$((bad + 1)); echo "# trace $i: $left policies left jobs"; }
done
is "$bad" 0 "$traces random traces, all policies: the laws hold and every job ends"
[ "$shares" -gt $((traces * 5)) ]
ok $? "jobs shared GPUs $shares times"
tap_done
