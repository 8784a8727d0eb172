# orrery calib run: its files, and its messages without a usable device
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

field() { # FILE COLUMN: prints its values
  awk -F, -v want="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == want) at = i; next } { print $at }' "$1"
}

"$ORRERY" calib run --backend synthetic --budget 20 -q -o "$work/a.csv" && "$ORRERY" calib run --backend synthetic \
  --budget 20 -q >"$work/b.csv"
ok $? "the synthetic backend runs on its own clock"
cmp -s "$work/a.csv" "$work/b.csv"
ok $? "the same seed gives the same bytes, in a file or on standard output"
"$ORRERY" calib run --backend synthetic --budget 20 --seed 2 -q >"$work/c.csv"
cmp -s "$work/a.csv" "$work/c.csv"
is $? 1 "another seed gives other bytes"
is "$(grep -c '^  "drift": 0\|^  "is_stable": true\|^  "seed": 1,' "$work/a.device.json")" 3 "POINTS.device.json describes the measurement"

is "$(grep -c '^  "ended": "complete"' "$work/a.device.json")" 1 "POINTS.device.json says that the measurement is complete"

# The run ends with a fatal error or a crash of the device; the points measured before are kept.
"$ORRERY" calib run --backend synthetic --settings lost=9 --budget 20 -q -o "$work/lost.csv" 2>"$work/err"
is "$? $(grep -c 'the device is lost; the [0-9]* points measured before are in .*lost.csv' "$work/err")" "1 1" "a fatal error of the device says where the points are"
rows=$(($(wc -l <"$work/lost.csv") - 1))
ok "$((rows < 20))" "$rows points are kept"
like "$(cat "$work/lost.device.json")" '"ended": ".*the device is lost"' "POINTS.device.json has the error"
"$ORRERY" calib fit "$work/lost.csv" -o "$work/lost.json" >/dev/null
is "$? $("$ORRERY" calib show "$work/lost.json" | grep -c '^note: the measurement is not complete (.*the device is lost)')" "0 1" \
  "the points measured before the error can be fitted, and the profile says that the measurement is not complete"
"$ORRERY" calib run --backend synthetic --settings lost=9 --budget 20 -q >"$work/out" 2>/dev/null
is "$? $(($(wc -l <"$work/out") - 1))" "1 $rows" "on standard output too"
"$ORRERY" calib run --backend cpu --threads 1 --budget 60 --only launch,memory -q -o "$work/crash.csv" &
pid=$!
for _ in $(seq 200); do
  [ "$(wc -l <"$work/crash.csv" 2>/dev/null || echo 0)" -lt 12 ] || break
  sleep 0.1
done
kill -KILL $pid
wait $pid 2>/dev/null
rows=$(($(wc -l <"$work/crash.csv") - 1))
"$ORRERY" calib fit "$work/crash.csv" "$work/lost.csv" -o "$work/crash.json" >"$work/out"
is "$? $(grep -c "^$((rows + $(wc -l <"$work/lost.csv") - 1)) points" "$work/out") $((rows >= 11))" "0 1 1" \
  "a run that is killed leaves its $rows points, and fit takes them with those of another run"
like "$("$ORRERY" calib show "$work/crash.json")" '^note: the measurement is not complete \(in progress\)' "the profile says that the run did not end"

# A minimal real sweep of this CPU, on one thread because other programs may be running.
"$ORRERY" calib run --backend cpu --threads 1 --budget 3 --only launch,gemm,memory,update -q -o "$work/cpu.csv"
ok $? "a sweep of this processor takes three seconds"
is "$(field "$work/cpu.csv" family | sort -u | tr '\n' ' ')" "gemm launch memory update " "exactly the requested families are measured"
is "$(field "$work/cpu.csv" time_us | awk '!($1 > 0)' | wc -l | tr -d ' ')" 0 "every time is above 0"
grep -q '"backend": "cpu"' "$work/cpu.device.json"
ok $? "POINTS.device.json names the CPU backend"

# Without a GPU: a one-line message, exit code 3. With a GPU: a measurement.
"$ORRERY" calib run --backend cuda --budget 2 --only launch -q -o "$work/gpu.csv" >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -eq 0 ]; then
  ok 0 "a usable GPU is measured"
  skip "this machine has a usable GPU"
else
  is "$rc $(wc -l <"$work/err" | tr -d ' ') $(grep -c 'no usable GPU: ' "$work/err")" "3 1 1" "without a GPU: one line of error, exit code 3"
  [ -e "$work/gpu.csv" ]
  is $? 1 "without a GPU no file is written"
fi
# The module exports one symbol, and loads on a machine without a driver.
module=$top_builddir/orr_calib_cuda.so
if [ -e "$module" ] && command -v nm >/dev/null; then
  is "$(nm -D --defined-only "$module" | awk '{ print $3 }' | tr '\n' ' ')" "orr_calib_backend " "the module exports one symbol"
  is "$(ldd "$module" 2>/dev/null | grep -cE 'libcuda|cublas|cudnn|nccl|nvidia')" 0 "the module links with no CUDA library"
else
  skip "this build has no module for GPUs"
  skip "this build has no module for GPUs"
fi

# Broken libraries in place of libcuda: cuInit() fails in several ways, the driver is too old, lacks every symbol, or is
# not a library.
cat >"$work/driver.c" <<'E'
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned flags) { (void)flags; return INIT; }
int cuDriverGetVersion(int *v) { *v = VERSION; return 0; }
int cuDeviceGetCount(int *n) { *n = 0; return 0; }
static int other(void) { return 999; }
int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long long flags, int *status)
{
  void *self = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY), *f = self ? dlsym(self, name) : 0;
  (void)version, (void)flags;
  *out = f ? f : (void *)other;
  if (status)
    *status = 0;
  return 0;
}
int cuGetProcAddress(const char *name, void **out, int version, unsigned long long flags)
{
  return cuGetProcAddress_v2(name, out, version, flags, 0);
}
E
broken() { # WHAT FOLDER
  LD_LIBRARY_PATH=$work/$2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$ORRERY" calib run --backend cuda --budget 2 -q >"$work/out" 2>"$work/err"
  is "$? $(wc -l <"$work/err" | tr -d ' ') $(grep -c '^orrery: no usable GPU: ' "$work/err")" "3 1 1" "$1: $(head -n 1 "$work/err")"
}
if [ -e "$module" ] && "${CC:-cc}" --version >/dev/null 2>&1; then
  for driver in "no device:100:13000" "its start fails:999:13000" "a stub:34:13000" "another than the kernel's:803:13000" "too old:0:9000"; do
    IFS=: read -r what init version <<<"$driver"
    mkdir "$work/$init"
    "${CC:-cc}" -shared -fPIC -DINIT="$init" -DVERSION="$version" -o "$work/$init/libcuda.so.1" "$work/driver.c" -ldl
    broken "a driver, $what" "$init"
  done
  mkdir "$work/empty" "$work/garbage"
  echo 'int x;' | "${CC:-cc}" -shared -fPIC -x c -o "$work/empty/libcuda.so.1" -
  broken "a driver without symbols" empty
  echo nonsense >"$work/garbage/libcuda.so.1"
  broken "a driver that is no library" garbage
else
  skip "this build has no module for GPUs, or there is no compiler" 7
fi
mkdir "$work/modules"
echo nonsense >"$work/modules/orr_calib_cuda.so"
ORRERY_MODULE_PATH=$work/modules "$ORRERY" calib run --backend cuda 2>"$work/err"
is "$? $(wc -l <"$work/err" | tr -d ' ') $(grep -c "modules/orr_calib_cuda.so: the module cannot be opened" "$work/err")" "3 1 1" \
  "a damaged module is named"

fails() { # WHAT PATTERN ARGUMENTS...
  what=$1 pattern=$2
  shift 2
  "$ORRERY" calib run "$@" >"$work/out" 2>"$work/err"
  is "$? $(grep -c -- "$pattern" "$work/err")" "2 1" "$what"
}
fails "an unknown backend" 'unknown backend "tpu": expected cuda, cpu or synthetic' --backend tpu
fails "an unknown family" '--only: expected launch, .*found "gem"' --only gem
fails "an unknown setting" 'unknown setting "t1"' --backend synthetic --settings t1=2
fails "a setting that is no number" 'expected name=number, found "t0=x"' --backend synthetic --settings t0=x
fails "no time at all" '--budget: expected a number from 0.5' --budget 0
fails "an unknown option" 'did you mean "--budget"?' --bujet 3
"$ORRERY" calib run --backend synthetic --budget 1 -q -o "$work/no/such/folder.csv" 2>"$work/err"
is "$? $(grep -c 'no/such/folder.csv: No such file' "$work/err")" "1 1" "points that cannot be written"
tap_done
