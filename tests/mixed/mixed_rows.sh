#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A small mixed run whose rows, metrics, series and events are compared completely with values computed by hand.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [10000]}' >slow.json
printf 'submit_s,duration_s,gpus\n0,100,2\n10,50,1\n' >j.csv
printf 'arrival_s\n5\n30\n' >r.csv
printf 'time_s,node,event\n20,n1,fail\n40,n1,repair\n' >f.csv
cat >m.json <<'EOF'
{"world": "mixed", "cluster": "2x2:a100", "jobs": {"trace": "j.csv", "jobs": {"checkpoint": "4s"}}, "policies": ["fifo+fifo"], "prices": {"a100": 3.6},
 "serve": {"trace": "r.csv", "models": ["slow.json"], "deployments": [{"replicas": 1}]}, "failures": {"trace": "f.csv"}}
EOF
metrics() { awk -F, '$2 !~ /events$|^metric$/ { printf "%s=%.9g\n", $2, $3 }' "$1/summary.csv"; }
series() { awk -F, 'NR > 1 && ($2 != n || $3 != v) { printf "%s@%g=%g\n", $2, $1, $3; n = $2; v = $3 }' "$1/fifo+fifo.series.csv" | grep "$2"; }
words() { tr ' ' '\n' <<<"$1" | grep .; }

# A replica has a GPU of n0 until its last answer at 40 s. Job 0 has n1, loses it at 20 s with all of its work
# saved, and runs again from 40 to 120 s. Job 1 has the other GPU of n0 from 10 to 60 s.
"$orrery" run m.json --check --no-figures -q --out o --db x.db
is "$? $(cut -d, -f1-9 o/fifo+fifo.jobs.csv | tail -n 2)" "0 0,2,0.000000000,0.000000000,120.000000000,120.000000000,20.000000000,0,completed
1,1,10.000000000,10.000000000,60.000000000,50.000000000,0.000000000,0,completed" "rows of jobs"
is "$(tail -n 2 o/fifo+fifo.requests.csv)" "0,5.000000000,15.000000000,15.000000000,0.000000000,0,slow,1,0,completed,0
1,30.000000000,40.000000000,40.000000000,0.000000000,0,slow,1,0,completed,0" "rows of requests"
is "$(tail -n 1 o/fifo+fifo.replicas.csv)" "0,0,slow,1,n0:1,0.000000000,0.000000000,40.000000000,over" "the replica"
is "$(sqlite3 x.db "SELECT time_ns / 1000000000, kind, subject, detail FROM events WHERE kind IN ('start', 'finish', 'stop', 'evict', 'node-fail', 'node-repair')")" \
  "0|start|0|n1:2
10|start|1|n0:1
20|node-fail|1|n1
20|evict|0|node-failed
40|node-repair|1|n1
40|start|0|n1:2
60|finish|1|
120|finish|0|" "events of both parts, once each"
# GPU-seconds: the jobs have 2 x 10 + 3 x 10 + 20 + 3 x 20 + 2 x 60 = 250, the replica 40, all nodes 4 x 120 - 2 x
# 20 = 440. One GPU of n0 is stranded from 0 to 10 and from 40 to 60 s. The speeds are 1 / 1.2 and 1. While job 0 is
# present, 170 / 120 jobs are present on average.
is "$(metrics o)" "$(words "jobs_gpu_hours=0.0694444444 jobs_usd=0.25 serve_gpu_hours=0.0111111111 serve_usd=0.04 idle_gpu_hours=0.0416666667 idle_usd=0.15
gpu_hours=0.122222222 usd=0.44 serve.completion_mean=10 serve.completion_p50=10 serve.completion_p90=10 serve.completion_p99=10
serve.completion_max=10 serve.sample_completion_mean=10 serve.queue_mean=0 serve.queue_p50=0 serve.queue_p99=0 serve.duration=35
serve.throughput=0.0571428571 serve.goodput=0.0571428571 serve.requests=2 serve.requests_completed=2 serve.requests_refused=0 serve.requests_shed=0
serve.requests_unfinished=0 serve.refused_context=0 serve.refused_kv_cache=0 serve.refused_batch_size=0 serve.refused_memory=0
serve.refused_no_replica=0 serve.refused_policy=0 serve.shed_queue_limit=0 serve.shed_deadline=0 serve.shed_policy=0 serve.preemptions=0
serve.restarts=0 serve.stacked_runs=0 serve.utilisation=0.5 serve.in_system_mean=0.571428571 serve.in_system_max=1
serve.replica_hours=0.0111111111 serve.gpu_hours=0.0111111111 serve.memory_use_mean=0 serve.memory_use_max=0 serve.padding_share=0 serve.lost_work=0
serve.replicas_lost=0 serve.usd=0.04 serve.usd_per_million_samples=20000 jobs.jct_mean=85 jobs.jct_p50=85 jobs.jct_p95=116.5 jobs.jct_p99=119.3
jobs.jct_max=120 jobs.wait_mean=10 jobs.wait_p50=10 jobs.wait_p99=19.8 jobs.slowdown_mean=1.1 jobs.slowdown_p99=1.198 jobs.makespan=120
jobs.utilisation=0.520833333 jobs.gpu_hours=0.0694444444 jobs.queue_length_mean=0.166666667 jobs.queue_length_max=1 jobs.stranded_gpus=0
jobs.fragmentation=0.0625 jobs.jain_slowdown=0.991803279 jobs.ftf_mean=1.1 jobs.ftf_max=1.2 jobs.ftf_static_mean=1.1 jobs.ftf_static_max=1.2 jobs.ftf_unfair=0.5 jobs.jobs=2 jobs.jobs_completed=2 jobs.jobs_killed=0
jobs.jobs_failed=0 jobs.jobs_unfinished=0 jobs.jobs_refused=0 jobs.preemptions=0 jobs.migrations=0 jobs.restarts=1
jobs.lost_gpu_hours=0")" "all metrics"
is "$(series o ^gpus | tr '\n' ' ')" "gpus_jobs@0=2 gpus_jobs@10=3 gpus_jobs@20=1 gpus_jobs@40=3 gpus_jobs@60=2 gpus_serve@0=1 gpus_serve@40=0 gpus_idle@0=1 gpus_idle@10=0 gpus_idle@40=1 gpus_idle@60=2 " \
  "GPUs of jobs, of replicas and of nobody over time"
is "$(series o queue_length | tr '\n' ' ')" "jobs.queue_length@0=0 jobs.queue_length@20=1 jobs.queue_length@40=0 " "a series of a part"

# GPU-seconds until 50 s: the jobs have 20 + 30 + 20 + 30, all nodes 4 x 50 - 40.
"$orrery" run m.json --check --no-figures -q --out u --until 50s
is "$(metrics u | grep -E '^(jobs_gpu_hours|serve_gpu_hours|idle_gpu_hours|gpu_hours|jobs.jobs_unfinished|serve.requests_unfinished|jobs.gpu_hours)=')" \
  "$(words "jobs_gpu_hours=0.0277777778 serve_gpu_hours=0.0111111111 idle_gpu_hours=0.00555555556 gpu_hours=0.0444444444 serve.requests_unfinished=0
jobs.gpu_hours=0.0277777778 jobs.jobs_unfinished=2")" "accounts at an earlier end"
# Until 35 s the replica is busy with the second request.
"$orrery" run m.json --check --no-figures -q --out v --until 35s
is "$(metrics v | grep -E '^(jobs_gpu_hours|serve_gpu_hours|gpu_hours|serve.requests_unfinished|serve.requests_completed)=')" \
  "$(words "jobs_gpu_hours=0.0180555556 serve_gpu_hours=0.00972222222 gpu_hours=0.0305555556 serve.requests_completed=1 serve.requests_unfinished=1")" "and before the end of the service"

# With 5 s of notice, n1 is fenced at 15 s and its job runs on until n1 fails. Rows and accounts are unchanged.
sed 's/"models"/"serve": {"notice": "5s"}, &/' m.json >n.json
"$orrery" run n.json --check --no-figures -q --out n
is "$? $(cmp o/fifo+fifo.jobs.csv n/fifo+fifo.jobs.csv; cmp o/fifo+fifo.requests.csv n/fifo+fifo.requests.csv)$(metrics n | diff - <(metrics o))" "0 " "a failure that is known before"
# Jobs 0 and 1 have one GPU of n1 each and lose it at 20 s with 20 and 8 s of work saved. Job 2 gets n0 at 40 s,
# after the service.
printf 'submit_s,duration_s,gpus\n0,100,1\n10,50,1\n16,5,1\n' >k.csv
sed 's/j\.csv/k.csv/; s/"replicas": 1/"replicas": 1, "tp": 2/' n.json >k.json
"$orrery" run k.json --check --no-figures -q --out k
is "$? $(cut -d, -f1,4,5 k/fifo+fifo.jobs.csv | tail -n 3 | tr '\n' ' ')" "0 0,0.000000000,120.000000000 1,10.000000000,82.000000000 2,40.000000000,45.000000000 " "jobs on a node that was given notice"
# The replica has one GPU until 20 s; the job has the other one until 100 s.
cat >p.json <<'EOF'
{"world": "mixed", "cluster": "1x2:a100", "jobs": {"trace": "one.csv"}, "policies": ["fifo+fifo"], "first": "serve", "prices": {"a100": 3.6},
 "serve": {"trace": "late.csv", "models": ["slow.json"], "deployments": [{"replicas": 1}]}, "failures": {"trace": "g.csv"}}
EOF
printf 'submit_s,duration_s,gpus\n0,100,1\n' >one.csv
printf 'arrival_s\n10\n' >late.csv
printf 'time_s,node,event\n500,n0,fail\n' >g.csv
"$orrery" run p.json --check --no-figures -q --out p
is "$? $(metrics p | grep -E '^(reclaims|jobs_reclaimed|jobs_gpu_hours|serve_gpu_hours|idle_gpu_hours|gpu_hours)=' | tr '\n' ' ')" \
  "0 jobs_gpu_hours=0.0277777778 serve_gpu_hours=0.00555555556 idle_gpu_hours=0.0222222222 gpu_hours=0.0555555556 reclaims=0 jobs_reclaimed=0 " "priority that is not needed takes nothing"
tap_done
