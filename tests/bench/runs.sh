#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench-runs [RUNS]: a study of many short runs, M/M/1 at load 0.8 with 500 jobs: runs per second, bytes per run, and memory,
# compared with that of a tenth of the runs
set -eu
orrery=$(realpath "${ORRERY:-./orrery}")
runs=${1:-100000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ticks=$(getconf CLK_TCK)
# study N: runs N points into N.db, and prints what it took
study() {
  local begin most=0 used=0 now child
  cat >"$1.json" <<JSON
{ "axes": { "seed": { "from": 1, "to": $1, "by": 1 } }, "metrics": ["wait_mean"],
  "runs": { "mm1": { "axes": ["seed"], "set": { "seed": "\${seed}" }, "scenario": { "world": "jobs",
    "trace": "poisson:rate=0.8,n=500,mean=1,gpus=1", "cluster": "1x1", "policies": ["fifo"], "record": "metrics" } } } }
JSON
  begin=$(date +%s.%N)
  "$orrery" sweep "$1.json" --db "$1.db" -q &
  child=$!
  while [ "$(awk '{ print $3 }' /proc/$child/stat 2>/dev/null || echo Z)" != Z ]; do
    now=$(awk '/VmHWM/ { print $2 }' /proc/$child/status 2>/dev/null || true)
    [ -z "$now" ] || most=$now
    now=$(awk '{ print $14 + $15 }' /proc/$child/stat 2>/dev/null || true)
    [ -z "$now" ] || used=$now
    sleep 0.1
  done
  wait $child
  echo "$begin $(date +%s.%N) $used $most $(stat -c %s "$1.db")" | awk -v n="$1" -v ticks="$ticks" '{
    t = $2 - $1
    printf "%d runs: %.1f s, %.0f runs/s, %.3f ms of CPU time per run; %.1f MB, %.0f bytes per run; %.0f MB of memory\n",
      n, t, n / t, 1000 * $3 / ticks / n, $5 / 1e6, $5 / n, $4 / 1000 }'
}
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg); cores: $(nproc)"
study $((runs / 10))
study "$runs"
echo "load average after: $(cut -d ' ' -f 1-3 /proc/loadavg)"
