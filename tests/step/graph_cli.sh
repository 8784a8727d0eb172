#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Graphs, schedules, networks and models as files at the command line: the times of the policies with the same
# graphs, a hash over contents, and for each malformed file an error with its position, exit code 2.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
cp "$tree"/tests/data/graph-*.json .
net=(--cluster 4x1:v100 --network star:bw=8Gbps,lat=0 --no-figures)
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' o/summary.csv; }

# ---- graphs ----
"$orrery" step resnet50 "${net[@]}" --policy allreduce,graph --set policy.allreduce.overlap=false --set policy.allreduce.fusion=none \
  --set policy.allreduce.algorithm=ring --set policy.graph.file=graph-ring.json --check --out o -q >said 2>&1
is "$? $(cat said)" "0 " "a graph runs beside allreduce under --check"
is "$(awk -v a="$(metric allreduce iteration_s)" -v b="$(metric graph iteration_s)" 'BEGIN { d = a / b - 1; print (d * d <= 1e-24) }')" 1 \
  "the graph of allreduce takes as long as allreduce"
text=$("$orrery" step lenet5 "${net[@]}" --policy graph --set policy.graph.file=graph-relay.json --timeline t.json)
like "$text" '^graph +800 +10\.0 ms ' "a relay of 10 ms and 5 ms: 8 samples every 10 ms"
like "$text" '^graph: 3 ops: 2 of compute, 1 transfers, 0 collectives;' "the graph is described"
like "$(cat t.json)" '"activations"' "labels appear in the timeline"
like "$("$orrery" policy show graph)" 'policy.graph.file=$' "policy show has the parameter"

# ---- a run is identified by the contents of its files ----
cp graph-relay.json copy.json
sed 's/0.010/0.020/' graph-relay.json >other.json
for f in graph-relay copy other; do
  "$orrery" step lenet5 "${net[@]}" --policy graph --set policy.graph.file=$f.json --db runs.db -q 2>&1
done >said
is "$("$orrery" db runs runs.db | grep -c step)" 2 "a graph of equal contents is the same run under another name; another graph is another run"
"$orrery" scenario show lenet5 --world step "${net[@]:0:4}" --policy graph --set policy.graph.file=copy.json >s.json
like "$(cat s.json)" "$(sha256sum <copy.json | cut -d' ' -f1)" "scenario show has its hash"
is "$("$orrery" run s.json --db runs.db --out run -q 2>&1)$("$orrery" db runs runs.db | grep -c step)" 2 "the scenario shown gives the same run"
printf '0.01,node0-tor,1e8\n' | tee one.csv >two.csv
printf '0.01,node0-tor,1e7\n' >three.csv
echo '{"switches": ["tor"], "links": [{"from": "node0", "to": "tor"}, {"from": "node1", "to": "tor"}]}' >tor.json
for f in one two three; do
  "$orrery" step lenet5 --cluster 2x1:v100 --network tor.json --policy allreduce --set step.link_changes=$f.csv --db changes.db -q 2>&1
done >said
is "$("$orrery" db runs changes.db | grep -c step)" 2 "a run is identified by the contents of its file of capacities"

# ---- schedules ----
"$orrery" step lenet5 "${net[@]}" --policy ds-sync,ds-sync@pairs --set policy.ds-sync.schedule=explicit \
  --set policy.ds-sync.partitions=graph-partitions.json --out o -q
is "$(metric ds-sync iteration_s)" "$(metric pairs iteration_s)" "the pairs of DS-Sync, from a file"

# ---- refusals: a file's text | the message after its name ----
refuse() { # NAME ARGS..: lines on standard input
  local name=$1
  shift
  while IFS='|' read -r text expected; do
    printf '%b' "$text" >"$name"
    said=$("$orrery" step "$@" 2>&1 >/dev/null)
    like "$? $said" "^2 orrery: (policy [a-z-]+: )?$name:$expected" "$name: $text"
  done
}
refuse g.json lenet5 "${net[@]}" --policy graph --set policy.graph.file=g.json <<'E2'
{"ops": [\n{"id": "a" "mark": {}}]}|2:12: invalid JSON: expected an object
|1:1: invalid JSON: expected an object
{"ops": [{"id": "a", "mark": {}, "after": ["b"]}, {"id": "b", "delay": {"seconds": 1}, "after": ["a"]}]}| \$.ops\[0\].after: the graph has a cycle of length 2: a waits for b, b waits for a
{"ops": [{"id": "a", "collective": {"op": "all-reduce", "group": [0, 1, 1], "bytes": 8}}]}| \$.ops\[0\].collective.group\[2\]: duplicate device 1 in the group
{"ops": [{"id": "a", "collective": {"op": "all-reduce", "group": [0, 8], "bytes": 8}}]}| \$.ops\[0\].collective.group\[1\]: expected a whole number from 0 to 7, found 8
{"ops": [{"id": "a", "transfer": {"from": 0, "to": 1, "bytes": -8}}]}| \$.ops\[0\].transfer.bytes: expected a number from 0 to 1e.18, found -8
{"ops": [{"id": "a", "compute": {"device": 0, "layers": ["c4"], "pass": "forward"}}]}| \$.ops\[0\].compute.layers\[0\]: unknown layer "c4": did you mean "c"?
{"ops": [{"id": "a", "mark": {}, "afer": ["a"]}]}| \$.ops\[0\]: unknown key "afer": did you mean "after"?
{"ops": [{"id": "a", "mark": {}}, {"id": "a", "mark": {}}]}| \$.ops\[1\]: duplicate id "a" .of \$.ops\[0\].
{"ops": [{"id": "long", "mark": {}, "after": ["lang"]}]}| \$.ops\[0\].after\[0\]: unknown op id "lang": did you mean "long"?
E2
refuse p.json lenet5 "${net[@]}" --policy ds-sync --set policy.ds-sync.schedule=explicit --set policy.ds-sync.partitions=p.json <<'E2'
{"partitions": [[[0, 1], [2 3]]]}|1:29: invalid JSON: expected an object
{"partitions": []}| \$.partitions: expected a list with at least one partition, found an empty list
{"partition": []}| \$: unknown key "partition": did you mean "partitions"?
{"partitions": [[[0, 1], [2, 3]], [[0, 1], [1, 2]]]}| \$.partitions\[1\]\[1\]\[0\]: duplicate worker 1 in the partition
{"partitions": [[[0, 1], [2]]]}| \$.partitions\[0\]: has 3 of the 4 workers: expected worker 3 as well
{"partitions": [[[0, 1], [2, 4]]]}| \$.partitions\[0\]\[1\]\[1\]: expected a whole number from 0 to 3, found 4
{"partitions": [[[0, 1], [], [2, 3]]]}| \$.partitions\[0\]\[1\]: expected a list with at least one worker, found an empty list
{"partitions": [[0, 1]]}| \$.partitions\[0\]\[0\]: expected a list of workers, found 0
E2
ok0='{"from": "node0", "to": "tor"}' ok1='{"from": "node1", "to": "tor"}'
refuse n.json lenet5 --cluster 2x1:v100 --network n.json --policy allreduce <<E2
{"links": [$ok0, $ok1\\n|1:7[0-9]: invalid JSON: expected an object
{"switches": ["tor"], "links": [$ok0, $ok1], "swiches": []}| \\$: unknown key "swiches": did you mean "switches"?
{"switches": ["tor"], "links": [$ok0]}| \\$.links: no path from "n1" .* expected a connected network
{"switches": ["tor"], "links": [$ok0, {"from": "node1", "to": "tro"}]}| \\$.links\[1\].to: unknown vertex "tro".*; did you mean "tor"?
{"switches": ["tor"], "links": [$ok0, {"from": "node2", "to": "tor"}]}| \\$.links\[1\].from: unknown vertex "node2"
{"switches": ["tor"], "links": [$ok0, {"from": "node1", "to": "tor", "bw": -1}]}| \\$.links\[1\].bw: expected a rate of at least 0
{"switches": ["tor"], "links": [$ok0, {"from": "node1", "to": "tor", "lta": 1}]}| \\$.links\[1\]: unknown key "lta": did you mean "lat"?
{"switches": ["tor"], "links": [$ok0, $ok1, $ok1]}| \\$.links\[2\]: duplicate link "node1-tor"
{"switches": ["tor"], "links": [$ok0, {"from": "node1", "to": "tor", "bw": 1, "bw": 2}]}|1:1[0-9]*: duplicate key "bw" .first on line 1.
{"switches": ["tor", "tor"], "links": []}| \\$.switches\[1\]: duplicate name "tor"
E2
conv='"kind": "conv", "flops": 2000000, "out": 990, "gemm": [100, 100, 100, 1]'
refuse m.json m.json --cluster 2x1:v100 --policy allreduce <<E2
{"name": "m",\\n "input_elems": 1 "layers": []}|2:19: invalid JSON: expected an object
{"name": "m", "input_elems": 1, "layer": []}| \\$: unknown key "layer": did you mean "layers"?
{"name": "m", "input_elems": -1, "layers": [{"name": "c", $conv}]}| \\$.input_elems: expected a number from 0
{"name": "m", "input_elems": 1, "layers": [{"name": "c", $conv, "params": -1}]}| \\$.layers\[0\].params: expected a number from 0
{"name": "m", "input_elems": 1, "layers": [{"name": "c", $conv, "param": 1}]}| \\$.layers\[0\]: unknown key "param": did you mean "params"?
{"name": "m", "input_elems": 1, "classifier": "conc", "layers": [{"name": "conv", $conv}]}| \\$.classifier: expected the name of a layer, found "conc": did you mean "conv"?
{"name": "m", "input_elems": 1, "layers": [{"name": "c", $conv, "name": "d"}]}|1:1[0-9]*: duplicate key "name" .first on line 1.
E2
said=$("$orrery" step lenet5 "${net[@]}" --policy graph --set policy.graph.file=gone.json 2>&1)
like "$? $said" '^2 orrery: gone.json: No such file' "a missing graph file"
said=$("$orrery" step lenet5 "${net[@]}" --policy graph 2>&1)
like "$? $said" '^2 orrery: policy graph: file: expected the name of a graph' "no graph is given"
tap_done
