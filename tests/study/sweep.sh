#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery sweep: points of a study, searches, failed and interrupted studies, and repeating the run of a row
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
peak_rss=$(realpath "$top_builddir/tests/peak_rss")
cd "$work" || exit 1

# study NAME AXES RUN: a study of a small trace; RUN: further keys of its only run
study() {
  cat >"$1.json" <<EOF
{ "title": "test", "axes": $2, "metrics": ["makespan", "wait_p99"],
  "runs": { "r": { "scenario": { "world": "jobs", "trace": "philly-like:n=40,load=\${load}", "cluster": "16x8", "policies": ["fifo", "srtf"] }, $3 } } }
EOF
}
# values FILE AXIS: the values of an axis, by row of the JSON
values() {
  grep -o "\"$2\":[^\",]*\"[^\"]*\"" "$1" | sed 's/.*"\([^"]*\)"$/\1/' | tr '\n' ' '
}

# ---- points ----

study grid '{ "load": [1, 2, 0.5], "x": { "from": 0.1, "to": 0.5, "by": 0.1 } }' \
  '"axes": ["load", "x"], "set": { "seed": "${round(10 * x)}" }, "where": "x < 0.35 || load == 2"'
"$orrery" sweep grid.json --json >grid.out 2>err; ok $? 'a grid runs'
is "$(values grid.out x)" '0.1 0.1 0.2 0.2 0.3 0.3 0.1 0.1 0.2 0.2 0.3 0.3 0.4 0.4 0.5 0.5 0.1 0.1 0.2 0.2 0.3 0.3 ' \
  'the last axis varies fastest, each policy is a row, and "where" leaves points out'
is "$(values grid.out load)" '1 1 1 1 1 1 2 2 2 2 2 2 2 2 2 2 0.5 0.5 0.5 0.5 0.5 0.5 ' 'the first axis varies slowest'
study log '{ "load": { "from": 0.25, "to": 4, "n": 5, "scale": "log" } }' '"axes": ["load"]'
"$orrery" sweep log.json --json >log.out; is "$(values log.out load)" '0.25 0.25 0.5 0.5 1 1 2 2 4 4 ' 'a logarithmic grid'
study zip '{ "load": [1, 2], "seed": [7, 8], "nodes": [4, 5] }' '"axes": ["nodes", ["load", "seed"]], "set": { "seed": "${seed}", "cluster": "${4 * nodes}x8" }'
"$orrery" sweep zip.json --json >zip.out; is "$(values zip.out load)$(values zip.out seed)$(values zip.out nodes)" \
  '1 1 2 2 1 1 2 2 7 7 8 8 7 7 8 8 4 4 4 4 5 5 5 5 ' 'axes in a nested list change together'
study latin '{ "load": { "from": 0.5, "to": 2.5 }, "seed": { "from": 0, "to": 1000 } }' \
  '"sample": { "axes": ["load", "seed"], "n": 8, "method": "latin", "seed": 3 }, "set": { "seed": "${floor(seed)}" }'
"$orrery" sweep latin.json --json >latin.out; ok $? 'a Latin hypercube runs'
is "$(values latin.out load | tr ' ' '\n' | awk 'NR % 2 && $1 != "" { print int(($1 - 0.5) / 0.25) }' | sort -n | tr '\n' ' ')" '0 1 2 3 4 5 6 7 ' \
  'one point in each eighth of the first axis'
is "$(values latin.out seed | tr ' ' '\n' | awk 'NR % 2 && $1 != "" { print int($1 / 125) }' | sort -n | tr '\n' ' ')" '0 1 2 3 4 5 6 7 ' 'and of the second'
sed 's/latin/random/' latin.json >random.json
"$orrery" sweep random.json --json >random.out
is "$(values random.out load | tr ' ' '\n' | awk 'NR % 2 && $1 >= 0.5 && $1 < 2.5' | sort -u | wc -l)" 8 'eight random points within the range'
"$orrery" sweep random.json --json -j 1 | cmp -s - random.out; ok $? 'the same points and results again, on one thread'

# ---- the table, the CSV file, and repeating the run of a row ----

"$orrery" sweep zip.json --db zip.db --out out >zip.txt; ok $? 'a study is stored'
is "$(head -n 1 zip.txt | tr -s ' ')" 'load seed nodes policy makespan wait p99 stored run' 'the table has the axes, the policy, the metrics and the stored run'
is "$(awk 'NR > 1 && / srtf / { print $NF }' zip.txt | tr '\n' ' ')" '2 4 6 8 ' 'runs are stored in the order of the table'
is "$(head -n 1 out/study.csv)" 'run,load,seed,nodes,policy,metric,value,ci_low,ci_high,stored_run,error' 'study.csv has a row per metric'
is "$(grep -c ',makespan,' out/study.csv)" 8 'of every run'
"$orrery" run --from zip.db --run 6 --db again.db -q; ok $? 'the run of a row runs again'
is "$("$orrery" db runs again.db | tail -n 1 | grep -o '[0-9a-f]\{12,64\}$')" "$("$orrery" db runs zip.db | sed -n 7p | grep -o '[0-9a-f]\{12,64\}$')" 'and has the same hash'
is "$("$orrery" run --from zip.db --run 6 --json 2>&1 >/dev/null | grep -c 'differs from run')" 0 'so there is no remark'
like "$("$orrery" run --from zip.db --run 6 --set seed=99 2>&1 >/dev/null)" 'this run differs from run 6 of zip.db' 'a change of the scenario is reported'
like "$("$orrery" run --from zip.db --run 99 2>&1)" 'zip.db has no run 99: expected the number' 'a number that no run has is an error'
like "$("$orrery" run --from zip.db 2>&1)" 'expected --run N' 'as is none'
text=$("$orrery" sweep zip.json --dry-run --db zip.db)
like "$text" '^4 points, 8 runs' '--dry-run counts points and runs'
like "$text" '8 of the runs are stored in zip.db already' 'and those that are stored'
study other '{ "load": [3] }' '"axes": ["load"]'
"$orrery" sweep other.json -q --db zip.db
is "$("$orrery" sweep zip.json --dry-run --db zip.db | tail -n 1)" 'expected for the other 0 runs: 0 s on '"$(nproc)"' threads, 0 MB (from means of the stored runs)' 'runs of other studies do not count'
like "$("$orrery" sweep zip.json --dry-run --db none.db)" 'unknown, because no run is stored yet' 'no time is expected without a stored run'
[ ! -e none.db ]; ok $? '--dry-run makes no database'

# ---- more points than a block ----

study many '{ "seed": { "from": 1, "to": 300, "n": 300 } }' '"axes": ["seed"], "set": { "seed": "${seed}", "record": "metrics" }'
sed -i 's/load=${load}/load=1/; s/n=40/n=5/; s/, "srtf"//' many.json
"$orrery" sweep many.json --db many.db --json >many.out; is "$? $(values many.out seed | wc -w) $("$orrery" db runs many.db | tail -n +2 | wc -l)" '0 300 300' '300 points'
is "$(values many.out seed | tr ' ' '\n' | sort -n | uniq -d | wc -l)$(grep -c '"stored_run":\s*300' many.out)" '01' 'each once, in order'

for k in 1 2; do "$orrery" sweep many.json --db parts.db --shard $k/2 -q; done
"$orrery" sweep many.json --db parts.db --merge --json 2>err >parts.out; cmp -s parts.out many.out
is "$? $(grep -o '[0-9]* runs added' err)" '0 300 runs added' 'shards of 300 points are merged in the order of the study'
is "$("$orrery" sweep many.json --dry-run --db many.db | head -n 2 | tr '\n' ' ')" '300 points, 300 runs 300 of the runs are stored in many.db already ' '--dry-run counts all blocks'
# kilobytes N OPTION: memory of a study of N points; its blocks of 256 points have the same size
kilobytes() {
  sed "s/300/$1/g" many.json >counted.json
  "$peak_rss" "$orrery" sweep counted.json -j1 "$2" | tail -n 1 | grep -o '[0-9]*$'
}
if [ -n "${ORR_SANITIZED:-}" ]; then
  skip "the sanitizers keep freed memory"
  skip "the same for --json"
else
  few=$(kilobytes 600 --dry-run) more=$(kilobytes 6600 --dry-run)
  [ $((more - few)) -lt 2000 ]; ok $? "memory of --dry-run is flat: $few KiB for 600 points, $more KiB for 6600"
  # Rows as a JSON tree in memory would take 26 kB each.
  few=$(kilobytes 600 --json) more=$(kilobytes 6600 --json)
  [ $((more - few)) -lt 2000 ]; ok $? "and so is that of runs, their rows and the printed text: $few and $more KiB"
fi

# ---- searches ----

cat >find.json <<'EOF'
{ "axes": { "load": { "from": 0.3, "to": 3, "scale": "log" } },
  "runs": { "r": { "scenario": { "world": "jobs", "trace": "philly-like:n=300,load=${load}", "cluster": "8x8", "policies": ["fifo", "srtf", "las"] },
    "find": { "axis": "load", "metric": "wait_p99", "below": "6h", "tolerance": 0.02 } } } }
EOF
# The same grid: 0.3 (1 + 0.02)^i up to 3
sed "s/{ \"from\".*log\" }/[$(awk 'BEGIN { for (x = 0.3; x < 3; x *= 1.02) printf "%.17g, ", x; printf "3" }')]/; s/\"find\".*/\"axes\": [\"load\"] } } }/" find.json >scan.json
"$orrery" sweep find.json --json >find.out; ok $? 'a search for the largest load runs'
"$orrery" sweep find.json >find.txt
"$orrery" sweep scan.json --out scan >scan.txt; ok $? 'so does a scan of the same grid'
for policy in srtf las; do
  found=$(sed -n "s/^r, $policy: largest load .* 21600: \([0-9.]*\) (.*/\1/p" find.txt)
  largest=$(awk -F, -v p="\"$policy\"" '$3 == p && $4 == "wait_p99" && $5 <= 21600 { gsub("\"", "", $2); if ($2 + 0 > x) x = $2 + 0 } END { print x }' scan/study.csv)
  awk "BEGIN { exit !($found > $largest / 1.01 && $found < $largest * 1.01) }"; ok $? "$policy: the search finds $found, the scan $largest"
  runs=$(sed -n "s/^r, $policy: .*; \([0-9]*\) runs; .*/\1/p" find.txt)
  [ "$runs" -le 60 ]; ok $? "with $runs runs; the scan takes $(sed -n "s/^r, $policy: .* takes \([0-9]*\)$/\1/p" find.txt)"
done
is "$(grep -cE '^r, (fifo|srtf|las): ' find.txt) $(grep -c '"outcome"' find.out)" '3 3' 'each policy has an answer'
sed 's/"find".*/"refine": { "axis": "load", "metric": "wait_mean", "n": 9 } } } }/' find.json >refine.json
is "$("$orrery" sweep refine.json --json | grep -c '"policy"')" 27 'a refinement tries n points for each policy'

# Two runs that search the same axis, and one that samples it, have their own values.
sed 's/"runs": { "r"/"runs": { "a"/; s/"tolerance": 0.02 } } } }/"tolerance": 0.02 } },/' find.json >two.json
sed -n 's/.*"runs": { "r"/"b"/p' find.json >>two.json
echo '"find": { "axis": "load", "metric": "wait_p99", "below": "6h", "tolerance": 0.02 } },' >>two.json
sed -n 's/.*"runs": { "r"/"c"/p' find.json >>two.json
echo '"sample": { "axes": ["load"], "n": 3 } } } }' >>two.json
"$orrery" sweep two.json >two.txt; ok $? 'two searches and a sample on one axis'
is "$(sed -n 's/^a, //p' two.txt)" "$(sed -n 's/^r, //p' find.txt)" 'the first search has its answers'
is "$(sed -n 's/^b, //p' two.txt)" "$(sed -n 's/^r, //p' find.txt)" 'and so has the second'
is "$(awk '$1 == "c" { print $2 }' two.txt | sort -u | wc -l)" 3 'the sample has three points'
like "$("$orrery" run find.json --run 3 2>&1)" 'run --run 3: expected also --from DB' '--run without --from is an error'

# ---- seeds, replications, and intervals of answers ----

cat >seeds.json <<'EOF'
{ "axes": { "n": [20, 30] }, "seeds": [7, 9], "metrics": ["makespan"],
  "runs": { "r": { "scenario": { "world": "jobs", "trace": "philly-like:n=${n}", "cluster": "64x8", "policies": ["fifo"] }, "axes": ["n"] } } }
EOF
"$orrery" sweep seeds.json --db seeds.db --json >seeds.out; ok $? 'a study with seeds runs'
is "$(values seeds.out n)$(values seeds.out seed)" '20 20 30 30 7 9 7 9 ' 'seeds are the last axis'
is "$("$orrery" db runs seeds.db | awk 'NR > 1 { print $NF }' | tr '\n' ' ')" '7 9 7 9 ' 'and the seeds of the scenarios'
sed 's/\[7, 9\]/2/; s/"axes": \["n"\]/"axes": ["seed", "n"]/' seeds.json >placed.json
"$orrery" sweep placed.json --json >placed.out; is "$(values placed.out seed)" '1 1 2 2 ' 'a number of seeds counts from 1; a run may place the axis'
# metric DIR NAME: value and half-width relative to it, by row
metric() { awk -F, -v name="$2" '{ for (i = 1; i <= NF; i++) if ($i == name) print $(i + 1), ($(i + 3) - $(i + 2)) / 2 / $(i + 1) }' "$1/study.csv"; }
sed 's/"seeds": \[7, 9\]/"stop": { "n": 12 }/' seeds.json >stop.json
"$orrery" sweep stop.json --out stop >/dev/null
is "$? $(metric stop replications | cut -d ' ' -f 1 | tr '\n' ' ')" '0 12 12 ' 'stop: a number of replications'
sed 's/"seeds": \[7, 9\]/"stop": { "metric": "jct_mean", "below": 0.3, "n": 5000 }/' seeds.json >stop.json
"$orrery" sweep stop.json --out until >/dev/null
is "$? $(metric until jct_mean | awk '$2 > 0 && $2 <= 0.3' | wc -l)" '0 2' 'stop: a relative half-width, which every point keeps'
# The interval of the table in CSV is that of study.csv.
"$orrery" sweep stop.json --table csv >until.csv
is "$(awk -F, 'NR == 1 { print } NR == 2 { printf "%.12g %.12g %.12g", $3, $4, $5 }' until.csv)" \
  "n,policy,makespan,makespan_ci_low,makespan_ci_high
$(awk -F, '/,makespan,/ { printf "%.12g %.12g %.12g", $5, $6, $7; exit }' until/study.csv)" 'CSV has intervals'
sed 's/"below": 0.3, "n": 5000/"below": 1e-9, "n": 10/; s/"fifo"/"srtf"/' stop.json >missed.json
"$orrery" sweep missed.json >missed.txt
is "$? $(grep -c 'srtf (oracle)' missed.txt) $(grep -o 'in . of . rows the replications ended at their limit' missed.txt)" \
  '0 2 in 2 of 2 rows the replications ended at their limit' 'a precision that is not reached is reported, and oracles are marked'
is "$(metric until replications | awk '$1 >= 10 && $1 < 5000' | wc -l)" 2 'with fewer replications than the limit'
sed 's/"makespan"/"makespn", "jct_mean"/' seeds.json >typo.json
like "$("$orrery" sweep typo.json)" 'metrics: no run has makespn: did you mean makespan[?]' 'a metric that no run has is named'
# M/M/1 with service rate 1: the mean wait is rate / (1 - rate), 3 at a rate of 0.75
cat >mm1.json <<'EOF'
{ "axes": { "rate": { "from": 0.5, "to": 0.95 } }, "seeds": 8,
  "runs": { "q": { "scenario": { "world": "jobs", "trace": "poisson:rate=${rate},n=4000,service=exp,mean=1", "cluster": "1x1", "policies": ["fifo"] },
    "find": { "axis": "rate", "metric": "wait_mean", "below": 3, "tolerance": 0.01 } } } }
EOF
"$orrery" sweep mm1.json --db mm1.db >mm1.txt; ok $? 'a search with eight seeds'
is "$(grep -c '^q, seed [1-8], fifo: largest rate' mm1.txt)" 8 'has an answer for each seed'
line=$(grep '^q, fifo, over 8 seeds: largest rate' mm1.txt)
like "$line" '95 % interval [0-9.]+ to [0-9.]+ \(Student' 'and one over the seeds with its interval'
is "$(grep -c 'no interval' mm1.txt)" 0 'which the answers of single seeds leave to it'
like "$("$orrery" sweep mm1.json --db mm1.db --json | tr -d ' \t\n')" '"no_interval":"theansweristhatofoneseed:over_seedshastheinterval"' \
  'and so does JSON'
ends=$(echo "$line" | sed 's/.*interval \([0-9.]*\) to \([0-9.]*\) .*/\1 \2/')
echo "$ends" | awk '{ exit !($1 < 0.75 && $2 > 0.75 && $2 - $1 < 0.1) }'; ok $? "which holds the rate of theory, 0.75: $ends"
grep -o 'with wait_mean at most 3: [0-9.]*' mm1.txt |
  awk '{ s += $NF; q += $NF * $NF; n++ } END { m = s / n; h = 2.364624 * sqrt((q - n * m * m) / (n - 1) / n); printf "%.3f %.3f", m - h, m + h }' >hand
is "$(echo "$ends" | awk '{ printf "%.3f %.3f", $1, $2 }')" "$(cat hand)" 'the interval is that by hand (t = 2.364624 at 7 degrees of freedom)'
sed 's/"seeds": 8/"stop": { "n": 20 }/; s/n=4000/n=1000/' mm1.json >reps.json
like "$("$orrery" sweep reps.json)" 'largest rate .*; interval 0\.[0-9]* to 0\.[0-9]*, in which the interval of wait_mean contains the limit' \
  'with replications an answer has an interval'
sed 's/"seeds": 8/"seeds": 1/' mm1.json >one.json
like "$("$orrery" sweep one.json)" 'over 1 seeds: no interval of the largest rate: there is one seed: expected two or more' 'with one seed it says why there is none'

# ---- the schema ----

"$orrery" sweep --schema >schema.json; cmp -s schema.json "$tree/docs/study.schema.json"
ok $? 'docs/study.schema.json is what orrery sweep --schema prints'
if command -v python3 >/dev/null && python3 -c 'import jsonschema' 2>/dev/null; then
  cat >conforms.py <<'EOF'
import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open("schema.json")))
EOF
  bad=0
  for file in grid log zip latin random many find two refine seeds placed stop mm1; do
    python3 conforms.py $file.json >/dev/null 2>&1 || { bad=$((bad + 1)); echo "# $file.json does not conform"; }
  done
  is $bad 0 'the studies above conform to it'
  sed 's/"find"/"fund"/' find.json >unknown.json
  python3 conforms.py unknown.json >/dev/null 2>&1; is $? 1 'one with an unknown key does not'
else
  skip 'python3 with jsonschema is not installed' 2
fi

# ---- studies that end early ----

study long '{ "load": { "from": 0.5, "to": 1.5, "n": 40 } }' '"axes": ["load"]'
sed -i 's/n=40,/n=3000,/' long.json
"$orrery" sweep long.json -q --db whole.db; ok $? 'a longer study'
"$orrery" sweep long.json -q --db killed.db 2>/dev/null & pid=$!
for _ in $(seq 200); do
  [ "$("$orrery" db runs killed.db 2>/dev/null | wc -l)" -gt 3 ] && break
  sleep 0.02
done
kill -9 $pid; wait $pid 2>/dev/null
stored=$(($("$orrery" db runs killed.db | wc -l) - 1))
"$orrery" sweep long.json -q --db killed.db; ok $? "a study that was killed after $stored of 80 runs goes on"
is "$("$orrery" db digest killed.db)" "$("$orrery" db digest whole.db)" 'and has the digest of one that was not'
is "$("$orrery" db runs killed.db | wc -l)" 81 'with every run once'

# ---- failed runs ----

: "${CC:=cc}"
if command -v "${CC%% *}" >/dev/null; then
  echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >slow.json
  "$orrery" policy new broken --kind serve >/dev/null
  sed '/^static void schedule(/,/^}/ s/^\tstruct state \*s = self;/&\n\tif (orr_serve_now(w) > 5) orr_serve_give_up(w, 0, "made to fail");/' broken.c >b.c
  $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o broken.so b.c
  cat >fails.json <<'EOF'
{ "axes": { "n": [20, 2000, 30] }, "metrics": ["requests_completed"],
  "runs": { "r": { "scenario": { "world": "serve", "trace": "poisson:rate=20,n=${n}", "models": ["slow.json"], "cluster": "1x1", "policies": ["./broken.so", "fifo"] }, "axes": ["n"] } } }
EOF
  "$orrery" sweep fails.json --db fails.db >fails.txt 2>err; status=$?
  is $status 1 'a study with a failed run exits with 1'
  like "$(cat fails.txt)" 'failed: r, n 2000, broken: .*made to fail' 'the failed run is listed with its point and its error'
  is "$(grep -c ' fifo  *[0-9]' fails.txt)" 3 'the rows of the others are printed'
  is "$("$orrery" db runs fails.db | tail -n +2 | wc -l)" 5 'and stored'
  like "$(cat err)" '1 of 6 runs failed' 'the error counts them'
  if command -v sqlite3 >/dev/null; then
    cp fails.db full.db
    sqlite3 full.db "DELETE FROM failures; CREATE TRIGGER no BEFORE INSERT ON failures BEGIN SELECT RAISE(ABORT, 'made full'); END"
    "$orrery" sweep fails.json --db full.db >full.txt 2>err; status=$?
    is "$status $(grep -c ' fifo  *[0-9]' full.txt)" "1 3" 'failures that cannot be stored: the table is printed'
    like "$(cat err)" 'full.db: .*made full' 'then the error'
    # The stored run of fifo is removed, and the failure of the other policy stays stored. fifo needs the same number of replications with
    # and without the other policy.
    sed 's/\[20, 2000, 30\]/[2000]/; s/"metrics":/"stop": { "metric": "completion_mean", "below": 0.01 }, &/' fails.json >stop.json
    "$orrery" sweep stop.json --db stop.db -q 2>/dev/null
    "$orrery" jobs poisson:n=2,rate=1 --cluster 1x1 --policy fifo --db lost.db -q
    sqlite3 lost.db "CREATE TRIGGER no BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'made full'); END"
    "$orrery" sweep stop.json --db lost.db -q 2>/dev/null
    sqlite3 lost.db 'DROP TRIGGER no'
    "$orrery" sweep stop.json --db lost.db -q 2>/dev/null
    many="SELECT value FROM metrics JOIN runs USING(run) WHERE name = 'replications' AND label = 'fifo' AND world = 'serve'"
    is "$(sqlite3 lost.db "$many")" "$(sqlite3 stop.db "$many")" 'a failure that is skipped does not end the replications of the others'
    like "$(sqlite3 stop.db "$many")" '^[2-9][0-9]' 'which continue until they are precise'
  else
    skip 'no sqlite3' 4
  fi
  # Policy broken2 leaves a mark each time it runs.
  sed 's/orr_serve_give_up(w, 0, "made to fail")/fclose(fopen("tried", "a")), &/; /^static void schedule/i #include <stdio.h>' b.c >b2.c
  $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o broken.so b2.c
  rm fails.db
  "$orrery" sweep fails.json --db fails.db -q 2>/dev/null
  [ -e tried ]; ok $? 'the run that fails was tried'
  rm tried
  again=$("$orrery" sweep fails.json --db fails.db 2>err); is "$? $(grep -c '' <<<"$again")" "1 $(($(grep -c '' fails.txt)))" 'the same study again: the same lines'
  [ ! -e tried ]; ok $? 'but the failed run is not tried again'
  like "$again" 'failed: r, n 2000, broken: .*made to fail' 'and listed'
  like "$again" 'failed runs are not tried again with this database: --retry repeats them' 'with the way to repeat it'
  like "$("$orrery" db show fails.db)" 'failed runs, which orrery sweep repeats with --retry: 1' 'db show counts it'
  like "$("$orrery" db show fails.db)" '^r\[n=2000\], broken: .*made to fail$' 'and has its point, policy and error'
  before=$("$orrery" db digest fails.db)
  like "$("$orrery" sweep fails.json --db fails.db --retry 2>/dev/null)" 'broken: .*made to fail.* \(2 tries\)' '--retry repeats it, and counts the tries'
  [ -e tried ]; ok $? 'indeed'
  is "$("$orrery" db digest fails.db)" "$before" 'failures do not change the digest'
  rm tried
  for k in 1 2; do "$orrery" sweep fails.json --db fails.db --shard $k/2 --retry -q 2>/dev/null; done
  like "$("$orrery" sweep fails.json --db fails.db --merge 2>/dev/null)" 'broken: .*made to fail.* \(3 tries\)' 'a merge of shards takes their failures'
  for k in 1 2; do "$orrery" sweep fails.json --db new.db --shard $k/2 -q 2>/dev/null; done
  rm tried
  like "$("$orrery" sweep fails.json --db new.db --merge 2>/dev/null)" 'broken: .*made to fail' 'also into a new database'
  [ ! -e tried ]; ok $? 'and does not try them'
  is "$("$orrery" db digest new.db)" "$before" 'whose digest is the same'
  # The repaired plugin has another hash. Descriptions of points are cut after 20 letters of a value, so these two are equal.
  sed 's/"poisson:rate=20,n=${n}"/"${n}"/; s/\[20, 2000, 30\]/["poisson:rate=25,n=20", "poisson:rate=25,n=2000"]/' fails.json >long.json
  for _ in 1 2; do "$orrery" sweep long.json --db fails.db -q 2>/dev/null; done
  failed() { "$orrery" db show fails.db | sed -n 's/^\(r.*\), broken: .*made to fail.*/\1/p' | sort | tr '\n' ' '; }
  is "$(failed)" "r[n=2000] r[n=poisson:rate=25,n=20] " 'a point that fails beside one with the same description stays listed'
  sed 's/> 5)/> 9000)/' b.c >good.c
  $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o broken.so good.c
  "$orrery" sweep fails.json --db fails.db --retry -q
  is "$? $(failed)" "0 r[n=poisson:rate=25,n=20] " 'a failure is deleted when the run of a repaired plugin is stored'
  "$orrery" sweep long.json --db fails.db -q
  is "$? $(failed)$("$orrery" db show fails.db | grep -c 'failed runs')" "0 0" 'also without --retry'
  # The database has a failure and a stored run of the same hash and label.
  sqlite3 new.db "UPDATE failures SET hash = (SELECT hash FROM runs LIMIT 1), label = (SELECT label FROM runs LIMIT 1)"
  is "$("$orrery" db show new.db | grep -c failed)" 0 'a failure whose run is stored is resolved'
else
  skip "no C compiler ($CC)"
fi

# ---- wrong studies ----

for error in '{ "runs": {} }|expected a run with at least one point' \
  '{ "seeds": 0, "runs": {} }|expected a number of seeds, 1 to' \
  '{ "seeds": [1.5], "runs": {} }|expected whole numbers, found "1.5"' \
  '{ "seeds": [3, 1, 2, 1], "runs": {} }|seed 1 is given twice: expected each seed once' \
  '{ "axes": { "seed": [1] }, "seeds": 2, "runs": {} }|an axis has the name "seed"' \
  '{ "seeds": 2, "runs": { "r": { "scenario": {}, "set": { "seed": 3 } } } }|"set": "seed": expected this key only in a study without $.seeds' \
  '{ "stop": {}, "runs": {} }|expected the key "below", the key "n", or both' \
  '{ "stop": { "below": 2 }, "runs": {} }|"below": expected a relative half-width' \
  '{ "stop": { "n": 1 }, "runs": {} }|"n": expected a number of replications' \
  '{ "stop": { "metric": "m", "n": 9 }, "runs": {} }|"metric": expected this key only together with "below"' \
  '{ "run": {} }|unknown key "run": did you mean "runs"?' \
  '{ "axes": { "a": { "from": 2, "to": 1 } }, "runs": {} }|expected numbers with "from" below "to"' \
  '{ "axes": { "a": { "from": 0, "to": 1, "scale": "log" } }, "runs": {} }|"from" above 0 on a logarithmic scale' \
  '{ "axes": { "a": { "from": 0, "to": 1, "n": 1 } }, "runs": {} }|"n": expected a number of values from 2 to' \
  '{ "axes": { "a": { "from": 0, "to": 1, "by": 0 } }, "runs": {} }|"by": expected a step above 0' \
  '{ "axes": { "a": { "from": 0, "to": 1, "by": 1e-9 } }, "runs": {} }|expected at most 100000' \
  '{ "axes": { "a": { "from": 0, "to": 1 } }, "runs": { "r": { "scenario": {}, "axes": ["a"] } } }|"a" has no values: expected "n" or "by"' \
  '{ "axes": { "a": [1, 2], "b": [1] }, "runs": { "r": { "scenario": {}, "axes": [["a", "b"]] } } }|"b" has 1 values: expected 2' \
  '{ "axes": { "a": [1, 2] }, "runs": { "r": { "scenario": {}, "sample": { "axes": ["a"], "n": 2 } } } }|expected an axis that has only "from" and "to"' \
  '{ "axes": { "a": { "from": 0, "to": 1 } }, "runs": { "r": { "scenario": {}, "find": { "axis": "a", "metric": "m" } } } }|expected either "below" or "above"' \
  '{ "axes": { "a": { "from": 0, "to": 1 } }, "runs": { "r": { "scenario": {}, "find": { "axis": "a", "below": 1 } } } }|expected the key "metric"' \
  '{ "axes": { "a": { "from": 0, "to": 1 } }, "runs": { "r": { "scenario": {}, "refine": { "axis": "a", "metric": "m", "n": 2 } } } }|expected whole numbers: "start" of at least 3'; do
  printf '%s\n' "${error%%|*}" >wrong.json
  text=$("$orrery" sweep wrong.json 2>&1 >/dev/null)
  is $? 2 "refused: ${error%%|*}"
  case $text in "orrery: wrong.json: $"*"${error#*|}"*) ok 0 'with its place and the remedy' ;; *) ok 1 "with its place and: ${error#*|}"; echo "# $text" ;; esac
done
like "$(printf '{ "runs": {},\n"runs": {} }' >wrong.json; "$orrery" sweep wrong.json 2>&1)" '^orrery: wrong.json:2:1: duplicate key "runs"' 'a repeated key of a study'
sed 's/wait_p99/no_such/' find.json >wrong.json
like "$("$orrery" sweep wrong.json 2>&1)" 'metric "no_such": expected a metric that the runs have' 'a search for a metric that no run has is an error'
tap_done
