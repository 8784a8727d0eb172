#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --record explain in the step world, from the command line to the sentence: a link with twice the bandwidth shortens an iteration whose
# path is communication, and leaves one whose path is computation as it is.
. "${srcdir:-.}/tests/tap.sh"

# step DB BANDWIDTH ARGUMENTS.. runs VGG-16 under all-reduce on four nodes.
step() {
  local db=$1 bw=$2; shift 2
  "$ORRERY" step vgg16 --cluster 4x1:v100 --network "star:bw=$bw,lat=0" --policy allreduce --db "$work/$db" -q --no-figures "$@" >/dev/null 2>"$work/err"
}

# time_of DB KIND prints the time of the parts of iteration 3 with this kind, in ns.
time_of() {
  sqlite3 "$work/$1" "SELECT coalesce(sum(end_ns - begin_ns), 0) FROM parts WHERE subject = 3 AND entity = 'iteration' AND kind LIKE '$2'"
}

step slow.db 10Gbps --record explain
is $? 0 'a run with --record explain'
like "$("$ORRERY" explain "$work/slow.db" --step 3)" \
  'iteration 3 took 707 ms: 664 ms communication all-reduce among 4 devices over host0.up \(all-reduce layers 31..32; an op waits for stream 1 of device 0\), 40.9 ms compute forward on GPU 0' \
  'the sentence of an iteration bound by communication'
wrong=$(sqlite3 "$work/slow.db" "SELECT count(*) FROM iterations i WHERE i.end_s * 1e9 - i.start_s * 1e9 - (SELECT sum(p.end_ns - p.begin_ns) FROM parts p WHERE p.subject = i.number) NOT BETWEEN -2 AND 2")
is "$wrong" 0 'all iterations, repeated ones too, have parts that add up'
is "$(sqlite3 "$work/slow.db" 'SELECT count(DISTINCT subject) FROM parts')" 20 'as many iterations as were requested'

step fast.db 20Gbps --record explain
slow=$(time_of slow.db %) fast=$(time_of fast.db %) blamed=$(time_of slow.db communication)
gain=$((slow - fast))
[ "$gain" -gt $((blamed * 2 / 5)) ] && [ "$gain" -le $((blamed / 2 + 1000)) ]
is $? 0 "twice the bandwidth saves $gain ns of $blamed ns communication"
step bound.db 1000Gbps --record explain
step free.db 2000Gbps --record explain
like "$("$ORRERY" explain "$work/bound.db" --step 3)" 'took 13[0-9] ms: 88[.0-9]* ms compute backward on GPU 0, 40.9 ms compute forward on GPU 0' \
  'the sentence of an iteration bound by computation'
gain=$(($(time_of bound.db %) - $(time_of free.db %))) blamed=$(time_of bound.db communication)
[ "$gain" -ge 0 ] && [ "$gain" -le $((blamed / 2 + 1000)) ]
is $? 0 "bound by computation, twice the bandwidth saves at most half of the $blamed ns of communication ($gain ns)"

# Without the word nothing changes.
step plain.db 10Gbps
step all.db 10Gbps --record all
is "$("$ORRERY" db digest "$work/all.db")" "$("$ORRERY" db digest "$work/plain.db")" '--record all is the default'
is "$(sqlite3 "$work/plain.db" 'SELECT count(*) FROM parts')" 0 'without --record explain there are no parts'
step plain.db 10Gbps --record explain
is "$(sqlite3 "$work/plain.db" 'SELECT count(*) FROM runs')" 2 'a run with parts is another run'
"$ORRERY" explain "$work/plain.db" --step 400 2>"$work/err"
is $? 2 'an iteration that does not exist is an error'
like "$(cat "$work/err")" 'no iteration 400 with parts' 'the message names it'
"$ORRERY" step vgg16 --cluster 4x1:v100 --policy allreduce --record summary 2>"$work/err"
is $? 2 'the step world keeps no samples'
like "$(cat "$work/err")" 'record: expected all, metrics or explain' 'the message lists what it accepts'
step metrics.db 10Gbps --record metrics
step metrics.db 10Gbps
is "$(sqlite3 "$work/metrics.db" 'SELECT r.run, (SELECT count(*) FROM iterations i WHERE i.run = r.run) > 0 FROM runs r ORDER BY r.run' | xargs)" '1|0 2|1' \
  '--record metrics keeps no rows, and is another run'
is "$(sqlite3 "$work/metrics.db" 'SELECT count(*) FROM metrics a JOIN metrics b ON a.name = b.name AND a.run = 1 AND b.run = 2 WHERE a.value IS NOT b.value')" 0 \
  'its metrics are the same'
tap_done
