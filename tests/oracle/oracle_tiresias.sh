#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tiresias' own simulator on the same traces, placement "count": every job ends at the
# same second (tolerance zero), and the total number of preemptions is equal. The expected values are
# that simulator's logs, POLICY.jobs.csv and summary.csv, in oracles/tiresias.
. "${srcdir:-.}/tests/tap.sh"
oracles=$data/oracles/tiresias

# policy of the simulator, policy of orrery, settings of orrery
policies='
fifo         fifo
fjf          fjf
sjf          smallest-gpu
shortest     srtf
shortest-gpu srtf-gpu
dlas         las
dlas-gpu     las-gpu       policy.las-gpu.rules=tiresias
'

# Prints jobs whose ends differ: Tiresias' next to orrery's, both as sorted lines "id,end".
differences() {
  diff <(awk -F, 'NR > 1 { printf "%s,%d.000000000\n", $2, $6 }' "$1" | sort) \
    <(awk -F, 'NR > 1 { print $1 "," $5 }' "$2" | sort) | head -5
}

for set in shipped60_c4x4 synth480u_c8x8; do
  dir=$oracles/$set
  need "$dir/trace.csv" || continue
  names='' sets=()
  while read -r _ ours option; do
    [ -n "$ours" ] || continue
    names=$names${names:+,}$ours
    [ -z "$option" ] || sets+=(--set "$option")
  done <<<"$policies"
  "$ORRERY" jobs "$dir/trace.csv" --cluster "$dir/cluster_spec.csv" --policy "$names" "${sets[@]}" \
    --check --no-figures --out "$work/$set" -q
  ok $? "$set: the command runs under --check"
  while read -r theirs ours _; do
    [ -n "$ours" ] || continue
    is "$(differences "$dir/$theirs.jobs.csv" "$work/$set/$ours.jobs.csv")" "" "$set: $ours ends every job when $theirs does"
    want=$(awk -F, -v p="$theirs" '$1 == p { print $10 }' "$dir/summary.csv")
    is "$(awk -F, -v p="$ours" '$1 == p && $2 == "preemptions" { print $3 }' "$work/$set/summary.csv")" "$want" \
      "$set: $ours preempts $want times"
  done <<<"$policies"
done
tap_done
