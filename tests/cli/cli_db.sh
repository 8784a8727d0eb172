#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery db: output and refused arguments
. "${srcdir:-.}/tests/tap.sh"
make_store=$top_builddir/tests/results/make_store

"$make_store" "$work/a.db" 1 2 3; "$make_store" "$work/b.db" 3 1 2; "$make_store" "$work/c.db" 1 2
a=$("$ORRERY" db digest "$work/a.db")
like "$a" '^[0-9a-f]{64}$' 'digest prints 64 hex digits and nothing else'
is "$("$ORRERY" db digest "$work/b.db")" "$a" 'the same runs stored in another order have the same digest'
[ "$("$ORRERY" db digest "$work/c.db")" != "$a" ]; ok $? 'fewer runs another'

runs=$("$ORRERY" db runs "$work/a.db")
is "$(printf '%s\n' "$runs" | wc -l)" 4 'runs lists each run under one line of titles'
like "$runs" '^ +2  policy-2 +jobs +[0-9-]+T[0-9:]+Z +30  hash-of-2' 'with number, label, world, date, jobs and hash'
like "$runs" '\(oracle\)' 'runs marks oracle policies'

"$ORRERY" db export "$work/a.db" --run 2 --out "$work/out"; ok $? 'export writes a run'
is "$(cd "$work/out" && echo *)" 'notes.csv policy-2.jobs.csv policy-2.series.csv summary.csv' 'export writes the same files as --out'
is "$(wc -l <"$work/out/policy-2.jobs.csv")" 31 'one line per job'

"$make_store" "$work/s1.db" 2; "$make_store" "$work/s2.db" 3 1
is "$("$ORRERY" db merge "$work/all.db" "$work/s1.db" "$work/s2.db")" "$work/all.db: runs added: 3, already present: 0, shards: 2" 'merge counts runs'
is "$("$ORRERY" db digest "$work/all.db")" "$a" 'merged databases have the digest of one that was written directly'
is "$("$ORRERY" db merge "$work/all.db" "$work/s2.db" "$work/c.db")" "$work/all.db: runs added: 0, already present: 4, shards: 2" 'merge skips runs that are present'
is "$("$ORRERY" db digest "$work/all.db")" "$a" 'and leaves the digest unchanged'

# refuse STATUS PATTERN ARGUMENTS..
refuse() {
  local status=$1 pattern=$2 text rc; shift 2
  text=$("$ORRERY" db "$@" 2>&1 >/dev/null); rc=$?
  is "$rc" "$status" "db $* exits with $status"
  like "$text" "$pattern" 'the message gives the reason'
}
echo 'job_id,gpus' >"$work/trace.csv"
refuse 2 'no run 9: expected a run that .orrery db runs. lists' export "$work/a.db" --run 9 --out "$work/x"
refuse 2 'expected the options --run N and --out DIR' export "$work/a.db"
refuse 2 'expected a whole number' export "$work/a.db" --run 1x --out "$work/x"
refuse 2 'No such file' digest "$work/none.db"
refuse 2 'did you mean "digest"?' digset "$work/a.db"
refuse 2 'expected a verb and the name of a file' digest
refuse 2 'db merge: expected the name of the database to write' merge "$work/new.db"
refuse 2 'db merge: expected the name of the database to write' merge "$work/new.db" "$work/a.db" --run 1
refuse 2 'none.db.*No such file' merge "$work/new.db" "$work/none.db"
refuse 2 'not a database of orrery' merge "$work/new.db" "$work/a.db" "$work/trace.csv"
[ ! -e "$work/new.db" ]; ok $? 'a refused merge creates no database'
refuse 2 'unknown option, or no value after it' runs "$work/a.db" --frob
refuse 2 'not a database of orrery' runs "$work/trace.csv"
[ ! -e "$work/none.db" ] && [ ! -e "$work/x" ]; ok $? 'a refused command makes nothing'
# A database of schema 4 is accepted, its digest is unchanged, and new runs can be added.
old=$srcdir/tests/data/schema-4.sql
sqlite3 "$work/old.db" <"$old"
is "$("$ORRERY" db digest "$work/old.db")" "$(head -n 1 "$old" | sed 's/.* //')" 'the digest of a database of schema 4 is unchanged'
"$ORRERY" jobs poisson:rate=0.02,n=4,mean=300,gpus=2 --cluster 1x4:v100 --policy srtf --db "$work/old.db" -q
ok $? 'a new run is added to a database of schema 4'
is "$(sqlite3 "$work/old.db" "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM jobs_s GROUP BY run)")" 4,4 'the old runs are kept'
is "$(sqlite3 "$work/old.db" "PRAGMA user_version")" 8 'the database then has schema 8'
rm "$work/old.db"; sqlite3 "$work/old.db" <"$old"
sqlite3 "$work/old.db" "DROP VIEW IF EXISTS jobs_s; ALTER TABLE jobs DROP COLUMN restarts"
"$ORRERY" db digest "$work/old.db" >/dev/null; ok $? 'a table that lacks a column is read'
"$ORRERY" jobs poisson:rate=0.02,n=4,mean=300,gpus=2 --cluster 1x4:v100 --policy fifo --db "$work/old.db" -q
is "$(sqlite3 "$work/old.db" "SELECT sum(restarts IS NULL) FROM jobs")" 4 'a missing column is added, with NULL in existing rows'
is "$("$ORRERY" db columns)" "$(sed '1,/^<!-- columns -->$/d' "$srcdir/docs/reference/columns.md")" 'docs/reference/columns.md is what db columns prints (make docs-columns)'
like "$("$ORRERY" db --help)" 'example:' 'help has an example'
tap_done
