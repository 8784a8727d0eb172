#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Spot plugins with one error each. Expected: a message with policy, instance (if any), time and error, exit code 1, and an unchanged
# database.
. "${srcdir:-.}/tests/tap.sh"
: "${CC:=cc}"
if ! command -v "${CC%% *}" >/dev/null; then
  skip "no C compiler ($CC)"
  tap_done
  exit
fi
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
$CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$tree/include" -o hostile.so "$tree/tests/plugins/spot_hostile.c"
ok $? "the plugin compiles with the public headers alone"
echo '{"name": "j", "source": "made up", "samples_per_step": 8, "points": [[1, 1, 1000]]}' >j.json
printf 'time_s,event,node\n0,add,a\n9.5,remove,a\n20,add,b\n40,end,\n' >t.csv
run() { # HOW [OPTIONS]
  local how=$1
  shift
  (ulimit -c 0 && "$ORRERY" spot t.csv --job j.json --policy ./hostile.so --set "policy.spot-hostile.how=$how" --set spot.startup=1s \
    --set spot.egress_usd_per_GB=0.1 --policy-timeout 1 --check --no-figures -q "$@") 2>&1
}
is "$(run "" --db runs.db; echo $?)" 0 "the plugin without a mistake runs"
is "$(run act_in_end --out acts; echo $?)" 0 "actions in end() are refused"
run "" --out plain
is "$(sha256sum <acts/summary.csv)" "$(sha256sum <plain/summary.csv)" "actions in end() change nothing"
before=$("$ORRERY" db digest runs.db)
p="orrery: policy spot-hostile:"
while IFS='|' read -r how expected; do
  said=$(run "$how" --db runs.db --fresh)
  like "$? $said" "^${expected/ P/ $p}" "$how"
  is "$(grep -c . <<<"$said")" 1 "$how: in one line"
done <<'EOT'
silent|2 P create\(\) returned NULL without an error message: expected an object, or \*err filled in$
hang_in_create|1 P .*create\(\) has not returned for 1 s
hang|1 P .*instance 0.*has not returned for 1 s
hang_in_end|1 P .*end\(\) has not returned for 1 s
hang_in_destroy|1 P .*destroy\(\) has not returned for 1 s
give_up_in_create|2 P at 0\.000000000 s: not for me$
layout_in_create|1 P at 0\.000000000 s: orr_layout\(\): the instance has ended or never existed: expected a live instance$
act_in_destroy|1 P at 40\.000000000 s: orr_release\(\): expected a call from a function of the policy$
use_gone|1 P instance a at 9\.500000000 s: orr_own\(\): the instance has ended: expected a live instance$
release_gone|1 P instance a at 9\.500000000 s: orr_release\(\): the instance has ended: expected a live instance$
no_owner|1 P at 9\.500000000 s: a step is in flight although stage 0 of pipeline 0 has no live owner
run_twice|1 P at 1\.000000000 s: orr_steps_run\(\) while a step is in flight
timer_now|1 P at 1\.000000000 s: orr_spot_timer\(\): timers are set endlessly for this instant: expected at most spot.max_calls_per_instant
spin|1 P at 0\.000000000 s: .*(timers are set endlessly|decide\(\) was called)
take_and_give|1 P at 0\.000000000 s: decide\(\)
lose_in_end|1 P at 40\.000000000 s: orr_lose\(\): 1000000 steps: expected at most 0, the number of uncommitted steps \(orr_steps_are_provisional\(\) was not called\)$
layout_unknown|1 P at 1\.000000000 s: orr_layout\(\): the instance has ended or never existed: expected a live instance$
layout_none|1 P at 1\.000000000 s: orr_layout\(\): the handle is 0: expected an instance$
layout_null|1 P at 1\.000000000 s: orr_layout\(\): owners is NULL: expected owners of 2 x 2 stages$
layout_huge|1 P at 1\.000000000 s: orr_layout\(\): 4294967295 x 4294967295 stages: expected at most 16777216$
layout_flat|1 P at 1\.000000000 s: orr_own\(\): stage 0 of pipeline 0: expected one of the layout's 0 x 0$
own_two|1 P instance a at 1\.000000000 s: orr_own\(\): stage 0 of pipeline 0 has an owner, a: expected orr_disown\(\) before$
own_nowhere|1 P at 1\.000000000 s: orr_own\(\): stage 4294967295 of pipeline 4294967295: expected one of the layout's 1 x 1$
disown_twice|1 P at 1\.000000000 s: orr_disown\(\): stage 0 of pipeline 0 has no owner
disown_to_unknown|1 P at 1\.000000000 s: orr_disown\(\): the instance
drop_twice|1 P at 1\.000000000 s: orr_drop_pipeline\(\): pipeline 0 was dropped: expected a remaining pipeline of the layout$
drop_all|1 P at 1\.000000000 s: a step is in flight although all pipelines were dropped
release_twice|1 P at 1\.000000000 s: orr_release\(\): the instance has ended or never existed: expected a live instance$
release_owner|1 P at 1\.000000000 s: a step is in flight although stage 0 of pipeline 0 has no live owner
want_nowhere|1 P at 1\.000000000 s: orr_want\(\): zone 77: expected less than 1$
request_nowhere|1 P at 1\.000000000 s: orr_request\(\): zone 77: expected less than 1$
on_demand_anywhere|1 P at 1\.000000000 s: orr_request_on_demand\(\): zone 4294967295: expected less than 1$
steps_null|1 P at 1\.000000000 s: orr_steps_run\(\): the pointer is NULL: expected a struct orr_steps$
steps_of_nothing|1 P at 1\.000000000 s: orr_steps_run\(\): a step of 0 ns
steps_negative|1 P at 1\.000000000 s: orr_steps_run\(\): a step of -9223372036854775808 ns
steps_huge|1 P at 1\.000000000 s: orr_steps_run\(\): a step of 9223372036854775807 ns
samples_nan|1 P at 1\.000000000 s: orr_steps_run\(\): -?nan samples
redundant_two|1 P at 1\.000000000 s: orr_steps_run\(\): redundant is 2: expected 0 to 1$
egress_huge|1 P at 1\.000000000 s: orr_steps_run\(\): .* 1e\+300 bytes of egress
egress_infinite|1 P at 1\.000000000 s: orr_egress\(\): expected 0 to 1e30 bytes, found inf
pace_zero|1 P at 1\.000000000 s: orr_steps_pace\(\): 0 ns: expected more than 0 and less than 73 years$
stretch_for_ever|1 P at 1\.000000000 s: orr_steps_stretch\(\): by 2305843009213693951 ns
shrink|1 P at 1\.000000000 s: orr_steps_stretch\(\): by -1 ns
samples_negative|1 P at 1\.000000000 s: orr_steps_samples\(\): -1: expected at least 0 and less than 1e18$
provisional_late|1 P at 1\.000000000 s: orr_steps_are_provisional\(\): steps have been run: expected a call in create\(\)$
commit_most|1 P at 1\.000000000 s: orr_commit\(\): 18446744073709551615 steps: expected at most 0, the number of uncommitted steps
lose_most|1 P at 1\.000000000 s: orr_lose\(\): 18446744073709551615 steps: expected at most 0, the number of uncommitted steps
pause_as_useful|1 P at 1\.000000000 s: orr_pause_as\(0\): expected
timer_past|1 P at 1\.000000000 s: orr_spot_timer\(\): at -9223372036\.854.* s: expected a time from now on$
timer_rank|1 P at 1\.000000000 s: orr_spot_timer\(\): rank 8: expected 0 to 7$
future|1 P at 1\.000000000 s: orr_spot_future\(\): this function reads the future: expected a policy that declares ORR_NEEDS_ORACLE
true_end|1 P at 1\.000000000 s: orr_inst_true_end\(\): this function reads the future: expected a policy that declares ORR_NEEDS_ORACLE
offer_end|1 P at 1\.000000000 s: orr_offer_true_end\(\): this function reads the future: expected a policy that declares ORR_NEEDS_ORACLE
count_nothing|1 P at 1\.000000000 s: .*cannot name a metric
count_usd|1 P at 40\.000000000 s: .*: usd is a metric of the world: expected another name$
report_accounts|1 P at 1\.000000000 s: .*"paused_part" cannot name a metric
report_infinite|1 P at 1\.000000000 s: orr_spot_report\(\): lots: expected a finite number, found inf$
report_odd|1 P at 1\.000000000 s: .*cannot name a metric
give_up|1 P at 1\.000000000 s: had enough$
give_up_mutely|1 P at 1\.000000000 s: the policy failed without a message: expected a message that gives the reason$
go_on|1 P at 1\.000000000 s: orr_layout\(\): the instance has ended or never existed: expected a live instance$
ask_nowhere|1 P at 1\.000000000 s: nothing is there$
EOT
# A million calls take more than a second under the sanitizers.
like "$(run on_demand_most --db runs.db --fresh --policy-timeout 60)" "^$p at 1\.000000000 s: too many live instances: expected at most 1048576" "on_demand_most"
is "$("$ORRERY" db digest runs.db)" "$before" "the database is unchanged"
tap_done
