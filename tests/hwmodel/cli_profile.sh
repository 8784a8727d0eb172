# orrery step with the laws of a profile: reports, refusals, intervals from draws
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1

law() { # family, op, time0_us, GFLOP/s, most FLOPs, covariance of the rate
  printf '{"family": "%s", "op": "%s", "precision": "fp32", "form": "roofline", "points": 20, "held_out": 4,
    "parameters": {"time0_us": %s, "rate_GFLOPps": %s, "rate_GBps": 700, "exponent": 2},
    "covariance_of_logs": [[0, 0, 0, 0], [0, %s, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    "range": {"flops": [1e6, %s]}, "held_out_error": {"mean": 0.1, "median": 0.06, "p90": 0.2}}' "$1" "$2" "$3" "$4" "${6:-0.01}" "$5"
}
profile() { # time0_us of products, GFLOP/s of products, device, most FLOPs of convolutions
  printf '{"schema": 1, "name": "made", "device": "%s", "title": "t", "source": "made up", "date": "2026-02-03", "backend": "synthetic",
    "stable": true, "measured_here": false, "note": "", "laws": [%s, %s, %s, %s]}\n' "${3:-v100}" "$(law gemm "" "${1:-10}" "${2:-13000}" 1e15)" \
    "$(law conv forward 20 10000 "${4:-1e15}")" "$(law conv data-gradient 20 10000 "${4:-1e15}")" "$(law conv weight-gradient 20 8000 "${4:-1e15}")"
}
profile >made.json
step() { "$orrery" step resnet50 --cluster 2x1:v100 --policy allreduce "$@" 2>&1; }

# ---- reports ----
said=$(step --profile made.json)
like "$said" 'times of layers: profile made \(made up, 2026-02-03; median error 6 %, mean 10 %\) for gemm, conv \(its laws here: 6 %\); the data sheet.s roofline for memory, update; in fp32: v100 has 8 times this peak in fp16 \(--precision\); on one GPU' \
  "a report names profile, date, error, and kernels without a law"
# Peaks of the data sheets: 67, 494.5, 989 and 1,979 TFLOP/s.
like "$(step --cluster 1x1:h100)" 'in fp32: h100 has 7.4 times this peak in tf32, 15 times in fp16, 15 times in bf16, 30 times in fp8' "fp32 is said where it is slow"
[[ $(step --cluster 1x1:h100 --precision tf32)$(step --cluster 1x1:k80) != *"in fp32: "* ]]; ok $? "and only there"
said=$(step --profile none)
like "$said" 'times of layers: data sheet only: roofline of v100' "without a profile: datasheet only"
[[ $said != *"carried over"* ]]; ok $? "the shares of the V100 were measured on it"
# The files of these devices state that DeepBench's and vidur's kernels were measured on others.
like "$(step --cluster 1x1:2080ti)" 'roofline of 2080ti .*; shares of the peak for gemm, conv carried over or assumed, not measured on 2080ti' "shares of another device are said"
like "$(step --cluster 1x1:a100)" "roofline for gemm, conv, update; shares of the peak for conv carried over or assumed, not measured on a100" "also beside a profile"
profile 10 13000 v100 1e9 >narrow.json
said=$(step --profile narrow.json)
like "$said" 'outside the range of its laws: [0-9]+ of [0-9]+ kernels \(conv [0-9]+\)' "kernels outside the laws' range are counted by family"
# NVIDIA publishes 412 images/s of ResNet-50 at batch 128 in FP32 on one V100.
rate=$("$orrery" step resnet50 --cluster 1x1:v100 --batch 128 --policy allreduce --json -q | grep -A1 '"samples_per_s"' | sed -n 's/.*"value":[^0-9]*\([0-9.e+]*\).*/\1/p' | head -n 1)
like "$(step)" "; on one GPU a computed step takes $(awk "BEGIN { printf \"%.2g\", 412 / $rate }") times the published one \(orrery device show v100\)" \
  "a report compares with the published step"
[[ $(step --set cost.measured=true) != *"computed step"* ]]; ok $? "but not if the published step is used"
said=$(step --profile made.json --json)
like "$said" '"cost_source":.*profile made' "the source of times is in the JSON output"
like "$(printf '%s' "$said" | tr -d '\n\t ')" '"profile_error":\{"value":0.05' "the error of the laws is a metric"
said=$(step --profile made.json --set step.compute_s=0.1)
like "$said" 'step.compute_s.*; profile made' "shares of a step that is given go by the profile, and it is said"
said=$("$orrery" step resnet50 --cluster 1x1:v100,1x1:k80 --policy allreduce --profile made.json 2>&1)
like "$said" 'v100: profile made .*; k80: ' "each type of GPU has its own source"
said=$("$orrery" step resnet50_v1 --cluster 1x1:p100 --batch 64 --policy allreduce --profile none --set cost.measured=true 2>&1)
like "$said" 'times of layers: measured \(TensorFlow 1.1, DGX-1\), at batch 64; .*shares of layers: data sheet only' "measured step times if asked for"

# ---- a profile is part of the run's hash ----
hash() { step --json -q "$@" | sed -n 's/.*"hash":[^"]*"\([^"]*\)".*/\1/p'; }
profile 11 >other.json
a=$(hash --profile made.json) b=$(hash --profile other.json) c=$(hash --profile made.json --cost-samples 4)
cp made.json again.json
[ -n "$a" ] && [ "$a" != "$b" ] && [ "$a" != "$c" ]
ok $? "the hash of a run depends on the profile's contents and the number of draws"
is "$("$orrery" scenario show resnet50 --world step --cluster 2x1:v100 --policy allreduce --profile made.json | grep -c '"profiles"')" 1 \
  "scenario show has the profiles' hashes"

# ---- draws ----
draws() { "$orrery" step resnet50 --cluster 2x1:v100 --policy allreduce,local-sgd --profile made.json --cost-samples 40 --json -q "$@" | grep -v '"hash"'; }
one=$(draws -j1)
is "$(draws -j2)" "$one" "draws do not depend on threads"
is "$(step --profile made.json --cost-samples 40 --json -q -j2 | grep -A3 '"samples_per_s"')" "$(printf '%s\n' "$one" | grep -A3 '"samples_per_s"' | head -4)" \
  "draws do not depend on the other policies of the command"
step --profile made.json --cost-samples 40 --out out --no-figures -q
is "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
  $at["metric"] == "samples_per_s" { print ($at["ci_low"] > 0 && $at["ci_low"] < $at["value"] && $at["value"] < $at["ci_high"]) }' out/summary.csv)" 1 \
  "summary.csv has the interval"
like "$(step --profile made.json --cost-samples 40 | tr '\n' ' ')" 'allreduce +[0-9]+ (\[|±).*intervals: 95 % of 40 draws of its laws' \
  "the table has the interval and explains it"

# Each rate has a standard deviation of 10 %, so the half-width of the interval is between a few per cent and 20 %
# of the throughput.
width=$(printf '%s\n' "$one" | tr -d '\n\t ' | sed 's/.*"samples_per_s":{"value":\([^,]*\),"ci_low":\([^,]*\),"ci_high":\([^}]*\)}.*/\1 \2 \3/' | awk '{ print ($3 - $2) / $1 }')
awk "BEGIN { exit !($width > 0.05 && $width < 0.4) }"
ok $? "the width of the interval follows from the covariance ($width)"

# ---- jobs whose speeds come from the step world ----
cat >jobs.csv <<'E'
job_id,submit_s,duration_s,gpus,model,strategy
a,0,600,2,resnet50,allreduce
b,10,900,4,resnet50,allreduce
c,20,300,4,resnet50,allreduce
E
jobs() { "$orrery" jobs jobs.csv --cluster 1x4:v100,1x4:k80 --policy fifo,sjf --profile made.json --json -q "$@" | grep -v '"hash"'; }
plain=$(jobs) one=$(jobs --cost-samples 10 -j1)
is "$(jobs --cost-samples 10 -j2)" "$one" "jobs: draws do not depend on threads"
value() { printf '%s\n' "$1" | tr -d '\n\t ' | sed 's/.*"makespan":{"value":\([^,]*\),"ci_low":\([^,]*\),"ci_high":\([^}]*\)}.*/\1 \2 \3/'; }
read -r before _ <<<"$(value "$plain")"
read -r after low high <<<"$(value "$one")"
is "$after" "$before" "jobs: draws do not change the value"
awk "BEGIN { exit !($low > 0 && $low < $after && $after < $high) }"
ok $? "jobs: the makespan has an interval ($after: $low to $high)"
sed 's/"flops": \[1e6, 1e15\]/"flops": [1e6, 1e9]/g' made.json >small.json
like "$("$orrery" jobs jobs.csv --cluster 1x4:v100 --policy fifo --profile small.json 2>&1 >/dev/null)" \
  "outside the range of their profile's laws: [0-9]+ of [0-9]+ kernels" "jobs: kernels outside the laws' range are counted"
is "$("$orrery" jobs jobs.csv --cluster 1x4:v100 --policy fifo --profile made.json 2>&1 >/dev/null | grep -c 'outside the range')" 0 \
  "jobs: without kernels outside the range nothing is reported"
alone=$(head -n 2 jobs.csv | "$orrery" jobs /dev/stdin --cluster 1x4:v100 --policy fifo --profile made.json --json -q --cost-samples 4)
like "$(printf '%s\n' "$alone" | tr -d '\n\t ')" '"makespan":\{"value":600,?"?[^"]*' "jobs: on its reference place a job takes the time of the trace"
is "$(printf '%s\n' "$alone" | tr -d '\n\t ' | grep -c '"makespan":{"value":[0-9.]*,"ci_low":[0-9]')" 0 "jobs: a value that draws do not change has no interval"
like "$one" '"cost_source":.*profile made \(made up, 2026-02-03; median error 6 %, mean 10 %\).*10 draws' "jobs: the report names the profile"
said=$("$orrery" jobs philly-like --cluster 4x8:v100 --policy fifo --cost-samples 10 2>&1)
like "$? $said" '^2 .*cost_samples: this option has no effect: expected a trace whose jobs name a strategy' "jobs: draws without a job that trains are refused"

# ---- hardware that the catalogue lacks: many virtual machines report only "AMD EPYC" as their processor ----
profile 10 300 "AMD EPYC" | sed 's/"synthetic"/"cpu"/; s/"measured_here": false/"measured_here": true/
  s/"rate_GFLOPps": [18]0*,/"rate_GFLOPps": 300,/g; s/"rate_GBps": 700/"rate_GBps": 30/g' >epyc.json
epyc() { "$orrery" "$@" 2>&1; }
said=$(epyc step resnet50 --cluster 2x1 --device cpu-epyc-zen5-2 --policy allreduce --profile epyc.json)
like "$said" '^times of layers: profile made \(made up.* for gemm, conv' "a profile measured on such a processor applies to the processor that is named"
said=$(epyc step resnet50 --cluster 2x1:cpu-epyc-zen5-2 --policy allreduce --profile epyc.json)
like "$said" '^times of layers: profile made \(made up.* for gemm, conv' "a profile measured on such a processor applies to the processor of the cluster"
said=$(epyc step resnet50 --cluster 2x1:v100 --policy allreduce --profile epyc.json)
like "$said" 'profile epyc.json: its device is AMD EPYC: expected a profile of v100' "a profile measured on a processor is refused for a GPU"
sed 's/"measured_here": true/"measured_here": false/' epyc.json >foreign.json
said=$(epyc step resnet50 --cluster 2x1:cpu-epyc-zen5-2 --policy allreduce --profile foreign.json)
like "$said" 'its device is AMD EPYC: expected a profile of cpu-epyc-zen5-2' "a profile that calib run did not measure does not apply to the processor"

# ---- refusals ----
refused() { # what, pattern, arguments..
  local what=$1 pattern=$2
  shift 2
  said=$(step "$@")
  like "$? $said" "^2 orrery: .*$pattern" "$what"
}
profile 10 13000000 >kilo.json # MFLOP/s written as GFLOP/s
refused "a rate a thousand times too high" 'made: \$\.laws\[0\] \(gemm fp32\): FLOP rate: 1.3e\+07 GFLOP/s is physically impossible: expected .* \(check the unit\)' --profile kilo.json
profile 0.01 >seconds.json
refused "a launch a thousand times too short" 'time of an empty call' --profile seconds.json
profile 10 3000 k80 >k80.json
refused "the profile of another device" 'profile k80.json: its device is k80: expected a profile of v100' --profile k80.json
head -c 400 made.json >cut.json
refused "half a profile" 'cut.json:[0-9]+' --profile cut.json
sed 's/"schema": 1/"schema": 7/' made.json >new.json
refused "a profile of another version" '\$\.schema: expected 1, found 7' --profile new.json
refused "no such profile" 'unknown profile "nonesuch"' --profile nonesuch
refused "draws without laws" 'cost_samples: device v100 has no profile, so there are no laws to draw' --profile none --cost-samples 10
refused "one draw" 'cost_samples: expected 0, or at least 2 draws, found "1"' --profile made.json --cost-samples 1
tap_done
