# Checks an installation by `make install`: program, man page, completion, headers, pkg-config.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR

root=$work/root
make -C "$top_builddir" install DESTDIR="$root" >"$work/install.log" 2>&1
rc=$?
[ $rc -eq 0 ] || sed 's/^/# /' "$work/install.log"
ok $rc "make install DESTDIR=... works"

one() { find "$root" -path "*/$1" -type f | head -n 1; }
program=$(one bin/orrery)
is "$("$program" --version)" "$("$ORRERY" --version)" "the installed program runs"

man=$(one man1/orrery.1)
ok "$([ -s "$man" ]; echo $?)" "the man page is installed"
commands=$("$ORRERY" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }')
is "$(for c in $commands; do
  grep -qix "\\.SH ORRERY $c" "$man" || echo "no section on $c"
  "$ORRERY" "$c" --help | grep -oE -- '(^|[^-[:alnum:]])--[a-z][a-z-]*' | sed 's/^[^-]*//' | sort -u |
    while read -r o; do sed 's/\\-/-/g' "$man" | grep -qF -- "$o" || echo "$c: no $o"; done
done)" "" "the man page has every command and option"
if command -v groff >/dev/null; then
  is "$(groff -man -Tascii -ww "$man" 2>&1 >/dev/null)" "" "groff formats the man page without a warning"
else
  skip "groff is not installed"
fi

completion=$(one bash-completion/completions/orrery)
ok "$([ -s "$completion" ]; echo $?)" "the completion is installed under the command's name"
# complete_words WORD...: prints the completions that bash offers for the last word
complete_words() {
  PATH=$(dirname "$program"):$PATH bash --norc -c '
    . "$1"; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _orrery; printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$@" 2>&1
}
is "$(complete_words orrery --ver)" "--version" "the completion completes options"
is "$(for c in $commands; do complete_words orrery "$c" | grep -qx -- "$c" || echo "$c"; done)" "" \
  "the completion knows every command"
is "$(complete_words orrery policy new x --)" "--kind
--max-memory
--max-time
--reacting
--help" "options in examples are not completed as options of the command"
is "$(complete_words orrery scenario show x --plac)" "--placement" "scenario show has the options of jobs"
if "$program" policy list >/dev/null 2>&1; then
  is "$(complete_words orrery jobs t.csv --policy fif)" "fifo" "the completion knows the policies"
  is "$(complete_words orrery jobs t.csv --placement consol)" "consolidate" "the completion knows choices listed in help texts"
  is "$(complete_words orrery jobs t.csv --policy srtf,fif)" "srtf,fifo" "the completion works after a comma"
  is "$(complete_words orrery step resnet50 --policy fif)$(complete_words orrery step resnet50 --policy stan)" "stanza" \
    "the completion offers policies of the command's world only"
  is "$(complete_words orrery step vgg1)" "vgg16
vgg19
vgg16_cifar" "the completion knows the models"
  is "$(complete_words orrery serve poi)$(complete_words orrery serve x --policy irin)$(complete_words orrery serve x --model llama2-13)" \
    "poissonirinallama2-13b" "the completion of serve knows its generators, policies and models"
else
  skip "this orrery lists no policies" 6
fi

# pkg-config and the headers: enough to build a plugin outside the tree.
pc=$(one pkgconfig/orrery.pc)
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags orrery)
  like "$flags" '^-I.*/include *$' "pkg-config --cflags orrery names the headers"
  is "$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --modversion orrery)" "$("$ORRERY" --version | cut -d' ' -f2)" \
    "pkg-config knows the version"
  # `orrery policy new` writes a policy and a test that builds it, runs it and compares it with fifo.
  if "$program" policy new --help >/dev/null 2>&1; then
    (cd "$work" && "$program" policy new mine && ORRERY=$program ORRERY_CFLAGS=$flags sh ./mine_test.sh) \
      >"$work/new.log" 2>&1
    rc=$?
    [ $rc -eq 0 ] || sed 's/^/# /' "$work/new.log"
    ok $rc "a new policy compiles against the installed headers, runs and does what its test says"
  else
    skip "this orrery has no command policy"
  fi
  is "$(for h in "$root"/*/*/include/orrery/*.h "$root"/*/include/orrery/*.h; do
    [ -e "$h" ] || continue
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror $flags -fsyntax-only -x c "$h" 2>&1
  done)" "" "every public header compiles by itself"
else
  skip "pkg-config is not installed" 4
fi
tap_done
