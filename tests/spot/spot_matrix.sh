#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every built-in spot policy, with its rules, over elastic jobs, generators and options of the world, under --check:
# conservation holds; a policy that cannot run is rejected in one line with exit code 2. Four threads, and one event for each
# step, give the same database.
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "${work:?}" || exit 1

mapfile -t policies < <("$orrery" policy list --kind spot | awk '/^  / { print $1 }')
# Each line has LABEL PARAMETER=VALUE..: the same policies under other rules.
rules="bamboo@authors rules=authors
bamboo@event rules=event
bamboo@spread placement=spread reconfigure=paper
bamboo@agent reconfigure=agent stages_per_node=2
varuna@varuna-artifact rules=artifact
varuna@varuna-eager absorb=at-once background=false on_notice=false
oobleck@oobleck-artifact rules=artifact
oobleck@oobleck-loss absorb=at-loss f=2
parcae@parcae-seer predictor=oracle
parcae@parcae-fast choose=throughput predictor=last
parcae@parcae-draws draws=50
checkpoint@young interval=young copy=async snapshot=3s
checkpoint@timed interval=time every=7m join=never notice=false
checkpoint@stepped interval=steps every_steps=9
elastic-dp@drop loss=drop
elastic-dp@peers loss=redundant every=0
uniform-progress@no-hysteresis hysteresis=false
uniform-progress@up-seer oracle=true
time-sliced@surplus surplus=true slices=3"
ok "$((${#policies[@]} < 13))" "there are at least 13 policies (${#policies[@]})"
mapfile -t specs < <(printf '%s\n' "${policies[@]}" "$rules")

# Capacity and options. One world has a price series for three zones. Some policies need a deadline: worlds with one have a single zone.
worlds=("churn:slots=48,rate=0.3,length=5h --set spot.startup=90s"
  "bulk:slots=30,zones=a|b|c,cross=0.2,length=4h --prices price:zones=a|b|c,step=20m --set spot.notice=2m --set spot.billing=hour --set spot.egress_usd_per_GB=0.02 --set spot.startup=30s"
  "renewal:nodes=16,up=1h,down=20m,length=8h,cap=1 --set spot.deadline=52h --set spot.on_demand_startup=1m --set spot.notice=30s"
  "hazard:p=0.4,slots=20,length=6h --replications 3 --set spot.deadline=100h --set spot.target=13 --set spot.on_demand_quota=48"
  "renewal:nodes=20,zones=x|y,law=lognormal,up=40m,down=5m,length=6h --set spot.quota=25 --set spot.notice=1h --set spot.price=0 --record sample")

# The jobs are assigned to the worlds above in turn. The omniscient policy needs one zone, a job with an end, and at
# most as many instances as the job has.
jobs=(bamboo-vgg oobleck-bert cbl-48h parcae-bert cbl-ml-72h parcae-vgg19 bamboo-bert cbl-bio-22.5h oobleck-gpt3-2.7b parcae-gpt-1.5b)
if [ "${ORR_SANITIZED:-}" = 1 ]; then
  jobs=(bamboo-vgg oobleck-bert cbl-48h)
fi
run() { "$orrery" spot "$@" --check --no-figures -q; }
declare -A ran
refusals=0 n=0
for job in "${jobs[@]}"; do
  read -ra world <<<"${worlds[n % ${#worlds[@]}]} --until 7h"
  list="" set=() bad=""
  for spec in "${specs[@]}"; do
    read -ra part <<<"$spec"
    own=()
    for value in "${part[@]:1}"; do own+=(--set "policy.${part[0]#*@}.$value"); done
    # A short run shows whether the policy can run.
    run "${world[@]}" --job "$job" --policy "${part[0]}" "${own[@]}" --until 30m --replications 1 --record summary >said 2>&1
    case $? in
      0) list+=",${part[0]}" set+=("${own[@]}") ran[${part[0]%@*}]=1 ;;
      2) refusals=$((refusals + 1)) && [ "$(wc -l <said)" = 1 ] || bad+="${part[0]}: $(cat said); " ;;
      *) bad+="${part[0]}: $(cat said); " ;;
    esac
  done
  is "$bad" "" "$job in ${world[0]}: policies that cannot run are refused (${list#,})"
  rm -f ./*.db
  all=("${world[@]}" --job "$job" --policy "${list#,}" "${set[@]}" --seed 3)
  run "${all[@]}" -j 1 --db one.db 2>said
  ok $? "$job in ${world[0]}: all others keep the laws: $(head -n 1 said)"
  want=$("$orrery" db digest one.db)
  run "${all[@]}" -j 4 --db four.db 2>said
  is "$("$orrery" db digest four.db)" "$want" "$job: the same with four threads"
  run "${all[@]}" --exact --db exact.db 2>said
  is "$("$orrery" db digest exact.db)" "$want" "$job: the same with an event for each step"
  n=$((n + 1))
done
[ "${ORR_SANITIZED:-}" = 1 ] || is "${#ran[@]}" "${#policies[@]}" "each policy ran somewhere"
ok "$((refusals == 0))" "some combinations were refused ($refusals)"
tap_done
