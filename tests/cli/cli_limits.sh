#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Short inputs that need much memory or time are refused: by bounds of the program, or by those of --max-memory and --max-time.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
small=(jobs poisson:rate=0.01,n=10 --cluster 1x8 --policy fifo)
# ends CODE PATTERN WHAT COMMAND..: passes if the command ends within 60 s with the code and a message that matches
ends() {
  local said
  said=$(timeout 60 "$orrery" "${@:4}" 2>&1 >out)
  like "$? $said" "^$1 $2" "$3"
}

# ---- the options ----
ends 2 'orrery: --max-memory: expected a size from 16M, such as 500M or 4G, found "lots"' "a size" "${small[@]}" --max-memory lots
ends 2 'orrery: --max-memory: .*found "1e400G"' "a finite one" "${small[@]}" --max-memory=1e400G
ends 2 'orrery: --max-time: expected a duration from 1ms, such as 90s or 2h, found "-1"' "a duration" --max-time -1 "${small[@]}"
ends 2 'orrery: option --max-time: expected a value' "an option without a value" "${small[@]}" --max-time
ends 0 '' "bounds that suffice" "${small[@]}" --max-time 1h -q
like "$("$orrery" --help)" '^  --max-memory SIZE .*$' "help names them"

# ---- time ----
ends 1 'orrery: the limit of --max-time 0.5s is reached: expected a smaller input or a longer --max-time$' "a million replications" \
  "${small[@]}" --replications 1000000 --max-time 0.5s
"$orrery" "${small[@]}" --db r.db -q
before=$("$orrery" db digest r.db)
ends 1 'orrery: the limit of --max-time' "with a database and files" jobs poisson:rate=0.01,n=2000000000 --cluster 1x8 --policy fifo --db r.db \
  --out o --max-time 300ms -q
is "$("$orrery" db digest r.db) $("$orrery" db check r.db >check && echo good)" "$before good" "which leaves the database as it was"
is "$(find . -name '*.tmp')" "" "and no temporary file"

# ---- bounds that need no option ----
ends 2 'orrery: /dev/zero: not a regular file: expected a compiled plugin' "a device as plugin" "${small[@]:0:5}" /dev/zero
ends 0 '' "a length below 1 ns has an end" jobs philly-like:days=1e-300 --cluster 1x128 --policy fifo -q
ends 0 '' "4,096 threads for 2 runs" "${small[@]}" --replications 2 -j 4096 -q
for i in $(seq 1001); do printf '%s{"policy":"fifo","label":"a%d"}' "${comma-}" "$i"; comma=,; done >list
printf '{"world":"jobs","trace":"poisson:n=1","cluster":"1x1","policies":[%s]}' "$(cat list)" >many.json
ends 2 'orrery: many.json: \$\.policies: 1001 policies: expected at most 1000' "policies of a scenario" run many.json
mkdir book
names='"c0": 1' # each constant has the value of the one before twice
for i in $(seq 30); do names="$names, \"c$i\": \"c$((i - 1)) + c$((i - 1))\""; done
printf '{"constants": {%s}, "table": [{"id": "x", "published": false, "simulated": "c30"}]}' "$names" >book/figures.json
ends 2 'orrery: .*figures.json: .*an expression evaluates more than 10000000 constants and values of axes' "constants that double the work" \
  figures ./book --no-figures
values=$(seq -s, 300)
printf '{"axes": {"a": [%s], "b": [%s], "c": [%s]}, "table": [{"each": ["a", "b", "c"], "id": "${a}", "published": false, "simulated": 1}]}' \
  "$values" "$values" "$values" >book/figures.json
ends 2 'orrery: .*figures.json: .*"each": 27000000 points: expected at most 1000000' "rows of a table" figures ./book --no-figures
printf '{"axes": {"a": [%s], "b": [%s], "c": [%s]}, "table": [{"id": "x", "published": false, "simulated": "max(a: max(b: max(c: 1)))"}]}' \
  "$values" "$values" "$values" >book/figures.json
ends 2 'orrery: .*figures.json: .*too many values of axes' "loops within an expression" figures ./book --no-figures
said=$(OMP_NUM_THREADS=1000000 "$orrery" "${small[@]}" 2>&1)
is "$? $said" "2 orrery: OMP_NUM_THREADS: expected at most 4096 threads, found 1000000" "OMP_NUM_THREADS"

# ---- memory and stacks ----
not_sanitized "the sanitizers reserve memory and use larger stacks"
(ulimit -s 64 && "$orrery" "${small[@]}" --replications 2 -j 2 -q)
ok $? "a stack of 64 KiB"
need='needs more memory than --max-memory [0-9]+M allows \([0-9]+ more bytes requested\): expected a smaller input or a larger --max-memory$'
{ echo job_id,submit_s,duration_s,gpus && yes 'a,0,10,1' | head -n 8000000; } | gzip -9 >rows.csv.gz
ends 1 "orrery: rows.csv.gz: $need" "a short file of many rows" jobs rows.csv.gz --cluster 1x8 --policy fifo --max-memory 100M
ends 1 "orrery: rows.csv.gz: $need" "its statistics" trace info rows.csv.gz --max-memory 50M
ends 1 "orrery: policy gpipe: $need" "a million micro-batches" step resnet50 --cluster 1x8:v100 --policy gpipe \
  --set policy.gpipe.micro_batches=1000000 --max-memory 200M
ends 1 "orrery: cluster 1000000x1:v100: $need" "a fat tree of a million nodes" step resnet50 --cluster 1000000x1:v100 --network fat-tree \
  --policy allreduce --max-memory 200M
ends 2 'orrery: .*cluster: a training step on 400000 GPUs and CPUs: needs about [0-9]+ MiB, more than --max-memory 200M: expected a smaller' \
  "a need that is known in advance" step resnet50 --cluster 200000x1:v100 --policy allreduce --max-memory 200M
ends 0 '' "threads whose stacks would pass the bound" "${small[@]}" --replications 64 -j 64 -q --max-memory 100M
tap_done
