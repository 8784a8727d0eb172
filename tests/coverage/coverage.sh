#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# coverage.sh - runs each workload with many seeds and stores values and intervals of all metrics, for coverage.c
#
# usage: coverage.sh DIR SEEDS [WORKLOAD..]
# DIR/WORKLOAD.csv gets lines "WORKLOAD,SEED,POLICY,METRIC,VALUE,LOW,HIGH". Seeds that a file already has are not run again; remove the file
# after a change of the program's code. The variable ORRERY names the program.
set -u
orrery=${ORRERY:-./orrery}
dir=$1 seeds=$2
shift 2
mkdir -p "$dir" || exit 1

# NAME|ARGUMENTS of each workload. The rules of single runs were chosen on the first twelve workloads. The constants of
# replications were chosen on eleven of the first 21 and on the distributions of tests/results/unit_estimate.c. The others
# were added afterwards, first five, then eight from drf on (docs/models/statistics.md).
workloads() {
  cat <<'EOT'
mm1-0.5|jobs poisson:rate=0.5,n=100000 --cluster 1x1 --policy fifo
mm1-0.8|jobs poisson:rate=0.8,n=20000 --cluster 1x1 --policy fifo
philly|jobs philly-like --cluster 48x8:v100 --policy fifo,srtf,las
tiresias-150|jobs tiresias-like:n=2000,gap=150 --cluster 8x8:v100 --policy fifo,srtf,las
tiresias-300|jobs tiresias-like:n=10000,gap=300 --cluster 8x8:v100 --policy fifo,srtf,las
llm-2|serve poisson:rate=2,n=2000,prompt=azure-conv,output=azure-conv --model llama2-7b --cluster 1x1:a100 --policy vllm,sarathi --slo-ttft 1s --slo-tpot 100ms
llm-4|serve poisson:rate=4,n=2000,prompt=azure-conv,output=azure-conv --model llama2-7b --cluster 1x1:a100 --policy vllm,sarathi --slo-ttft 1s --slo-tpot 100ms
spot-hazard|spot hazard:p=0.1,length=24h --job bamboo-bert --policy bamboo,checkpoint
lublin|jobs lublin:n=10000 --cluster 16x8 --policy fifo,easy-backfill
openb|jobs openb-like:n=5000 --cluster 24x8 --policy fifo,las
mmpp|jobs mmpp:n=20000,rate1=1,rate2=0.05 --cluster 1x1 --policy fifo,srtf
table-gamma|serve gamma:rate=40,n=20000 --model irina-alexnet --cluster 1x1 --policy fifo,clipper
mm1-0.9|jobs poisson:rate=0.9,n=3000 --cluster 1x1 --policy fifo,srtf
mm4|jobs poisson:rate=2.8,n=20000 --cluster 1x4 --policy fifo
tiresias-failures|jobs tiresias-like:n=1000,gap=250 --cluster 8x8:v100 --policy fifo,las --set failures.mtbf=100h --set failures.mttr=1h
hyper|jobs poisson:rate=0.7,n=5000,service=hyper --cluster 1x1 --policy fifo,las
mmpp-bursts|jobs mmpp:n=3000,rate1=3,rate2=0.1 --cluster 1x1 --policy easy-backfill,las
llm-bursts|serve mmpp:rates=8\|1,durations=20s\|60s,n=1500,prompt=azure-code,output=azure-code --model llama2-7b --cluster 1x2:a100 --policy vllm,mlfq
table-bursts|serve gamma:rate=20,cv=3,n=5000 --model irina-alexnet --cluster 1x1 --policy nexus,tf-serving
spot-churn|spot churn:slots=24,rate=0.1,length=24h --job bamboo-bert --policy varuna,checkpoint
spot-renewal|spot renewal:zones=a\|b,nodes=16,up=3h,down=1h,length=48h --job bamboo-bert --policy bamboo,parcae
philly-week|jobs philly-like:days=7 --cluster 24x8:v100 --policy fjf,easy-backfill
hyper-2|jobs poisson:rate=1.5,n=3000,service=hyper --cluster 1x2 --policy srtf,easy-backfill
llm-code|serve poisson:rate=5,n=1500,prompt=azure-code,output=azure-code --model llama2-7b --cluster 1x2:a100 --policy sarathi,mlfq --slo-ttft 1s
spot-hazard-12h|spot hazard:p=0.2,length=12h --job bamboo-bert --policy parcae,varuna
lublin-small|jobs lublin:n=2000 --cluster 24x8 --policy las,srtf
drf|jobs tiresias-like:n=800,gap=200 --cluster 8x8:v100 --policy drf,max-min,gandiva-fair
qssf|jobs philly-like:days=3 --cluster 24x8:v100 --policy qssf,gittins
consolidated|jobs tiresias-like:n=800,gap=200 --cluster 8x8:v100 --policy fifo,las --placement consolidate
chat|serve chat:rate=0.5,n=400,prompt=azure-conv,output=azure-conv --model llama2-7b --cluster 2x1:a100 --policy vllm,sarathi
splitwise|serve poisson:rate=6,n=1500,prompt=azure-conv,output=azure-conv --model llama2-7b --cluster 4x1:a100 --policy splitwise,distserve
spot-big|spot renewal:zones=a,nodes=24,up=5h,down=2h,length=72h --job bamboo-bert --policy oobleck,checkpoint
table-academus|serve poisson:rate=150,n=5000 --model irina-alexnet --cluster 2x1 --policy irina,clockwork
failures-long|jobs philly-like:days=5 --cluster 24x8:v100 --policy fifo,srtf --set failures.mtbf=2000h --set failures.mttr=4h --set jobs.checkpoint=1h
EOT
}

# one NAME ARGUMENTS..: runs a workload
one() {
  local name=$1 file=$dir/$1.csv out from seed
  shift
  out=$(mktemp -d) || exit 1
  from=$(awk -F, '$2 > most { most = $2 } END { print most + 1 }' "$file" 2>/dev/null)
  for ((seed = ${from:-1}; seed <= seeds; seed++)); do
    "$orrery" "$@" --seed "$seed" --record summary --no-figures --out "$out" -q || { rm -rf "$out"; return 1; }
    awk -F, -v name="$name" -v seed="$seed" 'NR > 1 { print name "," seed "," $0 }' "$out/summary.csv" >>"$file"
  done
  rm -rf "$out"
}

# `read` has no -r, so that \| in the arguments of a generator is not a separator.
# shellcheck disable=SC2162
workloads | while IFS='|' read name arguments; do
  [ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
  # shellcheck disable=SC2086
  one "$name" $arguments || exit 1
done
