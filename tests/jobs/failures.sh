#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Nodes that fail and return, under every policy for jobs that need no further input. The ends are computed by hand. A job whose node fails
# loses its work.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1

# settings POLICY: decisions every 10 s, with which all events of the traces coincide
settings() {
  case $1 in
  gavel | gandiva | gandiva-fair | isolated | max-min | mst | ossp | themis | muri | elasticflow | shockwave) echo "--set policy.$1.round=10s" ;;
  optimus) echo "--set policy.optimus.interval=0s" ;;
  esac
}
# ends POLICY FAILURES TRACE: the ends of the jobs, s, and the number of restarts. FAILURES: rows of time_s,node,event with blanks between
ends() {
  printf 'time_s,node,event\n%s\n' "$(tr ' ' '\n' <<<"$2")" >f.csv
  printf 'job_id,submit_s,duration_s,gpus,user\n%s\n' "$(tr ' ' '\n' <<<"$3")" >t.csv
  # shellcheck disable=SC2046 # two words
  "$orrery" jobs t.csv --cluster 2x1 --policy "$1" $(settings "$1") --failures f.csv --check --no-figures -q --out out >/dev/null 2>err || cat err
  echo "$(awk -F, 'NR > 1 { printf "%g ", $5 }' "out/$1.jobs.csv")$(awk -F, '$2 == "restarts" { print $3 }' out/summary.csv)"
}

every='fifo fjf sjf qssf smallest-gpu srtf srtf-gpu easy-backfill conservative-backfill las las-gpu gavel allox gandiva gandiva-fair isolated max-min mst
  ossp themis drf gittins optimus spot-market shockwave muri elasticflow'
for p in $every; do
  case $p in
  # Between 30 and 60 s, a has two rounds and b one.
  gavel | gandiva-fair | isolated | max-min) want='110 150 1' ;;
  # Then a has 70 s of work left and b 100 s: b has the greater share (10/17 and 0.54) and two of the three rounds.
  ossp | themis) want='120 140 1' ;;
  # Between 30 and 60 s, a and b share a GPU at half speed.
  gandiva) want='115 145 1' ;;
  *) want='100 160 1' ;;
  esac
  # b loses 30 s of work and starts again when its node returns at 60 s.
  is "$(ends "$p" '30,n1,fail 60,n1,repair' 'a,0,100,1,u b,0,100,1,v')" "$want" "$p: a job returns with its node"
  # A job on both nodes waits for the second one.
  is "$(ends "$p" '0,n1,fail 50,n1,repair' 'a,0,100,2,u')" "150 0" "$p: a job waits for a node"
  # It loses 30 s of work, and the node is back at 40 s.
  is "$(ends "$p" '30,n0,fail 40,n0,repair' 'a,0,100,2,u')" "140 1" "$p: a job that loses one of two nodes"
done

# Both nodes fail and never return: the run ends, also if the policy sets timers for ever.
for p in $every; do
  is "$(ends "$p" '20,n0,fail 30,n1,fail' 'a,0,10,1,u b,0,50,1,u')" "10 0 1" "$p: a job without nodes stays unfinished"
done

# Jobs a and b start at 0 s, c waits from 10 s on; the node of b is down from 30 to 200 s. All jobs are of one user.
three='a,0,100,1,u b,0,100,1,u c,10,50,1,u' down='30,n1,fail 200,n1,repair'
# b is ahead of c again: it runs from 100 to 200 s.
for p in fifo fjf smallest-gpu easy-backfill conservative-backfill drf optimus spot-market elasticflow; do
  is "$(ends "$p" "$down" "$three")" "100 200 250 1" "$p: a job whose node failed keeps its place"
done
# c runs from 100 to 150 s because it is shorter; or, by attained service, because b arrives again at 30 s.
for p in sjf qssf allox las las-gpu gittins; do
  is "$(ends "$p" "$down" "$three")" "100 250 150 1" "$p: the job that waited goes first"
done
# At 10 s c stops b, which has 90 s left. At 30 s c loses 20 s of work and stops a, which has 70 s left: c to 80 s, a to 150 s, b to 240 s.
for p in srtf srtf-gpu muri; do
  is "$(ends "$p" "$down" "$three")" "150 240 80 1" "$p: the least remaining time, after the loss"
done
# The last trace again: a note of the run states what a lost node costs.
like "$("$orrery" jobs t.csv --cluster 2x1 --policy fifo --failures f.csv --no-figures --out out 2>&1)" 'a lost node costs all work since the last start' \
  "the cost of a lost node"

# A policy that sets timers and starts no job: without GPUs a job costs less than with one.
text=$("$ORRERY" jobs t.csv --cluster 2x1 --policy sia --set policy.sia.lambda=0 2>&1)
like "$? $text" '^1 .*policy sia: job a at .*3 jobs wait, no job runs, and 100000 timers in a row have started none' "timers without end"

# Rounds that are shorter than a start: no job ever does any work.
text=$("$ORRERY" jobs t.csv --cluster 1x1 --policy gavel --set policy.gavel.round=10s --set jobs.start_cost=10s 2>&1)
like "$? $text" '^1 .*policy gavel: job . at .* 100000 stops in a row, each before the job had done any work: expected .*jobs.start_cost' "only starts"

# A job of 60,000 h on two nodes that fail every 1,000 h never ends.
printf 'submit_s,duration_s,gpus\n0,216000000,2\n' >endless.csv
text=$("$ORRERY" jobs endless.csv --cluster 2x1 --policy fifo --set failures.mtbf=1000h --set failures.mttr=1h 2>&1)
like "$? $text" '^2 .*146 years.* lost work to node failures [0-9]+ times: expected checkpoints \(--set jobs.checkpoint=1h\)' \
  "a job that never ends: the cause and the remedy"
tap_done
