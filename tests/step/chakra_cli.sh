#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Execution traces at the command line: a trace of two ranks written byte by byte, in tables, CSV, JSON, files and a database; errors with
# file, rank and node, and exit code 2.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

# et RANK: a head without fields; node 1 computes 5 us; node 2, an all-reduce of 1048576 bytes, waits for it.
et() {
  printf '\x00'
  printf '\x06\x08\x01\x18\x04\x38\x05'
  printf '\x27\x08\x02\x18\x07\x2a\x01\x01\x52\x0f\x0a\x09comm_size\x48\x80\x80\x40\x52\x0d\x0a\x09comm_type\x48\x00'
}
mkdir t
et >t/x.0.et
et | gzip -n >t/x.1.et
printf 'topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n' >net.yml
printf '{"endpoint-delay": 10, "preferred-dataset-splits": 4, "local-mem-bw": 1600, "scheduling-policy": "LIFO"}' >sys.json
run=("$orrery" step --graph t --network net.yml --system sys.json)

# 262144 bytes in two halves of 131072: T = 500 + floor(2441.4); a chunk 10 + 2 (2941 + 10) + 3 x 81 = 6155; four of them
text=$("${run[@]}" --policy congestion-unaware,congestion-aware --check)
like "$text" '^congestion-unaware +1 +29\.620 +24\.620 +5\.000 ' "finish and exposed communication of a rank, exact"
like "$text" '^congestion-aware +0 +29\.620 ' "a second mode in the same table"
like "$text" 'Ring of 2 NPUs, 50 GB/s of 2\^30 bytes, 500 ns' "the network is an assumption"
like "$text" 'keys of the system file without effect on these rules: scheduling-policy' "ignored keys are remarked"
is "$("${run[@]}" --table csv)" "policy,rank,finish_s,exposed_s,compute_s,host_s,nodes,sent_bytes
congestion-unaware,0,0.000029620,0.000024620,0.000005000,0.000000000,2,1048576
congestion-unaware,1,0.000029620,0.000024620,0.000005000,0.000000000,2,1048576" "--table csv: a line per rank"
like "$("${run[@]}" --json | tr -d '\n\t ')" '"ranks":\[\{"rank":0,"finish_s":0\.000029620,"exposed_s":0\.000024620,' "--json: ranks of each run"
is "$("${run[@]}" --table json)" "$("${run[@]}" --json)" "--table json prints the same"
"${run[@]}" --out o --db runs.db -q --no-figures
is "$(cut -d, -f1-3 o/congestion-unaware.ranks.csv | tr '\n' ' ')" "rank,finish_s,exposed_s 0,0.000029620,0.000024620 1,0.000029620,0.000024620 " "--out: LABEL.ranks.csv"
is "$(ls o | tr '\n' ' ')" "congestion-unaware.ranks.csv notes.csv summary.csv " "no empty files of iterations"
mkdir u
gzip -dc t/x.1.et >u/y.1.et
cp t/x.0.et u/y.0.et
"${run[@]}" --db runs.db 2>said | grep -c '29\.620' >count
is "$(grep -c 'is taken from' said) $(cat count)" "1 2" "a stored run is reused, with its ranks"
"$orrery" step --graph u/y --network net.yml --system sys.json --db runs.db -q
is "$("$orrery" db runs runs.db | grep -c congestion)" 2 "another file of a rank, here not compressed, is another run"
"$orrery" scenario show --world step --graph t --network net.yml --system sys.json >s.json
is "$("$orrery" run s.json --table csv | tail -1)" "$("${run[@]}" --table csv | tail -1)" "the scenario that is shown runs again"

# ---- errors ----
fails() { # fails TEXT WHAT OPTION..
  local want=$1 what=$2
  shift 2
  "$orrery" step "$@" >/dev/null 2>said
  is "$?" 2 "$what: exit code 2"
  like "$(cat said)" "$want" "$what: message"
}
fails 'expected the network of the execution trace: --network FILE\.yml' "no network" --graph t --system sys.json
fails 'expected the system of the execution trace: --system FILE\.json' "no system" --graph t --network net.yml
fails '\$\.model: this key belongs to training iterations' "a model beside a trace" resnet50 --graph t --network net.yml --system sys.json
fails '\$\.cluster: this key belongs to training iterations' "a cluster beside a trace" --graph t --network net.yml --system sys.json --cluster 2x1:v100
fails 'policy allreduce: builds its own graph: expected congestion-unaware or congestion-aware' "a policy of iterations" \
  --graph t --network net.yml --system sys.json --policy allreduce
fails 'congestion-aware: builds no graph: expected an execution trace' "a mode without a trace" lenet5 --cluster 2x1:v100 --policy congestion-aware
fails '\$\.system: expected this key only together with "graph"' "a system without a trace" lenet5 --cluster 2x1:v100 --policy allreduce --system sys.json
sed 's/2 \]/4 ]/' net.yml >four.yml
fails 'the trace has 2 ranks, and npus_count of the network gives 4 NPUs' "a network of another size" --graph t --network four.yml --system sys.json
head -c 30 t/x.0.et >u/y.0.et
fails 'u/y\.0\.et: rank 0: record 2 \(at byte 8\): the file ends after 21 of 39 bytes' "a truncated file" --graph u --network net.yml --system sys.json
rm u/y.0.et
fails 'rank 0: the file y\.0\.et is missing' "a missing rank" --graph u --network net.yml --system sys.json
fails 'no/x: no execution trace|no: No such file' "no folder" --graph no/x --network net.yml --system sys.json
tap_done
