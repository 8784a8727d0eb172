#!/usr/bin/env bash
# same_bytes.sh - checks that a refactoring changed no byte of the program's output
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   same_bytes.sh record ORRERY DIR [-j N]     runs the lines of same_bytes.runs and keeps their files in DIR
#   same_bytes.sh compare BEFORE AFTER         lists the files that differ; exit code 1 if any does
#   same_bytes.sh columns BEFORE AFTER         the same, but CSV by column name and JSON by key
#
# A record holds, for each run: exit code, standard output, files, digest of the database; for each scenario book its
# tables, the data of its figures and the digest. DIR/texts holds texts for readers (help, messages, printed tables):
# differences there are listed but are not errors. Excluded: PDF and PNG (SVG has the same figure), wall time, host and
# paths (the runs use relative names in a separate folder). Hashes of runs cover the program's version and sources, so
# they are not compared between different versions.
#
# Environment: ORRERY_DATA_PATH (real traces; runs that need missing files are skipped), SAME_BYTES_BOOKS=full (scenario
# books at their full size), SAME_BYTES_ONLY (a pattern of names).
set -u
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
verbs='jobs step serve spot run scenario figures policy trace model device calib net db'

usage() { sed -n '4,8s/^#  *//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
fail() { echo "same_bytes.sh: $*" >&2; exit 2; }

# ---- inputs of the runs ----
# Small files, the same on every machine.
inputs() {
  mkdir -p in made books db
  ln -s "$tree" tree
  [ -d "${ORRERY_DATA_PATH:-}" ] && ln -s "$(cd "$ORRERY_DATA_PATH" && pwd)" data
  awk 'function rnd() { x = (16807 * x) % 2147483647; return x / 2147483647 }
    BEGIN { x = 7; print "submit_s,duration_s,gpus,user,speedup"
    for (i = 0; i < 120; i++) { t += int(240 * rnd()); g = 2 ^ int(4 * rnd()); s = ""
      if (rnd() < 0.6) for (k = 1; k <= 16; k *= 2) s = s (k > 1 ? ";" : "") k ":" k - (k - 1) / 4
      printf "%d,%d,%d,u%d,%s\n", t, 60 + 6000 * rnd(), g, i % 5, s } }' >in/elastic.csv
  awk 'function rnd() { x = (16807 * x) % 2147483647; return x / 2147483647 }
    BEGIN { x = 1; print "arrival_s,prompt_tokens,output_tokens,session"
    for (i = 0; i < 80; i++) { t += int(600 * rnd()) / 1000; printf "%.3f,%d,%d,%d\n", t, 1 + 1500 * rnd(), 1 + 200 * rnd(), 9 * rnd() } }' >in/talk.csv
  printf '%s\n' application,init_batch_size,max_batch_size,min_local_bsz,max_local_bsz,alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma \
    net,100,800,10,100,0.5,0.005,0.15,0,0.05,0,1 >in/apps.csv
  printf 'application,batch_size,epoch,grad_sqr,grad_var,progress\nnet,100,0,1,100,100\nnet,100,1,1,100,300\nnet,800,0,1,100,100\nnet,800,1,1,100,300\n' >in/noise.csv
  printf 'name,time,application,num_replicas,batch_size\nj0,0,net,1,100\nj1,40,net,2,100\nj2,80,net,3,100\nj3,120,net,1,100\n' >in/adapt.csv
  printf 'time_s,node,event\n20,n0,fail\n45,n0,repair\n3000,n1,fail\n4000,n1,repair\n90000,n2,fail\n99000,n2,repair\n' >in/failures.csv
  echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1, 2, 4], "latency_ms": [20, 30, 45]}' >in/slow.json
  echo '{"world": "serve", "deployments": [{"model": "llama2-7b", "replicas": 1, "least": 1, "most": 4}]}' >in/scaled.json
  echo '{"world": "serve", "deployments": [{"model": "llama2-7b", "role": "prefill", "replicas": 2}, {"model": "llama2-7b", "role": "decode", "replicas": 2}]}' \
    >in/split.json
  echo '{"world": "serve", "deployments": [{"model": "irina-b", "replicas": 1}, {"model": "irina-googlenet", "replicas": 2}]}' >in/own.json
  echo '{"world": "serve", "deployments": [{"model": "irina-a", "replicas": 1, "least": 0, "most": 2}]}' >in/none.json
  cat >in/serve.json <<'END'
{"world": "serve", "cluster": "2x4:a100,4x4:a100-spot", "trace": "poisson:rate=20,n=1500", "models": ["in/slow.json"],
 "deployments": [{"tp": 2, "replicas": 1, "least": 1, "most": 8}],
 "serve": {"autoscale": "outstanding", "scale_target": 2, "start_up": "20s", "notice": "2m"}, "record": "sample",
 "policies": ["fifo", "clipper"], "failures": {"mtbf": "10m", "mttr": "5m", "types": "a100-spot"}, "prices": {"a100": 3, "a100-spot": 1}}
END
  cat >in/mixed.json <<'END'
{"world": "mixed", "cluster": "2x8:a100,1x8:a100-spot", "jobs": {"trace": "tiresias-like:n=30,gap=60,high=3600", "jobs": {"checkpoint": "10m", "start_cost": "30s"}},
 "serve": {"trace": "alternating:low=1,high=8,phase=5m,n=3000,prompt=azure-conv,output=azure-conv", "models": ["llama2-7b"],
  "deployments": [{"replicas": 2, "least": 1, "most": 12}],
  "serve": {"autoscale": "outstanding", "scale_target": 8, "start_up": "1m", "notice": "2m", "slo_ttft": "1s", "slo_tpot": "40ms"}},
 "policies": ["fjf+vllm", "srtf+sarathi@other", "las+orca"], "first": "serve", "prices": {"a100": 4, "a100-spot": 1.5}}
END
  cat >in/lent.json <<'END'
{"world": "mixed", "cluster": "4x4:a100", "jobs": {"trace": "tiresias-like:n=30,gap=60,high=1800", "jobs": {"checkpoint": "5m"}},
 "serve": {"trace": "poisson:rate=5,n=1500", "models": ["in/slow.json"], "deployments": [{"replicas": 2}], "serve": {"start_up": "5s"}},
 "policies": ["fifo+fifo", "fjf+clipper"], "capacity": {"trace": "churn:slots=4,rate=1,length=10h", "notice": "30s", "price": 3.6}}
END
  printf 'link,bandwidth_Bps,latency_s\nup,1e9,1e-6\n' >in/links.csv
  printf 'id,step,src,dst,bytes,start_s,links\n0,-1,a,b,3e6,0,up\n1,-1,a,c,1e6,0.001,up\n' >in/flows.csv
  echo '{"switches": ["tor"], "links": [{"from": "node0", "to": "tor"}, {"from": "node1", "to": "tor"}]}' >in/two.json
  printf '0.01,node0-tor,1e7\n0.5,node0-tor,1e9\n' >in/changes.csv
  # Eight GPUs on four boards, two boards per switch, and the host, node 8.
  awk 'BEGIN { printf "{\"bw\": \"49.6GBps\", \"switches\": [\"root\""
    for (b = 0; b < 4; b++) printf ", \"plx%d\"", b
    printf "], \"links\": [{\"from\": \"node8\", \"to\": \"root\", \"lat\": \"1us\"}"
    for (b = 0; b < 4; b++) printf ", {\"from\": \"plx%d\", \"to\": \"root\", \"bw\": \"12.4GBps\", \"lat\": \"1us\"}", b
    for (g = 0; g < 8; g++) printf ", {\"from\": \"node%d\", \"to\": \"plx%d\", \"bw\": \"12.4GBps\", \"lat\": \"1us\"}", g, int(g / 2)
    print "]}" }' >in/tree8.json
}

# The scenario books with fewer values on their axes, fewer seeds and shorter traces.
books() {
  cp -rL "$tree"/scenarios/. books
  chmod -R u+w books
  [ "${SAME_BYTES_BOOKS:-}" = full ] && return
  sed -i -e 's/"learn.seeds": 5/"learn.seeds": 1/; s/"lr": \[.*\]/"lr": [0.001, 0.008, 0.064]/; s/"rate": \[.*\]/"rate": [0.016, 0.064]/' \
    -e 's/"learn.max_samples": [36]0000/"learn.max_samples": 3000/; s/32 \* 300/32 * 60/; s/"step.iterations": 100/"step.iterations": 60/' books/ako/figures.json
  sed -i 's/"p": \[.*\]/"p": [0.01, 0.1, 0.5]/; s/"rate": \[.*\]/"rate": [0.1, 0.5, 0.61]/' books/bamboo/figures.json
  sed -i 's/"replications": 1000/"replications": 50/; s/"replications": 400/"replications": 20/; s/"replications": 10\(,\?\)$/"replications": 3\1/' books/bamboo/*.json
  sed -i -e 's/"contention_iterations": 10000/"contention_iterations": 200/; s/"search_iterations": 400/"search_iterations": 60/' \
    -e 's/"seeds": 8, "t_of_seeds": 2.364624/"seeds": 3, "t_of_seeds": 4.302653/; s/"busy": \[.*\]/"busy": [0, 0.02]/; s/"r": \[.*\]/"r": [2, 4]/' \
    -e 's/"target": \[.*\]/"target": [0.3]/; s/"p": \[.*\]/"p": [0, 0.02, 0.1]/' books/ds-sync/figures.json
  sed -i 's/96000/24000/; s/: 48000/: 12000/; s/"target": 0.2/"target": 0.5/' books/ds-sync/learn-*.json
  sed -i 's/"P": \[.*\]/"P": [0.1, 0.5, 0.9]/; s/"gap": \[.*\]/"gap": [13, 100]/; s/"n": \[200, 100\]/"n": [200]/; s/n=2000,/n=300,/; s/"replications": 50$/"replications": 5/' \
    books/irina/figures.json
  sed -i 's/"replications": 1000/"replications": 30/' books/irina/*.json
  # Generators replace the full traces in the books; all other runs use slices of the traces.
  sed -i 's/"load": \[.*\]/"load": [4]/; s/load=1\]/load=4]/g; s/"file": "/"file": "no-/; s/n=[0-9]*,prompt/n=300,prompt/' books/llm-serving/figures.json
  sed -i 's/"seed": \[1, 2, 3, 4, 5\]/"seed": [1, 2]/' books/one-clock/figures.json
  sed -i 's/n=500000/n=6000/; s/phase=2h/phase=5m/; s/n=300,gap=120/n=30,gap=60/' books/one-clock/*.json
  sed -i -e 's/"start": \[1, 2, 3, 4, 5\]/"start": [1, 2]/; s/"fraction": \[.*\]/"fraction": [50, 80, 95]/; s/"bid": \[.*\]/"bid": [1, 3]/' \
    -e 's/"u": \[.*\]/"u": [0.25, 0.704688, 1, 1.419068]/; s/"W": 1000000/"W": 100000/' books/spot-field/figures.json
  sed -i 's/"replications": 200/"replications": 10/; s/"replications": 1000/"replications": 50/; s/"steps": 1000000/"steps": 100000/' books/spot-field/*.json
  sed -i -e 's/"N": \[3, .*20\]/"N": [5, 9, 10]/; s/"nodes": \[.*\]/"nodes": [10, 40]/; s/"many": \[.*\]/"many": [40]/' \
    -e 's/"fc": \[.*\]/"fc": [1, 2, 3]/; /{ "value": 100, /d; s/"slower": 10 } },/"slower": 10 } }/' books/stanza/figures.json
  sed -i 's/"over": \[.*\]/"over": [1, 8]/' books/training-jobs/figures.json
  sed -i 's/days=7,/days=2,/' books/training-jobs/jobs.json
}

# ---- record ---- one NAME VERB ARGUMENT..: runs a line of the list
one() {
  local name=$1 word specs=() args=() options=() figures=no list='' k=0 status last=''
  shift
  for word; do
    case $word in --) args+=("$word") ;; +figures) figures=yes ;; *) args+=("$word") ;; esac
  done
  set -- "${args[@]}"
  args=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do args+=("${1//%o/out/$name}") && shift; done
  [ $# -gt 0 ] && shift && specs=("$@")
  for word in "${args[@]}"; do
    case $last:$word in
    -o:*) ;;
    *:data/* | *:made/*) [ -e "$word" ] || { echo "$name: no $word" >>"$into/skipped" && return; } ;;
    esac
    last=$word
  done
  case ${args[0]} in jobs | step | serve | spot)
    for word in ${specs[@]+"${specs[@]}"}; do
      local policy=${word%%:*} label
      k=$((k + 1)) label=$policy-$k
      list+=${list:+,}$policy@$label
      echo "${args[0]} $policy" >>"$work/ran"
      [ "$word" = "$policy" ] && continue
      while IFS= read -r value; do options+=(--set "policy.$label.$value"); done < <(echo "${word#*:}" | sed -E 's/:([a-z_]+=)/\n\1/g')
    done
    [ -n "$list" ] && options+=(--policy "$list") ;;
  esac
  case $name in
  text-*)
    "$orrery" "${args[@]}" ${options[@]+"${options[@]}"} >"$into/texts/$name.out" 2>"$into/texts/$name.err" </dev/null
    echo $? >"$into/texts/$name.status"
    return
    ;;
  esac
  local dir=$into/runs/$name
  mkdir -p "$dir"
  case ${args[0]} in
  jobs | step | serve | spot | run | figures)
    options+=(-q -j "$threads")
    [ "${args[0]}" = figures ] || options+=(--json)
    case " ${args[*]} " in *' --find-rate '*) ;; *)
      options+=(--out "$dir" --db "db/$name.db")
      [ $figures = yes ] && command -v gnuplot >/dev/null || options+=(--no-figures)
      ;;
    esac
    ;;
  esac
  "$orrery" "${args[@]}" ${options[@]+"${options[@]}"} >"$dir/stdout" 2>"$into/texts/$name.err" </dev/null
  status=$?
  echo $status >"$dir/status"
  [ -s "$dir/stdout" ] || rm -f "$dir/stdout"
  [ -s "$into/texts/$name.err" ] || rm -f "$into/texts/$name.err"
  rm -f "$dir"/*.pdf "$dir"/*.png
  [ -e "db/$name.db" ] && "$orrery" db digest "db/$name.db" >"$dir/digest" && rm -f "db/$name.db"
  [ $status -eq 0 ] || echo "$name: exit code $status: $(head -n 1 "$into/texts/$name.err" 2>/dev/null)" >>"$into/failed"
}

record() {
  [ $# -ge 2 ] || usage
  local program=$1 line words
  into=$2 threads=1
  [ "${3:-}" = -j ] && threads=${4:?}
  orrery=$(realpath "$program") && [ -x "$orrery" ] || fail "no program $program"
  [ -d "$into" ] && [ -n "$(ls -A "$into")" ] && fail "$into is not empty"
  mkdir -p "$into/runs" "$into/texts"
  into=$(cd "$into" && pwd)
  work=$(mktemp -d "${TMPDIR:-/tmp}/same-bytes.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cd "$work" || exit 2
  # Traces of books are found by ORRERY_TRACE_PATH or ORRERY_DATA_PATH; a user's data folder must not interfere.
  unset ORRERY_DATADIR ORRERY_TRACE_PATH
  inputs
  books
  ln -s "$into/runs" out
  SECONDS=0
  while read -r line; do
    case $line in '' | '#'*) continue ;; esac
    read -ra words <<<"$line"
    # shellcheck disable=SC2053
    [[ ${words[0]} == ${SAME_BYTES_ONLY:-*} ]] || continue
    one "${words[@]}"
  done < <(sed -e :join -e '/\\$/{N;s/\\\n//;b join' -e '}' "$here/same_bytes.runs")
  sed -i '/"date"/d' made/*.device.json 2>/dev/null
  cp -r made "$into/runs/made"
  [ -e mine.c ] && cp mine.c mine_test.sh "$into/texts" # of policy new
  for line in $verbs; do "$orrery" "$line" --help >"$into/texts/help-$line" 2>&1; done
  for line in jobs step serve spot; do
    "$orrery" policy list --kind $line >"$into/texts/policies-$line"
    awk '/^  / { print $1 }' "$into/texts/policies-$line" | while read -r words; do
      "$orrery" policy show "$words" --kind $line >"$into/texts/policy-$line-$words"
      grep -qx "$line $words" "$work/ran" 2>/dev/null || [ -n "${SAME_BYTES_ONLY:-}" ] ||
        echo "policy $words of $line: no run has it" >>"$into/failed"
    done
  done
  "$orrery" --version >"$into/version"
  echo "$(find "$into/runs" -mindepth 1 -maxdepth 1 | wc -l) runs, $(find "$into/runs" -type f | wc -l) files, ${SECONDS} s"
  [ -e "$into/skipped" ] && sed 's/^/skipped: /' "$into/skipped"
  [ ! -e "$into/failed" ] || { sed 's/^/failed: /' "$into/failed"; return 1; }
}

# ---- compare ----
both_records() {
  [ $# -eq 2 ] || usage
  for d; do [ -d "$d/runs" ] || fail "$d is no record"; done
}
# plain FILE: prints the compared part of a file
plain() { if [ "$same_version" = yes ]; then cat "$1"; else sed -E '/^[[:space:]]*"hash":|_hash/d' "$1"; fi; }
first_difference() { diff <(plain "$1") <(plain "$2") | sed -n '/^[<>]/{p;q}' | cut -c1-200; }

compare() {
  both_records "$@"
  local f n=0 bad=0 texts=0
  same_version=no
  cmp -s "$1/version" "$2/version" && same_version=yes
  [ $same_version = yes ] || echo "versions or sources differ: hashes of runs are not compared"
  while read -r f; do
    n=$((n + 1))
    if [ ! -e "$1/$f" ]; then
      echo "$f: only in $2"
    elif [ ! -e "$2/$f" ]; then
      echo "$f: only in $1"
    elif cmp -s "$1/$f" "$2/$f"; then
      continue
    elif [ $same_version = no ] && [ -z "$(first_difference "$1/$f" "$2/$f")" ]; then
      continue
    else
      echo "$f: $(first_difference "$1/$f" "$2/$f")"
    fi
    bad=$((bad + 1))
  done < <({ (cd "$1" && find runs -type f); (cd "$2" && find runs -type f); } | sort -u)
  while read -r f; do
    cmp -s "$1/$f" "$2/$f" && continue
    texts=$((texts + 1))
    echo "text (not counted) $f"
  done < <({ (cd "$1" && find texts -type f); (cd "$2" && find texts -type f); } | sort -u)
  echo "$((n - bad)) of $n files of $(find "$1/runs" -mindepth 1 -maxdepth 1 | wc -l) runs are the same bytes; $texts texts differ"
  [ "$n" -gt 0 ] && [ "$bad" -eq 0 ]
}

columns() {
  both_records "$@"
  python3 - "$1" "$2" <<'END'
import csv, json, os, sys
before, after = sys.argv[1:]
bad = same = other = 0
HASHES = ("hash", "version", "scenario")  # cover names, which may change

said, sets = {}, {}  # lines per file; files by what one record alone has

def say(name, what):
    global bad
    bad += 1
    file = name.split(" ")[0]
    said[file] = said.get(file, 0) + 1
    if said[file] < 6:
        print("%s: %s" % (name, what) if said[file] < 5 else file + ": and more")

def rows(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as f:
        all_rows = list(csv.reader(f))
    return (all_rows[0], all_rows[1:]) if all_rows else ([], [])

def lists(name, what, a, b):
    for side, left in (("before", [x for x in a if x not in b]), ("after", [x for x in b if x not in a])):
        if left:
            sets.setdefault("%s only %s: %s" % (what, side, " ".join(map(str, left))[:300]), []).append(name)

# A table whose first columns name its rows is compared row by name; any other table in order.
def keyed(head, body):
    for k in (1, 2, 3):
        keys = [tuple(r[:k]) for r in body]
        if len(set(keys)) == len(keys) and not all(x.replace(".", "").isdigit() for x, in [q[:1] for q in keys]):
            return dict(zip(keys, body))
    return None

def tables(name, a, b):
    (ha, ra), (hb, rb) = a, b
    lists(name, "columns", ha, hb)
    if len(ra) != len(rb) and keyed(ha, ra) and keyed(hb, rb) or name.endswith("summary.csv"):
        ka, kb = keyed(ha, ra), keyed(hb, rb)
        if ka is not None and kb is not None:
            lists(name, "rows", [" ".join(k) for k in ka], [" ".join(k) for k in kb])
            ra, rb = zip(*[(ka[k], kb[k]) for k in ka if k in kb]) or ((), ())
    if len(ra) != len(rb):
        return say(name, "%d rows, %d before" % (len(rb), len(ra)))
    for c in ha:
        if c in hb:
            i, j = ha.index(c), hb.index(c)
            for n, (x, y) in enumerate(zip(ra, rb)):
                if len(x) > i and len(y) > j and x[i] != y[j]:
                    return say(name, "column %s, row %d: %s, %s before" % (c, n + 1, y[j], x[i]))

def values(name, a, b, at="$"):
    if isinstance(a, dict) and isinstance(b, dict):
        lists(name + " " + at, "keys", list(a), list(b))
        return all([values(name, a[k], b[k], at + "." + k) for k in a if k in b and k not in HASHES])
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return all([values(name, x, y, "%s[%d]" % (at, i)) for i, (x, y) in enumerate(zip(a, b))])
    if a != b or type(a) is not type(b):
        say(name, "%s: %s, %s before" % (at, json.dumps(b)[:80], json.dumps(a)[:80]))
        return False
    return True

def files(top):
    top = os.path.join(top, "runs")
    return {os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names}

fa, fb = files(before), files(after)
lists("runs", "files", sorted(fa), sorted(fb))
for name in sorted(fa & fb):
    pa, pb = (os.path.join(x, "runs", name) for x in (before, after))
    da, db = open(pa, "rb").read(), open(pb, "rb").read()
    was = bad
    if da == db:
        pass
    elif name.endswith(".csv"):
        tables(name, rows(pa), rows(pb))
    elif name.endswith("digest") or name.endswith(".svg") or name.endswith(".txt"):
        other += 1
        continue
    else:
        try:
            ja, jb = json.loads(da, parse_float=str), json.loads(db, parse_float=str)
        except ValueError:
            say(name, "differs")
        else:
            values(name, ja, jb)
    same += bad == was
for what, names in sets.items():
    print("%s: %s" % (names[0] if len(names) == 1 else "%d files, such as %s" % (len(names), names[0]), what))
print("%d of %d files of both have the same values; %d digests, drawings and printed tables differ" % (same, len(fa & fb) - other, other))
sys.exit(bad > 0 or not fa & fb)
END
}

case ${1:-} in
record | compare | columns) "$@" ;;
*) usage ;;
esac
