#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Policy sia, applications with times for each GPU type, and profiles that are learned or wrong: times by hand, constraints of each
# decision, and messages. The integer program itself: tests/oracle/oracle_sia.c.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
header=application,init_batch_size,max_batch_size,min_local_bsz,max_local_bsz,alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma,gpu_type
# An update of 100 samples takes 1 s on type a and 0.5 s on type b. A second GPU gains nothing, because each GPU has at least 100 samples.
printf '%s\n' $header net,100,100,100,100,0.5,0.005,0.15,0,0.05,0,1,a net,100,100,100,100,0.25,0.0025,0.15,0,0.05,0,1,b \
  wide,100,1600,10,100,0.5,0.005,0.15,0,0.05,0,1,a wide,100,1600,10,100,0.25,0.0025,0.15,0,0.05,0,1,b >apps.csv
printf 'application,batch_size,epoch,grad_sqr,grad_var,progress\n' >noise.csv
for b in 100 1600; do printf '%s\n' net,$b,0,1,100,100 net,$b,1,1,100,300 wide,$b,0,1,100,100 wide,$b,1,1,100,6000; done >>noise.csv
# ends TRACE CLUSTER POLICY [OPTION..]: ends of the jobs, s
ends() {
  "$orrery" jobs "$1" --cluster "$2" --policy "$3" --applications apps.csv --noise noise.csv --set jobs.start_cost=30s "${@:4}" \
    --check --no-figures -q --out out >/dev/null 2>err || cat err
  awk -F, 'NR > 1 { printf "%s%.4f", sep, $5; sep = " " } END { print "" }' "out/$3.jobs.csv"
}
printf 'name,time,application,num_replicas,batch_size\ni,0,net,1,100\n' >one.csv
is "$(ends one.csv 1x1:b:speed=1 fifo)" 180.0000 "300 updates of 0.5 s on type b, after a start of 30 s"
is "$(ends one.csv 1x1:a:speed=1,1x1:b:speed=1 sia)" 180.0000 "the type with twice the goodput"
# Both jobs are faster on b. The minimum of the objective is 1 + 0.7071, with one job on each type. The first job ends just after 180 s (one
# GPU has a network time of 1e-8 s), so the second moves to b at 240 s.
printf 'name,time,application,num_replicas,batch_size\ni,0,net,1,100\nj,0,net,1,100\n' >two.csv
# j: 210 updates from 30 to 240 s on a; a move at 240 s: age 240 s, factor 240 / 270, (2 x 0.889)^-0.5 = 0.75 < 1; 90 updates of 0.5 s
is "$(ends two.csv 1x1:a:speed=1,1x1:b:speed=1 sia)" "180.0000 315.0000" "a job moves to the faster type when it is free"
is "$(ends two.csv 1x1:b:speed=1 sia | tr ' ' '\n' | sort -n | tr '\n' ' ')" "180.0000 420.0000 " "one GPU: one after the other"
# A job that requests more GPUs than any type has gets those of one type.
printf 'name,time,application,num_replicas,batch_size\ni,0,net,3,100\n' >wide.csv
like "$(ends wide.csv 1x2:a:speed=1,1x2:b:speed=1 sia)" '^[0-9.]+$' "a request above every type of the cluster"
printf 'submit_s,duration_s,gpus\n0,100,3\n0,100,1\n0,100,2\n' >rigid.csv
"$orrery" jobs rigid.csv --cluster 1x4 --policy sia --check --no-figures -q --out out >/dev/null 2>err || cat err
# The choice has the most jobs, then the fewest GPUs: the jobs on 1 and 2 GPUs are first.
is "$(awk -F, 'NR > 1 { printf "%g ", $5 }' out/sia.jobs.csv)" "220 100 100 " "jobs that do not adapt have the size that they request"

# The sizes that jobs offer need not be powers of two, and need not begin at 1. The first job starts on its 3 GPUs. It continues on 6 when
# the gain exceeds the cost of the move.
printf 'submit_s,duration_s,gpus,speedup\n0,100,3,3:1;6:1.9\n0,100,2,2:1;7:3\n0,100,16,\n0,50,1,1:1;4:2;16:5\n' >sizes.csv
"$orrery" jobs sizes.csv --cluster 4x4 --policy sia --set jobs.start_cost=0s --decisions sizes.out -q --no-figures --out out >/dev/null 2>err || cat err
is "$(awk -F, 'NR > 1 && $9 == "completed" { n++ } END { print n }' out/sia.jobs.csv)" 4 "all jobs end that offer other sizes"
is "$(awk -F, 'NR > 1 && $3 != "" { print $2 ":" split($3, g, " ") }' sizes.out | sort -u | paste -sd' ')" "#0:3 #0:6 #1:2 #1:7 #2:16 #3:1" "and have only these"

# Nodes whose number of GPUs is not a power of two have room for three of four jobs on 4 GPUs. These three are not stopped for the fourth
# and end at 30 + 1000 s. The fourth starts at the next decision, at 1080 s.
printf 'submit_s,duration_s,gpus\n0,1000,4\n0,1000,4\n0,1000,4\n0,1000,4\n' >four.csv
is "$(ends four.csv 3x6 sia | tr ' ' '\n' | sort -n | tr '\n' ' ')" "1030.0000 1030.0000 1030.0000 2110.0000 " "jobs go on where another finds no room"
# The third job runs on one GPU from 30 s on, at a rate of 1 / 1.9 of that on two. The two free GPUs are on different nodes, so it keeps its
# GPU until the others end at 3630 s, and has two at the next decision: 3660 + 30 + 3600 - 3630 / 1.9 s.
printf 'submit_s,duration_s,gpus,speedup\n0,3600,3,\n0,3600,3,\n0,3600,2,1:1;2:1.9\n' >split.csv
is "$(ends split.csv 2x4 sia)" "3630.0000 3630.0000 5379.4737" "a job that finds no room for a larger size keeps its GPUs"
is "$(awk -F, '$2 == "preemptions" { print $3 }' out/summary.csv)" 1 "and is not stopped"
printf 'submit_s,duration_s,gpus\n0,100,6\n' >six.csv
is "$(ends six.csv 1x4,2x1 sia)" 130.0000 "a request that no node holds beside whole nodes is split"

for i in 0 1 2 3 4 5 6 7 8 9; do printf 'j%s,%s,%s,%s,100\n' $i $((i * 40)) "$([ $((i % 2)) = 0 ] && echo wide || echo net)" $((i % 3 + 1)); done >rows
{ printf 'name,time,application,num_replicas,batch_size\n'; cat rows; } >many.csv
mixed=2x4:a:speed=1,2x4:b:speed=1
first=$(ends many.csv $mixed sia)
like "$first" '^[0-9.]+( [0-9.]+){9}$' "all jobs end"
is "$(ends many.csv $mixed sia)" "$first" "the same times again"
like "$(ends many.csv $mixed sia --set policy.sia.rules=sia)" '^[0-9.]+( [0-9.]+){9}$' "rules=sia: all jobs end"
# At every start a job has GPUs of one type: a power of two on one node, or whole nodes; at most twice the largest number that it had
# before.
"$orrery" jobs many.csv --cluster $mixed --policy sia --applications apps.csv --noise noise.csv --set jobs.start_cost=30s --decisions d.csv -q >/dev/null
is "$(awk -F, 'NR > 1 && $3 != "" { n = split($3, g, " "); split("", on); k = 0; for (i = 1; i <= n; i++) if (!on[g[i]]++) k++
  for (x in on) { if (k > 1 && on[x] != 4) print $2 ": part of a node"; if ((x < 2) != (g[1] < 2)) print $2 ": two types" }
  if (k == 1 && n != 1 && n != 2 && n != 4) print $2 ": " n " GPUs"
  if (n > (most[$2] ? 2 * most[$2] : 1)) print $2 ": " n " GPUs after " most[$2]
  if (n > most[$2]) most[$2] = n; starts++; wide += k > 1 } END { print (starts > 12 && wide > 0) ? "enough" : starts " starts, " wide " on several nodes" }' d.csv)" \
  enough "constraints of every decision"

# Two jobs on halves of a GPU and one without GPUs start at once, beside a job on two GPUs (30 s of start, 100 s of work). The last job finds
# one whole GPU, and starts at the decision at 180 s.
printf 'submit_s,duration_s,gpus,gpu_milli\n0,100,1,500\n0,100,1,500\n0,100,2,1000\n0,50,0,\n0,100,2,1000\n' >parts.csv
is "$(ends parts.csv 1x4 sia)" "130.0000 130.0000 130.0000 80.0000 310.0000" "jobs on parts of GPUs and without GPUs"
# More jobs than the program of 2,000 nodes could order in minutes: the decision is exact, and takes milliseconds.
timeout 60 "$orrery" jobs philly-like:days=1 --policy sia --cluster 16x8 --check -q --no-figures --out out >/dev/null 2>err || cat err
is "$(awk -F, 'NR > 1 { n[$9]++ } END { for (s in n) print s }' out/sia.jobs.csv)" completed "a backlog of jobs that do not adapt"

# ---- CPUs and memory, of which the program knows nothing ----
# Two jobs of 6 CPUs on a node with 8: one after the other, in rounds of 60 s, beside the third job (30 s of start each).
printf 'submit_s,duration_s,gpus,cpus\n0,100,2,6\n0,100,2,6\n0,100,1,1\n' >cpus.csv
is "$(ends cpus.csv 1x4:cpus=8 sia --placement consolidate | tr ' ' '\n' | sort -n | tr '\n' ' ')" "130.0000 130.0000 310.0000 " "jobs wait for CPUs"
printf 'submit_s,duration_s,gpus,cpus\n0,100,2,6\n' >wide.csv
is "$(ends wide.csv 2x4:cpus=4 sia --placement spread)" 130.0000 "a job that lacks CPUs on one node is placed by the rule of the run"
printf 'submit_s,duration_s,gpus,cpus,speedup\n0,600,1,4,1:1;2:2;4:4\n' >grow.csv
like "$(ends grow.csv 1x4:cpus=8 sia --placement consolidate)" '^[0-9.]+$' "a job whose larger size lacks CPUs goes on with a smaller one"
printf 'submit_s,duration_s,gpus,cpus,model\n0,100,1,3,wide\n0,100,1,3,wide\n' >adapt.csv
for p in sia pollux; do
  like "$(ends adapt.csv 2x4:a:speed=1:cpus=8 $p --placement consolidate)" '^[0-9.]+ [0-9.]+$' "$p: jobs that adapt share the CPUs of two nodes"
done

# ---- nodes that are given notice ----
for p in sia pollux; do
  like "$(ends many.csv 6x4:a:speed=1 $p --capacity churn:slots=6,rate=20,length=30d --set capacity.notice=90s --set capacity.startup=40s)" \
    '^[0-9.]+( [0-9.]+){9}$' "$p starts no job on a node that is given notice"
done

# ---- profiles ----
is "$(ends many.csv $mixed sia --set belief=wrong)" "$first" "wrong by an error of 0: as known"
wrong=$(ends many.csv $mixed sia --set belief=wrong --set belief_error=0.7)
is "$wrong" "$(ends many.csv $mixed sia --set belief=wrong --set belief_error=0.7)" "a wrong profile is drawn by the seed"
ok "$([ "$wrong" != "$first" ]; echo $?)" "and changes decisions"
like "$(ends many.csv $mixed sia --set belief=learned)" '^[0-9.]+( [0-9.]+){9}$' "learned profiles: all jobs end"
refused() { out=$("$orrery" jobs one.csv --cluster 1x1:a --applications apps.csv --noise noise.csv --policy sia "$@" 2>&1 >/dev/null); echo "$? $out"; }
is "$(refused --set belief_error=0.1)" "2 orrery: belief_error: this option has no effect: expected belief=wrong too" "an error without belief=wrong"
sed -i 's/^net,100,100,100,100,0.25/net,50,100,50,100,0.25/' apps.csv
is "$(refused)" "2 orrery: apps.csv:3: net on b: init_batch_size, max_batch_size, min_local_bsz: expected those of the first row of the application" "batches of another type"
tap_done
