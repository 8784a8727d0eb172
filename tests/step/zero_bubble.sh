#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Zero-bubble pipelines at the command line: given times and memory, rows of ops, metrics, orders from a file and their errors.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
model=gpt:hidden=64,layers=8,heads=4,seq=16,vocab=100
step() { "$orrery" step $model --cluster 1x2:a100 --batch 2 --no-figures --set step.iterations=1 "$@"; }
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
# Stages 0 and 1, two micro-batches: F 10, B 12, W 7, hop 3. By hand.
cat >want.csv <<'X'
policy,iteration,device,stream,kind,label,start_s,end_s
zb-h1,0,0,0,forward,F0,0,10
zb-h1,0,0,0,forward,F1,10,20
zb-h1,0,0,0,backward,B0,38,50
zb-h1,0,0,0,weight gradient,W0,50,57
zb-h1,0,0,0,backward,B1,60,72
zb-h1,0,0,0,weight gradient,W1,72,79
zb-h1,0,1,0,forward,F0,13,23
zb-h1,0,1,0,backward,B0,23,35
zb-h1,0,1,0,forward,F1,35,45
zb-h1,0,1,0,backward,B1,45,57
zb-h1,0,1,0,weight gradient,W0,57,64
zb-h1,0,1,0,weight gradient,W1,64,71
X
given=(stage_times=10,12,7 op_memory=10,-4,-6 hop_s=3 micro_batches=2 update_s=0 dp_bytes=0)
text=$(step --policy zb-h1 "${given[@]/#/--set=policy.zb-h1.}" --timeline rows.csv --out o)
is "$?" 0 "a pipeline with given times runs"
is "$(cat rows.csv)" "$(cat want.csv)" "--timeline FILE.csv: each op with start and end, as by hand"
is "$(metric makespan_s) $(metric longest_stage_s) $(metric stage_bubble_s) $(metric peak_activation_bytes)" "79 79 21 20" \
  "makespan, longest stage, its waits, peak of the activations"
is "$(metric makespan_bubble_max_s) $(metric makespan_bubble_min_s)" "21 21" "waits within the makespan"
like "$text" 'makespan +longest stage' "the table has both lengths"

# ---- orders from a file ----
printf 'stage,order\n0,F0 F1 B0 W0 B1 W1\n1,F0 B0 F1 B1 W0 W1\n' >order.csv
run_given() { step --policy given-order "${given[@]/#/--set=policy.given-order.}" --set policy.given-order.orders="$1" "${@:2}" -q 2>&1; }
is "$(run_given order.csv --timeline given.csv)$(sed 's/given-order/zb-h1/' given.csv)" "$(cat want.csv)" "given-order runs the same order"
refused() { # CONTENT PATTERN WHAT
  printf '%b' "$1" >bad.csv
  text=$(run_given bad.csv)
  is "$?" 2 "$3: exit code 2"
  like "$text" "$2" "$3: what and where"
}
refused '0,F0 F1 B0 W0 B1\n1,F0 B0 F1 B1 W0 W1\n' 'order of stage 0: W1 is missing' "an order without the last op"
refused '0,F0 F1 B0 W0 B1 W1\n1,F0 B0 F1 B1 W0 W1 F0\n' 'order of stage 1: op 6, F0: expected it once' "an op twice"
refused '0,F0 F1 W0 B0 B1 W1\n1,F0 B0 F1 B1 W0 W1\n' 'order of stage 0: op 2, W0: expected it once, after B' "W before B"
refused '0,F0 B0 F1 W0 B1 W1\n1,F0 F1 B1 B0 W0 W1\n' 'order stops after .* expected an order without cycles' "stages that wait for each other"
refused '0,F0 F9\n' 'bad.csv:1: "F9": expected a micro-batch from 0 to 1' "an unknown micro-batch"
refused 'stage,order\n2,F0\n' 'bad.csv:2: "2,F0": expected STAGE,ORDER with a stage from 0 to 1' "an unknown stage"
refused '0,F0 f1\n' 'bad.csv:1: "f1": expected an op F, B, W or D' "a second chunk where the stages have one"
refused '0,F0\n0,F1\n' 'bad.csv:2: "0,F1": expected each stage once' "a stage twice"
# Rounding in sums of activations decides nothing: eight stages of equal parts, activations of 2, and of 1.4 in the same proportion.
for p in zb zb-v; do
  for bytes in 2,-1,-1 1.4,-0.7,-0.7; do
    "$orrery" step gpt:hidden=64,layers=16,heads=4,seq=16,vocab=100 --cluster 1x8:a100 --batch 24 --no-figures --set step.iterations=1 --policy $p \
      --set policy.$p.stage_times=1,1,1 --set policy.$p.update_s=0 --set policy.$p.hop_s=0 --set policy.$p.dp_bytes=0 \
      --set policy.$p.micro_batches=16 --set policy.$p.op_memory=$bytes --out "o$bytes" >/dev/null
  done
  is "$(grep makespan o1.4,-0.7,-0.7/summary.csv)" "$(grep makespan o2,-1,-1/summary.csv)" "$p: the unit of activations does not matter"
done
text=$(step --policy given-order -q 2>&1)
is "$?" 2 "no file: exit code 2"
like "$text" 'orders: expected a file of rows' "no file: the remedy"
tap_done
