#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Zero-bubble schedules against the authors' schedulers (sail-sg/zero-bubble-pipeline-parallelism 39f2c18) and DualPipe's orders
# (deepseek-ai/DualPipe 3da1bbe), at the command line: oracles/zero-bubble under $ORRERY_DATA_PATH.
#
#   zb, zb-v, dual-pipe, dual-pipe-v   order of every stage, makespan, longest stage, bubble, peak: equal
#   given-order                        the orders of V-Half and V-Min: start and end of every op equal
#   v-half, v-min                      makespan at most 3 % above the authors', peak not above
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
data=$data/oracles/zero-bubble
if [ ! -r "$data/cases.csv" ]; then
  skip "no oracles/zero-bubble under \$ORRERY_DATA_PATH"
  tap_done
  exit
fi
cd "$work" || exit 1

# run POLICY STAGES NAME=VALUE..: writes rows.csv and o/summary.csv
run() {
  local policy=$1 p=$2 set=()
  shift 2
  for pair in "$@"; do set+=(--set "policy.$policy.$pair"); done
  "$orrery" step "gpt:hidden=64,layers=$((2 * p)),heads=4,seq=16,vocab=100" --cluster "1x$p:a100" --batch 1 --policy "$policy" \
    --set step.iterations=1 "${set[@]}" --set "policy.$policy.update_s=0" --set "policy.$policy.dp_bytes=0" \
    --timeline rows.csv --out o --no-figures -q >said 2>&1 || { echo "# $(cat said)"; return 1; }
}
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
# rows of work as STAGE,ORDER
orders() {
  awk -F, 'NR > 1 && $4 == 0 && $6 != "update" { o[$3] = o[$3] (o[$3] == "" ? "" : " ") $6; n = $3 > n ? $3 : n }
    END { for (s = 0; s <= n; s++) print s "," o[s] }' rows.csv
}
# rows of work as STAGE,LABEL,START,END, sorted
ops() { awk -F, 'NR > 1 && $4 == 0 && $6 != "update" { print $3 "," $6 "," $7 "," $8 }' rows.csv | sort; }
# times.csv of a case in the same form: B and W of chunk slot 1 have small letters
given_ops() {
  awk -F, -v c="$1" '$1 == c { print $2 "," ($4 == 1 ? tolower($3) : $3) $5 "," $6 "," $7 }' "$data/times.csv" | sort
}

equal=0 same_times=0 timed=0 cases=0 replayed=0 blocks=0 within=0
while IFS=, read -r id scheduler p m tf tb tw tc mf mb mw most flags makespan longest bubble rate peak; do
  [ "$id" = case ] && continue
  common=(stage_times="$tf,$tb,$tw" op_memory="$mf,$mb,$mw" hop_s="$tc" micro_batches="$m")
  grep "^$id," "$data/orders.csv" | cut -d, -f2- >given.csv
  want="$makespan $longest $bubble $peak"
  case $scheduler in
  zb | zbv)
    policy=${scheduler/zbv/zb-v}
    cases=$((cases + 1))
    run "$policy" "$p" "${common[@]}" max_memory="${most:--1}" || continue
    got="$(metric makespan_s) $(metric longest_stage_s) $(metric stage_bubble_s) $(metric peak_activation_bytes)"
    if [ "$got" = "$want" ] && orders | cmp -s - given.csv && grep -q "setting $flags," <("$orrery" step \
      "gpt:hidden=64,layers=$((2 * p)),heads=4,seq=16,vocab=100" --cluster "1x$p:a100" --batch 1 --policy "$policy" --set step.iterations=1 \
      --set "policy.$policy.stage_times=$tf,$tb,$tw" --set "policy.$policy.op_memory=$mf,$mb,$mw" --set "policy.$policy.hop_s=$tc" \
      --set "policy.$policy.micro_batches=$m" --set "policy.$policy.max_memory=${most:--1}" --no-figures 2>&1); then
      equal=$((equal + 1))
    else
      echo "# $id: $got, expected $want"
    fi
    ;;
  *)
    policy=${scheduler/vhalf/v-half}
    policy=${policy/vmin/v-min}
    blocks=$((blocks + 1))
    if run given-order "$p" "${common[@]}" placement=v orders=given.csv; then
      got="$(metric makespan_s) $(metric longest_stage_s) $(metric stage_bubble_s) $(metric peak_activation_bytes)"
      [ "$got" = "$want" ] && replayed=$((replayed + 1)) || echo "# $id: $got, expected $want"
    fi
    ;;
  esac
  given_ops "$id" >want.csv
  if [ -s want.csv ]; then
    timed=$((timed + 1))
    ops | cmp -s - want.csv && same_times=$((same_times + 1)) || echo "# $id: other starts or ends"
  fi
  case $scheduler in zb | zbv) continue ;; esac
  run "$policy" "$p" "${common[@]}" || continue
  awk -v a="$(metric makespan_s)" -v b="$makespan" -v x="$(metric peak_activation_bytes)" -v y="$peak" \
    'BEGIN { exit !(a <= 1.03 * b && x <= y) }' && within=$((within + 1)) || echo "# $id: $policy takes $(metric makespan_s), expected $makespan"
done <"$data/cases.csv"
ok "$([ $cases -gt 20 ] && [ $equal = $cases ] && echo 0 || echo 1)" "zb, zb-v: orders, settings, makespan, longest stage, bubble and peak of $equal of $cases cases"
ok "$([ $blocks -gt 5 ] && [ $replayed = $blocks ] && echo 0 || echo 1)" "given-order: $replayed of $blocks orders of V-Half and V-Min replayed"
ok "$([ $timed -gt 15 ] && [ $same_times = $timed ] && echo 0 || echo 1)" "start and end of every op in $same_times of $timed cases"
ok "$([ $within = $blocks ] && echo 0 || echo 1)" "v-half, v-min: within 3 % of the authors' makespan at no higher peak in $within of $blocks cases"

equal=0 cases=0
while IFS=, read -r id scheduler ranks parts m f b w fb c makespan most least form peak; do
  [ "$id" = case ] && continue
  policy=${scheduler/dualpipev/dual-pipe-v}
  policy=${policy/dualpipe/dual-pipe}
  cases=$((cases + 1))
  run "$policy" "$ranks" stage_times="$f,$((b - w)),$w" op_memory=1,0,-1 hop_s="$c" micro_batches="$m" pair_s="$fb" || continue
  got="$(metric makespan_s) $(metric makespan_bubble_max_s) $(metric makespan_bubble_min_s) $(metric peak_activation_bytes)"
  if [ "$got" = "$makespan $most $least $peak" ] && orders | cmp -s - <(grep "^$id," "$data/dualpipe_orders.csv" | cut -d, -f2-); then
    equal=$((equal + 1))
  else
    echo "# $id: $got, expected $makespan $most $least $peak"
  fi
done <"$data/dualpipe_cases.csv"
ok "$([ $cases -gt 5 ] && [ $equal = $cases ] && echo 0 || echo 1)" "dual-pipe, dual-pipe-v: orders, makespan, bubbles and peak of $equal of $cases cases"
tap_done
