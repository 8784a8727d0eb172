#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A spot run names exactly the inputs that had no effect. Assumptions, shares, quotients and rows follow their
# definitions.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' "${3:-o}/summary.csv"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { off = a - b; print (off * off < 1e-12 * (1 + b * b)) ? "near" : a " for " b }'; }
calc() { awk "BEGIN { printf \"%.17g\", $1 }"; }

# The job has 40 steps of 10 s on one node. Instance a is always live, b for 100 s with a notice.
echo '{"name": "forty", "source": "made up", "samples_per_step": 8, "steps": 40, "depth": 1, "pipelines": 1, "state_bytes": 1e9, "points": [[1, 1, 10000], [2, 1, 6000]]}' >job.json
sed 's/"steps": 40, //; s/forty/endless/' job.json >endless.json
sed 's/"state_bytes": 1e9, //; s/forty/stateless/' job.json >stateless.json
printf 'time_s,event,node\n0,add,a\n50,add,b\n150,remove,b\n1000,end,\n' >two.csv
printf 'time_s,event,node\n0,add,a\n1000,end,\n' >one.csv
printf 'time_s,event,node\n900,add,a\n1000,end,\n' >late.csv
printf 'time_s,event,node,price\n0,add,a,0.5\n1000,end,,\n' >own.csv
printf 'time_s,event,node,zone,price\n0,price,,x,2\n0,add,a,x,\n1000,end,,,\n' >priced.csv
printf 'time_s,zone,type,usd_per_hour\n0,,,2\n' >prices.csv

# ---- inputs without effect ---- Fields of a line: the input, "yes" or the expected remark, the other arguments.
while IFS='|' read -r input expected arguments; do
  read -ra words <<<"$arguments"
  said=$("$orrery" spot "${words[@]}" --no-figures 2>&1) rc=$?
  got=$(grep -oE "$input has no effect: .*" <<<"$said" | head -n 1 | sed "s/^$input has no effect: //")
  [ -n "$got" ] || got=yes
  is "$rc ${got%%;*}" "0 $expected" "effect of $input: $arguments"
done <<'EOT'
spot.startup|yes|one.csv --job job.json --policy checkpoint --set spot.startup=5s
spot.startup|no spot instance was taken|one.csv --job job.json --policy checkpoint --until 5 --set spot.startup=5s --set spot.max_price=0.1
spot.on_demand_startup|yes|one.csv --job job.json --policy on-demand --set spot.on_demand_startup=5s
spot.on_demand_startup|no on-demand instance was taken|one.csv --job job.json --policy checkpoint --set spot.on_demand_startup=5s
spot.on_demand_price|yes|one.csv --job job.json --policy on-demand --set spot.on_demand_price=5
spot.on_demand_price|no on-demand instance was taken|one.csv --job job.json --policy checkpoint --set spot.on_demand_price=5
spot.billing|yes|one.csv --job job.json --policy checkpoint --set spot.billing=hour
spot.billing|every instance ended with a full hour|one.csv --job job.json --policy checkpoint --until 3600 --set spot.endless=true --set spot.billing=hour
spot.billing|no instance was taken|one.csv --job job.json --policy checkpoint --until 5 --set spot.billing=hour --set spot.max_price=0.1
spot.endless|yes|one.csv --job job.json --policy checkpoint --set spot.endless=true
spot.endless|the job has no last step|one.csv --job endless.json --policy checkpoint --set spot.endless=true
spot.endless|the run ended before the last step of the job|one.csv --job job.json --policy checkpoint --set spot.endless=true --until 100
spot.endless|yes|one.csv --job job.json --policy checkpoint --set spot.endless=true --until 10000
spot.price|yes|one.csv --job job.json --policy checkpoint --set spot.price=5
spot.price|no spot instance was taken at the default price|own.csv --job job.json --policy checkpoint --set spot.price=5
prices|yes|one.csv --job job.json --policy checkpoint --prices prices.csv
prices|no spot instance was taken at a price of the series|own.csv --job job.json --policy checkpoint --prices prices.csv
spot.target|yes|two.csv --job job.json --policy checkpoint --set spot.target=1
spot.target|no offer was declined because of this limit|two.csv --job job.json --policy checkpoint --set spot.target=2
spot.quota|yes|two.csv --job job.json --policy checkpoint --set spot.quota=1
spot.quota|no offer was declined because of this limit|two.csv --job job.json --policy checkpoint --set spot.quota=2
spot.on_demand_quota|no request exceeded this limit|one.csv --job job.json --policy checkpoint --set spot.on_demand_quota=2
spot.max_price|yes|two.csv --job job.json --policy checkpoint --set spot.max_price=0.5 --until 100
spot.max_price|no offer was declined because of this limit|two.csv --job job.json --policy checkpoint --set spot.max_price=1
spot.storage_Bps|yes|two.csv --job job.json --policy checkpoint --set spot.storage_Bps=1e8
spot.storage_Bps|the job has no state (state_bytes)|two.csv --job stateless.json --policy checkpoint --set spot.storage_Bps=1e8 --set policy.checkpoint.cost=1s
spot.storage_Bps|every checkpoint takes the same time with the default|one.csv --job job.json --policy checkpoint --set spot.storage_Bps=2e9 --set spot.node_Bps=5e8
spot.node_Bps|yes|two.csv --job job.json --policy checkpoint --set spot.node_Bps=1e8
spot.node_Bps|the job has no state (state_bytes)|two.csv --job stateless.json --policy checkpoint --set spot.node_Bps=1e8 --set policy.checkpoint.cost=1s
spot.node_Bps|every checkpoint takes the same time with the default|two.csv --job job.json --policy checkpoint --set spot.node_Bps=2e9
spot.storage_latency|yes|two.csv --job job.json --policy checkpoint --set spot.storage_latency=1s
spot.storage_latency|the policy requested no checkpoint time|two.csv --job job.json --policy on-demand --set spot.storage_latency=1s
spot.notice|the policy did not react to any notice|one.csv --job job.json --policy on-demand --set spot.notice=30s
spot.ci_level|one replication has no interval|hazard:p=0.1,slots=4,length=1h --job job.json --policy checkpoint --set spot.ci_level=0.9
spot.ci_level|yes|hazard:p=0.1,slots=4,length=1h --job job.json --policy checkpoint --set spot.ci_level=0.9 --replications 2
record|yes|one.csv --job job.json --policy checkpoint --set record=summary
record|a sample of up to 10000 rows contains every row|one.csv --job job.json --policy checkpoint --record sample
record|yes|one.csv --job endless.json --policy checkpoint --until 150000 --record sample
record|a sample of up to 10000 rows contains every row|one.csv --job endless.json --policy checkpoint --until 90000 --record sample
until|yes|one.csv --job endless.json --policy checkpoint --until 100
until|the run ended before that time|one.csv --job job.json --policy checkpoint --until 1000
until|yes|one.csv --job job.json --policy checkpoint --until 399
seed|nothing of this run is drawn at random|one.csv --job job.json --policy checkpoint --seed 7
seed|yes|hazard:p=0.1,slots=4,length=1h --job job.json --policy checkpoint --seed 7
seed|yes|one.csv --job job.json --policy checkpoint --seed 7 --prices price:mean=2
EOT

# ---- assumptions ----
says() { # SENTENCE COUNT ARGUMENTS..: the table has the sentence COUNT times
  local sentence=$1 count=$2 text
  shift 2
  text=$("$orrery" spot "$@" --no-figures 2>&1)
  is "$(tr '\n' ' ' <<<"$text" | tr -s ' ' | grep -coF "$sentence")" "$count" "$sentence: $*"
}
one=(one.csv --job job.json --policy checkpoint)
says 'one price of spot instances at all times: spot.price = 1 USD/h' 1 "${one[@]}"
says 'one price of spot instances at all times: spot.price = 2.5 USD/h' 1 "${one[@]}" --set spot.price=2.5
says 'one price of spot instances' 0 "${one[@]}" --prices prices.csv
says 'prices of prices.csv; spot.price before its first row' 1 "${one[@]}" --prices prices.csv
says 'one price of spot instances' 0 own.csv --job job.json --policy checkpoint
says 'prices of the trace; spot.price where it has no price' 1 priced.csv --job job.json --policy checkpoint
says 'prices of the trace' 0 "${one[@]}"
says 'one price of spot instances' 0 one.csv --job job.json --policy checkpoint --until 5 --set spot.max_price=0.1
says 'after the end of the trace (0.2778 h) the instances present at its end remain' 1 one.csv --job job.json --policy checkpoint --until 2000 --set spot.endless=true
says 'after the end of the trace' 0 one.csv --job job.json --policy checkpoint --until 1000 --set spot.endless=true
says 'after the end of the trace' 0 "${one[@]}"
says 'the job is incomplete: no pending event could continue it' 1 late.csv --job job.json --policy checkpoint --set spot.max_price=0.1
says 'the job is incomplete' 0 "${one[@]}"
says 'the job is incomplete' 0 "${one[@]}" --until 100
says 'step times of job forty, regardless of the instance type' 1 "${one[@]}"

# ---- shares and quotients ----
"$orrery" spot two.csv --job job.json --policy checkpoint,checkpoint@slow --set policy.slow.cost=30s --set policy.checkpoint.interval=steps --set policy.checkpoint.every_steps=4 \
  --set policy.slow.interval=steps --set policy.slow.every_steps=4 --set policy.checkpoint.cost=10s --out o -q
is "$?" 0 "two policies"
for p in checkpoint slow; do
  is "$(near "$(metric $p paused_part)" "$(calc "$(metric $p checkpoint_part) + $(metric $p restart_part) + $(metric $p reconfigure_part)")")" near "$p: the share paused is the sum of three"
  is "$(near "$(calc "$(metric $p useful_part) + $(metric $p redundant_part) + $(metric $p wasted_part) + $(metric $p paused_part) + $(metric $p starting_part) + $(metric $p idle_part)")" 1)" near \
    "$p: the shares of time add up to 1"
done
for m in samples_per_s usd_per_hour value; do
  is "$(near "$(metric slow ratio_$m)" "$(calc "$(metric checkpoint $m) / $(metric slow $m)")")" near "the quotient of $m is that of the first policy and the second"
done
is "$(metric checkpoint ratio_value)" "" "the first policy has no quotient"
is "$(awk -v x="$(metric checkpoint checkpoint_part)" 'BEGIN { print (x > 0) }')" 1 "checkpoints take time"

# ---- rows ----
endless=(one.csv --job endless.json --policy checkpoint --until 200000 --no-figures -q)
rows() { tail -n +2 "o/checkpoint.iterations.csv" | wc -l; }
"$orrery" spot "${endless[@]}" --record sample --out o
is "$(awk -v n="$(rows)" 'BEGIN { print (n <= 10000 && n > 4000) }')" 1 "a sample has up to 10000 rows: $(rows)"
is "$(awk -F, 'NR == 2 { first = $1 } NR == 3 { second = $1 } NR > 3 && $1 - last != second - first { bad = 1 } { last = $1 } END { print first, bad + 0 }' o/checkpoint.iterations.csv)" \
  "0 0" "the rows of a sample are equally spaced from the first"
rm -r o
"$orrery" spot "${endless[@]}" --out o
is "$(rows)" "$(metric checkpoint steps)" "--record all keeps the rows of all steps"

# ---- refusals ----
printf 'time_s,event,node,type\n0,add,a,v100\n0,add,b,k80\n10,add,c,v100\n1000,end,,\n' >types.csv
printf 'time_s,event,node,type\n0,add,a,k80\n0,add,b,k80\n1000,end,,\n' >same.csv
printf 'time_s,event,node,price\n0,price,,2\n1000,end,,\n' >only_prices.csv
printf 'time_s,event,node,zone\n0,add,a,x\n0,add,b,y\n1000,end,,\n' >zones.csv
printf 'time_s,zone,type,usd_per_hour\n0,,,1\n0,z,,2\n' >all_zones.csv
printf 'time_s,zone,type,usd_per_hour\n0,z,,1\n0,y,,2\n' >one_of_two.csv
printf 'time_s,zone,type,usd_per_hour\n0,z,,1\n0,w,,2\n' >none_of_two.csv
echo '{"name": "derived", "source": "made up", "steps": 4, "step": {"model": "alexnet", "device": "2080ti", "batch": 64, "micro_batch": 16, "node_Gbps": 10, "max_pipelines": 1, "max_depth": 2, "max_nodes": 2}}' >derived.json
while IFS='|' read -r arguments expected; do
  read -ra words <<<"$arguments"
  said=$("$orrery" spot "${words[@]}" --policy checkpoint --no-figures -q 2>&1 <one.csv)
  like "$? $said" "^$expected" "$arguments"
done <<'EOT'
types.csv --job job.json|2 orrery: types\.csv: this trace has instances of type k80; the step times of job forty are for v100, and the speed of k80 is unknown: expected spot\.speeds=k80=X
types.csv --job job.json --set spot.speeds=k80=0.5|0 $
types.csv --job job.json --set spot.speeds=v100=0.5|2 orrery: types\.csv: this trace has instances of type k80
same.csv --job job.json|0 $
only_prices.csv --job job.json|2 orrery: only_prices\.csv: this file has prices but no instances: expected a trace of instances
zones.csv --job job.json --prices all_zones.csv|0 $
zones.csv --job job.json --prices one_of_two.csv|0 $
zones.csv --job job.json --prices none_of_two.csv|2 orrery: prices: none_of_two\.csv: this file has zones that the trace lacks \(z, \.\.\)
- --job job.json --prices -|2 orrery: prices: standard input is already used for the trace: expected a file
hazard:p=0.1,length=0 --job endless.json|2 orrery: hazard:p=0\.1,length=0: neither this trace nor job endless has an end
hazard:p=0.1,length=0 --job endless.json --until 100|0 $
EOT
echo '{"world": "spot", "trace": "one.csv", "job": {"name": "in", "source": "s", "samples_per_step": 1, "points": [[1, 1, 1000], [2, 1, 600]]}, "policies": ["checkpoint"]}' >inline.json
is "$("$orrery" scenario show inline.json | tr -d ' \t\n' | grep -c '"points":\[\[1,1,1000\],\[2,1,600\]\]')" 1 "scenario show writes the job in full"
"$orrery" scenario show one.csv --world spot --job derived.json --policy checkpoint >shown
is "$? $(tr -d " \t" <shown | grep -cE "\"steps_sha256\":\"[0-9a-f]{64}\"")" "0 1" "scenario show writes the hash of derived step times"
is "$("$orrery" scenario show one.csv --world spot --job job.json --policy checkpoint | grep -c steps_sha256)" 0 "scenario show writes no hash for a job that states its step times"
# ---- failures without checkpoints: four fatal ones at this seed; with rollback steps are lost ----
for rollback in off on; do
  "$orrery" spot hazard:p=0.5,slots=48,length=24h --job bamboo-bert --policy bamboo --set policy.bamboo.rollback=$rollback --out f --no-figures >table
  is "$(metric bamboo fatal f | awk '{ print ($1 > 0) }') $(metric bamboo lost_steps f | awk '{ print ($1 > 0) }') $(grep -c 'fatal failures lose at most the step in flight' table)" \
    "$([ $rollback = off ] && echo 1 0 1 || echo 1 1 0)" "rollback=$rollback: what fatal failures lose is stated if no checkpoint is simulated"
done
# ---- instances that no shape uses: the job has shapes of 1 and 2 instances ----
printf 'time_s,event,node\n0,add,a\n0,add,b\n0,add,c\n0,add,d\n1000,end,\n' >four.csv
for target in 0 2; do
  "$orrery" spot four.csv --job job.json --policy checkpoint --set spot.target=$target --no-figures >table
  is "$(grep -c '^4 instances were live on average, all paid; the largest shape of job forty has 2 (spot.target=2 takes no more)$' table)" \
    "$([ $target = 0 ] && echo 1 || echo 0)" "spot.target=$target: instances beyond the largest shape"
done
tap_done
