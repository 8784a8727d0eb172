#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# SimGrid 3.32's flow-level network on the same flows, links and routes: every flow starts and ends
# within 1e-9 (relative) of its recorded times. Files whose name ends in "rttweighted" were made with
# latencies that differ, under which SimGrid shares by 1/latency: they need --rtt-weighted. The
# expected values are the columns start_s and finish_s of oracles/simgrid/*_flows.csv.
. "${srcdir:-.}/tests/tap.sh"
oracles=$data/oracles/simgrid

# Prints rows that are missing or differ by more than 1e-9: SimGrid's next to orrery's.
differences() {
  case $1 in *.gz) gzip -dc "$1" ;; *) cat "$1" ;; esac | awk -F, -v tolerance="$3" '
    function off(a, b) { return (a > b ? a - b : b - a) > tolerance * b }
    NR == FNR { if (FNR > 1) { start[$1] = $2; finish[$1] = $3; n++ }; next }
    FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { m++ }
    !($at["id"] in finish) || off(start[$at["id"]], $at["start_s"]) || off(finish[$at["id"]], $at["finish_s"]) {
      print $at["id"] ": " start[$at["id"]] " " finish[$at["id"]] " for " $at["start_s"] " " $at["finish_s"] }
    END { if (n != m || !m) print n " rows for " m }' "$2" - | head -5
}

found=0
for flows in "$oracles"/*_flows.csv "$oracles"/*_flows.csv.gz; do
  [ -e "$flows" ] || continue
  found=$((found + 1))
  name=${flows##*/}
  name=${name%_flows.csv*}
  options=(--check)
  # In sanitized builds the check at every instant takes too long for the long files.
  case $name in e_* | b_* | f_*) [ -z "${ORR_SANITIZED:-}" ] || options=() ;; esac
  case $name in *rttweighted) options+=(--rtt-weighted) ;; esac
  "$ORRERY" net flows --links "$oracles/${name}_links.csv" --flows "$flows" -o "$work/out.csv" -q "${options[@]}"
  ok $? "$name: the command runs${options[*]:+ with ${options[*]}}"
  is "$(differences "$flows" "$work/out.csv" 1e-9)" "" "$name: every flow starts and ends when SimGrid's does"
done

if [ $found -eq 0 ]; then
  skip "no $oracles (set ORRERY_DATA_PATH)" 3
else
  # The comparison must fail for a wrong rule: plain max-min fairness where SimGrid's shares are weighted.
  weighted=$oracles/g_leaf4x4_lat5us_rttweighted
  "$ORRERY" net flows --links "${weighted}_links.csv" --flows "${weighted}_flows.csv" -o "$work/plain.csv" -q
  like "$(differences "${weighted}_flows.csv" "$work/plain.csv" 1e-9)" ' for ' "without --rtt-weighted the weighted case differs"
  # All steps of the ring are equal, so one step is simulated.
  like "$("$ORRERY" net flows --links "$oracles/a_ring128_star_links.csv" --flows "$oracles/a_ring128_star_flows.csv.gz" --json)" \
    '"steps_simulated":	1,' "254 equal steps of a ring are simulated once"
fi
tap_done
