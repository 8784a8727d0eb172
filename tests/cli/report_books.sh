#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery report of the books that run quickly, opened in a browser: no message on the console, tables sort and filter, the page prints, and nothing is wider
# than a window of 400 or 1600 px.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
srcdir=$(cd "$srcdir" && pwd)
tests=$srcdir/tests/cli
cd "$work" || exit 1
books='experts mdf schedulers speculation zero-bubble'
browser=
for p in python3 /usr/bin/python3; do
  command -v chromium >/dev/null && command -v chromedriver >/dev/null && $p -c 'import selenium' 2>/dev/null && browser=$p
done
if [ -z "$browser" ] || [ "${ORR_SANITIZED:-}" = 1 ]; then
  skip 'no chromium, chromium-driver or python3-selenium (or a slow build): the pages of books are not opened' 15
  tap_done
  exit
fi
export HOME=$work XDG_RUNTIME_DIR=$work
for book in $books; do
  small "$book" 's/"file": "[^"]*", "otherwise": "philly-like[^"]*"/"file": "none.csv", "otherwise": "philly-like:n=60,load=1.2"/'
  if [ "$book" = schedulers ]; then
    sed -i 's/"18x8"\|"5x8"\|"8x4"/"12x8"/' schedulers/*.json
    sed -i 's/"seed": 1/"drop_unfit": true, "seed": 1/; s/"drop_unfit": true,$//' schedulers/{philly,trace120}.json
  fi
  "$ORRERY" figures "./$book" --no-figures --db "$book.db" --out "$book-out" -q >"$book.said" 2>&1
  is "$? $(grep -v 'generator replaces' "$book.said" | head -n 3)" '0 ' "the book $book runs"
  "$ORRERY" report "$book/figures.json" --db "$book.db" -o "$book.html"
  is "$? $(grep -c '<caption>Published and simulated values</caption>' "$book.html")" '0 1' 'its page has the published values'
  is "$("$browser" "$tests/report_browser.py" "$book.html" 0 2>&1)" '' 'and is good in a browser'
done
tap_done
