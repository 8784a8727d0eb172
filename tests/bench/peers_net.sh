#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# peers_net.sh PEER OURS [RUNS]: times both simulators on the same flows, alternately, each in a separate process. Prints a
# Markdown table of medians.
set -euo pipefail
peer=$1 ours=$2 runs=${3:-5}
dir=$(mktemp -d "${TMPDIR:-/tmp}/orrery-peers.XXXXXX")
trap 'rm -rf "$dir"' EXIT

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# column FILE N: prints column N of a file of results
figure() { awk -v n="$1" '{ print $n }' "$2" | median; }

echo "CPU seconds of the network part and peak memory of the process, medians of $runs runs in turns;"
echo "SimGrid $(pkg-config --modversion simgrid) with tight precisions, so that finish times can be compared."
echo
echo "| case | flows | SimGrid s | orrery s | ratio | flows/s | SimGrid MiB | orrery MiB | share | finish times differ by |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for case in poisson all-to-all ring; do
  for ((i = 0; i < runs; i++)); do
    # A SimGrid run that takes seconds is measured once.
    if ((i == 0)) || awk '$1 > 5 { exit 1 }' "$dir/peer"; then
      "$peer" --log=root.thresh:error "$case" precise "$dir/$case" >>"$dir/peer"
    fi
    "$ours" "$dir/${case}_links.csv" "$dir/${case}_flows.csv" >>"$dir/ours"
  done
  awk -v name="$case" -v s="$(figure 1 "$dir/peer")" -v o="$(figure 1 "$dir/ours")" -v ms="$(figure 2 "$dir/peer")" \
    -v mo="$(figure 2 "$dir/ours")" -v n="$(figure 3 "$dir/ours")" -v d="$(figure 4 "$dir/ours")" 'BEGIN {
      printf "| %s | %d | %.4g | %.4g | %.1f | %.0f | %.1f | %.1f | %.2f | %s |\n", name, n, s, o, s / o, n / o,
        ms / 1024, mo / 1024, mo / ms, d }'
  rm "$dir/peer" "$dir/ours"
done
