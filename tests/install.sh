# What `make install` leaves behind works: program, man page, completion, headers, pkg-config.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
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
  is "$(groff -man -Tascii -ww "$man" 2>&1 >/dev/null)" "" "groff renders the man page without a warning"
else
  skip "no groff here"
fi

completion=$(one bash-completion/completions/orrery)
ok "$([ -s "$completion" ]; echo $?)" "the completion is installed under the command's name"
# complete_words WORD...: what bash would offer for the last word
complete_words() {
  PATH=$(dirname "$program"):$PATH bash --norc -c '
    . "$1"; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _orrery; printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$@" 2>&1
}
is "$(complete_words orrery --ver)" "--version" "the completion completes options"
is "$(for c in $commands; do complete_words orrery "$c" | grep -qx -- "$c" || echo "$c"; done)" "" \
  "the completion knows every command"
if "$program" policy list >/dev/null 2>&1; then
  is "$(complete_words orrery jobs t.csv --policy fif)" "fifo" "the completion knows the policies"
  is "$(complete_words orrery jobs t.csv --policy srtf,fif)" "srtf,fifo" "and those after a comma"
else
  skip "this orrery lists no policies" 2
fi

# pkg-config and the headers: enough to build a plugin outside the tree.
pc=$(one pkgconfig/orrery.pc)
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags orrery)
  like "$flags" '^-I.*/include *$' "pkg-config --cflags orrery names the headers"
  is "$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --modversion orrery)" "$("$ORRERY" --version | cut -d' ' -f2)" \
    "pkg-config knows the version"
  if ! (cd "$work" && "$program" policy new mine --kind jobs) >"$work/new.log" 2>&1; then
    cat >"$work/mine.c" <<'END'
#include <orrery/policy.h>
static void *mine_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return orr_queue_new(w);
}
static void mine_destroy(void *self) { orr_queue_free(self); }
static void mine_arrive(void *self, struct orr_jobs *w, orr_job j) { orr_queue_add(self, j, orr_job_submit_ns(w, j), 0); }
static void mine_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how) { (void)self, (void)w, (void)j, (void)how; }
static void mine_schedule(void *self, struct orr_jobs *w)
{
	for (orr_job j; (j = orr_queue_first(self)) && orr_try_start(w, j);)
		orr_queue_remove(self, j);
}
static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_jobs_ops ops = { sizeof ops, mine_create, mine_destroy, mine_arrive, mine_finish, NULL, mine_schedule, NULL };
ORR_POLICY_JOBS(mine, "first come, first served", params, ops);
END
  fi
  source=$(cd "$work" && find . -name 'mine.c' | head -n 1)
  # shellcheck disable=SC2086 # flags are meant to be split
  (cd "$work" && ${CC:-cc} -std=c11 -Wall -Wextra -Werror -shared -fPIC $flags "$source" -o mine.so) >"$work/cc.log" 2>&1
  rc=$?
  [ $rc -eq 0 ] || sed 's/^/# /' "$work/cc.log"
  ok $rc "a policy compiles against the installed headers"
  is "$(for h in "$root"/*/*/include/orrery/*.h "$root"/*/include/orrery/*.h; do
    [ -e "$h" ] || continue
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror $flags -fsyntax-only -x c "$h" 2>&1
  done)" "" "every public header compiles by itself"
else
  skip "no pkg-config here" 4
fi
tap_done
