#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench-sweep: a study of 200 runs of unequal length on two threads against one, in alternating pairs. For comparison, the speed
# of two processes of one thread each on this machine: virtual cores may share a core, so this ratio may be below 2.
set -eu
orrery=$(realpath "${ORRERY:-./orrery}")
pairs=${1:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >study.json <<'JSON'
{ "axes": { "n": { "from": 500, "to": 40000, "n": 100, "scale": "log" } }, "metrics": ["jct_mean"],
  "runs": { "r": { "scenario": { "world": "jobs", "trace": "philly-like:n=${round(n)}", "cluster": "64x8", "policies": ["fifo", "srtf"], "record": "summary" }, "axes": ["n"] } } }
JSON
# seconds THREADS: wall time of the study
seconds() {
  local begin end
  begin=$(date +%s.%N)
  "$orrery" sweep study.json -j "$1" -q
  end=$(date +%s.%N)
  echo "$begin $end" | awk '{ printf "%.3f", $2 - $1 }'
}
# both: wall time of the study on one thread, twice at the same time
both() {
  local begin end child
  begin=$(date +%s.%N)
  "$orrery" sweep study.json -j 1 -q &
  child=$!
  "$orrery" sweep study.json -j 1 -q
  wait $child
  end=$(date +%s.%N)
  echo "$begin $end" | awk '{ printf "%.3f", $2 - $1 }'
}
median() { sort -n | awk '{ r[NR] = $1 } END { printf "%.3f", NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2 }'; }
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg); cores: $(nproc)"
for i in $(seq "$pairs"); do
  one=$(seconds 1) two=$(seconds 2) twice=$(both)
  echo "$one $two $twice" | awk -v i="$i" '{ printf "pair %d: %.2f s on one thread, %.2f s on two: ratio %.3f; two processes: %.3f\n", i, $1, $2, $1 / $2, 2 * $1 / $3 }' |
    tee -a ratios
done
echo "median ratio of $pairs pairs: $(sed 's/.*ratio //; s/;.*//' ratios | median); of two processes: $(sed 's/.*processes: //' ratios | median)"
echo "load average after: $(cut -d ' ' -f 1-3 /proc/loadavg)"
