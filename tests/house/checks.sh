#!/usr/bin/env bash
# checks.sh CHECK - automatic checks of the sources: clang, cppcheck, format or spelling; .ci/run runs all four
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   checks.sh clang BUILD    clang compiles everything without a warning (BUILD: a configured build folder)
#   checks.sh cppcheck       no warning of cppcheck
#   checks.sh format         clang-format changes no file
#   checks.sh spelling       no word that codespell knows to be wrong
# Prints the faults and exits with 1 if there are any; exits with 77 if the tool is not installed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
need() { command -v "$1" >/dev/null || { echo "$1 is not installed"; exit 77; }; }
sources() { git ls-files "$@"; }
include=(-Iinclude -Isim -I.)

case ${1-} in
clang)
  need clang
  build=$(cd "${2:?a build folder}" && pwd) || exit 1
  flags=(-std=c11 -fsyntax-only -fopenmp -D_DEFAULT_SOURCE -D_XOPEN_SOURCE=700 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wno-sign-conversion -Wno-missing-field-initializers -Wno-overlength-strings -Werror)
  sources 'policies/*.c' | xargs -P"$(nproc)" -n8 clang "${flags[@]}" -DORR_BUILTIN -Iinclude || exit 1
  sources '*.c' ':!policies' ':!tests/plugins' ':!tests/house/toy' ':!tests/house/add' ':!tests/fuzz/fuzz_trace.c' ':!calib/measure.c' |
    xargs -P"$(nproc)" -n8 clang "${flags[@]}" "${include[@]}" -I"$build"
  ;;
cppcheck)
  need cppcheck
  cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability --inline-suppr -j"$(nproc)" "${include[@]}" \
    --suppressions-list=tests/house/cppcheck.txt --suppress=missingIncludeSystem --suppress=missingInclude base results study cli plots sim traces hwmodel calib policies
  ;;
format)
  need clang-format
  sources '*.c' '*.h' | xargs -P"$(nproc)" -n40 clang-format --dry-run -Werror
  ;;
spelling)
  need codespell
  sources '*.c' '*.h' '*.md' '*.sh' '*.mk' '*.def' '*.am' '*.ac' '*.gp' '*.in' | xargs codespell -q 3
  ;;
*)
  sed -n '5,8s/^#  *//p' "$0" >&2
  exit 2
  ;;
esac
