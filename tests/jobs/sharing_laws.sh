#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Conservation laws on random traces with stages, occupancies, memory, deadlines, sizes and users: every policy of the jobs world ends every
# job, and --check finds no GPU in two groups, no memory exceeded and no work lost. pollux has traces of jobs that adapt; replay repeats the
# decisions of a policy that shares GPUs, with the same ends. ORRERY_TRACES: number of traces (default 40; 200 before a release).
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
list=$(realpath "${srcdir:-.}/policies/jobs/policies.def")
cd "$work" || exit 1
traces=${ORRERY_TRACES:-40}
[ "${ORR_SANITIZED:-}" != 1 ] || traces=4
# pollux and replay: below.
policies=$("$orrery" policy list --kind jobs | awk 'NR > 1 && NF && $1 != "replay" && $1 != "pollux" && $1 ~ /^[a-z][a-z-]*$/ { printf "%s%s", sep, $1; sep = "," }')
like "$policies" ',gandiva,.*,muri,elasticflow,' "the policies are listed"
is "$(tr , '\n' <<<"$policies,pollux,replay" | tr - _ | sort | paste -sd,)" "$(grep -o '(.*)' "$list" | tr -d '()' | sort | paste -sd,)" \
  "with pollux and replay they are all policies of the jobs world"
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
header=application,init_batch_size,max_batch_size,min_local_bsz,max_local_bsz,alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma
printf '%s\n' $header wide,100,1600,10,100,0.05,0.005,0.15,0.01,0.05,0.002,1.5 net,64,64,16,64,0.02,0.001,0.4,0,0.1,0,1 >apps.csv
{
  echo application,batch_size,epoch,grad_sqr,grad_var,progress
  for e in 0 1 2; do for b in 100 1600; do echo wide,$b,$e,1,$((10 + 90 * e)),$((200 * (e + 1))); done; echo net,64,$e,1,9,$((400 * (e + 1))); done
} >noise.csv
adapting() {
  awk -v seed="$1" 'BEGIN { srand(seed); print "name,time,application,num_replicas,batch_size"
    n = 4 + int(rand() * 12); for (i = 0; i < n; i++) { wide = rand() < 0.7; t += int(rand() * 120)
      printf "j%d,%d,%s,%d,%d\n", i, t, wide ? "wide" : "net", 1 + int(rand() * 4), wide ? 100 * (1 + int(rand() * 4)) : 64 } }'
}
# check TRACE-NUMBER POLICIES ARGUMENTS..: runs, and counts the violations
check() {
  local i=$1 left
  if ! "$orrery" jobs "${@:3}" --policy "$2" --check --no-figures -q --out out >/dev/null 2>err; then
    bad=$((bad + 1))
    echo "# trace $i: $(head -c 400 err)"
  fi
  left=$(awk -F, '$2 == "jobs_unfinished" && $3 > 0 { n++ } END { print n + 0 }' out/summary.csv)
  [ "$left" = 0 ] || { bad=$((bad + 1)); echo "# trace $i: $left policies left jobs"; }
}
bad=0
shares=0
replayed=0
for ((i = 1; i <= traces; i++)); do
  trace "$i" >t.csv
  cluster=2x4:v100
  ((i % 3)) || cluster=1x8:v100,1x4:p100
  ((i % 5)) || cluster=2x8:v100:cpus=16
  these=$policies
  [[ $cluster != *,* ]] || these=${policies/,shockwave/} # which takes all GPUs as equal
  base=(t.csv --cluster "$cluster" --drop-unfit --interference "${models[i % 4]}" --set jobs.preempt_cost=3s)
  check "$i" "$these" "${base[@]}"
  shares=$((shares + $(awk -F, '$2 == "shared_starts" { n += $3 } END { print n + 0 }' out/summary.csv)))
  p=$([ $((i % 2)) = 1 ] && echo muri || echo gandiva)
  check "$i" "$p" "${base[@]}" --decisions d.csv
  cut -d, -f 1-6,9 "out/$p.jobs.csv" >ends.csv
  check "$i" replay "${base[@]}" --set policy.replay.decisions=d.csv
  cut -d, -f 1-6,9 out/replay.jobs.csv | cmp -s - ends.csv && replayed=$((replayed + 1))
  adapting "$i" >a.csv
  check "$i" pollux,sia,fifo,optimus,gandiva-fair a.csv --cluster "$([ $((i % 2)) = 1 ] && echo 3x4 || echo 2x4,1x2)" --applications apps.csv --noise noise.csv \
    --set jobs.start_cost=10s --set policy.pollux.population=20 --set policy.pollux.generations=10
done
is "$bad" 0 "$traces random traces, all policies: the laws hold and every job ends"
[ "$shares" -gt $((traces * 5)) ]
ok $? "jobs shared GPUs $shares times"
is "$replayed" "$traces" "the decisions of gandiva and muri are replayed with the same ends"
tap_done
