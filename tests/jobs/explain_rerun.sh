#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 200 sampled causes of waits, each confirmed by another run: without the blamed job, or, where no job is blamed, with twice the nodes.
# The wait of the job must become shorter. Some waits do not: without one job, another large job may be the first of the queue, or others
# may run in a worse order (Graham 1969).
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

"$orrery" trace synth philly-like:n=400,load=4 -o all.csv --seed 3 >/dev/null || exit 1
# An id per row, so that jobs keep their names when one is left out.
head -1 all.csv | grep -q '^job_id' || { awk -F, -v OFS=, 'NR == 1 { print "job_id", $0; next } { print "j" NR - 2, $0 }' all.csv >t.csv && mv t.csv all.csv; }
cluster=6x8 policies=(fifo fjf srtf las easy-backfill)

# wait_of JOB: the wait in ns of a job in the database r.db
wait_of() { sqlite3 r.db "SELECT wait_ns FROM jobs WHERE coalesce(job_id, number) = '$1'"; }
confirmed=0 sampled=0
for policy in "${policies[@]}"; do
  rm -f e.db
  "$orrery" jobs all.csv --cluster $cluster --policy "$policy" --record explain --db e.db --check -q || exit 1
  # The longest part of the wait of 40 jobs.
  sqlite3 -separator ' ' e.db "SELECT coalesce(j.job_id, j.number), j.wait_ns, p.kind, coalesce(p.cause, '-'), max(p.end_ns - p.begin_ns)
    FROM parts p JOIN jobs j ON j.number = p.subject WHERE p.entity = 'job' AND p.kind NOT IN ('compute', 'start', 'restored', 'lost')
    GROUP BY p.subject ORDER BY (p.subject * 7919) % 1009 LIMIT 40" >causes
  while read -r job wait kind cause name rest; do
    rm -f r.db
    sampled=$((sampled + 1))
    if [ "$cause" = job ]; then
      grep -v "^$name," all.csv >less.csv
      "$orrery" jobs less.csv --cluster $cluster --policy "$policy" --db r.db -q
    else
      "$orrery" jobs all.csv --cluster 12x8 --policy "$policy" --db r.db -q
    fi
    new=$(wait_of "$job")
    if [ "${new:-$wait}" -lt "$wait" ]; then
      confirmed=$((confirmed + 1))
    else
      echo "# $policy: job $job: $kind $cause $name ($rest): $wait ns, then ${new:-none}"
    fi
  done <causes
done
is "$sampled" 200 '200 causes are sampled'
echo "# confirmed: $confirmed of $sampled"
[ "$confirmed" -ge 170 ]
ok $? 'at least 85 % of the causes are confirmed by a run without them'
tap_done
