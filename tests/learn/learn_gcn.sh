#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests of the graph network under Dorylus' schedule: staleness of the variants, threads, relaunched functions, invalid inputs.
. "${srcdir:-.}/tests/tap.sh"
cd "$work" || exit 1
# learn ARGUMENTS..: runs 4 chunks on 2 graph servers and writes o/summary.csv
learn() {
  rm -rf o
  "$ORRERY" step gcn:vertices=20000,edges=200000,widths=32-16-4 --cluster 2x1:c5n.2xlarge,1x1:c5.xlarge --network star:bw=1Gbps --policy dorylus \
    --set policy.dorylus.chunks=4 --set policy.dorylus.lambdas=4 --set policy.dorylus.lambda_start_spread=0.5 --set learn.problem=gcn \
    --set learn.vertices=300 --set learn.communities=3 --set learn.epochs=12 --set learn.seeds=10 --no-figures --out o -q --db o.db "$@" 2>&1
}
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
has_interval() { awk -F, -v m="$1" '$2 == m { print ($4 != "" && $4 <= $3 && $3 <= $5 && $4 < $5) }' o/summary.csv; }
above() { awk -v a="$1" -v b="$2" '{ print (a > b) }' <<<""; }

said=$(learn)
is "$? $said" "0 " "pipe: it runs"
is "$(metric staleness) $(metric ghost_staleness)" "0 0" "pipe: every row and weight is of its epoch"
is "$(metric learn_samples)" 3600 "a sample is a vertex: 12 epochs of 300"
is "$(has_interval accuracy) $(has_interval epochs_to_best) $(has_interval time_to_best_s)" "1 1 1" "means over ten seeds have intervals"
is "$(above "$(metric accuracy)" 0.5) $(above 1.0001 "$(metric best_accuracy)")" "1 1" "the network learns"
pipe_s=$(metric time_to_best_s)

async=(--set policy.dorylus.variant=async)
learn "${async[@]}"
is "$(metric staleness) $(above "$(metric ghost_staleness)" 0)" "0 1" "S = 0: stale ghosts, fresh weights"
learn "${async[@]}" --set policy.dorylus.staleness=2
is "$(above "$(metric staleness)" 0) $(above "$(metric ghost_staleness)" 0)" "1 1" "S = 2: stale weights too"
is "$(above "$pipe_s" "$(metric time_to_best_s)")" 1 "and less time to a point below the best accuracy"

rm -f o.db
for j in 1 4; do
  learn "${async[@]}" --set policy.dorylus.staleness=1 -j "$j" --json >"$j.json"
  cp o/summary.csv "$j.csv"
  "$ORRERY" db digest o.db >"$j.digest"
  rm -f o.db
done
is "$(cmp 1.json 4.json 2>&1)$(cmp 1.csv 4.csv 2>&1)$(cmp 1.digest 4.digest 2>&1)" "" "one thread or four: the same bytes"

# Slow functions are relaunched. Each task still counts once, so a schedule without drift is without staleness.
learn --set policy.dorylus.lambda_tail_p=0.2 --set policy.dorylus.lambda_tail=20
is "$(metric learn_samples) $(metric staleness) $(metric ghost_staleness)" "3600 0 0" "relaunched functions count once"
learn --set learn.target_accuracy=0.5 --set learn.epochs=100
is "$(metric seeds_reached) $(above 30000 "$(metric learn_samples)")" "10 1" "a target accuracy ends the runs"

while IFS='|' read -r option expected; do
  said=$(learn --set "learn.$option")
  like "$? $said" "^2 orrery: .*$expected" "refused: learn.$option"
done <<'E2'
vertices=3|learn: vertices: expected .*, found "3"
communities=1|learn: communities: expected .*, found "1"
communities=151|learn.communities=151: expected 2 to half of learn.vertices
degree_in=100|learn.degree_in=100: expected 0 to vertices / communities - 1, the number of other vertices of a community
degree_out=201|learn.degree_out=201: expected 0 to the number of vertices outside a community
degree_in=-1|learn: degree_in: expected .*, found "-1"
feature_noise=nan|learn: feature_noise: expected .*, found "nan"
train_share=0|learn.train_share=0: expected a share that leaves at least one vertex on each side
train_share=1|learn.train_share=1: expected a share that leaves at least one vertex on each side
epochs=0|learn: epochs: expected .*, found "0"
adam_lr=-1|learn: adam_lr: expected .*, found "-1"
optimizer=adagrad|learn: optimizer: .*"adagrad"
target_accuracy=2|learn: target_accuracy: expected .*, found "2"
problem=logistic|the policy reports a gather over a graph: expected learn.problem=gcn
E2
said=$(learn --set learn.vertices=6 --set learn.degree_in=1 --set learn.degree_out=1)
is "$? $said" "2 orrery: policy dorylus: learn.vertices=6: expected at least one per chunk of the policy: 8" "more chunks than vertices"
said=$(learn --set model=gcn:vertices=20000,edges=200000,widths=32-16-8-4)
is "$? $said" "2 orrery: policy dorylus: learn.problem=gcn: the policy reports a task of layer 2: expected a model of two layers" "a third layer"
said=$(learn --set learn.target=0.5 --set learn.target_accuracy=0.5)
is "$? $said" "2 orrery: learn.target_accuracy: expected no value, because learn.target is set too: expected only one of the two" "two targets"
gat=(step gat:vertices=20000,edges=200000,widths=32-16-4 --cluster 2x1:c5n.2xlarge,1x1:c5.xlarge --policy dorylus --set policy.dorylus.lambdas=4 -q)
said=$("$ORRERY" "${gat[@]}" --set learn.problem=gcn 2>&1)
like "$? $said" "^2 orrery: learn.problem=gcn: gat:.* has attention: expected a GCN, such as gcn_amazon$" "a GAT is not trained"
said=$("$ORRERY" "${gat[@]}" --set learn.problem=logistic 2>&1)
is "$? $said" "2 orrery: policy dorylus: learn.problem: the policy reports a gather over a graph: expected learn.problem=gcn" "nor on another problem"
said=$("$ORRERY" step lenet5 --cluster 2x1:v100 --policy allreduce --set learn.problem=gcn -q --db o.db 2>&1)
is "$? $said" "2 orrery: policy allreduce: learn.problem=gcn: the policy reports a gradient: expected updates over a graph (policy dorylus)" \
  "a policy without graph servers"
tap_done
