# orrery trace on availability: info against published statistics, convert, slice, synth, list, errors.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
options=()
d=$srcdir/tests/data/traces
t() { "$ORRERY" trace "$@" 2>"$work/err"; }
facts() { t info "$@" | awk -F '  +' 'NF == 2 { print $1 "=" $2 }'; }
# show DECIMALS FILE FACT..: prints the rounded values of facts
show() {
  local decimals=$1 f=$2
  shift 2
  facts "$f" "${options[@]}" >"$work/facts"
  local name
  for name; do awk -F= -v n="$name" -v d="$decimals" '$1 == n { printf "%.*f ", d, $2 }' "$work/facts"; done
}

# Expected values are computed by hand from the fixtures.
is "$(t convert "$d/bamboo.csv")" "time_s,event,node,zone,type,price
0,add,node1,,,
0,add,node2,,,
0,add,node3,,,
60,remove,node2,,,
60,add,node4,,,
60,remove,node1,,,
120,remove,node4,,,
180.0005,add,node5,,," "convert: every event, ties in file order"
for f in bamboo.csv gcp_polls.txt step_curve.csv parcae_counts.csv parcae_segment.txt skypilot.json availability.csv prices.csv; do
  t convert "$d/$f" -o "$work/a.csv.gz"
  is "$(t convert "$work/a.csv.gz" | cksum)" "$(gzip -dc "$work/a.csv.gz" | cksum)" "$f: the written file reads back unchanged"
  is "$(t info "$work/a.csv.gz" | tail -n +4)" "$(t info "$d/$f" | tail -n +4)" "$f: and has the same statistics"
done
is "$(t slice "$d/bamboo.csv" --from 90 --until 150 | tail -n +2 | tr '\n' ' ')" "0,add,node3,,, 0,add,node4,,, 30,remove,node4,,, 60,end,,,, " \
  "slice: begins at 0 with the present instances, keeps the end of the record"
is "$(t convert - -O cap=1 <"$d/bamboo.csv" | tail -n +2 | cut -d, -f1-3 | tr '\n' ' ')" "0,add,node1 60,remove,node1 60,add,node3 180.0005,end, " \
  "options, and a trace on standard input"
t convert "$d/bamboo.csv" -O repair=all -o "$work/b.csv"
is "$(cat "$work/err")" "$work/b.csv: 8 rows" "without --repair nothing is reported"
printf '0,add,a\n5,add,b\n3,remove,a\n9,remove,a\n' >"$work/bad.csv"
t convert "$work/bad.csv" -O repair=all -o "$work/b.csv"
is "$(sed "s#$work/##" "$work/err")" "b.csv: 3 rows
orrery: bad.csv: rows out of order, sorted: 1, the first on line 3
orrery: bad.csv: second removals, skipped: 1, the first on line 4" "repairs are reported"
is "$(t info "$work/bad.csv" -O repair=all | sed -n 's/^second removals, skipped  *//p')" "1, the first on line 4" "trace info reports repairs"
is "$(t convert "zones:x=$d/skypilot.json,y=$d/bamboo.csv" | cut -d, -f1-4 | sed -n '2p;10p' | tr '\n' ' ')" "0,add,y/node1,y 600,add,node6,x " "several files as one"

# synth gives equal rows for equal seeds and different rows for different seeds. The info of the file equals that of
# the generator.
is "$(t synth hazard --seed 3 | cksum)" "$(t synth hazard --seed 3 | cksum)" "synth: the same seed gives the same rows"
ok $(($(t synth hazard --seed 3 | cksum | cut -d' ' -f1) == $(t synth hazard --seed 4 | cksum | cut -d' ' -f1))) "synth: another seed gives other rows"
for g in hazard:p=0.3 "renewal:zones=a|b,nodes=3" churn:length=9h "bulk:zones=a|b" "price:type=p3"; do
  t synth "$g" -o "$work/g.csv"
  is "$(t info "$work/g.csv" | tail -n +4)" "$(t info "$g" | tail -n +4)" "$g: written to a file is the same trace"
done
is "$(t list | awk '/^formats of instance availability/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { print $1 }' | tr '\n' ' ')" \
  "bamboo gcp-polls parcae-counts step-curve parcae-segment skypilot availability prices aws-prices " "list: formats of instances"
is "$(t list | awk '/^models of instance availability/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { print $1 }' | tr '\n' ' ')" \
  "hazard renewal churn bulk price " "list: models of instances"

# errors
fails() {
  local want=$1
  shift
  t "$@" >/dev/null
  local rc=$?
  is "$rc $(sed "s#$srcdir/tests/data/traces/##" "$work/err")" "2 orrery: $want" "$want"
}
fails "--to: expected \"availability\", the only format for instances, found \"swf\"" convert "$d/bamboo.csv" --to swf
fails "bamboo.csv: this trace holds instances, which have no queue, user or GPUs: expected a selection by time only (--from and --until)" slice "$d/bamboo.csv" --user ann
fails "bamboo.csv: the rows of one instance depend on one another: expected a selection by time only (--from and --until)" slice "$d/bamboo.csv" --count 2
fails "hazard:length=0: this generator has no end: expected its parameter \"length\"" synth hazard:length=0
fails "hazard:length=0: this generator has no end: expected its parameter \"length\"" info hazard:length=0
fails "trace synth: unknown model \"hazzard\": did you mean \"hazard\"?" synth hazzard
fails "churn: option \"cap=2\": expected a parameter of the generator, NAME:parameter=value,.." info churn -O cap=2
fails "the format \"availability\" is for instances: expected orrery, tiresias or swf" \
  convert "$d/orrery.csv" --to availability

# The traces of Bamboo, Oobleck and Parcae: their statistics, counted by independent programs.
spot=$traces/spot
if ! need "$spot/bamboo"; then
  tap_done
  exit
fi
options=()
whole=(events additions removals "most live" "minimum live from the first removal on" "instants of removal" "largest number removed at once")
rates=("span h" "mean live" "removals per instance and hour" "mean number removed at once" "mean life h of removed")
is "$(show 0 "$spot/bamboo/p3-trace.csv" "${whole[@]}")" "344 177 167 32 10 79 6 " "p3: counts"
is "$(show 2 "$spot/bamboo/p3-trace.csv" "${rates[@]}" "mean life h, of all until the end")" "11.37 24.03 0.61 2.11 1.46 1.54 " "p3: rates and lives"
is "$(show 1 "$spot/bamboo/p3-trace.csv" "removals per hour")" "14.7 " "p3: removals an hour"
is "$(t info "$spot/bamboo/p3-trace.csv" | awk '/^removed at once/ { on = 1; next } on && NF == 2 { printf "%s:%s ", $1, $2 }')" \
  "1:39 3:15 2:13 4:7 6:4 5:1 " "p3: bulk sizes"
is "$(t info "$spot/bamboo/p3-trace.csv" | awk '/^gap between/ { print $11 }')" 240 "p3: median gap between removal instants is 4 min"
is "$(show 0 "$spot/oobleck/scaled/scale_p3-trace.csv" "${whole[@]}")" "299 157 142 30 15 85 5 " "scaled p3: counts"
is "$(show 2 "$spot/oobleck/scaled/scale_p3-trace.csv" "${rates[@]}")" "11.37 24.13 0.52 1.67 1.62 " "scaled p3: rates and lives"
for row in "6h 90.00 0.17" "1h 15.00 1.00" "10m 2.50 5.99" "5m 1.25 12.05"; do
  read -r f span rate <<<"$row"
  is "$(show 0 "$spot/oobleck/$f.csv" "${whole[@]}")" "45 30 15 30 15 15 1 " "$f: counts"
  is "$(show 1 "$spot/oobleck/$f.csv" "mean live")" "23.0 " "$f: mean live"
  ok $(($(show 9 "$spot/oobleck/$f.csv" "span h" "removals per hour" | awk -v s="$span" -v r="$rate" '{ print !($1 - s < 0.006 && s - $1 < 0.006 && $2 - r < 0.006 && r - $2 < 0.006) }'))) \
    "$f: span $span h, $rate removals an hour"
done
is "$(show 3 "$spot/bamboo/gcloud/a100x1-east1b.txt" "removals per instance and hour")" "0.099 " "GCP A100: losses per instance and hour"
is "$(show 0 "$spot/bamboo/gcloud/a100x1-east1b.txt" removals "instants of removal" "largest number removed at once" "most live" "minimum live from the first removal on")" \
  "154 36 36 64 17 " "GCP A100: 154 lost in 36 drops, 36 at most, target 64"
is "$(show 1 "$spot/bamboo/gcloud/a100x1-east1b.txt" "span h" "mean live")" "27.0 57.3 " "GCP A100: span, mean live"
fails "$spot/bamboo/gcloud/v100x1-east1c.txt:4: time: expected at least the time of the row above, found a time that is 60 s less (15 such rows; sections of the file overlap in time: interleaved pollers); repair=sort sorts the rows" \
  info "$spot/bamboo/gcloud/v100x1-east1c.txt"
options=(-O repair=sort)
is "$(show 0 "$spot/bamboo/gcloud/v100x1-east1c.txt" removals "instants of removal" "largest number removed at once" "most live" "minimum live from the first removal on")" \
  "599 68 40 80 30 " "GCP V100, sorted: 599 lost in 68 drops, 40 at most"
is "$(show 1 "$spot/bamboo/gcloud/v100x1-east1c.txt" "span h" "mean live")" "24.2 76.4 " "GCP V100, sorted: span, mean live"
options=()
p2=$(echo "$spot"/bamboo/doc-data/aws-spot-instances-p2-xlarge-2020-11-20-to-*.csv)
is "$(show 0 "$p2" "most live" removals "instants of removal")" "16 178 112 " "p2, several days: at most 16, 178 lost in 112 instants"
is "$(show 2 "$p2" "mean live" | cut -c1-5)" "15.50" "p2, several days: mean live"
p2=$(echo "$spot"/bamboo/doc-data/*1e-*0700.csv)
is "$(show 1 "$p2" "span h") $(show 0 "$p2" removals "most live" "minimum live from the first removal on")" "19.0  3 10 9 " "p2 1e: 19.0 h, 9-10 nodes, 3 lost"
for p2 in "$spot"/bamboo/doc-data/*p2-xlarge-us-east-1[ac]-*; do
  is "$(show 0 "$p2" events "most live" removals "span h")" "8 8 0 0 " "$(basename "$p2" .csv | cut -c31-40): a single point of 8 nodes"
done
is "$(t convert "$spot/parcae/p3_counts.csv" | cut -d, -f1,2 | cksum)" "$(t convert "$spot/bamboo/p3-trace.csv" | cut -d, -f1,2 | cksum)" \
  "Parcae's counts are Bamboo's events, one by one"
seg() { show 2 "$spot/parcae/segments/gpt-1.5b/trace_$1.txt" "mean live"; show 0 "$spot/parcae/segments/gpt-1.5b/trace_$1.txt" removals "instants of removal"; }
is "$(seg hh_55_65)$(seg lh_80_90)$(seg ll_10_11)" "27.48 19 9 16.82 18 8 14.63 4 3 " "Parcae's segments: mean live, removals, minutes with one"
n=0
while read -r f; do
  t info "$f" >"$work/out" || n=$((n + 1))
done < <(find "$spot" -name '*.csv' -o -name '*.txt')
is "$n" 1 "all other files are read without an option"
tap_done
