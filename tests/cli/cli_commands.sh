#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The commands: help, options, errors, and small inputs whose output is computed by hand.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
o() { "$orrery" "$@" 2>err; }
# refused ARGUMENTS..: checks for exit code 2 and an empty standard output; prints the message
refused() {
  out=$("$orrery" "$@" 2>err)
  code=$?
  [ "$code $out" = "2 " ] && cat err || echo "code $code, output $out"
}
printf 'submit_s,duration_s,gpus\n0,10,1\n1,5,1\n2,1,1\n' >three.csv

# ---- the program ----
is "$("$orrery" 2>&1 >/dev/null | head -n 1) $("$orrery" >/dev/null 2>&1; echo $?)" "usage: orrery COMMAND [ARGUMENTS] 2" "without a command: usage on standard error"
is "$(o help; echo $?)" "$(o --help; echo 0)" "help and --help are the same"
like "$(o --version)" '^orrery [0-9.]+ \(sources [0-9a-f]{12}\)$' "the version"
is "$(refused jbos)" 'orrery: unknown command "jbos": did you mean:
  orrery jobs' "the nearest verb of a world"
is "$(refused devicer)" 'orrery: unknown command "devicer": did you mean:
  orrery device' "or the nearest other command"
is "$(refused qqqqqqqq)" "orrery: unknown command \"qqqqqqqq\": 'orrery --help' lists all commands" "or none"
commands=$(o help | sed -n 's/^  \([a-z]*\) .*/\1/p')
is "$(echo "$commands" | sort | tr '\n' ' ')" "calib db device doctor explain figures goodput jobs model net plan policy report run scenario serve spot step sweep trace " "all commands are listed"
for c in $commands; do
  is "$(o "$c" --help | head -n 1 | cut -d ' ' -f 1-3) $(o "$c" x -h | cksum)" "usage: orrery $c $(o "$c" --help | cksum)" "$c --help, or -h anywhere"
done
is "$(o jobs --help | grep -c '^  --seed N \|^  -j N \|^  --set PATH=VALUE\|^  --policy LIST\|^  --scenario FILE\|^  -q  ')" 6 "a verb's help has the options of every verb"
like "$(o run --help)" '^  --set PATH=VALUE     change one value' "so has run"
like "$(o scenario --help)" '^  --world W            jobs, step, serve, spot, mixed or plan \(default jobs\)' "scenario lists the worlds"

# ---- options ----
jobs=(jobs three.csv --cluster 1x1 --policy fifo)
is "$(refused jobs)" "orrery: jobs: expected TRACE (a file, or a generator such as philly-like); --help shows the forms" "no trace"
is "$(refused "${jobs[@]}" more)" 'orrery: unexpected argument "more": expected at most one argument' "one argument too many"
is "$(refused "${jobs[@]}" --sed 3)" 'orrery: unknown option "--sed": did you mean "--set"?' "the nearest option"
is "$(refused "${jobs[@]}" --qqqqqqqqqqqq)" 'orrery: unknown option "--qqqqqqqqqqqq": expected an option that --help lists' "or none"
is "$(refused "${jobs[@]}" -x)" 'orrery: unknown option "-x": expected an option that --help lists' "a letter"
is "$(refused "${jobs[@]}" --seed)" 'orrery: option --seed: expected a value' "no value"
is "$(refused "${jobs[@]}" -o x)" 'orrery: unknown option "-o": expected an option that --help lists' "-o belongs to worlds with --output"
for j in 0 -1 4097 x 1.5; do is "$(refused "${jobs[@]}" -j "$j")" "orrery: -j: expected a whole number from 1 to 4096, found \"$j\"" "-j $j"; done
for j in 1 2 4096; do is "$(o "${jobs[@]}" -q -j $j; echo $?)" 0 "-j $j"; done
is "$(refused "${jobs[@]}" --set seed)" 'orrery: --set seed: expected PATH=VALUE' "--set without a value"
show() { o scenario show "$@" | tr -d '\t\n '; }
like "$(show three.csv --cluster 1x1 --policy fifo,,las --policy sjf@x)" '"label":"fifo".*"label":"las".*"label":"x"' "--policy may be repeated; empty names are skipped"
like "$(show three.csv --cluster 1x1 --policy fifo --seed 4 --set seed=5)" '"seed":"5"' "--set comes after the options"
like "$(show three.csv --cluster 1x1 --policy fifo --seed 4 --seed 6)" '"seed":"6"' "the last value counts"
like "$(show three.csv --cluster 1x1 --policy las --set policy.las.limits=1s,2s)" '"limits":"1s?,2s?"|"limits":"1,2"' "a parameter of a policy"
like "$(show --world step lenet5 --cluster 2x1:v100 --policy allreduce)" '"world":"step".*"model":"lenet5"' "--world: the argument is that of its verb"
is "$(o model show lenet5 --json | grep -c '"block"') $(o model show gpt:hidden=64,layers=3,heads=4,seq=32,vocab=100 | grep -c 'more blocks like this one')" "0 1" "equal blocks are shown once"
is "$(o trace info three.csv --json | tr -d '\t\n' | grep -o '"gpus":{"n":3,"mean":1,"sd":0,"min":1' | wc -l)" 1 "a distribution as JSON"
is "$(refused scenario)" 'orrery: scenario: expected "show" or "schema"; '\''orrery scenario --help'\'' shows the forms' "scenario alone"
is "$(refused scenario show)" 'orrery: scenario show: expected the name of a scenario file or a trace; '\''orrery scenario --help'\'' shows the forms' "show alone"
is "$(refused run)" 'orrery: run: expected the name of a scenario file; '\''orrery run --help'\'' shows the forms' "run alone"

# ---- scenario files ----
o scenario show three.csv --cluster 1x1 --policy fifo --seed 3 >s.json
is "$(show s.json)" "$(tr -d '\t\n ' <s.json)" "what show prints is a scenario that shows the same"
like "$(show s.json --seed 9 --cluster 2x1)" '"cluster":"2x1".*"seed":"9"' "options precede the file"
is "$(o run s.json --json)" "$(o "${jobs[@]}" --seed 3 --json)" "run runs it"
is "$(o jobs --scenario s.json --json)" "$(o run s.json --json)" "so does the verb"
printf 'submit_s,duration_s,gpus\n0,7,1\n' >one.csv
is "$(o jobs one.csv --scenario s.json --json | tr -d '\t' | grep -A 1 '"makespan"' | tr -dc 0-9)" 7 "with another trace"
echo '{"world": "step", "seeed": 3}' >bad.json
is "$(refused jobs --scenario bad.json)" 'orrery: bad.json: $.world: expected "jobs" ('\''orrery run'\'' runs scenarios of any world)' "a scenario of another world"
echo '{"seeed": 3}' >bad.json
is "$(refused run bad.json)" 'orrery: bad.json: unknown key "seeed": did you mean "seed"?' "errors of run name the file"
is "$(refused jobs --scenario bad.json)" 'orrery: bad.json: unknown key "seeed": did you mean "seed"?' "and those of a verb"
is "$(refused run nosuch.json)" 'orrery: nosuch.json: No such file or directory' "no file"
is "$(refused run three.csv)" 'orrery: three.csv:1: invalid JSON from this line on: expected a JSON object' "no JSON"
echo '[]' >bad.json
is "$(refused run bad.json)" 'orrery: bad.json: expected a JSON object' "no object"

# ---- policies ----
is "$(o policy list --kind spot | head -n 1) $(o policy list --kind spot | grep -c '^[a-z]')" "spot policies (orrery spot): 1" "policy list of a world"
is "$(o policy list | grep '^[a-z]' | cut -d ' ' -f 1 | tr '\n' ' ')" "jobs step serve spot plan " "policy list of all"
like "$(o policy list)" '^  sjf  .*\[oracle\]$' "oracles are marked"
is "$(o policy list | grep -c '^  fifo .*oracle')" 0 "others are not"
is "$(o policy show bamboo | grep '^kind' | tr '\n' ' ')" "kind: step kind: spot " "policy show: two worlds may have a policy of one name"
is "$(o policy show bamboo --kind spot | grep '^kind')" "kind: spot" "--kind selects"
like "$(o policy show las)" '^  --set policy.las.[a-z_]+=' "parameters"
like "$(o policy show fifo)" '^no parameters$' "or none"
like "$(o policy show sjf)" '^kind: jobs; sees .* \(oracle\)$' "what an oracle sees"
is "$(refused policy show fifi)" "orrery: unknown policy \"fifi\": did you mean \"fifo\"? 'orrery policy list' shows all policies; a plugin is named by its file" "an unknown policy"
is "$(refused policy list --kind chess)" 'orrery: --kind: expected jobs, step, serve, spot or plan, found "chess"' "an unknown world"
is "$(refused policy list --kind mixed)" 'orrery: --kind: expected jobs, step, serve, spot or plan, found "mixed"' "or one without policies"
for args in "" show "list x" "new" "new a b"; do
  # shellcheck disable=SC2086
  is "$(refused policy $args)" "orrery: policy: expected \"list\", \"show NAME\", \"new NAME\" or \"cflags\"; 'orrery policy --help' shows the forms" "policy $args"
done
for name in A 1a -a 'a b' "$(printf 'a%.0s' {1..61})"; do
  is "$(refused policy new -- "$name")" "orrery: policy new: expected a name of lower-case letters, digits, '-' and '_', found \"$name\"" "a name like $name"
done
is "$(o policy new my-own2 | head -n 1) $(ls my-own2*)" "wrote my-own2.c and my-own2_test.sh; next: my-own2.c
my-own2_test.sh" "policy new writes two files"
is "$(grep -c '@' my-own2.c) $(grep -c 'my_own2' my-own2.c | awk '{ print ($1 > 0) }') $(test -x my-own2_test.sh; echo $?)" "0 1 0" "with the name filled in; the test is executable"
is "$(refused policy new my-own2)" "orrery: my-own2.c: this file exists already: expected another name" "and overwrites none"
is "$(o policy new "$(printf 'a%.0s' {1..60})" | wc -l)" 3 "names of 60 letters"
is "$(refused policy new x --reacting)" "orrery: --reacting: expected --kind step, found --kind jobs, whose policies always react to events" "--reacting is of steps"
is "$(refused policy list --reacting)" "orrery: --reacting: expected this option only in 'orrery policy new NAME --kind step'" "and of new"
is "$(o policy new r --kind step --reacting | wc -l) $(o policy new s --kind step | wc -l) $(cmp -s r.c s.c; echo $?)" "3 3 1" "which has another template"

# ---- devices and models ----
is "$(o device list | awk '$1 == "v100" || $1 == "a100-80g" { print $1, $2, $3, $4 }' | sort)" "a100-80g 19.5 312 80
v100 15.7 125 16" "device list: FP32 and FP16 peaks in TFLOP/s, GiB"
like "$(o device show v100)" '^  fp16 +125 ' "device show: products"
like "$(o device show v100)" '^  memory +16 GiB, 900 GB/s' "memory"
like "$(o device show v100)" '^SHA-256 [0-9a-f]{64}$' "hash"
for args in "" show "list x" "show a b"; do
  # shellcheck disable=SC2086
  is "$(refused device $args)" "orrery: device: expected \"list\" or \"show NAME\"; 'orrery device --help' shows the forms" "device $args"
done
like "$(refused device show v10)" 'unknown device "v10"' "an unknown device"
cat >table.json <<'EOT'
{"name": "made", "title": "by hand", "source": "made up", "kind": "table", "batch": [1, 4], "latency_ms": [20, 40], "weight_bytes": 1073741824}
EOT
is "$(o model show table.json --served | tail -n 2 | awk '{ print $1, $2, $3 }')" "1 20 50
4 40 100" "a served table: samples, ms, samples/s"
is "$(o model show table.json --served --json | tr -d '\t\n' | grep -o '"samples":[0-9]*,"latency_s":[0-9.]*')" '"samples":1,"latency_s":0.02
"samples":4,"latency_s":0.04' "and as JSON"
like "$(o model list --served)" '^llama2-7b +llm ' "the list has kinds"
like "$(o model show llama2-7b --served)" '^context +2048 tokens at each decode$' "the default context"
for option in tp pp; do for n in 0 1025 x; do
  is "$(refused model show llama2-7b --served --$option $n)" "orrery: --$option: expected a whole number from 1 to 1024, found \"$n\"" "--$option $n"
done; done
is "$(refused model show llama2-7b --context 3)" "orrery: --context: expected this option only together with --served" "--context without --served"
is "$(refused model show x --served --elastic)" "orrery: model: --served and --elastic exclude each other: expected only one of them" "both kinds"
for n in 0 1000000001 x; do
  is "$(refused model show lenet5 --batch $n)" "orrery: --batch: expected a whole number from 1 to 1000000000, found \"$n\"" "--batch $n"
done
out=$(o model show bamboo-bert --elastic)
like "$out" '^step +264 samples; 22194 steps in total$' "an elastic job: its length"
like "$out" '^shape +4 x 12 \(pipelines x depth\), the default$' "its shape"
like "$out" '^state +4.08 GB, 3.4e\+08 parameters$' "its state"
like "$out" '^on demand +20 nodes, a step in 2.51 s$' "its nodes on demand"
like "$out" '^ +4 +12 +1.45 ' "a step of 4 pipelines of 12 stages takes 1450 ms"
is "$(o model show bamboo-bert --elastic --json | tr -d '\t\n' | grep -o '"pipelines":4,"depth":12,"step_s":1.45,')" '"pipelines":4,"depth":12,"step_s":1.45,' "in JSON"
like "$(o model list --elastic)" '^bamboo-bert +264 +22194 +4 x 12 +12 ' "a line of the list"
is "$(o model list --elastic --json | grep -c '"name"')" "$(($(o model list --elastic | wc -l) - 1))" "as many in JSON"
is "$(o model list --json | grep -c '"name"')" "$(($(o model list | wc -l) - 1))" "so with the models of networks"
like "$(o model show lenet5)" '^parameters  61706 in 10 tensors$' "LeNet-5 has 61,706 parameters"
like "$(o model show lenet5 --batch 4)" '^batch       4$' "the batch"

# ---- flows on a link of 1e9 B/s and 1 us; the second flow starts at 1 ms and shares the link for 2 ms from 1.001
# ms on ----
printf 'link,bandwidth_Bps,latency_s\nup,1e9,1e-6\n' >links.csv
printf 'id,step,src,dst,bytes,start_s,links\n"a,b",-1,a,b,3e6,0,up\n1,-1,a,c,1e6,0.001,up\n' >flows.csv
net=(net flows --links links.csv --flows flows.csv)
is "$(o "${net[@]}" | awk -F, 'NR > 1 { printf "%.6f %.6f\n", $(NF - 1), $NF }')" "0.000000 0.004001
0.001000 0.003001" "flows that share a link"
is "$(o "${net[@]}" | cut -d , -f 1-2 | tail -n 2)" '"a,b"
1,0.001' "names with a comma are quoted"
is "$(o "${net[@]}" -o out.csv -q; cat out.csv)" "$(o "${net[@]}" -o -)" "-o writes the same rows to a file"
is "$(o "${net[@]}" -o sub.csv)" "2 flows, 4e+06 bytes, 1 links
the last flow ends at 0.004001 s; a flow takes 0.003001 s on average, 0.004001 s at most" "and prints a summary"
is "$(o "${net[@]}" --json --check | tr -d '\t' | grep -E '"(flows|links|bytes|steps|checked)"' | tr -d '\n')" '"checked":true,"links":1,"flows":2,"steps":0,"bytes":4000000,' "as JSON"
is "$(o "${net[@]}" -o /dev/null; echo $?)" "2 flows, 4e+06 bytes, 1 links
the last flow ends at 0.004001 s; a flow takes 0.003001 s on average, 0.004001 s at most
0" "a device is not replaced"
printf 'id,step,src,dst,bytes,start_s,links\n0,0,a,b,1e6,0,up\n1,1,a,c,1e6,0,up\n' >flows.csv
like "$(o "${net[@]}" -o steps.csv)" '^2 flows, 2e\+06 bytes, 1 links, 2 steps \([12] different\)$' "steps are counted"
is "$(refused net)" "orrery: net: expected the verb \"flows\"; 'orrery net --help' shows the forms" "net alone"
is "$(refused net flow)" 'orrery: net: unknown verb "flow": did you mean "flows"?' "the nearest verb"
is "$(refused net qqqqq)" 'orrery: net: unknown verb "qqqqq": expected "flows"' "or the only one"
is "$(refused net flows --links links.csv)" "orrery: net flows: expected the options --links FILE and --flows FILE; 'orrery net --help' shows the forms" "one file"
is "$(refused "${net[@]}" more)" 'orrery: net flows: unexpected argument "more": expected the names of files only after --links and --flows' "a further argument"

# ---- traces ----
is "$(o trace slice three.csv --from 1 --until 2 | tail -n +2 | cut -d , -f 2-4)" "1,5,1" "slice: [from, until)"
is "$(o trace slice three.csv --count 2 -o two.csv; cat err)" "two.csv: 2 rows" "the number of rows written"
is "$(o trace slice three.csv --count 0 | wc -l)" 1 "none"
is "$(o trace slice three.csv --from 1 --rebase --sort | tail -n +2 | cut -d , -f 2)" "0
1" "rebased"
printf 'submit_s,duration_s,gpus,user,queue\n5,1,1,a,p\n0,1,4,b,q\n9,1,8,,\n' >u.csv
kept() { o trace slice u.csv "$@" | tail -n +2 | cut -d , -f 2 | tr '\n' ' '; }
is "$(kept --gpus 4)|$(kept --gpus 2-8)|$(kept --gpus 0-4)|$(kept --user a)|$(kept --queue q)|$(kept --user c)|$(kept --gpus 1-4 --queue p)" \
  "0 |0 9 |5 0 |5 |0 ||5 " "rows by GPUs, user and queue"
is "$(o trace convert u.csv --sort | tail -n +2 | cut -d , -f 2 | tr '\n' ' ')" "0 5 9 " "convert --sort"
o trace slice u.csv --rebase >out
is "$? $(cat err)" '2 orrery: line 3: this row was submitted before the first row kept: expected rows in order of time, or --sort' "rows out of order cannot be rebased"
while read -r option value expected; do
  is "$(refused trace slice u.csv "--$option=$value")" "orrery: --$option: expected $expected, found \"$value\"" "--$option $value"
done <<'EOT'
gpus 8-1 a count or a range like 1-8
gpus -1 a count or a range like 1-8
gpus x a count or a range like 1-8
from x a time like 36h or 90000
until x a time like 36h or 90000
count -1 a whole number from 0
sample 0 a probability above 0 and at most 1
sample 1.5 a probability above 0 and at most 1
EOT
is "$(refused trace)" "orrery: trace: expected a verb, such as \"info\"; 'orrery trace --help' shows the forms" "trace alone"
is "$(refused trace qqqqqqq)" 'orrery: trace: unknown verb "qqqqqqq": expected info, convert, slice, synth, get or list' "an unknown verb"
is "$(refused trace list x)" 'orrery: trace list: unexpected argument "x": expected none' "list takes nothing"
is "$(refused trace synth)" "orrery: trace synth: expected one model that 'orrery trace list' shows" "synth alone"
is "$(refused trace convert)" "orrery: trace convert: expected the name of one file; 'orrery trace --help' shows the forms" "convert alone"
is "$(o trace synth poisson:n=5 -o five.csv; cat err; wc -l <five.csv)" "five.csv: 5 rows
6" "synth jobs"
is "$(o trace synth poisson:n=5 --to requests | wc -l) $(o trace synth poisson:n=5 --seed 2 | cmp -s - five.csv; echo $?)" "6 1" "synth requests, and another seed"
is "$(refused trace synth explore:f=3)" "orrery: explore:f=3: the generator makes flows, whose operators no trace file can store: expected the generator itself as the trace ('orrery jobs explore:f=3'), or a flow in JSON (docs/howto/run-a-workflow.md)" "synth of a workflow"
echo '{"operators":[{"name":"a","work_s":100},{"name":"b","work_s":10,"inputs":["a"]}]}' >flow.json
is "$(refused trace convert flow.json) $(refused trace slice flow.json --count 1)" \
  "orrery: flow.json: this trace holds flows, and no other format can store their operators: expected a trace of jobs orrery: flow.json: this trace holds flows, and no other format can store their operators: expected a trace of jobs" \
  "a workflow in rows of jobs"
o trace synth hazard:p=0.5,length=4h -o h.csv
is "$(refused trace slice h.csv --count 3)" "orrery: h.csv: the rows of one instance depend on one another: expected a selection by time only (--from and --until)" "instances have no single rows"
is "$(refused trace slice h.csv --user a)" "orrery: h.csv: this trace holds instances, which have no queue, user or GPUs: expected a selection by time only (--from and --until)" "nor users"
is "$(refused trace slice h.csv --to swf)" 'orrery: --to: expected "availability", the only format for instances, found "swf"' "nor another format"
o trace synth poisson:n=9,rate=1 --to requests -o q.csv
is "$(refused trace slice q.csv --user a)" "orrery: q.csv: this trace holds requests, which have no queue, user or GPUs: expected none of --queue, --user and --gpus" "requests neither"
is "$(o trace slice q.csv --count 4 | wc -l) $(o trace slice q.csv --sample 1 | wc -l)" "5 10" "requests are cut"
out=$(o trace info u.csv)
like "$out" '^rows +3$' "info: rows"
is "$(o trace info u.csv --json | tr -d '\t' | grep -c '^"distributions":')" 1 "as JSON"

like "$(o trace info poisson:n=5,rate=1 --format requests)" '^requests +5$' "a generator of requests"
like "$(o trace info poisson:n=5)" '^rows +5$' "or of jobs"
is "$(refused trace info poisson:n=0 --format requests)" "orrery: poisson:n=0: this generator has no end: expected its parameter \"n\"" "without an end there are no requests to describe"
is "$(refused trace info poisson:n=0)" "orrery: poisson:n=0: this generator has no end: expected its parameter \"n\"" "nor jobs"
like "$(o trace info hazard:p=0.5,length=2h)" '^span h +2$' "a generator of instances"
is "$(refused trace info hazard:p=0.5,length=0)" "orrery: hazard:p=0.5,length=0: this generator has no end: expected its parameter \"length\"" "which needs an end"
printf 'arrival_s,request_id\n0,a\n1,b\n3,c\n' >r.csv
out=$(o trace info r.csv)
like "$out" '^requests +3$' "requests of a file"
like "$out" '^span s +3$' "their span"
like "$out" '^gap s +2 +1\.5 ' "gaps of 1 and 2 s"
is "$(o trace info r.csv --json | tr -d '\t' | grep -E '^"(requests|span s)":' | tr -d '\n')" '"requests":3,"span s":3,' "facts as JSON numbers"
# Two gaps in 3 s: 2/3 requests/s with 20 and 5 tokens on average.
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,20,5\n3,30,5\n' >tokens.csv
is "$(o trace info tokens.csv | awk '/^rate/ { print $NF }' | tr '\n' ' ')" "0.666667 13.3333 3.33333 " "rates of tokens are those of requests times the mean tokens"
for i in $(seq 20); do echo "$i,1,1,u$i"; done | cat <(echo submit_s,duration_s,gpus,user) - >many.csv
like "$(o trace info many.csv)" '^  and 5 more \(--json lists all\)$' "15 of 20 users are listed"
is "$(o trace info many.csv --json | grep -c '"key":.*"u[0-9]*"')" 20 "all as JSON"
is "$(refused trace info)" "orrery: trace info: expected the name of one file; 'orrery trace --help' shows the forms" "info alone"

# ---- databases ----
o "${jobs[@]}" --db r.db -q
is "$(o db runs r.db | awk 'NR == 2 { print $1, $2, $3, $5 }')" "1 fifo jobs 3" "db runs"
is "$(refused db runs r.db --run 1)" "orrery: db runs: expected neither --run nor --out: 'orrery db export' accepts both, and 'orrery db show' accepts --run" "--run is of export and show"
is "$(refused db export r.db --run 1)" "orrery: db export: expected the options --run N and --out DIR" "export needs both"
is "$(refused db export r.db --run 0 --out x)" 'orrery: --run: expected a whole number from 1, found "0"' "runs are counted from 1"
is "$(o db export r.db --run 1 --out x; cut -d , -f 1,3-5 x/fifo.jobs.csv | sed -n 2p)" "0,0.000000000,0.000000000,10.000000000" "an exported row"

# ---- books ----
mkdir -p mine && echo '{"runs": {"q": {"scenario": {"cluster": "1x1", "trace": "${dir}/../three.csv", "policies": ["fifo"]}}},
  "table": [{"id": "m", "published": false, "simulated": "{q.fifo.makespan}"}]}' >mine/figures.json
is "$(o figures mine/// --no-figures; cat figures-mine/table.txt)" "id  simulated
m          16
id  simulated
m          16" "figures prints its table, and writes to figures-NAME"
is "$(o figures ./mine --no-figures -q --out there -j 2; ls there | tr '\n' ' ')" "table.csv table.txt " "-q prints nothing; --out names the folder"
is "$("$orrery" figures ./mine --no-figures 2>&1 >/dev/full)" "orrery: standard output: cannot be written" "a full standard output"
is "$(refused figures ./mine -j 0)" 'orrery: -j: expected a whole number from 1 to 4096, found "0"' "-j"
like "$(refused figures ./mine other)" 'other' "one book"
tap_done
