#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery db show, check, diff, vacuum; and runs that keep only their metrics
. "${srcdir:-.}/tests/tap.sh"
make_store=$(realpath "$top_builddir/tests/results/make_store")
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
command -v sqlite3 >/dev/null || { skip 'no sqlite3'; tap_done; exit; }
"$make_store" a.db 1 2 3; "$make_store" b.db 3 1

# ---- show ----

text=$("$orrery" db show a.db); ok $? 'show describes a file'
like "$text" '^schema +8$' 'with its schema'
like "$text" '^runs +3$' 'the number of its runs'
like "$text" '^size +[0-9]+ bytes, of which 0 are free$' 'its size'
like "$text" '^jobs +policy-2 +1 +30$' 'and the runs and rows of each policy'
text=$("$orrery" db show a.db --run 2); ok $? 'show describes a run'
like "$text" '^label +policy-2$' 'with its label'
like "$text" '^hash +hash-of-2$' 'its hash'
like "$text" 'stored: jobs 30 metrics 10 events 56 series 3 \(90 points\)' 'the rows of each table'
like "$text" '^jct_mean +1055.71429 +1005.21429 +1106.21429$' 'its metrics with their intervals'
like "$text" '^ +cluster +64x8:v100$' 'and its scenario'
like "$("$orrery" db show a.db --run 9 2>&1)" 'no run 9: expected a run' 'a run that the file lacks is an error'

# ---- check ----

is "$("$orrery" db check a.db)" 'a.db: 3 runs, no damage' 'an undamaged file'
# damage STATEMENT FINDING: one change to a copy of a.db is found
damage() {
  cp a.db bad.db
  sqlite3 bad.db "$1"
  text=$("$orrery" db check bad.db 2>err); is $? 1 "damage: $1"
  like "$text" "$2" 'is found, with its run and table'
  like "$(cat err)" 'bad.db: the database is damaged \([0-9]+ findings' 'and counted'
  rm bad.db
}
damage 'UPDATE metrics SET value = value * 1.5 WHERE run = 2 AND position = 1' '^run 2 \(policy-2\): table metrics differs from its checksum$'
damage 'DELETE FROM jobs WHERE key = (3 << 32) + 7' '^run 3 \(policy-3\): table jobs differs from its checksum$'
damage 'UPDATE series_points SET value = 1 WHERE run = 1 AND point = 3' '^run 1 \(policy-1\): table series'
damage "UPDATE runs SET seed = '9' WHERE run = 1" '^run 1 \(policy-1\): table runs differs'
damage 'INSERT INTO metrics(run, position, name, value) VALUES(8, 0, "lost", 1)' 'metrics.*run 8'
cp a.db bad.db
printf 'damaged' | dd of=bad.db bs=1 seek=$((4096 * 6)) conv=notrunc 2>/dev/null
"$orrery" db check bad.db >out 2>&1; [ $? -ne 0 ]; ok $? 'a page that was overwritten is found'
like "$("$orrery" db digest bad.db 2>&1 >/dev/null; "$orrery" db check bad.db 2>&1)" 'bad.db' 'with the name of the file'

# ---- diff ----

text=$("$orrery" db diff a.db a.db); is "$? $text" '0 3 runs are equal, 0 differ, 0 are only in A, 0 only in B' 'a file equals itself'
text=$("$orrery" db diff a.db b.db 2>/dev/null); is $? 1 'files with other runs differ'
like "$text" '^only in A: run 2: policy-2, seed 2, hash hash-of-2$' 'the run that the second file lacks is named'
like "$text" '^2 runs are equal, 0 differ, 1 are only in A, 0 only in B$' 'and the rest counted, whatever their numbers'
like "$("$orrery" db diff b.db a.db 2>/dev/null)" '^only in B: run 2: policy-2' 'likewise for the first'
cp a.db c.db
sqlite3 c.db 'UPDATE metrics SET value = value * 1.5 WHERE run = 2 AND position = 1; UPDATE metrics SET value = value * 0.9 WHERE run = 2 AND position = 4'
text=$("$orrery" db diff a.db c.db 2>/dev/null); is $? 1 'files with other contents differ'
like "$text" '^run 2 of A, run 2 of B: policy-2: different metrics$' 'the table is named'
is "$(printf '%s\n' "$text" | awk '/^    [a-z]/ && !/B - A/ { print $1, $NF }' | tr '\n' ' ')" 'jct_p50 %) wait_p99 %) ' 'the largest relative difference comes first'
like "$text" 'jct_p50 +527.857143 +791.785714 +\+263.929 \(\+50 %\)' 'with both values and their difference'
like "$("$orrery" db diff a.db 2>&1)" 'expected the names of two files' 'diff needs two files'

# ---- vacuum ----

sqlite3 a.db 'DELETE FROM jobs WHERE run = 1; DELETE FROM events WHERE run = 1; DELETE FROM metrics WHERE run = 1; DELETE FROM series WHERE run = 1; DELETE FROM series_points WHERE run = 1; DELETE FROM runs WHERE run = 1'
before=$(stat -c %s a.db) digest=$("$orrery" db digest a.db)
like "$("$orrery" db vacuum a.db)" "^a.db: $before bytes before, [0-9]+ after$" 'vacuum states both sizes'
[ "$(stat -c %s a.db)" -lt "$before" ]; ok $? 'the file is smaller'
is "$("$orrery" db digest a.db) $("$orrery" db check a.db)" "$digest a.db: 2 runs, no damage" 'its runs are the same'
sqlite3 old.db <"$(realpath "$srcdir")/tests/data/schema-4.sql" 2>/dev/null || (cd "$OLDPWD" && sqlite3 "$work/old.db" <"$srcdir/tests/data/schema-4.sql")
digest=$("$orrery" db digest old.db)
"$orrery" db vacuum old.db >/dev/null; is "$? $("$orrery" db digest old.db)" "0 $digest" 'a file of an older schema is converted; its digest stays'
like "$("$orrery" db show old.db)" '^schema +8$' 'to the present schema'

# ---- --record metrics ----

run=(jobs philly-like:n=50 --cluster 16x8 --policy fifo)
"$orrery" "${run[@]}" --db all.db --json >all.json
"$orrery" "${run[@]}" --db metrics.db --record metrics --json >metrics.json; ok $? 'a run that keeps its metrics'
is "$(sed '/"hash"/d; /"scenario"/d' metrics.json | md5sum)" "$(sed '/"hash"/d; /"scenario"/d' all.json | md5sum)" 'prints the same'
like "$("$orrery" db show metrics.db --run 1)" 'stored: metrics [0-9]+ events [0-9]+$' 'and stores no rows and no series'
serve=(serve poisson:rate=0.8,n=50 --cluster 1x1 --policy fifo)
echo '{"name": "mm1", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [1000], "noise": "exponential"}' >mm1.json
"$orrery" "${serve[@]}" --model mm1.json --record metrics --db s.db -q; ok $? 'likewise for requests'
like "$("$orrery" db show s.db --run 1)" 'stored: metrics [0-9]+ events [0-9]+$' 'without rows of requests'
tap_done
