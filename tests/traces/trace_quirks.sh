#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Irregular rows of published formats beyond those of trace_import.sh. Expected values are computed by hand from the fixtures and from the facts
# that the formats' documents state (sacct(1); Kubernetes API reference; READMEs of the traces).
. "$srcdir/tests/tap.sh"
d=$(cd "$srcdir/tests/data/traces" && pwd)
cd "$work" || exit 1
t() { "$ORRERY" trace "$@" 2>err; }
# rows FILE WANT [OPTION..]: columns job_id to queue, and status; the same after a second conversion
rows() {
  file=$1 want=$2
  shift 2
  t convert "$file" -o a.csv "$@"
  is "$(tail -n +2 a.csv | cut -d, -f1-14,17)" "$want" "$(basename "$file") $*: rows"
  is "$(t convert a.csv)" "$(cat a.csv)" "$(basename "$file") $*: the converted rows read back the same"
}
bad() { # WANT ARGUMENTS..
  want=$1
  shift
  t "$@" >/dev/null
  is "$? $(cat err)" "2 orrery: $want" "$want"
}

# ---- Slurm ----
# Columns in another order; a clock set back during a run (201), suspended time (202), a quote in a name, Elapsed as MM:SS (203) or INVALID (204), Timelimit as
# a clock or a word, GPUs of types and in total (202), a job cancelled while it waited whose Start is its End (205), all kinds of steps, three runs (208).
slurm="201,0,2400,1,1000,1,,,86400,1800,,,u1,gpu,COMPLETED
202,28800,3600,4,1000,16,1048576,h100|a100,5400,0,,,\"o\"\"neil\",gpu,COMPLETED
203,28860,330,0,1000,1,1,,,30,,,u2,gpu,OUT_OF_MEMORY
204,28920,60,2,1000,1,64000,a100,,0,,,u2,gpu,TIMEOUT
206_3,29040,60,0,1000,2,,,,10,,,u3,cpu,COMPLETED
207,29100,600,2,1000,2,,,,60,,,u3,gpu,COMPLETED
208,29160,1500,4,1000,,,,,60,,,u4,gpu,COMPLETED"
rows "$d/slurm_more.txt" "$slurm"
like "$(t info "$d/slurm_more.txt")" '^lines of steps \(skipped\) +4$' "slurm: 206_3.0, .extern and .interactive, and 207+0.batch are steps"
is "$(t convert "$d/slurm_more.txt" -O runs=last | sed -n 's/^208,//p' | cut -d, -f2)" 600 "slurm: runs=last"
is "$(t convert "$d/slurm_more.txt" -O unknown_runtime=keep | grep '^20[59],' | cut -d, -f1-6)" "205,28980,,1,1000,4
209,29220,,8,1000,3" "slurm: a pending job has the resources that it asked for"
for s in BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED RUNNING REQUEUED RESIZING REVOKED SUSPENDED TIMEOUT; do
  sed "2s/^COMPLETED/$s/" "$d/slurm_more.txt" >s.txt
  is "$(t convert s.txt | sed -n 2p | cut -d, -f1,3,17)" "201,2400,$s" "slurm: state $s"
done
sed '2s/^COMPLETED/PENDING/' "$d/slurm_more.txt" >s.txt
is "$(t convert s.txt | sed -n 2p | cut -d, -f1)" 202 "slurm: state PENDING"
for s in ';' $'\t'; do
  sed "s/|/$s/g" "$d/slurm_more.txt" >s.txt
  is "$(t convert s.txt)" "$(t convert "$d/slurm_more.txt")" "slurm: --delimiter '$s'"
done
sed 1d "$d/slurm_more.txt" >s.txt
bad "s.txt:1: expected a line of names such as JobID|Submit|Start|..; sacct prints it without -n" info s.txt

# ---- Kubernetes ----
# A PodList without apiVersion; two containers and init containers that need more GPUs; a slice under limits alone; preempted, with deletionTimestamp;
# Unknown and Pending; the three ways to name a gang; jobs that are suspended, or were.
pods="two,0,240,4,1000,1.5,2385,,,60,,,a,a,Succeeded
slice,600,60,1,142,0.25,,,,0,,,a,a,Failed
moved,1200,295,2,1000,,,,,5,,,a,a,Failed
k-0,3600,610,2,1000,,,,,10,,,b,b,Succeeded
t-master-0,4800,620,16,1000,,,,,10,,,b,b,Succeeded
o-0,6000,600,2,1000,,,,,10,,,b,b,Succeeded
again,7200,1800,6,1000,,,,,1800,,,c,c,Complete"
rows "$d/kubernetes_more.json" "$pods"
is "$(t convert "$d/kubernetes_more.json" -O unknown_runtime=keep | grep -E '^(lost|pulls|held),' | cut -d, -f1,2,3,4,10,17)" "lost,1800,,0,10,Unknown
pulls,1860,,0,,Pending
held,7200,,2,,Suspended" "kubernetes: objects without an end"

# Events in the list: a pod that was evicted before it had the state of a container; a liveness probe that kills a container of a running pod;
# a Killing of a pod of which only the node is lost; an event of a Node; the first of two Started.
event() { printf ',{"kind":"Event","involvedObject":{"kind":"%s","namespace":"a","name":"%s"},"reason":"%s","%s":"2025-03-01T%sZ"}' "$@"; }
pod() { printf '%s{"kind":"Pod","metadata":{"name":"%s","namespace":"a","creationTimestamp":"2025-03-01T10:00:00Z"},"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]},"status":{"phase":"%s"}}' "$@"; }
{ printf '{"apiVersion":"v1","kind":"List","items":['; pod '' gone Failed; pod , alive Running; pod , lost Unknown; pod , idle Pending
  event Pod gone Scheduled lastTimestamp 10:01:00; event Pod gone Evicted eventTime 10:31:00.500000
  event Pod alive Started firstTimestamp 10:02:00; event Pod alive Killing lastTimestamp 10:20:00; event Pod alive Started lastTimestamp 10:21:00
  event Pod lost Started lastTimestamp 10:03:00; event Pod lost Killing lastTimestamp 10:33:00
  event Node gone Started lastTimestamp 10:00:30; event Pod idle FailedScheduling lastTimestamp 10:05:00; echo ']}'; } >events.json
is "$(t convert events.json -O unknown_runtime=keep | sed 1d | cut -d, -f1,2,3,10)" "gone,0,1800.5,60
alive,0,,120
lost,0,1800,180
idle,0,," "kubernetes: times from events"
like "$(t info events.json)" '^events +9$' "kubernetes: the number of events"
{ printf '{"apiVersion":"v1","kind":"List","items":['; event Pod gone Started lastTimestamp 10:01:00 | cut -c2-; echo ']}'; } >alone.json
bad "alone.json:1: events without pods: expected kubectl get pods,events -A -o json" info alone.json
is "$(timeout 10 "$ORRERY" trace info alone.json --repair >/dev/null 2>&1; echo $?)" 0 "kubernetes: events alone, with --repair"
sed 's/"namespace":"a"/"namespace":""/g; s/"phase":"Unknown"/"phase":""/' events.json >bare.json
is "$(t convert bare.json | sed 1d | cut -d, -f1,2,3,10)" "gone,0,1800.5,60
lost,0,1800,180" "kubernetes: events of pods without namespace and phase"
sed 's/10:31:00.500000Z/yesterday/' events.json >wrong.json
bad 'wrong.json:1: lastTimestamp: expected a time such as 2025-03-01T10:00:00Z, found "2025-03-01Tyesterday"' info wrong.json

# ---- one command each ----
while read -r file options; do
  # shellcheck disable=SC2086 # options
  like "$("$ORRERY" jobs "$d/$file" $options --cluster 20x8:v100 --drop-unfit --policy fifo 2>&1)" '^fifo +[0-9]' "orrery jobs $file $options: a table"
done <<EOF
slurm.txt
slurm_more.txt
kubernetes.json
kubernetes_more.json
philly_raw.json
acme_seren.csv
acme_kalos.csv
helios.csv
itp.csv
dlrm.csv
spot_gpu.csv
metacentrum.swf
workflows.swf
pai_job.csv --set trace_options.tasks=$d/pai_task.csv
own.csv --map job_id=id,submit=created_at,gpus=num_gpu,duration=elapsed,user=owner
EOF

# Types of the trace and of the cluster.
said=$("$ORRERY" jobs "$d/spot_gpu.csv" --cluster 20x8:a100 --policy fifo 2>&1)
is "$? $said" "2 orrery: $d/spot_gpu.csv:2: job 0 requests 16 GPUs of type A100-SXM4-80GB, and this cluster has none of them, and so do 1 others: expected GPUs of that \
type (--cluster 2x8:A100-SXM4-80GB), trace_options.gpu_types=ignore to let jobs run on any type, or --drop-unfit, which omits such jobs" "types that the cluster lacks"
like "$("$ORRERY" jobs "$d/spot_gpu.csv" --cluster 20x8:a100 --policy fifo --set trace_options.gpu_types=ignore --json | tr -d ' \n\t')" '"jct_mean":{"value":20560,' "gpu_types=ignore: both jobs run for (41060 + 60) / 2 s on average"
is "$(t convert "$d/spot_gpu.csv" -O gpu_types=ignore | cut -d, -f8 | tail -n +2 | tr -d '\n')" "" "gpu_types=ignore: no type is left"

# ---- round trips: each fixture as orrery's own format, and that again ----
while read -r file options; do
  # shellcheck disable=SC2086 # options
  t convert "$d/$file" $options -o a.csv
  again=()
  [ "$file" != bailian.jsonl ] || again=(-O block_tokens=16)
  is "$(t convert a.csv ${again[@]+"${again[@]}"}; wc -l <a.csv | tr -d ' ')" "$(cat a.csv; wc -l <a.csv | tr -d ' ')" "$file $options: read back the same"
  ok "$(($(wc -l <a.csv) < 2))" "$file: with rows"
done <<EOF
$(cd "$d" && for f in *; do case $f in openb-nodes.csv | own* | pai_* | throughput.json) ;; *) echo "$f" ;; esac; done)
own.csv --map job_id=id,submit=created_at,gpus=num_gpu,duration=elapsed,user=owner,mem=ram,cpus=cores,limit=most
own_requests.tsv --map arrival=when,prompt_tokens=in,output_tokens=out,session=chat,slo=within
pai_job.csv -O tasks=$d/pai_task.csv
EOF

# ---- deadlines ----
# Only a column of deadlines makes deadlines.
for f in slurm.txt slurm_more.txt kubernetes.json kubernetes_more.json philly_raw.json acme_seren.csv helios.csv dlrm.csv spot_gpu.csv swf.swf; do
  is "$(t convert "$d/$f" | tail -n +2 | cut -d, -f18- | tr -d ',\n')" "" "$f: no deadline, strategy, batch or share of a GPU"
done
is "$(t convert "$d/itp.csv" | cut -d, -f1,20)" "job_id,deadline_s
bdd640fb,693
23b8c1e9,4920" "itp: deadlines are absolute: 3716178 - 3715485 = 693 s after submission, 3720405 - 3715485 = 4920 s after the first job"

# ---- Acme, Helios ----
is "$(t convert "$d/acme_kalos.csv" -O unknown_runtime=keep | sed -n 3p | cut -d, -f1,3,4,6,7,10,17)" "dlcab,,8,120,953675,,CANCELLED" "acme: 8.0 GPUs, an empty start"
for s in SUSPENDED TIMEOUT NODE_FAIL; do
  sed "s/COMPLETED/$s/" "$d/helios.csv" >h.csv
  is "$(t convert h.csv | cut -d, -f1,17 | sed -n 2p)" "$([ $s = SUSPENDED ] && echo 1425513,CANCELLED || echo "1425511,$s")" "helios: state $s"
done

# ---- ElasticFlow's lists, with and without real_* ----
printf 'job_id,submit_time,real_iteration,model_name,ddl,batch_size,num_gpu,real_duration,duration,iteration\nj1,100,95,vgg16,700,32,2,300,290.5,90\n' >pku.csv
is "$(t convert pku.csv | sed -n 2p | cut -d, -f1-4,12,20)" "j1,100,290.5,2,vgg16,700" "ElasticFlow: seconds, the column duration, the absolute deadline"
printf 'job_id,submit_time,model_name,ddl,batch_size,num_gpu,duration,iteration,best_effort\nj1,100,vgg16,99,32,2,290,90,0\n' >pku.csv
bad 'pku.csv:2: ddl: expected at least submit_time, found "99"' convert pku.csv

# ---- Shockwave: the model is named with its first batch, the mode is the queue; a quoted name with a comma ----
is "$(t convert "$d/shockwave.csv" | tail -n +2)" '3,0,3600,1,1000,,,,,,20000,ResNet-18 (batch size 32),,static,,,,,,,,,
0,120.5,7200.25,4,1000,,,,,,500000,"LM, small (batch size 10)",,accordion,,,,,,,,,
1,120.5,60,2,1000,,,,,,100,ResNet-18 (batch size 64),,gns,,,,,,,,,' "shockwave.csv: rows"

# ---- BurstGPT ----
printf 'Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\r\n5,,1.5,ChatGPT,0,0,0,API log\r\n6,s,2,GPT-4,7,3,10,Conversation log\r\n' >b.csv
is "$(t convert b.csv -O failures=keep | cut -d, -f2,3,5,6,9)" "arrival_s,model,prompt_tokens,output_tokens,session
5,ChatGPT,,,
6,GPT-4,7,3,1" "burstgpt: columns by name, CRLF, failures=keep, rows without a session"
is "$(t convert b.csv -O log=conversation | wc -l)" 2 "burstgpt: log=conversation"

# ---- requests of images (Alibaba 2026, GenAI) by --map; a row without an execution time ----
printf 'gmt_create,predict_type,predict_status,exec_time_seconds,groupId,prompt_length,negative_prompt_length,num_images_per_prompt,num_inference_steps,checkpoint_model_version_id,num_lora\n2024-11-15 16:57:50,TXT_2_IMG,SUCCEED,32.0,G0000,63.0,26.0,1.0,30.0,M0000,0\n2024-11-15 16:57:55,TXT_2_IMG,PENDING,,G0000,64.0,26.0,4.0,30.0,M0001,0\n' >lora.csv
is "$(t convert lora.csv --map arrival=gmt_create,prompt_tokens=prompt_length,model=checkpoint_model_version_id,samples=num_images_per_prompt | cut -d, -f2-5)" "arrival_s,model,samples,prompt_tokens
0,M0000,1,63
5,M0001,4,64" "GenAI 2026 by --map"

# ---- SWF: decimal times, unknown values, comments between the rows ----
printf '; Version: 2.2\n1 0.5 1.25 10.75 2 -1 -1 2 -1 -1 1 3 -1 -1 -1 -1 -1 -1\n; between\n2 1 -1 5 -1 -1 -1 4 20.5 -1 0 -1 -1 -1 -1 -1 -1 -1\n' >s.swf
is "$(t convert s.swf | cut -d, -f1-4,9,10,13)" "job_id,submit_s,duration_s,gpus,limit_s,wait_s,user
1,0.5,10.75,2,,1.25,3
2,1,5,4,20.5,," "swf: decimals, and requested processors in place of allocated ones"
tap_done
