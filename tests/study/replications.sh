#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --replications at the command line: intervals, differences by replication, equal output for any number of threads, reuse
# from a database, error messages; and flags of policies that draw random numbers.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
source=$(cd "${srcdir:-.}" && pwd)
cd "$work" || exit 1

# ---- every policy that draws random numbers declares this ----
is "$(cd "$source" && for f in $(grep -lE 'orr_(serve|spot|step)_uniform\(' policies/*/*.c); do
  grep -q ORR_POLICY_ "$f" || f=${f%_*}.c # a policy of several files
  grep -q ORR_DRAWS "$f" || echo "$f"
done)" "" \
  "policies that draw declare ORR_DRAWS"

# ---- jobs ----
jobs=(jobs philly-like:days=2 --cluster 8x8:v100 --policy fifo,las,srtf --replications 10)
"$orrery" "${jobs[@]}" -j1 --db j1.db --out j1 --no-figures -q 2>said
is "$? $(cat said)" "0 " "jobs are replicated"
"$orrery" "${jobs[@]}" -j2 --db j2.db --out j2 --no-figures -q
is "$("$orrery" db digest j1.db) $(cat j1/summary.csv)" "$("$orrery" db digest j2.db) $(cat j2/summary.csv)" "with two threads as with one"
"$orrery" "${jobs[@]}" >table
"$orrery" "${jobs[@]}" -j1 --db j1.db >again 2>said
is "$(grep -c 'taken from j1.db' said) $(cat again)" "3 $(cat table)" "stored replications are compared like fresh ones"
"$orrery" "${jobs[@]}" --policy easy-backfill --db j1.db --out j3 --no-figures -q
is "$(grep '^las,' j3/summary.csv)" "$(grep '^las,' j1/summary.csv)" "beside a new run, too"
series() { awk -F, -v m="replications:$2" '$2 == m { printf "%s%.17g", n++ ? " " : "", $3 }' "j1/$1.series.csv"; }
value() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3, $4, $5 }' j1/summary.csv; }
for metric in jct_mean wait_mean slowdown_mean makespan utilisation; do
  is "$(series las $metric | wc -w)" 10 "$metric of each replication is kept"
done
is "$(paste <(series las jct_mean | tr ' ' '\n') <(series fifo jct_mean | tr ' ' '\n') | awk -v got="$(value las diff_jct_mean)" '
    { sum += $1 - $2 }
    END { split(got, g, " "); print NR, (g[1] - sum / NR) ^ 2 < 1e-6, g[2] < g[1] && g[1] < g[3] }')" "10 1 1" "the difference is the mean over the pairs of runs"
is "$(value las jct_diff)" "" "with replications there is no difference job by job"
like "$(cat table)" '^JCT mean against fifo, paired over 10 replications, 95 % for all 3 pairs together:$' "the table has the difference of mean JCTs over replications"
like "$(cat table)" '^  las +-[0-9.]+ [a-z]+ \[-[0-9.]+, -?[0-9.]+\]  -[0-9.]+ %' "the table has an interval of the difference and the difference in percent"
like "$(cat table)" '^wait mean against fifo, paired over 10 replications, 95 % for all 3 pairs together:$' "the table has the difference of mean waits over replications"
is "$("$orrery" jobs philly-like:days=2 --cluster 8x8:v100 --policy fifo,las --replications 1 --json)" \
  "$("$orrery" jobs philly-like:days=2 --cluster 8x8:v100 --policy fifo,las --json)" "one replication is the plain run"

# ---- until a precision is reached ----
goal=(jobs philly-like:days=1 --cluster 16x8:v100 --policy las,fifo --until-precision 0.2)
half() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print ($5 - $4) / 2 / $3 }' "$3/summary.csv"; }
at() { awk -F, '$1 == "fifo" && $2 == "replications" { print $3 }' "$1/summary.csv"; }
"$orrery" "${goal[@]}" --precision-of makespan --out p1 -j1 --no-figures --db p.db >table 2>said
n=$(at p1)
like "$(cat table)" "^$n replications: the widest interval is makespan of fifo, ± [0-9.]+ % of its mean \(until_precision 20 %\)$" "the table says how many replications were run"
is "$(awk -v h="$(half fifo makespan p1)" -v n="$n" 'BEGIN { print (h <= 0.2 && n > 10) }')" 1 "the interval is as narrow as asked"
plain() { "$orrery" jobs philly-like:days=1 --cluster 16x8:v100 --policy las,fifo --replications "$1" --out "plain$1" --no-figures -q; }
plain "$n"
plain $((n / 2))
is "$(grep -E '^fifo,(jct_mean|makespan|replications),' p1/summary.csv)" "$(grep -E '^fifo,(jct_mean|makespan|replications),' "plain$n/summary.csv")" \
  "the results are those of --replications $n"
plain $((n / 4))
is "$(awk -v h="$(half fifo makespan "plain$((n / 2))")" -v before="$(half fifo makespan "plain$((n / 4))")" 'BEGIN { print (h <= 0.2), (before > 0.2) }')" \
  "1 1" "the precision was reached with $((n / 2)) replications and not with $((n / 4))"
"$orrery" "${goal[@]}" --precision-of makespan --out p2 -j2 --no-figures -q
is "$(cat p2/summary.csv)" "$(cat p1/summary.csv)" "with two threads as with one"
"$orrery" "${goal[@]}" --precision-of makespan --db p.db >again 2>said
is "$(grep -c 'taken from p.db' said) $(cat again)" "2 $(cat table)" "stored runs are used"
"$orrery" "${goal[@]}" --precision-of makespan --policy srtf --db p.db -q --out p3 --no-figures 2>said
is "$(grep -c . said) $(awk -F, '$2 == "replications" { print $3 }' p3/summary.csv | sort -u | wc -l)" "0 1" "all policies have the same number of replications"
like "$("$orrery" "${goal[@]}" --precision-of makespan --replications 12)" '^12 replications, the limit; the precision was not reached: the widest' "a message says that the limit was reached before the precision"
said=$("$orrery" "${goal[@]}" --precision-of slwdown 2>&1; "$orrery" "${goal[@]}" --replications 9 2>&1; "$orrery" jobs philly-like:days=1 --cluster 16x8 --policy las --precision-of jct_mean 2>&1)
is "$said" 'orrery: scenario: $.precision_of: expected metrics that are columns of the table, separated by commas, found "slwdown"
orrery: scenario: $.replications: expected at least 10 together with "until_precision", found "9"
orrery: scenario: $.precision_of: expected this key only together with "until_precision"' "wrong values are refused"

# Steps are wasted in one of ten replications. A varying metric without an interval must not count as precise.
spot=(spot hazard:p=0.1,length=24h --job bamboo-bert --policy bamboo --replications 10)
like "$("$orrery" "${spot[@]}")" 'no interval of wasted_part: fewer than 5 of 10 replications differ .* about (50|100) replications would give one' \
  "few replications that differ give no interval, and a remark says how many would"
like "$("$orrery" "${spot[@]}" --until-precision 0.5 --precision-of wasted_part)" \
  '^10 replications, the limit; the precision was not reached: wasted_part of bamboo has no interval' "--until-precision continues to the limit if a metric has no interval"

# ---- random days of a file ----
# Day d has d + 1 jobs of one second. They start at d hours past midnight, one second apart, so the hour identifies
# the day.
awk 'BEGIN { print "submit_s,duration_s,gpus"; print "0,1,1"
  for (d = 1; d < 6; d++) for (i = 0; i <= d; i++) printf "%d,1,1\n", d * 86400 + d * 3600 + i }' >days.csv
drawn() { "$orrery" jobs days.csv --cluster 4x8 --policy fifo --resample day --out "$1" --no-figures -q "${@:2}"; }
drawn d1 --seed 7
drawn d2 --seed 7 -j1
drawn d3 --seed 8
is "$(cat d2/fifo.jobs.csv)" "$(cat d1/fifo.jobs.csv)" "the same seed draws the same days"
ok "$(cmp -s d1/fifo.jobs.csv d3/fifo.jobs.csv; echo $(($? != 1)))" "another seed draws others"
is "$(for o in d1 d3; do awk -F, 'NR > 1 { day = int($3 / 86400); hour = int($3 % 86400 / 3600); n[day]++; of[day] = hour
    bad += day > 5 || int($3 % 86400) != hour * 3600 + n[day] - 1 || $1 != NR - 2 }
  END { for (d in n) bad += n[d] != of[d] + 1; print bad + 0, length(n) }' $o/fifo.jobs.csv; done)" "0 6
0 6" "each of the six days is a whole day of the file, and jobs are numbered anew"
like "$("$orrery" jobs days.csv --cluster 4x8 --policy fifo --resample day --db d.db)" \
  '^resampled: jobs are from 6 blocks of the trace, drawn with replacement \(--resample day\)$' "the table marks the run"
is "$(grep -c '^	*"remarks":	\[.*"resampled: ' <("$orrery" jobs days.csv --cluster 4x8 --policy fifo --resample day --db d.db --json 2>said))" 1 "JSON and the run in the database have the remark"
"$orrery" jobs days.csv --cluster 4x8 --policy fifo --resample day --replications 10 --out d4 --no-figures -q
is "$? $(awk -F, '$2 == "jobs" { print $4 < $3 && $3 < $5 }' d4/summary.csv)" "0 1" "replications draw different days"
awk 'BEGIN { print "arrival_s,prompt_tokens,output_tokens,session"; for (i = 0; i < 300; i++) printf "%d,100,20,%d\n", i * 60, i % 7 }' >q.csv
serve=(serve q.csv --model llama2-7b --cluster 1x2:a100 --policy vllm)
"$orrery" "${serve[@]}" --resample hour --replications 10 --out q1 -q --no-figures
is "$? $(awk -F, 'NR > 1 { n++ } END { print n }' q1/vllm.requests.csv)" "0 300" "--resample hour: five blocks of an hour with 60 requests each"
like "$("$orrery" "${serve[@]}" --resample 30m)" '^resampled: requests are from 10 blocks' "--resample 30m: blocks of 30 minutes"
said=$("$orrery" "${serve[@]}" --resample hour --set serve.sessions=replay 2>&1; "$orrery" jobs philly-like:days=1 --cluster 16x8 --policy fifo --resample day 2>&1
  "$orrery" jobs days.csv --cluster 4x8 --policy fifo --resample weekly 2>&1; "$orrery" jobs days.csv --cluster 4x8 --policy fifo --replications 5 2>&1)
is "$(echo "$said" | cut -c1-100)" 'orrery: scenario: $.resample: expected no resampling with serve.sessions, because the blocks of resa
orrery: resample: philly-like:days=1: expected a file, because a generator draws a new trace for eac
orrery: scenario: $.resample: expected day, hour or a time above 0 such as 6h, found "weekly"
orrery: scenario: $.replications: no input is random, so 5 replications would be 5 equal runs: expec' "invalid uses of --resample and --replications are refused"

# ---- refusals ----
"$orrery" trace synth philly-like:days=1 -o t.csv
"$orrery" jobs t.csv --cluster 8x8 --policy fifo --replications 5 --db none.db 2>said
is "$? $([ -e none.db ] && echo made)" "2 " "equal runs are refused before anything is stored"
like "$(cat said)" 'no input is random, so 5 replications would be 5 equal runs: expected 1, or --resample day' "with the reason, and a way"
"$orrery" step resnet50 --cluster 4x1:v100 --policy allreduce --cost-samples 5 --replications 5 2>said
is "$? $(grep -c 'expected 1 with cost_samples' said)" "2 1" "draws of the costs and replications exclude each other"
"$orrery" step resnet50 --cluster 4x1:v100 --policy ds-sync --set policy.ds-sync.schedule=random --replications 3 -q
is "$?" 0 "a policy that draws is random"
echo '{"world": "mixed", "cluster": "2x4:a100", "jobs": {"trace": "poisson:rate=0.01,n=20"}, "policies": ["fifo"]}' >mixed.json
"$orrery" run mixed.json --replications 3 --json -j1 >a && "$orrery" run mixed.json --replications 3 --json -j2 >b
is "$? $(cmp a b && tr -d '\t' <a | grep -c '^"replications":{')" "0 1" "mixed: the same with any number of threads"
"$orrery" run mixed.json --set jobs.replications=3 2>said
is "$? $(grep -c 'jobs.replications: this key belongs to the mixed scenario' said)" "2 1" "mixed: replications are a key of the whole scenario only"
tap_done
