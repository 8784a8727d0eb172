# Data parallelism against measurements: TensorFlow 1.1 on P100 and K80 machines, 2017.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
# Expected: images/s of tensorflow/tensorflow 6535ed7, docs_src/performance/benchmarks.md, for 2 to 16 GPUs.
#
# Inputs, none of them fitted to those rows:
# * compute: the one-GPU row of the same page, less what the simulator says that run itself waited for its copies;
# * PCI Express 3.0 x16: 12.4 GB/s each way, host to device and back (bandwidthTest, V100 PCIe, in superbenchmark's
#   tests/data: copy_curve_v100_pcie.csv); two GPUs share one x16 link to the host, on the K80's board and behind the
#   PLX switches of a DGX-1 (data sheets);
# * network between p2.8xlarge: 10 Gb/s (AWS documentation);
# * how variables are updated, as that page states for each machine and model:
#     DGX-1      Inception-v3, ResNet-50: parameter_server on the CPU; AlexNet: replicated with NCCL
#     GCE        all: parameter_server on the CPU
#     EC2        Inception-v3: parameter_server on the CPU; ResNet-50: replicated without NCCL (each gradient summed on
#                one of the GPUs, copied back at once); VGG-16, AlexNet: parameter_server on the GPUs
#     EC2 x N    distributed_replicated: summed inside the machine, a server on each machine
# * gradients leave as the backward pass makes them. Parameters arrive before the forward pass begins: TensorFlow
#   fetches them all at once in no useful order (Hashemi, Jyothi, Campbell, "TicTac", MLSys 2019). Set TF2017_OVERLAP to test other
#   assumptions, such as "push_overlap=true pull_overlap=true message_bytes=1"; docs/models/step-data-parallel.md has their errors.
measured="$data/measured/tf_benchmarks_2017.csv"
need "$measured" || { tap_done; exit; }
pcie=12.4

# tree N: prints the PCI Express tree of N GPUs (each GPU a node) and the host (node N) as JSON; both directions of
# a link are equal
tree() {
  awk -v n="$1" -v bw="$pcie" 'BEGIN {
    boards = int((n + 1) / 2)
    printf "{\"bw\": \"%gGBps\", \"switches\": [\"root\"", bw * boards
    for (b = 0; b < boards; b++) printf ", \"plx%d\"", b
    printf "], \"links\": [{\"from\": \"node%d\", \"to\": \"root\", \"lat\": \"1us\"}", n
    for (b = 0; b < boards; b++) printf ", {\"from\": \"plx%d\", \"to\": \"root\", \"bw\": \"%gGBps\", \"lat\": \"1us\"}", b, bw
    for (g = 0; g < n; g++) printf ", {\"from\": \"node%d\", \"to\": \"plx%d\", \"bw\": \"%gGBps\", \"lat\": \"1us\"}", g, int(g / 2), bw
    print "]}"
  }' >"$work/tree$1.json"
}
for n in 1 2 4 8; do tree $n; done

# images_per_s POLICY MODEL CLUSTER NETWORK BATCH COMPUTE_S SETTING..: prints images/s
images_per_s() {
  local policy=$1 model=$2 cluster=$3 network=$4 batch=$5 compute_s=$6 set=()
  shift 6
  for s in "$@"; do set+=(--set "policy.$policy.$s"); done
  "$ORRERY" step "$model" --cluster "$cluster" --network "$network" --batch "$batch" --policy "$policy" "${set[@]}" --set step.update_cost=none \
    --set step.compute_s="$compute_s" --set step.ignore_memory=true --json -q 2>"$work/err" |
    awk '/"samples_per_s"/ { getline; gsub(/.*:|[^0-9.eE+-]/, ""); print; exit }'
}

read -ra overlap <<<"${TF2017_OVERLAP:-push_overlap=true pull_overlap=false message_bytes=1}"

# simulate PLATFORM MODEL BATCH GPUS COMPUTE_S
simulate() {
  local platform=$1 model=$2 batch=$3 gpus=$4 compute_s=$5 gpu=k80 net where=cpu-nodes pull=iteration
  case $model in InceptionV3) net=inception_v3 ;; ResNet-50) net=resnet50_v1 ;; VGG16) net=vgg16 ;; *) net=alexnet ;; esac
  case "$platform $model" in
  "DGX-1 AlexNet")
    images_per_s allreduce $net "1x$gpus:p100" star "$batch" "$compute_s" fusion=tensor
    return
    ;;
  DGX-1*) gpu=p100 ;;
  *distributed*)
    local n=$(((gpus + 7) / 8)) each=$((gpus < 8 ? gpus : 8))
    images_per_s parameter-server $net "${n}x$each:k80" "star:bw=10Gbps,gpu_link=pcie,gpu_bw=$(awk "BEGIN { print $pcie * int(($each + 1) / 2) }")GBps" \
      "$batch" "$compute_s" node_sum=true shard=tensor pull=iteration "${overlap[@]}"
    return
    ;;
  EC2*VGG16 | EC2*AlexNet) where=gpu ;;
  EC2*ResNet-50) where=gpu pull=message ;;
  esac
  images_per_s parameter-server $net "${gpus}x1:$gpu,1x0:$gpu" "$work/tree$gpus.json" "$batch" "$compute_s" placement=$where shard=tensor pull=$pull \
    "${overlap[@]}"
}

# Compute time: the measured step minus the waiting time of the simulated step.
compute_alone() {
  local step_s rate
  step_s=$(awk "BEGIN { printf \"%.12g\", $3 / $4 }")
  rate=$(simulate "$1" "$2" "$3" 1 "$step_s")
  awk "BEGIN { printf \"%.12g\", 2 * $step_s - $3 / $rate }"
}

declare -A one compute
while IFS=, read -r platform gpu model batch gpus kind rate; do
  [ "$gpus" = 1 ] && one["$platform $model $batch $kind"]=$rate
done <"$measured"
printf '# %-30s %-11s %5s %4s %-9s %8s %8s %7s %7s\n' machine model batch gpus data measured orrery error linear
while IFS=, read -r platform gpu model batch gpus kind rate; do
  key="$platform $model $batch $kind"
  { [ "$platform" = platform ] || [ "$gpus" = 1 ] || [ -z "${one[$key]:-}" ]; } && continue
  [ -n "${ORR_SANITIZED:-}" ] && [ "$key" != "GCE n1-standard-32-k80x8 ResNet-50 64 synthetic" ] && continue
  [ -n "${compute[$key]:-}" ] || compute[$key]=$(compute_alone "$platform" "$model" "$batch" "${one[$key]}")
  got=$(simulate "$platform" "$model" "$batch" "$gpus" "${compute[$key]}")
  line=$(awk -v m="$rate" -v s="${got:-0}" -v l="$(awk "BEGIN { print ${one[$key]} * $gpus }")" \
    'BEGIN { printf "%8.1f %8.1f %+6.1f%% %+6.1f%%", m, s, 100 * (s / m - 1), 100 * (l / m - 1) }')
  printf '# %-30s %-11s %5s %4s %-9s %s%s\n' "$platform" "$model" "$batch" "$gpus" "$kind" "$line" "$([ "$model" = AlexNet ] && echo ' (not counted)')"
  echo "$platform|$model|$line" >>"$work/rows"
done <"$measured"

# mean PATTERN..: prints the mean absolute error of the matching rows (column 3 orrery, column 4 linear)
mean() {
  grep -v '|AlexNet|' "$work/rows" | grep -F -- "$1" |
    awk -F'|' -v c="$2" '{ split($3, f, " "); x = f[c] + 0; s += x < 0 ? -x : x; n++ } END { printf "%.2f", n ? s / n : -1 }'
}
for p in DGX-1 GCE "EC2 p2.8xlarge|" "EC2 distributed"; do
  echo "# $p: mean error $(mean "$p" 3)%, linear scaling $(mean "$p" 4)%"
done
counted=$(grep -vc '|AlexNet|' "$work/rows")
error=$(mean "" 3) linear=$(mean "" 4)
echo "# all $counted rows: mean error $error%, linear scaling from one GPU $linear% (8.6% with AlexNet)"

# Printed without a check: GeForce and Quadro machines of lambdal/lambda-tensorflow-benchmark (replicated, NCCL),
# whose boards and links are unpublished. Each GPU is assumed to have its own PCIe x16 link.
lambda="$data/measured/lambda_tf_cnn.csv"
if [ -e "$lambda" ] && [ -z "${ORR_SANITIZED:-}" ]; then
  printf '# %-16s %-11s %4s %8s %8s\n' "Lambda, fp32" model gpus measured orrery
  awk -F, '$2 == 1 { one[$1 "," $3 "," $4 "," $5] = $6; next }
    /NVLink|Cloud/ || $4 != "fp32" || $3 == "alexnet" { next }
    { base = $1; sub(/^[0-9]+x /, "", base); key = base "," $3 "," $4 "," $5 / $2
      if (key in one) print base "," $3 "," $2 "," $5 / $2 "," $6 "," one[key] }' "$lambda" |
    while IFS=, read -r system model gpus batch rate alone; do
      case $model in inception3) net=inception_v3 ;; *) net=$model ;; esac
      got=$(images_per_s allreduce "$net" "1x$gpus:v100" "star:gpu_link=nvlink,gpu_bw=${pcie}GBps" "$batch" \
        "$(awk "BEGIN { printf \"%.12g\", $batch / $alone }")" fusion=tensor)
      printf '# %-16s %-11s %4s %8.1f %8.1f\n' "$system" "$model" "$gpus" "$rate" "${got:-0}"
    done
fi

if [ -n "${ORR_SANITIZED:-}" ]; then
  awk "BEGIN { exit !($error > 0 && $error < $linear) }"
  ok $? "some rows of TF-2017 (all of them without ORR_SANITIZED)"
  tap_done
  exit
fi
is "$counted" 92 "every multi-GPU row that has a one-GPU row, AlexNet aside"
awk "BEGIN { exit !($error > 0 && $error <= 6) }"
ok $? "TF-2017: mean error at most 6% ($error%)"
awk "BEGIN { exit !($error < $linear) }"
ok $? "TF-2017: mean error below that of linear scaling from one GPU ($linear%)"
tap_done
