# Readers of published trace formats: every irregular row of the hand-made fixtures, and a round trip through trace convert.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
d=$srcdir/tests/data/traces
t() { "$ORRERY" trace "$@" 2>"$work/err"; }
columns=1-14,17
# rows FILE WANT [OPTION..]: the rows as orrery's CSV, columns job_id to queue and status; the same after a second conversion
rows() {
  file=$1 want=$2
  shift 2
  t convert "$d/$file" -o "$work/a.csv" "$@"
  is "$(tail -n +2 "$work/a.csv" | cut -d, -f$columns)" "$want" "$file $*: rows"
  is "$(t convert "$work/a.csv")" "$(cat "$work/a.csv")" "$file $*: the converted rows read back the same"
}
left() { # FILE COUNT [OPTION..]
  file=$1 count=$2
  shift 2
  t convert "$d/$file" "$@" >/dev/null
  like "$(cat "$work/err")" "rows left out: $count " "$file $*: $count rows left out"
}
format() { like "$(t info "$d/$1")" "^format +$2 " "$1 is recognised as $2"; }
fact() { like "$(t info "$d/$1")" "^$2 +$3\$" "$1: $2 $3"; }
bad() { # WANT ARGUMENTS..
  want=$1
  shift
  t "$@" >/dev/null
  is "$? $(cat "$work/err")" "2 orrery: $want" "$want"
}

# Acme: zones in the times; Kalos' durations contain the wait (18 = 10 + 8); a job that never started is left out.
format acme_seren.csv acme
rows acme_seren.csv "5778432,0,117,8,1000,128,,,,32,,Other,u5907,,FAILED
5778433,1,0,0,1000,16,,,,0,,Debug,u5907,,COMPLETED"
fact acme_seren.csv "first submission" "2023-02-28 16:18:22"
rows acme_kalos.csv "dlctk696s0jbvitv,0,8,64,1000,960,7629400,,,10,,Other,uf794,,FAILED"
left acme_kalos.csv 1

# Helios: no zone, the column queue is a wait, a running job is left out.
format helios.csv helios
rows helios.csv "1425511,0,36848,1,1000,1,,,,30,,,uXBbc,vcJkd,COMPLETED
1425513,27,675233,8,1000,64,,,,0,,,uzqls,vcpDC,CANCELLED"
left helios.csv 1
sed 's/RUNNING/COMPLETED/; s/2020-06-10 04:55:39/2020-06-09 04:55:39/' "$d/helios.csv" >"$work/h.csv"
bad "$work/h.csv:2: end_time: expected at least the time of the start, found \"2020-06-09 04:55:39\"" convert "$work/h.csv"

# ITP: times from the first row; the raw list has fewer columns; no line end after the last row.
format itp.csv itp
rows itp.csv "bdd640fb,0,1075,1,1000,,,,,,3249,deepspeech2,,,
23b8c1e9,2065,3604,8,1000,,,,,,48266,inception3,,,"
printf 'job_id,submission_time,duration,num_gpu\na,1932025,2429,64\n' >"$work/raw.csv"
is "$(t convert "$work/raw.csv" | tail -1 | cut -d, -f1-4)" "a,0,2429,64" "itp: the raw list"

# DLRM: rows without creation or deletion reach beyond the trace; spot-gpu: requests are per worker.
format dlrm.csv dlrm
rows dlrm.csv "instance_1,0,90000,0,1000,64,327680,,,30,,CN,,app_0,"
left dlrm.csv 3
format spot_gpu.csv spot-gpu
rows spot_gpu.csv "437260,0,41060,16,1000,240,,A100-SXM4-80GB,,,,,57,Spot,
437261,37,60,1,1000,8,,A10,,,,,57,HP,"

# Slurm: steps, arrays, heterogeneous jobs, requeues, cancelled while waiting, GPUs counted once, clocks set back.
format slurm.txt slurm
slurm_rest="126,180,3600,7,1000,2,64000,,3600,60,,,u3,gpu,TIMEOUT"
slurm_last="128,21225590,600,1,1000,,,,,0,,,u1,gpu,FAILED"
rows slurm.txt "123,0,86410,2,1000,8,65536,a100,172800,300,,,u1,gpu,COMPLETED
124_7,60,2460,1,1000,4,,,,60,,,u2,gpu,RUNNING
$slurm_rest
127,3600,2400,0,1000,4,2048,,,600,,,u1,cpu,COMPLETED
$slurm_last"
rows slurm.txt "123,0,86410,2,1000,8,65536,a100,172800,300,,,u1,gpu,COMPLETED
$slurm_rest
127,3600,1800,0,1000,4,2048,,,600,,,u1,cpu,COMPLETED
$slurm_last" -O runs=last -O running=drop
left slurm.txt 2
fact slurm.txt "lines of steps \(skipped\)" 1
fact slurm.txt "further runs of a job \(joined\)" 1
fact slurm.txt "further parts of a heterogeneous job \(joined\)" 1
fact slurm.txt "still running" 1
fact slurm.txt "not started \(left out\)" 2
sed 's/$/|/' "$d/slurm.txt" >"$work/p.txt"
is "$(t convert "$work/p.txt")" "$(t convert "$d/slurm.txt")" "slurm: sacct -p, with a bar at the end of each line"
sed '2s/|gpu|/|g|pu|/' "$d/slurm.txt" >"$work/bar.txt"
bad "$work/bar.txt:2: expected 12 fields, found 13" convert "$work/bar.txt"
is "$(t convert "$work/bar.txt" --repair | wc -l)" 5 "slurm: --repair leaves out a line with a bar in a name"
bad "$d/slurm.txt:5: State: expected a job that has started, found \"PENDING\" (unknown_runtime=drop leaves such jobs out)" \
  convert "$d/slurm.txt" -O unknown_runtime=error
sed 's/gres.gpu=2,mem/gres\/gpu=2.5,mem/g' "$d/slurm.txt" >"$work/half.txt"
bad "$work/half.txt:2: AllocTRES: expected resources such as cpu=8,gres/gpu=2,mem=64G,node=1, found \"billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2.5,mem=64G,node=1\"" convert "$work/half.txt"
sed 's/cpu=8,/cpu=100000000,/g' "$d/slurm.txt" >"$work/cores.txt"
like "$(t convert "$work/cores.txt")" '86410,2,1000,100000000,' "slurm: a job of 100 million cores, the limit"
sed 's/cpu=8,/cpu=100000001,/g' "$d/slurm.txt" >"$work/cores.txt"
like "$(t convert "$work/cores.txt"; cat "$work/err")" 'cores.txt:2: AllocTRES: expected resources' "slurm: more cores are refused"
cut -d'|' -f1-9 "$d/slurm.txt" >"$work/few.txt"
like "$(t convert "$work/few.txt"; cat "$work/err")" "expected a column AllocTRES or ReqTRES; sacct prints it with -o" "slurm: missing columns are named, with the command"

# Raw Philly: Pacific time with the hour that occurs twice; times that are null, "" or "None"; jobs without attempts or end are left out.
format philly_raw.json philly-raw
rows philly_raw.json "application_14199,0,193263,2,1000,,,,,30,,,ce2f4c,ee9e8c,Pass
application_3,2507901,3000,3,1000,,,,,1200,,,,6214e9,Failed"
left philly_raw.json 2
fact philly_raw.json "without attempts \(left out\)" 1
fact philly_raw.json "last attempt without an end \(left out\)" 1
is "$(t convert "$d/philly_raw.json" -O duration=attempts | cut -d, -f3 | sed -n 2p)" 193256 "philly-raw: duration=attempts sums the attempts"
bad "$d/philly_raw.json:5: start_time: expected at least submitted_time" convert "$d/philly_raw.json" -O zone=utc
is "$(t convert "$d/philly_raw.json" -O zone=utc --repair | wc -l)" 2 "philly-raw: --repair leaves one item out"
tr -d '\n' <"$d/philly_raw.json" >"$work/one.json"
is "$(t convert "$work/one.json" -O zone=utc --repair | wc -l)" 2 "philly-raw: all items on one line"
head -c 700 "$d/philly_raw.json" >"$work/cut.json"
bad "$work/cut.json:6: expected an item of the list, found the end of the file" convert "$work/cut.json" --repair
sed 's/"u"/u/' "$d/philly_raw.json" >"$work/no.json"
like "$(t convert "$work/no.json"; cat "$work/err")" "no.json:4: expected a JSON value, found something else near" "philly-raw: broken JSON names the line"

# Kubernetes: gangs, restarts, init containers, limits without requests, shares of MIG, evictions, services, pods that wait, batch jobs.
format kubernetes.json kubernetes
columns=1-15,17
rows kubernetes.json "train-0,0,4200,4,1000,2.5,65536,A100,,150,,,team-a,lq,5,Succeeded
evicted,300,600,1,285,,61036,,,10,,,team-b,team-b,,Failed
fit,480,600,4,1000,8,,,7200,30,,,team-c,team-c,,Failed
done,540,600,1,1000,,,,,0,,,team-c,team-c,,Complete
train-2,7200,60,2,1000,,,,,30,,,team-a,team-a,,Failed"
rows kubernetes.json "train-0,0,3600,2,1000,0.5,65536,A100,,150,,,team-a,lq,5,Succeeded
train-1,1,4195,2,1000,2,,,,154,,,team-a,lq,,Succeeded
evicted,300,600,1,285,,61036,,,10,,,team-b,team-b,,Failed
web-1,360,10800,0,1000,10,123,,,5.25,,,team-b,team-b,,Running
fit,480,600,4,1000,8,,,7200,30,,,team-c,team-c,,Failed
done,540,600,1,1000,,,,,0,,,team-c,team-c,,Complete
train-2,7200,60,2,1000,,,,,30,,,team-a,team-a,,Failed" -O gang=none -O now=2025-03-01T13:06:05.25Z
left kubernetes.json 2
fact kubernetes.json "pods joined to a gang" 1
fact kubernetes.json "restarted \(earlier runs unknown\)" 1
sed 's/"500m"/"half"/' "$d/kubernetes.json" >"$work/q.json"
bad "$work/q.json:2: cpu: expected a quantity such as 2, 500m or 64Gi, found \"half\"" convert "$work/q.json"
is "$(t convert "$work/q.json" --repair | wc -l)" 6 "kubernetes: --repair leaves one object out"
sed 's/"kind":"Job","metadata"/"kind":"Node","metadata"/' "$d/kubernetes.json" >"$work/q.json"
bad "$work/q.json:19: kind: expected Pod or Job (kubectl get pods -A -o json), found \"Node\"" convert "$work/q.json"
bad "$d/kubernetes.json:1: now: expected a time such as 2025-03-01T12:00:00Z, found \"noon\"" convert "$d/kubernetes.json" -O now=noon
columns=1-14,17

# AWS prices: newest first, prices as texts, one product.
format aws_prices.json aws-prices
is "$(t convert "$d/aws_prices.json")" "time_s,event,node,zone,type,price
0,price,,us-west-1b,p3.2xlarge,0.918
600,price,,us-west-1a,p3.2xlarge,0.91
3600,price,,us-west-1b,p3.2xlarge,0.97" "aws_prices.json: rows"
t convert "$d/aws_prices.json" -o "$work/a.csv"
is "$(t convert "$work/a.csv")" "$(cat "$work/a.csv")" "aws_prices.json: the converted rows read back the same"
is "$(t convert "$d/aws_prices.json" -O product=Windows | tail -1)" "0,price,,us-west-1b,p3.2xlarge,1.87" "aws-prices: another product"
sed 's/"0.918000"/"free"/' "$d/aws_prices.json" >"$work/free.json"
bad "$work/free.json:6: SpotPrice: expected USD per hour as a text such as \"0.087000\", found \"free\"" convert "$work/free.json"
is "$(t convert "$work/free.json" --repair | wc -l)" 3 "aws-prices: --repair leaves a wrong price out"

# SWF with more than 18 fields: MetaCentrum (Unix times, names of queues), workflows (a line of names, several preceding jobs).
format metacentrum.swf swf
rows metacentrum.swf "1,0,1164297,12,1000,,,,1209600,71,,,101,q_2w,1
2,5,60,1,1000,,,,7200,5,,,102,short,0"
fact metacentrum.swf "first submission" "2012-12-31 23:31:35"
format workflows.swf swf
rows workflows.swf "1,0,10,2,1000,,,,100,0,,,7,1,1
2,0,20,4,1000,,,,100,10,,,7,1,1
3,0,5,1,1000,,,,100,30,,,7,1,1"
fact workflows.swf "several preceding jobs \(first kept\)" 1
sed '2s/$/ more/' "$d/metacentrum.swf" >"$work/more.swf"
bad "$work/more.swf:2: expected 21 fields, found 22; extra_fields=ignore reads the first 21" convert "$work/more.swf"

# Requests: Bailian (seconds, 16 tokens a block, sessions by first chat), Azure 2024 (no fraction when it is zero) and 2025, BurstGPT 1.
requests() { # FILE WANT [OPTION..]: columns arrival_s, prompt_tokens, output_tokens, session, blocks; the same after a second conversion
  file=$1 want=$2
  shift 2
  t convert "$d/$file" -o "$work/r.csv"
  is "$(tail -n +2 "$work/r.csv" | cut -d, -f2,5,6,9,11)" "$want" "$file: rows"
  is "$(t convert "$work/r.csv" "$@")" "$(cat "$work/r.csv")" "$file: the converted rows read back the same"
}
format bailian.jsonl bailian
requests bailian.jsonl "61.114,33,132,160,1 2 3
61.2,16,5,161,9
70,180,7,160,1 2 3 4 5 6 7 8 10 11 12 13
90.5,200,1,160,1 2
91,,1,4," -O block_tokens=16
format azure_2024.csv azure-llm
requests azure_2024.csv "0,2162,5,,
0.00993,10,7,,"
format azure_2025.csv azure-llm
requests azure_2025.csv "0,949,126,,
0.181,5,1,,"
format burstgpt_1.csv burstgpt
requests burstgpt_1.csv "5,472,18,,
118,417,276,,"
format burstgpt.csv burstgpt
left burstgpt_1.csv 1

# PAI: two tables without headers; plans in percent of one instance; times with a decimal; jobs that wait or run are left out.
pai="-O tasks=$d/pai_task.csv"
# shellcheck disable=SC2086 # two words
rows pai_job.csv "4f057009a5d481acec67b088,0,38,1,500,6,30000,MISC,,62,,,58540f191766,,Terminated
cccc,400,200,2,1000,3,3072,T4,,0,,,u3,,Failed
4b3f04b66a525d2df903eb16,2811779,526,8,1000,56,260480,V100,,11,,,58540f191766,,Terminated" $pai
# shellcheck disable=SC2086
left pai_job.csv 2 $pai
bad "$d/pai_job.csv:1: a table of PAI jobs has neither GPUs nor starts: expected the table of tasks too, option tasks=pai_task_table.csv" info "$d/pai_job.csv"
{ echo job_name,inst_id,user,status,start_time,end_time; cat "$d/pai_job.csv"; } >"$work/named.csv"
# shellcheck disable=SC2086
is "$(t convert "$work/named.csv" $pai)" "$(t convert "$d/pai_job.csv" $pai)" "pai: a line of names is skipped"
sed '3s/8.0/x/' "$d/pai_task.csv" >"$work/task.csv"
bad "$work/task.csv:3: inst_num: expected a whole number from 0 to 1000000, found \"x\"" convert "$d/pai_job.csv" -O tasks="$work/task.csv"
"$ORRERY" jobs "$d/pai_job.csv" --set trace_options.tasks="$d/pai_task.csv" --cluster 2x8 --drop-unfit --policy fifo --db "$work/p.db" >"$work/out" 2>&1
sed '3s/8.0/4.0/' "$d/pai_task.csv" >"$work/task.csv"
"$ORRERY" jobs "$d/pai_job.csv" --set trace_options.tasks="$work/task.csv" --cluster 2x8 --drop-unfit --policy fifo --db "$work/p.db" >"$work/out2" 2>&1
is "$(sqlite3 "$work/p.db" 'select count(*) from runs' 2>/dev/null || echo 2)" 2 "pai: another table of tasks is another run"
#end
tap_done
