#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery goodput: values by hand, the two forms of input, and messages. The formulas themselves: tests/hwmodel/unit_goodput.c.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
o() { "$orrery" goodput "$@" 2>err; }
refused() {
  out=$("$orrery" goodput "$@" 2>err)
  code=$?
  [ "$code $out" = "2 " ] && cat err || echo "code $code, output $out"
}
# gamma 1: times add up. A pass of 50 samples takes 0.5 + 0.01 x 50 = 1 s.
values=(100 1000 10 100 0.5 0.01 2 0.25 1 0.125 1)
header=application,init_batch_size,max_batch_size,min_local_bsz,max_local_bsz,alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma
row=$(IFS=,; echo "net,${values[*]}")
printf '%s\n' "$header" "$row" "${row/net/other}" >apps.csv
names=${header#*,}
params=$(paste -d= <(tr , '\n' <<<"$names") <(printf '%s\n' "${values[@]}") | paste -sd,)

# 4 GPUs of one node, two passes: 400 samples in 1 + 1 + 1 + 0.125 x 2 = 3.25 s; phi = 300: efficiency 400 / 700
want=$(awk 'BEGIN { printf "%.6f,%.6f,%.6f", 400 / 3.25, 4 / 7, 400 / 3.25 * 4 / 7 }')
got() { awk -F, 'NR > 1 { printf "%.6f,%.6f,%.6f\n", $8, $9, $10 }'; }
is "$(o apps.csv --application net --gpus 4 --noise-scale 300 --atomic-bsz 50 --accum-steps 1 | got)" "$want" "one point of a table"
is "$(o --params "$params" --gpus 4 --noise-scale 300 --atomic-bsz 50 --accum-steps 1 | got)" "$want" "one point of parameters on the command line"
is "$(o --params "$params" --gpus 4 --grad-sqr 2 --grad-var 6 --atomic-bsz 50 --accum-steps 1 | got)" "$want" "the noise scale is M0 x variance / squared norm"
printf 'x,replicas,nodes,application,noise_scale,atomic_bsz,accum_steps\n1,4,1,other,300,50,1\n2,4,2,net,300,50,1\n' >points.csv
is "$(o apps.csv --points points.csv --evaluate | got | head -n 1)" "$want" "points of a file"
is "$(o apps.csv --points points.csv --evaluate -o out.csv; got <out.csv | tail -n 1)" \
  "$(awk 'BEGIN { t = 400 / 4.5; printf "%.6f,%.6f,%.6f", t, 4 / 7, t * 4 / 7 }')" "-o, and two nodes"
best=$(o apps.csv --points points.csv)
is "$(awk -F, 'NR > 1 && $7 >= 100 && $7 <= 1000 && $5 >= 10 && $5 <= 100 && $11 > 0 { n++ } END { print n }' <<<"$best")" 2 "without --evaluate: a batch within the limits is chosen"
is "$(o --params "$params" --gpus 1 --noise-scale 300 | cut -d, -f 11 | tail -n 1)" 1 "speedup is 1 on one GPU"
is "$(o --params "$params" --gpus 101 --nodes 101 --noise-scale 300 | cut -d, -f 5,7,10 | tail -n 1)" 0,0,0 "no valid batch on 101 GPUs"
is "$(o apps.csv --points points.csv --json | tr -d '\t\n ' | grep -o '"replicas":4' | wc -l)" 2 "--json"

is "$(refused)" "orrery: goodput: expected a table of applications or --params LIST, and not both; 'orrery goodput --help' shows the forms" "no input"
is "$(refused apps.csv --gpus 4 --noise-scale 1)" "orrery: goodput: expected --application NAME, because the table has 2 applications" "no application"
is "$(refused apps.csv --application nett --gpus 4 --noise-scale 1)" 'orrery: unknown application "nett": did you mean "net"?' "the nearest application"
is "$(refused apps.csv --application net --gpus 4)" "orrery: goodput: expected --noise-scale, or --grad-sqr and --grad-var" "no noise"
is "$(refused apps.csv --application net --gpus 4 --nodes 5 --noise-scale 1)" "orrery: goodput: nodes: expected at most the number of replicas (4), found 5" "more nodes than GPUs"
is "$(refused apps.csv --application net --gpus 1 --noise-scale 1 --atomic-bsz 50)" \
  "orrery: goodput: replicas x atomic_bsz x (accum_steps + 1): expected at least the init_batch_size, 100, found 50" "a batch below M0"
is "$(refused apps.csv --points points.csv --gpus 4)" "orrery: goodput: --points gives the points: expected no options of a single point with it" "two kinds of points"
is "$(refused --params "${params/gamma=1/gamma=11}" --gpus 1 --noise-scale 1)" \
  "orrery: goodput: --params: parameters: gamma: expected a number from 1 to 10, found 11" "a wrong parameter"
is "$(refused --params "${params/alpha_r/alpha_rr}" --gpus 1 --noise-scale 1)" \
  'orrery: goodput: --params: unknown parameter "alpha_rr", did you mean "alpha_r"?: expected a column of a table of applications' "an unknown parameter"
is "$(refused --params "${params%,*}" --gpus 1 --noise-scale 1)" "orrery: goodput: --params: expected gamma=NUMBER too" "a missing parameter"
is "$(refused apps.csv --application net --gpus x --noise-scale 1)" 'orrery: goodput: --gpus: expected a whole number from 1 to 1000000, found "x"' "a wrong number"
printf '%s\n' "$header" "$row" "$row" >twice.csv
is "$(refused twice.csv --gpus 1 --noise-scale 1)" 'orrery: twice.csv:3: application: expected a name that no earlier row has, found "net"' "a name twice"
printf '%s\n' "$header" "${row/1000/99}" >small.csv
is "$(refused small.csv --gpus 1 --noise-scale 1)" 'orrery: small.csv:2: net: max_batch_size: expected a number from 100 to 1000000000000, found 99' "a wrong row"
printf 'application,nodes,replicas\nnet,1,1\n' >p.csv
is "$(refused apps.csv --points p.csv)" "orrery: p.csv:2: expected the columns grad_sqr and grad_var, or noise_scale" "points without noise"
printf 'application,nodes,replicas,noise_scale\nnet,1,x,1\n' >p.csv
like "$(refused apps.csv --points p.csv)" '^orrery: p.csv:2: replicas: expected .*found "x"' "a wrong field"
tap_done
