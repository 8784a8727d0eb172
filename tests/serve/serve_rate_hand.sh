#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --find-rate by hand: a request takes 1 s and arrives every 1.5 s, so that all of them meet a limit of 1 s up to 1.5 times that rate.
# The search tries powers of 2^(1/256); 2^(149/256) is the largest below 1.5, and beyond it only the first request meets the limit.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
printf '{"name": "m", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [1000, 1500]}' >m.json
{ echo arrival_s,samples; for i in 0 1 2 3 4 5 6 7 8 9 10; do awk -v i=$i 'BEGIN { print 1.5 * i ",1" }'; done; } >r.csv
{ cat r.csv; echo 16.5,3; } >large.csv
rate() { "$orrery" serve "$@" --model m.json --cluster 1x1 --policy fifo 2>&1; }
# number KEY TEXT: the value of a key of the JSON; off VALUE EXPECTED: empty within 1e-9
number() { grep -o "\"$1\": [^,}]*" <<<"$2" | cut -d' ' -f2; }
off() { awk -v a="$1" -v b="$2" 'BEGIN { d = a / b - 1; if (!(d < 1e-9 && d > -1e-9)) print a " for " b }'; }
power() { awk -v k="$1" 'BEGIN { printf "%.17g", exp(k / 256 * log(2)) }'; } # 2^(k/256)

is "$(rate r.csv --find-rate e2e=1s)" "fifo: 0.998 requests/s, 1.497 times the trace's rate: 100 % of the requests meet the SLO; \
at 1.001 requests/s 9.091 %, bound by e2e: of the completed requests 9.091 % keep e2e (16 runs)" "the rate found, and the next one tried"
# With ten requests, 13.5 s / 2^(149/256) = 9.02 s pass between the first and the last arrival, and a request takes 1 s. With eleven, 10.02 s.
head -n 11 r.csv >ten.csv
is "$(rate ten.csv --find-rate e2e=1s | tail -n +2)" "fifo: at this rate all requests arrive within 9.02 mean latencies, too few for queues to \
build up: a longer trace (at least 10) may have a lower rate" "a remark on a trace that is too short"
# Only first turns keep the times of the trace: the rate of all requests is not the factor times that of the trace.
awk -F, 'NR == 1 { print $0 ",session"; next } { print $0 "," int(NR / 2) }' r.csv >turns.csv
like "$(rate turns.csv --find-rate e2e=1s --set serve.sessions=replay --set serve.think=1s)" '^fifo: [0-9.]+ requests/s, sessions begin [0-9.]+ times as fast as in the trace: ' "sessions"
json=$(rate r.csv --find-rate e2e=1s --json)
is "$(off "$(number arrivals_span_latencies "$json")" "$(awk -v f="$(power 149)" 'BEGIN { printf "%.17g", 15 / f }')")" "" "arrivals in mean latencies"
is "$(off "$(number factor "$json")" "$(power 149)")$(off "$(number above_factor "$json")" "$(power 150)")" "" "factors"
is "$(off "$(number rate_per_s "$json")" "$(awk -v f="$(number factor "$json")" 'BEGIN { printf "%.17g", f / 1.5 }')")" "" "requests per second"
is "$(number attainment "$json") $(off "$(number above_attainment "$json")" "$(awk 'BEGIN { printf "%.17g", 1 / 11 }')")" "1 " "shares at both rates"
is "$(number bound "$json") $(number above_ttft_attainment "$json") $(number above_tpot_attainment "$json") $(number runs "$json")" \
  '"e2e" null null 16' "limits that are not set have no share"
is "$(off "$(number above_e2e_attainment "$json")" "$(awk 'BEGIN { printf "%.17g", 1 / 11 }')") $(number above_refused "$json") $(number above_refused_by "$json")" \
  " 0 {" "no request is refused"

# The twelfth request has three samples and is refused at any rate.
is "$(rate large.csv --find-rate e2e=1s --attainment 0.95)" "fifo: no rate was found at which 95 % of the requests meet the SLO \
(91.67 % at 0.6667 requests/s, the only rate tried, bound by refused requests: of the completed requests 100 % keep e2e; refused 8.333 % \
(batch-size 8.333 %)) (1 run)" "too many requests are refused at any rate"
json=$(rate large.csv --find-rate e2e=1s --attainment 0.95 --json)
is "$(number rate_per_s "$json") $(number factor "$json") $(number attainment "$json") $(number above_factor "$json") $(number bound "$json") $(number runs "$json")" \
  'null null null 1 "refused" 1' "no rate, as JSON"
is "$(off "$(number above_refused "$json")" "$(awk 'BEGIN { printf "%.17g", 1 / 12 }')")$(off "$(number batch-size "$json")" "$(awk 'BEGIN { printf "%.17g", 1 / 12 }')")" \
  "" "shares that are refused, by reason"
# At 11 of 12, all of the eleven others must meet the limit: the same factors, over 12 requests.
json=$(rate large.csv --find-rate e2e=1s --attainment 0.91 --json)
is "$(off "$(number attainment "$json")" "$(awk 'BEGIN { printf "%.17g", 11 / 12 }')") $(number enough "$json" | cut -c1-4)" " 0.91" "11 of 12 are enough for 91 %"
is "$(awk -v a="$(number above_factor "$json")" -v f="$(number factor "$json")" 'BEGIN { print (a > f && a / f <= 1.004) }')" 1 "the rates tried differ by at most 0.4 %"

# A prompt of 10 ms and a decode of 10 ms: TPOT is 10 ms, and 5 ms by Splitwise's formula.
printf '{"name": "l", "source": "made up", "kind": "llm", "weight_bytes": 1, "kv_bytes_per_token": 1, "closed": {"constant_ms": 10, "token_ms": 0, "context_ms": 0, "pair_ms": 0}}' >l.json
printf 'arrival_s,prompt_tokens,output_tokens\n0,100,2\n10,100,2\n20,100,2\n' >l.csv
tbt() { "$orrery" serve l.csv --model l.json --cluster 1x1 --kv-blocks 100 --policy vllm --set serve.tbt="$2" "$1" tpot=6ms --json 2>&1; }
is "$(number attainment "$(tbt --find-rate tpot)") $(number attainment "$(tbt --find-rate splitwise)")" "null 1" "a rate for TPOT as serve.tbt defines it"
is "$(number attainment "$(tbt --find-replicas tpot)") $(number attainment "$(tbt --find-replicas splitwise)")" "null 1" "replicas too"

echo 'arrival_s' >one.csv && echo 1 >>one.csv
is "$(rate one.csv --find-rate e2e=1s)" "orrery: --find-rate: expected a trace of at least two requests" "one request"
printf 'arrival_s\n1\n1\n' >two.csv
is "$(rate two.csv --find-rate e2e=1s)" "orrery: --find-rate: all requests arrive at the same time: expected different arrival times" "one instant"
is "$(rate r.csv --find-rate e2e=1s -q)" "" "quiet"
tap_done
