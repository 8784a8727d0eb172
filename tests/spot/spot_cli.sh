#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery spot at the command line: output, refusals with their messages, exit codes (0 done, 1 failed, 2 wrong input), and a policy
# of one C file.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
: "${CC:=cc}"
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1

# A job of one shape, with times that can be computed by hand, and preemptible instances.
echo '{"name": "slow", "source": "made up", "samples_per_step": 8, "depth": 2, "pipelines": 1, "points": [[1, 2, 10000], [2, 2, 12000]]}' >slow.json
printf 'time_s,event,node,price\n0,add,a,0.5\n0,add,b,0.5\n105,remove,b,\n150,add,c,0.7\n400,end,,\n' >three.csv
cut -d, -f1-3 three.csv >bare.csv
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' "${3:-o}/summary.csv"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { off = a / b - 1; print (off * off < 1e-18) ? "near" : a " for " b }'; }

# ---- a policy of one C file ----
if command -v "${CC%% *}" >/dev/null; then
  "$orrery" policy new mine --kind spot >said
  like "$(cat said)" '^  orrery spot hazard:p=0\.1 --job bamboo-bert --policy on-demand,\./mine\.so$' "policy new --kind spot prints the next commands"
  CC=$CC ORRERY_CFLAGS="-Wextra -Werror -I$tree/include" sh ./mine_test.sh >said 2>&1
  is "$? $(tail -n 1 said)" "0 ok: 33 steps, and every second is where it should be" "the generated test of the policy builds it with the public headers alone and passes"
  "$orrery" spot three.csv --job slow.json --policy ./mine.so --out o --check -q --no-figures >stdout 2>said
  is "$? $(cat stdout said)" "0 " "-q prints nothing"
  is "$(cd o && echo *)" "mine.accounts.csv mine.iterations.csv mine.nodes.csv mine.series.csv notes.csv summary.csv" "--out writes the expected files"
  # Two instances run steps of 10 s from 0 s on, until one is removed at 105 s. A third one is added at 150 s; the
  # restart ends at 165 s.
  is "$(sed -n '11,12p' o/mine.iterations.csv)" '9,90,100,8
10,165,175,8' "steps in order"
  is "$(cut -d, -f1-4 o/mine.nodes.csv)" 'time_s,live,ready,in_use
0.000000000,2,2,2
105.000000000,1,1,1
150.000000000,2,2,1
165.000000000,2,2,2' "instances over time"
  # The seconds are computed by hand. For the dollars, a and b cost 0.5 USD/h and c costs 0.7.
  is "$(near "$(awk -F, '{ s += $3 } END { printf "%.17g", s }' o/mine.accounts.csv)" "$(awk 'BEGIN { printf "%.17g", (400 * .5 + 105 * .5 + 250 * .7) / 3600 }')")" near \
    "every dollar is in one account"
  is "$(near "$(metric mine useful_part)" "$(awk 'BEGIN { printf "%.17g", 660 / 755 }')") $(metric mine paused_part)" \
    "near $(metric mine restart_part)" "the shares of time in the accounts"
  "$orrery" spot three.csv --job slow.json --policy ./mine.so --db plugin.db -q
  before=$("$orrery" db digest plugin.db)
  while IFS='|' read -r change expected; do
    sed "$change" mine.c >wrong.c
    $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o wrong.so wrong.c
    said=$(ulimit -c 0 && "$orrery" spot three.csv --job slow.json --policy ./wrong.so --policy-timeout 1 --db plugin.db -q 2>&1)
    like "$? $said" "^$expected" "$change"
  done <<'EOT'
s/orr_steps_stop(w);/(void)0;/|1 orrery: policy mine: at 105\.000000000 s: a step is in flight although stage 1 of pipeline 0 has no live owner
s/orr_layout(w, 1, s->depth, s->owner)/s->owner[1] += 5ull << 32, &/|1 orrery: policy mine: at 0\.000000000 s: orr_layout\(\): the instance has ended or never existed: expected a live instance
s/orr_steps_run(w, &steps);/& &/|1 orrery: policy mine: at 0\.000000000 s: orr_steps_run\(\) while a step is in flight
s/s->must_wait = true;/& orr_spot_future(w, ORR_NEVER, 0, 0);/|1 orrery: policy mine: at 105\.000000000 s: orr_spot_future\(\): this function reads the future: expected a policy that declares ORR_NEEDS_ORACLE
s/s->must_wait = true;/for (;;) ;/|1 orrery: policy mine: .*has not returned for 1 s
s/\.create = create,//|2 orrery: \./wrong\.so: policy mine: expected a function create, found NULL$
s/^ORR_POLICY_SPOT(.*/struct few { void *f; } few; ORR_POLICY_DECLARE(spot_mine, mine, "", "spot", 0u, params, struct few, few);/|2 orrery: \./wrong\.so: policy mine: its table of functions has 8 bytes: expected [0-9]+, as in
EOT
  is "$("$orrery" db digest plugin.db)" "$before" "the database is unchanged"
else
  skip "no C compiler ($CC)"
fi

# ---- the table ----
text=$("$orrery" spot three.csv --job slow.json --policy checkpoint,checkpoint@again --set policy.again.depth=2)
like "$text" '^policy +samples/s +USD/h +value +useful +redundant +paused +wasted +idle +preemptions +time +USD$' "the table's columns"
like "$text" '^again +0\.' "the table has a line for each label of a policy"
like "$text" '^against checkpoint:$' "the table compares with the first policy"
is "$("$orrery" spot three.csv --job slow.json --policy checkpoint --json | tr -d '\t' | grep -c '^"world":"spot",$')" 1 "the output of --json names the world"

# A job of two steps of 10 s ends after 20 s. With spot.endless it ends with the trace, at 400 s.
sed 's/"depth"/"steps": 2, "depth"/' slow.json >two.json
is "$("$orrery" spot three.csv --job two.json --policy checkpoint --out o2 -q --no-figures && metric checkpoint makespan_s o2)" "20" "a job of two steps ends after them"
is "$("$orrery" spot three.csv --job two.json --policy checkpoint --set spot.endless=true --out o2 -q --no-figures && metric checkpoint makespan_s o2)" "400" \
  "spot.endless trains until the trace ends"

# ---- the same result for any -j, with --exact, and from the database ----
n=300
[ -z "${ORR_SANITIZED:-}" ] || n=30
study=("hazard:p=0.2,slots=12,length=24h" --job slow.json --policy "checkpoint,bamboo,checkpoint@never" --set policy.never.interval=never --set policy.never.notice=false --replications "$n"
  --set policy.bamboo.depth=2 --set spot.startup=2m --set spot.notice=30s --no-figures)
"$orrery" spot "${study[@]}" -j1 --out j1 --db runs.db --json >j1.json 2>said
is "$? $(grep -c 'the rows are those of the first replication' said)" "0 1" "replications"
"$orrery" spot "${study[@]}" -j3 --out j2 --json >j2.json 2>/dev/null
is "$? $(cat j1/* j1.json | sha256sum)" "0 $(cat j2/* j2.json | sha256sum)" "-j1 and -j3 give the same bytes"
"$orrery" spot "${study[@]}" --exact --check --out exact --json >exact.json 2>/dev/null
is "$? $(cat j1/* j1.json | sha256sum)" "0 $(cat exact/* exact.json | sha256sum)" "--exact gives the same bytes"
"$orrery" spot "${study[@]}" --out again --db runs.db --json >again.json 2>said
is "$? $(cat again/* again.json | sha256sum)" "0 $(cat j1/* j1.json | sha256sum)" "runs from the database give the same bytes"
like "$(cat said)" 'bamboo: the run is taken from runs.db' "which is reported"
is "$(awk -F, '$2 == "value" { print ($4 < $3 && $3 < $5) }' j1/summary.csv | sort -u)" 1 "metrics have intervals"
is "$(metric checkpoint replications j1) $(awk -F, '$1 == "never" && $2 == "ratio_value" { print ($4 < $3 && $3 < $5) }' j1/summary.csv)" "$n 1" "ratios have intervals"
sum() { awk -F, '{ s += $2 } END { printf "%.17g", s / 3600 }' "$1"; }
is "$(near "$(sum j1/bamboo.accounts.csv)" "$(metric bamboo node_hours j1)")" near "accounts are means over replications, too"
"$orrery" db export runs.db --run 2 --out exported
is "$(cat exported/bamboo.*.csv | sha256sum)" "$(cat j1/bamboo.*.csv | sha256sum)" "db export writes the same files"
runs() { "$orrery" db runs "$1" | tail -n +2 | wc -l; }
cp slow.json copy.json
cp three.csv elsewhere.csv
base=(--policy checkpoint --db names.db -q)
"$orrery" spot three.csv --job slow.json "${base[@]}"
"$orrery" spot elsewhere.csv --job copy.json "${base[@]}"
is "$(runs names.db)" 1 "a run is identified by the contents of trace and job, not by file names"
sed 's/10000/10001/' slow.json >other.json
"$orrery" spot three.csv --job other.json "${base[@]}"
"$orrery" spot three.csv --job slow.json --seed 2 "${base[@]}"
"$orrery" spot three.csv --job slow.json --set spot.notice=1s "${base[@]}"
printf 'time_s,zone,type,usd_per_hour\n0,,,0.25\n' >prices.csv
"$orrery" spot three.csv --job slow.json --prices prices.csv "${base[@]}"
is "$(runs names.db)" 5 "another job, seed, option or price series gives another run"
"$orrery" spot bare.csv --job slow.json --prices prices.csv --policy checkpoint --out priced --no-figures -q
is "$(near "$(metric checkpoint usd priced)" "$(awk 'BEGIN { printf "%.17g", 755 * .25 / 3600 }')")" near "--prices are paid where the trace names none"
# Expected cost: an hour of n1 costs 0.45 + 0.9 USD, because its price doubles after half an hour. An hour of n2
# costs 1.5 USD; n2 is in another zone, in which a v100 costs 7.
printf 'time_s,event,node,zone,type\n0,add,n1,a,v100\n0,add,n2,b,a100\n3600,end,,,\n' >types.csv
printf 'time_s,zone,type,usd_per_hour\n0,a,v100,0.9\n0,b,,1.5\n0,b,v100,7\n1800,a,v100,1.8\n' >types_prices.csv
awk -F, 'NR == 1 { print "time_s,event,node,zone,type,price" } NR > 1 { print $1 ",price,," $2 "," $3 "," $4 }' types_prices.csv >types_both.csv
sed -n '2,3s/$/,/p' types.csv >types_rows && sed -i -e '4r types_rows' types_both.csv && echo '3600,end,,,,' >>types_both.csv
"$orrery" spot types.csv --job slow.json --prices types_prices.csv --set spot.speeds=a100=1,v100=1 --policy checkpoint --out types -q --no-figures --check
"$orrery" spot types_both.csv --job slow.json --set spot.speeds=a100=1,v100=1 --policy checkpoint --out types_both -q --no-figures --check
is "$(near "$(metric checkpoint usd types)" 2.85) $(near "$(metric checkpoint usd types_both)" 2.85)" "near near" "prices by zone, type and time apply to instances added later"
"$orrery" spot three.csv --job slow.json --policy checkpoint --record summary --out summary --no-figures -q
is "$? $(wc -l <summary/checkpoint.iterations.csv) $(metric checkpoint steps summary)" "0 1 $(metric checkpoint steps priced)" "--record summary keeps no rows and the same metrics"
"$orrery" spot three.csv --job slow.json --policy checkpoint --until 150 --out until --no-figures -q
is "$(metric checkpoint makespan_s until)" 150 "--until"

# ---- scenarios ----
show=(scenario show hazard:p=0.3 --world spot --job slow.json --policy checkpoint --prices price:mean=2 --set spot.notice=2m --replications 3)
"$orrery" "${show[@]}" >s.json
is "$?" 0 "scenario show --world spot"
"$orrery" scenario show s.json >s2.json
is "$(cmp s.json s2.json; echo $?)" 0 "scenario show of its own output is unchanged"
"$orrery" run s.json --out r1 -q --no-figures && "$orrery" spot hazard:p=0.3 --job slow.json --policy checkpoint --prices price:mean=2 --set spot.notice=2m \
  --replications 3 --out r2 -q --no-figures
is "$(cat r1/* | sha256sum)" "$(cat r2/* | sha256sum)" "orrery run and orrery spot give the same results"
"$orrery" spot three.csv --scenario s.json --replications 1 --set spot.notice=0 --out r3 -q --no-figures
is "$? $(metric checkpoint preemptions r3) $(metric checkpoint replications r3)" "0 1 " "flags, TRACE and --set override the file"
cat >inline.json <<'J'
{"world": "spot", "trace": "three.csv", "job": {"name": "inline", "source": "made up", "samples_per_step": 1, "points": [[1, 1, 1000]]}, "policies": ["checkpoint"]}
J
"$orrery" run inline.json --out r4 -q --no-figures
is "$? $(test "$(metric checkpoint steps r4)" -gt 300 && echo many)" "0 many" "a scenario can contain the job as an object"
if command -v python3 >/dev/null && python3 -c 'import jsonschema' 2>/dev/null; then
  python3 -c 'import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
for f in sys.argv[2:]: jsonschema.validate(json.load(open(f)), schema)' "$tree/docs/scenario.schema.json" s.json inline.json 2>&1 | tail -n 3 | cut -c 1-200
  ok "${PIPESTATUS[0]}" "the scenario conforms to docs/scenario.schema.json"
else
  skip "python3 with jsonschema is not installed"
fi

# ---- refusals ----
echo '{"world": "spot", "trace": "three.csv", "job": "slow.json", "policies": ["checkpoint"]}' >base.json
"$orrery" run base.json --db before.db -q
before=$("$orrery" db digest before.db)
echo '{"world": "jobs", "trace": "a", "cluster": "1x1", "policies": ["fifo"]}' >jobs.json
printf 'time_s,event,node\n0,add,a\n1,remove,b\n' >unknown.csv
while IFS='|' read -r edit expected; do
  sed -E "$edit" base.json >x.json
  said=$("$orrery" run x.json --db before.db --no-figures -q 2>&1)
  is "$? $said" "2 orrery: $expected" "$edit"
done <<'EOT'
s/"trace": /"trase": /|x.json: unknown key "trase": did you mean "trace"?
s/"spot"/"spots"/|x.json: $.world: expected "jobs", "step", "serve", "spot", "mixed" or "plan", found "spots"
s/"trace": [^,]*, //|x.json: expected a trace
s/three.csv/absent.csv/|absent.csv: No such file or directory
s/three.csv/unknown.csv/|unknown.csv:3: node "b" is removed before it was added: expected repair=drop, which skips such rows
s/three.csv/hazard:q=1/|generator hazard: unknown parameter "q": did you mean "p"?
s/three.csv/churn:length=0/|churn:length=0: neither this trace nor job slow has an end: expected the length of the trace (length=..) or --until
s/"job": [^,]*, //|x.json: expected a job (--job NAME or FILE.json; 'orrery model list --elastic' lists the included jobs)
s/slow.json/bamboo-brt/|job: unknown elastic job "bamboo-brt": did you mean "bamboo-bert"? 'orrery model list --elastic' shows all of them; the name of a file ends in .json
s/"slow.json"/7/|x.json: $.job: expected the name of an elastic job, a file, or a job as an object
s/"slow.json"/{"name": "x", "source": "y"}/|x.json: $.job: $: expected one of the keys "points", "work", "step" and "curves", found none
s/slow.json/absent.json/|job: absent.json: No such file or directory
s/checkpoint/fifo/|policy "fifo" is a jobs policy (for 'orrery jobs'): expected a spot policy
s/checkpoint/bambo/|unknown policy "bambo": did you mean "bamboo"? 'orrery policy list' shows all policies; a plugin is named by its file
s/"checkpoint"/&, &/|two policies have the label "checkpoint": expected checkpoint@LABEL for one of them
s/\}$/, "spot": {"notise": 1}}/|spot: unknown parameter "notise": did you mean "notice"?
s/\}$/, "spot": {"notice": "soon"}}/|spot: notice: expected a time such as 90, 90s, 1.5m, 2h, found "soon"
s/\}$/, "prices": "three.csv"}/|prices: three.csv: this file has no prices: expected rows with the columns time_s,zone,type,usd_per_hour (docs/traces.md)
s/\}$/, "prices": "none.csv"}/|prices: none.csv: No such file or directory
s/\}$/, "replications": 0}/|x.json: $.replications: expected a number from 1 to 1000000, found "0"
s/\}$/, "record": "some"}/|x.json: $.record: expected summary, sample, all, metrics or explain, found "some"
s/\}$/, "cluster": "1x1"}/|x.json: unknown key "cluster": expected "trace" or another known key
EOT
while IFS='|' read -r arguments expected; do
  read -ra words <<<"$arguments"
  said=$("$orrery" spot "${words[@]}" --db before.db -q 2>&1)
  is "$? $said" "2 orrery: $expected" "$arguments"
done <<'EOT'
--job slow.json|spot: expected TRACE (a file, or a generator such as hazard:p=0.1); --help shows the forms
three.csv --job slow.json|expected a policy, such as --policy varuna,oobleck; 'orrery policy list' shows all policies
three.csv --job slow.json --policy checkpoint --cluster 1x1|unknown option "--cluster": expected an option that --help lists
three.csv --job slow.json --policy checkpoint --set policy.checkpoint.intervall=1|policy checkpoint: unknown parameter "intervall": did you mean "interval"?
three.csv --job slow.json --policy checkpoint --set policy.bamboo.x=1|--set policy.bamboo.x: expected the label of a policy of this run, found "bamboo"
--scenario jobs.json|jobs.json: $.world: expected "spot" ('orrery run' runs scenarios of any world)
EOT
is "$("$orrery" db digest before.db)" "$before" "the database is unchanged"
# A repair of the trace reports its changes.
"$orrery" spot unknown.csv --job slow.json --policy checkpoint --set trace_options.repair=drop --no-figures >/dev/null 2>said
like "$? $(cat said)" '^0 orrery: unknown\.csv: .*: 1, the first on line 3$' "trace_options.repair=drop goes on, and reports the dropped rows"

# ---- scenario books ----
mkdir book bad
cat >book/figures.json <<'E'
{ "axes": { "policy": ["checkpoint", "never"], "account": ["useful", "idle"] },
  "runs": { "day": { "scenario": { "world": "spot", "trace": "three.csv", "job": "slow.json", "policies": ["checkpoint", {"policy": "checkpoint", "label": "never", "set": {"interval": "never"}}] } } },
  "figures": [
    { "name": "hours", "kind": "stacked", "x": { "axis": "policy" }, "y": { "label": "hours" },
      "series": [{ "label": "${account}", "each": ["account"], "y": "{day.${policy}.node_hours:${account}}" }] },
    { "name": "live", "kind": "timeline", "x": { "unit": "min" }, "y": { "label": "instances" },
      "series": [{ "label": "live", "rows": "day.checkpoint.live" }, { "label": "USD", "rows": "day.checkpoint.usd" }] } ],
  "table": [{ "id": "usd", "what": "USD of useful work", "published": false, "simulated": "{day.checkpoint.usd:useful}" }] }
E
figures=(figures ./book --out f -q)
command -v gnuplot >/dev/null || figures+=(--no-figures)
"$orrery" "${figures[@]}" >said 2>&1
is "$? $(cat said)" "0 " "a book draws stacked bars and timelines"
"$orrery" spot three.csv --job slow.json --policy checkpoint,checkpoint@never --set policy.never.interval=never --out two -q --no-figures
part() { awk -F, -v a="$2" '$1 == a { printf "%.17g", $2 / 3600 }' "two/$1.accounts.csv"; }
is "$(near "$(awk -F, 'NR == 2 { print $3 }' f/hours.csv)" "$(part checkpoint useful)") $(near "$(awk -F, 'NR == 5 { print $3 }' f/hours.csv)" "$(part never idle)")" \
  "near near" "a book uses the amounts of accounts"
is "$(awk -F, '/^"live"/ { print $2, $3 }' f/live.csv | head -n 3)" "0 2
1.75 1
2.5 2" "a book draws instances over time, in minutes"
is "$(near "$(awk -F, 'NR == 2 { print $7 }' f/table.csv)" "$(awk -F, '$1 == "useful" { print $3 }' two/checkpoint.accounts.csv)")" near "dollars of an account"
while IFS='|' read -r edit expected; do
  sed "$edit" book/figures.json >bad/figures.json
  said=$("$orrery" figures ./bad --out g -q --no-figures 2>&1)
  is "$? $said" "2 orrery: ./bad/figures.json: $expected" "$edit"
done <<'EOT'
s/"stacked"/"piled"/|$.figures[0]: "kind": expected lines, bars, stacked, timeline, spans or cdf
s/"unit": "min"/"unit": "year"/|$.figures[1]: "x": "unit": expected s, min, h or d, found "year"
s/checkpoint.live/checkpoint.lives/|$.figures[1]: day.checkpoint.lives: this run has no "lives" over time: did you mean "live"?
s/node_hours:/hours:/|$.figures[0]: {..hours:useful}: expected node_hours:ACCOUNT or usd:ACCOUNT
s/\["useful"/["useless"/|$.figures[0]: {..node_hours:useless}: this run has no account "useless": expected one of its accounts, such as useful
s/"job": "slow.json"/&, "record": "summary"/|$.figures[1]: day.checkpoint.live: expected a run with rows of instances ("record": "all")
EOT

# ---- on demand, for a job without a baseline ----
# If its step takes 4 s, the shape with two pipelines is the fastest; within two nodes, one pipeline is. With a
# curve, a step takes 10 s on three nodes.
sed 's/12000/4000/; s/"depth": 2, "pipelines": 1, //' slow.json >shapes.json
echo '{"name": "curve", "source": "made up", "samples_per_step": 8, "curves": {"oobleck": {"first": 2, "values": [0.4, 0.8, 0.7]}}}' >curve.json
on_demand() { "$orrery" spot bare.csv --policy on-demand --out "$1" -q --no-figures --check "${@:2}" && printf '%.9g %.9g\n' "$(metric on-demand mean_live "$1")" "$(metric on-demand samples_per_s "$1")"; }
is "$(on_demand d1 --job shapes.json)" "4 2" "on demand: the fastest shape"
is "$(on_demand d2 --job shapes.json --set policy.on-demand.nodes=3)" "2 0.8" "on demand: the fastest shape within nodes"
is "$(on_demand d3 --job curve.json)" "3 0.8" "on demand: the best of a curve"
is "$(on_demand d4 --job curve.json --set policy.on-demand.nodes=2)" "2 0.4" "on demand: a curve at nodes"
said=$("$orrery" spot bare.csv --policy on-demand --job curve.json --set policy.on-demand.curve=none 2>&1)
like "$? $said" "^2 orrery: policy on-demand: job curve has no step time: expected \"nodes\" and \"step\", or \"curve\"" "on demand: a job without any step time is refused"

# ---- misspelt names and omissions ----
while IFS='|' read -r trace expected; do
  said=$("$orrery" spot "$trace" --job slow.json --policy checkpoint 2>&1)
  is "$? $said" "2 orrery: $expected" "$trace"
done <<'EOT'
hazzard:p=0.1|hazzard:p=0.1: no such file: did you mean the generator "hazard"? 'orrery trace list' shows all generators
philly-like|philly-like: no such file: expected an existing file (philly-like is a generator of jobs)
unheard-of:p=1|unheard-of:p=1: no such file, and no generator "unheard-of": expected an existing file, or a generator that 'orrery trace list' shows
./hazard|./hazard: No such file or directory
price|price: this file has prices but no instances: expected a trace of instances here, and this file after --prices
EOT
is "$("$orrery" policy show bamboo | grep '^kind: ' | xargs)" "kind: step kind: spot" "policy show prints all policies of a name"
is "$("$orrery" policy show bamboo --kind step | grep -c '^kind: ')" 1 "policy show --kind prints one of them"
like "$("$orrery" spot three.csv --job two.json --policy checkpoint --set spot.deadline=15s)" '^checkpoint: the deadline is missed$' "a missed deadline is reported"

# ---- elastic jobs ----
like "$("$orrery" model list --elastic)" '^bamboo-bert +264 +22194 +4 x 12 +12 ' "model list --elastic"
like "$("$orrery" model show slow.json --elastic)" '^ +1 +2 +10 +10 +- ' "model show FILE --elastic"
is "$("$orrery" model show slow.json --elastic --json | tr -d '\t' | grep -c '^"samples_per_step":8,$')" 1 "model show --elastic --json"
said=$("$orrery" model list --elastic --served 2>&1)
is "$? $said" "2 orrery: model: --served and --elastic exclude each other: expected only one of them" "--served and --elastic exclude each other"
printf '0,add,a\n100,remove,b\n50,remove,a\n' >"$work/broken.csv"
"$ORRERY" spot "$work/broken.csv" --format bamboo --job bamboo-bert --policy bamboo --until 1h --repair >"$work/out" 2>"$work/err"
ok $? "--repair runs on a trace with invalid rows"
is "$(grep -cE 'rows out of order, sorted: 1|removals without addition, skipped: 1' "$work/err")" 2 "--repair reports its changes"
is "$("$ORRERY" trace info "$work/broken.csv" --format bamboo --repair 2>&1 | grep -c 'rows out of order')" 1 "trace info --repair reports its changes"

# ---- hostile values: each option reports what it expects, and prices for other zones are refused ----
bad=
for option in startup on_demand_startup notice price on_demand_price billing target quota on_demand_quota deadline storage_Bps node_Bps storage_latency \
  egress_usd_per_GB max_calls_per_instant ci_level; do
  for value in "" nan 1e400 -1 abc; do
    said=$("$orrery" spot three.csv --job slow.json --policy checkpoint --set "spot.$option=$value" --db hostile.db -q 2>&1)
    [ "$? $(grep -c "$option: expected .*found \"$value\"" <<<"$said") $(wc -l <<<"$said")" = "2 1 1" ] || bad+="$option=$value: $said; "
  done
done
is "$bad$(ls hostile.db 2>/dev/null)" "" "options of the world with invalid values are refused"
printf 'time_s,event,node,zone\n0,add,a,us-a\n40,end,,\n' >zoned.csv
printf 'time_s,zone,type,usd_per_hour\n0,eu-9,,0.25\n' >abroad.csv
said=$("$orrery" spot zoned.csv --job slow.json --policy checkpoint --prices abroad.csv -q 2>&1)
like "$? $said" '^2 orrery: prices: abroad\.csv: this file has zones that the trace lacks \(eu-9\)' "prices of other zones"
said=$("$orrery" spot zoned.csv --job slow.json --policy checkpoint --prices 'price:zones=eu-9|us-a,length=1h' -q 2>&1)
is "$? $said" "0 " "prices that cover at least one zone of the trace are accepted"
said=$("$orrery" spot "" --job slow.json --policy checkpoint -q 2>&1)
like "$? $said" '^2 orrery: .*expected (TRACE|a trace)' "a trace without a name"
said=$("$orrery" spot three.csv --job slow.json --policy checkpoint --until 9e9 -q 2>&1)
like "$? $said" '^2 orrery: .*--until: expected at most 146 years' "an end that the clock does not have"
tap_done
