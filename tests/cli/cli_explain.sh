#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery explain: refused arguments, and databases without parts
. "${srcdir:-.}/tests/tap.sh"
make_store=$top_builddir/tests/results/make_store
"$make_store" "$work/a.db" 1 2

# refuse PATTERN ARGUMENTS..
refuse() {
  local pattern=$1 text rc; shift
  text=$("$ORRERY" explain "$@" 2>&1 >/dev/null); rc=$?
  is "$rc" 2 "explain $* exits with 2"
  like "$text" "$pattern" 'the message gives the reason'
}
refuse 'no run has parts of jobs: expected a run that was made with --record explain' "$work/a.db" --job 1
refuse 'run 1 has no parts of nodes: expected a run that was made with --record explain' "$work/a.db" --node 1 --run 1
refuse 'no run 9: expected a run that .orrery db runs. lists' "$work/a.db" --job 1 --run 9
refuse 'expected a database and one of --job ID' "$work/a.db"
refuse 'expected a database and one of --job ID' --job 1
refuse 'expected only one of the options --job, --request, --step and --node' "$work/a.db" --job 1 --step 2
refuse 'expected a whole number' "$work/a.db" --job 1 --run x
refuse 'did you mean "--job"?' "$work/a.db" --jub 1
refuse 'No such file' "$work/none.db" --job 1
# A database of schema 4 has no table of parts.
sqlite3 "$work/old.db" <"$srcdir/tests/data/schema-4.sql"
refuse 'no run has parts of jobs' "$work/old.db" --job 1
# A world that does not record parts refuses the word, so no run seems to be recorded.
echo '{"world": "plan", "record": "explain"}' >"$work/plan.json"
text=$("$ORRERY" run "$work/plan.json" 2>&1); rc=$?
is "$rc" 2 'a world without parts refuses --record explain'
like "$text" 'unknown key "record"' 'the message names the key'
text=$("$ORRERY" jobs philly-like:n=20 --cluster 1x8 --policy fifo --record explain 2>&1); rc=$?
is "$rc $text" "2 orrery: record: the parts of times are stored in a database: expected --db FILE together with --record explain" 'parts need a database'
like "$("$ORRERY" explain --help)" 'Example:' 'help has an example'
tap_done
