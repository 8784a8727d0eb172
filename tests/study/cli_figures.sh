#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures: makes the figures of a scenario folder, and reports errors in such a folder
. "${srcdir:-.}/tests/tap.sh"
here=$(cd "$srcdir" && pwd)
orrery=$ORRERY
cd "$work" || exit 1
tiny=$here/tests/data/figures-tiny

"$orrery" figures "$tiny/" --out o --db runs.db >text 2>said
is "$? $(cat said)" "0 " "a scenario folder is carried out"
is "$(cd o && echo *.csv *.txt)" "speed-up.csv table.csv wait.csv table.txt" "data and tables are written"
if command -v gnuplot >/dev/null; then
  is "$(cd o && echo *.pdf *.png *.svg)" "speed-up.pdf wait.pdf speed-up.png wait.png speed-up.svg wait.svg" "figures are drawn"
else
  skip "gnuplot is not installed"
fi
is "$(cat o/table.txt)" "$(cat text)" "table.txt is what was printed"
# By Pollaczek-Khinchine the mean wait of M/D/1 is rho / (2 mu (1 - rho)); 20,000 jobs agree within 2 %.
is "$(awk -F, 'NR > 1 && $1 ~ /W-/ { d = $7 / $6 - 1; print $1, d * d < 0.0004 }' o/table.csv | tr -d '"')" \
  "W-0.3 1
W-0.5 1
W-0.7 1" "simulated waits are near the closed form"
is "$(awk -F, '$1 ~ /worst/ { printf "%.1f", $7 }' o/table.csv)" "0.7" "argmax over an axis gives its value"
is "$(awk -F, '$1 ~ /W-0.3/ { print $10 }' o/table.csv)" yes "a value within its bounds is marked yes"
# The speed-up is a ratio of two points of wait.csv.
ratio=$(awk -F, '$2 ~ /0.7/ && $3 { print $3 }' o/speed-up.csv)
is "$(awk -F, -v r="$ratio" '/^"first in/ { w[$(NF - 3)] = $(NF - 2) }
  END { d = w["\"0.7\""] / w["\"0.3\""] / r - 1; print d * d < 1e-24 }' o/wait.csv)" 1 "an expression uses two points of a run"
"$orrery" figures "$tiny" --out again --no-figures --db runs.db -j1 -q >text2 2>&1
is "$? $(cat text2)" "0 " "-q prints nothing"
is "$(cat again/*.csv)" "$(cat o/speed-up.csv o/table.csv o/wait.csv)" "runs that are in the database give the same bytes, whatever -j"
is "$("$orrery" db runs runs.db | wc -l)" 7 "each run is stored once"
mkdir -p data/scenarios && cp -r "$tiny" data/scenarios/tiny
is "$(ORRERY_DATADIR=$work/data "$orrery" figures tiny --no-figures; ls -d figures-tiny)" "$(cat text)
figures-tiny" "an installed book is named without a path, and the output folder is figures-NAME"

# ---- refusals: a change of figures.json | exit code and message ----
refused() {
  while IFS='|' read -r change expected; do
    rm -rf bad && cp -r "$tiny" bad && sed -i "$change" bad/figures.json
    said=$("$orrery" figures ./bad --no-figures --out bad/out 2>&1 >/dev/null)
    like "$? $said" "^$expected" "refused: $change"
  done
}
refused <<'EOT'
s/"axes"/"axis"/|2 orrery: ./bad/figures.json: \$: unknown key "axis": did you mean "axes"?
s/"rho": \[.*\]/"rho": []/|2 orrery: ./bad/figures.json: \$.axes.rho: expected a list of values
s/"axes": \["rho"\]/"axes": ["tho"]/|2 orrery: ./bad/figures.json: \$.runs.md1: "axes": expected names of \$.axes, found "tho"
s/queue.json/gone.json/|2 orrery: ./bad/gone.json: No such file
s/rho \* mu}/rho * nu}/|2 orrery: ./bad/figures.json: \$.runs.md1\[rho=0.3\]: expression "rho \* nu": expected a known name at "nu"
s/"trace": /"tracy": /|2 orrery: ./bad/figures.json: \$.runs.md1\[rho=0.3\]: unknown key "tracy": did you mean "trace"?
s/"name": "wait"/"name": "..\/wait"/|2 orrery: ./bad/figures.json: \$.figures\[0\]: "name": expected a file name
s/"lines"/"pies"/|2 orrery: ./bad/figures.json: \$.figures\[0\]: "kind": expected lines, bars, stacked, timeline, spans or cdf
s/"y": "{md1.\${order}.wait_mean}"/"y": "{md1.fifo.wait_meen}"/|2 orrery: ./bad/figures.json: \$.figures\[0\]: \{md1.fifo.wait_meen\}: expected a metric of this run, found "wait_meen"
s/{md1\[rho=0.3\].fifo/{md1[tau=0.3].fifo/|2 orrery: ./bad/figures.json: \$.figures\[1\]: \[tau=0.3\]: expected AXIS=VALUE
s/"W-\${rho}"/"X-${rho}"/|2 orrery: ./bad/figures.json: \$.table\[0\]: published.csv has no row "X-0.3"
s/argmax(rho:/argmax(tau:/|2 orrery: ./bad/figures.json: \$.table\[1\]: expression .*: expected the name of an axis
s/"simulated": "{md1.fifo/"simulated": "{md2.fifo/|2 orrery: ./bad/figures.json: \$.table\[0\]: \{md2.fifo.wait_mean\}: expected the name of a run, found "md2"
EOT
# ---- missing traces, and distribution functions of rows ----
mkdir -p rows known/deep
printf 'arrival_s,request_id\n0,a\n0,b\n0,c\n0,d\n' >known/deep/four.csv
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [20]}' >rows/slow.json
cat >rows/figures.json <<'EOT'
{ "traces": { "four": { "file": "deep/four.csv", "otherwise": "poisson:rate=1,n=9" } },
  "runs": { "r": { "scenario": { "world": "serve", "trace": "${trace:four}", "models": ["${dir}/slow.json"], "cluster": "1x1", "policies": ["fifo"],
    "serve": { "queue_limit": 3 } } } },
  "figures": [{ "name": "c", "kind": "cdf", "x": { "label": "seconds${trace:four.note}" }, "series": [{ "label": "end", "rows": "r.fifo.completion" }] }],
  "table": [{ "id": "n", "published": false, "simulated": "{r.fifo.requests}", "closed": "has_four ? 4 : 9" }] }
EOT
is "$(ORRERY_TRACE_PATH=$work/known "$orrery" figures ./rows --no-figures --out rows/o -q 2>&1; cat rows/o/c.csv)" 'series,x,y,low,high
"end",0.02,0.25,,
"end",0.040000000000000001,0.5,,
"end",0.059999999999999998,0.75,,' "a trace is found, and shares are of all requests, refused ones included"
said=$(ORRERY_TRACE_PATH=$work/none ORRERY_DATA_PATH=$work/none "$orrery" figures ./rows --no-figures --out rows/o 2>&1)
like "$said" '^orrery: SKIPPED: four: deep/four.csv does not exist \(set ORRERY_TRACE_PATH or ORRERY_DATA_PATH\); a generator replaces it: poisson:rate=1,n=9$' "a message names the generator that replaces a trace that does not exist"
like "$said" '^n  +9 +9 +0 %$' "a figure whose trace does not exist runs with the generator"
while IFS='|' read -r change expected; do
  rm -rf bad && cp -r rows bad && sed -i "$change" bad/figures.json
  said=$(ORRERY_TRACE_PATH=$work/known "$orrery" figures ./bad --no-figures --out bad/out -q 2>&1)
  like "$? $said" "^$expected" "refused: $change"
done <<'EOT'
s/{trace:four}/{trace:five}/|2 orrery: ./bad/figures.json: \$.runs.r: \$\{trace:five\}: expected the name of one of \$.traces
s/r.fifo.completion/r.fifo.completoin/|2 orrery: ./bad/figures.json: \$.figures\[0\]: r.fifo.completoin: expected completion, ttft, tpot or queue, found "completoin": did you mean "completion"?
s/r.fifo.completion/r.lifo.completion/|2 orrery: ./bad/figures.json: \$.figures\[0\]: \{r.lifo.completion\}: expected the label of a policy of this run, found "lifo"
s/"serve": {/"record": "summary", "serve": {/|2 orrery: ./bad/figures.json: \$.figures\[0\]: r.fifo.completion: expected a run with rows
s/, "otherwise": "[^"]*"//|2 orrery: ./bad/figures.json: \$.traces.four: expected "file", a path below \$ORRERY_TRACE_PATH, and "otherwise"
s/"rows": "[^"]*"/"y": 1/|2 orrery: ./bad/figures.json: \$.figures\[0\]: unknown key "y"
EOT

rm -rf bad && cp -r "$tiny" bad
sed 's/"trace": "[^"]*"/"trace": "poisson:n=3,gpus=2,rate=${rho}"/' "$tiny/figures.json" >bad/figures.json
said=$("$orrery" figures ./bad --no-figures --out bad/out 2>&1)
like "$? $said" '^2 orrery: ./bad/figures.json: \$.runs.md1\[rho=0.3\]: .*can never be placed' "an error while a scenario is opened names the run"
sed -e 's/{ "cluster"/{ "world": "step", "model": "gpt2_1p5b", "batch": 99, "cluster"/; s/"fifo", "sjf"/"allreduce"/; s/, "record": "summary"//' \
  "$tiny/queue.json" >bad/queue.json
sed '/"set": /d; s/"axes": \["rho"\],/"axes": ["rho"]/' "$tiny/figures.json" >bad/figures.json
said=$("$orrery" figures ./bad --no-figures --out bad/out 2>&1)
like "$? $said" '^[12] orrery: ./bad/figures.json: \$.runs.md1\[rho=0.3\]: policy allreduce: .*GiB' "an error during a run names the run"
said=$("$orrery" figures nosuch 2>&1)
like "$? $said" '^2 orrery: figures: there is no scenario book "nosuch"' "an unknown folder"
said=$("$orrery" figures 2>&1)
like "$? $said" '^2 orrery: figures: expected NAME: ' "no name at all"
tap_done
