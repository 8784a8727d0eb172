#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery step at the command line: outputs, error messages and exit codes (0 done, 1 failed, 2 invalid input).
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1

# The model has 1e6 parameters, so 4 MB of gradients. On 4 nodes with 8 Gb/s = 1e9 B/s and no latency, a ring takes
# 2 * 3/4 * 4e6 / 1e9 s = 6 ms.
cat >two.json <<'E'
{ "name": "two", "title": "two layers", "source": "made up", "input": "10x10x1", "input_elems": 100, "classifier": "fc",
  "layers": [
    { "name": "conv", "kind": "conv", "params": 10000, "flops": 2000000, "in": 100, "out": 990, "saved": 100, "gemm": [100, 100, 100, 1] },
    { "name": "fc", "kind": "linear", "params": 990000, "flops": 1980000, "in": 990, "out": 1000, "saved": 990, "gemm": [1, 1000, 990, 1] } ] }
E
net=(--cluster 4x1:v100 --network star:bw=8Gbps,lat=0 --no-figures)

"$orrery" step two.json "${net[@]}" --policy allreduce,allreduce@late --set policy.late.overlap=false --set policy.late.fusion=none --out o -q >stdout 2>said
is "$? $(cat stdout said)" "0 " "-q prints nothing"
is "$(cd o && echo *)" "allreduce.devices.csv allreduce.iterations.csv late.devices.csv late.iterations.csv notes.csv summary.csv" \
  "--out writes the expected files"
is "$(head -1 o/late.iterations.csv)" "iteration,start_s,end_s,samples" "iterations.csv: the header"
is "$(wc -l <o/late.iterations.csv)" 21 "iterations.csv: 20 rows"
is "$(awk -F, 'NR > 1 && $4 != 128' o/late.iterations.csv)" "" "iterations.csv: 4 GPUs times 32 samples per iteration"
is "$(head -1 o/summary.csv)" "policy,metric,value,ci_low,ci_high" "summary.csv: the header"
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' o/summary.csv; }
# near A B: prints "near" if A / B is within 1e-9 of 1
near() { awk -v a="$1" -v b="$2" 'BEGIN { off = a / b - 1; print (off * off < 1e-18) ? "near" : a " for " b }'; }
is "$(near "$(metric late sent_bytes_max)" 6e6)" near "each device sends 2 * 3/4 of the gradients"
is "$(near "$(metric late iteration_s)" "$(awk -v c="$(metric late compute_s)" -v u="$(metric late optimizer_s)" \
  'BEGIN { printf "%.17g", c + u + 0.006 }')")" near "an iteration takes compute, ring and update"
is "$(near "$(metric late exposed_s)" 0.006)" near "all communication of the ring is exposed"
is "$(near "$(metric allreduce samples_per_s)" "$(awk -v t="$(metric allreduce iteration_s)" 'BEGIN { printf "%.17g", 128 / t }')")" \
  near "throughput is samples over time"
is "$(awk -F, 'NR > 1 { n++; sent += $10 } END { print n, sent }' o/late.devices.csv)" "4 24000000" "devices.csv has a row for each device"

# ---- the same results for any -j, and from the database ----
study=(two.json "${net[@]}" --policy allreduce,parameter-server,stanza --set step.stragglers=lognormal --set step.iterations=40)
"$orrery" step "${study[@]}" -j1 --out j1 --db runs.db --json >j1.json 2>&1
rc=$?
"$orrery" step "${study[@]}" -j2 --out j2 --json >j2.json 2>&1
is "$rc $? $(cat j1/* j1.json | sha256sum)" "0 0 $(cat j2/* j2.json | sha256sum)" "-j1 and -j2 give the same bytes"
"$orrery" step "${study[@]}" --out again --db runs.db --json >again.json 2>said
is "$? $(cat again/* again.json | sha256sum)" "0 $(cat j1/* j1.json | sha256sum)" "runs from the database give the same bytes"
like "$(cat said)" 'stanza: the run is taken from runs.db' "a message names the database"
is "$("$orrery" db runs runs.db | awk '{ print $3 }' | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd,)" "3 step,1 world" \
  "each run is stored once"
"$orrery" step "${study[@]}" --seed 2 --out seed -q
is "$(cmp -s seed/allreduce.iterations.csv j1/allreduce.iterations.csv; echo $?)" 1 "another seed gives other stragglers"
is "$(awk -F, '$1 == "allreduce" && $2 == "samples_per_s" { print ($3 > 0), $4 $5 }' j1/summary.csv) $(grep -c 'no interval if' j1.json)" "1  3" \
  "few random iterations have no interval, and a remark names the option that gives one"
is "$(awk -F, '$1 == "late" && $2 == "iteration_s" { print ($4 == $3 && $3 == $5) }' o/summary.csv)" 1 \
  "repeating iterations have an interval of width 0"
"$orrery" db export runs.db --run 1 --out exported
is "$(cat exported/allreduce.*.csv | sha256sum)" "$(cat j1/allreduce.*.csv | sha256sum)" "db export writes the same files"
"$orrery" step "${study[@]}" --db other.db -q
is "$("$orrery" db digest other.db)" "$("$orrery" db digest runs.db)" "runs stored by one command or several have the same digest"
said=$("$orrery" step two.json "${net[@]}" --policy allreduce --check -q 2>&1)
is "$? $said" "0 " "--check finds no error"
cp two.json copy.json
"$orrery" step copy.json "${study[@]:1}" --db runs.db -q
is "$("$orrery" db runs runs.db | wc -l)" 4 "a model of equal contents is the same model under another name"
sed 's/"saved": 990/"saved": 991/' two.json >other.json
"$orrery" step other.json "${study[@]:1}" --db runs.db -q
is "$("$orrery" db runs runs.db | wc -l)" 7 "a model of other contents gives another run"

# ---- table, timeline, scenario ----
text=$("$orrery" step two.json "${net[@]}" --policy allreduce)
like "$text" '^policy +samples/s +iteration +compute +exposed comm\. +bubble +optimizer +peak memory$' "the table's columns"
like "$text" '^allreduce: .*steady state after [0-9]+ of 20 iterations \(period 1\)' "the choice and the steady state"
"$orrery" step two.json "${net[@]}" --policy allreduce,stanza --timeline t.json -q
cat >look.py <<'E'
import json
d = json.load(open("t.json"))["traceEvents"]
slices = [e for e in d if e["ph"] == "X"]
tracks = {}
for e in slices:
    tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
clear = all(b[0] >= a[1] - 1e-6 for t in tracks.values() for a, b in zip(sorted(t), sorted(t)[1:]))
starts = {e["id"] for e in d if e["ph"] == "s"}
ends = {e["id"] for e in d if e["ph"] == "f"}
names = [e["args"]["name"] for e in d if e["name"] == "process_name"]
print(clear, len(slices) > 10, starts == ends and len(starts) > 0, "stanza: device 3 (node 3)" in names)
E
if command -v python3 >/dev/null; then
  is "$(python3 look.py)" "True True True True" "the timeline is JSON: no slices overlap on a thread, every arrow has both ends"
  "$orrery" step two.json "${net[@]}" --policy allreduce --json >out.json
  is "$(python3 -c '
import json, sys
d = json.load(sys.stdin, parse_constant=lambda c: sys.exit("not JSON: " + c))["runs"][0]
print(d["world"], d["metrics"]["iterations"]["value"], "replicas" in d["choice"])' <out.json)" "step 20 True" "the output of --json is valid JSON"
else
  skip "python3 is not installed" 2
fi
if command -v gnuplot >/dev/null; then
  "$orrery" step two.json "${net[@]:0:4}" --policy allreduce,stanza --out figures -q
  is "$? $(cd figures && echo *.pdf)" "0 throughput.pdf timeline-allreduce.pdf timeline-stanza.pdf" "--out draws the figures of throughput and time"
  # A timeline with one row of devices leaves the least room for the legend.
  is "$(grep -oE 'forward|backward|optimizer|messages' figures/timeline-allreduce.svg | sort -u | wc -l)" 4 "the legend is complete"
else
  skip "gnuplot is not installed" 2
fi
"$orrery" scenario show two.json --world step "${net[@]:0:4}" --policy allreduce >s.json
is "$? $("$orrery" run s.json --no-figures --out run -q; cmp run/allreduce.iterations.csv o/allreduce.iterations.csv && echo same)" \
  "0 same" "scenario show writes what run executes"
"$orrery" scenario show s.json >s2.json
is "$(cat s2.json)" "$(cat s.json)" "scenario show of its own output is unchanged"

if command -v python3 >/dev/null; then
  "$orrery" scenario show two.json --world step "${net[@]:0:4}" --policy allreduce --set learn.seeds=2 --set step.checkpoint_every=5 --set step.storage_bw=1GBps --device v100 >learn.json
  cat >keys.py <<'E'
import json, sys
shown, schema = json.load(open("learn.json")), json.load(open(sys.argv[1]))["$defs"]["step"]["properties"]
print(sorted(set(shown) - set(schema)), [(k, sorted(set(shown[k]) ^ set(schema[k]["properties"]))) for k in ("step", "cost", "learn")])
E
  is "$(python3 keys.py "$tree/docs/scenario.schema.json")" "[] [('step', []), ('cost', []), ('learn', [])]" \
    "docs/scenario.schema.json knows every key and option"
else
  skip "python3 is not installed"
fi
said=$("$orrery" step two.json "${net[@]}" --policy allreduce --set learn.seeds=2 --set learn.max_samples=2000 --out learn -q 2>&1)
is "$? $said $(awk -F, '$2 == "seeds" { print $3 }' learn/summary.csv) $(sed -n '2s/.*,\(loss\),.*/\1/p' learn/allreduce.series.csv)" "0  2 loss" \
  "learn options apply the schedule to SGD"

# ---- refusals: arguments | exit code and message (an extended regular expression) ----
printf '{"world": "step", "model": "two.json", "cluster": "1x2:v100", "policies": ["allreduce"], "modell": 1}' >typo.json
refused() {
  while IFS='|' read -r args expected; do
    # shellcheck disable=SC2086
    said=$("$orrery" $args 2>&1 >/dev/null)
    like "$? $said" "^$expected" "orrery $args"
  done
}
refused <<'E'
step|2 orrery: step: expected MODEL
step two.json --cluster 1x2:v100|2 orrery: expected a policy
step two.json --policy allreduce|2 orrery: scenario: expected a cluster
step two.json --cluster 1x2:v100 --policy fifo|2 orrery: policy "fifo" is a jobs policy .for .orrery jobs..: expected a step policy
jobs philly-like --cluster 1x2 --policy allreduce|2 orrery: policy "allreduce" is a step policy .for .orrery step..: expected a jobs policy
step two.json --cluster 1x2:v100 --policy allreduc|2 orrery: unknown policy "allreduc": did you mean "allreduce"?
step two.json more --cluster 1x2:v100 --policy allreduce|2 orrery: unexpected argument "more": expected at most one argument
step two.json --cluster 1x2:v100 --plicy allreduce|2 orrery: unknown option "--plicy": did you mean "--policy"?
step two.json --cluster 1x2:v100 --placement spread|2 orrery: unknown option "--placement"
step two.json --cluster 1x2:v100 --policy megatron|2 orrery: policy megatron: cut=blocks: expected a transformer: the model has no repeated blocks
step resnet51 --cluster 1x2:v100 --policy allreduce|2 orrery: .*resnet51.*resnet
step gone.json --cluster 1x2:v100 --policy allreduce|2 orrery: gone.json: No such file
step two.json --cluster 1x2:v1000 --policy allreduce|2 orrery: .*v1000.*v100
step two.json --cluster 1x2:v100 --device nosuch --policy allreduce|2 orrery: .*nosuch
step two.json --cluster 1x2:v100 --network ster --policy allreduce|2 orrery: .*ster.*star
step two.json --cluster 1x2:v100 --network star:bv=1Gbps --policy allreduce|2 orrery: .*bv.*bw
step two.json --cluster 1x2:v100 --precision fp17 --policy allreduce|2 orrery: scenario: \$\.precision: expected fp32, tf32, fp16, bf16 or fp8, found "fp17"
step two.json --cluster 1x2:v100 --batch 0 --policy allreduce|2 orrery: scenario: \$\.batch: expected a number from 1e-09 to 1000000000, found "0"
step two.json --cluster 1x2:v100 --seed x --policy allreduce|2 orrery: scenario: \$\.seed: expected a whole number
step two.json --cluster 1x2:v100 --policy allreduce --set step.iteration=4|2 orrery: step: unknown parameter "iteration": did you mean "iterations"?
step two.json --cluster 1x2:v100 --policy allreduce --set step.iterations=0|2 orrery: step: iterations: .*"0"
step two.json --cluster 1x2:v100 --policy allreduce --set cost.efficiency=2|2 orrery: cost: efficiency: .*"2"
step two.json --cluster 1x2:v100 --policy allreduce --set learn.rate=2|2 orrery: learn: unknown parameter "rate"
step two.json --cluster 1x2:v100 --policy allreduce --set policy.allreduce.overlap=maybe|2 orrery: policy allreduce: overlap: .*"maybe"
step two.json --cluster 1x2:v100 --policy allreduce --set step.link_changes=gone.csv|2 orrery: gone.csv: No such file
step two.json --cluster 2x0:cpus=4 --policy allreduce|2 orrery: cluster 2x0:cpus=4: expected at least one GPU
step two.json --cluster 1x2:v100 --policy allreduce --batch 1e8|[12] orrery: .*replica.*GiB
run typo.json|2 orrery: typo.json: unknown key "modell": did you mean "model"?
jobs philly-like --cluster 1x2 --policy fifo --timeline t.json|2 orrery: unknown option "--timeline"
scenario show two.json --world stop --policy allreduce|2 orrery: scenario: \$.world: expected "jobs", "step", "serve", "spot", "mixed" or "plan", found "stop"
policy new x --kind steps|2 orrery: --kind: expected jobs, step, serve, spot or plan, found "steps"
E
said=$("$orrery" step two.json "${net[@]}" --policy allreduce --out /proc/nowhere 2>&1)
like "$? $said" '^1 orrery: /proc/nowhere: this folder cannot be created' "an --out that cannot be created"

# ---- without a pipeline to fill, a replica has one micro-batch: it computes as long as under all-reduce ----
"$orrery" step gpt2 --cluster 1x4:h100 --precision fp8 --batch 8 --policy allreduce,megatron,tensor-parallel,zb-h1 --set policy.tensor-parallel.shards=1 \
  --set policy.zb-h1.stages=1 --no-figures --out whole >table 2>&1
computes() { awk -F, -v p="$1" '$1 == p && $2 == "compute_s" { print $3 }' whole/summary.csv; }
for p in megatron tensor-parallel zb-h1; do
  is "$(awk -v a="$(computes allreduce)" -v b="$(computes $p)" 'BEGIN { print (b / a - 1 < 1e-9 && a / b - 1 < 1e-9 ? "equal" : b / a) }')" equal \
    "$p with one stage: one micro-batch"
done
like "$(cat table)" "matrix products are not measured in fp8, so small ones may come out slower" "fp8 without a measured law"
while IFS='|' read -r set expected; do
  said=$("$orrery" step gpt2 --cluster 1x4:h100 --policy megatron --set policy.megatron.global_batch=2 ${set:+--set "$set"} -q 2>&1)
  is "$? $said" "2 orrery: policy megatron: 2 samples per iteration for 4 replicas: expected at least $expected for each replica (global_batch)" \
    "fewer samples than replicas: $set"
done <<'E'
|4, a micro-batch of 1
policy.megatron.micro_batch=2|8, a micro-batch of 2
E

# ---- with one stage, the fewest micro-batches that fit in memory: one fewer does not fit ----
for p in megatron tensor-parallel zb-h1 dapple bamboo; do
  one=()
  case $p in tensor-parallel) one=(--set "policy.$p.shards=1") ;; megatron) ;; *) one=(--set "policy.$p.stages=1") ;; esac
  long=("$orrery" step gpt2 --cluster 1x2:v100 --batch 30 --policy "$p" "${one[@]}" --no-figures --out fits)
  like "$("${long[@]}" 2>&1)" '[^0-9]3 micro-batches' "$p with one stage: 3 micro-batches"
  said=$("${long[@]}" --set "policy.$p.micro_batches=2" -q 2>&1)
  like "$? $said" '^[12] .*needs at least .* GiB and has 16' "$p with one stage: 2 micro-batches do not fit"
done

# ---- with several stages at most 4 per stage, or the first number above that fits; dapple: with which its stages keep 4, 3, 2, 1 ----
for p in one-f-one-b interleaved zb-h2 zb zb-v v-half dual-pipe bamboo dapple; do
  long=("$orrery" step gpt2-xl --cluster 4x1:a100 --batch 32 --policy "$p" --network star:bw=100Gbps --no-figures --out fits)
  for m in 16 32 64 128; do
    said=$("${long[@]}" --set "policy.$p.micro_batches=$m" 2>&1) || continue
    [ "$p" = dapple ] && ! [[ $said =~ '(4)'.*'(3)'.*'(2)'.*'(1)' ]] || break
  done
  [ "$m" -gt 16 ] && like "$("${long[@]}" 2>&1)" "[^0-9]$m micro-batches" "$p: $m micro-batches are the first that fit"
done
long=("$orrery" step bert-base --batch 7 --cluster 6x1:v100 --no-figures --out fits)
like "$("${long[@]}" --policy interleaved 2>&1)" ' 6 micro-batches' "interleaved: 42 samples on 6 stages: a multiple of 6"
like "$("${long[@]}" --policy dual-pipe 2>&1)" ' 14 micro-batches' "dual-pipe: 42 samples on 6 stages: an even number"

# ---- plugins ----
flags="-I$tree/include"
# compile NAME: compiles NAME.c into NAME.so
: "${CC:=cc}"
compile() { $CC -std=c11 -shared -fPIC "$flags" -o "$1.so" "$1.c"; }
if command -v "${CC%% *}" >/dev/null && "$orrery" policy new mine --kind step >/dev/null; then
  like "$(ORRERY=$orrery ORRERY_CFLAGS=$flags sh ./mine_test.sh 2>&1)" '^ok: same end times as allreduce' "a new step policy's own test passes"
  "$orrery" policy new two_backups --kind step --reacting >/dev/null
  like "$(ORRERY=$orrery ORRERY_CFLAGS=$flags sh ./two_backups_test.sh 2>&1 | tail -n 1)" '^ok: same end times as allreduce, shorter' \
    "policy new --reacting: its own test passes"
  said=$("$orrery" policy new other --kind serve --reacting 2>&1)
  like "$? $said" '^2 orrery: --reacting: expected --kind step, found --kind serve' "--reacting is of kind step"
  sed 's/\.build = build,/.build = NULL,/' mine.c >nobuild.c
  compile nobuild 2>/dev/null
  said=$("$orrery" step two.json "${net[@]}" --policy ./nobuild.so 2>&1)
  like "$? $said" '^2 orrery: ./nobuild.so: policy mine: expected a function build, found NULL' "a plugin without build()"
  said=$("$orrery" jobs poisson:n=3,rate=1 --cluster 1x1 --policy ./mine.so 2>&1)
  like "$? $said" '^2 orrery: policy "mine" is a step policy' "a step plugin given to orrery jobs"
else
  skip "no C compiler is installed" 5
fi
tap_done
