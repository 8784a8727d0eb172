#!/usr/bin/env bash
# compilers.sh - builds with several compilers and options, and compares the digests of 11 studies
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   compilers.sh [FOLDER]
#
# FOLDER (default: build-compilers) keeps the builds. Exit code 1: a build fails, a study fails or a digest differs.
set -u
export LC_ALL=C
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "${1:-$tree/build-compilers}" || exit 2
dir=$(cd "${1:-$tree/build-compilers}" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL
jobs=$(nproc 2>/dev/null || echo 2)
builds="gcc-O2:gcc:-O2 gcc-native:gcc:-O3_-march=native clang-native:clang:-O3_-march=native"
status=0

studies() { # ORRERY: one study per line, NAME COMMAND
  cat <<'END'
jobs jobs philly-like:days=2 --cluster 16x8:v100 --policy fifo,srtf,las
failures jobs tiresias-like:n=300 --cluster 8x4:v100 --policy fifo,las --set failures.mtbf=2d --set failures.mttr=1h
backfill jobs lublin:n=300 --drop-unfit --cluster 8x8:v100 --policy easy-backfill,conservative-backfill,gittins
replicated jobs philly-like:days=1 --cluster 16x8:v100 --policy fifo,las --replications 10
step step vgg16 --cluster 4x1:v100 --network star:bw=10Gbps --policy allreduce,parameter-server,stanza
pipeline step gpt3_6p7b --cluster 4x8:h100 --network star:bw=400Gbps,nics=8 --batch 1 --precision bf16 --policy zero,megatron
learning step alexnet --cluster 4x1:v100 --network star:bw=10Gbps --policy allreduce,parameter-server --set learn.problem=logistic --set learn.seeds=2 --set learn.max_samples=6400
llm serve poisson:rate=2,n=300,prompt=azure-conv,output=azure-conv --model llama2-7b --cluster 1x1:a100 --policy vllm,sarathi,mlfq
spot spot hazard:p=0.1,slots=48,length=1d --job bamboo-bert --policy on-demand,bamboo,checkpoint --set spot.price=0.92 --set spot.on_demand_price=3.06
churn spot churn:slots=32,rate=0.2,length=1d --job bamboo-bert --policy varuna,oobleck,parcae --until 1d
mixed run MIXED
END
}

cat >"$dir/mixed.json" <<'END'
{"world": "mixed", "cluster": "4x4:a100", "until": "6h", "policies": ["fifo+vllm"],
 "jobs": {"trace": "poisson:rate=0.01,n=100,mean=1200,gpus=2"},
 "serve": {"trace": "poisson:rate=1,n=2000,prompt=500,output=100", "models": ["llama2-7b"], "replicas": 2}}
END

for b in $builds; do
  IFS=: read -r name cc flags <<<"$b"
  command -v "$cc" >/dev/null || { echo "compilers.sh: no $cc here: install it (Debian package $cc)" >&2 && exit 2; }
  mkdir -p "$dir/$name" || exit 2
  if ! (cd "$dir/$name" && { [ -e Makefile ] || "$tree/configure" -q CC="$cc" CFLAGS="${flags//_/ }" --without-cuda; } && make -s -j"$jobs" orrery) >"$dir/$name.log" 2>&1; then
    echo "compilers.sh: $name does not build: see $dir/$name.log" >&2
    exit 1
  fi
  studies | while read -r study command; do
    rm -f "$dir/x.db"
    # shellcheck disable=SC2086 # the command is meant to be split
    "$dir/$name/orrery" ${command//MIXED/$dir/mixed.json} --db "$dir/x.db" -q >"$dir/said" 2>&1 </dev/null ||
      { echo "$study FAILED: $(tail -n 1 "$dir/said")" && continue; }
    echo "$study $("$dir/$name/orrery" db digest "$dir/x.db")"
  done >"$dir/$name.digests"
  if grep 'FAILED' "$dir/$name.digests"; then status=1; fi
done
first=''
for b in $builds; do
  name=${b%%:*}
  first=${first:-$name}
  if diff "$dir/$first.digests" "$dir/$name.digests" >"$dir/diff"; then
    echo "$name: $(grep -cv FAILED "$dir/$name.digests") digests, equal to those of $first"
  else
    echo "$name differs from $first:" && cat "$dir/diff"
    status=1
  fi
done
exit $status
