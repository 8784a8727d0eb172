#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs on lent nodes: accounts computed by hand, a constant capacity compared with the fixed cluster, every policy, the
# market.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
p3=$traces/spot/bamboo/p3-trace.csv
cd "$work" || exit 1
export LC_ALL=C

# run NAME JOBS CAPACITY ARGUMENTS..
run() {
  local name=$1
  printf 'submit_s,duration_s,gpus,speedup,priority\n%b' "$2" >"$name-jobs.csv"
  printf 'time_s,event,node,type,price\n%b' "$3" >"$name-capacity.csv"
  shift 3
  "$orrery" jobs "$name-jobs.csv" --capacity "$name-capacity.csv" --check --no-figures -q --out "$name" "$@" 2>&1
}
metric() { awk -F, -v m="$2" '$2 == m { printf "%.12g", $3 }' "$1/summary.csv"; }
ends() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "end_s") at = i; next } { printf "%s%g", NR == 2 ? "" : " ", $at }' "$1/${2:-fifo}.jobs.csv"; }
accounts() { awk -F, 'NR > 1 { printf "%s%s:%.10g", NR == 2 ? "" : " ", $1, $2 }' "$1/${2:-fifo}.accounts.csv"; }
dollars() { awk -F, 'NR > 1 { printf "%s%s:%.10g", NR == 2 ? "" : " ", $1, 1000 * $3 }' "$1/${2:-fifo}.accounts.csv"; }
nodes() { awk -F, 'NR > 1 { printf "%s%g:%s/%s/%s", NR == 2 ? "" : " ", $1, $2, $3, $4 }' "$1/${2:-fifo}.nodes.csv"; }

# ---- one job of 200 s; a node costs 3.60 USD/h = 0.001 USD/s; starts take 5 s, checkpoints every 40 s. The job
# runs on a, which is removed at 100 s with 80 of 95 s saved. It restarts on b (5 s) and does the other 120 s until
# 225 s. c is present for 75 s and idle. ----
three='0,add,a,,\n0,add,b,,\n100,remove,a,,\n150,add,c,,\n'
cost=(--set jobs.start_cost=5s --set jobs.checkpoint=40s --set capacity.price=3.6)
run hand '0,200,1,,\n' "$three" --cluster 2x1 --policy fifo "${cost[@]}"
is "$? $(ends hand)" "0 225" "a job resumes from its checkpoint"
is "$(accounts hand)" "useful:200 wasted:15 restart:10 starting:0 idle:175" "every second of every instance is in one account"
is "$(dollars hand)" "useful:200 wasted:15 restart:10 starting:0 idle:175" "every dollar of every instance is in one account"
is "$(metric hand node_hours) $(metric hand usd) $(metric hand usd_per_job) $(metric hand job_usd_mean)" "0.111111111111 0.4 0.4 0.225" \
  "400 instance-seconds, of which the job used 225"
is "$(nodes hand)" "0:2/2/0 0:2/2/1 100:1/1/1 150:2/2/1 225:2/2/0" "nodes live, ready and in use, when they change"
is "$(metric hand nodes_lost) $(metric hand restarts) $(metric hand instances) $(metric hand instances_unused)" "1 1 3 0" "counts of lost nodes, restarts, instances and unused instances"

# Start-up takes 30 s. The job works for 65 s until 100 s; 40 s of this work are saved. It continues on b, which is
# free, and ends at 100 + 5 + 160 s.
run slow '0,200,1,,\n' "$three" --cluster 2x1 --policy fifo "${cost[@]}" --set capacity.startup=30s
is "$? $(ends slow) $(accounts slow)" "0 265 useful:200 wasted:25 restart:10 starting:90 idle:155" "a starting instance costs money and runs no job"

# Prices in USD/h: b costs 7.2; a and c cost 3.6 until 50 s, then 36.
run price '0,200,1,,\n' '0,price,,,3.6\n0,add,a,,\n0,add,b,,7.2\n50,price,,,36\n100,remove,a,,\n150,add,c,,\n' --cluster 2x1 --policy fifo "${cost[@]}"
is "$? $(ends price) $(metric price usd)" "0 225 $(awk 'BEGIN { print 0.001 * 50 + 0.01 * 50 + 0.002 * 225 + 0.01 * 75 }')" "changing prices, and an instance with its own price"
is "$(dollars price | tr ' ' '\n' | awk -F: '{ s += $2 } END { printf "%g", s }')" "1750" "the accounts sum to the cost of all instances"

# At 10 s a job of 20 s preempts a job of 100 s, which adds 6 s of work to the latter.
run stop '0,100,1,,\n10,20,1,,\n' '0,add,a,,\n' --cluster 1x1 --policy srtf --set jobs.preempt_cost=6s
is "$? $(ends stop srtf) $(accounts stop srtf)" "0 126 30 useful:120 wasted:0 restart:6 starting:0 idle:0" "work added by a stop is not useful"
run kill '0,200,1,,\n0,50,1,,\n' '0,add,a,,\n0,add,b,,\n100,remove,a,,\n' --cluster 2x1 --policy fifo --set jobs.on_failure=kill
is "$? $(accounts kill)" "0 useful:50 wasted:100 restart:0 starting:0 idle:50" "the work of a killed job is not useful"
run until '0,200,1,,\n' "$three" --cluster 2x1 --policy fifo "${cost[@]}" --until 120s
is "$? $(accounts until)" "0 useful:95 wasted:15 restart:10 starting:0 idle:100" "--until: the accounts end there"

# A job on half a GPU uses a quarter of a node with 2 GPUs; a job on 2 GPUs uses half of a node with 4. The GPUs of
# a node share its billed time.
printf 'submit_s,duration_s,gpus,gpu_milli,gpu_types\n0,80,1,500,t4\n0,40,2,,v100\n' >parts-jobs.csv
printf 'time_s,event,node\n0,add,a\n0,add,b\n' >parts-capacity.csv
"$orrery" jobs parts-jobs.csv --capacity parts-capacity.csv --cluster 1x4:v100,1x2:t4 --policy fifo --placement best-fit --check -q --no-figures --out parts --set capacity.price=3.6
is "$? $(metric parts node_hours) $(awk -F, '$1 == "useful" { printf "%.10g", $2 }' parts/fifo.accounts.csv)" \
  "0 $(awk 'BEGIN { printf "%.12g", 160 / 3600 }') $(awk 'BEGIN { printf "%.10g", 80 * 0.5 / 2 + 40 * 2 / 4 }')" "parts of GPUs are parts of a node"

# An instance without a free node waits, unbilled, and takes the first node that becomes free. Instances c and d
# wait. At 10 s a is removed and c takes its node; d waits until the end.
run wait '0,100,1,,\n' '0,add,a,,\n0,add,b,,\n0,add,c,,\n0,add,d,,\n10,remove,a,,\n30,remove,d,,\n' --cluster 2x1 --policy fifo
is "$? $(ends wait) $(metric wait instances_unused) $(metric wait node_hours)" "0 110 1 $(awk 'BEGIN { printf "%.12g", 220 / 3600 }')" \
  "more instances than nodes: the others wait, unpaid"
like "$("$orrery" jobs wait-jobs.csv --capacity wait-capacity.csv --cluster 2x1 --policy fifo,srtf 2>&1)" "1 of 4 instances never found a free node" "the report counts the instances that never had a node"
# An instance of a type that the cluster names takes a node of that type.
run types '0,50,1,,\n' '0,add,a,T4,\n0,add,b,m5.large,\n' --cluster 1x1:v100,1x1:t4 --policy fifo --set jobs.gantt=1 --db types.db
is "$? $(accounts types)" "0 useful:50 wasted:0 restart:0 starting:0 idle:50" "instances whose type the cluster names take nodes of that type"

# The trace repeats every 200 s. At 200 s, b and c replace a and b, so b (on n1) is removed at 300 s, c (on n0) at
# 500 s, and so on. A job with a checkpoint each second moves between the nodes.
again='0,add,a,,\n0,add,b,,\n100,remove,a,,\n150,add,c,,\n200,end,,,\n'
run again '0,1000,1,,\n' "$again" --cluster 2x1 --policy fifo --set capacity.repeat=true --set jobs.checkpoint=1s
is "$? $(ends again) $(metric again restarts) $(metric again instances) $(metric again past_capacity)" "0 1000 5 7 0" "a repeated trace continues"
is "$(nodes again | tr ' ' '\n' | sed 's|/.*||' | uniq | paste -sd' ')" "0:2 100:1 150:2 300:1 350:2 500:1 550:2 700:1 750:2 900:1 950:2 1000:2" "a repeated trace starts each round with the instances of its start"
run more '0,170,1,,\n' '0,add,a,,\n50,add,b,,\n60,add,c,,\n100,end,,,\n' --cluster 9x1 --policy fifo --set capacity.repeat=true
is "$? $(nodes more | tr ' ' '\n' | sed 's|/.*||' | uniq | paste -sd' ')" "0 0:1 50:2 60:3 100:1 150:2 160:3 170:3" "surplus instances are removed at the start of a round"
run still '0,170,1,,\n' '0,add,a,,\n10,end,,,\n' --cluster 1x1 --policy fifo --set capacity.repeat=true
is "$? $(ends still)" "0 170" "a constant capacity may be repeated"

# ---- notice, given 60 s in advance. A job that shrinks loses no work. fifo loses unsaved work and starts no job on
# the node. ----
gone='0,add,a,,\n0,add,b,,\n100,remove,b,,\n'
run notice '0,300,2,1:1;2:2,\n' "$gone" --cluster 2x1 --policy spot-market --set capacity.notice=60s
# The job runs on both GPUs for 40 s; the other 260 s of work run at half the rate.
is "$? $(ends notice spot-market) $(accounts notice spot-market)" "0 560 useful:600 wasted:0 restart:0 starting:0 idle:60" "a job shrinks when one of its nodes is given notice"
run blind '0,300,2,1:1;2:2,\n' "$gone" --cluster 2x1 --policy spot-market --set capacity.notice=60s --set policy.spot-market.notice=false
is "$? $(ends blind spot-market) $(accounts blind spot-market)" "0 700 useful:600 wasted:200 restart:0 starting:0 idle:0" "notice=false: it loses its work since the start"
run closed '0,50,1,,\n0,30,1,,\n45,20,1,,\n' "$gone" --cluster 2x1 --policy fifo --set capacity.notice=60s
is "$? $(ends closed)" "0 50 30 70" "no job starts on a node given notice"
is "$(metric closed nodes_noticed) $(metric closed nodes_lost)" "1 0" "counts of nodes given notice and lost"
run late '0,50,1,,\n' '0,add,b,,\n5,add,a,,\n20,remove,a,,\n30,remove,b,,\n31,add,c,,\n' --cluster 2x1 --policy fifo --set capacity.notice=60s --set jobs.checkpoint=1s
is "$? $(ends late)" "0 81" "an instance may be given notice when it joins"

# ---- the market ----
# There are 4 GPUs. Job A gains 0.9 by its second GPU and 0.7 by its third; B gains 0.5 by its second. So A gets 3
# GPUs (rate 2.6) and B gets 1.
run shares '0,260,1,1:1;2:1.9;3:2.6;4:2.8,\n0,100,1,1:1;2:1.5,\n' '0,add,a,,\n0,add,b,,\n0,add,c,,\n0,add,d,,\n' --cluster 4x1 --policy spot-market
is "$? $(ends shares spot-market)" "0 100 100" "each GPU goes to the highest bid"
# With a bid of 2 USD, the job runs at a price of 1 USD and waits from 3600 to 7200 s, while the price is 3 USD.
run bid '0,7200,1,,\n' '0,price,,,1\n0,add,a,,\n3600,price,,,3\n7200,price,,,1\n' --cluster 1x1 --policy spot-market --set policy.spot-market.bid=2
is "$? $(ends bid spot-market) $(dollars bid spot-market)" "0 10800 useful:2000 wasted:0 restart:0 starting:0 idle:3000" "above its bid a job waits"
# The same with a bid below 1 USD.
run cents '0,7200,1,,\n' '0,price,,,0.5\n0,add,a,,\n3600,price,,,0.75\n7200,price,,,0.5\n' --cluster 1x1 --policy spot-market --set policy.spot-market.bid=0.5
is "$? $(ends cents spot-market) $(dollars cents spot-market)" "0 10800 useful:1000 wasted:0 restart:0 starting:0 idle:750" "a bid below 1 USD"
run dear '0,100,1,,\n' '0,price,,,3\n0,add,a,,\n500,price,,,4\n' --cluster 1x1 --policy spot-market --set policy.spot-market.bid=2
is "$? $(metric dear jobs_unfinished) $(accounts dear spot-market)" "0 1 useful:0 wasted:0 restart:0 starting:0 idle:500" "a job whose bid is never reached remains unfinished"
# The second GPU gains 0.5, which is worth 1 USD. At a price of 1.5 USD the job shrinks to one GPU.
run shrinks '0,3000,1,1:1;2:1.5,\n' '0,price,,,0.9\n0,add,a,,\n0,add,b,,\n1000,price,,,1.5\n' --cluster 2x1 --policy spot-market --set policy.spot-market.bid=2
is "$? $(ends shrinks spot-market)" "0 2500" "a job releases a GPU whose gain is below its price"
run weight '0,100,1,,\n0,100,1,,5\n' '0,add,a,,\n' --cluster 1x1 --policy spot-market,spot-market@weighed --set policy.weighed.weight=priority
is "$? $(ends weight spot-market) $(ends weight weighed)" "0 100 200 200 100" "weight=priority: higher priority goes first"
run grows '0,1000,1,1:1;2:2,\n' '0,add,a,,\n100,add,b,,\n' --cluster 2x1 --policy spot-market --set policy.spot-market.interval=300s
is "$? $(ends grows spot-market)" "0 650" "a job grows when it has run for the interval"

# 1 of 4 GPUs is removed within 100 s, so the hazard is h = 1 / 400 s. Each removal loses 100 s, which lowers the
# rates 1, 2, 3 to 0.75, 1, 0.75. From then on the job uses two of three GPUs.
run loss '0,1000,1,1:1;2:2;3:3;4:4,\n' '0,add,a,,\n0,add,b,,\n0,add,c,,\n0,add,d,,\n100,remove,a,,\n' --cluster 4x1 --policy spot-market,spot-market@shy --set policy.shy.loss=100s
is "$? $(ends loss spot-market) $(ends loss shy)" "0 433.333 600" "loss: a job stays smaller if many GPUs leave"

# ---- a constant capacity is the fixed cluster ----
cat >gen.awk <<'EOT'
BEGIN { srand(7); print "submit_s,duration_s,gpus,user,speedup"
  for (i = 0; i < n; i++) { t += -120 * log(1 - rand()); g = 2 ^ int(4 * rand()); s = ""
    if (rand() < 0.6) for (k = 1; k <= 16; k *= 2) s = s (k > 1 ? ";" : "") k ":" k ^ 0.8
    printf "%.3f,%.3f,%d,u%d,%s\n", t, -3000 * log(1 - rand()), g, i % 5, s } }
EOT
awk -v n="$([ "${ORR_SANITIZED:-0}" = 1 ] && echo 60 || echo 200)" -f gen.awk >many.csv
{ echo time_s,event,node; for i in $(seq 24); do echo "0,add,n$i"; done; } >constant.csv
all=$("$orrery" policy list --kind jobs | awk '$1 && NR > 1 && $1 !~ /^(pollux|replay)$/ { print $1 }' | paste -sd,) # jobs that adapt; a file of decisions
like "$all" "fifo.*gavel.*spot-market" "the list of policies includes all policies of jobs"
"$orrery" jobs many.csv --cluster 8x1,16x4 --placement consolidate --policy "$all" --check -q --no-figures --out fixed
"$orrery" jobs many.csv --cluster 8x1,16x4 --placement consolidate --policy "$all" --check -q --no-figures --out constant --capacity constant.csv
ok $? "all policies run on a constant capacity"
# Jobs on lent nodes do not share GPUs, so gandiva, which pairs jobs, differs; a remark says so.
is "$(grep '^gandiva,remark,jobs on' constant/notes.csv)" "gandiva,remark,jobs on lent nodes (--capacity) do not share GPUs: the policy ran each job by itself" "a policy that shares GPUs: a remark"
rm -f fixed/gandiva.*
sed -i '/^gandiva,/d' fixed/summary.csv
for f in fixed/*.jobs.csv fixed/*.series.csv; do cmp "$f" "constant/${f#*/}" || echo differs; done >cmp.txt 2>&1
is "$(cat cmp.txt)" "" "a constant capacity gives the same bytes as the fixed cluster"
is "$(grep -vxFf constant/summary.csv fixed/summary.csv)" "" "a constant capacity gives the same metrics as the fixed cluster"

# ---- every policy on changing capacity ----
hard=(--set capacity.startup=40s --set capacity.notice=90s --set jobs.checkpoint=5m --set jobs.start_cost=20s --set jobs.preempt_cost=10s)
for c in churn:slots=30,rate=0.5,length=30d hazard:p=0.3,length=30d bulk:length=30d; do
  "$orrery" jobs many.csv --cluster 8x1,16x4 --placement consolidate --policy "$all" --check -q --no-figures --out coming --capacity "$c" "${hard[@]}" >coming.txt 2>&1
  is "$? $(cat coming.txt)" "0 " "all policies under --check on ${c%%:*}"
  is "$(awk -F, '$2 == "jobs_unfinished" && $3 > 0' coming/summary.csv)" "" "all jobs end under every policy"
  is "$(awk -F, '$2 == "usd" { all[$1] = $3 } $2 ~ /^usd_(useful|wasted|restart|starting|idle)$/ { s[$1] += $3 }
    END { for (i in all) if (s[i] - all[i] > 1e-9 * all[i] || all[i] - s[i] > 1e-9 * all[i] || !all[i]) print i }' coming/summary.csv)" "" "the accounts sum to the cost under every policy"
done
for j in 1 4; do
  "$orrery" jobs many.csv --cluster 8x1,16x4 --policy "$all" -q --no-figures --out "j$j" -j "$j" --capacity churn:slots=30,rate=0.5,length=30d "${hard[@]}"
done
is "$(diff -r j1 j4)" "" "the bytes do not depend on the number of threads"
"$orrery" jobs many.csv --cluster 8x1,16x4 --policy fifo -q --no-figures --out seed --seed 2 --capacity churn:slots=30,rate=0.5,length=30d
is "$(cmp -s seed/fifo.jobs.csv j1/fifo.jobs.csv; echo $?)" "1" "another seed gives other instances"

# ---- trace p3: 177 instances are added and 167 removed (Thorpe et al., NSDI 2023); its last row is at 11.37 h ----
if need "$p3"; then
  sed '1a 0,60000,1,u0,' many.csv >p3.csv # one job outlives the trace
  "$orrery" jobs p3.csv --cluster 64x1 --capacity "$p3" --policy "$all" --check -q --no-figures --out p3 --drop-unfit --set capacity.notice=2m >p3.txt 2>&1
  is "$? $(cat p3.txt)" "0 " "all policies under --check on p3"
  is "$(awk -F, '$2 == "instances" && $3 != 177 { print $1 }' p3/summary.csv)" "" "p3: 177 instances are added"
  is "$(awk -F, '$2 == "nodes_lost" && $3 != 167 { print $1 }' p3/summary.csv)" "" "p3: 167 instances are removed"
  # The expected node-seconds are computed only from the file, whose times are in milliseconds, up to the last
  # row.
  want=$(awk -F, '{ s += n * ($1 - t) / 1000; t = $1; n += $2 == "add" ? 1 : -1 } END { printf "%.9g", s / 3600 }' "$p3")
  "$orrery" jobs p3.csv --cluster 64x1 --capacity "$p3" --policy fifo -q --no-figures --out span --drop-unfit --until 40920s
  is "$(metric span node_hours | awk '{ printf "%.9g", $1 }')" "$want" "p3: node-hours equal those computed from the file"
  like "$("$orrery" jobs p3.csv --cluster 64x1 --capacity "$p3" --policy fifo --drop-unfit 2>&1)" "trace of instances ends [0-9.]+ h before the last run" "p3: a run that outlasts the trace is reported"
fi

# ---- beside a service: lent nodes are added and removed like nodes that are repaired and fail ----
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [10000]}' >slow.json
printf 'submit_s,duration_s,gpus\n0,100,1\n' >mixed-jobs.csv
printf 'arrival_s\n45\n100\n' >mixed-requests.csv
printf 'time_s,node,event\n50,n0,fail\n80,n0,repair\n' >mixed-failures.csv
printf 'time_s,event,node\n0,add,a\n0,add,b\n50,remove,a\n80,add,c\n' >mixed-capacity.csv
printf 'time_s,event,node\n0,add,a\n0,add,b\n' >mixed-constant.csv
# mixed NAME SERVE-OPTIONS MORE-KEYS
mixed() {
  cat >"$1.json" <<EOT
{"world": "mixed", "cluster": "2x2:a100", "jobs": {"trace": "mixed-jobs.csv", "jobs": {"checkpoint": "20s"}}, "policies": ["fifo+fifo"], $3
 "serve": {"trace": "mixed-requests.csv", "models": ["slow.json"], "deployments": [{"replicas": 1}], "serve": {"start_up": "5s"$2}}}
EOT
  "$orrery" run "$1.json" --check --no-figures -q --out "$1" 2>&1
}
results() { (cd "$1" && cat ./*jobs.csv ./*requests.csv && grep -vE ',(jobs.events|serve.replicas_lost),' summary.csv); }
for n in 0 20s; do
  mixed "fails$n" ", \"notice\": \"$n\"" '"failures": {"trace": "mixed-failures.csv"},'
  mixed "lent$n" "" "\"capacity\": {\"trace\": \"mixed-capacity.csv\", \"notice\": \"$n\", \"price\": 3.6},"
  is "$? $(results "fails$n" | grep -vxFf <(results "lent$n"))" "0 " "a lent node is like one that fails and is repaired, with $n of notice"
done
is "$(metric lent20s nodes_lost) $(metric lent20s nodes_noticed) $(metric lent20s instances)" "1 1 3" "counts of lent nodes beside a service"
is "$(awk -v h="$(metric lent20s node_hours)" -v u="$(metric lent20s capacity_usd)" 'BEGIN { printf "%.9g", u / h }')" "3.6" "the cost of lent nodes beside a service"
mixed plain "" ""
mixed constant-mixed "" '"capacity": {"trace": "mixed-constant.csv"},'
is "$? $(results plain | grep -vxFf <(results constant-mixed))" "0 " "beside a service, a constant capacity equals the fixed cluster"
like "$(mixed endless "" '"capacity": {"trace": "churn:length=0"},')" 'capacity.trace: the trace of instances has no end' "instances without end need an end of the run"

# ---- stored, shown, and run again ----
"$orrery" jobs hand-jobs.csv --capacity hand-capacity.csv --cluster 2x1 --policy fifo "${cost[@]}" -q --no-figures --db a.db --out first
cp hand-capacity.csv other-name.csv
"$orrery" jobs hand-jobs.csv --capacity other-name.csv --cluster 2x1 --policy fifo "${cost[@]}" -q --no-figures --db a.db --out second
is "$(diff -r first second) $(sqlite3 a.db 'select count(*) from runs' 2>/dev/null || echo 1)" " 1" "a stored run is found by the contents of the file, and has its nodes and accounts"
"$orrery" scenario show hand-jobs.csv --capacity hand-capacity.csv --cluster 2x1 --policy fifo "${cost[@]}" >shown.json
"$orrery" run shown.json -q --no-figures --out shown
is "$? $(diff -r first shown)" "0 " "the output of scenario show is a scenario"
is "$("$orrery" scenario show hand-jobs.csv --cluster 2x1 --policy fifo | grep -c capacity)" "0" "without capacity, scenario show prints no such key"

# ---- wrong input ----
wrong() { like "$("$orrery" jobs hand-jobs.csv --cluster "${cluster:-2x1}" --policy fifo -q "${@:2}" 2>&1; echo "status $?")" "$1.*" "refused: $1"; }
wrong "none.csv: No such file" --capacity none.csv
wrong "expected capacity.trace," --set capacity.notice=2m
wrong "exclude each other" --capacity hand-capacity.csv --set failures.mtbf=3h
wrong "has no instances" --capacity price:length=1d
printf 'time_s,event,node\n0,add,a\n' >brief.csv
wrong "capacity.repeat: brief.csv: this trace has no length" --capacity brief.csv --set capacity.repeat=true
wrong "has no prices" --capacity hand-capacity.csv --set capacity.prices=hand-capacity.csv
wrong "capacity.options: expected NAME=VALUE" --capacity hand-capacity.csv --set capacity.options=cap
wrong "startup: expected" --capacity hand-capacity.csv --set capacity.startup=-1
wrong "did you mean .*notice" --capacity hand-capacity.csv --set capacity.notices=2m
cluster=2x1,1x0:cpus=4 wrong "n2 has no GPUs" --capacity hand-capacity.csv
cluster=1x997,1x991,1x983 wrong "the numbers of GPUs per node have no common multiple up to a million: expected" --capacity hand-capacity.csv
printf 'time_s,event,node\n0,add,a\n5,add,a\n' >twice.csv
wrong "twice.csv:3" --capacity twice.csv
# The policy never starts the job. The run must fail instead of continuing forever.
like "$("$orrery" jobs hand-jobs.csv --cluster 1x1 --policy spot-market --set policy.spot-market.bid=0.1 -q --capacity churn:slots=1,rate=50,length=0 2>&1)" \
  "1 jobs wait, no job runs" "jobs that wait forever end the run"
# GPUs are counted by type: the job for type b runs while the second job for type a waits.
printf 'submit_s,duration_s,gpus,gpu_types\n0,100,2,a\n0,100,2,a\n0,100,2,b\n' >typed-jobs.csv
"$orrery" jobs typed-jobs.csv --cluster 1x2:a:speed=1,1x2:b:speed=1 --policy spot-market --check --no-figures -q --out typed
is "$(ends typed spot-market)" "100 200 100" "jobs that accept one type do not take the GPUs of another"
tap_done
