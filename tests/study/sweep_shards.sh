#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A study in several processes has the digest of one in a single process: by hand, by mpirun, as a Slurm array; also if one is killed
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY") config=$(realpath "$top_builddir/config.h")
cd "$work" || exit 1
cat >s.json <<'EOF'
{ "axes": { "load": { "from": 0.5, "to": 1.5, "n": 10 }, "big": { "from": 0.3, "to": 3, "scale": "log" } },
  "runs": {
    "r": { "scenario": { "world": "jobs", "trace": "philly-like:n=1000,load=${load}", "cluster": "16x8", "policies": ["fifo", "srtf"] }, "axes": ["load"] },
    "f": { "scenario": { "world": "jobs", "trace": "philly-like:n=300,load=${big}", "cluster": "8x8", "policies": ["las", "srtf"] },
      "find": { "axis": "big", "metric": "wait_p99", "below": "6h", "tolerance": 0.02 } } } }
EOF
"$orrery" sweep s.json --db one.db >one.txt 2>err; ok $? 'one process'
want=$("$orrery" db digest one.db)

# ---- by hand ----

for k in 1 2 3; do
  "$orrery" sweep s.json --db three.db --shard $k/3 >out 2>err; ok $? "part $k of 3"
  like "$(cat err)" "shard $k of 3: [0-9]+ runs, 0 of them failed, in three.db.shard-$k-of-3" 'says what it ran'
done
text=$("$orrery" sweep s.json --db three.db --status); ok $? '--status reads the parts'
like "$text" '^part 2 of 3: [0-9]+ of [0-9]+ runs, 0 failed, ended after [0-9]+ s$' 'each with its runs'
like "$text" '^([0-9]+) of [0-9]+ runs \(100 %\), 0 failed, 3 of 3 parts, about 0 s left$' 'and the sum, in which all runs have ended'
is "$(printf '%s' "$text" | tail -n 1 | cut -d ' ' -f 1)" "$(($("$orrery" db runs one.db | wc -l) - 1))" 'as many as one process ran'
[ ! -s out ] && [ ! -e three.db ]; ok $? 'a part prints no table and leaves the database alone'
"$orrery" sweep s.json --db three.db --merge >three.txt 2>err; ok $? 'the shards are merged'
like "$(cat err)" '3 shards merged into three.db: [0-9]+ runs added' 'which is reported'
is "$("$orrery" db digest three.db)" "$want" 'the same digest'
is "$(sed -n 1,21p three.txt)" "$(sed -n 1,21p one.txt)" 'the same rows, with the same numbers of the stored runs of listed points'
is "$(echo three.db*)" three.db 'the shards are removed'
"$orrery" sweep s.json --db three.db --merge -q; is "$? $("$orrery" db digest three.db)" "0 $want" 'again without shards: nothing changes'

like "$("$orrery" sweep s.json --db three.db --status 2>&1)" 'no part of a study is known: expected parts' 'after the merge there are no parts'

# ---- parts that were divided differently ----

"$orrery" sweep s.json --db parts.db --shard 1/3 -q; "$orrery" sweep s.json --db parts.db --shard 3/3 -q
sleep 0.01
"$orrery" sweep s.json --db parts.db --shard 1/2 -q
text=$("$orrery" sweep s.json --db parts.db --status)
is "$(grep -c '^part ' <<<"$text") $(grep -c '^part 1 of 2: ' <<<"$text")" "1 1" 'only parts of the last division are shown'
like "$text" '^parts not started: 1$' 'the part that is missing'
like "$text" '^[0-9]+ of [0-9]+ runs \([0-9]+ %\), 0 failed, 1 of 2 parts' 'and the sum of these'

# ---- progress of a running part ----

sed 's/n=1000/n=20000/' s.json >slow.json
"$orrery" sweep slow.json --db slow.db --shard 2/2 -j 1 -q 2>/dev/null & pid=$!
for _ in $(seq 600); do
  text=$("$orrery" sweep slow.json --db slow.db --status 2>/dev/null)
  case $text in "part 2 of 2: 0 "* | '') sleep 0.05 ;; *) break ;; esac
done
kill -9 $pid; wait $pid 2>/dev/null
like "$text" '^part 2 of 2: [1-9][0-9]* of [0-9]+ runs, 0 failed, about [0-9.]+ (s|min) left$' 'a running part shows its runs and the time left'
like "$text" '^parts not started: 1$' 'and the other part is missing'
like "$text" '^[0-9]+ of [0-9]+ runs \([0-9]+ %\), 0 failed, 1 of 2 parts, remaining time unknown$' 'so the time left of all is unknown'

# ---- a part that is killed ----

"$orrery" sweep s.json --db killed.db --shard 1/2 -q
"$orrery" sweep s.json --db killed.db --shard 2/2 -q 2>/dev/null & pid=$!
sleep 0.2
kill -9 $pid; wait $pid 2>/dev/null
"$orrery" sweep s.json --db killed.db --merge -q 2>err; is "$? $("$orrery" db digest killed.db)" "0 $want" \
  'a part that was killed: merging its shard and running the rest gives the same digest'
is "$(echo killed.db*)" killed.db 'no log of the shard remains'

# The process was killed in its first transaction: there is a rollback journal and no table.
"$orrery" sweep s.json --db early.db --shard 1/2 -q
mkfifo wait
sqlite3 early.db.shard-2-of-2 'PRAGMA cache_size=1; BEGIN; CREATE TABLE a(x); INSERT INTO a SELECT randomblob(4000) FROM generate_series(1, 50)' \
  '.shell touch begun' '.read wait' 2>/dev/null & pid=$!
for _ in $(seq 600); do [ ! -e begun ] || break; sleep 0.05; done
[ -s early.db.shard-2-of-2-journal ]; ok $? 'the shard has a journal'
kill -9 $pid; wait $pid 2>/dev/null
"$orrery" sweep s.json --db early.db --merge -q 2>err; is "$? $("$orrery" db digest early.db)" "0 $want" \
  'a part that was killed in its first transaction: the same digest'
is "$(echo early.db*)" early.db 'no journal of the shard remains'

# ---- runs that are present, empty shards ----

cp one.db again.db
"$orrery" sweep s.json --db again.db --shard 1/2 -q
is "$? $("$orrery" db runs again.db.shard-1-of-2 | wc -l)" '0 1' 'a part repeats no run that the database has: its shard has none'
: >again.db.shard-2-of-2
"$orrery" sweep s.json --db again.db --merge -q
is "$? $("$orrery" db digest again.db) $(echo again.db*)" "0 $want again.db" 'a shard of a process that ended before its first run is merged'

# ---- a full disk ----

# size_to KB: the size of the folder full
size_to() { mount -o "remount,size=${1}k" full; }
mkdir full
if ! mount -t tmpfs -o size=400k tmpfs full 2>/dev/null; then
  skip 'no small file system can be mounted (not root)' 4
else
  trap 'umount "$work/full"; rm -rf "$work"' EXIT
  "$orrery" sweep s.json --db full/f.db --shard 1/2 -q 2>err
  is $? 1 'a part on a full disk fails'
  like "$(cat err)" 'full/f.db.shard-1-of-2: .*the disk is full: expected free space' 'and names the shard'
  "$orrery" sweep s.json --db full/f.db --shard 2/2 -q 2>/dev/null
  size_to 100000
  "$orrery" sweep s.json --db full/f.db --merge -q
  is "$? $("$orrery" db digest full/f.db)" "0 $want" 'with space, the study continues and has the same digest'
  rm full/*
  size_to 900
  "$orrery" sweep s.json --db full/g.db -q 2>err
  size_to 100000
  "$orrery" sweep s.json --db full/g.db -q
  like "$(cat err) $? $("$orrery" db digest full/g.db)" "the disk is full.* 0 $want" 'so does a study in one process'
  umount full
  trap 'rm -rf "$work"' EXIT
fi

# ---- errors ----

for wrong in 0/3 4/3 3 x/2 1/; do
  like "$("$orrery" sweep s.json --db w.db --shard "$wrong" 2>&1)" "--shard $wrong: expected K/N" "--shard $wrong is refused"
done
like "$("$orrery" sweep s.json --shard 1/2 2>&1)" 'expected --db FILE together with --shard' '--shard without --db is refused'
like "$("$orrery" sweep s.json --slurm 2 2>&1)" 'slurm: expected also --db FILE' '--slurm without --db is refused'
table='it without --dry-run, --status, --shard and --slurm, which print no table'
while IFS='|' read -r options expected; do
  # shellcheck disable=SC2086 # words
  is "$("$orrery" sweep s.json $options 2>&1; echo $?)" "orrery: ${options%% *}: this option has no effect: expected $expected
2" "refused: $options"
done <<EOT
--merge --db w.db --shard 2/2|it without --shard, after all shards have run
--retry|--db FILE too
--fresh|--db FILE too
--sbatch -t60 --db w.db|--slurm N too
--out o --dry-run|$table
--out o --status --db w.db|$table
--out o --slurm 2 --db w.db --dry-run|$table
--json --dry-run|$table
--json --db w.db --shard 1/2|$table
EOT
is "$(ls w.db* o 2>/dev/null)" "" "nothing has run"
head -c 3000 one.db >bad.db.shard-1-of-1
like "$("$orrery" sweep s.json --db bad.db --merge -q 2>&1)" 'bad.db.shard-1-of-1' 'a damaged shard is named'
[ -e bad.db.shard-1-of-1 ]; ok $? 'and kept'

# ---- Slurm ----

script=$("$orrery" sweep s.json --db "it's.db" --slurm 4 -j 2 --dry-run)
like "$script" 'array=1-4' 'the script has an array'
printf '%s\n' "$script" | SLURM_ARRAY_TASK_ID=2 sh -s 2>/dev/null
is "$(ls "it's.db"* | tr '\n' ' ')" "it's.db.shard-2-of-4 it's.db.shard-2-of-4.progress " 'a task of the script runs its part'

# free_port BELOW: a port of the loopback interface below BELOW where nothing listens
free_port() {
  local port=$(($1 - 1 - RANDOM % 5000))
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port - 1)); done
  echo $port
}
# slurm: starts Slurm on the loopback interface (one node, this machine) in the folder $work/slurm
slurm() {
  local d=$work/slurm host cpus
  host=$(hostname) cpus=$(nproc)
  mkdir -p "$d/state" "$d/spool" "$d/log"
  if ! munge -n >/dev/null 2>&1; then
    install -d -o munge -g munge -m 0755 /run/munge
    runuser -u munge -- "$(command -v munged || echo /usr/sbin/munged)" --force --foreground >/dev/null 2>&1 &
    munged=$!
    sleep 1
  fi
  cat >"$d/slurm.conf" <<EOF
ClusterName=lo
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port 25000)
SlurmdPort=$(free_port 32000)
AuthType=auth/munge
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool
SlurmctldPidFile=$d/slurmctld.pid
SlurmdPidFile=$d/slurmd.pid
SlurmctldLogFile=$d/log/slurmctld.log
SlurmdLogFile=$d/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=60
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus Sockets=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
EOF
  export SLURM_CONF=$d/slurm.conf
  slurmctld -f "$SLURM_CONF" >/dev/null 2>&1 && sleep 2 && slurmd -f "$SLURM_CONF" -N "$host" >/dev/null 2>&1 && sleep 3
  for _ in $(seq 20); do
    [ "$(sinfo -h -o %t 2>/dev/null)" = idle ] && return 0
    sleep 1
  done
  return 1
}
stop_slurm() {
  local pids=()
  for file in "$work"/slurm/slurmd.pid "$work"/slurm/slurmctld.pid; do
    [ -s "$file" ] && pids+=("$(cat "$file")")
  done
  [ -n "${munged:-}" ] && pkill -P "$munged" && pids+=("$munged")
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
}
if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munge >/dev/null || [ "$(id -u)" -ne 0 ]; then
  skip 'no Slurm, or not root (Debian: munge slurmctld slurmd slurm-client)'
elif ! slurm; then
  skip 'Slurm does not start on this machine'
  stop_slurm
else
  said=$("$orrery" sweep s.json --db slurm.db --slurm 3 -j 1); ok $? 'a Slurm array is submitted'
  like "$said" 'array [0-9]+ with 3 tasks; job [0-9]+ merges the shards' 'with a job that merges'
  for _ in $(seq 120); do
    [ -z "$(squeue -h)" ] && break
    sleep 0.5
  done
  is "$("$orrery" db digest slurm.db)" "$want" 'the same digest'
  merged=$(printf '%s' "$said" | sed 's/.*; job \([0-9]*\) .*/\1/')
  is "$(sed -n '/^run /,$p' "slurm-$merged.out" | sed -n 1,21p)" "$(sed -n 1,21p one.txt)" 'the table is in the output of the last job'
  stop_slurm
fi

# ---- MPI ----

mpi=(mpirun --oversubscribe --mca btl self,vader --mca pml ob1 --mca oob_tcp_if_include lo --mca plm isolated)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if ! grep -q '^#define HAVE_MPI' "$config"; then
  skip 'built without MPI (configure --with-mpi)'
else
  for n in 2 4; do
    "${mpi[@]}" -np $n "$orrery" sweep s.json --db mpi.db >mpi.txt 2>err; is "$? $("$orrery" db digest mpi.db)" "0 $want" "$n ranks: the same digest"
    is "$(sed -n 1,21p mpi.txt) $(echo mpi.db*)" "$(sed -n 1,21p one.txt) mpi.db" 'the first rank prints the table'
    "${mpi[@]}" -np $n "$orrery" sweep s.json --db mpi.db 2>&1 >/dev/null | grep merged >err
    is "$? $(cat err)" "0 orrery: $n shards merged into mpi.db: 0 runs added" 'a second study repeats no run'
    rm mpi.db
  done
  "${mpi[@]}" -np 2 "$orrery" sweep slow.json --db ranks.db -j 1 >/dev/null 2>ranks & pid=$!
  for _ in $(seq 600); do
    grep -q ' [1-9][0-9]* of .* runs' ranks && break
    sleep 0.1
  done
  kill $pid; wait $pid 2>/dev/null
  like "$(cat ranks)" '^orrery: [1-9][0-9]* of [0-9]+ runs \([0-9]+ %\), 0 failed, 2 of 2 parts, ' 'the first rank shows the runs of all ranks'
  "${mpi[@]}" -np 3 "$orrery" sweep s.json --db mpi.db -q 2>/dev/null & pid=$!
  sleep 0.5
  pkill -9 -P $pid -f 'sweep s.json' -n; wait $pid 2>/dev/null
  "${mpi[@]}" -np 2 "$orrery" sweep s.json --db mpi.db -q 2>/dev/null
  is "$? $("$orrery" db digest mpi.db)" "0 $want" 'a rank that was killed: the study continues with another number of ranks'
fi
tap_done
