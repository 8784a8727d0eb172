#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tables from the layers of networks: FLOP counts on a flat device, ratios of vision transformers, messages of groups, bytes.
# Expected values are restated here from the dimensions: MAC = p 768 D + L (12 n D^2 + 2 n^2 D) + 1000 D, n = p + 1 tokens.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
models=$(cd "$srcdir" && pwd)/hwmodel/models
cd "$work" || exit 1
data=${ORRERY_DATA_PATH:-$srcdir/../shared}/papers/data/vit_gmac.csv
show() { "$orrery" model show --served "$@" --json; }
latency() { show "$@" | awk -F: '/"latency_s"/ { print $2 + 0; exit }' OFMT=%.17g CONVFMT=%.17g; }
value() { show "${@:2}" | awk -F: -v key="\"$1\"" '$1 ~ key { print $2 + 0; exit }' CONVFMT=%.17g; }
within() { awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { off = a / b - 1; print (off <= e && off >= -e) ? "within" : a " for " b }'; }
macs() { awk -v D="$1" -v r="$2" -v L="${3:-12}" 'BEGIN { p = (r / 16) ^ 2; n = p + 1; printf "%.17g", p * 768 * D + L * (12 * n * D * D + 2 * n * n * D) + 1000 * D }'; }
completion() { "$orrery" serve poisson:rate=0.001,n=5 --policy fifo -q --no-figures --out out "$@" 2>err && awk -F, '$2 == "completion_mean" { print $3 }' out/summary.csv; }

# ---- FLOP counts, against the published table of sizes ----
is "$(within "$(latency vit:width=768,image=224 --device flat:flops=2e9)" "$(macs 768 224 | awk '{ print $1 / 1e9 }' CONVFMT=%.17g OFMT=%.17g)" 1e-9)" within "a flat device takes FLOPs over its rate"
if [ -f "$data" ]; then
  while IFS=, read -r name width layers _ image gmac; do
    [ "$name" = width_name ] && continue
    is "$(within "$(latency "vit:width=$width,layers=$layers,image=$image,largest=1" --device flat:flops=2e9)" "$gmac" 5e-4)" within "$name at $image px: $gmac GMAC"
  done <"$data"
else
  skip "the table of ViT sizes is not available (ORRERY_DATA_PATH)"
fi

# ---- ratios: a sub-model against DeiT-B at 224 px ----
for case in 384:192:5.297 768:160:1.990; do
  IFS=: read -r width image expected <<<"$case"
  whole=$(completion --cluster 1x1:flat:flops=1e12 --model vit:width=768,image=224)
  part=$(completion --cluster 1x1:flat:flops=1e12 --model "vit:width=$width,image=$image")
  is "$(within "$(awk -v a="$whole" -v b="$part" 'BEGIN { print a / b }')" "$expected" 1e-3)" within "$width at $image px: $expected times faster on a flat device"
done
for device in jetson-nano jetson-tx2 jetson-nx jetson-xavier; do
  echo "# $device: S at 192 px $(awk -v a="$(latency vit:width=768,image=224 --device $device)" -v b="$(latency vit:width=384,image=192 --device $device)" -v c="$(latency vit:width=768,image=160 --device $device)" 'BEGIN { printf "%.2f, B at 160 px %.2f times faster than B at 224 px (%.1f ms)", a / b, a / c, 1e3 * a }')"
done

# ---- networks of tokens: the lengths of the trace change nothing, and the run says so ----
for prompt in 10 1000; do
  "$orrery" serve "poisson:rate=0.001,n=5,prompt=$prompt" --model bert_base_s128 --cluster 1x1:flat:flops=1e12 --policy fifo --no-figures >said-$prompt 2>&1
done
is "$(cat said-10)" "$(cat said-1000)" "prompts of 10 and of 1000 tokens take as long"
like "$(cat said-10)" 'a sample is one forward pass \(seq 128\), for any prompt_tokens and output_tokens of the trace' "the run says so"
is "$("$orrery" serve poisson:rate=0.001,n=5 --model resnet50 --cluster 1x1:flat:flops=1e12 --policy fifo --no-figures 2>&1 | grep -c 'forward pass')" 0 "not of images"

# ---- bytes ----
is "$(value input_bytes vit:width=384,image=192) $(value output_bytes vit:width=384,image=192)" "110592 4000" "192 px: 114.6 kB to and from a device"
is "$(value input_bytes vit:width=384,image=224) $(value output_bytes vit:width=384,image=224)" "150528 4000" "224 px: 154.5 kB"
is "$(value input_bytes bert_base_s128)" 512 "four bytes per token"
is "$(value weight_bytes vit:width=384 --device nx) $(value weight_bytes vit:width=384 --device nx --precision fp32)" "44101328 88202656" "weights by precision: 22,050,664 parameters, those of DeiT-S"

# ---- groups: a tensor partition gathers n D elements of 4 bytes twice per layer; a pipeline sends them once per
# boundary between stages ----
flat=$(macs 768 224 | awk '{ print 2 * $1 / 1e12 }' CONVFMT=%.17g OFMT=%.17g)
outside=$(awk 'BEGIN { printf "%.17g", 2 * (196 * 768 * 768 + 768000) / 1e12 }')
for Gbps in 0.1 0.3 1 10; do
  tensor=$(completion --cluster 4x1:flat:flops=1e12 --model vit:width=768 --tp 4 --network "star:bw=${Gbps}Gbps,lat=0s")
  is "$(within "$tensor" "$(awk -v f="$flat" -v o="$outside" -v g="$Gbps" 'BEGIN { printf "%.17g", o + (f - o) / 4 + 24 * 0.75 * 605184 * 8 / (g * 1e9) }')" 1e-6)" within "tensor partition over 4 devices, $Gbps Gb/s: $tensor s"
  pipeline=$(completion --cluster 4x1:flat:flops=1e12 --model vit:width=768 --pp 4 --network "star:bw=${Gbps}Gbps,lat=0s")
  is "$(within "$pipeline" "$(awk -v f="$flat" -v g="$Gbps" 'BEGIN { printf "%.17g", f + 3 * 605184 * 8 / (g * 1e9) }')" 1e-6)" within "pipeline of 4 devices, $Gbps Gb/s: $pipeline s"
  echo "# $Gbps Gb/s, four Xavier NX: tensor $(completion --cluster 4x1:nx --model vit:width=768 --tp 4 --network "star:bw=${Gbps}Gbps,lat=0s") s, pipeline $(completion --cluster 4x1:nx --model vit:width=768 --pp 4 --network "star:bw=${Gbps}Gbps,lat=0s") s, one device $(latency vit:width=768 --device nx) s, sub-model S at 192 px $(latency vit:width=384,image=192 --device nx) s"
done

# ---- a pipeline takes the next batch when its busiest stage is free; that stage has 3 of 12 blocks and the patches
# ----
n=2000
"$orrery" serve poisson:rate=1e6,n=$n --policy fifo -q --no-figures --out full --check --cluster 4x1:flat:flops=1e12 --model vit:width=768 --pp 4 --network star:bw=10Gbps,lat=0s 2>err
is "$?$(cat err)" 0 "the laws hold with several batches in a pipeline"
stage=$(awk -v f="$flat" -v o="$outside" 'BEGIN { printf "%.17g", (f - o) / 4 + 2 * 196 * 768 * 768 / 1e12 }')
last=$(awk -F, 'NR > 1 && $4 > last { last = $4 } END { printf "%.17g", last }' full/fifo.requests.csv)
is "$(within "$last" "$(awk -v s="$stage" -v f="$flat" -v n=$n 'BEGIN { printf "%.17g", (n - 1) * s + f + 3 * 605184 * 8 / 1e10 }')" 1e-6)" within "$n batches in a pipeline end after n - 1 times the busiest stage and one latency"
is "$(awk -F, '$2 == "group_network_bytes" { print $3 }' full/summary.csv)" $((n * 3 * 605184)) "each boundary carries n D 4 bytes per batch"
printf 'arrival_s\n0\n0.0001\n' >pair.csv
"$orrery" serve pair.csv --policy fifo,clockwork -q --no-figures --out pair --check --cluster 2x1:flat:flops=1e12 --model vit:width=768 --pp 2 --slo 60ms --network star:bw=1000Gbps,lat=0s 2>err
last=$(awk -v f="$flat" -v o="$outside" 'BEGIN { printf "%.17g", (f - o) / 2 + 2 * 196 * 768 * 768 / 1e12 + f + 605184 * 8 / 1e12 }')
for policy in fifo clockwork; do
  is "$(within "$(awk -F, 'NR == 3 { print $4 }' pair/$policy.requests.csv)" "$last" 1e-6)" within "$policy: the second request starts at the end of the first stage"
done
"$orrery" serve poisson:rate=2000,n=6 --policy irina -q --no-figures --out pair --check --cluster 2x1:a100 --model vit:width=768 --pp 2 2>err
is "$?$(cat err)" 0 "irina aborts no batch in a later stage"
"$orrery" serve poisson:rate=50,n=400 --policy irina -q --no-figures --out pair --check --cluster 2x1:a100 --model vit:width=384,image=192 --pp 2 --set serve.exit_interval=1ms --seed 90809 2>err
is "$?$(cat err)" 0 "irina does not claim to be work-conserving in a pipeline"

# ---- devices of different kinds: each has its own time ----
printf 'arrival_s\n0\n0\n0\n' >three.csv
"$orrery" serve three.csv --cluster 1x1:flat:flops=0.472e12,1x1:flat:flops=1.33e12,1x1:flat:flops=1.69e12 --model vit:width=384,image=192 --policy fifo -q --no-figures --out three --check 2>err
is "$(awk -F, 'NR > 1 { printf "%.6f ", $4 }' three/fifo.requests.csv)" "$(macs 384 192 | awk '{ printf "%.6f %.6f %.6f ", 2 * $1 / 0.472e12, 2 * $1 / 1.33e12, 2 * $1 / 1.69e12 }')" "each replica has the latency of its own device"
# Four samples fit on the second GPU only (4 GiB and 16 GB). The third request of the second trace waits behind the second one.
echo '{"name": "big", "kind": "table", "source": "by hand", "batch": [1, 2, 4], "latency_ms": [10, 12, 16], "weight_bytes": 1e9, "memory": [1e9, 2e9, 5e9]}' >big.json
printf 'arrival_s,samples\n0,1\n0.1,4\n' >large.csv
printf 'arrival_s,samples\n0,4\n0,4\n0,1\n' >mixed.csv
for policy in fifo cascade clockwork irina; do
  "$orrery" serve large.csv --model big.json --cluster 1x1:jetson-nano,1x1:t4 --policy $policy -q --no-figures --out large --check 2>err
  is "$(cat err)$(awk -F, 'NR > 1 { printf "%.3f ", $4 }' large/$policy.requests.csv)" "0.010 0.116 " "$policy: a request waits for a GPU with enough memory"
done
"$orrery" serve mixed.csv --model big.json --cluster 1x1:jetson-nano,1x1:t4 --policy fifo -q --no-figures --out large --check 2>err
is "$(cat err)$(awk -F, 'NR > 1 { printf "%.3f ", $4 }' large/fifo.requests.csv)" "0.016 0.032 0.026 " "fifo: a smaller request behind it starts when it has started"
"$orrery" serve large.csv --model big.json --cluster 1x1:jetson-nano,1x1:t4 --replicas 1 --policy fifo -q --no-figures --out large --check 2>err
is "$(cat err)$(awk -F, 'NR > 1 { printf "%s ", $4 }' large/fifo.requests.csv)" "0.010000000  " "fifo refuses a request that fits on no replica"
# One request per second, an SLO between the latencies of the two types: the fast GPU answers all, in any order of the types.
fast=1x1:flat:flops=1.69e12 slow=1x1:flat:flops=0.472e12
for cluster in $fast $fast,$slow $slow,$fast; do
  for policy in clockwork nexus; do
    "$orrery" serve periodic:rate=1,n=9 --cluster $cluster --model vit:width=384,image=192 --slo 10ms --policy $policy -q --no-figures --out types --check 2>err
    is "$(awk -F, '$2 == "requests_completed" { print $3 }' types/summary.csv)" 9 "$policy: the latencies are those of each GPU ($cluster)"
  done
done
printf 'arrival_s\n0\n0.001\n' >pair.csv
"$orrery" serve pair.csv --cluster 1x1:flat:flops=0.2e12,$fast --model vit:width=384,image=192 --policy irina \
  --set policy.irina.preempt=false --set policy.irina.batch=false --set policy.irina.stack=false -q --no-figures --out types --check 2>err
is "$?$(cat err) $(awk -F, '$2 == "requests_completed" { print $3 }' types/summary.csv)" "0 2" "irina: a task waits for the fast GPU, the slow one is idle"

# ---- a network as an object, and several in a list ----
cat >s.json <<'E'
{"world": "serve", "trace": "three.csv", "cluster": "3x1:nx", "policies": ["fifo"],
 "models": [{"name": "small", "kind": "table", "network": "vit:width=384,image=192", "largest_batch": 8, "input_bytes": 9}]}
E
"$orrery" run s.json -q --no-figures --out o --check 2>err
is "$?$(cat err)" 0 "a model as an object with a network"
completion --cluster 1x1:nx --model vit:width=384,image=192,resnet50,vit:width=192,image=96,largest=2 --set serve.any_model=true >/dev/null
is "$?" 0 "commas separate models and dimensions"

# ---- the file of a network: its bytes are part of the run's hash ----
cp "$models/lenet5.json" net.json && chmod u+w net.json
sed 's/"network": "[^"]*"/"network": "net.json"/' s.json >file.json
stored() { "$orrery" run file.json --no-figures --db hash.db 2>&1 >table | grep -c 'taken from hash.db'; }
is "$(stored) $(stored)" "0 1" "a run of a network's file is stored and reused"
sed -i 's/"saved": 4704/"saved": 4705/' net.json
is "$(stored) $(stored)" "0 1" "a changed file is another run"
is "$("$orrery" db runs hash.db | grep -c ' serve ')" 2 "both are stored"

# ---- refusals ----
while IFS='@' read -r edit expected; do
  sed -E "$edit" s.json >x.json
  said=$("$orrery" run x.json --no-figures -q 2>&1)
  like "$? $said" "^2 orrery: x\.json: .*$expected" "$edit"
done <<'E'
s/"network": "[^"]*"/"network": "vit:width=384,image=100"/@\$\.network: vit:.*image=100.*: patch: expected a divisor of "image"
s/"network": "[^"]*"/"network": "vitt"/@\$\.network: unknown model "vitt"
s/"network": "[^"]*"/"network": 7/@\$\.network: expected a string
s/"network": "[^"]*", //@unknown key "largest_batch"
s/"largest_batch": 8/"largest_batch": 1.5/@\$\.largest_batch: expected a whole number from 1 to 512, found 1\.5
s/"kind": "table"/"kind": "llm"/@\$\.kind: expected "table" together with the key "network", found "llm"
s/"largest_batch": 8/"largest_batch": 0/@\$\.largest_batch: expected a whole number from 1 to 512, found 0
s/"largest_batch": 8/"latency_ms": [1]/@latency_ms
s/3x1:nx", "policies"/5x1:nx", "tp": 5, "policies"/@\$\.deployments\[0\]: model small: expected a number of GPUs per group \(tp\) that divides the 6 heads, found 5
s/3x1:nx", "policies"/13x1:nx", "pp": 13, "policies"/@\$\.deployments\[0\]: model small: expected at most 12 pipeline stages, the number of its blocks, found 13
s/3x1:nx/3x1/@model small: times by layers: expected a device
E
said=$("$orrery" serve three.csv --cluster 1x1:nx --model vit:width=384,largest=513 --policy fifo 2>&1)
like "$? $said" "^2 .*expected \"largest=\" with a whole number from 1 to 512 at the end" "too large a batch"
tap_done
