#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Checkpoints of training from the command line: metrics, the pause as a part of an iteration, messages.
. "${srcdir:-.}/tests/tap.sh"

# step DB ARGUMENTS.. runs VGG-16 under all-reduce on four nodes: 1,660 MB of state.
step() {
  local db=$1; shift
  "$ORRERY" step vgg16 --cluster 4x1:v100 --network star:bw=10Gbps,lat=0 --policy allreduce --db "$work/$db" --no-figures \
    --set step.iterations=100 "$@" >"$work/out" 2>"$work/err"
}
metric() {
  sqlite3 "$work/$1" "SELECT printf('%.6g', value) FROM metrics WHERE name = '$2'"
}

step plain.db
step sync.db --set step.checkpoint_every=20 --set step.storage_bw=1GBps --record explain
is $? 0 'a run with checkpoints'
is "$(metric sync.db checkpoints) $(metric sync.db checkpoint_bytes)" '5 1.66029e+09' 'a checkpoint has 12 bytes for each parameter'
# The storage is slower than the four NICs of 1.25 GB/s.
is "$(metric sync.db checkpoint_pause_s) $(metric sync.db checkpoint_write_s) $(metric sync.db checkpoint_stall_s)" '1.66029 1.66029 8.30145' \
  'the pause is bytes / bandwidth of the storage'
is "$(metric sync.db iteration_without_s)" "$(metric plain.db iteration_s)" 'the iteration without checkpoints is that of a run without them'
is "$(sqlite3 "$work/sync.db" "SELECT abs(a.value - b.value - 1.660290528 / 20) < 1e-9 FROM metrics a JOIN metrics b
  ON a.name = 'iteration_s' AND b.name = 'iteration_without_s'")" 1 'iteration_s contains the pauses'
is "$(sqlite3 "$work/sync.db" "SELECT abs(c.value - 1 + b.value / a.value) < 1e-12 FROM metrics a JOIN metrics b
  ON a.name = 'iteration_s' AND b.name = 'iteration_without_s' JOIN metrics c ON c.name = 'checkpoint_share'")" 1 'the share of the time lost'
is "$(metric sync.db iterations) $(metric sync.db period)" '100 20' 'intervals between checkpoints repeat'
[ "$(metric sync.db iterations_simulated)" -lt 20 ]
is $? 0 "$(metric sync.db iterations_simulated) of 100 iterations are simulated"
like "$(cat "$work/out")" 'of 100 iterations simulated, the others repeat' 'the table says so'
like "$("$ORRERY" explain "$work/sync.db" --step 19)" '1660 ms checkpoint is written to the storage|1.66 s checkpoint is written to the storage' \
  'the pause is a part of its iteration'
wrong=$(sqlite3 "$work/sync.db" "SELECT count(*) FROM iterations i JOIN (SELECT subject, sum(end_ns - begin_ns) AS t FROM parts GROUP BY subject) p
  ON p.subject = i.number WHERE i.end_s * 1e9 - i.start_s * 1e9 - p.t NOT BETWEEN -2 AND 2")
is "$wrong $(sqlite3 "$work/sync.db" 'SELECT count(DISTINCT subject) FROM parts')" '0 40' 'parts add up, up to the end of the cycle'
like "$(cat "$work/out" "$work/err")" 'iterations from 40 on repeat earlier ones and have no parts' \
  'a remark says which iterations have none'

# In the background: writes of 1.66 s at most beside iterations of 0.7 s; K = 1 waits for them.
step async.db --set step.checkpoint_every=1 --set step.storage_bw=1GBps --set step.checkpoint_mode=async --record explain
like "$("$ORRERY" explain "$work/async.db" --step 1)" 'checkpoint waits for the write of the previous one.* checkpoint is copied to host memory' \
  'the wait for the previous write has its own part'
is "$(sqlite3 "$work/async.db" "SELECT abs(a.value - b.value - c.value) < 1e-9 FROM metrics a JOIN metrics b ON a.name = 'iteration_s' AND b.name = 'checkpoint_write_s'
  JOIN (SELECT 1660290528 / 4 / 15.75e9 AS value) c")" 1 'then an iteration takes a copy over PCIe 3.0 x16 and a write'

# Messages: one each, exit code 2, nothing stored.
refused() {
  local text=$1; shift
  rm -f "$work/no.db"
  step no.db "$@"
  local rc=$?
  [ $rc -eq 2 ] && [ "$(grep -c . "$work/err")" -eq 1 ] && grep -qF -- "$text" "$work/err"
  is $? 0 "$* is refused" || sed 's/^/# /' "$work/err"
}
every=--set=step.checkpoint_every=10
refused 'step.storage_bw: expected a rate such as 100GBps (bytes) or 800Gbps (bits), because step.checkpoint_every is set, found ""' "$every"
refused 'step.storage_bw: expected a rate such as 100GBps (bytes) or 800Gbps (bits), because step.checkpoint_every is set, found "1e999GBps"' "$every" --set step.storage_bw=1e999GBps
refused 'step.storage_nic_bw: expected a rate' "$every" --set step.storage_bw=1GBps --set step.storage_network=dedicated
refused 'step.snapshot_bw: expected a rate' "$every" --set step.storage_bw=1GBps --set step.checkpoint_mode=async --set step.snapshot_bw=0GBps
refused 'step.checkpoint_nodes: expected at most the 4 nodes of the cluster, found 5' "$every" --set step.storage_bw=1GBps --set step.checkpoint_nodes=5
refused 'checkpoint_every: expected a number from 0 to 10000000, found "-1"' --set step.checkpoint_every=-1
refused 'checkpoint_mode: expected one of sync|async, found "lazy"' "$every" --set step.checkpoint_mode=lazy
refused 'checkpoint_bytes: expected a number from 0.001 to 1000000, found "0"' "$every" --set step.checkpoint_bytes=0
"$ORRERY" plan bert-large --cluster 2x2:v100 --policy straight --set step.checkpoint_every=5 --set step.storage_bw=1GBps 2>"$work/err" >/dev/null
is $? 2 'orrery plan has no checkpoints'
like "$(cat "$work/err")" 'step.checkpoint_every: expected 0 here, or orrery step --plan FILE with this option, found 5' 'its message names the way'
"$ORRERY" jobs poisson:n=5,rate=0.1,gpus=1,mean=60 --cluster 2x2:v100 --policy fifo --set step.checkpoint_every=5 2>"$work/err" >/dev/null
is $? 2 'orrery jobs has none either'
like "$(cat "$work/err")" 'step.checkpoint_every: expected 0 here, or orrery step with this option, found 5' 'its message names the way'

# One checkpoint only: a remark asks for more iterations.
step one.db --set step.checkpoint_every=100 --set step.storage_bw=1GBps
like "$(cat "$work/out" "$work/err")" 'one checkpoint in the run: means over whole intervals need step.iterations of at least two intervals' 'a run with one checkpoint'

# The lowest common multiple of the interval and the policy's period does not fit.
step lcm.db --set step.checkpoint_every=7 --set step.storage_bw=1GBps --policy local-sgd --set step.iterations=20
like "$(cat "$work/out" "$work/err")" 'means over 14 iterations; checkpoints and the policy repeat together after 56: expected step.iterations of at least 57' \
  'a run shorter than that says what is expected'

# Workers that are not synchronised: samples are counted over whole intervals, too.
"$ORRERY" step vgg16 --cluster 4x1:v100 --policy parameter-server --db "$work/asp.db" --no-figures -q --set step.checkpoint_every=7 \
  --set step.storage_bw=1GBps --set policy.parameter-server.mode=asp
is "$(sqlite3 "$work/asp.db" "SELECT abs(a.value * b.value / 128 - 1) < 0.01 FROM metrics a JOIN metrics b
  ON a.name = 'iteration_s' AND b.name = 'samples_per_s'")" 1 'asp: samples_per_s is 128 samples / iteration_s'

# Without checkpoints Crossbow's tuner ends at more learners, whose iterations are longer: the comparison is for equal samples.
"$ORRERY" step resnet50 --cluster 4x1:v100 --policy crossbow --db "$work/tuned.db" --no-figures -q --set policy.crossbow.tune=true \
  --set step.checkpoint_every=5 --set step.storage_bw=2GBps --set step.iterations=61
is "$(sqlite3 "$work/tuned.db" "SELECT value > 0 AND value < 1 FROM metrics WHERE name = 'checkpoint_share'")" 1 'a tuned run: checkpoint_share is a share'

# Without checkpoints their options do not appear in the scenario, whose hash is that of before.
"$ORRERY" step vgg16 --cluster 4x1:v100 --policy allreduce --json 2>/dev/null | grep -c 'checkpoint\|storage_bw' >"$work/count"
is "$(cat "$work/count")" 0 'a run without checkpoints does not name them'
tap_done
