# orrery trace: convert, slice, info, errors, compression.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
d=$srcdir/tests/data/traces
t() { "$ORRERY" trace "$@" 2>"$work/err"; }

# orrery's CSV survives a round trip through each compression.
t convert "$d/orrery.csv" -o "$work/a.csv"
for e in csv csv.gz csv.zst; do
  t convert "$work/a.csv" -o "$work/b.$e"
  is "$(t convert "$work/b.$e")" "$(cat "$work/a.csv")" "orrery -> $e -> orrery is the same text"
done
is "$(head -c 2 "$work/b.csv.gz" | od -An -tx1 | tr -d ' \n')" 1f8b ".gz is gzip"
is "$(head -c 4 "$work/b.csv.zst" | od -An -tx1 | tr -d ' \n')" 28b52ffd ".zst is zstd"
is "$(cut -d, -f1-4 "$work/a.csv")" "job_id,submit_s,duration_s,gpus
a,0,66,1
b,10.5,0.000000001,1
c,20,,4" "times keep every decimal they need, and no more"

# Two gzip members form one file.
gzip -c "$work/a.csv" >"$work/two.gz"
tail -n +2 "$work/a.csv" | gzip -c >>"$work/two.gz"
is "$(t convert "$work/two.gz" | wc -l)" 7 "gzip members follow each other"
is "$(t convert - <"$work/b.csv.gz")" "$(cat "$work/a.csv")" "a compressed trace on standard input"

# A conversion from Tiresias to SWF and back keeps times and sizes.
t convert "$d/tiresias.csv" --to swf --sort -o "$work/c.swf"
is "$(t convert "$work/c.swf" --to tiresias | cut -d, -f2,3,6)" "num_gpu,submit_time,duration
1,0,236
2,71,2152.5
16,75,30" "tiresias -> swf -> tiresias keeps GPUs and times"

# A wall-clock trace is sorted and starts at 0; ids are kept from the file.
is "$(t convert "$d/philly.csv" | cut -d, -f1-4,14)" "job_id,submit_s,duration_s,gpus,queue
2,0,1,1,6214e9
1,50739184,2951,8,6214e9
0,50742116,66,1,11cb48" "philly: sorted, from 0"

# Every row of the real trace survives conversion, so the profile is unchanged.
if need "$traces/openb/openb_pod_list_gpuspec33.csv"; then
  t convert "$traces/openb/openb_pod_list_gpuspec33.csv" -o "$work/openb.csv.zst"
  same='^(rows|span|duplicate|duration|no GPU|share|one whole|GPU|peak|wait|gpu|cpu|mem|interarrival|  )'
  is "$(t info "$work/openb.csv.zst" | grep -E "$same")" "$(t info "$traces/openb/openb_pod_list_gpuspec33.csv" | grep -E "$same")" \
    "openb in orrery's format has the same profile"
fi

# slice
cut1() { t slice "$d/orrery.csv" "$@" | tail -n +2 | cut -d, -f1,2 | tr '\n' ' '; }
is "$(cut1 --from 10)" "b,10.5 c,20 " "from is inclusive"
is "$(cut1 --until 20s)" "a,0 b,10.5 " "until is exclusive"
is "$(cut1 --from 10 --rebase)" "b,0 c,9.5 " "rebase"
is "$(cut1 --count 1)" "a,0 " "count"
is "$(cut1 --gpus 2-8)" "c,20 " "gpus"
is "$(cut1 --queue batch)" "c,20 " "queue"
is "$(cut1 --user ann)" "a,0 " "user"
t synth poisson:n=20000 -o "$work/p.csv"
n=$(t slice "$work/p.csv" --sample 0.25 | wc -l)
ok $((n < 4800 || n > 5200)) "a sample of a quarter has a quarter of the rows, within 3 sd ($n)"
is "$(t slice "$work/p.csv" --sample 0.25 --seed 3 | cksum)" "$(t slice "$work/p.csv" --sample 0.25 --seed 3 | cksum)" "the same seed gives the same sample"

# info
is "$(t info "$d/swf.swf" --json | tr -d '\t\n ' | grep -o '"rows":[0-9]*')" '"rows":3' "info counts the rows that a replay skips"
like "$(t convert "$d/swf.swf" -o "$work/left.csv"; cat "$work/err")" "swf\.swf: rows left out: 1 " "convert reports skipped rows"
like "$(t info "$d/swf.swf")" "^MaxProcs +240$" "info shows the SWF header"
like "$(t info "$d/muri.csv")" "iteration_time ms +2 " "info shows the extra columns of a format"
like "$(t list)" "^  swf .*Standard Workload Format" "list shows formats"

# Errors: exact texts, exit code 2, no partial file.
bad() { # WANT ARGUMENTS..
  want=$1
  shift
  t "$@" >/dev/null
  is "$? $(cat "$work/err")" "2 orrery: $want" "$want"
}
cd "$work" || exit 1
printf 'job_id,num_gpu,submit_time,duration\n0,1,0,5\n1,8x,1,5\n' >jobs.csv
bad 'jobs.csv:3: num_gpu: expected a whole number from 0 to 1000000, found "8x"' convert jobs.csv -o out.csv
ok "$([ ! -e out.csv ] && [ ! -e out.csv.part ]; echo $?)" "a failed conversion leaves no file"
bad 'nope.csv: No such file or directory' info nope.csv
bad '.: Is a directory' info .
gzip -c jobs.csv | head -c 40 >cut.gz
bad 'cut.gz:1: truncated gzip data' info cut.gz --format tiresias
bad 'unknown trace format "filly": expected one of flow, philly, muri, pollux, shockwave, tiresias, openb, openb-nodes, orrery, azure-llm, bailian, mooncake, burstgpt, splitwise, vidur, requests, bamboo, gcp-polls, parcae-counts, step-curve, parcae-segment, skypilot, availability, prices, gavel, swf, acme, helios, itp, dlrm, spot-gpu, slurm, philly-raw, pai, kubernetes, aws-prices, csv, csv-requests, auto' info jobs.csv --format filly
bad 'trace format swf: unknown parameter "extra_field": did you mean "extra_fields"?' info jobs.csv --format swf -O extra_field=1
bad 'trace info: unknown or incomplete option "--jsn": did you mean "--json"?' info --jsn jobs.csv
bad 'trace: unknown verb "inf": did you mean "info"?' inf jobs.csv
bad '--gpus: expected a count or a range like 1-8, found "8-1"' slice jobs.csv --gpus 8-1
bad 'trace convert: this verb writes all rows: expected '"'orrery trace slice'"' for a selection of rows' convert jobs.csv --count 1
bad 'the format "philly" cannot be written: expected orrery, tiresias, swf, requests or availability' convert jobs.csv --to philly
bad 'trace synth: unknown model "poison": did you mean "poisson"?' synth poison
bad 'poisson:n=0: this generator has no end: expected its parameter "n"' synth poisson:n=0
bad 'generator poisson: rate: expected a number from 1e-09 to 1000000000, found "0"' synth poisson:rate=0
if [ -w /dev/full ]; then
  printf 'submit_s,duration_s\n0,1\n' >good.csv
  "$ORRERY" trace convert good.csv >/dev/full 2>err
  is "$? $(cat err)" "1 orrery: standard output: cannot be written" "a full disk is an error, code 1"
else
  skip "this system has no /dev/full"
fi
tap_done
