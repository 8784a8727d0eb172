#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The complete output of commands for small inputs: models, devices, profiles and traces made by hand, with every number
# computed by hand.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
# shown ARGUMENTS..: prints the output without hashes and without blanks at the ends of lines
shown() { "$orrery" "$@" 2>&1 | grep -v 'SHA-256\|sha256' | sed 's/ *$//'; }
flat() { shown "$@" | tr -d '\t\n '; }

# ---- a network: an embedding, three equal blocks, another block, attention scores and a classifier; batches of 1000 ----
cat >tiny.json <<'EOT'
{"name": "tiny", "title": "made by hand", "source": "made up", "input": "3 tokens", "input_elems": 3, "classifier": "out",
 "transformer": {"hidden": 4, "heads": 2, "kv_heads": 1, "ffn": 5, "seq": 3, "vocab": 10},
 "layers": [
  {"name": "in", "kind": "embedding", "params": 40, "tensors": 1, "flops": 0, "in": 3, "out": 12, "saved": 3},
  {"repeat": 3, "is_block": true, "layers": [
   {"name": "b#.fc", "kind": "linear", "params": 20, "tensors": 2, "matrix": [4, 4], "flops": 96, "in": 12, "out": 12, "saved": 12, "gemm": [3, 4, 4, 1]},
   {"name": "b#.act", "kind": "activation", "flops": 36, "in": 12, "out": 12, "saved": 12, "in_place": true}]},
  {"repeat": 1, "from": 3, "is_block": true, "layers": [
   {"name": "b#.fc", "kind": "linear", "params": 20, "tensors": 2, "matrix": [4, 4], "flops": 96, "in": 12, "out": 12, "saved": 12, "gemm": [3, 4, 4, 1]},
   {"name": "b#.act", "kind": "activation", "flops": 40, "in": 12, "out": 12, "saved": 12, "in_place": true}]},
  {"name": "mix", "kind": "matmul", "flops": 144, "in": 12, "out": 18, "saved": 24, "gemm": [3, 3, 4, 2]},
  {"name": "out", "kind": "linear", "params": 2000000, "tensors": 1, "matrix": [1000, 2000], "flops": 12000000, "in": 6000, "out": 3000, "saved": 6000, "gemm": [3, 1000, 2000, 1]}
 ]}
EOT
# Parameters: embedding 40 + 4 blocks x 20 + classifier 2e6. Forward FLOPs: 4 x 96 + 3 x 36 + 40 + 144 + 12e6.
# Backward, the FLOPs of data gradients equal those of forward for products of weights and element-wise layers, and
# are twice as many for a product of two activations. The FLOPs of weight gradients equal those of the forward
# products of weights. Elements written are those of layers that are not in place. Elements kept are 3 + 8 x 12 + 24
# + 6000. A MiB has 1048576 bytes.
is "$(shown model show tiny.json --batch 1000)" "tiny: made by hand
input       3 tokens, 3 elements
parameters  2000120 in 10 tensors
forward     12.0M FLOPs per sample (6.00M MACs in products)
backward    24.0M FLOPs: 12.0M data gradients, 12.0M weight gradients
activations 3.08k elements written, 6.12k kept for backward
transformer 4 blocks, hidden 4, 2 heads (1 of keys and values), ffn 5, sequence 3, vocabulary 10
cache       16 values per token of a decoder
classifier  from out on
batch       1000

memory, MiB                               fp32         mixed
  weights                                  7.6           3.8
  gradients                                7.6           3.8
  optimizer, SGD with momentum             7.6          15.3
  optimizer, Adam                         15.3          22.9
  activations kept                        23.4          11.7
  in total, SGD with momentum             46.2          34.6
  in total, Adam                          53.9          42.2

layer                        kind          parameters  forward     data   weight      out     kept  products m x n x k
in                           embedding             40        0        0        0       12        3
b0.fc                        linear                20       96       96       96       12       12  3 x 4 x 4
b0.act                       activation             0       36       36        0       12       12
  .. 2 more blocks like this one, to b2.act
b3.fc                        linear                20       96       96       96       12       12  3 x 4 x 4
b3.act                       activation             0       40       40        0       12       12
mix                          matmul                 0      144      288        0       18       24  3 x 3 x 4 x 2
out                          linear           2000000    12.0M    12.0M    12.0M    3.00k    6.00k  3 x 1000 x 2000" "a network as text"
is "$(shown model show tiny.json --all | tail -n 11 | cut -d ' ' -f 1 | tr '\n' ' ')" "in b0.fc b0.act b1.fc b1.act b2.fc b2.act b3.fc b3.act mix out " "--all shows each layer"
act() { echo "{\"name\":\"b$1.act\",\"kind\":\"activation\",\"params\":0,\"tensors\":0,\"flops\":$2,\"backward_data_flops\":$2,\"backward_weight_flops\":0,\"in\":12,\"out\":12,\"saved\":12,\"in_place\":true,\"block\":$1}"; }
fc() { echo "{\"name\":\"b$1.fc\",\"kind\":\"linear\",\"params\":20,\"tensors\":2,\"matrix\":[4,4],\"flops\":96,\"backward_data_flops\":96,\"backward_weight_flops\":96,\"in\":12,\"out\":12,\"saved\":12,\"gemm\":[3,4,4,1],\"block\":$1}"; }
is "$(flat model show tiny.json --json --batch 10)" "$(tr -d '\n' <<EOT
{"name":"tiny","title":"madebyhand","input":"3tokens","input_elems":3,"params":2000120,"tensors":10,
"forward_flops":12000676,"backward_data_flops":12000820,"backward_weight_flops":12000384,"product_macs":6000264,
"written_elems":3078,"saved_elems":6123,
"transformer":{"blocks":4,"hidden":4,"heads":2,"kv_heads":1,"ffn":5,"seq":3,"vocab":10,"head_dim":2,"v_dim":2,"cached_values":16},"batch":10,
"memory_bytes":{"fp32":{"weights":8000480,"gradients":8000480,"sgd":8000480,"adam":16000960,"activations":244920},
"mixed":{"weights":4000240,"gradients":4000240,"sgd":16000960,"adam":24001440,"activations":122460}},
"classifier":"out","layers":[
{"name":"in","kind":"embedding","params":40,"tensors":1,"flops":0,"backward_data_flops":0,"backward_weight_flops":0,"in":3,"out":12,"saved":3},
$(fc 0),$(act 0 36),$(fc 1),$(act 1 36),$(fc 2),$(act 2 36),$(fc 3),$(act 3 40),
{"name":"mix","kind":"matmul","params":0,"tensors":0,"flops":144,"backward_data_flops":288,"backward_weight_flops":0,"in":12,"out":18,"saved":24,"gemm":[3,3,4,2]},
{"name":"out","kind":"linear","params":2000000,"tensors":1,"matrix":[1000,2000],"flops":12000000,"backward_data_flops":12000000,
"backward_weight_flops":12000000,"in":6000,"out":3000,"saved":6000,"gemm":[3,1000,2000,1]}]}
EOT
)" "a network as JSON"
# FLOPs of one product of 1 x n x 1 are printed with three digits and a prefix.
digits() { echo "{\"name\": \"x\", \"input_elems\": 1, \"layers\": [{\"name\": \"l\", \"kind\": \"matmul\", \"flops\": $((2 * $1)), \"out\": 1, \"saved\": $1, \"gemm\": [1, $1, 1, 1]}]}" >x.json; shown model show x.json | awk '/elements written/ { print $5 }'; }
is "$(for n in 7 999 1000 9994 9996 99940 99960 999400 999600 1500000000; do digits $n; done | tr '\n' ' ')" \
  "7 999 1.00k 9.99k 10.0k 99.9k 100k 999k 1.00M 1.50G " "numbers have three digits"
# The list agrees with the output of `show` for each network.
is "$(shown model list | awk 'NR > 1 { print $1, $2, $3, $4 }' | head -n 12)" "$(for m in $(shown model list | awk 'NR > 1 && NR < 14 { print $1 }'); do
  "$orrery" model show "$m" --json | tr -d '\t,"' | awk -F: -v m="$m" '!done && $1 ~ /^(params|tensors|product_macs)$/ { v[$1] = $2; if ($1 == "product_macs") done = 1 }
    END { printf "%s %.0f %d %.4g\n", m, v["params"], v["tensors"], v["product_macs"] / 1e9 }'; done)" "the list has the sums of the networks"

# ---- elastic jobs ----
cat >job.json <<'EOT'
{"name": "trio", "title": "made by hand", "source": "made up", "samples_per_step": 96, "pipelines": 3, "depth": 2, "parameters": 2.5e8,
 "state_bytes": 3e9, "on_demand": {"nodes": 6, "step_s": 1.5},
 "points": [[1, 2, 4500], {"pipelines": 3, "depth": 2, "step_ms": 1600, "redundant_step_ms": 1750, "degraded_step_ms": 2100, "failover_ms": 250, "redundant": 0.125}],
 "curves": {"rate": {"first": 2, "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11.5]}, "ten": {"first": 1, "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}},
 "figures": {"limit_s": 7.25}}
EOT
is "$(shown model show job.json --elastic)" "trio: made by hand
source      made up
step        96 samples; - steps in total
shape       3 x 2 (pipelines x depth), the default
state       3 GB, 2.5e+08 parameters
on demand   6 nodes, a step in 1.5 s

pipelines  depth       step s  redundant s   degraded s   failover s  redundant
        1      2          4.5          4.5            -            -      0.0 %
        3      2          1.6         1.75          2.1         0.25     12.5 %

rate by nodes, from 2 on:
  1 2 3 4 5 6 7 8 9 10
  11.5

ten by nodes, from 1 on:
  1 2 3 4 5 6 7 8 9 10

limit_s                                  7.25" "an elastic job as text"
is "$(flat model show job.json --elastic --json)" "$(tr -d '\n' <<'EOT'
{"name":"trio","title":"madebyhand","source":"madeup","samples_per_step":96,"steps":0,"state_bytes":3000000000,"parameters":250000000,
"pipelines":3,"depth":2,"on_demand_nodes":6,"on_demand_step_s":1.5,"is_derived":false,
"points":[{"pipelines":1,"depth":2,"step_s":4.5,"redundant_step_s":4.5,"failover_s":0,"redundant":0},
{"pipelines":3,"depth":2,"step_s":1.6,"redundant_step_s":1.75,"degraded_step_s":2.1,"failover_s":0.25,"redundant":0.125}],
"curves":{"rate":{"first":2,"values":[1,2,3,4,5,6,7,8,9,10,11.5]},"ten":{"first":1,"values":[1,2,3,4,5,6,7,8,9,10]}},"figures":{"limit_s":7.25}}
EOT
)" "an elastic job as JSON"
echo '{"name": "short", "title": "t", "source": "made up", "samples_per_step": 1, "work": {"hours": 2, "step_s": 0.5}}' >short.json
is "$(shown model show short.json --elastic)" "short: t
source      made up
step        1 samples; 14400 steps in total
shape       1 x 1 (pipelines x depth), the default
on demand   1 nodes, a step in 0.5 s

pipelines  depth       step s  redundant s   degraded s   failover s  redundant
        1      1          0.5          0.5            -            -      0.0 %" "two hours of steps of half a second"
echo '{"name": "bare", "title": "t", "source": "made up", "samples_per_step": 1, "depth": 2, "on_demand": {"nodes": 3, "step_s": 1}, "curves": {"a": {"first": 1, "values": [1]}}}' >bare.json
is "$(shown model show bare.json --elastic | sed -n '3,5p')" "step        1 samples; - steps in total
shape       - (pipelines x depth), the default
on demand   3 nodes, a step in 1 s" "what a job does not state"
cat >step.json <<'EOT'
{"name": "derived", "title": "t", "source": "made up", "step": {"model": "bert_large_s128", "device": "v100", "precision": "fp16", "batch": 64,
 "micro_batch": 8, "node_Gbps": 10, "latency_us": 5, "max_pipelines": 2, "min_depth": 2, "max_depth": 3, "max_nodes": 6}, "on_demand": {"nodes": 6}}
EOT
like "$(shown model show step.json --elastic)" '^times       derived: bert_large_s128 on nodes of one v100, fp16, batch 64 in micro-batches of 8, 10 Gbps, 5 us$' "times from the step world"
like "$(shown model show step.json --elastic)" '^on demand   6 nodes(, a step in [0-9.]+ s)?$' "on demand"
like "$(shown model list --elastic)" '^parcae-bert +1024 +- +- +([0-9]+)  BERT-large' "a job without a length or a shape"
is "$(shown model list --elastic | awk '$1 == "parcae-bert" { print $5 }')" "$(shown model show parcae-bert --elastic | awk '$1 ~ /^[0-9]+$/' | wc -l | tr -d ' ')" "the number of shapes with a known time"
like "$(shown model list --elastic)" '^oobleck-bert +8192 +- +- +- ' "or none"

# ---- served models ----
cat >many.json <<'EOT'
{"name": "many", "title": "by hand", "source": "made up", "kind": "table", "batch": [1, 4], "length": [16, 64], "latency_ms": [[20, 40], [25, 50]], "load_ms": 1500,
 "weight_bytes": 536870912, "slo_ms": 90, "between": "linear", "memory": [1048576, {"before": 2097152, "peak": 5242880, "peak_from_ms": 12.5}]}
EOT
is "$(shown model show many.json --served)" "many: by hand
source      made up
weights     0.500 GiB, loaded in 1.5 s
other sizes interpolated between their neighbours

 samples      16 tokens      64 tokens     samples/s   before MiB     peak MiB    from ms
       1             20             25            50          1.0          1.0          0
       4             40             50           100          2.0          5.0       12.5" "a served table with lengths"
is "$(flat model show many.json --served --json)" "$(tr -d '\n' <<'EOT'
{"name":"many","title":"byhand","source":"madeup","kind":"table","load_s":1.5,"weight_bytes":536870912,"slo_s":0.09,"runs":[
{"samples":1,"length":16,"latency_s":0.02,"peak_bytes":1048576},{"samples":4,"length":16,"latency_s":0.04,"peak_bytes":5242880},
{"samples":1,"length":64,"latency_s":0.025,"peak_bytes":1048576},{"samples":4,"length":64,"latency_s":0.05,"peak_bytes":5242880}]}
EOT
)" "as JSON"
echo '{"name": "one", "title": "by hand", "source": "made up", "kind": "table", "batch": [2], "latency_ms": [20], "between": "up"}' >one.json
is "$(shown model show one.json --served)" "one: by hand
source      made up
weights     0.000 GiB, loaded in 0 s
other sizes padded up to the next

 samples             ms     samples/s   before MiB     peak MiB    from ms
       2             20           100          0.0          0.0          0" "without lengths"
is "$(flat model show one.json --served --json)" '{"name":"one","title":"byhand","source":"madeup","kind":"table","load_s":0,"weight_bytes":0,"runs":[{"samples":2,"latency_s":0.02,"peak_bytes":0}]}' "as JSON"
# An iteration of n decodes at a context of 100 takes 4 + 0.5 n + 0.001 x 100 n ms; a prompt of n tokens takes 4 +
# 0.5 n + 0.0001 n^2 ms. The KV cache holds (0.9 x 2 x 16 GiB - 2 GiB) / 4096 tokens.
cat >llm.json <<'EOT'
{"name": "words", "title": "by hand", "source": "made up", "kind": "llm", "weight_bytes": 2147483648, "kv_bytes_per_token": 4096, "longest": 1000, "load_ms": 250,
 "closed": {"constant_ms": 4, "token_ms": 0.5, "context_ms": 0.001, "pair_ms": 0.0001}}
EOT
llm=(model show llm.json --served --context 100 --device v100 --tp 2)
is "$(shown "${llm[@]}")" "words: by hand
source      made up
weights     2.000 GiB, loaded in 0.25 s
longest     1000 tokens of prompt and output
a token of KV cache 4 KiB over all GPUs; 7025459 fit into 90 % of the memory of 2 x v100 (tp 2, pp 1)
times       closed form
context     100 tokens at each decode

iteration                          ms    tokens/s      linear elementwise  collective   attention      output        hops    overhead
1 decode                        4.600      217.39
2 decodes                       5.200      384.62
4 decodes                       6.400         625
8 decodes                       8.800      909.09
16 decodes                     13.600      1176.5
32 decodes                     23.200      1379.3
64 decodes                     42.400      1509.4
128 decodes                    80.800      1584.2
256 decodes                   157.600      1624.4
a prompt of 128 tokens         69.638      1838.1
a prompt of 256 tokens        138.554      1847.7
a prompt of 512 tokens        286.214      1788.9" "a language model by a formula"
is "$("$orrery" "${llm[@]}" --json | tr -d '\t\n' | grep -o '{"decodes":[^}]*}' | sed -n '1p;4p;10p')" '{"decodes":1,"prompt_tokens":0,"decode_context":100,"iteration_s":0.0046}
{"decodes":8,"prompt_tokens":0,"decode_context":800,"iteration_s":0.0088}
{"decodes":0,"prompt_tokens":128,"decode_context":0,"iteration_s":0.0696384}' "its iterations as JSON"
is "$(flat "${llm[@]}" --json --precision bf16 | sed 's/"iterations".*//')" '{"name":"words","title":"byhand","source":"madeup","kind":"llm","load_s":0.25,"weight_bytes":2147483648,"kv_bytes_per_token":4096,"longest":1000,"device":"v100","precision":"bf16","weights":"auto","kv_precision":"auto","tp":2,"pp":1,"times":"closedform","kv_tokens_of_90_percent":7025459,' "and its place"
is "$(shown model show llama2-7b --served --device a100-80g | awk '/^(64 decodes|a prompt of 2048)/ { print NF }' | tr '\n' ' ')" "11 14 " "all parts are shown"
# The times of the parts of an iteration add up to its total time.
is "$("$orrery" model show llama2-7b --served --device a100-80g --tp 2 --pp 2 --json | tr -d '\t\n' | grep -o '{"decodes":[^}]*}' | tr -d '{}"' | awk -F'[:,]' '{
  for (i = 1; i < NF; i += 2) v[$i] = $(i + 1); n++
  sum = v["linear"] + v["elementwise"] + v["collective"] + v["attention"] + v["output"] + v["hops"] + v["overhead"]
  good += sum > 0 && (sum / v["iteration_s"] - 1) ^ 2 < 1e-16 } END { print n - good }')" 0 "the parts of an iteration add up to its time"

# ---- devices ----
cat >chip.json <<'EOT'
{"name": "chip", "title": "a device made by hand", "aliases": ["chip-1", "c1"], "architecture": "Paper", "peak_tflops": {"fp32": 10, "fp16": 80},
 "vector_tflops": 12, "memory_GiB": 24, "memory_GBps": 640, "l2_MiB": 3, "sms": 40, "launch_us": 4, "gemm_efficiency": {"fp32": 0.5, "fp16": 0.75},
 "gemm_half_gflop": 0.6, "conv_efficiency": {"fp32": {"1x1": [0.11, 0.12, 0.13], "3x3": [0.21, 0.22, 0.23], "other": [0.31, 0.32, 0.33]},
  "fp16": {"1x1": [0.41, 0.42, 0.43], "3x3": [0.51, 0.52, 0.53], "other": [0.61, 0.62, 0.63]}},
 "memory_efficiency": 0.8, "link_GBps": 50, "link_latency_us": 9, "pcie_GBps": 15.75, "allreduce_GBps": 42, "allreduce_latency_us": 33,
 "sources": {"peaks": "made up", "memory": "made up too"}}
EOT
# The ramp of a product is 0.6e9 FLOPs / (0.75 x 80e12 FLOP/s).
is "$(shown device show ./chip.json)" "chip: a device made by hand, Paper
also called chip-1, c1
from data sheets and published measurements
no profile is included for this device: kernel times follow the data sheet, unless --profile names a profile

products     peak TF/s   GEMM share   convolution shares (forward, data and weight gradient): 1x1, 3x3, other
  fp32              10         0.50   0.11 0.12 0.13, 0.21 0.22 0.23, 0.31 0.32 0.33
  fp16              80         0.75   0.41 0.42 0.43, 0.51 0.52 0.53, 0.61 0.62 0.63

  element-wise 12 TFLOP/s
  memory       24 GiB, 640 GB/s, of which 80 % is reached
  L2 cache     3 MiB
  launch       4 us per kernel; a matrix product takes 10 us more than the time of its FLOPs
  link         50 GB/s, 9 us (GPU to GPU in a node); PCI Express 15.75 GB/s
  all-reduce   42 GB/s of bus bandwidth on 8 GPUs, latency 33 us

sources
  peaks: made up
  memory: made up too" "a device"
sed 's/, "aliases": \["chip-1", "c1"\], "architecture": "Paper"/, "measured": true/; s/"l2_MiB": 3, //; s/"allreduce_GBps": 42, "allreduce_latency_us": 33,//' chip.json >plain.json
is "$(shown device show ./plain.json | grep -c 'also called\|L2\|all-reduce\|, Paper') $(shown device show ./plain.json | sed -n 2p)" "0 measured" "what a device does not state"
is "$(shown device list | awk '$1 == "k80" || $1 == "p100" { print $1, $2, $3, $4, $5, $6 }')" "k80 4.37 0 12 240 7.9
p100 10.6 21.2 16 732 80" "lines of the list"
is "$(shown device show a100-80g | grep '^  bert_large_pretrain' | awk '{ print $2, $4, $5, $7 }')" "tf32 128 403.8 317.0
fp16 256 441.4 580.0" "published steps: batch / (samples/s)"

# ---- profiles: 12 points with two free parameters have 10 degrees of freedom, t = 2.2281; 6 points with one
# parameter have 5, t = 2.5706 ----
cat >p.json <<'EOT'
{"schema": 1, "name": "mine", "device": "nowhere", "title": "by hand", "source": "made up", "date": "2026-01-02", "backend": "published", "note": "a note",
 "stable": false, "measured_here": false, "laws": [
  {"family": "gemm", "op": "", "precision": "fp32", "variant": "", "form": "roofline", "parameters": {"time0_us": 5, "rate_GFLOPps": 1000, "rate_GBps": 100, "exponent": 1},
   "covariance_of_logs": [[0, 0, 0, 0], [0, 0.01, 0, 0], [0, 0, 0.04, 0], [0, 0, 0, 0]], "range": {"flops": [1e6, 1e9], "bytes": [1e4, 1e8]},
   "points": 12, "held_out": 12, "sigma_of_log": 0.1, "error": {"mean": 0.02, "median": 0.01, "p90": 0.05}, "held_out_error": {"mean": 0.04, "median": 0.03, "p90": 0.06}},
  {"family": "memory", "op": "copy", "precision": "", "variant": "", "form": "roofline", "parameters": {"time0_us": 2, "rate_GBps": 100, "exponent": 1},
   "covariance_of_logs": [[0.01, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], "range": {"bytes": [1e4, 1e8]},
   "points": 6, "held_out": 0, "sigma_of_log": 0.1, "error": {"mean": 0.08, "median": 0.07, "p90": 0.09}, "held_out_error": {}},
  {"family": "collective", "op": "all-reduce", "precision": "", "variant": "a wire", "ranks": 4, "nodes": 2, "form": "line", "parameters": {"time0_us": 20, "rate_GBps": 10},
   "covariance_of_logs": [[0, 0], [0, 0]], "range": {"size": [1e3, 1e6]},
   "points": 2, "held_out": 0, "sigma_of_log": 0.1, "error": {"mean": 0.01, "median": 0.01, "p90": 0.01}, "held_out_error": {}}
 ]}
EOT
# Errors are weighted by the numbers of points: median (12 x 3 + 6 x 7 + 2 x 1) / 20, mean (12 x 4 + 6 x 8 + 2 x 1)
# / 20.
is "$(shown calib show ./p.json)" "mine: by hand
device nowhere, published, 2026-01-02
source: made up
error of its laws (held out where known), weighted by points: median 4 %, mean 4.9 %
note: a note
unstable: the device drifted by more than 3 % while it was measured

gemm fp32
  roofline, 12 points; error 1 % (mean 2 %), held out 3 % (mean 4 %)
  time0_us                    5  fixed
  rate_GFLOPps             1000  [800.26, 1249.6]
  rate_GBps                 100  [64.042, 156.15]
  exponent                    1  fixed
  FLOPs                   1e+06 to 1e+09
  bytes                   10000 to 1e+08

memory copy
  roofline, 6 points; error 7 % (mean 8 %), held out - % (mean - %)
  time0_us                    2  [1.5466, 2.5862]
  rate_GFLOPps         left out
  rate_GBps                 100  fixed
  exponent                    1  fixed
  bytes                   10000 to 1e+08

collective all-reduce a wire, 4 on 2
  line, 2 points; error 1 % (mean 1 %), held out - % (mean - %)
  time0_us                   20  fixed
  rate_GBps                  10  fixed
  size                     1000 to 1e+06" "a profile"
sed 's/"rate_GFLOPps": 1000/"rate_GFLOPps": 500/; s/"rate_GBps": 100, "exponent": 1}, *$/"rate_GBps": 50, "exponent": 1},/; s/"time0_us": 5/"time0_us": 10/; s/"mine"/"half"/; s/"ranks": 4/"ranks": 8/' p.json >q.json
out=$(shown calib diff ./p.json ./q.json)
is "$(echo "$out" | sed -n '1,3p;5,$p')" "mine (nowhere, 2026-01-02) and half (nowhere, 2026-01-02)
time of the second profile / time of the first          least   median     most
gemm fp32                                               2.000    2.000    2.000  differs
only in mine: collective all-reduce a wire, 4 on 2
only in half: collective all-reduce a wire, 8 on 2" "two profiles"
# The start-up time of copies is 2.1 us instead of 2 us. Copies of 1e4 to 1e8 bytes take 0.1 to 1000 us in addition.
sed 's/"mine"/"near"/; s/"time0_us": 2,/"time0_us": 2.1,/' p.json >near.json
is "$(shown calib diff ./p.json ./near.json | awk '$1 == "memory" { print $3, $5, NF }')" "1.000 1.048 5" "a difference below both errors is none"
printf 'family,precision,flops,bytes,d0,d1,time_us\ngemm,fp32,1e6,1e5,1,1,7\ngemm,fp32,1e7,1e5,1,2,16.8\ngemm,fp32,1e10,1e5,1,2,11000\ngemm,fp16,1e7,1e5,1,2,11000\n' >points.csv
# The law gives 5 + 1 + 1, 5 + 10 + 1 and 5 + 10000 + 1 us. The relative errors are 0, 0.8 / 16.8 and 994 / 11000.
is "$(shown calib check ./p.json --points points.csv)" "mine (made up, 2026-01-02; median error 4 %, mean 4.9 %; unstable)
3 laws; this device has no data sheet for comparison
3 of 4 points have a law, 1 of them lie outside its range
error: median 4.76 %, mean 4.6 %, 90 % of them below 8.18 %" "points against the laws of a profile"
sed -i '2,4d' points.csv
is "$("$orrery" calib check ./p.json --points points.csv 2>&1 >/dev/null; echo $?)" "orrery: points.csv: no point has a law in mine: expected points of kernels that the profile describes
2" "points without a law"
is "$(shown calib list | awk 'NR == 1 || $1 == "k80" { print $1, $2, $3, $4, $5 }')" "profile device laws median %
k80 k80 2 43.7 53.2" "a line of the list: errors held out"

# ---- traces ----
printf 'submit_s,duration_s,gpus,user\n0,10,1,a\n100,30,4,bb\n200,20.5,1,a\n400,40,2,cc\n' >t.csv
is "$(shown trace info t.csv)" "trace                                      t.csv
format                                     orrery (orrery's CSV: submit_s,duration_s,gpus,.. (docs/traces.md))
rows                                       4
first submission                           0
last submission                            400
span days                                  0.00462963
sorted by submission                       yes
submitted at the time of the previous job  0
duplicate rows                             0
duration unknown                           0
duration zero                              0
duration below 60 s                        4
duration not whole seconds                 1
duration >= 60 s and below 1000 GPU hours  0
no GPU                                     0
share of one GPU                           0
one whole GPU                              2
GPUs requested, all jobs                   8
GPU types named                            0
wait recorded                              0
limit given                                0
ran longer than the limit                  0
GPU hours                                  0.0640278
makespan s                                 440
GPU time / span                            0.57625
GPU time / makespan                        0.523864
peak GPUs without waiting                  4
lowest job number                          0
highest job number                         3
job numbers rise                           yes

distribution                                   n         mean           sd        min        p25        p50        p75        p90        p95        p99          max            sum
duration s                                     4       25.125       11.126         10     17.875      25.25       32.5         37       38.5       39.7           40          100.5
gpus                                           4            2        1.225          1          1        1.5        2.5        3.4        3.7       3.94            4              8
gpu_time s                                     4       57.625       44.827         10     17.875      50.25         90        108        114      118.8          120          230.5
interarrival s                                 3      133.333        47.14        100        100        100        150        180        190        198          200            400

GPUs of a job: 3; jobs, GPU hours
  1                2            0.008
  2                1            0.022
  4                1            0.033

user: 3; jobs, GPU hours
  a                2            0.008
  bb               1            0.033
  cc               1            0.022" "a trace of four jobs"
json=$(flat trace info t.csv --json)
like "$json" '^\{"trace":"t.csv","format":"orrery","facts":\{"rows":4,"firstsubmission":0,"lastsubmission":400,.*"sortedbysubmission":"yes"' "its facts as JSON"
like "$json" '"distributions":\{"durations":\{"n":4,"mean":25.125,"sd":11.126404405736833,"min":10,"p25":17.875,"p50":25.25,"p75":32.5,"p90":37,"p95":38.5,"p99":39.7,"max":40,"sum":100.5\}' "a distribution"
like "$json" '"waits":\{"n":0,"mean":null,' "an empty one"
like "$json" '"user":\[\{"key":"a","count":2,"GPUhours":0.008472222222222223\},\{"key":"bb","count":1,"GPUhours":0.03333333333333333.?\},' "a tally"
for i in $(seq 15); do echo "$i,1,1,u$i"; done | cat <(echo submit_s,duration_s,gpus,user) - >fifteen.csv
is "$(shown trace info fifteen.csv | grep -c '^  u\|more (--json')" 15 "15 users are listed"
printf 'submit_s,duration_s,gpus,user\n0,1,1,abcdefghijkl\n0,1,1,b\n' >wide.csv
is "$(shown trace info wide.csv | tail -n 2)" "  abcdefghijkl         1                0
  b                    1                0" "columns are as wide as the longest name"
list=$("$orrery" trace list)
is "$(grep -c '^  [a-z]' <<<"$list") $(grep -c '^[a-z]' <<<"$list")" "$(cat "$tree"/traces/formats.def "$tree"/traces/generators.def | grep -cE '^(ORR_|TRACE_|GENERATOR|FORMAT)?[A-Z_]*\(') 6" "trace list: formats and models"
# Each line has "NAME=DEFAULT", padded to 22 characters, and a description of the parameter.
is "$(sed -n 's/^      \([a-z]\)/\1/p' <<<"$list" | awk '{ split($0, x, " "); n = length(x[1]); if (n <= 22 && (substr($0, 23, 1) != " " || substr($0, 24, 1) == " ")) bad++ } END { print (NR > 50 ? "many" : NR), bad + 0 }')" "many 0" "parameters are in columns"
printf 'submit_s,duration_s,gpus,gpu_milli\n0,1,1,500\n0,1,1,500\n' >parts.csv
is "$(shown trace info parts.csv | tail -n 1)" "  500              2                0" "one usual value is not shown, another is"
tap_done
