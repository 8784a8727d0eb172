# orrery trace on requests: info, convert, slice, synth, list, errors.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
d=$srcdir/tests/data/traces
t() { "$ORRERY" trace "$@" 2>"$work/err"; }

# Expected values are computed by hand from the fixtures.
is "$(t convert "$d/requests.csv")" "request_id,arrival_s,model,samples,prompt_tokens,output_tokens,max_output,priority,session,slo_s,blocks
a,0.000000001,vgg16,8,,,,,,0.2,
1,2,bert,1,12,,,,7,1.5,
\"b, quoted\",10.5,,1,700,30,64,2,7,,5 6" "convert: sorted, every column"
is "$(t convert "$d/mooncake.jsonl" | cut -d, -f1,2,5,6,11)" "request_id,arrival_s,prompt_tokens,output_tokens,blocks
0,0,1025,500,0 1 2
1,0,1000,1,0 9007199254740993
2,2.999,512,,0
3,2.9995,3,7,
4,9,1536,2,0 1" "mooncake: hashes are kept"
for f in azure_llm.csv mooncake.jsonl burstgpt.csv splitwise.csv vidur.csv requests.csv; do
  t convert "$d/$f" -o "$work/a.csv.gz"
  is "$(t convert "$work/a.csv.gz" | cksum)" "$(gzip -dc "$work/a.csv.gz" | cksum)" "$f: what is written reads back as the same"
done
is "$(t convert - -O spread=true <"$d/mooncake.jsonl" | cut -d, -f2 | tr '\n' ' ')" "arrival_s 0 1.4995 2.999 2.9995 9 " "options, and a trace on standard input"

# slice
cut1() { t slice "$d/burstgpt.csv" -O failures=keep "$@" | tail -n +2 | cut -d, -f1,2 | tr '\n' ' '; }
is "$(cut1 --from 45)" "1,45 2,118 3,118.5 " "from is inclusive"
is "$(cut1 --until 118)" "0,5 1,45 " "until is exclusive"
is "$(cut1 --from 10 --count 2 --rebase)" "1,0 2,73 " "count, rebase"
t synth poisson:n=20000 --to requests -o "$work/p.csv"
n=$(t slice "$work/p.csv" --sample 0.25 | wc -l)
ok $((n < 4800 || n > 5200)) "a sample of a quarter has a quarter of the rows, within 3 sd ($n)"

# info
is "$(t info "$d/burstgpt.csv" --json | tr -d ' \t\n' | grep -o '"requests":[0-9]*,"firstarrivals":5,"spans":113.5')" \
  '"requests":4,"firstarrivals":5,"spans":113.5' "info counts failed requests"
is "$(t info "$d/mooncake.jsonl" | grep -E '^(tokens of|block|distinct b|share of)' | tr -s ' ')" "tokens of a block 512
block references 8
distinct blocks 4
share of references seen before 0.5
blocks 5 1.6 1.02 0 1 2 2 2.6 2.8 2.96 3 8" "info: blocks and their reuse"
is "$(t info poisson:n=5 --format requests | sed -n 's/^requests  *//p')" 5 "info of a generator name of both kinds, as requests"
is "$(t info poisson:n=5 | sed -n 's/^rows  *//p')" 5 "the same name means jobs by default"
is "$(t info gamma:n=5 | sed -n 's/^requests  *//p')" 5 "info of a generator of requests"

# synth gives equal rows for equal seeds and different rows for different seeds. The info of the file equals that of
# the generator.
is "$(t synth irina --seed 3 | cksum)" "$(t synth irina --seed 3 | cksum)" "synth: the same seed gives the same rows"
ok $(($(t synth irina --seed 3 | cksum | cut -d' ' -f1) == $(t synth irina --seed 4 | cksum | cut -d' ' -f1))) "synth: another seed gives other rows"
g=mmpp:n=500,prompt=azure-conv,output=1-9,model=a\|b
t synth "$g" --to requests -o "$work/g.csv"
is "$(t info "$work/g.csv" | tail -n +4)" "$(t info "$g" --format requests | tail -n +4)" "a generator written to a file is the same trace"
is "$(t synth poisson:n=2 | head -n 1 | cut -d, -f1)" "job_id" "synth of a generator of both makes jobs"

# list
is "$(t list | awk '/^formats of requests/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { print $1 }' | tr '\n' ' ')" \
  "azure-llm bailian mooncake burstgpt splitwise vidur requests csv-requests " "list: formats of requests"

# errors
fails() {
  local want=$1
  shift
  t "$@" >/dev/null
  local rc=$?
  is "$rc $(sed "s#$srcdir/tests/data/traces/##" "$work/err")" "2 orrery: $want" "$want"
}
fails "--to: expected \"requests\", the only format for requests, found \"swf\"" convert "$d/vidur.csv" --to swf
fails "vidur.csv: this trace holds requests, which have no queue, user or GPUs: expected none of --queue, --user and --gpus" slice "$d/vidur.csv" --user ann
fails "the format \"requests\" is for requests: expected orrery, tiresias or swf" convert "$d/orrery.csv" --to requests
fails "gamma:n=0: this generator has no end: expected its parameter \"n\"" synth gamma:n=0
fails "gamma:n=0: this generator has no end: expected its parameter \"n\"" info gamma:n=0
fails "trace synth: unknown model \"gama\": did you mean \"gamma\"?" synth gama
fails "gamma: option \"repeat=2\": expected a parameter of the generator, NAME:parameter=value,.." info gamma -O repeat=2
tap_done
