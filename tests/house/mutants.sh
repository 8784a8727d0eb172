#!/usr/bin/env bash
# mutants.sh - measures the share of mutants of a folder's code that its tests detect
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   mutants.sh FOLDER[,FOLDER..] [-n N] [--seed S] [--tests "TEST.."] [--longest S] [--most S] [--sanitized] [--build DIR] [--least PERCENT] [--list]
#
# Samples N mutants (default 40) of the .c files of FOLDER, applies each to a copy of the tree, builds the targets of the
# room's tests, and runs the tests that execute the line of the mutant, fastest first, until one fails. A mutant is a
# flipped operator, a changed constant (n to n + 1, 0 and 1 exchanged) or a negated condition. Left out are texts,
# comments, preprocessor lines, assertions, sizes of arrays and growth of containers. gcov measures which test executes
# which line, once per run. A mutant outside functions, in a table, is tried with all tests. Several folders share the
# build and this measurement; each has its own sample of N mutants.
#
#   --tests   tests to run instead of those in tests/ROOM, ROOM being the last part of each FOLDER
#   --longest leave out tests that take more seconds than this
#   --most    stop the tests of a mutant after this sum of their usual times: it then counts as undetected (default: 60)
#   --sanitized  try a survivor again in a build with AddressSanitizer and UBSan, with which CI runs the tests too
#   --build   folder for the copy and its build, kept and reused (default: build-mutants)
#   --least   exit code 1 if the killed share is smaller
#   --list    lists the mutants without building them
#
# Not counted: mutants that do not compile, that compile to the same code, and those in equivalent_mutants.txt. A test
# that takes ten times its usual time has failed.
set -u
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
equivalent=$here/equivalent_mutants.txt
fail() { echo "mutants.sh: $*" >&2; exit 2; }
usage() { sed -n '5s/^#  *//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

folder='' number=40 seed=1 tests='' dir=$tree/build-mutants least=0 longest=3600 most=60 only_list=no sanitized=no
while [ $# -gt 0 ]; do
  case $1 in
  --list) only_list=yes ;;
  --sanitized) sanitized=yes ;;
  -n | --seed | --tests | --longest | --most | --build | --least)
    [ $# -gt 1 ] || usage
    case $1 in -n) number=$2 ;; --seed) seed=$2 ;; --tests) tests=$2 ;; --longest) longest=$2 ;; --most) most=$2 ;; --build) dir=$2 ;; --least) least=$2 ;; esac
    shift
    ;;
  -*) usage ;;
  *) [ -z "$folder" ] || usage && folder=${1%/} ;;
  esac
  shift
done
[ -n "$folder" ] || usage
folders=${folder//,/ }
for f in $folders; do [ -d "$tree/$f" ] || fail "no folder $f in $tree"; done

unset MAKEFLAGS MFLAGS MAKELEVEL
git -C "$tree" rev-parse --is-inside-work-tree >/dev/null 2>&1 || fail "$tree is no git checkout"
mkdir -p "$dir" || exit 2
dir=$(cd "$dir" && pwd)
exec 9>"$dir/lock"
flock -n 9 || fail "another run uses $dir: name another with --build"

# ---- the mutants in the order of trial, one per line ----
cat >"$dir/mutants.py" <<'END'
import os, random, re, sys

TOKEN = re.compile(r'''
  (?P<space>[ \t\r\n]+|\\\n) | (?P<comment>/\*.*?\*/|//[^\n]*) | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
| (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*) | (?P<name>[A-Za-z_]\w*)
| (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)''', re.X | re.S)
FLIP = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
        "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
# Lines that are excluded, because their mutants do not measure the quality of the tests.
LEFT_OUT = re.compile(r'\bassert\s*\(|_Static_assert|static_assert|MEM_GROW|mem_realloc|\bcap\w*\s*=|\w*cap\w*\s*\?|->cap\w* \*')

def blank_directives(text):
    """Preprocessor lines, with those they continue on, become spaces."""
    out, inside = [], False
    for line in text.split("\n"):
        inside = inside or line.lstrip().startswith("#")
        out.append(" " * len(line) if inside else line)
        inside = inside and line.endswith("\\")
    return "\n".join(out)

def number(word):
    digits = word.rstrip("uUlLfF" if not word.lower().startswith("0x") else "uUlL")
    tail = word[len(digits):]
    if digits.lower().startswith("0x"):
        return hex(int(digits, 16) + 1) + tail
    if re.fullmatch(r"\d+", digits):
        n = int(digits, 8 if digits.startswith("0") and len(digits) > 1 else 10)
        return str({0: 1, 1: 0}.get(n, n + 1)) + tail
    x = float(digits)
    return repr({0.0: 1.0, 1.0: 0.0}.get(x, x + 1)) + tail

def candidates(path, name):
    text = open(path, encoding="utf-8", errors="surrogateescape").read()
    tokens = [(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(blank_directives(text))]
    code = [t for t in tokens if t[0] not in ("space", "comment")]
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    lines = text.split("\n")

    def line_of(at):
        low, high = 0, len(starts)
        while high - low > 1:
            mid = (low + high) // 2
            low, high = (mid, high) if starts[mid] <= at else (low, mid)
        return low

    def is_operand(k):
        return k >= 0 and (code[k][0] in ("name", "number", "text") or code[k][1] in ")]") and code[k][1] not in ("return", "case", "sizeof")

    def spaced(at, size):
        return text[at - 1:at].isspace() and text[at + size:at + size + 1].isspace()

    found = []
    for k, (group, word, at) in enumerate(code):
        if group == "op" and word in FLIP:
            # Operators of two operands: clang-format puts blanks around these, and none beside a sign or a pointer.
            if is_operand(k - 1) and spaced(at, len(word)) and k + 1 < len(code) and code[k + 1][1] not in ",;)=":
                found.append([(at, at + len(word), FLIP[word])])
        elif group == "number":
            size = k > 1 and code[k - 1][1] == "[" and code[k - 2][0] == "name" and k > 2 and (
                code[k - 3][0] == "name" and code[k - 3][1] not in ("return", "case") or code[k - 3][1] == "*" and not spaced(code[k - 3][2], 1))
            # Further names in a declaration: char text[320], job[64].
            first = re.match(r"\s*(?:static |const )*(?:char|double|float|u?int\w*|size_t|unsigned|bool|struct \w+) ", lines[line_of(at)])
            size = size or bool(first) and k > 2 and code[k - 1][1] == "[" and code[k - 3][1] == "," and code[k - 2][0] == "name"
            if not size:
                found.append([(at, at + len(word), number(word))])
        elif group == "name" and word in ("if", "while") and k + 1 < len(code) and code[k + 1][1] == "(":
            depth, end = 0, k + 1
            for end in range(k + 1, len(code)):
                depth += {"(": 1, ")": -1}.get(code[end][1], 0)
                if not depth:
                    break
            found.append([(code[k + 1][2] + 1, code[k + 1][2] + 1, "!("), (code[end][2], code[end][2], ")")])
    for edits in found:
        at = line_of(edits[0][0])
        before = lines[at]
        if LEFT_OUT.search(before):
            continue
        after = before
        for a, b, new in reversed(edits):
            if line_of(a) == at:
                after = after[:a - starts[at]] + new + after[b - starts[at]:]
        yield name, at + 1, edits, " ".join(before.split()), " ".join(after.split())

def known(path):
    pairs, entry = set(), {}
    if os.path.exists(path):
        for line in open(path, encoding="utf-8"):
            key, _, value = line.rstrip("\n").partition(": ")
            if key in ("file", "from", "to", "why"):
                entry[key] = " ".join(value.split())
                if key == "why":
                    pairs.add((entry.get("file"), entry.get("from"), entry.get("to")))
                    entry = {"file": entry.get("file")}
    return pairs

if sys.argv[1] == "list":
    tree, folder, seed, equivalents = sys.argv[2:6]
    names = sorted(n for n in os.listdir(os.path.join(tree, folder)) if n.endswith(".c"))
    every = [c for n in names for c in candidates(os.path.join(tree, folder, n), folder + "/" + n)]
    random.Random(int(seed)).shuffle(every)
    pairs = known(equivalents)
    for name, line, edits, before, after in every:
        how = "equivalent" if (name, before, after) in pairs else ";".join("%d,%d,%s" % e for e in edits)
        print("%s\t%d\t%s\t%s\t%s" % (name, line, how, before, after))
elif sys.argv[1] == "lines":
    # One line per function and per executed line of gcov's JSON: FILE:f:FIRST:LAST, FILE:l:LINE:EXECUTED.
    import gzip, json
    root = os.path.realpath(sys.argv[2])
    for path in sys.argv[3:]:
        report = json.load(gzip.open(path, "rt"))
        for f in report["files"]:
            name = os.path.relpath(os.path.realpath(os.path.join(report["current_working_directory"], f["file"])), root)
            for x in f["functions"]:
                print("%s:f:%d:%d" % (name, x["start_line"], x["end_line"]))
            for x in f["lines"]:
                print("%s:l:%d:%d" % (name, x["line_number"], x["count"] > 0))
elif sys.argv[1] == "reached":
    # Prints the tests that execute LINE of NAME, in their order; if there are none, those that execute another line of NAME. If LINE
    # has no code, uses the nearest line with code.
    directory, name, line = sys.argv[2], sys.argv[3], int(sys.argv[4])
    order = [l.split() for l in open(os.path.join(directory, "order"))]
    reports = [os.path.join(directory, "reached", test.replace("/", "_")) for _, test in order]
    is_code = any(l.startswith(name + ":f:") for path in reports for l in open(path))  # else the file has tables alone
    file_tests, found = [], False
    for seconds, test in order:
        path = os.path.join(directory, "reached", test.replace("/", "_"))
        functions, lines = [], {}
        for l in open(path):
            file, what, a, b = l.rstrip("\n").split(":")
            if file == name and what == "f":
                functions.append((int(a), int(b)))
            elif file == name:
                lines[int(a)] = lines.get(int(a), False) or b == "1"
        around = [f for f in functions if f[0] <= line <= f[1]]
        if not around and (functions or not is_code):
            print(seconds, test)  # a table: every test may read it
            found = True
        for a, b in around[:1]:
            code = sorted(n for n in lines if a <= n <= b)
            near = [n for n in code if n <= line][-1:] + [n for n in code if n >= line][:1]
            if any(lines[n] for n in near):
                print(seconds, test)
                found = True
        if any(lines.values()):
            file_tests.append((seconds, test))
    # gcov counts nothing in a process that a signal or _exit() ends: such a test executes other lines of the file.
    for seconds, test in [] if found else file_tests:
        print(seconds, test)
else:
    source, target, how = sys.argv[2:5]
    text = open(source, encoding="utf-8", errors="surrogateescape").read()
    for edit in reversed(how.split(";")):
        a, b, new = edit.split(",", 2)
        text = text[:int(a)] + new + text[int(b):]
    open(target, "w", encoding="utf-8", errors="surrogateescape").write(text)
END
for f in $folders; do
  python3 "$dir/mutants.py" list "$tree" "$f" "$seed" "$equivalent" >"$dir/list.${f//\//.}" || exit 2
  [ -s "$dir/list.${f//\//.}" ] || fail "no mutants in $f"
done
if [ $only_list = yes ]; then
  for f in $folders; do head -n "$number" "$dir/list.${f//\//.}"; done | awk -F'\t' '{ printf "%s:%d: %s -> %s\n", $1, $2, $4, $5 }'
  exit 0
fi

# ---- a copy of the tree, built ----
copy=$dir/tree build=$dir/build
mkdir -p "$copy" "$build" "$dir/tmp"
(cd "$tree" && git ls-files -co --exclude-standard) | (cd "$tree" && while read -r f; do [ -f "$f" ] && echo "$f"; done) >"$dir/files"
# Unchanged files keep their times, so that a second run builds little.
while read -r f; do
  cmp -s "$tree/$f" "$copy/$f" || { mkdir -p "$copy/$(dirname "$f")" && cp "$tree/$f" "$copy/$f"; }
done <"$dir/files"
(cd "$copy" && find . -name '*.[ch]' | sed 's|^\./||' | grep -vxFf "$dir/files" | xargs -r rm -f)
cc=gcc
command -v ccache >/dev/null && cc='ccache gcc'
say() { printf '%s\n' "$*"; }
{
  [ -x "$copy/configure" ] || (cd "$copy" && autoreconf -i)
  [ -e "$build/Makefile" ] || (cd "$build" && ../tree/configure CC="$cc" CFLAGS='-O1' --without-cuda)
} >"$dir/configure.log" 2>&1 || fail "configure failed: see $dir/configure.log"
cd "$build" || exit 2
variable() { printf 'variable:\n\t@echo $(%s)\n' "$1" | make -s -f Makefile -f - variable; }
# The Makefile may be older than the tree: make brings it up to date first.
make -s Makefile >"$dir/make.log" 2>&1
if [ -z "$tests" ]; then
  for f in $folders; do
    room=${f##*/}
    [ -d "$copy/tests/$room" ] || fail "no tests/$room: name the tests with --tests"
    tests+=" $(variable TESTS | tr ' ' '\n' | grep "^tests/$room/")"
  done
  tests=$(printf '%s\n' $tests | sort -u)
fi
helpers=$(variable TEST_HELPERS)
programs=$(printf '%s\n' $tests | grep -v '\.sh$')
# Sequential, because "all" is a separate make, which would build the same libraries at the same time.
{ nice make -j2 all && nice make -j2 $programs $helpers; } >"$dir/make.log" 2>&1 || fail "the tree does not build: see $dir/make.log"
san=$dir/sanitized
if [ $sanitized = yes ]; then
  mkdir -p "$san"
  (
    cd "$san" || exit 1
    [ -e Makefile ] || ../tree/configure CC="$cc" CFLAGS='-O1' --enable-sanitizers --without-cuda || exit 1
    nice make -j2 all && nice make -j2 $programs $helpers
  ) >"$dir/make.log" 2>&1 || fail "the tree does not build with sanitizers: see $dir/make.log"
fi

# run TEST SECONDS [BUILD]: runs the test like make check; a status of 124 is the time limit
run() {
  local command=("./$1") where=${3:-$build}
  case $1 in *.sh) command=(bash "../tree/$1") ;; esac
  # A mutant may request any amount of memory and write without limit. The shell itself would report a crash.
  (
    cd "$where" && ulimit -c 0 -f 1000000
    if [ "$where" = "$build" ]; then
      ulimit -v 8000000
    else # sanitizers reserve more addresses
      export ORR_SANITIZED=1 ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
    fi
    srcdir=../tree top_builddir=$where ORRERY=$where/orrery TMPDIR=$dir/tmp timeout -k 2 "$2" "${command[@]}" >"$dir/said" 2>&1 </dev/null 9>&-
  ) 2>/dev/null
  local status=$?
  rm -rf "${dir:?}/tmp"/*
  [ $status -eq 0 ] && { grep -q '^not ok' "$dir/said" || ! grep -q '^1\.\.' "$dir/said"; } && status=1
  return $status
}
now() { date +%s.%N; }
# measure BUILD: reads tests, and prints their times
measure() {
  local since t
  while read -r t; do
    since=$(now)
    if run "$t" 600 "$1"; then
      echo "$(now) $since" | awk -v t="$t" '{ printf "%.2f %s\n", $1 - $2, t }'
    else
      say "$t fails without a mutant, and is left out: $(grep -m 1 '^not ok' "$dir/said")" >&2
    fi
  done
}
printf '%s\n' $tests | measure "$build" | sort -n | awk -v longest="$longest" '$1 <= longest' >"$dir/order"
[ -s "$dir/order" ] || fail "no test of $folder passes in time"
# Under sanitizers, tests of at most a tenth of the limit: each may run for several survivors.
if [ $sanitized = yes ]; then
  awk -v most="$most" '$1 <= most / 10 { print $2 }' "$dir/order" | measure "$san" >"$dir/order.sanitized"
fi
say "tests of $folder: $(awk '{ printf "%s%s %.1f s", (NR > 1 ? ", " : ""), $2, $1 }' "$dir/order")"

# ---- the lines that each test executes ---- A second build counts the executed lines of the folder's objects. It is next
# to the first, so that relative paths are valid.
rm -rf "$dir/cover" "$dir/counts" "$dir/reached" && cp -a "$build" "$dir/cover" && mkdir -p "$dir/reached"
(
  cd "$dir/cover" || exit 1
  objects=$(for f in $folders; do
    for c in "$copy/$f"/*.c; do
      find "$f" -maxdepth 1 -name "$(basename "$c" .c).o" -o -maxdepth 1 -name "*-$(basename "$c" .c).o"
    done
  done)
  # shellcheck disable=SC2086 # lists of names
  rm -f $objects && make -s CC=gcc CFLAGS='-O0 --coverage' $objects &&
    make -s -j2 LDFLAGS=--coverage all && make -s -j2 LDFLAGS=--coverage $programs $helpers
) >"$dir/make.log" 2>&1 || fail "the build that counts lines fails: see $dir/make.log"
while read -r seconds t; do
  rm -rf "$dir/counts" && mkdir "$dir/counts"
  (
    cd "$dir/cover" || exit 1
    case $t in *.sh) command=(bash "../tree/$t") ;; *) command=("./$t") ;; esac
    GCOV_PREFIX=$dir/counts srcdir=../tree top_builddir=$dir/cover ORRERY=$dir/cover/orrery TMPDIR=$dir/tmp \
      timeout -k 2 "$(echo "$seconds" | awk '{ print int(30 * $1) + 10 }')" "${command[@]}" </dev/null 9>&-
  ) >"$dir/said" 2>&1
  rm -rf "${dir:?}/tmp"/*
  (
    cd "$dir/counts" || exit 1
    find . -name '*.gcda' | while read -r f; do
      plain=${f%.gcda}
      cp "${plain#.}.gcno" "$plain.gcno" && gcov --json-format "$f"
    done
  ) >/dev/null 2>&1
  find "$dir/counts" -name '*.gcov.json.gz' -exec python3 "$dir/mutants.py" lines "$copy" {} + >"$dir/reached/${t//\//_}"
done <"$dir/order"

# ---- each mutant ----
# Restores the file and its object. The object is newer than the library, which is rebuilt; the file is newer than tests that include it.
restore() {
  [ -n "${original:-}" ] || return
  cp "$dir/original.c" "$copy/$original"
  [ -z "$object" ] || cp "$dir/original.o" "$object"
  [ -z "${again:-}" ] || cp "$dir/original.san.o" "$again"
  original='' again=''
}
# try_sanitized: runs the tests of $dir/reaching with the present mutant; returns 0 and sets verdict if one fails
try_sanitized() {
  local seconds t needs
  cp -p "$san/$object" "$dir/original.san.o" && again=$san/$object
  make -s -C "$san" "$object" >"$dir/make.log" 2>&1 || return 1
  while read -r seconds t <&4; do
    seconds=$(awk -v t="$t" '$2 == t { print int(10 * $1) + 3 }' "$dir/order.sanitized")
    [ -n "$seconds" ] || continue
    case $t in *.sh) needs="orrery $helpers" ;; *) needs=$t ;; esac
    make -s -C "$san" $needs >"$dir/make.log" 2>&1 || return 1
    run "$t" "$seconds" "$san" || { verdict="killed under sanitizers by $t" && return; }
  done 4<"$dir/reaching"
  return 1
}
trap 'restore; exit 130' INT TERM
trap restore EXIT
# try FOLDER: tries its mutants; returns 1 if the killed share is too small
try() {
  local folder=$1 counted=0 killed=0 late=0 memory=0 broken=0 same=0 listed=0 file line how before after where base verdict seconds t needs
  while IFS=$'\t' read -r file line how before after <&3; do
    [ "$counted" -lt "$number" ] || break
    where="$file:$line: $before -> $after"
    if [ "$how" = equivalent ]; then
      listed=$((listed + 1))
      continue
    fi
    base=$(basename "$file" .c)
    object=$(find "$(dirname "$file")" -maxdepth 1 -name "$base.o" -o -maxdepth 1 -name "*-$base.o" 2>/dev/null | head -n 1)
    [ -n "$object" ] || { broken=$((broken + 1)) && say "not built: $where" && continue; }
    cp -p "$copy/$file" "$dir/original.c" && cp -p "$object" "$dir/original.o" && original=$file
    python3 "$dir/mutants.py" apply "$dir/original.c" "$copy/$file" "$how"
    if ! make -s "$object" >"$dir/make.log" 2>&1; then
      broken=$((broken + 1)) && say "does not compile: $where"
      restore
      continue
    fi
    if cmp -s "$object" "$dir/original.o"; then
      same=$((same + 1)) && say "same code: $where"
      restore
      continue
    fi
    counted=$((counted + 1)) verdict=survives
    python3 "$dir/mutants.py" reached "$dir" "$file" "$line" |
      awk -v most="$most" '{ sum += $1 } NR > 1 && sum > most { exit } { print }' >"$dir/reaching"
    [ -s "$dir/reaching" ] || verdict='survives, executed by no test'
    while read -r seconds t <&4; do
      case $t in *.sh) needs="orrery $helpers" ;; *) needs=$t ;; esac
      make -s $needs >"$dir/make.log" 2>&1 || { verdict="killed by the linker" && break; }
      run "$t" "$(echo "$seconds" | awk '{ print int(10 * $1) + 3 }')"
      case $? in
      0) ;;
      124 | 137) verdict="killed by time ($t)" late=$((late + 1)) && break ;;
      *) verdict="killed by $t" && break ;;
      esac
    done 4<"$dir/reaching"
    [ $sanitized = no ] || [ "$verdict" != survives ] || { try_sanitized && memory=$((memory + 1)); }
    case $verdict in survives*) ;; *) killed=$((killed + 1)) ;; esac
    say "$verdict: $where"
    restore
  done 3<"$dir/list.${folder//\//.}"
  say "$killed of $counted mutants of $folder killed ($(awk -v k=$killed -v n=$counted 'BEGIN { printf "%.1f", n ? 100 * k / n : 0 }') %), $late of them by time$([ $sanitized = no ] || echo ", $memory under sanitizers alone");" \
    "not counted: $broken do not compile, $same are the same code, $listed are listed as equivalent (seed $seed)"
  awk -v k=$killed -v n=$counted -v least="$least" 'BEGIN { exit !(100 * k >= least * n) }'
}
rc=0
for f in $folders; do
  try "$f" || rc=1
done
exit $rc
