#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures spot-field, with fewer starts, deadlines and seeds. Published values and their bounds are those of published.csv: the simulators of
# Oobleck's artifact (1 %), Parcae's throughput-optimal choices (equality), the 48 % saving of Can't Be Late (7 points); closed forms: Daly 2006.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small spot-field 's/"start": \[1, 2, 3, 4, 5\]/"start": [1, 2]/' 's/"fraction": \[.*\]/"fraction": [50, 80, 95]/' 's/"bid": \[.*\]/"bid": [1, 3]/' \
  's/"u": \[.*\]/"u": [0.25, 0.704688, 1, 1.419068]/' 's/"W": 1000000/"W": 200000/'
sed -i 's/"replications": 200/"replications": 20/; s/"replications": 1000/"replications": 150/; s/"steps": 1000000/"steps": 200000/' "$work"/spot-field/*.json

# less A B: prints 1 if the simulated value of the first row is below that of the second
less() { printf '%s %s\n' "$(simulated "$1")" "$(simulated "$2")" | awk '{ print ($1 != "" && $2 != "" && $1 < $2) }'; }
# Rows without recorded traces.
without_traces() {
  is "$(within L2-cbl-ml-72h-loose-uniform)" "yes" "L2: uniform progress saves 48 % of the ML job's cost, within 7 points"
  is "$(simulated late-missed)" "0" "no policy misses a deadline"
  is "$(less late-cost-omniscient-80 late-cost-lifetimes-80) $(less late-cost-lifetimes-80 late-cost-uniform-80) $(less late-cost-uniform-80 late-cost-on-demand-80)" \
    "1 1 1" "more knowledge of the future lowers the cost, and every policy costs less than on demand"
  is "$(less late-cost-greedy-50 late-cost-greedy-80) $(less late-cost-greedy-80 late-cost-greedy-95)" "1 1" "tighter deadlines increase the cost"
  is "$(less renewal-greedy renewal-uniform) $(less renewal-uniform renewal-omniscient)" "1 1" "spot hours: greedy < uniform progress < omniscient"
  is "$(off '^daly-10' 0.03)" "" "wall times under failures are Daly's within 3 %"
  is "$(off '^daly-best' 0.1)" "" "the best checkpoint interval equals Daly's within 10 %"
  is "$(printf '%s\n' "$rows" | awk -F, '/^books-/ { n++; if (!($6 < 1e-12)) print $1, $6 } END { print n }')" "21" "accounts of hours and dollars add up to the totals"
}

if [ "${ORR_SANITIZED:-}" != 1 ] && need "$traces/spot/oobleck/6h.csv" && need "$traces/spot/bamboo/p3-trace.csv" && need "$traces/spot/parcae/segments"; then
  carry_out spot-field
  is "$(printf '%s\n' "$rows" | awk -F, '/^O1-|^O2-|^O4-/ { n++; if ($9 != "yes") print $1, $6 } END { print n }')" "70" "O1, O2, O4: the artifact's rules"
  is "$(printf '%s\n' "$rows" | awk -F, '/^O1b-/ { n++; if ($9 == "no") print $1, $6 } END { print n }')" "54" "O1b: the artifact's programs, Oobleck 1 %, Varuna 4 %, Bamboo 8 %"
  is "$(within O3-rate_6h) $(within O3-rate_1h) $(within O3-rate_10m)" "yes yes yes" "O3: Oobleck >= Varuna > Bamboo at every rate"
  is "$(between O3-collapse 0.1 0.11)" 1 "O3: Varuna collapses, to 0.108 of Oobleck in order of time (0.073 by the program's heap)"
  is "$(printf '%s\n' "$rows" | awk -F, '/^P1-/ { n++; if ($9 != "yes") print $1, $6 } END { print n }')" "20" "P1: Parcae's throughput-optimal choices have the published rates"
  is "$(printf '%s\n' "$rows" | awk -F, '/^P2-truth/ { n++; s += $7 < 0 ? -$7 : $7 } END { print n, (s / n < 0.02) }')" "20 1" "P2: mean rate of the liveput-optimal shapes within 2 %"
  is "$(between against-oobleck 0.33 0.35) $(between against-bamboo 0.5 1)" "1 1" "Bamboo over Varuna: the published ratio is reached for one model and not for the other"
  for job in gpt2 bert measured; do
    is "$(less "value-$job-on-demand" "value-$job-checkpoint") $(less "value-$job-checkpoint" "value-$job-parcae") $(less "value-$job-parcae" "value-$job-oracle")" "1 1 1" \
      "$job: value of on demand < checkpointing < Parcae < Parcae that sees ahead"
  done
  is "$(less market-jct-spot-market market-jct-optimus) $(less market-usd-spot-market market-usd-fifo)" "1 1" "spot-market has the lowest completion time and cost"
  without_traces
  if [ -e "$traces/skypilot/us-west-2a_k80_1.json" ]; then
    is "$(within L1-share-greedy) $(within L1-share-uniform)" "yes yes" "L1: shares of the omniscient policy's spot hours"
  else
    skip "L1: no $traces/skypilot (skypilot-org/spot-traces, the eight of 10-26-2022)"
  fi
  drawn artifact-bert artifact-time artifact-free throughput-gpt2 value-bert dollars-measured nodes-p3 rates-p3 notice parcae-choices late-all late-savings-loose \
    daly-100 market-jct market-nodes
fi

# Without the traces, generators replace them (with a message), and rows that need traces are left out.
sed -i 's/"file": "/"file": "no-/; s/"start": \[1, 2\]/"start": [1]/' "$work/spot-field/figures.json"
said=$("$ORRERY" figures "$work/spot-field" --no-figures --out "$work/out" 2>&1 >"$work/table")
is "$? $(printf '%s\n' "$said" | grep -c 'SKIPPED: .* a generator replaces it')" "0 35" "without the traces generators are used, and the output says so"
rows=$(sed -n '2,$s/^"\([^"]*\)","[^"]*",/\1,/p' "$work/out/table.csv")
is "$(printf '%s\n' "$rows" | grep -c '^O[1-4]\|^P[12]-\|^L1-\|^against')" "0" "rows that compare with published numbers on traces are left out"
without_traces
tap_done
