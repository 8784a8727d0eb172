# --map: tables whose columns have other names; --repair; load.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
d=$(cd "$srcdir/tests/data/traces" && pwd)
t() { "$ORRERY" trace "$@" 2>"$work/err"; }
map=job_id=id,submit=created_at,gpus=num_gpu,duration=elapsed,user=owner,mem=ram,cpus=cores,limit=most

# Semicolons, zones, durations of several forms, unknown values, ignored columns; rows are sorted and start at 0.
is "$(t convert "$d/own.csv" --map $map | cut -d, -f1-7,9,13)" "job_id,submit_s,duration_s,gpus,gpu_milli,cpus,mem_mib,limit_s,user
a,0,93784,2,1000,8,65536,172800,ann
d,0,2.5,1,1000,,,,
b,1800.25,600,4,1000,0.5,1024,,ben
c,3600,5400,1,500,,,," "own.csv: every field"
t convert "$d/own.csv" --map $map -o "$work/a.csv"
is "$(t convert "$work/a.csv")" "$(cat "$work/a.csv")" "the converted table reads back the same"
for e in 's/;/\t/g' 's/;/|/g' 's/;/,/g'; do
  sed 's/"y;z"/y/' "$d/own.csv" | sed "$e" >"$work/b.txt"
  is "$(t convert "$work/b.txt" --map $map)" "$(cat "$work/a.csv")" "another separator gives the same rows ($e)"
done
is "$(t convert "$d/own_requests.tsv" --map arrival=when,prompt_tokens=in,output_tokens=out,session=chat,slo=within |
  cut -d, -f2,5,6,9,10)" "arrival_s,prompt_tokens,output_tokens,session,slo_s
0,1800,20,1,
1,512,64,1,2.5
1.25,33,,2,60" "own_requests.tsv: epochs in milliseconds, sessions by name"
like "$(t info "$d/own.csv" --map $map)" "^first submission +2025-03-01 09:00:00$" "info shows dates"

# Times as numbers: the first one determines the unit of all.
printf 'id,at,from,to,n\nx,1740823200000,1740823260000,1740823265500,1\ny,1740823201000,1740823260000,1740823261000,2\n' >"$work/ms.csv"
is "$(t convert "$work/ms.csv" --map job_id=id,submit=at,start=from,end=to,gpus=n | cut -d, -f1-4,10)" "job_id,submit_s,duration_s,gpus,wait_s
x,0,5.5,1,60
y,1,1,2,59" "epochs in milliseconds; run time and wait from start and end"
printf 'at,long,n\n5000,60000,1\n7500,1000,1\n' >"$work/small.csv"
is "$(t convert "$work/small.csv" --map submit=at,duration=long -O unit=ms -O duration_unit=ms | cut -d, -f2,3)" "submit_s,duration_s
0,60
2.5,1" "small numbers in milliseconds need the option unit"

# The shared verbs take the same list.
cd "$work" || exit 1
cp "$d/own.csv" own.csv
"$ORRERY" jobs own.csv --map $map --cluster 1x8:v100:cpus=64:mem=512 --policy fifo >out 2>err
like "$(cat out)" "^fifo " "orrery jobs --map"
printf '{"world": "jobs", "trace": "own.csv", "trace_options": {"map": "%s"}, "cluster": "1x8:v100:cpus=64:mem=512", "policies": ["fifo"]}' "$map" >s.json
is "$("$ORRERY" run s.json 2>err)" "$(cat out)" "trace_options.map in a scenario file gives the same table"
"$ORRERY" serve "$d/own_requests.tsv" --map arrival=when,prompt_tokens=in,output_tokens=out --model llama2-7b --cluster 1x1:a100 --policy vllm >out 2>err
like "$(cat out)" "^vllm " "orrery serve --map"

# For a file of unknown format, the error names its columns and suggests a value of --map, which then reads the file.
"$ORRERY" jobs own.csv --cluster 1x8 --policy fifo >out 2>err
is "$? $(cat err)" "2 orrery: own.csv:1: unknown trace format: its columns are id (job_id), created_at (submit), num_gpu (gpus), elapsed (duration), owner (user), ram (mem), cores (cpus), most, note; nearest fields of jobs in brackets. To read it: --map job_id=id,submit=created_at,duration=elapsed,gpus=num_gpu,cpus=cores,mem=ram,user=owner" "an unknown file of jobs"
suggested=$(sed 's/.*--map //' err)
t convert own.csv --map "$suggested" -o s.csv
is "$(wc -l <s.csv)" 5 "the suggested list reads the file"
printf 'when,input tokens,Output Tokens\n0,5,6\n' >r.csv
t info r.csv >/dev/null
like "$(cat err)" 'To read it: --map arrival=\?,prompt_tokens="input tokens",output_tokens="Output Tokens" \(\? stands for' "an unknown file of requests, with a column that was not recognised"

# Errors: exact texts and code 2.
bad() { # WANT ARGUMENTS..
  want=$1
  shift
  t "$@" >/dev/null
  is "$? $(cat "$work/err")" "2 orrery: $want" "$want"
}
bad 'own.csv:1: expected a column "elapsd", found id,created_at,num_gpu,elapsed,owner,ram,cores,most,note: did you mean "elapsed"?' info own.csv --map submit=created_at,duration=elapsd
bad 'map: unknown field "submt": did you mean "submit"? expected OURS=THEIRS,.. with OURS one of job_id, submit, start, end, duration, wait, gpus, gpu_milli, cpus, mem, gpu_types, limit, iterations, model, user, queue, priority, status, strategy, batch, deadline' info own.csv --map submt=created_at
bad 'map: expected OURS=THEIRS,.. such as submit=created_at,gpus=num_gpu, found "created_at"' info own.csv --map created_at
bad 'own.csv:1: map: expected submit=COLUMN, the column of submission times' info own.csv --map gpus=num_gpu
bad 'own.csv:1: map: expected duration=COLUMN, or end=COLUMN and perhaps start=COLUMN, or iterations=COLUMN' info own.csv --map submit=created_at
bad 'map: "submit" appears twice: expected it once' info own.csv --map submit=created_at,submit=id
printf 'at,end,n\n2025-03-01T10:00:00Z,2025-03-01T09:00:00Z,1\n' >c.csv
bad 'c.csv:2: end: expected at least the time of submission, found "2025-03-01T09:00:00Z"' info c.csv --map submit=at,end=end
printf 'at,long\n0,\n' >c.csv
bad 'c.csv:2: long: expected a known run time (unknown_runtime=drop leaves such rows out), found nothing' convert c.csv --map submit=at,duration=long
printf 'at,long\n0,5\n1740823200000,5\n' >c.csv
bad 'c.csv:3: at: expected a date such as 2025-03-01T10:00:00Z, or seconds from 0 (127 years at most; option unit), found "1740823200000"' info c.csv --map submit=at,duration=long

# --repair counts wrong rows and leaves them out, in every format of lines.
printf 'submit_s,duration_s,gpus\n0,5,1\n1,5,8x\n2,-1,1\n3,5\n4,5,2\n' >wrong.csv
bad 'wrong.csv:3: gpus: expected a whole number from 0 to 1000000, found "8x"' convert wrong.csv
is "$(t convert wrong.csv --repair | cut -d, -f2-4)" "submit_s,duration_s,gpus
0,5,1
4,5,2" "--repair leaves wrong rows out"
t convert wrong.csv --repair >/dev/null
is "$(cat err)" 'orrery: wrong.csv: wrong rows left out (repair): 3; the first: wrong.csv:3: gpus: expected a whole number from 0 to 1000000, found "8x"' "--repair says how many"
"$ORRERY" jobs wrong.csv --repair --cluster 1x2 --policy fifo >out 2>err
like "$(cat err)" "wrong rows left out \(repair\): 3; the first: wrong.csv:3:" "a replay says it too"
printf 'arrival_s,prompt_tokens\n0,5\nx,5\n1,7\n' >wrongr.csv
is "$(t convert wrongr.csv --repair | wc -l)" 3 "--repair of requests"
printf 'submit_s,duration_s,user\n0,1,\n1,2,"a\n2,3,\n' >open.csv
bad 'open.csv:4: the quote of line 3 does not end: expected a closing quote' convert open.csv --repair
gzip -c wrong.csv | head -c 40 >cut.gz
bad 'cut.gz:1: truncated gzip data' convert cut.gz --format orrery --repair

# load: 1.5 times the work per time, in three ways; recorded waits become unknown.
printf 'job_id,submit_s,duration_s,gpus,limit_s,wait_s\na,0,10,1,20,5\nb,30,20,2,40,5\nc,60,30,1,,5\nd,90,40,4,80,5\n' >load.csv
rows() { t convert load.csv -O load="$1" -O load_by="$2" | tail -n +2 | cut -d, -f1-4,9,10 | tr '\n' ' '; }
is "$(rows 1.5 arrivals)" "a,0,10,1,20, b,20,20,2,40, c,40,30,1,, d,60,40,4,80, " "load_by=arrivals"
is "$(rows 1.5 durations)" "a,0,15,1,30, b,30,30,2,60, c,60,45,1,, d,90,60,4,120, " "load_by=durations"
is "$(rows 1.5 copies)" "a,0,10,1,20, b,30,20,2,40, b+1,30,20,2,40, c,60,30,1,, d,90,40,4,80, d+1,90,40,4,80, " "load_by=copies"
is "$(rows 0.5 copies)" "b,30,20,2,40, d,90,40,4,80, " "load_by=copies below 1"
is "$(rows 1 copies)" "a,0,10,1,20,5 b,30,20,2,40,5 c,60,30,1,,5 d,90,40,4,80,5 " "load=1 changes nothing"
is "$("$ORRERY" jobs load.csv --cluster 1x8 --policy fifo --set trace_options.load=2 --json 2>/dev/null | tr -d ' \n\t' | grep -o '"makespan":{*"*[a-z":]*[0-9.]*' | head -1 | grep -o '[0-9.]*$')" 85 "a replay at twice the load ends at 90 / 2 + 40 s"
like "$(t info load.csv -O load=2)" "^span (days|s) " "info of a scaled trace"
tap_done
