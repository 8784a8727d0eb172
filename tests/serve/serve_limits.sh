#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests that can never be served are refused at arrival and counted, and no request waits forever: huge prompts, empty outputs,
# simultaneous arrivals, rows in reverse order, and random traces over little memory.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
cat >m.json <<'EOT'
{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 0, "kv_bytes_per_token": 1000,
 "closed": {"constant_ms": 5, "token_ms": 0.05, "context_ms": 1e-4, "pair_ms": 1e-6}}
EOT
# Twenty blocks of 16 tokens hold 320 tokens. A request needs room for all of its tokens except the last output.
cat >huge.csv <<'EOT'
arrival_s,request_id,prompt_tokens,output_tokens
9,last,10,5
0,hugeprompt,100000000,5
0,hugeoutput,10,100000000
0,exact,310,11
0,over,311,11
0,full,300,20
0,zero,0,0
0,zeroout,40,0
0,one,1,1
0,onlyprompt,320,1
0,toolong,321,1
0,mid,100,100
0,mid2,100,150
0,mid3,100,150
5,ok,10,10
4,late,200,100
3,x,100,220
2,y,16,16
2,y2,15,17
EOT
never="hugeoutput hugeprompt over toolong" # prompt + output - 1 > 320
# refused POLICY TRACE ARGS..: prints exit code, messages and refused requests
refused() {
  local policy=$1 trace=$2
  shift 2
  rm -rf o
  timeout 60 "$orrery" serve "$trace" --model m.json --cluster 1x1 --kv-blocks 20 --policy "$policy" --check --out o --no-figures -q "$@" >said 2>&1
  echo "$? $(cat said)$(awk -F, 'NR > 1 && $10 == "refused" { print $1 }' "o/$policy.requests.csv" | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
  awk -F, 'NR > 1 && $10 != "refused" && $10 != "completed"' "o/$policy.requests.csv"
}
while read -r policy args; do
  read -ra set <<<"$args"
  is "$(refused "$policy" huge.csv "${set[@]}")" "0 $never" "$policy $args: requests that can never fit are refused, all others are served"
done <<'EOT'
fifo
vllm
vllm --set policy.vllm.preemption=swap
vllm --set policy.vllm.max_batch=1
sarathi
sarathi --set policy.sarathi.chunk=7
splitwise
splitwise --set policy.splitwise.max_tokens=1
mlfq
mlfq --set policy.mlfq.max_batch=1
distserve
distserve --set policy.distserve.decode_tokens=1
orca --set policy.orca.reserve=true
orca --set policy.orca.output=1
fastertransformer --set policy.fastertransformer.output=1
EOT
# Limits of the policies: vllm refuses prompts longer than its iterations. A reservation of 64 outputs needs room
# for the prompt and 64 tokens.
is "$(refused vllm huge.csv --set policy.vllm.max_tokens=200)" "0 exact full hugeoutput hugeprompt onlyprompt over toolong" "vllm refuses prompts longer than max_tokens"
for policy in orca fastertransformer; do
  is "$(refused $policy huge.csv --set policy.$policy.output=64)" "0 exact full hugeoutput hugeprompt onlyprompt over toolong" \
    "$policy refuses requests whose reservation never fits"
  is "$(refused $policy huge.csv | wc -w)" 20 "$policy refuses all requests if the reservation exceeds the memory"
done
# If the model allows at most 100 tokens, a reservation has at most 100 tokens.
sed 's/"kind"/"longest": 100, "kind"/' m.json >short.json
for policy in orca fastertransformer; do
  timeout 60 "$orrery" serve huge.csv --model short.json --cluster 1x1 --kv-blocks 20 --policy $policy --out o --no-figures -q --check
  is "$? $(awk -F, 'NR > 1 && $10 == "completed" { printf "%s ", $1 }' o/$policy.requests.csv)" "0 zero zeroout one y y2 ok last " "$policy: a reservation is at most the model's context"
done
like "$("$orrery" serve huge.csv --model m.json --cluster 1x1 --kv-blocks 20 --policy vllm 2>&1)" '^4 of 19 requests were refused: 4 larger than the KV cache' "refused requests are reported"

# A block that is larger than the cache.
is "$("$orrery" serve huge.csv --model llama3-8b --cluster 1x1:a100 --policy vllm --set serve.kv_block=1000000 2>&1 | grep -oE 'the KV cache holds [0-9]+ tokens: expected serve.kv_block of at most that, found 1000000')" \
  "the KV cache holds $("$orrery" model show llama3-8b --served --device a100 | sed -n 's/.*over all GPUs; \([0-9]*\) fit.*/\1/p') tokens: expected serve.kv_block of at most that, found 1000000" "a block larger than the cache"
# These rows are out of order of arrival.
{ head -1 huge.csv; tail -n +2 huge.csv | sort -s -t, -k1,1n; } >sorted.csv
{ head -1 huge.csv; tail -n +2 sorted.csv | tac | sort -s -t, -k1,1nr | tac | tac; } >backwards.csv
for policy in vllm sarathi; do
  refused $policy sorted.csv >/dev/null
  want=$(LC_ALL=C sort "o/$policy.requests.csv" | sha256sum)
  refused $policy huge.csv >/dev/null
  is "$(LC_ALL=C sort "o/$policy.requests.csv" | sha256sum)" "$want" "$policy: the order of rows does not matter"
  refused $policy backwards.csv >o.txt
  like "$(cat o.txt)" "^0 $never" "$policy: sorted backwards"
done

# Random traces, drawn by awk with a fixed seed.
rounds=12
[ "${ORR_SANITIZED:-}" = 1 ] && rounds=4
bad=
for seed in $(seq $rounds); do
  kv=$(((seed * 7) % 23 + 3)) block=$((1 << (seed % 4 * 2)))
  awk -v seed="$seed" -v cap=$((kv * block)) 'BEGIN {
    srand(seed); print "arrival_s,prompt_tokens,output_tokens"
    for (i = 0; i < 40; i++)
      printf "%g,%d,%d\n", seed % 3 ? int(rand() * 4) : 0, rand() * cap * 1.05, rand() < 0.1 ? 0 : rand() * cap * 0.6 }' >random.csv
  want=$(awk -F, -v cap=$((kv * block)) 'NR > 1 { p = $2 ? $2 : 1; o = $3 ? $3 : 1; n += p + o - 1 > cap } END { print n + 0 }' random.csv)
  for policy in fifo vllm sarathi orca splitwise fastertransformer mlfq distserve; do
    set=()
    case $policy in orca | fastertransformer) set=(--set "policy.$policy.output=1") ;; esac
    timeout 60 "$orrery" serve random.csv --model m.json --cluster $((seed % 2 + 1))x1 --kv-blocks $kv --set serve.kv_block=$block \
      --policy $policy "${set[@]}" --check --out o --no-figures -q >said 2>&1
    got="$? $(cat said)$(awk -F, 'NR > 1 { n[$10]++ } END { print n["refused"] + 0, n["completed"] + n["refused"] }' "o/$policy.requests.csv")"
    [ "$got" = "0 $want 40" ] || bad="$bad seed $seed, $policy: $got for 0 $want 40;"
  done
done
is "$bad" "" "$rounds random traces under seven policies: exactly the requests that never fit are refused"

# With a decision of the autoscaler every nanosecond, a run would take practically forever.
said=$(timeout 20 "$orrery" serve poisson:rate=30,n=80,prompt=10,output=2 --model m.json --cluster 1x2 --kv-blocks 20 --policy vllm --set serve.autoscale=rate --set serve.scale_interval=0 2>&1)
is "$? $(printf '%s' "$said" | grep -c 'serve.scale_interval: expected a time above 0')" "2 1" "serve.scale_interval=0 is refused with an autoscaler"
tap_done
