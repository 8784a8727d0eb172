# Runs the kernels of the CUDA module on the CPU; needs a C++ compiler, but neither GPU nor nvcc
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

cxx=
for c in "${CXX:-}" c++ g++ clang++; do
  if [ -n "$c" ] && echo 'inline int x; int main() { return x; }' | "$c" -std=c++17 -x c++ -o "$work/try" - 2>/dev/null; then
    cxx=$c
    break
  fi
done
if [ -z "$cxx" ]; then
  skip "no C++ compiler is installed"
  tap_done
  exit
fi

# Replaces launches by calls, and the only line of GPU assembly by equivalent code.
for h in cuda_runtime cuda_fp16 cuda_bf16 mma; do echo '#include "tests/calib/cuda_host.h"' >"$work/$h.h"; done
for f in kernels attention; do
  sed -E 's/([A-Za-z_0-9]+(<[^<>;()]*>)?)<<<(.*), 0, s>>>\(/LAUNCH(\3, \1)(/; s/asm volatile\("mov.u64.*/t = emulated_ns();/' \
    "$srcdir/calib/cuda/$f.cu" >"$work/$f.cc"
  is "$(grep -c '<<<' "$work/$f.cc")" 0 "$f.cu: all launches are understood"
done
flags="-std=c++17 -O1 -g -I$work -I$srcdir -I$srcdir/include"
if echo 'int main() { return 0; }' | "$cxx" -fsanitize=address,undefined -x c++ -o "$work/try" - 2>/dev/null && "$work/try" 2>/dev/null; then
  flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=all"
fi
# shellcheck disable=SC2086 # flags are split on purpose
"$cxx" $flags -o "$work/emulated" "$srcdir/tests/calib/cuda_host.cpp" "$work/kernels.cc" "$work/attention.cc" 2>"$work/err"
ok $? "they compile for the processor: $(head -n 3 "$work/err")"
ASAN_OPTIONS=detect_stack_use_after_return=0 "$work/emulated" >"$work/out" 2>&1
is "$?" 0 "every kernel gives the result of its operation"
grep -v '^1\.\.' "$work/out" | sed 's/^/# /'
# shellcheck disable=SC2086 # flags are split on purpose
"$cxx" $flags -o "$work/pair" "$srcdir/tests/calib/cuda_interference.cpp" -x c++ "$srcdir/calib/cuda/interference.cu" 2>"$work/err"
ok $? "the timing of concurrent kernels compiles for the processor: $(head -n 3 "$work/err")"
"$work/pair" >"$work/out" 2>&1
is "$?" 0 "a kernel's time beside another is taken only while the other runs"
grep -v '^1\.\.' "$work/out" | sed 's/^/# /'
tap_done
