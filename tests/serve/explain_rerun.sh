#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 200 sampled causes of waits of requests, each confirmed by another run: without the blamed request, or, where no request is blamed, with
# twice the replicas. The wait of the request must become shorter. Some waits do not: another request of the queue may take the memory that
# the blamed request held. There is a single replica, because a router would send all later requests elsewhere if one were missing.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1

"$orrery" trace synth poisson:rate=6,n=600,prompt=200-2000,output=50-400 --to requests -o all.csv --seed 3 >/dev/null || exit 1
serve() { # TRACE REPLICAS POLICY DB ARGS..
  local trace=$1 n=$2 policy=$3 db=$4
  shift 4
  "$orrery" serve "$trace" --model llama2-7b --cluster "1x$n:a100-80g" --replicas "$n" --policy "$policy" --kv-blocks 3000 \
    --db "$db" -q --no-figures "$@"
}
# wait_of ID: time from the arrival to the first iteration, in s
wait_of() { sqlite3 r.db "SELECT queue_s FROM requests WHERE coalesce(request_id, number) = '$1'"; }
confirmed=0 sampled=0
for policy in vllm sarathi orca fastertransformer; do
  rm -f e.db
  serve all.csv 1 "$policy" e.db --record explain --check || exit 1
  sqlite3 -separator ' ' e.db "SELECT coalesce(q.request_id, q.number), q.queue_s, p.kind, p.cause, max(p.end_ns - p.begin_ns)
    FROM parts p JOIN requests q ON q.number = p.subject
    WHERE p.entity = 'request' AND p.kind IN ('queued', 'memory', 'held', 'preempted') AND p.begin_ns < (q.arrival_s + q.queue_s) * 1e9 - 1
    GROUP BY p.subject ORDER BY (p.subject * 7919) % 1009 LIMIT 50" >causes
  while read -r id wait kind cause name rest; do
    rm -f r.db
    sampled=$((sampled + 1))
    if [ "$cause" = request ]; then
      grep -v "^$name," all.csv >less.csv
      serve less.csv 1 "$policy" r.db
    else
      serve all.csv 2 "$policy" r.db
    fi
    new=$(wait_of "$id")
    if awk "BEGIN { exit !(${new:-1e9} < $wait) }"; then
      confirmed=$((confirmed + 1))
    else
      echo "# $policy: request $id: $kind $cause $name ($rest): $wait s, then ${new:-none}"
    fi
  done <causes
done
is "$sampled" 200 "200 causes are sampled"
echo "# confirmed: $confirmed of $sampled"
[ "$confirmed" -ge 190 ]
ok $? "at least 95 % of the causes are confirmed by a run without them"
tap_done
