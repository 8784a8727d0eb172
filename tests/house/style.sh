# The habits that a machine can check (CONTRIBUTING.md).
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

# Everything that somebody wrote; build folders and what autoreconf makes are not.
files() {
  (cd "$srcdir" && find . \( -name .git -o -name 'build*' -o -name 'autom4te*' -o -name 'orrery-[0-9]*' \
    -o -name aclocal.m4 -o -name configure -o -name 'config.*' -o -name Makefile.in -o -name Makefile \) -prune -o \
    -type f \( "$@" \) -print | sort)
}
code() {
  files -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' -o -name '*.awk' -o -name '*.mk' -o -name Makefile.am \
    -o -name configure.ac -o -name '*.def' -o -name '*.gp' -o -path './.ci/run'
}

is "$(code | while read -r f; do
  n=$(wc -l <"$srcdir/$f")
  [ "$n" -le 700 ] || echo "$f has $n lines"
done)" "" "no file of code is over 700 lines"

marks='TO''DO|FIX''ME|XX''X'
is "$(code | grep -v '^\./tests/summary.sh$' | while read -r f; do grep -nHE "\\b($marks)\\b" "$srcdir/$f"; done)" "" \
  "nothing is left to be done later ($marks)"

is "$(files -name '*.[ch]' -o -name '*.sh' | while read -r f; do
  head -n 5 "$srcdir/$f" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || echo "$f"
done)" "" "every source file names its licence"

is "$(code | while read -r f; do grep -nHE '[[:space:]]+$' "$srcdir/$f"; done | head)" "" "no line ends in blanks"

is "$(files -name '*.sh' -o -path './.ci/run' | while read -r f; do bash -n "$srcdir/$f" 2>&1; done)" "" "every script parses"

if command -v shellcheck >/dev/null; then
  # Files that are sourced or run by `bash FILE` have no #! line, and get variables from make and tap.sh;
  # commas in words (lists of policies) are meant.
  is "$(files -name '*.sh' -o -path './.ci/run' | while read -r f; do
    shell=bash
    head -c 2 "$srcdir/$f" | grep -q '#!' && shell=$(head -n 1 "$srcdir/$f" | grep -oE '(ba)?sh$')
    shellcheck -s "$shell" -S warning -e SC1091,SC2034,SC2046,SC2054,SC2154 "$srcdir/$f" 2>&1
  done)" "" "shellcheck has no warnings"
else
  skip "no shellcheck here"
fi

# What no list names is left out of a release, or never built.
listed() {
  files -name '*.mk' -o -name Makefile.am | while read -r f; do cat "$srcdir/$f"; done | tr -s ' \t\\' '\n'
}
if (cd "$srcdir" && git rev-parse --is-inside-work-tree) >/dev/null 2>&1; then
  listed >"$work/listed"
  is "$(cd "$srcdir" && git ls-files | grep -vE '(^|/)(sources\.mk|\.gitignore|\.gitattributes)$|^(Makefile.am|configure.ac|orrery.pc.in)$' |
    awk 'NR == FNR { listed[$0] = 1; next }
      { for (path = $0; !(path in listed); ) if (!sub(/\/[^\/]*$/, "", path)) { print; break } }' "$work/listed" -)" "" \
    "every file, or its folder, is in a sources.mk, and so in a release"
else
  skip "no git checkout to compare with"
fi

# The documents keep up with the program.
names=$("$ORRERY" policy list 2>/dev/null | awk '/^  [a-z]/ { print $1 }')
if [ -n "$names" ]; then
  is "$(for p in $names; do sed -n '/^## Policies/,/^## /p' "$srcdir/README.md" | grep -q -- "\`$p\`" || echo "$p"; done)" "" "every policy is in the README's table"
else
  skip "this orrery lists no policies"
fi
formats=$("$ORRERY" trace list 2>/dev/null | awk '/^[^ ]/ { on = /^formats/ } on && /^  [a-z]/ { print $1 }')
models=$("$ORRERY" trace list 2>/dev/null | awk '/^[^ ]/ { on = /^models/ } on && /^  [a-z]/ { print $1 }')
is "$(for f in $formats; do sed -n '/^## Trace formats/,/^## /p' "$srcdir/README.md" | grep -q -- "\`$f\`" || echo "$f"; done)" "" "every trace format is in the README's table"
is "$(for f in $models; do grep -q -- "\`$f\`" "$srcdir/docs/guide.md" || echo "$f"; done)" "" \
  "every generator is in the user guide"
is "$("$ORRERY" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }' |
  while read -r c; do grep -q "orrery $c" "$srcdir/docs/guide.md" || echo "$c"; done)" "" "every command is in the user guide"
is "$(cd "$srcdir" && grep -ohE '\]\([^)#:]+' README.md CONTRIBUTING.md | sed 's/^](//' |
  while read -r f; do [ -e "$f" ] || echo "$f"; done)" "" "the links of README and CONTRIBUTING lead to files"
is "$(cd "$srcdir/docs" && grep -ohE '\]\([^)#:]+' ./*.md | sed 's/^](//' |
  while read -r f; do [ -e "$f" ] || echo "$f"; done)" "" "the links in docs/ lead to files"
# A fence that is not closed turns the rest into code: merges lose the lines that both sides have.
is "$(cd "$srcdir" && for f in ./*.md docs/*.md scenarios/*/README.md; do awk -v f="$f" '
    /^```/ { n++ }
    n % 2 == 0 && /^#+ / && before != "" { print f ":" FNR ": no empty line before the heading" }
    n % 2 == 0 && /^\$ |^orrery: / { print f ":" FNR ": a command or message that is not in a fence" }
    { before = $0 }
    END { if (n % 2) print f ": a fence is not closed" }' "$f"; done)" "" "code in the documents is fenced, and headings stand alone"
# A text that sends the reader to a document names one that is there.
is "$(cd "$srcdir" && grep -rhoE 'docs/[a-z-]+\.md' sim traces policies hwmodel plots include tests/*.c ./*.md | sort -u |
  while read -r f; do [ -e "$f" ] || echo "$f"; done)" "" "documents that the code names are there"
tap_done
