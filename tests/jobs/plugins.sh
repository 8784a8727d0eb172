#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plugins: a valid plugin runs like the built-in policy of which it is a copy. Every faulty plugin ends in an error that names
# it (and the job and the time, if any). The exit code gives the cause (1: the policy, 2: the input), and the database stays
# unchanged.
. "${srcdir:-.}/tests/tap.sh"
: "${CC:=cc}"
if ! command -v "${CC%% *}" >/dev/null; then
  skip "no C compiler ($CC)"
  tap_done
  exit
fi
include=$(cd "$srcdir" && pwd)/include
compile() { # OUTPUT SOURCE [OPTIONS]: as a user would
  local out=$1 source=$2
  shift 2
  $CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$include" "$@" -o "$work/$out.so" "$source"
}

# Job alpha takes a whole node for 10 s; beta and gamma each request a node too: 3 jobs for 2 nodes.
printf 'job_id,submit_s,duration_s,gpus\nalpha,0,10,2\nbeta,1,10,2\ngamma,2,10,2\n' >"$work/t.csv"
jobs() { (ulimit -c 0 && "$ORRERY" jobs "$work/t.csv" --cluster 2x2 --no-figures -q "$@") 2>&1; }

# ---- a valid plugin ----
mkdir "$work/new"
(cd "$work/new" && "$ORRERY" policy new mine --kind jobs >/dev/null)
ok $? "policy new writes a policy and its test"
said=$(cd "$work/new" && ORRERY_CFLAGS="-I$include" ./mine_test.sh 2>&1)
like "$said" '^ok: same end times as fifo' "the new policy's own test passes"
said=$(cd "$work/new" && "$ORRERY" policy new mine 2>&1)
is "$? $said" "2 orrery: mine.c: this file exists already: expected another name" "policy new overwrites no file"
said=$(cd "$work/new" && "$ORRERY" policy new ../up 2>&1)
like "$? $said" '^2 orrery: policy new: expected a name of lower-case letters' "policy new stays in its folder"
like "$("$ORRERY" policy show "$work/new/mine.so")" 'policy\.mine\.skip=false' "policy show lists a plugin's parameters"

# ---- refused at loading: exit code 2 ----
jobs --policy fifo --db "$work/runs.db"
before=$("$ORRERY" db digest "$work/runs.db")
while IFS='|' read -r options expected; do
  # shellcheck disable=SC2086
  compile damaged "$srcdir/tests/plugins/damaged.c" $options || { ok 1 "compiles: $options"; continue; }
  said=$(jobs --policy "fifo@again,$work/damaged.so" --db "$work/runs.db" --fresh)
  like "$? $said" "^2 orrery: .*damaged.*$expected" "refused: $options"
  said=$(jobs --policy "$work/damaged.so" --db "$work/none.db")
done <<'EOT'
-DDAMAGE=ABI_VERSION|was compiled for ABI version 8: expected version 7
-DDAMAGE=POLICY_ABI|the policy was compiled for ABI version 8
-DDAMAGE=SIZE|orr_plugin is damaged
-DDAMAGE=NULL_FUNCTION|expected a function schedule, found NULL
-DDAMAGE=NULL_OPS|"ops" is NULL: expected a table of functions
-DDAMAGE=OPS_SIZE|table of functions has 8 bytes
-DDAMAGE=NO_NAME|the name of the policy: expected 1 to 100 letters
-DDAMAGE=KIND|has the kind "jibs": expected jobs, step, serve, spot or plan
-DDAMAGE=NOTHING -DBAD_DEFAULT|depth
-DDAMAGE=NOTHING -DBAD_CHOICE|colour
-DDAMAGE=NOTHING -DHIDDEN|expected the symbol orr_plugin
EOT
ok "$([ ! -e "$work/none.db" ]; echo $?)" "a refused plugin creates no database"
echo 'int nothing;' >"$work/nothing.c"
compile nothing "$work/nothing.c"
said=$(jobs --policy "$work/nothing.so")
like "$? $said" '^2 orrery: .*/nothing\.so: expected the symbol orr_plugin' "refused: no symbol"
cp "$work/t.csv" "$work/text.so"
said=$(jobs --policy "$work/text.so")
like "$? $said" '^2 orrery: the plugin cannot be loaded: .*/text\.so' "refused: not a shared object"
said=$(cd "$work" && "$ORRERY" jobs t.csv --cluster 2x2 --policy gone.so 2>&1)
like "$? $said" '^2 orrery: gone\.so: ' "refused: no such file"

# ---- errors at run time: exit code 1; the message names policy, job and time ----
compile misbehave "$srcdir/tests/plugins/misbehave.c"
ok $? "the plugin compiles with the public headers alone"
while IFS='|' read -r how expected; do
  said=$(jobs --policy "fifo,$work/misbehave.so" --set "policy.misbehave.how=$how" --policy-timeout 1 --db "$work/runs.db")
  like "$? $said" "^$expected" "$how"
done <<'EOT'
peek|1 orrery: policy misbehave: job alpha at 0\.000000000 s: the policy reads a true duration: expected a policy that declares ORR_NEEDS_ORACLE
over-allocate|1 orrery: policy misbehave: job beta at 1\.000000000 s: start: over-allocation: the requested GPUs are in use
no-such-node|1 orrery: policy misbehave: job alpha at 0\.000000000 s: start: the node number is out of range
same-node-twice|1 orrery: policy misbehave: job alpha at 0\.000000000 s: start: a node is named twice
wrong-sum|1 orrery: policy misbehave: job alpha at 0\.000000000 s: start on 9 GPUs: expected 2, the request of the job
start-ended|1 orrery: policy misbehave: job alpha at 10\.000000000 s: start of a job that has ended
start-twice|1 orrery: policy misbehave: job alpha at 1\.000000000 s: start of a job that runs already: expected a waiting job
start-in-arrive|1 orrery: policy misbehave: job alpha at 0\.000000000 s: start: expected a call in schedule\(\)
stop-in-finish|1 orrery: policy misbehave: job alpha at 10\.000000000 s: stop of a job that has ended
stop-waiting|1 orrery: policy misbehave: job alpha at 0\.000000000 s: stop of a job that does not run: expected a running job
negative-cost|1 orrery: policy misbehave: job alpha at 1\.000000000 s: stop with a negative cost: expected a cost of at least 0
negative-work|1 orrery: policy misbehave: job alpha at 0\.000000000 s: negative extra work: expected work of at least 0
no-such-type|1 orrery: policy misbehave: job alpha at 0\.000000000 s: start on GPU type 7: expected a number below 1
no-such-size|1 orrery: policy misbehave: job alpha at 0\.000000000 s: start on 77 GPUs: expected a size that the job offers
resize-rigid|1 orrery: policy misbehave: job alpha at 1\.000000000 s: resize to 1 GPUs: expected a size that the job offers
no-such-job|1 orrery: policy misbehave: at 0\.000000000 s: stop of a job that has ended or never existed
give-up|1 orrery: policy misbehave: job alpha at 0\.000000000 s: had enough of it
timer-for-ever|1 orrery: policy misbehave: job alpha at 0\.000000000 s: schedule\(\) still acts after 1000 calls at this instant: expected at most jobs.max_calls_per_instant
stop-for-ever|1 orrery: policy misbehave: job alpha at 0\.000000000 s: schedule\(\) still acts after 1000 calls at this instant: expected at most jobs.max_calls_per_instant
starve|1 orrery: policy misbehave: job alpha at 2\.000000000 s: 3 jobs wait, no job runs and no timer is set
hang|1 orrery: policy misbehave: at 0\.000000000 s: schedule\(\) has not returned for 1 s
refuse|2 orrery: policy misbehave: at 0\.000000000 s: how: refuses to work on 2 nodes
silent|2 orrery: policy misbehave: at 0\.000000000 s: create\(\) returned NULL without an error message: expected an object, or \*err filled in
EOT
is "$("$ORRERY" db digest "$work/runs.db")" "$before" "the database is unchanged after these errors"

said=$(jobs --policy "$work/misbehave.so" --set policy.misbehave.how=starve --set failures.mtbf=1000s --policy-timeout 5)
like "$? $said" '^1 orrery: policy misbehave: job alpha at .*: 3 jobs wait, no job runs' "starvation is detected although nodes keep failing"
said=$(jobs --policy "$work/misbehave.so" --set policy.misbehave.how=timer-in-the-past --out "$work/past")
is "$? $said $(cut -d, -f5 "$work/past/misbehave.jobs.csv" | tail -n +2 | paste -sd,)" "0  10.000000000,11.000000000,20.000000000" \
  "a timer in the past counts as now"
# alpha is killed directly after its start at 0, so beta and gamma find both nodes free.
said=$(jobs --policy "$work/misbehave.so" --set policy.misbehave.how=kill --out "$work/kill")
is "$? $said $(cut -d, -f5 "$work/kill/misbehave.jobs.csv" | tail -n +2 | paste -sd,)" "0  0.000000000,11.000000000,12.000000000" \
  "a killed job ends, and finish() is called"
is "$(grep -E ',(jobs_killed|jobs_completed),' "$work/kill/summary.csv" | cut -d, -f2,3 | paste -sd' ')" \
  "jobs_completed,2 jobs_killed,1" "the table counts the killed job"
# Both nodes fail at 5 s with jobs on them; the end of each job must be reported once.
printf 'time_s,node,event\n5,n0,fail\n5,n1,fail\n6,n0,repair\n6,n1,repair\n' >"$work/f.csv"
said=$(jobs --policy "$work/misbehave.so" --set policy.misbehave.how=count-ends --set jobs.on_failure=kill \
  --failures "$work/f.csv" --out "$work/count")
is "$? $said $(cut -d, -f5 "$work/count/misbehave.jobs.csv" | tail -n +2 | paste -sd,)" "0  5.000000000,5.000000000,16.000000000" \
  "the end of a job whose node failed is reported once"
said=$(jobs --policy "$work/misbehave.so" --set policy.misbehave.how=victims-twice --check --out "$work/twice")
is "$? $said $(cut -d, -f5 "$work/twice/misbehave.jobs.csv" | tail -n +2 | paste -sd,)" "0  10.000000000,11.000000000,20.000000000" \
  "a job that orr_fits_without() gets several times counts once"
tap_done
