/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_avail.c - traces of availability: readers, errors and repairs, shifts, several files */
#include "tests/tap.h"

#include "traces/avail.h"
#include "traces/trace.h"

#include "base/rng.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <inttypes.h>
#include <stdlib.h>

static struct orr_error err;

static const char *fixture(const char *name)
{
	static char path[512];
	const char *srcdir = getenv("srcdir");
	snprintf(path, sizeof path, "%s/tests/data/traces/%s", srcdir ? srcdir : ".", name);
	return path;
}

/* Prints the rows of a set, one word each: +name@s or -name@s, zone after a slash, price after a dollar sign; the end of the trace
 * after a bar. */
static char *rows_text(const struct availset *s)
{
	struct sbuf b = { 0 };
	struct avail_rec r;
	char name[AVAIL_NAME_MAX];
	uint64_t n = 0;
	uint32_t live = 0;
	struct availcursor *c = availset_open(s, 0);
	while (availcursor_next(c, &r)) {
		live += r.kind == AVAIL_ADD ? 1 : r.kind == AVAIL_REMOVE ? -1u : 0;
		if (r.number != n++ || r.live != live)
			sbuf_printf(&b, "(number %" PRIu64 " live %" PRIu32 ")", r.number, r.live);
		sbuf_printf(&b, "%s%s@%.9g",
			r.kind == AVAIL_ADD      ? "+"
			: r.kind == AVAIL_REMOVE ? "-"
						 : "",
			r.kind == AVAIL_PRICE ? "price" : availset_name(s, &r, name), (double)r.t_ns / 1e9);
		if (r.zone)
			sbuf_printf(&b, "/%s", strtab_text(availset_strings(s), r.zone));
		if (r.type)
			sbuf_printf(&b, ":%s", strtab_text(availset_strings(s), r.type));
		if (r.usd_per_hour >= 0)
			sbuf_printf(&b, "$%.9g", r.usd_per_hour);
		sbuf_putc(&b, ' ');
	}
	availcursor_close(c);
	sbuf_printf(&b, "|%.9g", (double)availset_end_ns(s) / 1e9);
	return sbuf_steal(&b);
}

static const char *const *split(const char *options)
{
	static char text[256];
	static const char *list[9];
	size_t n = 0;
	snprintf(text, sizeof text, "%s", options ? options : "");
	for (char *word = strtok(text, " "); word && n < 8; word = strtok(NULL, " "))
		list[n++] = word;
	list[n] = NULL;
	return list;
}

static void same_rows(struct availset *s, const char *format, const char *want, const char *what)
{
	char *got = s ? rows_text(s) : NULL;
	same_text(!s ? err.text : strcmp(availset_format(s), format) ? availset_format(s) : got, want, what);
	mem_free(got);
	availset_free(s);
}

static void holds(const char *name, const char *options, const char *format, const char *want, const char *what)
{
	same_rows(availset_load(fixture(name), NULL, split(options), 1, &err), format, want, what);
}

/* Reads a text in memory under the name bad.csv. */
static struct availset *parse(const char *text, const char *options)
{
	struct trace *t = trace_open_memory("bad.csv", text, strlen(text), NULL, split(options), &err);
	return t ? availset_from(t, "bad.csv", &err) : NULL;
}

static void makes(const char *text, const char *options, const char *format, const char *want, const char *what)
{
	same_rows(parse(text, options), format, want, what);
}

/* Expected values are computed by hand from the fixtures. */
static void formats(void)
{
	holds("bamboo.csv", NULL, "bamboo", "+node1@0 +node2@0 +node3@0 -node2@60 +node4@60 -node1@60 -node4@120 +node5@180.0005 |180.0005",
		"bamboo: ties in file order, decimals, a blank line");
	holds("gcp_polls.txt", NULL, "gcp-polls", "+node1@0 +node2@0 +node3@0 -node1@120 -node2@120 +node4@46110 |46110",
		"gcp-polls: from the first poll, past midnight, the oldest are removed");
	holds("gcp_polls.txt", "pick=newest", "gcp-polls", "+node1@0 +node2@0 +node3@0 -node3@120 -node2@120 +node4@46110 |46110",
		"pick=newest");
	holds("step_curve.csv", NULL, "step-curve", "+node1@1800 +node2@1800 +node3@1800 -node1@3600 -node2@3600 +node4@4500 |4500",
		"step-curve: hours detected by the decimal point, old and new counts");
	holds("step_curve.csv", "unit=s type=p2", "step-curve",
		"+node1@0.5:p2 +node2@0.5:p2 +node3@0.5:p2 -node1@1:p2 -node2@1:p2 +node4@1.25:p2 |1.25",
		"step-curve: unit=s; a type for rows without one");
	holds("parcae_counts.csv", NULL, "parcae-counts", "+node1@0 +node2@0 +node3@0 -node1@60 -node2@60 +node4@120 |120",
		"parcae-counts: ms");
	holds("parcae_segment.txt", NULL, "parcae-segment", "+node-0@0 +node-1@0 -node-1@120 +node-2@240 |300",
		"parcae-segment: names; no-op and migration change nothing; the last interval counts");
	holds("skypilot.json", "zone=us-a", "skypilot",
		"+node1@600/us-a +node2@600/us-a -node1@1800/us-a +node3@2400/us-a +node4@2400/us-a |3000",
		"skypilot: counts per tick, the last tick counts");
	holds("availability.csv", NULL, "availability",
		"+a, quoted@0/us-a:p3$0.918 price@0/us-a:p3$0.918 +b@10.5/us-b:p3 -a, quoted@20/us-a +a, quoted@20/us-b:p3$1.25 |3600",
		"availability: every column; a name added again is another instance; prices; an end");
	holds("prices.csv", NULL, "prices", "price@0/us-a:p3$0.918 price@0/us-b:p3$0.9 price@3600/us-a:p3$1.5 |3600", "prices");
	makes("0,8\n", NULL, "step-curve", "+node1@0 +node2@0 +node3@0 +node4@0 +node5@0 +node6@0 +node7@0 +node8@0 |0", "a single point");
	makes("{\"data\": [1], \"metadata\": {\"gap_seconds\": 0.5, \"zone\": [\"x\", {}]}, \"x\": null}", NULL, "skypilot",
		"+node1@0 |0.5", "skypilot: fields in any order, others ignored");
}

static void sets(void)
{
	struct availset *s = availset_load(fixture("availability.csv"), NULL, NULL, 1, &err);
	uint32_t n;
	const uint32_t *zone = availset_zones(s, &n);
	ok(availset_count(s) == 5 && availset_is_loaded(s) && availset_has_prices(s) && availset_at(s, 3)->line == 5 && !availset_at(s, 5),
		"counts, lines of the file");
	ok(availset_at(s, 3)->instance == 0 && availset_at(s, 4)->instance == 2 && availset_at(s, 4)->live == 2,
		"instances by order of addition");
	ok(n == 2 && !strcmp(strtab_text(availset_strings(s), zone[1]), "us-b"), "zones in order of first use");
	/* sha256sum tests/data/traces/availability.csv */
	same_text(availset_hash(s), "420b6494d3baa276ad37e4996b0037fa82680e27ae9d293a392d0ec5a91fe2b7", "the hash is that of the file");
	availset_free(s);
	ok(trace_kind_knows(TRACE_AVAIL, "bamboo") && trace_kind_knows(TRACE_AVAIL, "hazard") &&
			!trace_kind_knows(TRACE_AVAIL, "requests") && !trace_kind_knows(TRACE_AVAIL, "poisson"),
		"names of formats and generators");
	/* Each of three instances is removed first with equal probability. Under oldest and newest, the middle one is never the first. */
	int first_gone[3] = { 0 };
	for (int seed = 0; seed < 300; seed++) {
		char option[40];
		snprintf(option, sizeof option, "pick=random seed=%d", seed);
		s = availset_load(fixture("gcp_polls.txt"), NULL, split(option), 1, &err);
		first_gone[availset_at(s, 3)->instance]++;
		availset_free(s);
	}
	ok(first_gone[0] > 60 && first_gone[1] > 60 && first_gone[2] > 60,
		"pick=random: each of three goes first at times (%d %d %d of 300)", first_gone[0], first_gone[1], first_gone[2]);
}

#define EVENTS "0,add,a\n10,remove,a\n"

static void refused(const char *text, const char *options, const char *want)
{
	struct availset *s = parse(text, options);
	same_text(s ? "accepted" : err.text, want, want);
	availset_free(s);
}

static void wrong(void)
{
	refused(EVENTS "20,remove,a\n", NULL, "bad.csv:3: node \"a\" is removed twice: expected repair=drop, which skips such rows");
	refused(EVENTS "20,remove,b\n", NULL,
		"bad.csv:3: node \"b\" is removed before it was added: expected repair=drop, which skips such rows");
	refused("0,add,a\n0,add,a\n", NULL, "bad.csv:2: node \"a\" is added while present: expected repair=drop, which skips such rows");
	refused(EVENTS "5,add,b\n", NULL,
		"bad.csv:3: time: expected at least the time of the row above, found a time that is 0.005 s less (1 such row; sections of "
		"the file "
		"overlap in "
		"time); repair=sort sorts the rows");
	refused(EVENTS "20,preempt,b\n", NULL, "bad.csv:3: event: expected add or remove, found \"preempt\"");
	refused("0,add,a\n-5,add,b\n", NULL, "bad.csv:2: ms: expected milliseconds from 0 to 4000000000000, found \"-5\"");
	refused("0,add,a\n5,add,\n", NULL, "bad.csv:2: node: expected a name, found nothing");
	refused("0,add,a\n5,add\n", NULL, "bad.csv:2: expected 3 fields, found 2");
	refused("0,3\n5,-1\n", NULL, "bad.csv:2: count: expected a whole number from 0 to 100000, found \"-1\"");
	refused("2021-12-11, 11:11:30, 3\n2021-12-11, 11:12:30, 4\n2021-12-11, 11:12:00, 3\n", NULL,
		"bad.csv:3: time: expected at least the time of the row above, found a time that is 30 s less (1 such row; sections of the "
		"file overlap "
		"in time: "
		"interleaved pollers); repair=sort sorts the rows");
	refused("2021-12-11, 11:11:30, 3\n2021-02-29, 11:12:30, 4\n", NULL,
		"bad.csv:2: time: expected a date and a time from 1970 to 2199 such as 2021-12-11, 11:11:30, found \" 11:12:30\"");
	refused("[0, \"add\", {\"nodes\": [\"a\"], \"duration\": 1}]\n[1, \"grow\", {}]\n", NULL,
		"bad.csv:2: event: expected \"add\", \"remove\", \"no-op\" or \"migration\", found \"\"grow\", {}]\"");
	refused("[0, \"no-op\", {\"nodes\": [\"a\"], \"duration\": 1}]\n", NULL,
		"bad.csv:1: expected \"duration\" and an empty list of \"nodes\", found \"{\"nodes\": [\"a\"], \"duration\": 1}]\"");
	refused("{\"metadata\": {\"gap_seconds\": 1},\n\"data\": [1,\n-1]}", NULL,
		"bad.csv:3: data[1]: expected a whole number from 0 to 100000");
	refused("{\"metadata\": {\"gap_seconds\": 0}, \"data\": []}", NULL,
		"bad.csv:1: gap_seconds: expected seconds from 0.001 to 10000000, found \"0}, \"data\": []}\"");
	refused("{\"metadata\": {\"gap_seconds\": 1}}", NULL,
		"bad.csv:2: expected \"data\" and \"metadata\" with \"gap_seconds\" in the object, found nothing");
	refused("time_s,event,node\n0,add,\n", NULL, "bad.csv:2: node: expected a name, found nothing");
	refused("time_s,event,node,price\n0,price,a,1\n", NULL,
		"bad.csv:2: node: expected an empty field, for an event without an instance, found \"a\"");
	refused("time_s,event,node,price\n0,price,,\n", NULL,
		"bad.csv:2: price: expected USD per hour, for the event price, found nothing");
	refused("time_s,usd_per_hour\n0,-1\n", NULL, "bad.csv:2: usd_per_hour: expected a number from 0 to 1000000, found \"-1\"");
	refused(EVENTS, "start=1h", "bad.csv: start: expected a time up to the end at 0.01 s");
	refused(EVENTS, "pick=oldest",
		"trace format bamboo: unknown parameter \"pick\": expected one of repair, zone, type, wrap, start, stretch, scale, cap");
	struct trace *t = trace_open(fixture("openb-nodes.csv"), NULL, NULL, &err);
	struct availset *s = availset_from(t, "x", &err);
	ok(!s && strstr(err.text, "contains nodes: expected availability of instances"), "a list of nodes is not availability: %s",
		err.text);
	struct orr_trace_job job;
	t = trace_open(fixture("bamboo.csv"), NULL, NULL, &err);
	ok(trace_kind(t) == TRACE_AVAIL && trace_next(t, &job, &err) == -1 &&
			strstr(err.text, "contains availability of instances: expected jobs"),
		"availability is not jobs: %s", err.text);
	trace_close(t);
}

/* Repairs are counted, with the first line of each kind. */
static void repaired(void)
{
	static const char text[] = "0,add,a\n10,add,a\n5,add,b\n20,remove,c\n30,remove,b\n40,remove,b\n50,shrink,a\nx,add,d\n60,add,d\n";
	struct availset *s = parse(text, "repair=all");
	char *got = s ? rows_text(s) : NULL;
	same_text(got, "+a@0 +b@0.005 -b@0.03 +d@0.06 |0.06", "repair=all: the remaining rows are sorted and valid");
	mem_free(got);
	const struct avail_repairs *r = availset_repairs(s);
	static const uint64_t rows[AVAIL_REPAIRS] = { 1, 1, 1, 1, 1, 1 }, lines[AVAIL_REPAIRS] = { 3, 7, 8, 2, 6, 4 };
	for (int i = 0; i < AVAIL_REPAIRS; i++)
		ok(r->rows[i] == rows[i] && r->first_line[i] == lines[i], "%s: %" PRIu64 ", line %" PRIu64,
			avail_repair_name((enum avail_repair)i), r->rows[i], r->first_line[i]);
	availset_free(s);
	refused(text, "repair=drop",
		"bad.csv:3: time: expected at least the time of the row above, found a time that is 0.005 s less (1 such row; sections of "
		"the file "
		"overlap in "
		"time); repair=sort sorts the rows");
	refused(text, "repair=sort", "bad.csv:7: event: expected add or remove, found \"shrink\"");
	makes("2021-12-11, 11:11:30, 1\n2021-12-11, 11:12:30, 3\n2021-12-11, 11:12:00, 2\n2021-12-11, 11:12:30, 1\n", "repair=sort",
		"gcp-polls", "+node1@0 +node2@30 -node1@60 +node3@60 +node4@60 |60", "repair=sort: polls of one second by their count");
	makes("{\"metadata\": {\"gap_seconds\": 1}, \"data\": [1, -1, 2]}", "repair=drop", "skypilot", "+node1@0 +node2@2 |3",
		"repair=drop: an invalid tick");
	makes("0,add,a\n0,add,b\n", "repair=all", "bamboo", "+a@0 +b@0 |0", "without repairs nothing changes");
}

/* Tests shifts by hand from bamboo.csv, with instances 1, 2 and 3 present at 0 s. At 60 s 2 is removed, 4 is added and 1 is removed;
 * at 120 s 4 is removed; at 180.0005 s 5 is added. */
static void shifts(void)
{
	holds("bamboo.csv", "start=60", "bamboo",
		"+node1@0 +node2@0 +node3@0 -node2@0 +node4@0 -node1@0 -node4@60 +node5@120.0005 |120.0005",
		"start: instances present then are added at 0");
	holds("bamboo.csv", "start=90", "bamboo", "+node3@0 +node4@0 -node4@30 +node5@90.0005 |90.0005", "start: in order of addition");
	/* Instances 3 and 5 are present at the end. After the wrap they replace instances 1 and 2 of the beginning of the file, whose
	 * instance 3 becomes a new instance. The removals of 2 and 1 then remove 5 and 3. */
	holds("bamboo.csv", "start=90 wrap=true", "bamboo",
		"+node3@0 +node4@0 -node4@30 +node5@90.0005 +node3~lap2@90.0005 -node5@150.0005 +node4~lap2@150.0005 -node3@150.0005 "
		"|180.0005",
		"wrap: instances at the end play those at the beginning");
	/* Instances 2, 3 and 4 are present at the end, but only one instance at the beginning. So two of them are removed. */
	makes("0,add,1\n1000,add,2\n2000,add,3\n3000,remove,1\n4000,add,4\n", "start=500ms wrap=true", "bamboo",
		"+1@0 +2@0.5 +3@1.5 -1@2.5 +4@3.5 -3@3.5 -4@3.5 |4", "wrap: more at the end than at the beginning");
	holds("bamboo.csv", "stretch=0.5", "bamboo",
		"+node1@0 +node2@0 +node3@0 -node2@30 +node4@30 -node1@30 -node4@60 +node5@90.00025 |90.00025", "stretch");
	/* Scaled by 1.5, instances 0 to 4 become 1, 2, 1, 2 and 1 of 7 instances, because floor() of 1.5, 3, 4.5, 6 and 7.5 gives the
	 * running totals. */
	holds("bamboo.csv", "scale=1.5", "bamboo",
		"+node1@0 +node2@0 +node2~2@0 +node3@0 -node2@60 -node2~2@60 +node4@60 +node4~2@60 -node1@60 -node4@120 -node4~2@120 "
		"+node5@180.0005 |180.0005",
		"scale: one instance becomes one or two");
	holds("bamboo.csv", "scale=0.5", "bamboo", "+node2@0 -node2@60 +node4@60 -node4@120 |180.0005", "scale: one of two");
	holds("bamboo.csv", "cap=2", "bamboo",
		"+node1@0 +node2@0 -node2@60 -node1@60 +node3@60 +node4@60 -node4@120 +node5@180.0005 |180.0005",
		"cap: waiting instances are added in order at the end of the instant of a removal");
	holds("bamboo.csv", "start=90 stretch=2 scale=2 cap=3", "bamboo", "+node3@0 +node3~2@0 +node4@0 -node4@60 +node5@180.001 |180.001",
		"start, stretch, scale and cap in this order");
	holds("prices.csv", "start=30m stretch=2", "prices", "price@0/us-a:p3$0.918 price@0/us-b:p3$0.9 price@3600/us-a:p3$1.5 |3600",
		"start: the prices of that time hold at 0");
	struct availset *s = availset_load(fixture("bamboo.csv"), NULL, NULL, 1, &err);
	struct avail_shift shift = { .stretch = 2, .scale = 1, .cap = 1 };
	ok(!availset_shift(s, &shift, &err) && availset_count(s) == 3 && availset_end_ns(s) == 360001000000,
		"availset_shift() after the parameters");
	availset_free(s);
}

enum { TICKS = 400 };

/* Makes a random trace and records the live instances at the end of each ms. */
static struct availset *random_set(uint64_t seed, const char *options, uint32_t live[TICKS])
{
	struct sbuf b = { 0 };
	struct rng rng;
	int there[TICKS], n = 0, next = 0;
	rng_init(&rng, seed, "test", 0);
	for (int t = 0; t < TICKS; t++) {
		for (uint64_t k = rng_below(&rng, t ? 3 : 9); k; k--) {
			if (n && rng_below(&rng, 20) < (uint64_t)n) {
				int i = (int)rng_below(&rng, (uint64_t)n);
				sbuf_printf(&b, "%d,remove,n%d\n", t, there[i]);
				there[i] = there[--n];
			} else {
				there[n++] = next;
				sbuf_printf(&b, "%d,add,n%d\n", t, next++);
			}
		}
		live[t] = (uint32_t)n;
	}
	sbuf_printf(&b, "%d,add,last\n", TICKS);
	struct availset *s = parse(b.text, options);
	sbuf_free(&b);
	return s;
}

/* Checks the invariant of the rows and records the live instances at the end of each ms. */
static bool live_per_tick(const struct availset *s, uint32_t live[TICKS])
{
	uint32_t now = 0, added = 0;
	uint64_t i = 0;
	bool good = s != NULL;
	bool *is_there = mem_zalloc(s ? availset_count(s) + 1 : 1, sizeof *is_there);
	for (int t = 0; good && t < TICKS; t++) {
		for (; i < availset_count(s) && availset_at(s, i)->t_ns <= (int64_t)t * 1000000; i++) {
			const struct avail_rec *r = availset_at(s, i);
			now += r->kind == AVAIL_ADD ? 1 : -1u;
			good = good && r->live == now && r->t_ns == (int64_t)t * 1000000 &&
			       (r->kind == AVAIL_ADD ? r->instance == added : r->instance < added && is_there[r->instance]);
			if (good)
				is_there[r->instance] = r->kind == AVAIL_ADD;
			added += r->kind == AVAIL_ADD;
		}
		live[t] = now;
	}
	mem_free(is_there);
	return good;
}

/* Tests random traces: at the end of every instant, the number of live instances follows from the definition of the options. */
static void random_shifts(void)
{
	uint32_t want[TICKS], got[TICKS];
	bool is_capped = true, is_begun = true, is_wrapped = true, is_doubled = true;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct availset *s = random_set(seed, "cap=7", want);
		is_capped = is_capped && live_per_tick(s, got);
		for (int t = 0; t < TICKS; t++)
			is_capped = is_capped && got[t] == (want[t] < 7 ? want[t] : 7);
		availset_free(s);
		s = random_set(seed, "start=100ms", want);
		is_begun = is_begun && live_per_tick(s, got);
		for (int t = 0; t < TICKS - 100; t++)
			is_begun = is_begun && got[t] == want[t + 100];
		availset_free(s);
		s = random_set(seed, "start=150ms wrap=true", want);
		is_wrapped = is_wrapped && live_per_tick(s, got);
		for (int t = 0; t < TICKS; t++)
			is_wrapped = is_wrapped && got[t] == want[(t + 150) % TICKS];
		availset_free(s);
		s = random_set(seed, "scale=2", want);
		is_doubled = is_doubled && live_per_tick(s, got);
		for (int t = 0; t < TICKS; t++)
			is_doubled = is_doubled && got[t] == 2 * want[t];
		availset_free(s);
	}
	ok(is_capped, "50 random traces: with a cap, the live count is always the smaller of cap and available");
	ok(is_begun, "50 random traces: with a start, the live count at t is that of the trace at start + t");
	ok(is_wrapped, "50 random traces: with wrap, the live count continues with the beginning of the trace");
	ok(is_doubled, "50 random traces: with scale=2, the live count is doubled");
}

static void several(void)
{
	char source[1200], a[512], b[512];
	snprintf(a, sizeof a, "%s", fixture("skypilot.json"));
	snprintf(b, sizeof b, "%s", fixture("bamboo.csv"));
	snprintf(source, sizeof source, "zones:x=%s,y=%s", a, b);
	same_rows(availset_load(source, NULL, NULL, 1, &err), "bamboo",
		"+y/node1@0/y +y/node2@0/y +y/node3@0/y -y/node2@60/y +y/node4@60/y -y/node1@60/y -y/node4@120/y +y/node5@180.0005/y "
		"+node6@600/x +node7@600/x -node6@1800/x +node8@2400/x +node9@2400/x |3000",
		"several files as one, sorted by time, each a zone");
	snprintf(source, sizeof source, "zones:%s", a);
	same_rows(availset_load(source, NULL, NULL, 1, &err), "skypilot",
		"+node1@600/skypilot +node2@600/skypilot -node1@1800/skypilot +node3@2400/skypilot +node4@2400/skypilot |3000",
		"a zone named after its file");
	ok(!availset_load("zones:", NULL, NULL, 1, &err) && !strncmp(err.text, "zones:: expected zones:ZONE=FILE,", 33), "no file: %s",
		err.text);
	ok(!availset_load("zones:a=/no/such", NULL, NULL, 1, &err) && strstr(err.text, "/no/such"), "no such file: %s", err.text);
}

int main(void)
{
	formats();
	sets();
	wrong();
	repaired();
	shifts();
	random_shifts();
	several();
	return done();
}
