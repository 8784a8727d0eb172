# orrery model, and the generator of the catalogue
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
modelgen=$top_builddir/hwmodel/modelgen/modelgen

is "$("$modelgen" --check "$srcdir/hwmodel/models" 2>&1)" "" "the catalogue equals the generator's output"
is "$("$modelgen" --list | sort | tr '\n' ' ')" "$(cd "$srcdir/hwmodel/models" && printf '%s\n' *.json | sed 's/\.json$//' | sort | tr '\n' ' ')" \
  "every file of the catalogue has a recipe"
cp -r "$srcdir/hwmodel/models" "$work/models" && chmod -R u+w "$work/models"
sed -i 's/"params": 23296/"params": 23297/' "$work/models/alexnet.json"
like "$("$modelgen" --check "$work/models" 2>&1)" 'alexnet.json: out of date' "a changed file is found"

out=$("$ORRERY" model list)
ok $? "model list works"
is "$(printf '%s\n' "$out" | awk 'NR > 1 { print $1 }')" "$("$modelgen" --list)" "model list has the whole catalogue"
is "$(printf '%s\n' "$out" | awk '$1 == "resnet50" { print $2, $3, $4 }')" "25557032 161 4.089" "model list: a row has parameters, tensors, GMACs"

out=$("$ORRERY" model show ResNet-50 --batch 32)
ok $? "model show works, also for ResNet-50"
like "$out" '^parameters  25557032 in 161 tensors' "parameters"
like "$out" '^fc +linear +2049000 +4\.10M +4\.10M +4\.10M +1\.00k +2\.05k  1 x 1000 x 2048$' "a row per layer"
# Weights: 25,557,032 parameters x 4 bytes = 97.5 MiB. Adam keeps two moments of 4 bytes per parameter.
like "$out" '^  weights +97\.5 +48\.7$' "weights in MiB"
like "$out" '^  optimizer, Adam +195\.0 +292\.5$' "optimizer in MiB"
one=$("$ORRERY" model show resnet50 --json | grep -A8 '"memory_bytes"' | grep activations | head -n 1 | tr -dc 0-9)
many=$("$ORRERY" model show resnet50 --batch 32 --json | grep -A8 '"memory_bytes"' | grep activations | head -n 1 | tr -dc 0-9)
is "$many" "$((32 * one))" "activations grow with the batch, in text and JSON"

out=$("$ORRERY" model show gpt3_175b)
like "$out" '^transformer 96 blocks, hidden 12288, 96 heads' "dimensions of a transformer"
like "$out" '\.\. 95 more blocks like this one, to h95\.residual2' "equal blocks are left out"
is "$("$ORRERY" model show gpt3_175b --all | grep -c mlp_up)" 96 "--all lists every repeated block"
like "$("$ORRERY" model show gpt:hidden=64,layers=2,heads=4,seq=32,vocab=100)" '^parameters  10[0-9]{4} in' "model show describes a model by its dimensions"

cp "$srcdir/hwmodel/models/lenet5.json" "$work/mine.json" && chmod u+w "$work/mine.json"
is "$("$ORRERY" model show "$work/mine.json")" "$("$ORRERY" model show lenet5)" "model show reads a model from a file"
sed -i 's/"kind": "pool"/"kind": "pol"/' "$work/mine.json"
out=$("$ORRERY" model show "$work/mine.json" 2>&1)
is $? 2 "an invalid model file: exit code 2"
like "$out" 'mine\.json: \$\.layers\[2\]\.kind: unknown kind "pol": did you mean "pool"?' "an invalid model file: the message names the place"
out=$("$ORRERY" model show resnet51 2>&1)
is "$? $out" '2 orrery: unknown model "resnet51": did you mean "resnet50"?' "a wrong name: the nearest one"
for args in "" "show" "list x" "show vgg16 --batch 0" "show vgg16 --batch 1e3" "show vgg16 --bach 3" "snow vgg16"; do
  # shellcheck disable=SC2086
  "$ORRERY" model $args >/dev/null 2>"$work/err"
  is "$? $(wc -l <"$work/err")" "2 1" "refused in one line: model $args"
done
is "$(cd / && env -i "$(realpath "$ORRERY")" model show vgg16 | head -n 1)" "vgg16: VGG-16" "the catalogue is embedded in the program"

# Served models: the list has a row per file of hwmodel/served. The latency of BERT-Base is NVIDIA's; the KV cache
# has 2 x 80 layers x 8 heads x 128 x 2 bytes per token.
is "$("$ORRERY" model list --served | awk 'NR > 1 { print $1 }' | sort)" "$(cd "$srcdir/hwmodel/served" && printf '%s\n' *.json | sed 's/\.json$//' | sort)" \
  "list --served has a row per file"
like "$("$ORRERY" model show bert-base-t4 --served)" '^ +8 +15\.02 +41\.53 +532\.62' "a table: latencies of a batch by length"
out=$("$ORRERY" model show llama2-70b --served --device a100-80g --tp 8)
like "$out" '^a token of KV cache 320 KiB over all GPUs; [0-9]+ fit into 90 % of the memory of 8 x a100-80g' "a language model: its KV cache"
like "$out" '^times +layers of llama2_70b by profile a100-80g' "a language model: where its times come from"
like "$("$ORRERY" model show llama2-70b --served --tp 8 --profile none)" 'by data sheet only' "--profile none: the data sheet"
is "$("$ORRERY" model show llama2-70b --served --tp 8 --json | grep -c '"iteration_s"')" 15 "nine batches and six prompts up to its longest, in JSON"
for args in "show llama2-70b --served --tp 3" "show nix --served" "show llama2_70b --tp 2" "show llama2-70b --served --precision fp7" \
  "show llama2-70b --served --pp 0" "show llama2-70b --served --device none"; do
  # shellcheck disable=SC2086
  out=$("$ORRERY" model $args 2>"$work/err")
  is "$? $out$(wc -l <"$work/err")" "2 1" "refused in one line: model $args"
done
# The schema of served models has the keys that the program accepts.
if command -v python3 >/dev/null; then
  for kind in table llm; do
    printf '{"kind": "%s", "closed": 1, "qqqqqqqqqqqq": 1}' "$kind" | sed "$([ $kind = llm ] || echo 's/"closed": 1, //')" >"$work/keys.json"
    said=$("$ORRERY" model show "$work/keys.json" --served 2>&1 | sed -n 's/.*expected one of //p')
    is "$(printf '%s\n' "$said" | tr -d ' ' | tr , '\n' | sort)" "$(python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print("\n".join(sorted(set(s["properties"]) | set(s["$defs"][sys.argv[2]]["properties"]) | set(["closed", "curves", "layers"] if sys.argv[2] == "llm" else []))))
' "$srcdir/docs/served-model.schema.json" $kind | sort)" "the schema has the keys of a $kind"
  done
else
  skip "python3 is not installed"
fi
# Released language models: parameters and KV cache as the sums of their tensors.
if need "$data/models/llm_configs.csv"; then
  # published NAME COLUMN: prints a column of the row
  published() {
    awk -F, -v name="$1" -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) k = i } $1 == name { print $k }' "$data/models/llm_configs.csv"
  }
  while read -r name network served; do
    is "$("$ORRERY" model show "$network" --json | sed -n 's/^\t"params":[[:space:]]*\([0-9]*\),/\1/p')" "$(published "$name" params_total)" "$name: parameters"
    is "$("$ORRERY" model show "$served" --served --json | sed -n 's/.*"kv_bytes_per_token":[[:space:]]*\([0-9]*\).*/\1/p')" \
      "$((2 * $(published "$name" kv_values_per_token)))" "$name: bytes of a token in the KV cache, fp16"
  done <<'E2'
Llama-3-8B llama3_8b llama3-8b
Llama-3-70B llama3_70b llama3-70b
Llama-3.1-405B llama3p1_405b llama3.1-405b
Llama-3.2-1B llama3p2_1b llama3.2-1b
Llama-3.2-3B llama3p2_3b llama3.2-3b
Mistral-7B-v0.3 mistral_7b mistral-7b
Phi-4 phi4 phi4
Phi-4-mini phi4_mini phi4-mini
E2
  # Mixtures of experts. The model of serving counts a bias of each router, which only DeepSeek has.
  while read -r name served bytes; do
    shown=$("$ORRERY" model show "$served" --served --device h100 --json)
    is "$(sed -n 's/.*"kv_bytes_per_token":[[:space:]]*\([0-9]*\).*/\1/p' <<<"$shown")" "$((2 * $(published "$name" kv_values_per_token)))" "$name: bytes of a token in the KV cache, fp16"
    extra=$(($(sed -n 's/.*"weight_bytes":[[:space:]]*\([0-9]*\).*/\1/p' <<<"$shown") / bytes - $(published "$name" params_total)))
    is "$((extra == 0 || extra == $(published "$name" layers) * $(published "$name" experts)))" 1 "$name: parameters ($extra more)"
  done <<'E2'
Mixtral-8x7B mixtral-8x7b 2
Mixtral-8x22B mixtral-8x22b 2
Qwen3-30B-A3B qwen3-30b-a3b 2
Qwen3-235B-A22B qwen3-235b-a22b 2
DeepSeek-V3 deepseek-v3 1
E2
fi
tap_done
