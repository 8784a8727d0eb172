#!/bin/sh
# profiles.sh - refits the profiles of the catalogue to the published tables
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   hwmodel/profiles.sh ORRERY FOLDER OUTDIR
#
# FOLDER holds the tables (sources below); the output is OUTDIR/NAME.json.
#
# The profiles in profiles/ are fits of November 22, 2026. Later fits differ from them: covariances are estimated by HC3, and
# cross-validation of points without shapes chooses other terms for a few laws (p100: a product without a start-up time).
#
# cpu-epyc-zen5-2 is a measurement. To repeat it on an idle machine of that kind:
#
#   orrery calib run --backend cpu --threads 2 --budget 200 -o points.csv
#   orrery calib fit points.csv --device cpu-epyc-zen5-2 --no-points -o cpu-epyc-zen5-2.json
set -eu
orrery=$1 tables=$2 out=$3
mkdir -p "$out"

fit() { # NAME DEVICE SELECT DATE SOURCE KIND TABLE ..
  name=$1 device=$2 select=$3 date=$4 source=$5
  shift 5
  args=
  while [ $# -gt 0 ]; do
    args="$args --from $1 $tables/$2"
    shift 2
  done
  # shellcheck disable=SC2086
  "$orrery" calib fit $args --select "$select" --device "$device" --name "$name" --date "$date" --source "$source" --no-points \
    -o "$out/$name.json"
}

fit p100 p100 NV_P100 2017 "DeepBench, results of Baidu (da81ba7; CUDA 8): training products and convolutions, host times" \
  deepbench deepbench_NV_P100.csv
"$orrery" calib fit --from deepbench "$tables/deepbench_NV_V100.csv" --from nccl "$tables/nccl_published.csv" \
  --from copy "$tables/copy_curve_v100_pcie.csv" --select V100 --device v100 --name v100 --date 2019 --no-points -o "$out/v100.json" \
  --source "DeepBench, results of Baidu (da81ba7; DGX-1, CUDA 10.1, cuDNN 7.6); nccl-tests on a DGX-1 like server; copies: superbenchmark 700d650 (V100 PCIe)"
fit a100-80g a100-80g A100 2024 "microsoft/vidur 7d47513 (kernel times, collectives); nccl-tests of A100 40 GB: superbenchmark 700d650, OCI; best product: stas00/ml-engineering 744d01e" \
  vidur-mlp vidur_mlp_ops.csv vidur-net vidur_network.csv nccl nccl_published.csv mamf mamf_gemm_peak.csv
fit h100 h100 H100 2024 "microsoft/vidur 7d47513 (kernel times, collectives); nccl-tests: GCP a3, NVIDIA/nccl issue 1161; best product: stas00/ml-engineering 744d01e" \
  vidur-mlp vidur_mlp_ops.csv vidur-net vidur_network.csv nccl nccl_published.csv mamf mamf_gemm_peak.csv
fit a40 a40 A40 2024 "microsoft/vidur 7d47513 (kernel times)" vidur-mlp vidur_mlp_ops.csv
"$orrery" calib fit --from images "$tables/tf_benchmarks_2017.csv" --select K80 --device k80 --date 2017 -o "$out/k80.json" \
  --source "tensorflow/tensorflow 6535ed7, docs_src/performance/benchmarks.md: images/s of training on one GPU" \
  --note "one efficiency of all products from whole networks; no kernel was measured"
"$orrery" calib scale "$out/v100.json" --to t4 --known "$out/p100.json,$out/v100.json" -o "$out/t4.json"
"$orrery" calib scale "$out/a100-80g.json" --to a100 --known none -o "$out/a100.json"
