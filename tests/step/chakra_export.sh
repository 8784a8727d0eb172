#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --export chakra:DIR: each step policy's first iteration as an execution trace, run again by --graph: bytes and times against those of the
# policy, on a full mesh, where the two networks have the same times of messages; with congestion, because messages of one direction share a
# cable. Bounds: 1e-6 (times are rounded to ns); larger where docs/models/step-traces.md names the difference.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
mesh=(--cluster 4x1:v100 --network full-mesh:bw=100Gbps,lat=1us --set step.ignore_memory=true --set step.iterations=1 --no-figures -q)
gpt=gpt:hidden=512,layers=8,heads=8,seq=128,vocab=1000

value() { awk -F, -v m="$2" '$2 == m { print $3 }' "$1/summary.csv"; }

# back POLICY MODEL BOUND: the relative differences of time and of bytes, and whether they are within BOUND and 1e-6.
back() {
  "$orrery" step "$2" "${mesh[@]}" --policy "$1" --export chakra:x --out a >said 2>&1 || cat said
  "$orrery" step --graph "x/$1" --network "x/$1/network.yml" --system "x/$1/system.json" --policy congestion-aware --check --out b -q --no-figures 2>&1
  awk -v a="$(value a iteration_s)" -v b="$(value b iteration_s)" -v m="$(value a sent_bytes)" -v n="$(value b sent_bytes)" -v most="$3" 'BEGIN {
    d = b / a - 1; e = m ? n / m - 1 : n
    printf "%s: time %.1e, bytes %.1e\n", (d <= most && d >= -most && e <= 1e-6 && e >= -1e-6) ? "equal" : "different", d, e }'
}

while read -r policy model most; do
  [ -n "$policy" ] || continue
  text=$(back "$policy" "${model/gpt/$gpt}" "$most")
  like "$text" '^equal: ' "$policy, read back: $text"
done <<'E'
allreduce resnet50 1e-6
local-sgd resnet50 1e-6
easgd resnet50 1e-6
ds-sync resnet50 1e-6
gpipe resnet50 1e-6
one-f-one-b resnet50 1e-6
dapple resnet50 1e-6
bytescheduler resnet50 1e-6
zero resnet50 1e-6
fsdp gpt 1e-6
stanza resnet50 1e-6
interleaved resnet50 1e-6
parameter-server resnet50 1e-6
bamboo resnet50 2e-3
ako resnet50 1e-6
tensor-parallel gpt 1e-6
megatron gpt 1e-6
zb-h1 gpt 1e-6
zb-h2 gpt 1e-4
zb gpt 1e-6
zb-v gpt 1e-6
v-half gpt 1e-6
v-min gpt 1e-6
dual-pipe gpt 1e-6
dual-pipe-v gpt 1e-6
crossbow resnet50 1e-6
E

# Settings whose graphs have marks behind receives.
while read -r policy model setting; do
  mesh+=(--set "policy.$policy.$setting")
  text=$(back "$policy" "${model/gpt/$gpt}" 1e-4)
  like "$text" '^equal: ' "$policy $setting, read back: $text"
  unset 'mesh[-1]' 'mesh[-1]'
done <<'E'
context-parallel gpt cp=4
dapple resnet50 stage_devices=3,1
dapple resnet50 stage_devices=2,1,1
stanza resnet50 conv_sync=servers
ako resnet50 staleness_bound=0
E

# Without the messages that use a cable together with a gradient, the times of bamboo are equal too.
mesh+=(--set policy.bamboo.sync=false)
text=$(back bamboo resnet50 1e-6)
like "$text" '^equal: ' "bamboo without messages at the same time, read back: $text"
unset 'mesh[-1]' 'mesh[-1]'

# ---- groups, messages, errors ----
"$orrery" step resnet50 "${mesh[@]:0:8}" --policy stanza --export chakra:y 2>said >/dev/null
like "$(cat said)" 'stanza: 4 ranks, [0-9]+ nodes written to y/stanza; [0-9]+ dependencies between ranks became messages of 1 byte' \
  "dependencies between ranks without a message are counted"
like "$(cat y/stanza/groups.json)" '^\{"1": \[' "groups of ranks"
like "$(cat y/stanza/network.yml)" 'topology: \[ FullyConnected \]' "the network is written"
"$orrery" step resnet50 "${mesh[@]}" --policy crossbow --set policy.crossbow.tune=true --export chakra:y >/dev/null 2>said
is "$? $(cat said)" "2 orrery: --export chakra: policy crossbow reacts to ends of ops: expected one whose graph is known before" "a policy that reacts"
# Learners of half a GPU each do not slow one another down; two of 0.6 do.
for occupancy in 0.5 0.6; do
  "$orrery" step resnet50 "${mesh[@]}" --policy crossbow --set policy.crossbow.learners=2 --set policy.crossbow.occupancy=$occupancy \
    --export chakra:y >/dev/null 2>said
  is "$? $(grep -c 'policy crossbow runs ops together on a GPU, which slows them' said)" "$([ $occupancy = 0.5 ] && echo 0 0 || echo 2 1)" \
    "two learners that use $occupancy of a GPU each"
done
"$orrery" step resnet50 "${mesh[@]}" --policy allreduce --export astra >/dev/null 2>said
is "$? $(cat said)" '2 orrery: --export: expected chakra:DIR or chakra, found "astra"' "an unknown format"
"$orrery" step --graph y/stanza --network y/stanza/network.yml --system y/stanza/system.json --export chakra:z >/dev/null 2>said
is "$?" 2 "an execution trace is not exported"
tap_done
