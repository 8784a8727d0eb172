#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --record explain in the jobs world: a case by hand for each cause, and sums of parts over all jobs under eight policies.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
include=$(cd "$srcdir" && pwd)/include
plugins=$(cd "$srcdir" && pwd)/tests/plugins
cd "$work" || exit 1

header=job_id,submit_s,duration_s,gpus
# case NAME SUBJECT WANT ARGUMENTS..: checks the sentence about a subject (--job b) of t.csv
case_of() {
  local name=$1 subject=$2 want=$3 said
  shift 3
  rm -f e.db
  said=$("$orrery" jobs t.csv --record explain --db e.db --check -q "$@" 2>&1)
  # shellcheck disable=SC2086
  is "$said$("$orrery" explain e.db $subject 2>&1 | sed -n '1s/^run 1, [^:]*: //p')" "$want" "$name"
}

# ---- waits ----
printf '%s\na,0,100,3\nb,1,10,2\n' $header >t.csv
case_of 'too few free GPUs' '--job b' \
  'job b waited 1 min 39 s: 1 min 39 s behind job a (2 GPUs asked, 1 free); ran 10 s: 10 s compute' --cluster 1x4 --policy fifo
case_of 'a job that starts at once' '--job a' 'job a started at once; ran 1 min 40 s' --cluster 1x4 --policy fifo
printf '%s\na,0,60,1\nb,1,30,1\nc,2,10,1\n' $header >t.csv
case_of 'order: c is first from 60 s on, after b' '--job c' \
  'job c waited 1 min 28 s: 58 s in order after job b, 30 s behind job b (1 GPU asked, 0 free); ran 10 s: 10 s compute' \
  --cluster 1x1 --policy fifo
case_of 'without an order: those who held the GPU in turn' '--job c' \
  'job c waited 1 min 28 s: 58 s behind job a, 30 s behind job b (1 GPU asked, 0 free); ran 10 s: 10 s compute' \
  --cluster 1x1 --policy fjf
case_of 'a job that waits at the end of the run' '--job c' 'job c waited 18 s: 18 s in order after job b' --cluster 1x1 --policy fifo --until 20s
{
  echo $header
  for i in $(seq 0 39); do echo "j$i,$i,60,1"; done
} >t.csv
case_of 'a long queue: 16 jobs in turn by name, the jobs before together' '--job j39' \
  'job j39 waited 38 min 21 s: 22 min 21 s behind earlier jobs, 1 min behind job j23, 1 min behind job j24, 1 min behind job j25, 1 min behind job j26, 12 min for 12 other causes; ran 1 min: 1 min compute' \
  --cluster 1x1 --policy fjf
printf '%s\na,0,100,3\nb,1,50,4\nc,2,200,1\n' $header >t.csv
case_of 'a reservation: c would delay b' '--job c' \
  'job c waited 2 min 28 s: 1 min 38 s reserved for job b, 50 s behind job b (1 GPU asked, 0 free); ran 3 min 20 s: 3 min 20 s compute' \
  --cluster 1x4 --policy easy-backfill
case_of 'conservative backfilling' '--job c' \
  'job c waited 2 min 28 s: 1 min 38 s held back: reservations of earlier jobs, 50 s behind job b (1 GPU asked, 0 free); ran 3 min 20 s: 3 min 20 s compute' \
  --cluster 1x4 --policy conservative-backfill
printf '%s\na,0,1000,1\nb,10,100,1\n' $header >t.csv
case_of 'rounds of 360 s' '--job b' 'job b waited 5 min 50 s: 5 min 50 s held back: next round; ran 1 min 40 s: 1 min 40 s compute' \
  --cluster 1x2 --policy gavel
# Job a is omitted: the rows of the others begin with b.
printf '%s\na,0,10,5\nb,0,100,2\nc,1,10,1\nd,2,10,2\n' $header >t.csv
case_of 'a job that never fits' '--job c' 'job c waited 1 min 39 s: 1 min 39 s behind job b (1 GPU asked, 0 free); ran 10 s: 10 s compute' \
  --cluster 1x2 --policy fifo --drop-unfit
# Three free GPUs and four free cores, but the GPU of n0 has no core.
printf '%s,cpus\na,0,100,1,4\nb,1,10,3,3\n' $header >t.csv
case_of 'fragmented: the free GPUs have no cores' '--job b' \
  'job b waited 1 min 39 s: 1 min 39 s fragmented (3 GPUs asked, 3 free); ran 10 s: 10 s compute' --cluster 2x2:cpus=4 --placement consolidate --policy fifo
printf '%s,cpus\na,0,100,1,4\nb,1,10,1,3\n' $header >t.csv
case_of 'too few cores' '--job b' 'job b waited 1 min 39 s: 1 min 39 s behind job a (3 cores asked, 2 free); ran 10 s: 10 s compute' \
  --cluster 1x2:cpus=6 --policy fifo
printf '%s,mem_mib\na,0,100,1,4096\nb,1,10,1,3072\n' $header >t.csv
case_of 'too little memory' '--job b' 'job b waited 1 min 39 s: 1 min 39 s behind job a (3 GiB asked, 2 free); ran 10 s: 10 s compute' \
  --cluster 1x2:mem=6 --policy fifo
printf '%s,gpu_milli\na,0,100,1,600\nb,1,10,1,500\n' $header >t.csv
case_of 'a shared GPU' '--job b' 'job b waited 1 min 39 s: 1 min 39 s behind job a (1 GPU asked, 0 free); ran 10 s: 10 s compute' \
  --cluster 1x1 --policy fifo

# ---- interruptions, and parts of runs ----
printf '%s\na,0,100,1\nb,10,20,1\n' $header >t.csv
case_of 'preempted: b runs 1 + 20 s; a starts twice and does 5 s more' '--job a' \
  'job a waited 21 s: 21 s preempted, behind job b; ran 1 min 47 s: 1 min 40 s compute, 5 s restore, 2 s start' \
  --cluster 1x1 --policy srtf --set jobs.preempt_cost=5s --set jobs.start_cost=1s
# a runs 10, 20 and 80 s; each of the last two runs begins with the 5 s that the stop before added.
printf '%s\na,0,100,1\nb,10,20,1\nc,50,20,1\n' $header >t.csv
case_of 'preempted twice: each stop is repaid once' '--job a' \
  'job a waited 40 s: 20 s preempted, behind job b, 20 s preempted, behind job c; ran 1 min 50 s: 1 min 40 s compute, 10 s restore' \
  --cluster 1x1 --policy srtf --set jobs.preempt_cost=5s
printf '%s\na,0,10,1\n' $header >t.csv
printf 'time_s,node,event\n4,n0,fail\n6,n0,repair\n' >f.csv
case_of 'evicted: 4 s are lost' '--job a' 'job a waited 2 s: 2 s evicted by node n0; ran 14 s: 10 s compute, 4 s lost work' \
  --cluster 1x1 --policy fifo --failures f.csv
case_of 'evicted: a checkpoint saves 3 of 4 s' '--job a' \
  'job a waited 2 s: 2 s evicted by node n0; ran 11 s: 10 s compute, 1 s lost work' --cluster 1x1 --policy fifo --failures f.csv --set jobs.checkpoint=3s
case_of 'a node' '--node 0' 'node 0 lived 16 s: 14 s in use, 2 s down' --cluster 1x1 --policy fifo --failures f.csv
printf '%s\na,0,10,1\nb,15,10,1\n' $header >t.csv
case_of 'a job that ends with its node' '--job a' 'job a ran 4 s: 4 s lost work' --cluster 1x1 --policy fifo --failures f.csv --set jobs.on_failure=kill
case_of 'an idle node' '--node 0' 'node 0 lived 25 s: 14 s in use, 9 s idle, 2 s down' --cluster 1x1 --policy fifo --failures f.csv --set jobs.on_failure=kill
printf '%s\na,5,10,1\n' $header >t.csv
case_of 'a job that waits for a repair' '--job a' 'job a waited 1 s: 1 s behind node n0 (1 GPU asked, 0 free); ran 10 s: 10 s compute' \
  --cluster 1x1 --policy fifo --failures f.csv

# ---- reasons of plugins ----
if ${CC:-cc} -std=c11 -Wall -Wextra -Werror -shared -fPIC -I"$include" -o late.so "$plugins/late_start.c"; then
  case_of 'a policy without reasons' '--job a' 'job a waited 5 s: 5 s without a named cause; ran 10 s: 10 s compute' \
    --cluster 1x1 --policy ./late.so
  case_of 'a policy that states its reason' '--job a' 'job a waited 5 s: 5 s held back: delay; ran 10 s: 10 s compute' \
    --cluster 1x1 --policy ./late.so --set policy.late-start.says=true
else
  skip 'no C compiler: reasons of plugins'
fi

# ---- sums ----
# By hand: EXPLAIN_TRACE=philly-like EXPLAIN_CLUSTER=64x8 checks all 25,455 jobs.
trace=${EXPLAIN_TRACE:-philly-like:n=1500} cluster=${EXPLAIN_CLUSTER:-16x8}
policies=fifo,srtf,las,las-gpu,easy-backfill,gavel,sjf,conservative-backfill
rm -f e.db a.db
"$orrery" jobs "$trace" --cluster "$cluster" --policy $policies --record explain --db e.db --check -q
ok $? 'jobs under eight policies: the run checks the sums of every job'
ask() { sqlite3 e.db "$1"; }
is "$(ask 'SELECT count(DISTINCT run) FROM parts')" 8 'eight runs'
waits="'queued','fragmented','ordered','reserved','held','preempted','evicted','unnamed'"
sqlite3 e.db "CREATE TABLE sums(key INTEGER PRIMARY KEY, waited INTEGER, ran INTEGER);
  INSERT INTO sums SELECT run << 32 | subject AS key, sum((kind IN ($waits)) * (end_ns - begin_ns)) AS waited,
  sum((kind NOT IN ($waits)) * (end_ns - begin_ns)) AS ran FROM parts WHERE entity = 'job' GROUP BY 1"
is "$(ask 'SELECT count(*) FROM jobs j LEFT JOIN sums s ON s.key = j.key
  WHERE coalesce(s.waited, 0) <> j.wait_ns OR coalesce(s.ran, j.run_ns) <> j.run_ns')" 0 \
  'the parts of every job add up to its wait and its run time, in ns'
is "$(ask 'SELECT count(*) FROM sums WHERE key NOT IN (SELECT key FROM jobs)')" 0 'every part belongs to a job'
is "$(ask 'SELECT count(*) FROM (SELECT begin_ns, lag(end_ns) OVER (PARTITION BY run, entity, subject ORDER BY position) e FROM parts)
  WHERE e IS NOT NULL AND e <> begin_ns')" 0 'parts follow one another without gaps'
is "$(ask "SELECT max(u) <= 0.02 FROM (SELECT sum((kind = 'unnamed') * (end_ns - begin_ns)) * 1.0 / sum(end_ns - begin_ns) u FROM parts
  WHERE kind IN ($waits) GROUP BY run)")" 1 'at most 2 % of the wait has no named cause'
is "$(ask "SELECT max(u) <= 0.03 FROM (SELECT sum((kind = 'unnamed' OR cause = 'other jobs') * (end_ns - begin_ns)) * 1.0 / sum(end_ns - begin_ns) u
  FROM parts WHERE kind IN ($waits) GROUP BY run)")" 1 'at most 3 % if other jobs, which have no name, count too'
"$orrery" jobs "$trace" --cluster "$cluster" --policy srtf --record explain --db b.db -q
"$orrery" jobs "$trace" --cluster "$cluster" --policy srtf --db a.db -q
rows="SELECT number, submit_ns, start_ns, end_ns, wait_ns, run_ns, preemptions FROM jobs; SELECT name, value FROM metrics"
is "$(sqlite3 a.db "$rows" | sha256sum)" "$(sqlite3 b.db "$rows" | sha256sum)" 'recording changes no result'
tap_done
