#!/bin/sh
# measure.sh OUTDIR - builds `orrery calib run` and measures one GPU, in less than eight minutes
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Writes to OUTDIR: points.csv, points.device.json (metadata), measure.log; and profile.json if an installed orrery can
# fit it. Needs a C compiler and nvcc, but no library of orrery and no network. Environment: BUDGET (seconds of measuring,
# 330), BACKEND (cuda), NVCC, CC, ORRERY (a program to use instead of building). Exit code 3: no usable GPU.
set -u
[ $# -eq 1 ] || { echo "usage: calib/measure.sh OUTDIR" >&2; exit 2; }
src=$(cd "$(dirname "$0")/.." && pwd) || exit 1
mkdir -p "$1" || exit 1
out=$(cd "$1" && pwd) || exit 1
log=$out/measure.log
budget=${BUDGET:-330}
backend=${BACKEND:-cuda}
cc=${CC:-cc}
: >"$log" || exit 1
start=$(date +%s)

say() { echo "measure: $(($(date +%s) - start)) s: $*" | tee -a "$log" >&2; }
fail() { code=$1; shift; say "$*"; exit "$code"; }

find_nvcc() {
  for nvcc in "${NVCC:-}" nvcc "${CUDA_HOME:-/none}/bin/nvcc" /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc; do
    [ -z "$nvcc" ] || ! command -v "$nvcc" >/dev/null 2>&1 || { command -v "$nvcc"; return; }
  done
}

# Python packages contain cuBLAS, cuDNN and NCCL with headers, which the system may lack. Packages for CUDA 11 and 12 have
# a folder nvidia/NAME for each library; packages for CUDA 13 have one folder, nvidia/cu13, for all libraries of the
# toolkit.
python_folders() { # NAME: prints the folders that may have it
  python3 - "$1" <<'E' 2>/dev/null
import glob, importlib.util, os, sys
spec = importlib.util.find_spec("nvidia")
for path in spec.submodule_search_locations if spec else ():
    for folder in [os.path.join(path, sys.argv[1])] + sorted(glob.glob(os.path.join(path, "cu[0-9]*")), reverse=True):
        if os.path.isdir(os.path.join(folder, "include")):
            print(folder)
E
}

# Tries the toolkit's headers, then a package's; sets flags if nvcc compiles with them.
with_header() { # HEADER MACRO PACKAGE
  python_folders "$3" >"$work/folders"
  for dir in "" $(cat "$work/folders"); do
    echo "#include <$1>" >"$work/try.cu"
    # shellcheck disable=SC2086 # empty or two words
    if "$nvcc" -x c++ ${dir:+-I "$dir/include"} -c -o "$work/try.o" "$work/try.cu" >>"$log" 2>&1; then
      flags="$flags -D$2 ${dir:+-I $dir/include}"
      [ -z "$dir" ] || libs="$libs$dir/lib:"
      return
    fi
  done
  say "no $1: kernels that need it are skipped"
}

build_module() {
  nvcc=$(find_nvcc)
  [ -n "$nvcc" ] || { say "no nvcc: the GPU module is not built"; return; }
  flags="-std=c++17 -O2 -Xcompiler -fPIC,-fvisibility=hidden -I$src/include -I$src"
  with_header cublasLt.h ORR_CUBLASLT cublas
  with_header cudnn.h ORR_CUDNN cudnn
  with_header nccl.h ORR_NCCL nccl
  root=$(cd "$(dirname "$nvcc")/.." && pwd)
  libs="$libs$root/lib64:"
  # Machine code for the GPU of this machine, and intermediate code.
  cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ')
  gencode=
  [ -z "$cap" ] || gencode="-gencode arch=compute_$cap,code=sm_$cap -gencode arch=compute_$cap,code=compute_$cap"
  for f in backend collective conv gemm interference libraries simple together attention kernels; do
    what="-x c++"
    case $f in attention|kernels) what=$gencode ;; esac
    # shellcheck disable=SC2086 # flags are split on purpose
    "$nvcc" $flags $what -c -o "$work/$f.o" "$src/calib/cuda/$f.cu" >>"$log" 2>&1 &
    pids="$pids $!"
  done
  for pid in $pids; do
    wait "$pid" || { say "the GPU module does not compile: see $log"; return; }
  done
  "$cc" -std=c11 -O2 -fPIC -fvisibility=hidden -I"$src/include" -I"$src" -c -o "$work/work.o" "$src/calib/work.c" >>"$log" 2>&1 &&
    "$nvcc" -shared -Xcompiler -fPIC -cudart static -Xlinker --exclude-libs=ALL -o "$work/orr_calib_cuda.so" "$work"/*.o -ldl \
      >>"$log" 2>&1 || say "the GPU module does not link: see $log"
}

build_program() {
  printf '#define PACKAGE_STRING "orrery, calib/measure.sh"\n#define ORR_BLAS 1\n#define ORR_CUDA 1\n' >"$work/config.h"
  printf '#define ORR_PKGLIBDIR ""\n' >"$work/paths.h"
  # Omits readers and fits; the linker drops functions that are not called.
  (cd "$src" && "$cc" -std=gnu11 -O2 -fopenmp -ffunction-sections -fdata-sections -Wl,--gc-sections -D_DEFAULT_SOURCE -D_XOPEN_SOURCE=700 \
    -I"$work" -Iinclude -Isim -I. -o "$work/measure" calib/measure.c cli/cmd_calib_run.c cli/cli.c \
    base/error.c base/mem.c base/num.c base/sbuf.c base/param.c calib/backend_cpu.c \
    calib/backend_find.c calib/backend_synthetic.c calib/cpu_gemm.c calib/cpu_kernels.c calib/cpu_pair.c calib/grid.c \
    calib/measurement.c calib/points.c calib/sample.c calib/sweep.c calib/work.c -ldl -lpthread -lm) >>"$log" 2>&1 ||
    fail 1 "the program does not compile: see $log"
}

libs=
pids=
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if [ -n "${ORRERY:-}" ]; then
  set -- "$ORRERY" calib run
else
  say "building"
  [ "$backend" != cuda ] || build_module
  build_program
  set -- "$work/measure"
fi
export ORRERY_MODULE_PATH="${ORRERY_MODULE_PATH:-$work}"
[ -z "$libs" ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${libs%:}"
! command -v nvidia-smi >/dev/null || nvidia-smi >>"$log" 2>&1
say "measuring for $budget s with: $backend"
"$@" --backend "$backend" --budget "$budget" -o "$out/points.csv" >>"$log" 2>&1
rc=$?
# After a fatal error of the device, the points measured so far are complete.
[ $rc -eq 0 ] || fail $rc "$(tail -n 1 "$log")"
! command -v nvidia-smi >/dev/null || nvidia-smi >>"$log" 2>&1
tail -n 4 "$log" >&2
# Fitting needs no GPU: it runs here if orrery is installed, else on another machine.
fitter=${ORRERY:-$(command -v orrery)}
if [ -n "$fitter" ] && "$fitter" calib fit "$out/points.csv" -o "$out/profile.json" >>"$log" 2>&1; then
  say "done: $out/profile.json, points.csv, points.device.json"
else
  say "done: $out/points.csv, points.device.json; make the profile with: orrery calib fit points.csv -o profile.json"
fi
