#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Inputs that would be read in two ways, or reach a terminal, a document or a spreadsheet as commands: refused, escaped or quoted.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\nb,1,5,1\nc,2,1,1\n' >t.csv
# refused PATTERN WHAT COMMAND..: passes if the command exits with 2 and a message that matches
refused() {
  local said
  said=$("$orrery" "${@:3}" 2>&1 >out)
  like "$? $said" "^2 orrery: $1" "$2"
}

# ---- JSON ----
printf '{\n"world": "jobs", "trace": "t.csv", "cluster": "1x1", "policies": "fifo",\n"seed": 1,\n"seed": 2\n}\n' >twice.json
refused 'twice\.json:4:1: duplicate key "seed" \(first on line 3\): expected it once' "a repeated key" run twice.json
printf '{"world": "jobs", "trace": "t.csv", "cluster": "1x1", "policies": "fifo",\n"jobs": {"warmup": 0,\n"warm\\u0075p": 0.5}}\n' >inner.json
refused 'inner\.json:3:1: duplicate key "warmup"' "a repeated key of an inner object, with an escape" run inner.json
printf '{"world": "jobs", "trace": "t.csv", "cluster": "1x1", "policies": [{"policy": "fifo"}, {"policy": "sjf"}]}\n' >fine.json
"$orrery" run fine.json -q
ok $? "equal keys of different objects"
printf '{"world": "jobs", "trace": "t.csv", "cluster": "1x1", "policies": "fifo",\n "seed": 9007199254740993}\n' >seed.json
refused 'seed\.json:2:10: integer 9007199254740993: expected an integer that a double represents exactly' "an integer that no double has" run seed.json
printf '{"world": "jobs", "trace": "t.csv", "cluster": "1x1", "policies": [{"policy": "fifo"}], "seed": 9007199254740992}\n' >even.json
"$orrery" run even.json -q
ok $? "one that a double has"
printf '{"nodes": [{"gpus": 1, "type": "v100", "count": 1,\n"count": 2}]}\n' >c.json
refused 'c\.json:2:1: duplicate key "count"' "a repeated key of a cluster file" jobs t.csv --cluster c.json --policy fifo
printf '{"name": "x",\n"name": "y"}\n' >dup.json
refused '\./dup\.json:2:1: duplicate key "name"' "a repeated key of a device" device show ./dup.json
printf '{"world": "jobs", "trace": "t.csv",\n"cluster": "1x1", "policies": "fi\377fo"}\n' >utf.json
refused 'utf\.json:2:34: byte 0xff: expected text in UTF-8' "JSON that is not UTF-8" run utf.json

# ---- clusters, choices, times ----
refused '.*expected each option once in a group, found "cpus=8"' "a repeated key of a cluster" jobs t.csv --cluster 2x8:v100:cpus=4:cpus=8 --policy fifo
refused '.*allocation: expected one of .*\|max_sum_throughput\|finish_time_fairness\|replay, found "zzz"' "all choices are shown" \
  jobs t.csv --cluster 1x1 --policy gavel --set policy.gavel.allocation=zzz
refused 'generator tiresias-like: job [0-9]+ is submitted later than 4e\+09 s: expected' "submit times that overflow: a run" \
  jobs tiresias-like:gap=1e9,n=50 --cluster 4x16 --policy fifo
refused 'generator tiresias-like: job [0-9]+ is submitted later' "a written trace" trace synth tiresias-like:gap=1e9,n=50 -o x.csv
is "$([ -e x.csv ]; echo $?)" 1 "which leaves no file"
refused 'generator tiresias-like: job [0-9]+ is submitted later' "its statistics" trace info tiresias-like:gap=1e9,n=50

# ---- names ----
evil=$(printf 'a\033[31mb\377c\302\233')
"$orrery" jobs t.csv --cluster 1x1 --policy "fifo@$evil,sjf" >table 2>said
like "$(cat table)" '^a\?\[31mb\\xffc\\xc2\\x9b ' "a label on a terminal is escaped"
is "$(grep -c "$(printf '[\033\377]')" table said | tr '\n' ' ')" "table:0 said:0 " "nothing else reaches it"
"$orrery" jobs t.csv --cluster 1x1 --policy "fifo@$evil,sjf" --json --out o -q >o.json
if command -v python3 >/dev/null; then
  python3 -c 'import json; json.load(open("o.json", encoding="utf-8"))'
  ok $? "JSON is valid"
  python3 -c 'import glob, xml.dom.minidom as m; all = glob.glob("o/*.svg"); assert all; [m.parse(f) for f in all]'
  ok $? "SVG is valid"
else
  skip "no python3" 2
fi
"$orrery" jobs t.csv --cluster 1x1 --policy "fifo@<script>]]>,sjf" --out s -q
is "$(grep -l '<script>' s/*.svg)" "" "SVG has no markup of a label"
said=$("$orrery" jobs t.csv --cluster 1x1 --policy "$evil" 2>&1)
is "$(printf '%s' "$said" | grep -c "$(printf '[\033\377]')")" 0 "an error message has no control characters"
printf 'job_id,submit_s,duration_s,gpus\n=1+1,0,10,1\n@x,1,5,1\n' >f.csv
"$orrery" jobs f.csv --cluster 1x1 --policy "fifo@=cmd" --out f --no-figures -q
is "$(cut -d, -f1 f/*.jobs.csv | tail -n +2 | tr '\n' ' ') $(grep -c '^"=cmd",' f/summary.csv | sed 's/^[1-9].*/1/')" '"=1+1" "@x"  1' "CSV cells that begin like a formula are quoted"
"$orrery" trace convert f.csv -o g.csv -q 2>/dev/null || "$orrery" trace convert f.csv -o g.csv 2>/dev/null
is "$(cut -d, -f1 g.csv | tr '\n' ' ')" 'job_id "=1+1" "@x" ' "also in traces"
# escaped WHAT COMMAND..: passes if the output has the name with escapes, and neither a control character nor an invalid byte
escaped() {
  "$orrery" "${@:2}" >out 2>said
  is "$? $(grep -cF 'a\x1b[31mb\xffc\xc2\x9b' out | sed 's/^[1-9].*/1/') $(cat out said | grep -c "$(printf '[\033\377\233]')")" "0 1 0" "$1"
}
# valid WHAT COMMAND..: passes if the output is JSON in UTF-8
valid() {
  "$orrery" "${@:2}" >out.json
  if command -v python3 >/dev/null; then
    python3 -c 'import json; json.load(open("out.json", encoding="utf-8"))'
    ok $? "$1"
  else
    skip "no python3"
  fi
}
printf 'job_id,submit_s,duration_s,gpus,user\n%s,0,10,1,%s\n%s2,1,5,1,%s\n' "$evil" "$evil" "$evil" "$evil" >names.csv
"$orrery" jobs names.csv --cluster 1x1 --policy "fifo@$evil" --db names.db --record explain -q
escaped "db runs" db runs names.db
escaped "db show" db show names.db
escaped "a run of it" db show names.db --run 1
escaped "explain" explain names.db --job "${evil}2"
valid "explain as JSON" explain names.db --job "${evil}2" --json
escaped "trace info" trace info names.csv
valid "trace info as JSON" trace info names.csv --json
"$orrery" jobs names.csv --cluster 1x1 --policy "fifo@$evil" --db names.db --record explain 2>said >out
is "$(grep -cF 'a\x1b[31mb\xffc\xc2\x9b: the run is taken from' said) $(grep -c "$(printf '[\033\377]')" said)" "1 0" "a remark on standard error"
printf 'link,bandwidth_Bps,latency_s\nup,1e9,1e-6\n' >links.csv
printf 'id,step,src,dst,bytes,start_s,links\n=1+1,-1,a,b,3e6,0,up\n@x,-1,a,c,1e6,0.001,up\n' >flows.csv
is "$("$orrery" net flows --links links.csv --flows flows.csv -q | cut -d, -f1 | tr '\n' ' ')" 'id "=1+1" "@x" ' "flows"
tap_done
