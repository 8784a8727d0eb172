# tree.sh - a copy of the tree and of its build folder, for tests that add files; source it after tap.sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR
source=$(cd "$srcdir" && pwd)
tree=$work/tree

# can_copy WHAT COUNT: returns false if no build is possible here, after COUNT skipped results and the plan of the test
can_copy() {
  if ! command -v automake >/dev/null || ! command -v autoconf >/dev/null; then
    skip "automake or autoconf is not installed: $1 is not built" "$2"
  elif [ ! "$top_builddir/.." -ef "$srcdir" ] || [ ! -f "$top_builddir/config.status" ]; then
    skip "the build folder is not inside the source folder: $1 is not built" "$2"
  else
    return 0
  fi
  tap_done
  return 1
}
copy_tree() {
  mkdir "$tree"
  (cd "$srcdir" && tar -cf - --exclude=./.git --exclude=./build --exclude='./build[0-9_]*' --exclude='./build-[!a]*' --exclude=./autom4te.cache --exclude='./orrery-*' .) |
    tar -xf - -C "$tree"
  cp -a "$top_builddir" "$tree/build"
  rm -rf "$tree/build/orrery" "$tree/build/tests"
  mkdir -p "$tree/build/tests"
}
# Prints the files that differ from the tree (T: the copy, S: the tree).
tree_changes() {
  diff -rq "$source" "$tree" -x .git -x build -x 'build[0-9_]*' -x 'build-[!a]*' -x autom4te.cache -x 'orrery-*' | sed "s|$tree|T|g; s|$source|S|g" | sort
}
# lines FILE..: prints the number of lines added to these files of the tree; a changed line counts as one
lines() {
  local file
  for file in "$@"; do diff "$source/$file" "$tree/$file"; done | grep -c '^>'
}
build_tree() {
  local rc
  SECONDS=0
  make -C "$tree/build" -j2 orrery >"$work/make.log" 2>&1
  rc=$?
  [ $rc -eq 0 ] || tail -n 20 "$work/make.log" | sed 's/^/# /'
  ok $rc "it builds (${SECONDS} s, on the objects of this build)"
}
