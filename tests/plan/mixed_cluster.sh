# Search for a plan on 2,048 GPUs of two types. On a leaf-spine network the executor then runs the ten best plans.
# On a fat tree the rings of several stages share links; a run takes longer there, so the executor runs only the
# best plan.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
cd "$work" || exit 1
value() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' "$3/summary.csv"; }
cpu_s() { awk '{ split($2, t, /[ms]/); s += 60 * t[1] + t[2] } END { print s }' <<<"$1"; }
not_sanitized "plans for 2,048 GPUs take too long in a sanitized program"
for network in leaf-spine:leaves=16,spines=8,bw=25Gbps fat-tree:bw=25Gbps; do
  kind=${network%%:*}
  args=(gpt:hidden=8192,layers=48,heads=64,seq=1024,vocab=51200 --cluster 128x8:v100-32g,128x8:p100 --network "$network" --global-batch 1024
    --precision fp16 --set step.optimizer=adam -q --no-figures)
  used=$( { time (ulimit -v 1000000 && "$ORRERY" plan "${args[@]}" --policy grid --set plan.checked=0 --out search >/dev/null); } 2>&1 | grep -E 'user|sys')
  ok "$(awk "BEGIN { print !($(cpu_s "$used") < 60) }")" "$kind: the search takes $(cpu_s "$used") CPU s for $(value grid evaluations search) plans (60 at most) in 1 GB of address space"
  if [ "$kind" = fat-tree ]; then
    "$ORRERY" plan "${args[@]}" --policy grid --out tree >/dev/null
    ok "$(awk "BEGIN { print !($(value grid closed_form_worst_error tree) <= 0.1) }")" "$kind: relative error of the closed form on the best plan: $(value grid closed_form_worst_error tree) (0.1 at most)"
    continue
  fi
  used=$( { time "$ORRERY" plan "${args[@]}" --policy grid,grid@blind --set policy.blind.cut=equal --set plan.checked=10 --out checked >/dev/null; } 2>&1 | grep -E 'user|sys')
  ok "$(awk "BEGIN { print !($(cpu_s "$used") < 180) }")" "$kind: two searches and twenty runs of the executor take $(cpu_s "$used") CPU s (180 at most)"
  is "$(value grid plans_executed checked)" 10 "$kind: the executor runs the ten best"
  worst=$(value grid closed_form_worst_error checked)
  ok "$(awk "BEGIN { print !($worst <= 0.1) }")" "$kind: largest relative error of the closed form on the ten best plans: $worst (0.1 at most)"
  ok "$(awk "BEGIN { print !($(value grid iteration_s checked) <= $(value blind iteration_s checked)) }")" \
    "$kind: the best plan takes $(value grid iteration_s checked) s, at most as long as the best with equal cuts, $(value blind iteration_s checked) s"
done
tap_done
