# orrery device: output, and messages for wrong names and files
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

"$ORRERY" device list >"$work/list"
is "$(wc -l <"$work/list" | tr -d ' ')" "$(($(find "$srcdir/hwmodel/devices" -name '*.json' | wc -l) + 1))" \
  "list has a row per file of hwmodel/devices"
like "$(cat "$work/list")" '^a100-80g +19.5 +312 +80 +2039 +300 .*a100-80gb' "a row has peaks, memory and aliases"

"$ORRERY" device show V100-SXM2 >"$work/show"
is "$(head -n 1 "$work/show")" "v100: NVIDIA Tesla V100 SXM2 16 GB, Volta" "show takes an alias, in any case"
like "$(cat "$work/show")" "^(no profile is included for it|profile .*[0-9]{4})" "show names the profile that runs use, or states that there is none"
for topic in datasheet launch gemm conv memory link; do
  like "$(cat "$work/show")" "^  $topic: ." "show gives the source of $topic"
done

like "$("$ORRERY" device show p100)" '^  resnet50_v1 +fp32 +batch 64 +292.2 ms +219.0 samples/s  TensorFlow 1.1, DGX-1' \
  "published steps are listed (TF-2017: 219 images/s)"

sed 's/"v100"/"mine"/; s/900,/950,/' "$srcdir/hwmodel/devices/v100.json" >"$work/mine.json"
like "$("$ORRERY" device show "$work/mine.json")" '950 GB/s' "a file of one's own is read"
sed 's/"memory_GBps": 900/"memory_GBps": "fast"/' "$srcdir/hwmodel/devices/v100.json" >"$work/bad.json"
is "$("$ORRERY" device show "$work/bad.json" 2>&1; echo $?)" \
  "orrery: $work/bad.json: \$.memory_GBps: expected a number from 0 to 1e+09, found something else
2" "a wrong value: the message has file, path and accepted values; exit code 2"
is "$("$ORRERY" device show a101 2>&1; echo $?)" \
  "orrery: unknown device \"a101\": did you mean \"a10\"? 'orrery device list' shows all devices; the name of a file ends in .json
2" "an unknown name: the message names the nearest one; exit code 2"
"$ORRERY" device frob >"$work/out" 2>&1
is "$?" 2 "an unknown verb: exit code 2"
tap_done
