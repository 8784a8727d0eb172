# calib/measure.sh finds the libraries of Python packages for CUDA 11, 12 and 13
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

if ! command -v python3 >/dev/null || ! ${CC:-cc} --version >/dev/null 2>&1; then
  skip "needs python3 and a C compiler" 4
  tap_done
  exit
fi
# Replaces nvcc: compiles a file with an #include <..> only if a folder after -I has the header.
cat >"$work/nvcc" <<'E'
#!/bin/bash
src=${*: -1} found=
header=$(sed -n 's/^#include <\(.*\)>/\1/p' "$src" | head -n 1)
for a in "$@"; do
  [ ! -e "$a/$header" ] || found=$a
  case $a in */try.cu) is_try=1 ;; esac
done
[ -z "${is_try:-}" ] || { echo "$header: ${found:-none}" >>"$NVCC_SEEN"; [ -n "$found" ] || exit 1; }
E
chmod +x "$work/nvcc"
look() { # NAME PACKAGE_FOLDER..: what the script finds with these packages
  local site=$work/$1/site name=$1 folder
  shift
  mkdir -p "$site/nvidia"
  for folder in "$@"; do
    mkdir -p "$site/nvidia/$folder"/{include,lib}
    case $folder in
      cublas | cu13) touch "$site/nvidia/$folder/include/cublasLt.h" ;;
      *) touch "$site/nvidia/$folder/include/$folder.h" ;;
    esac
  done
  NVCC=$work/nvcc NVCC_SEEN=$work/$name/seen PYTHONPATH=$site BUDGET=0.5 ORRERY_MODULE_PATH=$work CUDA_HOME='' \
    env -u ORRERY sh "$srcdir/calib/measure.sh" "$work/$name/out" >/dev/null 2>&1
  grep -v ': none$' "$work/$name/seen" | sed "s,$site/nvidia/,,"
}
is "$(look old cublas cudnn nccl)" "cublasLt.h: cublas/include
cudnn.h: cudnn/include
nccl.h: nccl/include" "packages for CUDA 11 and 12: a folder per library"
is "$(look new cu13 cudnn nccl)" "cublasLt.h: cu13/include
cudnn.h: cudnn/include
nccl.h: nccl/include" "packages for CUDA 13: one folder of the toolkit"
is "$(look none)" "" "no packages"
like "$(cat "$work/none/out/measure.log")" 'no cublasLt.h: kernels that need it are skipped' "a missing header is reported"
tap_done
