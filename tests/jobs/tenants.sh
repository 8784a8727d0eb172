#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures of fairness among users and jobs, by hand (docs/models/jobs-fair.md#measures-of-fairness).
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# metrics TRACE CLUSTER POLICY NAME..
metrics() {
  "$orrery" jobs "$1" --cluster "$2" --policy "$3" --check --no-figures -q --out out >/dev/null 2>err || cat err
  local name
  for name in "${@:4}"; do awk -F, -v m="$name" '$2 == m { printf "%s%.4f", n++ ? " " : "", $3 }' out/summary.csv; done | sed 's/\(\.[0-9]\{4\}\)\([0-9]\)/\1 \2/g'
}
# One GPU, fifo: a has it from 0 to 10 s, b from 10 to 40 s. a asks for 1 GPU in 10 s and holds it: x = 1. b asks for 1 GPU in 40 s and holds
# 30/40: x = 0.75. Jain: 1.75^2 / (2 (1 + 0.5625)); b would have 1 with a's mean GPUs: envy 0.25, mean 0.125.
printf 'submit_s,duration_s,gpus,user\n0,10,1,a\n0,30,1,b\n' >two.csv
is "$(metrics two.csv 1x1 fifo tenants jain_tenants envy_mean envy_max)" "2.0000 0.9800 0.1250 0.2500" "two users on one GPU"
# JCT / D / max(1, 2 / 1): 10 / 10 / 2 and 40 / 30 / 2; none above 1.05
is "$(metrics two.csv 1x1 fifo ftf_static_mean ftf_static_max ftf_unfair)" "0.5833 0.6667 0.0000" "jobs on one GPU: rho with an equal share"
# The same with jobs on two GPUs: shares of the request, not GPUs, are compared.
printf 'submit_s,duration_s,gpus,user\n0,10,2,a\n0,30,2,b\n' >pairs.csv
is "$(metrics pairs.csv 1x2 fifo jain_tenants envy_mean envy_max)" "0.9800 0.1250 0.2500" "two users on two GPUs"
# On 2 GPUs both run at once: x = 1 for both, no envy; rho = JCT / D = 1.
is "$(metrics two.csv 1x2 fifo jain_tenants envy_max ftf_static_max ftf_unfair)" "1.0000 0.0000 1.0000 0.0000" "enough GPUs: no envy"
# Three GPUs, four jobs of 10 s on 2 GPUs one after the other: JCT 10, 20, 30, 40; rho = JCT / 10 / (4 / 3): 0.75, 1.5, 2.25, 3: 3 of 4 unfair.
printf 'submit_s,duration_s,gpus,user\n0,10,2,a\n0,10,2,a\n0,10,2,a\n0,10,2,a\n' >one.csv
is "$(metrics one.csv 1x3 fifo ftf_static_max ftf_unfair)" "3.0000 0.7500" "unfair jobs"
is "$(metrics one.csv 1x3 fifo tenants)" "" "one user: no measures among users"
# One GPU, both at half speed from 0 s: a has 50 s of work and ends at 100 s with half of the GPU, b goes on alone to 150 s: held 50 + 50 of 150 s.
# x = 0.5 and 2/3.
printf 'submit_s,duration_s,gpus,user,occupancy\n0,50,1,a,1\n0,100,1,b,1\n' >share.csv
is "$(metrics share.csv 1x1 gandiva jain_tenants envy_max)" "0.9800 0.1667" "GPUs that users share"
# Two types: the slow GPU does half the work. a holds the fast one for its 10 s, b the slow one for 20 s of its 20 s: x = 1 and 0.5; b envies a: 0.5.
printf 'submit_s,duration_s,gpus,user\n0,10,1,a\n0,10,1,b\n' >types.csv
is "$(metrics types.csv 1x1:fast:speed=1,1x1:slow:speed=0.5 fifo jain_tenants envy_mean envy_max)" "0.9000 0.2500 0.5000" "users on two GPU types"
# Twice the durations at twice the speed are the same run: rho of 10 / 10 / 2 and 40 / 30 / 2 as above, not half of it.
printf 'submit_s,duration_s,gpus\n0,20,1\n0,60,1\n' >fast.csv
is "$(metrics fast.csv 1x1:fast:speed=2 fifo ftf_static_mean ftf_static_max ftf_max)" "0.5833 0.6667 $(metrics two.csv 1x1 fifo ftf_max)" "rho counts the speed of the GPUs"
# One job of 20 s of work on GPUs of speed 2 and 0.5: 20 / 1.25 = 16 s on a share of each; it takes 10 s, or 40 s if it accepts the slow type only,
# where its share gives it 40 s.
printf 'submit_s,duration_s,gpus,gpu_types\n0,20,1,\n100,20,1,slow\n' >mean.csv
is "$(metrics mean.csv 1x1:fast:speed=2,1x1:slow:speed=0.5 fifo ftf_mean ftf_max)" "0.8125 1.0000" "rho with GPUs of two speeds"
# Four jobs, each alone on its quarter of the GPU. Their mean number is 4, so each has its share: rho = 1.
printf 'submit_s,duration_s,gpus,gpu_milli\n0,1000,1,250\n0,1000,1,250\n0,1000,1,250\n0,1000,1,250\n' >parts.csv
is "$(metrics parts.csv 1x1 fifo ftf_mean ftf_max)" "1.0000 1.0000" "jobs on parts of a GPU"
# One after the other. a has jobs to 20 s, asks for 0.5 x 10 + 1 x 20 GPU s and holds 5 + 10: x = 0.6. b asks for 0.5 x 30 GPU s in 30 s and
# holds 5: x = 1/3. With a's 0.75 GPUs it would have 1: envy 2/3. Jain: (14/15)^2 / (2 (9/25 + 1/9)).
printf 'submit_s,duration_s,gpus,gpu_milli,user\n0,10,1,500,a\n0,10,1,1000,a\n0,10,1,500,b\n' >half.csv
is "$(metrics half.csv 1x1 fifo jain_tenants envy_mean envy_max)" "0.9245 0.3333 0.6667" "users who ask for a half of a GPU"
tap_done
