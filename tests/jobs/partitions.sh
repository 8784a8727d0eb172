#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Partitions with quotas, borrowing and reclaiming, and limits per user (docs/models/jobs-partitions.md): cases by hand, causes of waits,
# messages, and a law: without borrowing, under a placement that counts GPUs, each partition is a separate cluster.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# ends TRACE CLUSTER POLICY [OPTION..]: ends of the jobs, s
ends() {
  "$orrery" jobs "$1" --cluster "$2" --policy "$3" "${@:4}" --check --no-figures -q --out out >/dev/null 2>err || cat err
  awk -F, 'NR > 1 { printf "%s%g", sep, $5; sep = " " } END { print "" }' "out/$3.jobs.csv"
}
metric() { awk -F, -v m="$1" '$2 == m { printf "%g", $3 }' out/summary.csv; }

# ---- quotas ----
printf 'submit_s,duration_s,gpus,queue\n0,100,4,a\n0,100,4,a\n0,100,4,a\n0,100,4,b\n' >t.csv
is "$(ends t.csv 2x8 fifo)" "100 100 100 100" "without quotas all jobs start"
is "$(ends t.csv 2x8 fifo --partitions a=8,b=8)" "100 100 200 100" "a third job exceeds the quota of a; it does not block b"
is "$(ends t.csv 2x8 fifo --partitions 'a=8,*=8')" "100 100 200 100" "* is the partition of all other queues"
is "$(ends t.csv 2x8 fifo --partitions a=4,b=4)" "100 200 300 100" "quotas below the cluster"
printf 'gpus,partition\n8,a\n8,b\n' >quotas.csv
is "$(ends t.csv 2x8 fifo --partitions quotas.csv)" "100 100 200 100" "quotas from a file"
# Each partition has its own order: srtf runs the shortest job of a first.
printf 'submit_s,duration_s,gpus,queue\n0,100,4,a\n1,10,4,a\n1,50,4,b\n' >order.csv
is "$(ends order.csv 1x8 srtf --partitions a=4,b=4)" "110 11 51" "srtf within each partition"

# ---- borrowing ----
# a starts four jobs at once, two on the idle quota of b. At 10 s b wants its 8 GPUs.
printf 'submit_s,duration_s,gpus,queue\n0,100,4,a\n0,100,4,a\n0,100,4,a\n0,100,4,a\n10,100,8,b\n' >lent.csv
is "$(ends lent.csv 2x8 fifo --partitions a=8,b=8)" "100 100 200 200 110" "no borrowing"
is "$(ends lent.csv 2x8 fifo --partitions a=8,b=8 --set jobs.borrow=on)" "100 100 100 100 200" "reclaim=wait: b waits for borrowing jobs"
is "$(metric borrowed_part) $(metric reclaimed)" "0.333333 0" "8 of 16 GPUs are borrowed for 100 s of 200 s: 800 of 2,400 GPU s"
# preempt: at 10 s jobs 2 and 3 stop. From 100 s on they have their 90 s left, and 5 s of cost.
preempt=(--set jobs.borrow=on --set jobs.reclaim=preempt --set jobs.preempt_cost=5s)
is "$(ends lent.csv 2x8 fifo --partitions a=8,b=8 "${preempt[@]}")" "100 100 195 195 110" "reclaim=preempt: the latest borrowing jobs stop for b"
is "$(metric reclaimed) $(metric preemptions)" "2 2" "and are counted"
# 4 of the 8 GPUs are enough for a job of 4 GPUs: one job stops, the one with the larger number.
sed 's/10,100,8,b/10,100,4,b/' lent.csv >half.csv
is "$(ends half.csv 2x8 fifo --partitions a=8,b=8 "${preempt[@]}")" "100 100 100 195 110" "no more jobs stop than needed"
# b stops no job for GPUs beyond its quota: a has 8 GPUs, b has 8, and the second job of b waits.
printf 'submit_s,duration_s,gpus,queue\n0,100,8,a\n0,100,8,b\n10,100,4,b\n' >own.csv
is "$(ends own.csv 2x8 fifo --partitions a=8,b=8 "${preempt[@]}")" "100 100 200" "a job beyond its quota stops no job"
# All quotas are in use, and none is borrowed.
printf 'submit_s,duration_s,gpus,queue\n0,100,2,b\n0,50,1,a\n0,50,1,a\n' >exact.csv
is "$(ends exact.csv 1x4 fifo --partitions a=2,b=2 --set jobs.borrow=on)" "100 50 50" "all quotas can be used at once"
# A quota that waiting jobs request is not lent. At 100 s GPUs are kept for b, whose job of 8 GPUs starts at 120 s, and not given to the
# short jobs of a.
printf 'submit_s,duration_s,gpus,queue\n0,100,4,a\n0,120,4,a\n0,200,8,a\n10,100,8,b\n20,10,4,a\n' >first.csv
is "$(ends first.csv 2x8 fifo --partitions a=8,b=8 --set jobs.borrow=on)" "100 120 200 220 210" "quota that its partition requests is not lent"
# A job larger than the quota of its partition waits until the idle quotas of all partitions suffice.
printf 'submit_s,duration_s,gpus,queue\n0,50,4,b\n0,100,16,a\n' >large.csv
is "$(ends large.csv 2x8 fifo --partitions a=8,b=8 --set jobs.borrow=on)" "50 150" "a job larger than its quota borrows"
printf 'submit_s,duration_s,gpus,queue\n0,100,16,a\n0,10,8,a\n0,100,16,b\n0,10,8,b\n' >both.csv
is "$(ends both.csv 2x8 fifo --partitions a=8,b=8 --set jobs.borrow=on | tr ' ' '\n' | sort -n | tail -1)" 220 "two such jobs at the head of two queues"

# a has both its jobs on two GPUs, three of the four GPUs borrowed, and b wants its quota. The third job of a bids more for a GPU than the second
# GPU of the others is worth, so these shrink at 20 s, with 30 s of their work done. b gets what they give up, but has room at 990 s only.
printf 'submit_s,duration_s,gpus,queue,speedup\n0,1000,1,a,1:1;2:1.5\n0,1000,1,a,1:1;2:1.5\n10,50,3,b,\n20,10,1,a,\n' >shrink.csv
is "$(ends shrink.csv 1x4 spot-market --partitions a=1,b=3 --set jobs.borrow=on)" "990 990 1040 1000" "a job of a partition above its quota may shrink"

# ---- limits per user ----
printf 'submit_s,duration_s,gpus,user\n0,100,1,u\n0,100,1,u\n0,100,1,v\n0,100,1,\n0,100,1,\n' >users.csv
is "$(ends users.csv 1x8 fifo --set jobs.user_jobs=1)" "100 200 100 100 100" "user_jobs=1; jobs without a user have no limit"
is "$(metric jobs_held)" 1 "the number of jobs that were held back"
printf 'submit_s,duration_s,gpus,user\n0,100,2,u\n0,100,2,u\n0,10,1,u\n0,100,4,v\n' >gpus.csv
is "$(ends gpus.csv 1x16 fifo --set jobs.user_gpus=4)" "100 100 110 100" "user_gpus=4: a held job does not block other users"
is "$(ends gpus.csv 1x16 sjf --set jobs.user_gpus=4)" "100 100 110 100" "jobs of a user are held back in order of submission"
is "$(ends gpus.csv 1x16 srtf --set jobs.user_gpus=3 --drop-unfit )" "100 200 110" "under a preemptive policy; a job that exceeds the limit is left out"
printf 'submit_s,duration_s,gpus,user,speedup\n0,100,1,u,1:1;2:2;4:4\n0,100,1,u,1:1;2:2;4:4\n' >wide.csv
is "$(ends wide.csv 8x1 optimus --set jobs.user_gpus=2 --set policy.optimus.interval=0s)" "50 100" "an elastic job counts with its largest size within the limit"

# ---- causes of waits ----
# case_of WANT NUMBER ARGUMENTS..
case_of() {
  rm -f e.db
  "$orrery" jobs "${@:3}" --record explain --db e.db --check -q 2>err || cat err
  is "$("$orrery" explain e.db --job "$2" 2>&1 | sed -n '1s/^run 1, [^:]*: //p')" "$1" "cause: ${1#job*: }"
}
case_of 'job 2 waited 1 min 40 s: 1 min 40 s within the quota of a (4 GPUs asked, 0 left); ran 1 min 40 s: 1 min 40 s compute' 2 \
  t.csv --cluster 2x8 --policy fjf --partitions a=8,b=8
case_of 'job 1 waited 1 min 40 s: 1 min 40 s within the limit of its user; ran 1 min 40 s: 1 min 40 s compute' 1 \
  users.csv --cluster 1x8 --policy fifo --set jobs.user_jobs=1
case_of 'job 3 waited 1 min 30 s: 1 min 30 s preempted, behind job 4; ran 1 min 45 s: 1 min 40 s compute, 5 s restore' 3 \
  half.csv --cluster 2x8 --policy fjf --partitions a=8,b=8 "${preempt[@]}"

# ---- scenarios, messages ----
like "$("$orrery" jobs t.csv --cluster 2x8 --policy fifo --partitions 'A=2,C=6,*=8' 2>&1)" '^partitions without a job: A, C; their quotas of 8 GPUs stay idle$' \
  "names that no queue of the trace has"
"$orrery" scenario show t.csv --cluster 2x8 --policy fifo --partitions a=8,b=8 --set jobs.borrow=on >show.json 2>err || cat err
like "$(tr -d '\n\t ' <show.json)" '"partitions":"a=8,b=8".*"borrow":"on"' "a scenario holds the quotas"
is "$("$orrery" run show.json --check -q --no-figures --out again && cut -d, -f5 again/fifo.jobs.csv | paste -sd' ')" \
  "end_s 100.000000000 100.000000000 100.000000000 100.000000000" "and gives the same run"
hash_of() { "$orrery" jobs t.csv --cluster 2x8 --policy fifo --partitions "$1" --json -q | grep -o '"hash":[[:space:]]*"[0-9a-f]*"' | head -1; }
ok "$([ "$(hash_of quotas.csv)" != "$(sed -i s/8,a/4,a/ quotas.csv; hash_of quotas.csv)" ]; echo $?)" "the quotas of a file are part of the run's hash"
refused() { local out; out=$("$orrery" jobs t.csv --cluster 2x8 --policy fifo "$@" 2>&1 >/dev/null); echo "$? $out"; }
is "$(refused --partitions a=8)" "2 orrery: t.csv:5: job 3 is in queue b: expected the queue of each job in --partitions, or *=GPUS for all other jobs" "an unknown queue"
is "$(refused --partitions a=8,b=x)" '2 orrery: partitions "a=8,b=x": expected NAME=GPUS,.. such as research=64,*=16, or a file, found "b=x"' "no number"
is "$(refused --partitions a=8,a=8)" "2 orrery: partitions: two quotas of partition a: expected one" "a partition twice"
printf 'partition,gpus\na,8\nb,-1\n' >bad.csv
like "$(refused --partitions bad.csv)" '^2 orrery: bad.csv:3: gpus: expected ' "a wrong row of a file"
is "$(refused --partitions a=12,b=12 --set jobs.borrow=on)" \
  "2 orrery: partitions: the quotas sum to 24 GPUs: expected at most 16, those of the cluster, with jobs.borrow=on" "more quota than GPUs"
is "$(refused --partitions a=2,b=8)" \
  "2 orrery: t.csv:2: job 0 requests 4 GPUs and can never be placed on this cluster within its limits, and so do 2 others: expected a larger --cluster, quota or limit, or --drop-unfit, which omits such jobs" "a quota smaller than a job"
sed 's/queue/user/' t.csv >users.csv
like "$("$orrery" jobs users.csv --cluster 2x8 --policy fifo --set jobs.user_gpus=2 2>&1)" \
  '^orrery: users.csv:2: job 0 requests 4 GPUs and can never be placed on this cluster within its limits, and so do 3 others' "a user limit smaller than a job"
printf 'time_s,job,gpus\n' >d.csv
like "$(refused --policy replay --set policy.replay.decisions=d.csv --partitions a=8,b=8)" \
  '2 orrery: partitions: policy replay decides for all jobs together: expected another policy' "a policy that decides for all jobs"
is "$(refused --capacity churn:slots=2 --partitions a=8,b=8)" "2 orrery: partitions: expected a cluster without lent nodes (capacity)" "lent nodes"

# ---- every policy on random traces ----
cat >gen.awk <<'EOT'
BEGIN { srand(seed); print "submit_s,duration_s,gpus,user,queue,priority"
  for (i = 0; i < n; i++) { t += -60 * log(1 - rand()); g = 2 ^ int(4 * rand())
    printf "%.3f,%.3f,%d,u%d,%s,%d\n", t, 1 - 1000 * log(1 - rand()), g, 6 * rand(), substr("abc", 1 + int(rand() * 3), 1), 3 * rand() } }
EOT
all=$("$orrery" policy list --kind jobs | awk '$1 && NR > 1 && $1 !~ /^(pollux|replay|shockwave)$/ { print $1 }' | paste -sd,)
like "$all" "fifo.*gavel.*sia.*muri" "the list of policies includes all policies of jobs"
options=("" "--set jobs.borrow=on" "--set jobs.borrow=on --set jobs.reclaim=preempt --set jobs.preempt_cost=5s" "--set jobs.user_jobs=3 --set jobs.user_gpus=12")
clusters=(4x8 4x8:x:speed=1,4x4:y:speed=0.5 8x4 3x6,2x8)
placements=(count consolidate best-fit)
traces_of=200
[ "${ORR_SANITIZED:-0}" = 1 ] && traces_of=8
bad=
for seed in $(seq $traces_of); do
  awk -v n=20 -v seed="$seed" -f gen.awk >r.csv
  cluster=${clusters[seed / 4 % 4]} policies=$all
  [ "${cluster#*:}" = "$cluster" ] && policies=$all,shockwave # one GPU type
  # shellcheck disable=SC2086
  said=$("$orrery" jobs r.csv --cluster "$cluster" --policy "$policies" --partitions a=8,b=14,c=8 ${options[seed % 4]} \
    --placement ${placements[seed % 3]} --check -q --no-figures --record metrics --out random 2>&1) || bad+="trace $seed: $said"$'\n'
  bad+=$(awk -F, -v seed="$seed" '$2 == "jobs_unfinished" && $3 > 0 { print "trace " seed ": " $1 " leaves jobs" }' random/summary.csv)
done
is "$bad" "" "$traces_of random traces: all jobs end under every policy, and no law is violated"

# ---- parts of GPUs ----
# A partition of all GPUs changes nothing, also if jobs hold parts of GPUs; --check compares the views of several partitions with searches.
printf 'submit_s,duration_s,gpus,gpu_milli,queue\n0,100,1,700,a\n1,50,1,1000,a\n1,300,2,1000,a\n' >parts.csv
is "$(ends parts.csv 1x4 srtf --partitions a=4)" "100 51 301" "a GPU of which a job holds a part counts: the job of 2 GPUs starts"
some=fifo,smallest-gpu,srtf,las-gpu,easy-backfill,drf,gavel,gandiva
bad=
for seed in 1 2 3 4; do
  awk -v n=40 -v seed=$seed -f gen.awk | awk -F, 'NR == 1 { print $0 ",gpu_milli" } NR > 1 { print $0 "," ($3 > 1 ? 1000 : 1 + NR * 370 % 1000) }' >r.csv
  run=("$orrery" jobs r.csv --cluster "${clusters[seed % 2]}" --placement "${placements[seed % 3]}" --policy "$some" --check -q --no-figures)
  "${run[@]}" --out plain 2>&1 && "${run[@]}" --out whole --partitions "*=$((seed % 2 ? 48 : 32))" 2>&1
  for p in ${some//,/ }; do
    cmp -s <(cut -d, -f1-5 plain/$p.jobs.csv) <(cut -d, -f1-5 whole/$p.jobs.csv) || bad+="trace $seed: $p"$'\n'
  done
  # shellcheck disable=SC2086
  bad+=$("${run[@]}" --out random --partitions a=8,b=14,c=8 ${options[seed % 3]} 2>&1)
done
is "$bad" "" "jobs on parts of GPUs: a partition of all GPUs gives the same times, and no law is violated"

# ---- each partition is a separate cluster ----
# apart TRACE CLUSTER QUOTA POLICIES: compares the partitions of the run with runs of their jobs alone on QUOTA GPUs each
apart() {
  local queues q p
  queues=$(awk -F, 'NR > 1 { print $5 }' "$1" | sort -u)
  "$orrery" jobs "$1" --cluster "$2" --policy "$4" --partitions "*=0,$(sed "s/\$/=$3/" <<<"$queues" | paste -sd,)" --check -q --no-figures --out whole 2>&1
  for q in $queues; do
    awk -F, -v q="$q" 'NR == 1 || $5 == q' "$1" >alone.csv
    "$orrery" jobs alone.csv --cluster "1x$3" --policy "$4" --check -q --no-figures --out alone 2>&1
    for p in ${4//,/ }; do
      cmp -s <(awk -F, -v q="$q" 'NR == FNR { of[FNR - 2] = $5; next } FNR > 1 && of[$1] == q { print $5 }' "$1" "whole/$p.jobs.csv") \
        <(awk -F, 'NR > 1 { print $5 }' alone/$p.jobs.csv) || echo "$p differs in $q"
    done
  done
}
awk -v n=150 -v seed=7 -f gen.awk >apart.csv
is "$(apart apart.csv 1x48 16 fifo,fjf,sjf,smallest-gpu,srtf,srtf-gpu,las,las-gpu,gittins,easy-backfill,conservative-backfill,drf,allox)" "" \
  "without borrowing, partitions equal separate clusters: 13 policies"

# The virtual clusters of the Philly trace (column cluster), 20 days.
trace=$traces/philly/philly.csv.gz
if need "$trace"; then
  "$orrery" trace slice "$trace" --until 20d --rebase --sort -o sorted.csv 2>/dev/null
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "submit_s,duration_s,gpus,user,queue"; next }
    { print $at["submit_s"] "," $at["duration_s"] "," $at["gpus"] ",," $at["queue"] }' sorted.csv >philly.csv
  [ "${ORR_SANITIZED:-0}" = 1 ] && sed -i 2000q philly.csv
  n=$(awk -F, 'NR > 1' philly.csv | cut -d, -f5 | sort -u | wc -l)
  is "$(apart philly.csv 1x$((64 * n)) 64 fifo,srtf,las,easy-backfill)" "" "$n virtual clusters of Philly with 64 GPUs each equal separate clusters"
  list=$(awk -F, 'NR > 1 { print $5 }' philly.csv | sort -u | sed 's/$/=64/' | paste -sd,)
  "$orrery" jobs philly.csv --cluster $((8 * n))x8 --policy fifo,srtf,easy-backfill --partitions "$list" --set jobs.borrow=on --set jobs.reclaim=preempt --check \
    -q --no-figures --out lent 2>err || cat err
  ok "$(awk -F, '$2 == "borrowed_part" && $3 > 0' lent/summary.csv | wc -l | sed 's/3/0/')" "with borrowing: the laws hold, and each policy borrows"
fi
tap_done
