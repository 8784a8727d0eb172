#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Step plugins that make one mistake each: the error names the policy (and the iteration, if any) and the mistake,
# the exit code is 1 (2 if the plugin rejects the input), and the database is unchanged. Plugins in the second list are
# unusual but allowed.
. "${srcdir:-.}/tests/tap.sh"
: "${CC:=cc}"
if ! command -v "${CC%% *}" >/dev/null; then
  skip "no C compiler ($CC)"
  tap_done
  exit
fi
include=$(cd "$srcdir" && pwd)/include
$CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$include" -o "$work/hostile.so" "$srcdir/tests/plugins/step_hostile.c"
ok $? "the plugin compiles with the public headers only"
step() { # HOW [OPTIONS]
  local how=$1
  shift
  (ulimit -c 0 && "$ORRERY" step lenet5 --cluster 4x1:v100 --policy "$work/hostile.so" --set "policy.step-hostile.how=$how" \
    --policy-timeout 1 --no-figures -q "$@") 2>&1
}
"$ORRERY" step lenet5 --cluster 2x1:v100 --policy allreduce --no-figures -q --db "$work/runs.db" >/dev/null 2>&1
before=$("$ORRERY" db digest "$work/runs.db")
while IFS='|' read -r how expected options; do
  # shellcheck disable=SC2086
  said=$(step "$how" --db "$work/runs.db" --fresh $options)
  like "$? $said" "^$expected" "$how"
done <<'EOT'
null_map|1 orrery: policy step-hostile: orr_step_lanes: the map is NULL
lanes_overlap|1 orrery: policy step-hostile: orr_step_lanes: lane 1, position 0: GPU 1 is in the map twice
lanes_nowhere|1 orrery: policy step-hostile: orr_step_lanes: lane 1, position 0: GPU 4000000000 is unknown
lanes_too_many|1 orrery: policy step-hostile: orr_step_lanes: 4294967295 lanes of 4294967295 positions: expected at most 4 GPUs, the number in the cluster
lanes_none|1 orrery: policy step-hostile: orr_step_lanes: 0 lanes
lanes_again|1 orrery: policy step-hostile: orr_step_lanes: called twice
compute_in_create|1 orrery: policy step-hostile: orr_compute: called outside build\(\): expected a call in build\(\)
after_in_create|1 orrery: policy step-hostile: orr_after: called outside build\(\): expected a call in build\(\)
group_in_create|1 orrery: policy step-hostile: orr_collective: called outside build\(\): expected a call in build\(\)
hold_nan|1 orrery: policy step-hostile: orr_hold: device 0, kind 0, -?nan bytes
hold_less|1 orrery: policy step-hostile: orr_hold: device 0, kind 0, -1 bytes
hold_nowhere|1 orrery: policy step-hostile: orr_hold: device 4294967295
hold_kind|1 orrery: policy step-hostile: orr_hold: device 0, kind 77
hold_too_much|2 orrery: policy step-hostile: everything: GPU 0 needs
samples_nan|1 orrery: policy step-hostile: orr_step_samples: expected a number above 0
samples_none|1 orrery: policy step-hostile: orr_step_samples: expected a number above 0
refuse|2 orrery: policy step-hostile: how: refuses to work on 4 GPUs
silent|1 orrery: policy step-hostile: create\(\) failed without a message: expected a message in \*err
hang_in_create|1 orrery: policy step-hostile: at 0\.000000000 s: create\(\) has not returned for 1 s
seconds_nan|1 orrery: policy step-hostile: iteration 0: orr_compute: expected seconds of at least 0, found -?nan
seconds_less|1 orrery: policy step-hostile: iteration 0: orr_compute: expected seconds
seconds_infinite|1 orrery: policy step-hostile: iteration 0: orr_compute: expected seconds
work_unknown|1 orrery: policy step-hostile: iteration 0: orr_compute: unknown kind of work 99
device_nowhere|1 orrery: policy step-hostile: iteration 0: orr_compute: device 4294967295: expected 0\.\.7
bytes_nan|1 orrery: policy step-hostile: iteration 0: orr_transfer: expected bytes
transfer_nowhere|1 orrery: policy step-hostile: iteration 0: orr_transfer: to: device 99
delay_nan|1 orrery: policy step-hostile: iteration 0: orr_delay: expected seconds
null_group|1 orrery: policy step-hostile: iteration 0: orr_collective: a pointer is NULL
null_devices|1 orrery: policy step-hostile: iteration 0: orr_collective: group: a pointer is NULL
null_collective|1 orrery: policy step-hostile: iteration 0: orr_collective: a pointer is NULL
null_lanes_collective|1 orrery: policy step-hostile: iteration 0: orr_collective_lanes: a pointer is NULL|--set policy.step-hostile.lanes=true
empty_group|1 orrery: policy step-hostile: iteration 0: orr_collective: the group is empty: expected at least one device
huge_group|1 orrery: policy step-hostile: iteration 0: orr_collective: a group of 4294967295: expected at most 8
member_twice|1 orrery: policy step-hostile: iteration 0: orr_collective: device 1 is in the group twice: expected it once
bytes_of_group|1 orrery: policy step-hostile: iteration 0: orr_collective: expected bytes
operation|1 orrery: policy step-hostile: iteration 0: orr_collective: unknown operation 9
algorithm|1 orrery: policy step-hostile: iteration 0: orr_collective: unknown operation 0 or algorithm 99
cannot|2 orrery: policy step-hostile: iteration 0: all-to-all: the algorithm double-tree does not support this operation
root|1 orrery: policy step-hostile: iteration 0: orr_collective: root 2: expected a rank of the group of 2
layers|1 orrery: policy step-hostile: iteration 0: orr_collective: layers 4294967295
islands|2 orrery: policy step-hostile: iteration 0: all-reduce: inner: expected a divisor of the 2 ranks, found 7
chunks|2 orrery: policy step-hostile: iteration 0: all-reduce: chunks: expected at most 1048576, found 4294967295
not_lanes|1 orrery: policy step-hostile: iteration 0: orr_collective_lanes: groups of 2 lanes at stride 1: expected a divisor of the 0 lanes
lane_size|1 orrery: policy step-hostile: iteration 0: orr_collective_lanes: groups of 65536 lanes|--set policy.step-hostile.lanes=true
lane_stride|1 orrery: policy step-hostile: iteration 0: orr_collective_lanes: groups of 2 lanes at stride 0|--set policy.step-hostile.lanes=true
lane_position|1 orrery: policy step-hostile: iteration 0: orr_compute: device 1: expected 0\.\.0|--set policy.step-hostile.lanes=true
cycle|1 orrery: policy step-hostile: iteration 0: orr_after: op 0 waits for op 0: expected an op created before it
forged|1 orrery: policy step-hostile: iteration 0: orr_after: op 0 waits for 7: expected an op
forged_zero|1 orrery: policy step-hostile: iteration 0: orr_after: op 0 waits for 100000000: expected an op
of_the_future|1 orrery: policy step-hostile: iteration 0: orr_after: op 0 waits for 200000001: expected an op
stale_index|1 orrery: policy step-hostile: iteration 1: orr_after: op 0 waits for 1000186a1: expected an op
stream|1 orrery: policy step-hostile: iteration 0: orr_on_stream: stream 8
stream_of_work|1 orrery: policy step-hostile: iteration 0: orr_on_stream: stream 0
work_elsewhere|1 orrery: policy step-hostile: iteration 0: orr_on_stream: stream 1
counts_nan|1 orrery: policy step-hostile: iteration 0: orr_counts: expected samples
takes_nan|1 orrery: policy step-hostile: iteration 0: orr_takes: expected bytes
takes_nowhere|1 orrery: policy step-hostile: iteration 0: orr_takes: device 77
takes_too_much|2 orrery: policy step-hostile: GPU 0 needs
null_label|1 orrery: policy step-hostile: iteration 0: orr_label: a pointer is NULL
null_update|1 orrery: policy step-hostile: iteration 0: orr_updates: a pointer is NULL
carries|1 orrery: policy step-hostile: iteration 0: orr_carries: expected a transfer, and layers below
carries_work|1 orrery: policy step-hostile: iteration 0: orr_carries: expected a transfer
update_kind|1 orrery: policy step-hostile: learn: op .*: update of kind 99|--set learn.problem=least-squares
update_worker|1 orrery: policy step-hostile: learn: op .*: expected the worker's device|--set learn.problem=least-squares
update_slice|1 orrery: policy step-hostile: learn: op .*: expected a slice below the number of slices|--set learn.problem=least-squares
update_scale|1 orrery: policy step-hostile: learn: op .*scale|--set learn.problem=least-squares
update_place|1 orrery: policy step-hostile: learn: op .*sending of a slice|--set learn.problem=least-squares
runs_ahead|1 orrery: policy step-hostile: 65536 iterations are in flight at 0 s: expected iterations that wait|--set step.iterations=10000000
update_mark|1 orrery: policy step-hostile: iteration 0: orr_updates: op 1 is a mark or a delay|--set learn.problem=least-squares
update_mixed|1 orrery: policy step-hostile: iteration 0: orr_updates: op out of order: expected all updates of one op before|--set learn.problem=least-squares
update_never|1 orrery: policy step-hostile: 100 iterations without a gradient|--set learn.problem=least-squares
hold_late|1 orrery: policy step-hostile: iteration 0: orr_hold: called outside create\(\): expected a call in create\(\)
samples_late|1 orrery: policy step-hostile: iteration 0: orr_step_samples: called outside create\(\): expected a call in create\(\)
period_late|1 orrery: policy step-hostile: iteration 0: orr_step_period: called outside create\(\): expected a call in create\(\)
lanes_late|1 orrery: policy step-hostile: iteration 0: orr_step_lanes: called outside create\(\): expected a call in create\(\)
nothing|1 orrery: policy step-hostile: iteration 0: build\(\) created no op: expected at least one
marks|1 orrery: policy step-hostile: iteration 0 has only marks
detached|1 orrery: policy step-hostile: iteration 0: all ops are detached
quits|1 orrery: policy step-hostile: iteration 0: had enough of it in iteration 0
quits_silently|1 orrery: policy step-hostile: iteration 0: build\(\) returned 1 without a message: expected a message in \*err
endless|1 orrery: policy step-hostile: at .* s: op 1 of iteration 0
hang|1 orrery: policy step-hostile: iteration 0 at 0\.000000000 s: build\(\) has not returned for 1 s
hang_in_describe|1 orrery: policy step-hostile: at .* s: describe\(\) has not returned for 1 s
hang_in_destroy|1 orrery: policy step-hostile: at .* s: destroy\(\) has not returned for 1 s
EOT
is "$("$ORRERY" db digest "$work/runs.db")" "$before" "the database is unchanged"

# ---- unusual but allowed ----
while IFS='|' read -r how options; do
  # shellcheck disable=SC2086
  said=$(step "$how" --check --out "$work/out" --set step.iterations=6 $options)
  is "$? ${said:0:7}" "0 " "allowed: $how"
done <<'EOT'
priorities
long_label
no_ops
wrong_questions
late
bandwidth|--set policy.step-hostile.lanes=true
EOT
# 2^31 gathers among 4 devices have 3 steps each; a step takes 1 byte at 1.25e9 bytes/s, without latency.
said=$(step many_repeats --network star:bw=10Gbps,lat=0 --set step.iterations=1 --out "$work/many")
is "$? $said $(sed -n 's/^.*,iteration_s,\([0-9.]*\),.*$/\1/p' "$work/many/summary.csv" | cut -c1-8)" "0  5.153960" \
  "2^31 repeats take 2^31 times as long"
tap_done
