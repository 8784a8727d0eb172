#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Inputs of a spot run have their effect, are rejected, or are named in a remark: a job without progress, types of instances,
# the maximum price,
# bytes between zones (in closed form), notes below the table.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
spot() { "$orrery" spot "$@" --no-figures; }
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' o/summary.csv; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { off = a - b; print (off * off < 1e-12 ? "near" : a " for " b) }'; }

# ---- six instances cannot hold two pipelines of eight stages: also the policies with timers (of plans, of checkpoints) end with
# the trace, as those without timers do ----
spot churn:slots=6,rate=0.5,length=5h --job bamboo-bert --policy checkpoint,oobleck,parcae,parcae@throughput \
  --set policy.throughput.choose=throughput \
  --out o >table 2>said
is $? 0 "a trace with too few instances ends the run"
for p in checkpoint oobleck parcae throughput; do
  is "$(metric $p makespan_s) $(metric $p steps) $(metric $p is_complete)" "18000 0 0" "$p: the incomplete job ends with the trace"
done
like "$(cat table)" "the job is incomplete: no pending event could continue it" "the table says so"
# Too few from 10,000 s on; the trace ends at 40,000 s: 60 x 10,000 + 5 x 30,000 s of instances at 1 USD/h.
printf '0,60\n10000,60\n10000,5\n40000,5\n' >drop.csv
spot drop.csv --job bamboo-bert --policy bamboo,oobleck,parcae --out o -q
for p in bamboo oobleck parcae; do
  is "$(metric $p makespan_s) $(near "$(metric $p usd)" "$(awk 'BEGIN { printf "%.12g", 750000 / 3600 }')")" "40000 near" "$p: instances are paid until the end of the trace"
done
rm -r o
slow=(--set policy.oobleck.setup=400h --set policy.oobleck.ckpt_interval=10s)
spot churn:slots=16,rate=0.01,length=5h --job bamboo-bert --policy checkpoint,oobleck "${slow[@]}" --db runs.db >table 2>said
is "$? $(grep -c 'policy oobleck: at .* no progress since 0 h, with step 0 of 22194.*--until' said)" "1 1" "a job without progress fails, with the remedy"
is "$(spot churn:slots=16,rate=0.01,length=5h --job bamboo-bert --policy checkpoint --db runs.db 2>&1 | grep -c 'taken from runs.db')" 1 \
  "the database keeps the runs of other policies"
spot churn:slots=6,rate=0.5,length=5h --job bamboo-bert --policy oobleck --until 10h >table 2>said
is $? 0 "with --until the run ends without an error"
like "$(cat table)" "after the end of the trace \(5 h\)" "the table says what was assumed after the end of the trace"

# Oobleck needs two pipelines of 8 nodes: it waits with 12, which the other policies use.
sed 's/,5$/,12/' drop.csv >twelve.csv
spot twelve.csv --job bamboo-bert --policy oobleck,varuna --out o -q
is "$(metric oobleck makespan_s) $(metric oobleck is_complete) $(metric varuna is_complete)" "40000 0 1" "oobleck: too few instances for its pipelines"
rm -r o
# ---- a checkpoint holds the steps done when its write began ---- Steps of 1 s end from 6 s on. The write from 10 s to 35 s holds 4 of them,
# that from 40 s is not complete at the loss at 60 s, when 54 steps are done.
cat >write.json <<'EOT'
{"name": "write", "source": "made up", "samples_per_step": 10, "steps": 3600, "depth": 2, "pipelines": 1, "state_bytes": 25000000000, "points": [[1, 2, 1000]]}
EOT
printf 'time_s,event,node\n0,add,a\n0,add,b\n0,add,c\n60,remove,a\n100,end,\n' >loss.csv
spot loss.csv --job write.json --policy oobleck --set policy.oobleck.f=0 --set policy.oobleck.reconfigure_time=5s --set policy.oobleck.ckpt_interval=10s \
  --set spot.storage_Bps=1e9 --set spot.node_Bps=1e9 --set spot.storage_latency=0 --until 100 --out o -q
is "$(metric oobleck lost_steps)" 50 "oobleck: a write longer than the interval holds no later steps"
rm -r o

# ---- types ----
cat >job.json <<'EOT'
{"name": "tiny", "source": "made up", "samples_per_step": 10, "steps": 3600, "depth": 1, "pipelines": 1, "state_bytes": 1000000000,
 "points": [[1, 1, 1000], [2, 1, 1000]]}
EOT
printf 'time_s,event,node,type\n0,add,a,v100\n0,add,b,k80\n' >mixed.csv
printf 'time_s,event,node,type\n0,add,a,v100\n' >same.csv
spot mixed.csv --job job.json --policy elastic-dp >table 2>said
is $? 2 "a type of unknown speed is refused"
like "$(cat said)" "type k80.*spot\.speeds=k80=X" "with the type and the remedy"
spot same.csv --job job.json --policy elastic-dp --out o -q && whole=$(metric elastic-dp samples_per_s)
spot same.csv --job job.json --policy elastic-dp --set spot.speeds=v100=0.5 --out o -q
is "$(near "$(metric elastic-dp samples_per_s)" "$(awk -v x="$whole" 'BEGIN { print x / 2 }')")" near "half the speed takes twice as long"
spot mixed.csv --job job.json --policy elastic-dp --set spot.speeds=k80=0.25,v100=1 --out o -q
is "$(near "$(metric elastic-dp samples_per_s)" 2.5)" near "a step runs at the speed of the slowest of its instances"
spot same.csv --job job.json --policy elastic-dp --set spot.speeds=v100 >table 2>said
is "$? $(grep -c 'expected TYPE=SPEED' said)" "2 1" "another form of speeds is refused"

# ---- the maximum price is 2 USD/h; the price is higher from hour 1 to hour 2; b, offered at 1.5 h, is taken when
# its price falls ----
printf 'time_s,event,node\n0,add,a\n1800,remove,a\n5400,add,b\n900000,end,\n' >offers.csv
printf 'time_s,zone,type,usd_per_hour\n0,,,1\n3600,,,2\n7200,,,1\n' >prices.csv
priced() { spot offers.csv --job job.json --prices prices.csv --policy elastic-dp --out o "$@"; }
priced -q && dear=$(metric elastic-dp makespan_s)
priced -q --set spot.max_price=1.5
is "$(near "$(metric elastic-dp makespan_s)" "$(awk -v x="$dear" 'BEGIN { print x + 1800 }')")" near "an offer above the maximum price is taken when its price has fallen"
priced --set spot.max_price=2.5 >table
like "$(cat table)" "spot\.max_price has no effect: no offer was declined because of this limit" "a maximum price never reached is named"
spot offers.csv --job job.json --prices prices.csv --policy greedy --set spot.deadline=4h --set spot.max_price=1.5 --out o -q
is "$(near "$(metric greedy on_demand_hours)" 0)" near "a policy with a deadline waits for a cheaper offer"
spot offers.csv --job job.json --prices prices.csv --policy omniscient --set spot.deadline=4h --set spot.max_price=1.5 -q 2>said
is "$? $(grep -c 'spot\.max_price with prices that change' said)" "2 1" "a plan for a maximum price and prices that change is refused"

# ---- deadline policies: 1 h of work, a change-over of 0.2 h, on-demand at 3 USD/h ----
printf 'time_s,event,node,zone,price\n0,add,a,A,2.5\n0,add,b,B,0.4\n40000,end,,,\n' >own.csv
printf 'time_s,event,node,price\n0,add,a,4\n40000,end,,\n' >dear.csv
printf 'time_s,event,node\n600,add,a\n40000,end,\n' >later.csv
late() { spot "$1" --job job.json --policy "$2" --set spot.deadline=4h --out o -q "${@:3}" && metric "$2" usd; }
is "$(near "$(late own.csv greedy)" 0.48)" near "the job takes the zone whose offer is cheapest by its own price"
is "$(near "$(late dear.csv omniscient)" 3.6)" near "the plan uses the price of the offer, here dearer than on-demand"
is "$(near "$(late later.csv omniscient --set spot.price=1)" 1.2)" near "the plan waits for spot"
is "$(near "$(late later.csv omniscient --set spot.price=1 --set spot.max_price=0.5 --set spot.deadline=2h)" 3.6) $(metric omniscient deadline_kept)" "near 1" \
  "the plan excludes offers above the maximum price"

# ---- bytes between zones ----
cat >pipe.json <<'EOT'
{"name": "pipe", "source": "made up", "samples_per_step": 8, "steps": 100, "depth": 2, "pipelines": 2, "state_bytes": 1000, "parameters": 500000000,
 "points": [[1, 2, 2000], [2, 2, 1000]], "figures": {"activation_bytes": 1000000}}
EOT
printf 'time_s,event,node,zone\n0,add,a,x\n0,add,b,x\n0,add,c,y\n0,add,d,y\n' >zones.csv
sent() { spot "$1" --job pipe.json --policy "$2" --set spot.egress_usd_per_GB=1 --out o -q; awk -F, '$1 == "egress" { print $3 }' o/*.accounts.csv; rm -r o; }
# a and b form one pipeline, c and d the other. Gradient bytes of a stage: 2 zones x 2 (2 - 1) / 2 x 1 GB / 2
# stages, in 100 steps.
for p in checkpoint varuna; do
  is "$(near "$(sent zones.csv $p)" 200)" near "$p: gradients of two pipelines in two zones"
done
# One pipeline spans two zones: 2 x 1 MB x 8 samples, forward and backward, in 100 steps.
sed 2d zones.csv | sed '$d' >two.csv
for p in checkpoint varuna; do
  is "$(near "$(sent two.csv $p)" 1.6)" near "$p: activations between stages in two zones"
done
sed 's/,y$/,x/' zones.csv >single.csv
is "$(near "$(sent single.csv checkpoint)" 0)" near "no byte leaves a single zone"
like "$(spot single.csv --job pipe.json --policy checkpoint --set spot.egress_usd_per_GB=1)" \
  "spot\.egress_usd_per_GB has no effect: no byte was sent between zones" "spot.egress_usd_per_GB without traffic between zones: a line says that it has no effect"

said='activations between stages in different zones are not charged: the "figures" of job pipe have no activation_bytes'
is "$(spot zones.csv --job pipe.json --policy checkpoint --set spot.egress_usd_per_GB=1 | grep -c "^$said")" 0 "activations are charged where the job states their bytes"
sed 's/, "figures": {[^}]*}//' pipe.json >silent.json
is "$(spot zones.csv --job silent.json --policy checkpoint --set spot.egress_usd_per_GB=1 | grep -c "^$said")" 1 "a job without the bytes of its activations: a line says that they are not charged"

# For a job that names a model, the outputs of the layers at the cuts cross zones. Each cut of BERT-large has 128
# tokens x 1024 x 4 bytes, forward and backward, for 8 samples in 100 steps. The gradients of the tied table are
# excluded from the activations.
cat >named.json <<'EOT'
{"name": "named", "source": "made up", "steps": 100, "depth": 2, "pipelines": 1,
 "step": {"model": "bert_large_pretrain_s128", "device": "v100", "precision": "fp32", "batch": 8, "micro_batch": 2, "node_Gbps": 10,
  "latency_us": 25, "max_pipelines": 2, "min_depth": 1, "max_depth": 4, "max_nodes": 4}}
EOT
printf 'time_s,event,node,zone\n0,add,a,x\n0,add,d,y\n' >halves.csv
by_name() { spot halves.csv --job "$1" --policy varuna --set spot.egress_usd_per_GB=1 --out o; }
said=$(by_name named.json)
is "$(near "$(awk -F, '$1 == "egress" { print $3 }' o/*.accounts.csv)" "$(awk 'BEGIN { print 2 * 128 * 1024 * 4 * 8 * 100 / 1e9 }')")" near \
  "a job with a model: activations are its layers' outputs at the cuts"
like "$said" "activations between stages, 0\.5243 MB per sample: outputs of the layers of bert_large_pretrain_s128 at the cuts" "and the table says so"
sed 's/"pipelines": 1,/"pipelines": 1, "figures": {"activation_bytes": 1000000},/' named.json >stated.json
said=$(by_name stated.json)
is "$(near "$(awk -F, '$1 == "egress" { print $3 }' o/*.accounts.csv)" 1.6) $(grep -c 'activations between' <<<"$said")" "near 0" \
  "bytes that the job states come first"
sed 's/fp32/fp16/' named.json >half.json
by_name half.json >table
is "$(near "$(awk -F, '$1 == "egress" { print $3 }' o/*.accounts.csv)" "$(awk 'BEGIN { print 128 * 1024 * 4 * 8 * 100 / 1e9 }')")" near "2 bytes each in mixed precision"
sed 's/bert_large_pretrain_s128/vgg19/' named.json >vgg.json
like "$(by_name vgg.json)" "activations between stages, [0-9.]+ to [0-9.]+ MB per sample: .*mean over the cuts by depth" "cuts of unequal size: by depth"
rm -r o

# An instance that joins in another zone copies the state, 3 GB. One in the same zone copies from its neighbour.
# Without parameters there are no gradients.
sed 's/"state_bytes": 1000000000/"state_bytes": 3000000000/; s/"points": .*/"points": [[1, 1, 2000], [2, 1, 1000]]}/' job.json >whole.json
printf 'time_s,event,node,zone\n0,add,a,x\n0,add,b,x\n100,remove,b,x\n200,add,c,y\n900000,end,,\n' >far.csv
printf 'time_s,event,node,zone\n0,add,a,x\n0,add,b,x\n100,remove,b,x\n200,add,c,x\n899999,add,d,y\n900000,end,,\n' >close.csv
copied() { spot "$1" --job whole.json --policy "$2" --set spot.egress_usd_per_GB=1 --out o -q; awk -F, '$1 == "egress" { print $3 }' o/*.accounts.csv; rm -r o; }
for p in elastic-dp oobleck parcae; do
  is "$(near "$(copied far.csv $p)" 3) $(near "$(copied close.csv $p)" 0)" "near near" "$p: state copied by a joiner, from another zone and from its own"
done
# A pipeline has two stages in zone x. The node of the second stage is removed, and its successor is in zone y. Under bamboo this node also
# holds a copy of the first stage.
sed 's/"depth": 1/"depth": 2/; s/"points": .*/"points": [[1, 2, 1000]]}/' whole.json >half.json
for p in checkpoint varuna; do
  is "$(spot far.csv --job half.json --policy $p --set spot.egress_usd_per_GB=1 --out o -q; awk -F, '$1 == "egress" { print $3 }' o/*.accounts.csv; rm -r o)" 0 \
    "$p reads the state from storage"
done
is "$(near "$(spot far.csv --job half.json --policy bamboo --set spot.egress_usd_per_GB=1 --out o -q; awk -F, '$1 == "egress" { print $3 }' o/*.accounts.csv; rm -r o)" 3)" near \
  "bamboo: the joiner copies its stage and the first stage from the other zone"

# ---- too few instances ----
like "$(spot churn:slots=6,rate=0.5,length=5h --job bamboo-bert --policy bamboo)" \
  "no step was run: the smallest shape of job bamboo-bert with a step time has [0-9]* instances" "a job that runs no step says what it would need"
# The smallest shape has one instance, which costs too much.
spot same.csv --job job.json --policy checkpoint --until 5 --set spot.max_price=0.1 >table 2>said
is "$? $(grep -c 'no step was run' table)" "0 0" "a job that needs one instance does not say it"
printf 'time_s,event,node\n0,add,a\n0,add,b\n25,remove,b\n100,end,\n' >pair.csv
spot pair.csv --job half.json --policy checkpoint --set policy.checkpoint.interval=never >table
is "$? $(grep -c 'no step was run' table)" "0 0" "a job that has lost all its steps does not say it"
like "$(spot churn:slots=6,rate=0.5,length=5h --job bamboo-bert --policy oobleck 2>&1)" \
  "no step was run: the smallest shape of job bamboo-bert with a step time has [0-9]* instances" "a policy with timers says it too"

# ---- notes ----
like "$(spot hazard:p=0.2,slots=20,length=5h --job bamboo-bert --policy on-demand --set spot.notice=30s)" \
  "spot\.notice has no effect: the policy did not react to any notice" "a policy that ignores notices"
# ---- hours paid in full ---- 40 steps of 10 s on instance a, and 10 on both; b is removed after 100 s. Until the last step 600 s are used and 3,500
# s are unused, so a run of 500 s costs 8.2 USD/h, but only one step costs more.
echo '{"name": "forty", "source": "made up", "samples_per_step": 8, "steps": 40, "depth": 1, "pipelines": 1, "state_bytes": 1e9, "points": [[1, 1, 10000], [2, 1, 6000]]}' >forty.json
printf 'time_s,event,node\n0,add,a\n100,add,b\n200,remove,b\n1000,end,\n' >hours.csv
hours() { spot hours.csv --job forty.json --policy bamboo --set policy.bamboo.pipelines=1 --set policy.bamboo.global_timer=0s --set spot.price=1 --set "spot.billing=$1" --out o; }
said=$(hours hour 2>/dev/null)
is "$(near "$(metric bamboo usd_per_hour)" 8.2) $(near "$(metric bamboo value_ratio)" "$(awk 'BEGIN { print 0.64 / 8.2 }')")" "near near" "the unused part of an hour is in the cost rate"
like "$said" 'value nearly omits the unused parts of paid hours \(1\.833 USD\).* samples/s over USD/h is 0\.07805' "a remark says that the mean over steps nearly omits it"
is "$(hours second 2>/dev/null | grep -c 'nearly omits')" 0 "no remark if seconds are paid"

tap_done
