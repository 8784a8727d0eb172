#!/bin/sh
# Runs the fuzzer of each parser for SECONDS, from BUILD.
# SPDX-License-Identifier: GPL-3.0-or-later
# usage: run.sh SRCDIR BUILD SECONDS [PARSER..]
# A report ends the run of its parser only; the exit code is then 1. Failing inputs are left in BUILD/fuzz: add them to tests/fuzz/corpus/PARSER with the fix.
set -eu
src=$1 build=$2 seconds=$3
shift 3
clang=${CLANG:-clang}
if ! command -v "$clang" >/dev/null 2>&1; then
  echo "make fuzz needs clang with libFuzzer; there is no $clang here" >&2
  exit 77
fi
[ $# -gt 0 ] || set -- auto flow philly tiresias muri pollux gavel openb openb-nodes swf orrery azure-llm mooncake burstgpt splitwise vidur requests bamboo gcp-polls step-curve parcae-counts parcae-segment skypilot availability prices avail-model request-model throughput cluster spec failures model model-spec topology topology-spec netflows graph partitions partitions-text points device-profile served csv csv-requests acme helios itp dlrm spot-gpu slurm philly-raw kubernetes aws-prices bailian pai shockwave chakra chakra-groups astra-network astra-system
mkdir -p "$build/fuzz"
echo "building $build/fuzz/fuzz_trace with $clang"
"$clang" -std=c11 -D_DEFAULT_SOURCE -D_XOPEN_SOURCE=700 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  -I"$src/include" -I"$src/sim" -I"$src" -o "$build/fuzz/fuzz_trace" \
  "$src"/tests/fuzz/fuzz_trace.c "$src"/tests/fuzz/target.c "$src"/traces/*.c \
  "$src"/policies/step/document.c "$src"/policies/step/graph_*.c "$src"/policies/step/partitions.c \
  "$src"/hwmodel/*.c "$src"/sim/engine/*.c "$src"/sim/step/astra.c "$src"/sim/step/replay.c "$src"/sim/step/replay_[cnps]*.c "$src"/calib/points.c "$src"/calib/csv.c \
  "$build"/hwmodel/*_data.c \
  "$src"/base/*.c "$src"/sim/cluster/*.c "$src"/sim/net/topology*.c "$src"/sim/net/flow*.c "$src"/sim/net/netflows*.c \
  -lz -lzstd -lnettle -lcjson -lgsl -lgslcblas -lm
status=0
for parser in "$@"; do
  mkdir -p "$build/fuzz/$parser"
  echo "== $parser: $seconds s"
  ORRERY_FUZZ=$parser "$build/fuzz/fuzz_trace" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$build/fuzz/$parser-" "$build/fuzz/$parser" "$src/tests/fuzz/corpus/$parser" \
    >"$build/fuzz/$parser.log" 2>&1 || {
    tail -n 40 "$build/fuzz/$parser.log"
    status=1
  }
  grep -E 'number_of_executed_units|new_units_added' "$build/fuzz/$parser.log"
done
exit $status
