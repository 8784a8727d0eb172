# The closed form of policy grid compared with measured iterations of Megatron-DeepSpeed on A100s (vTrain's data).
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# One rule for all sizes: nothing is calibrated on these rows. Efficiency of products: the data sheet and measurements of the A100's file.
# Network: 800 Gb/s per node in eight NICs (vTrain's example configuration). docs/models/plan.md, "Accuracy".
. "$srcdir/tests/tap.sh"
rows=${ORRERY_DATA_PATH:-$srcdir/../shared}/papers/data/vtrain_iteration_times.csv
if [ ! -e "$rows" ]; then
  skip "no $rows"
  tap_done
  exit 0
fi
predict() { # of one row: billions gpus batch micro hidden heads layers seq tp dp pp
  "$ORRERY" plan "gpt:hidden=$5,layers=$7,heads=$6,seq=$8,vocab=51200" --cluster "$(($2 / 8))x8:a100-80g" --network star:bw=100Gbps,nics=8 \
    --global-batch "$3" --precision fp16 --set step.optimizer=adam --set cost.dropout=true --policy grid --set plan.checked=0 --json -q \
    --set "policy.grid.tp=$9" --set "policy.grid.pp=${11}" --set "policy.grid.replica_batch=$4" --set policy.grid.recompute=full \
    --set policy.grid.interleave_most=1 --set policy.grid.zero=off --set policy.grid.cut=equal --set policy.grid.order=tp-dp-pp \
    --set step.ignore_memory=true | grep -A1 '"iteration_s"' | sed -n 's/.*"value":[^0-9]*\([0-9.e+-]*\).*/\1/p'
}
tail -n +2 "$rows" | while IFS=, read -r b g batch micro h heads l seq tp dp pp ms; do
  echo "$b,$tp,$dp,$pp,$micro,$ms,$(predict "$b" "$g" "$batch" "$micro" "$h" "$heads" "$l" "$seq" "$tp" "$dp" "$pp")"
done >"$work/predicted"
awk -F, '{ printf "# %sB TP %s DP %s PP %s micro-batch %s: %.1f ms measured, %.1f predicted, %+.1f %%\n", $1, $2, $3, $4, $5, $6, 1000 * $7, 100 * (1000 * $7 / $6 - 1) }' "$work/predicted"
# Two measurements of one plan are merged, with the mean of their times.
sort -t, -k1,1 -k2,5 -s "$work/predicted" | awk -F, '
  { plan = $1 "," $2 "," $3 "," $4 "," $5 }
  plan != last { if (n) print last "," ms / n "," p; last = plan; n = ms = 0 }
  { n++; ms += $6; p = $7 }
  END { print last "," ms / n "," p }' >"$work/plans"
# Columns: size, number of plans, mean error, Spearman's rank correlation, predicted rank of the best plan, and the
# excess time of the plan ranked first over the best plan.
awk -F, '
  function rank(v, i,   k, r) { r = 1; for (k = 1; k <= n; k++) r += v[k] < v[i] ? 1 : k != i && v[k] == v[i] ? 0.5 : 0; return r }
  function size(   i, sab, saa, sbb, x, y, best, first, e) {
    if (!n) return
    best = first = 1
    for (i = 1; i <= n; i++) {
      if (m[i] < m[best]) best = i
      if (p[i] < p[first]) first = i
      x = rank(m, i) - (n + 1) / 2; y = rank(p, i) - (n + 1) / 2
      sab += x * y; saa += x * x; sbb += y * y
      e += (p[i] > m[i] ? p[i] - m[i] : m[i] - p[i]) / m[i]
    }
    print name, n, e / n, sab / sqrt(saa * sbb), rank(p, best), m[first] / m[best] - 1
    n = 0
  }
  $1 != name { size(); name = $1 }
  { n++; m[n] = $6; p[n] = 1000 * $7 }
  END { size() }' "$work/plans" >"$work/sizes"
ok "$([ "$(grep -c '[0-9]$' "$work/predicted")" = "$(($(wc -l <"$rows") - 1))" ]; echo $?)" "every row has a prediction"
mean=$(awk '{ n += $2; e += $2 * $3 } END { print 100 * e / n }' "$work/sizes")
ok "$(awk "BEGIN { print !($mean <= 14.73) }")" "mean error $mean % (vTrain's own: 14.73 %)"
while read -r size n error rho rank regret; do
  echo "# ${size}B: $n plans, mean error $(awk "BEGIN { print 100 * $error }") %, Spearman $rho, the best plan is ranked $rank, the plan ranked first takes $(awk "BEGIN { print 100 * $regret }") % longer than the best"
  # 39.1B: the measured plans with two shards contradict one another (docs/models/plan.md). One of these plans is
  # ranked first, but took 50.7 % longer than the fastest.
  [ "$size" != 39.1 ] || continue
  ok "$(awk "BEGIN { print !($regret <= 0.05) }")" "${size}B: the plan ranked first takes at most 5 % longer than the best"
  ok "$(awk "BEGIN { print !($rho >= 0.8) }")" "${size}B: Spearman correlation at least 0.8"
  # 175B: the third and fourth predicted times differ by 0.1 %.
  ok "$(awk "BEGIN { print !($rank <= ($size == 175 ? 4 : 3)) }")" "${size}B: predicted rank of the best plan: $rank"
done <"$work/sizes"
# 39.1B: what limits Spearman's coefficient. The two plans with the largest errors keep their predictions. All other plans
# are predicted exactly: the result is a bound for any better prediction of the others. Then the two plans are left out.
awk -F, '
  function rank(v, i,   k, r) { r = 1; for (k = 1; k <= n; k++) if (!out[k]) r += v[k] < v[i] ? 1 : k != i && v[k] == v[i] ? 0.5 : 0; return r }
  function spearman(v,   i, x, y, c, sab, saa, sbb) {
    for (i = 1; i <= n; i++) c += !out[i]
    for (i = 1; i <= n; i++) if (!out[i]) {
      x = rank(m, i) - (c + 1) / 2; y = rank(v, i) - (c + 1) / 2
      sab += x * y; saa += x * x; sbb += y * y
    }
    return sab / sqrt(saa * sbb)
  }
  function largest_error(   i, k, e, most) {
    for (i = 1; i <= n; i++) {
      e = p[i] / m[i] - 1; e = e < 0 ? -e : e
      if (!is_odd[i] && e > most) { most = e; k = i }
    }
    is_odd[k] = 1
    return name[k]
  }
  $1 == "39.1" { n++; m[n] = $6; p[n] = 1000 * $7; name[n] = "TP" $2 "-DP" $3 "-PP" $4 "-" $5 }
  END {
    odd = largest_error() " " largest_error()
    for (i = 1; i <= n; i++) q[i] = is_odd[i] ? p[i] : m[i]
    bound = spearman(q)
    for (i = 1; i <= n; i++) out[i] = is_odd[i]
    print odd, bound, spearman(p)
  }' "$work/plans" >"$work/bound"
read -r first second bound without <"$work/bound"
is "$first $second" "TP2-DP16-PP16-2 TP2-DP32-PP8-2" "39.1B: the two plans with the largest errors"
ok "$(awk "BEGIN { print !($bound < 0.8) }")" "39.1B: with all other plans predicted exactly, Spearman is $bound: below 0.8"
ok "$(awk "BEGIN { print !($without >= 0.85) }")" "39.1B: without these two plans, Spearman is $without"
# Pairs in the predicted order, of pairs whose measured times differ by more than 0, 1, 2, 3 and 5 %.
awk -F, '{ n++; b[n] = $1; m[n] = $6; p[n] = $7 }
  END {
    split("0 1 2 3 5", limit, " ")
    for (i = 1; i <= n; i++) for (k = 1; k < i; k++) if (b[i] == b[k])
      for (t = 1; t <= 5; t++) {
        d = m[i] / m[k] - 1; e = m[k] / m[i] - 1
        if ((d > 0 ? d : e) * 100 > limit[t]) { pairs[b[i], t]++; right[b[i], t] += (m[i] - m[k]) * (p[i] - p[k]) > 0 }
      }
    split("3.6 18.4 39.1 175", size, " ")
    for (s = 1; s <= 4; s++) {
      line = "# " size[s] "B: pairs in order, of those that differ by more than 0, 1, 2, 3, 5 %:"
      for (t = 1; t <= 5; t++) line = line sprintf(" %.1f %%", 100 * right[size[s], t] / pairs[size[s], t])
      print line
      if (size[s] != "39.1") print right[size[s], 5] == pairs[size[s], 5] > "'"$work"'/ordered"
    }
  }' "$work/plans"
is "$(xargs <"$work/ordered")" "1 1 1" "3.6B, 18.4B, 175B: all pairs that differ by more than 5 % are in order"
# The contradiction, from measurements only. 1F1B with equal stages takes (M + S - 1) times the time of a
# micro-batch. When a micro-batch grows, its time per sample falls by at most 15 %. Two families differ: small
# kernels (3.6B, TP 8), and 39.1B with TP 2.
awk -F, -v rows="$rows" 'BEGIN { while ((getline line <rows) > 0) { split(line, c, ","); batch[c[1]] = c[3] } }
  { m = batch[$1] / $3 / $5; s = $6 / (m + $4 - 1) / $5; key = $1 "," $2 "," $3 "," $4
    if (!(key in low) || s < low[key]) low[key] = s
    if (s > high[key]) high[key] = s
    count[key]++ }
  END { for (k in count) if (count[k] > 1) print k, high[k] / low[k] }' "$work/plans" | sort -k2,2 -g >"$work/spread"
is "$(awk '$2 > 1.15 { print $1 }' "$work/spread" | xargs)" "39.1,2,32,8 3.6,8,8,1" "measured seconds per sample contradict each other in two families"
sed 's/^/# /' "$work/spread"
tap_done
