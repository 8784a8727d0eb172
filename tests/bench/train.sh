#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# train.sh: short runs of each world that cover the code in which long runs spend their time. `./bootstrap.sh fast` compiles the program
# with their profile. Needs no data but the embedded generators and models.
set -eu
orrery=$(realpath "${ORRERY:-./orrery}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { "$orrery" "$@" -q >/dev/null || { echo "train.sh: failed: orrery $*" >&2; exit 1; }; }

# Many short runs.
cat >mm1.json <<'JSON'
{ "axes": { "seed": { "from": 1, "to": 300, "by": 1 } }, "metrics": ["wait_mean"],
  "runs": { "mm1": { "axes": ["seed"], "set": { "seed": "${seed}" }, "scenario": { "world": "jobs",
    "trace": "poisson:rate=0.8,n=500,mean=1,gpus=1", "cluster": "1x1", "policies": ["fifo"], "record": "metrics" } } } }
JSON
run sweep mm1.json --db mm1.db -j1
run jobs philly-like:n=4000 --cluster 48x8:v100 --policy fifo,srtf,las,easy-backfill,conservative-backfill --db jobs.db --record explain -j1
run jobs philly-like:n=20000 --cluster 250x8:v100 --policy easy-backfill,las --db jobs.db --record summary -j1

# Language models, models of tables, and a fleet that shares its cluster with jobs.
run serve poisson:rate=4,n=2000,prompt=azure-conv,output=azure-conv --model llama2-7b --cluster 1x1:a100 --policy orca,vllm,sarathi \
  --db serve.db --record explain -j1
run serve poisson:rate=1500,n=20000 --model resnet50 --cluster 1x1:v100 --policy clipper,irina --db serve.db -j1
cat >mixed.json <<'JSON'
{ "world": "mixed", "cluster": "83x8:a100,42x8:a100-spot", "first": "serve",
  "jobs": { "trace": "tiresias-like:n=2000,gap=5.76,high=14400", "jobs": { "checkpoint": "10m", "start_cost": "30s" } },
  "serve": { "trace": "alternating:low=104,high=625,phase=2h,n=200000,prompt=azure-conv,output=azure-conv", "models": ["llama2-7b"],
    "deployments": [{ "tp": 1, "replicas": 83, "least": 42, "most": 333 }],
    "serve": { "autoscale": "outstanding", "scale_target": 12, "scale_interval": "15s", "scale_quiet": "5m", "start_up": "2m", "notice": "2m" } },
  "policies": ["fjf+vllm@shared"], "failures": { "mtbf": "6h", "mttr": "30m", "types": "a100-spot" }, "record": "summary" }
JSON
run run mixed.json --db mixed.db -j1

# Steps: rings that leap, flows that share links, merged lanes.
run step vgg16 --cluster 16x1:v100 --network star:bw=10Gbps --policy allreduce --db step.db
gpt() {
  run step gpt3_175b --cluster "$1x8:a100-80g" --network "$2" --batch 1 --precision bf16 --set step.optimizer=adam --set "step.merge=$3" \
    --set step.exact=true --set step.iterations=2 --policy megatron --set policy.megatron.tp=8 --set policy.megatron.pp=16 \
    --set policy.megatron.micro_batch=1 --set "policy.megatron.global_batch=$(($1 * 2))" --set policy.megatron.recompute=selective \
    --set policy.megatron.sequence_parallel=true --set policy.megatron.order=tp-pp-dp
}
gpt 64 leaf-spine:ports=32,spines=8,oversubscription=4,bw=200Gbps,nics=8 off
gpt 64 leaf-spine:ports=32,spines=8,bw=200Gbps,nics=8 on

run spot hazard:p=0.1,slots=64 --job bamboo-bert --policy bamboo,varuna,checkpoint --replications 100 -j1
run plan gpt:hidden=8192,layers=48,heads=64,seq=2048,vocab=51200 --cluster 16x8:a100-80g --network star:bw=100Gbps,nics=8 --global-batch 256 \
  --precision fp16 --policy grid
for db in jobs.db serve.db mixed.db; do "$orrery" db digest $db >/dev/null; done
