# trace info prints the exact counts in the README of each real trace.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Expected values: the "Measured" sections of these READMEs, computed by other
# programs. Their percentages and means have one decimal, so values are rounded to
# one decimal before they are compared.
. "$srcdir/tests/tap.sh"

info() {
  "$ORRERY" trace info "$@" >"$work/info" 2>"$work/error" || cat "$work/error"
  "$ORRERY" trace info "$@" --json >"$work/info.json" 2>/dev/null
}
# fact NAME: prints the value of a fact; fractions with 15 digits, which only the JSON has
fact() {
  local value
  value=$(awk -v k="$1 " 'index($0, k) == 1 { s = substr($0, length(k)); sub(/^ +/, "", s); print s; exit }' "$work/info")
  # shellcheck disable=SC2016 # of awk
  [[ $value =~ ^[0-9]+(\.[0-9]+)?$ ]] && awk -F'\t' -v k="\"$1\":" '$3 == k && $4 ~ /^[0-9]/ { sub(/,$/, "", $4); printf "%.15g\n", $4; found = 1; exit } END { exit !found }' \
    "$work/info.json" && return
  echo "$value"
}
# dist NAME: prints n mean sd min p25 p50 p75 p90 p95 p99 max sum, decimals rounded to one
dist() {
  awk -v k="$1 " 'index($0, k) == 1 { s = substr($0, length(k)); n = split(s, v, " ")
    for (i = 1; i <= n; i++) { x = sprintf("%.1f", v[i]); sub(/\.0$/, "", x); printf "%s%s", x, i < n ? " " : "\n" }; exit }' "$work/info"
}
# tally NAME: prints "key=count" of each key, in the order printed
tally() {
  awk -v k="$1:" 'index($0, k) == 1 { on = 1; next } on && NF == 0 { exit }
    on && $1 != "and" { c = substr($0, 3); sub(/ +[0-9]+( +[0-9.]+)? *$/, "", c); split(substr($0, length(c) + 3), v, " ")
      printf "%s%s=%s", sep, c, v[1]; sep = " " } END { print "" }' "$work/info"
}
facts() { # NAME VALUE ...
  while [ $# -gt 1 ]; do is "$(fact "$1")" "$2" "$trace: $1"; shift 2; done
}

trace=philly
if need "$traces/philly/philly.csv.gz"; then
  info "$traces/philly/philly.csv.gz"
  facts rows 82247 "first submission" "2017-09-04 10:30:41" "last submission" "2017-12-22 08:02:11" \
    "span days" 108.896875 "sorted by submission" no "duplicate rows" 65 "submitted at the time of the previous job" 6664 \
    "duration zero" 0 "duration below 60 s" 7654 "no GPU" 0 "duration not whole seconds" 0 \
    "duration >= 60 s and below 1000 GPU hours" 74428 "peak GPUs without waiting" 1243 "GPU time / span" 374.237274477106 \
    sha256 3e7c68fda81aa3456ae29ff7b5b8cd08a81ca915c45e1626baa43530636e5684
  is "$(dist "duration s")" "82247 13135.9 84457.1 1 115 1144 2932 11264.8 43646.2 254758.4 4628226 1080390950" "philly: durations"
  is "$(dist gpus)" "82247 1.3 1.8 1 1 1 1 1 2 8 128 107235" "philly: GPUs"
  is "$(dist "gpu_time s" | cut -d' ' -f1-9,11-)" "82247 42811.1 418571.4 1 123 1186 3170.5 12678 62433.4 37025808 3521082502" "philly: GPU time"
  is "$(dist "interarrival s")" "82246 114.4 1731.4 0 3 8 44 361 599 601 247199 9408690" "philly: gaps"
  is "$(tally "GPUs of a job")" "1=76627 2=1818 4=1870 8=1643 12=7 16=199 24=7 32=67 64=6 128=3" "philly: GPU histogram"
  is "$(tally queue)" "6214e9=41226 11cb48=16091 6c71a0=9953 b436b2=7423 103959=1934 ee9e8c=1511 0e4a51=1435 ed69ec=1137 7f04ca=723 2869ce=422 e13805=374 23dbec=8 51b7ef=4 795a4c=3 925e2b=3" "philly: virtual clusters"
  is "$(tally months)" "2017-09=5657 2017-10=47192 2017-11=21318 2017-12=8080" "philly: months"
fi

muri() { # NUMBER ROWS SPAN_DAYS DURATIONS GPUS GAPS HISTOGRAM GPU_HOURS MODELS
  trace="muri $1"
  need "$traces/muri_philly/trace$1.csv" || return
  info "$traces/muri_philly/trace$1.csv"
  facts rows "$2" "sorted by submission" yes
  is "$(printf '%.9f' "$(fact "span days")")" "$3" "$trace: span"
  is "$(dist "duration s" | cut -d' ' -f1-8,11-)" "$4" "$trace: durations"
  is "$(dist gpus | cut -d' ' -f1,4-)" "$5" "$trace: GPUs"
  is "$(dist "interarrival s" | cut -d' ' -f1-9,11-)" "$6" "$trace: gaps"
  is "$(tally "GPUs of a job")" "$7" "$trace: GPU histogram"
  is "$(printf '%.6f' "$(fact "GPU hours")")" "$8" "$trace: GPU hours"
  is "$(tally model | tr ' ' '\n' | sort -t= -k2,2nr -k1,1 | tr '\n' ' ' | sed 's/ $//')" "$9" "$trace: models"
}
muri 1 1494 125.203356481 "1494 250451.8 578658.5 2 630.5 14392.5 138246 655807.3 4628239 374174936" \
  "1494 1 1 4 8 8 8 32 32 7398" "1493 7245.5 28381.8 0 7 161 2387 15205.4 34507.8 522976 10817570" \
  "1=536 2=5 4=423 8=465 16=40 32=25" 383326.767778 \
  "gpt2=201 shufflenet_v2_x1_0=201 resnet18=195 bert=189 vgg19=189 a2c=182 vgg16=170 dqn=167"
muri 2 5755 99.216238426 "5755 99986.3 324359.1 1 619 8653 67493 237948.4 4257415 575421048" \
  "5755 1 1 4 8 8 16 32 32 29825" "5754 1489.8 6698.7 0 44 297.5 1149.8 3140.9 5797.4 272779 8572283" \
  "1=2335 2=171 4=937 8=1825 16=424 32=63" 824082.014722 \
  "vgg16=756 dqn=755 vgg19=751 gpt2=742 bert=702 resnet18=696 a2c=679 shufflenet_v2_x1_0=674"
muri 3 992 94.514178241 "992 46864.9 93838.2 1 438.5 3391.5 43733.8 189276.8 927475 46489935" \
  "992 1 8 8 8 32 32 32 32 9346" "991 8240.2 29232.4 3 27 546 4339.5 21131 39403.5 503537 8166025" \
  "1=134 2=22 4=34 8=691 16=3 32=108" 116690.098611 \
  "vgg16=135 bert=132 vgg19=132 shufflenet_v2_x1_0=126 a2c=121 gpt2=120 dqn=118 resnet18=108"
muri 4 2638 85.230972222 "2638 119336 253569 2 196 3318 153894.5 365814.6 4014063 314808424" \
  "2638 1 1 1 4 4 4 8 8 5310" "2637 2792.6 24185.2 0 3 4 6 16 524.2 589337 7363956" \
  "1=1680 2=265 4=611 8=82" 204902.103056 \
  "bert=343 shufflenet_v2_x1_0=343 vgg19=330 dqn=329 a2c=326 gpt2=323 resnet18=323 vgg16=321"

for list in default:0 gpuspec33:2388; do
  trace="openb ${list%:*}"
  need "$traces/openb/openb_pod_list_${list%:*}.csv" || continue
  info "$traces/openb/openb_pod_list_${list%:*}.csv"
  facts rows 8152 "never scheduled" 897 "share of one GPU" 3078 "one whole GPU" 3911 "no GPU" 1088 \
    "sorted by submission" yes "GPUs requested, all jobs" 6086.8 "GPU types named" "${list#*:}"
  is "$(tally queue)" "LS=4647 BE=3398 Burstable=100 Guaranteed=7" "$trace: QoS"
  is "$(tally status)" "Running=5193 Failed=1870 Pending=897 Succeeded=192" "$trace: phases"
  is "$(tally "GPUs of a job")" "0=1088 1=6989 2=16 4=15 8=44" "$trace: GPU histogram"
  is "$(tally gpu_milli | cut -d' ' -f1-10)" "1000=3986 0=1088 810=1078 470=750 320=328 650=253 230=140 460=128 590=75 160=74" "$trace: shares"
  is "$(dist "lifetime s")" "8152 25839.4 401721.4 0 167 540 1971.8 6573.4 16398.6 96509.6 12537496 210642503" "$trace: lifetimes"
  is "$(dist "wait s")" "7255 61.3 357.7 0 0 2 35 106 241 889.6 14330 444748" "$trace: waits"
  is "$(dist "run s")" "7255 28949.5 425714.6 4 175 616 2241 7763.6 18064 114347.8 12537496 210028342" "$trace: runs"
  is "$(dist "interarrival s")" "8151 1582.8 33303.4 0 45 161 436 948 1467.5 3421.5 1410436 12901761" "$trace: gaps"
  is "$(dist cpu_milli)" "8152 10480.4 8346.7 1000 4000 11300 12000 16400 24200 32000 120200 85436012" "$trace: CPUs"
  is "$(dist mem_mib)" "8152 37235.8 33227.9 0 15258 41560 49152 58368 64512 125952 737280 303546211" "$trace: memory"
done
if need "$traces/openb/openb_pod_list_gpuspec33.csv"; then
  is "$(tally "GPU types" | cut -d' ' -f1-12)" "(none)=5764 T4=1291 G2=331 P100=279 V100M16|V100M32=141 P100|V100M16|V100M32=103 G3=86 G2|P100|T4|V100M16|V100M32=39 P100|T4|V100M16|V100M32=33 A10|G2|T4|V100M16|V100M32=24 V100M16|V100M32|V100M32=22 V100M32=20" "openb gpuspec33: GPU types"
fi
trace="openb nodes"
if need "$traces/openb/openb_node_list_all_node.csv"; then
  info "$traces/openb/openb_node_list_all_node.csv"
  facts nodes 1523 GPUs 6212 cores 125514 "cores of nodes with GPUs" 107018 "memory TiB" 583.67578125
  is "$(awk '/^GPU type:/ { on = 1; next } on && NF == 0 { exit } on && $3 { print $1 "=" $3 }' "$work/info" | sort | tr '\n' ' ')" \
    "A10=2 G2=4392 G3=312 P100=265 T4=842 V100M16=195 V100M32=204 " "openb nodes: GPUs by type"
fi

trace=hpc2n
if need "$traces/swf_hpc2n_slice/hpc2n.swf"; then
  info "$traces/swf_hpc2n_slice/hpc2n.swf"
  facts rows 3170 "run time unknown" 25 "ran longer than the limit" 320 "sorted by submission" yes \
    "lowest job number" 1 "highest job number" 7183 "job numbers rise" yes "peak GPUs without waiting" 224 \
    "makespan s" 5283491 MaxProcs 240 UnixStartTime 1027839845
  is "$(printf '%.9f' "$(fact "span days")")" 57.291793981 "hpc2n: span"
  is "$(dist "wait s" | cut -d' ' -f1-7,9-10,12)" "3170 17605.8 40667.5 0 199.5 3561 16003.2 80036.6 202927.5 55810420" "hpc2n: waits"
  is "$(dist "duration s")" "3145 10128.3 25480.8 1 129 943 7331 28816.4 46761.6 110744.8 429927 31853357" "hpc2n: run times"
  is "$(dist gpus | cut -d' ' -f1,4-)" "3170 1 8 16 24 36 64 98 128 63965" "hpc2n: processors"
  is "$(dist "limit s" | cut -d' ' -f1,4-)" "3170 60 1800 6600 30000 54000 86400 288000 432000 79732020" "hpc2n: limits"
  is "$(dist "interarrival s")" "3169 1562 8502 0 2 109 634 3047.6 5735 29847.4 267122 4950011" "hpc2n: gaps"
  is "$(dist "gpu_time s" | cut -d' ' -f12)" 503655194 "hpc2n: work"
  like "$(grep '^user:' "$work/info")" "^user: 17;" "hpc2n: users"
fi
trace=nasa
if need "$traces/swf_nasa_ipsc/NASA-iPSC-1993-3.1-cln.swf.gz"; then
  info "$traces/swf_nasa_ipsc/NASA-iPSC-1993-3.1-cln.swf.gz"
  facts rows 18239 "wait recorded" 0 "limit given" 0 "duration zero" 173 "peak GPUs without waiting" 176 \
    "makespan s" 7949022 "highest job number" 42264 UnixStartTime 749458803 TimeZoneString US/Pacific
  is "$(dist "duration s" | cut -d' ' -f1-2,4-)" "18239 764.9 0 27 86 283.5 1479.2 3723 10931.6 62643 13950781" "nasa: run times"
  is "$(dist gpus | cut -d' ' -f4-)" "1 1 4 32 32 64 128 128 309953" "nasa: processors"
  is "$(dist "gpu_time s" | cut -d' ' -f12)" 474238015 "nasa: work"
  is "$(tally "GPUs of a job")" "1=4935 2=1763 4=2683 8=1793 16=1780 32=3662 64=1203 128=420" "nasa: processor histogram"
  like "$(grep '^user:' "$work/info")" "^user: 69;" "nasa: users"
fi

trace=synth480u
if need "$data/oracles/common/synth480u.csv"; then
  info "$data/oracles/common/synth480u.csv"
  facts rows 480 "sorted by submission" yes "duplicate rows" 0 "duration not whole seconds" 0
fi
tap_done
