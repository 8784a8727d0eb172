#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery scenario: the schema, and conformance of the output of `show`
. "${srcdir:-.}/tests/tap.sh"

"$ORRERY" scenario schema >"$work/schema.json"
cmp -s "$work/schema.json" "$srcdir/docs/scenario.schema.json"
ok $? "docs/scenario.schema.json is what orrery scenario schema prints (if not: orrery scenario schema >docs/scenario.schema.json)"

cat >"$work/mixed.json" <<'E'
{"world": "mixed", "cluster": "2x4:a100", "jobs": {"trace": "poisson:rate=0.01,n=5", "jobs": {"gantt": 3}},
 "serve": {"trace": "poisson:rate=5,n=9,prompt=9,output=2", "models": ["llama2-7b"], "deployments": [{"replicas": 1}]}, "policies": ["fifo+vllm"]}
E
cd "$work" || exit 1
"$ORRERY" scenario show poisson:n=5 --cluster 2x2 --policy fifo,las@b --set failures.mtbf=9h >jobs.json
"$ORRERY" scenario show resnet50 --world step --cluster 2x1:v100 --policy allreduce --set learn.seeds=2 >step.json
"$ORRERY" scenario show poisson:rate=2,n=5,prompt=9,output=2 --world serve --model llama2-7b --cluster 1x1:a100 --policy vllm --prices a100=3 >serve.json
"$ORRERY" scenario show hazard:p=0.1,length=1d --world spot --job bamboo-bert --policy bamboo --replications 2 >spot.json
"$ORRERY" scenario show mixed.json >pair.json
is "$(cat jobs.json step.json serve.json spot.json pair.json | grep -c '^{$')" 5 "scenario show prints a scenario of each world"
if command -v python3 >/dev/null && python3 -c 'import jsonschema' 2>/dev/null; then
  python3 -c 'import json, jsonschema, sys
schema = json.load(open("schema.json"))
for f in sys.argv[1:]: jsonschema.validate(json.load(open(f)), schema)' jobs.json step.json serve.json spot.json mixed.json pair.json 2>&1 | tail -n 3 | cut -c 1-300
  ok "${PIPESTATUS[0]}" "all these scenarios conform to the schema"
  sed 's/"policies"/"polices"/' jobs.json >bad.json
  python3 -c 'import json, jsonschema
jsonschema.validate(json.load(open("bad.json")), json.load(open("schema.json")))' 2>/dev/null
  is "$?" 1 "a scenario with an unknown key does not conform"
else
  skip "python3 with jsonschema is not installed" 2
fi
like "$("$ORRERY" scenario shw 2>&1)" 'expected "show" or "schema"' "an unknown verb of scenario is refused"
tap_done
