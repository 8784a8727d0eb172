#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs that adapt their batch: work and speed by hand, the policies pollux and replay, and messages.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# Batch 100. A pass of b samples takes 0.5 + 0.005 b s, an exchange within a node 0.05 s, between nodes 0.15 s; gamma 1: times add up.
header=application,init_batch_size,max_batch_size,min_local_bsz,max_local_bsz,alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma
printf '%s\n' $header net,100,100,10,100,0.5,0.005,0.15,0,0.05,0,1 big,100,800,10,100,0.5,0.005,0.15,0,0.05,0,1 >apps.csv
printf 'application,batch_size,epoch,grad_sqr,grad_var,progress\n' >noise.csv
for app in net big; do for b in 100 800; do printf '%s\n' $app,$b,0,1,100,100 $app,$b,1,1,100,300; done; done >>noise.csv
printf 'name,time,application,num_replicas,batch_size\nj,0,net,1,100\n' >one.csv
# ends TRACE CLUSTER POLICY [OPTION..]: ends of the jobs, s
ends() {
  "$orrery" jobs "$1" --cluster "$2" --policy "$3" --applications apps.csv --noise noise.csv --set jobs.start_cost=30s "${@:4}" \
    --check --no-figures -q --out out >/dev/null 2>err || cat err
  awk -F, 'NR > 1 { printf "%s%.4f", sep, $5; sep = " " } END { print "" }' "out/$3.jobs.csv"
}
# One GPU: 300 updates of 1 s after a start of 30 s.
is "$(ends one.csv 1x4 fifo)" 330.0000 "two epochs on one GPU"
# Two GPUs of a node from 150 s on: 120 updates are done, the others take 0.75 + 0.05 s each after another start.
printf 'time_s,job,nodes\n0,j,0\n150,j,0 0\n' >more.csv
decide=(--set policy.replay.decisions=more.csv)
is "$(ends one.csv 1x4 replay "${decide[@]}")" 324.0000 "more GPUs in the second epoch"
is "$(cut -d, -f 8 out/replay.jobs.csv | tail -n 1)" 1 "a change is one preemption"
# Two nodes: 0.75 + 0.15 s. The job waits from 150 to 200 s.
printf 'time_s,job,nodes\n0,j,0\n150,j,\n200,j,1 0\n' >two.csv
is "$(ends one.csv 2x2 replay --set policy.replay.decisions=two.csv)" 392.0000 "a wait, and two nodes"
# Measured times: 0.5 s per update on two GPUs of a node at a batch of 50 per GPU, between 0.4 s at 40 and 0.6 s at 60.
printf 'application,placement,local_bsz,step_time_s,sync_time_s\nnet,2,40,0.4,0.1\nnet,2,60,0.6,0.1\nnet,1,100,1,0\n' >times.csv
is "$(ends one.csv 1x4 replay "${decide[@]}" --step-times times.csv)" 270.0000 "measured step times, linear in the batch"
"$orrery" jobs one.csv --cluster 1x4 --policy replay "${decide[@]}" --applications apps.csv --noise noise.csv --step-times <(sed 2d times.csv) >out.txt 2>&1
like "$(cat out.txt)" "goodput of their applications, 1 times by the fitted model" "steps without a measured time are counted"
# Whole seconds: updates of 1.004 s; the first epoch ends after round(100.4) s, the second after round(200.8) s more.
sed 's/net,100,100,10,100,0.5,0.005/net,100,100,10,100,0.504,0.005/' apps.csv >slow.csv
run() { "$orrery" jobs one.csv --cluster 1x4 --policy fifo --applications slow.csv --noise noise.csv "$@" --check --no-figures -q --out out >/dev/null && awk -F, 'NR > 1 { printf "%.4f", $5 }' out/fifo.jobs.csv; }
is "$(run) $(run --set epoch_ends=seconds)" "301.2000 301.0000" "epochs that end in whole seconds"
# Noise of 100 x the squared norm: large batches are almost as efficient per sample, so the job takes the largest.
printf 'name,time,application,num_replicas,batch_size\nj,0,big,8,100\n' >big.csv
# fixed: 300 updates of 0.5 + 0.005 x 13 + 0.05 s at 104 samples; adapt: fewer, larger updates
fixed=$(ends big.csv 1x8 fifo --set batches=fixed) adapt=$(ends big.csv 1x8 fifo)
is "$(awk -v f="$fixed" -v a="$adapt" 'BEGIN { phi = 100 * 100; g = 104 / 100 * (phi + 100) / (phi + 104)
  want = 30 + 300 / g * (0.5 + 0.005 * 13 + 0.05); print (f - want < 1e-3 && want - f < 1e-3) ? "equal" : f " " want }')" equal "the batch of the trace, split over 8 GPUs"
is "$(awk -v f="$fixed" -v a="$adapt" 'BEGIN { phi = 100 * 100; g = 8 * (phi + 100) / (phi + 800)
  want = 30 + 300 / g * (0.5 + 0.005 * 100 + 0.05); print (a - want < 1e-3 && want - a < 1e-3) ? "equal" : a " " want }')" equal "the best batch: 100 samples on each GPU"

# ---- pollux ----
for i in 0 1 2 3 4 5 6 7; do printf 'j%s,%s,%s,%s,100\n' $i $((i * 40)) "$([ $((i % 2)) = 0 ] && echo big || echo net)" $((i % 3 + 1)); done >rows
{ printf 'name,time,application,num_replicas,batch_size\n'; cat rows; } >many.csv
first=$(ends many.csv 3x4 pollux)
like "$first" '^[0-9.]+( [0-9.]+){7}$' "pollux: all jobs end"
is "$(ends many.csv 3x4 pollux)" "$first" "pollux: the same times again"
is "$(ends many.csv 3x4 pollux --set policy.pollux.seed=2 | wc -w)" 8 "pollux: another seed"
# At every instant, a node has GPUs of at most one job that spans nodes. A job gets at most twice the largest number of GPUs that it had
# before.
"$orrery" jobs many.csv --cluster 3x4 --policy pollux --applications apps.csv --noise noise.csv --set jobs.start_cost=30s --db d.db -q
for f in applications:apps.csv noise:noise.csv; do
  is "$(sqlite3 d.db "SELECT text FROM scenarios" | tr -d ' ' | grep -o "\"${f%:*}_sha256\":\"[0-9a-f]*\"" | cut -d'"' -f4)" "$(sha256sum "${f#*:}" | cut -d' ' -f1)" \
    "the database has the SHA-256 of the ${f%:*}"
done
is "$(sqlite3 -separator ' ' d.db "SELECT time_ns, kind, subject, detail FROM events WHERE kind IN ('start', 'stop', 'finish')" | awk '
  function check(k, n, j, w) { for (k in nodes) { w = 0; for (j in held) if ((j, k) in on && held[j] > 1) w++; if (w > 1) print "node " k ": " w " jobs span nodes" } }
  $1 != now { check(); now = $1 }
  $2 != "start" { for (k in nodes) delete on[$3, k]; delete held[$3]; next }
  { n = split($4, part, ","); held[$3] = n; sum = 0
    for (i = 1; i <= n; i++) { split(part[i], x, ":"); on[$3, x[1]] = x[2]; nodes[x[1]] = 1; sum += x[2]; wide += n > 1 }
    if (sum > (largest[$3] ? 2 * largest[$3] : 1)) print "job " $3 ": " sum " GPUs after " largest[$3]
    if (sum > largest[$3]) largest[$3] = sum; starts++ }
  END { check(); print (starts > 8 && wide > 0) ? "enough" : starts " starts, " wide " on several nodes" }')" enough "pollux: constraints of its search"
like "$(ends big.csv 2x4 pollux)" '^[0-9.]+$' "pollux: a job alone grows from one GPU"
# A job of age 0 gains nothing by a start, so it starts at the second search.
is "$(ends one.csv 1x1 pollux)" 390.0000 "pollux: one GPU"
is "$(ends one.csv 1x1 pollux --set policy.pollux.interval=7m)" 750.0000 "pollux: searches are at multiples of the interval, from 0"
# ---- partitions ----
awk -F, -v OFS=, 'NR == 1 { print $0, "queue"; next } { print $0, NR % 3 ? "a" : "b" }' many.csv >queues.csv
is "$(ends queues.csv 3x4 pollux --partitions '*=12')" "$first" "pollux: one partition with all GPUs changes nothing"
for p in pollux sia; do
  is "$(ends queues.csv 3x4 $p --partitions a=8,b=4 | wc -w)" 8 "$p: all jobs of two partitions end"
done
"$orrery" trace convert queues.csv -o kept.csv 2>/dev/null
is "$(ends kept.csv 3x4 pollux --partitions a=8,b=4)" "$(ends queues.csv 3x4 pollux --partitions a=8,b=4)" "a converted trace gives the same run"
like "$("$orrery" jobs kept.csv --cluster 3x4 --policy fifo 2>&1)" 'has no duration: expected' "and without --applications its jobs have no duration"

for p in optimus las srtf easy-backfill drf gavel allox max-min; do
  is "$(ends many.csv 3x4 $p | wc -w)" 8 "$p: all jobs that adapt end"
done

printf 'name,time,application,num_replicas,batch_size\nj,0,net,8,100\n' >wide.csv
for p in fifo las srtf gavel; do like "$(ends wide.csv 1x2 $p)" '^[0-9.]+$' "$p: a job that requests more GPUs than there are runs on fewer"; done

# ---- messages ----
refused() {
  out=$("$orrery" jobs "$@" 2>&1 >/dev/null)
  echo "$? $out"
}
base=(one.csv --cluster 1x4 --applications apps.csv --noise noise.csv)
is "$(refused one.csv --cluster 1x4 --policy fifo)" \
  "2 orrery: job 0 (line 2 of the trace): has no duration: expected a model and a strategy, --throughputs FILE, or --applications FILE with its model" "no model of its speed"
is "$(refused one.csv --cluster 1x4 --policy fifo --applications apps.csv)" \
  "2 orrery: applications: expected noise (--noise FILE) too: the gradient by epoch and batch" "applications without noise"
is "$(refused one.csv --cluster 1x4 --policy fifo --set batches=fixed)" \
  "2 orrery: batches: this option has no effect: expected applications (--applications FILE) too" "an option without applications"
sed '/net,800,1/d; /net,100,1/d; s/net,800,0,1,100,100/net,800,2,1,100,100/' noise.csv >gap.csv
is "$(refused one.csv --cluster 1x4 --policy fifo --applications apps.csv --noise gap.csv)" "2 orrery: gap.csv: application net: expected rows of epoch 1 too" "a gap in the epochs"
grep -v '^big' noise.csv >part.csv
is "$(refused one.csv --cluster 1x4 --policy fifo --applications apps.csv --noise part.csv)" \
  "2 orrery: part.csv: application big has no rows: expected one per epoch and batch" "an application without noise"
printf 'submit_s,duration_s,gpus\n0,10,1\n' >rigid.csv
like "$(refused rigid.csv "${base[@]:1}" --policy pollux)" "^1 orrery: policy pollux: job 0.* pollux: the job does not adapt: expected --applications with its model" "pollux: a job without a model"
like "$(refused "${base[@]/1x4/1x2:a:speed=1,1x2:b:speed=2}" --policy pollux --set jobs.reference_type=a)" \
  "^2 .*pollux: expected a cluster with one GPU type" "pollux: two types"
like "$("$orrery" jobs rigid.csv "${base[@]:1}" --policy fifo)" "applications has no effect: no job names an application" "a remark if no job adapts"
like "$(refused "${base[@]}" --policy replay)" "replay: expected policy.replay.decisions=FILE" "replay: no file"
bad() {
  printf 'time_s,job,nodes\n%s\n' "$1" >bad.csv
  refused "${base[@]}" --policy replay --set policy.replay.decisions=bad.csv
}
like "$(bad '0,j,0,0')" 'bad.csv:2: nodes: expected numbers of nodes separated by blanks, beside JOB, or kill, found "0,0"' "replay: a wrong list"
like "$(bad 'x,j,0')" 'bad.csv:2: time_s: expected a number of seconds from 0, found "x"' "replay: a wrong time"
like "$(bad '5,j,0
1,j,0')" 'bad.csv:3: time_s: expected a time of at least that of the previous row' "replay: out of order"
like "$(bad '0,j,7')" 'decisions:2: job j: expected numbers of nodes of the cluster' "replay: an unknown node"
like "$(bad '0,j,0 0 0 0 0')" 'job j at 0.0* s: start: over-allocation' "replay: more GPUs than the node has"
printf 'job,time_s\n' >bad.csv
like "$(refused "${base[@]}" --policy replay --set policy.replay.decisions=bad.csv)" "bad.csv:1: expected the header time_s,job,nodes" "replay: a wrong header"
tap_done
