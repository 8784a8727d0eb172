/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/tap.h"

#include "hwmodel/throughput.h"
#include "traces/draw.h"
#include "traces/lines.h"
#include "traces/profile.h"
#include "traces/trace.h"

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

/* Returns the error of reading text as format, or "" without an error. */
static const char *error_of(const char *format, const char *text, const char *option)
{
	const char *options[] = { option, NULL };
	struct orr_trace_job row;
	err.text[0] = '\0';
	struct trace *t = trace_open_memory("t", text, strlen(text), format, options, &err);
	while (t && trace_next(t, &row, &err) == 1)
		;
	trace_close(t);
	return err.text;
}

/* ---- lines ---- */

static void lines(void)
{
	static const char text[] = "\xef\xbb\xbf"
				   "one\r\n\ntwo\nlast";
	struct lines *l = lines_open_memory("t", text, sizeof text - 1);
	char *s;
	size_t n;
	ok(lines_next(l, &s, &n, &err) == 1 && n == 3 && !strcmp(s, "one"), "a byte order mark and CRLF are removed");
	ok(lines_next(l, &s, &n, &err) == 1 && n == 0, "an empty line is returned as a line");
	ok(lines_next(l, &s, &n, &err) == 1 && !strcmp(s, "two"), "LF");
	ok(lines_next(l, &s, &n, &err) == 1 && !strcmp(s, "last") && lines_number(l) == 4, "a last line without a line end is returned");
	ok(lines_next(l, &s, &n, &err) == 0 && lines_next(l, &s, &n, &err) == 0, "reading past the end returns the end again");
	/* The expected text is the sha256sum of the bytes above. */
	same_text(lines_hash(l), "b01841adf0e225bad71f6e45710fcc95d65fdd2f865e70988313bf36e5fb0083", "the hash is that of the raw bytes");
	lines_close(l);

	struct sbuf b = { 0 }; /* these lines cross the boundaries of blocks */
	for (int i = 0; i < 100000; i++)
		sbuf_printf(&b, "%0*d\n", 1 + i % 97, i % 7);
	l = lines_open_memory("t", b.text, b.len);
	int wrong = 0, count = 0;
	while (lines_next(l, &s, &n, &err) == 1) {
		wrong += n != (size_t)(1 + count % 97) || s[n - 1] != '0' + count % 7;
		count++;
	}
	ok(count == 100000 && !wrong, "lines that span blocks are whole");
	lines_close(l);
	sbuf_free(&b);
}

/* ---- formats ---- */

static void formats(void)
{
	struct jobset *s = jobset_load(fixture("philly.csv"), NULL, NULL, 0, &err);
	ok(s && jobset_count(s) == 3, "philly: the empty line at the end is no row");
	/* By date -u +%s, 2017-10-09 07:01:55 is 1507532515 and 2016-02-29 23:59:59 is 1456790399. */
	ok(s && jobset_at(s, 2)->submit_ns == (INT64_C(1507532515) - 1456790399) * ORR_SECOND && jobset_at(s, 0)->submit_ns == 0,
		"philly: times count from the first, leap day included");
	ok(s && !strcmp(strtab_text(jobset_strings(s), jobset_at(s, 0)->id), "2"), "philly: the id of a job is its row");
	jobset_free(s);

	s = jobset_load(fixture("tiresias.csv"), NULL, NULL, 0, &err);
	ok(s && jobset_count(s) == 3 && !strcmp(jobset_format(s), "tiresias"), "tiresias is recognised");
	same_text(s ? strtab_text(jobset_strings(s), jobset_at(s, 1)->model) : "", "res,net \"50\"", "quotes as in RFC 4180");
	ok(s && jobset_at(s, 1)->duration_ns == INT64_C(2152500000000), "decimals of a second");
	jobset_free(s);

	s = jobset_load(fixture("muri.csv"), NULL, NULL, 0, &err);
	ok(s && jobset_at(s, 1)->submit_ns == 201694 * ORR_SECOND && jobset_at(s, 1)->duration_ns == 46 * ORR_SECOND &&
			!strcmp(jobset_format(s), "muri"),
		"muri: milliseconds");
	jobset_free(s);

	s = jobset_load(fixture("gavel.trace"), NULL, NULL, 0, &err);
	const struct job_rec *r = s ? jobset_at(s, 1) : NULL;
	ok(r && r->duration_ns == -1 && r->iterations == 25832 && r->gpus == 2 && r->submit_ns == INT64_C(86250000000),
		"gavel: steps, no duration");
	jobset_free(s);

	s = jobset_load(fixture("openb.csv"), NULL, NULL, 0, &err);
	r = s ? jobset_at(s, 1) : NULL;
	ok(r && r->gpu_milli == 460 && r->wait_ns == 5 * ORR_SECOND && r->duration_ns == 895 * ORR_SECOND && r->cpu_milli == 6000 &&
			r->mem_mib == 12288,
		"openb: shares, waits, run times");
	r = s ? jobset_at(s, 2) : NULL;
	ok(r && r->wait_ns == -1 && r->duration_ns == 100 * ORR_SECOND && r->gpus == 0, "openb: never scheduled");
	jobset_free(s);
	const char *lifetime[] = { "duration=lifetime", NULL };
	s = jobset_load(fixture("openb.csv"), "openb", lifetime, 0, &err);
	ok(s && jobset_at(s, 1)->duration_ns == 900 * ORR_SECOND, "openb: lifetimes on request");
	jobset_free(s);

	s = jobset_load(fixture("swf.swf"), NULL, NULL, 0, &err);
	r = s ? jobset_at(s, 0) : NULL;
	ok(s && jobset_count(s) == 2, "swf: a job without a run time is skipped, like a blank line");
	ok(r && r->gpus == 30 && r->limit_ns == 37980 * ORR_SECOND && r->wait_ns == 308434 * ORR_SECOND &&
			!strcmp(strtab_text(jobset_strings(s), r->queue), "7"),
		"swf: processors, limit, wait, queue");
	jobset_free(s);

	s = jobset_load(fixture("orrery.csv"), NULL, NULL, 0, &err);
	r = s ? jobset_at(s, 1) : NULL;
	ok(r && r->duration_ns == 1 && r->cpu_milli == 500 && r->gpu_milli == 460 && r->limit_ns == -1, "orrery: empty fields are unknown");
	jobset_free(s);
}

static void errors(void)
{
	same_text(error_of("tiresias", "job_id,num_gpu,submit_time,duration\n1,8x,0,1\n", NULL),
		"t:2: num_gpu: expected a whole number from 0 to 1000000, found \"8x\"", "file, line, column, bounds, value found");
	same_text(error_of("tiresias", "job_id,num_gpu,duration\n", NULL),
		"t:1: expected a column \"submit_time\", found job_id,num_gpu,duration", "a missing column is named");
	same_text(error_of("tiresias", "job_id,num_gpu,submit_time,duration\n1,8,0\n", NULL), "t:2: expected 4 fields, found 3",
		"a row of the wrong length");
	same_text(error_of("tiresias", "", NULL), "t:1: the file is empty: expected a header line with column names", "no header");
	same_text(error_of("philly", "timestamp,duration,num_gpus\n2017-02-29 00:00:00,1,1\n", NULL),
		"t:2: timestamp: expected a time from 1970 to 2199 such as 2017-10-09 07:01:55, found "
		"\"2017-02-29 00:00:00\"",
		"an invalid date");
	same_text(error_of("orrery", "submit_s,duration_s,gpu\n", NULL), "t:1: unknown column \"gpu\": did you mean \"gpus\"?",
		"a misspelt column");
	same_text(error_of("orrery", "submit_s,duration_s,user\n1,2,\"a\n", NULL),
		"t:2: the quote of line 2 does not end: expected a closing quote", "an open quote");
	same_text(error_of("swf", "1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 9\n", NULL),
		"t:1: expected 18 fields, found 19; extra_fields=ignore reads the first 18", "swf: too many fields: expected at most 18");
	same_text(error_of("swf", "1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 9\n", "extra_fields=ignore"), "", "swf: extra_fields=ignore");
	same_text(error_of("swf", "1 0 1 -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", "unknown_runtime=error"),
		"t:1: run time: expected a time (unknown_runtime=error), found \"-1\"", "swf: unknown run times as errors");
	same_text(error_of(NULL, "some,thing\n1,2\n", NULL),
		"t:1: unknown trace format: its columns are some, thing; nearest fields of jobs in brackets. To read it: --map "
		"submit=?,duration=?,gpus=? (? stands for a column that was not recognised)",
		"an unknown table");
	same_text(error_of(NULL, "something\n", NULL),
		"t:1: unknown trace format: expected a file of a format in 'orrery trace list' or --format, found \"something\"",
		"an unknown format");
	same_text(error_of("phily", "", NULL),
		"unknown trace format \"phily\": expected one of flow, philly, muri, pollux, shockwave, tiresias, openb, openb-nodes, "
		"orrery, "
		"azure-llm, bailian, mooncake, burstgpt, splitwise, vidur, requests, bamboo, gcp-polls, "
		"parcae-counts, step-curve, parcae-segment, skypilot, availability, prices, gavel, swf, acme, helios, "
		"itp, dlrm, spot-gpu, slurm, philly-raw, pai, kubernetes, aws-prices, csv, csv-requests, auto",
		"formats are listed");
	same_text(error_of("openb-nodes", "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,1,T4\n", NULL),
		"t:1: format openb-nodes contains nodes: expected jobs: --cluster reads such a file",
		"a list of nodes is refused as a trace of jobs");
	ok(!jobset_load("poisson:rat=1", NULL, NULL, 1, &err), "a generator's parameters are checked");
	same_text(
		err.text, "generator poisson: unknown parameter \"rat\": did you mean \"rate\"?", "the error names the nearest parameter");
}

/* ---- job sets ---- */

static void sorting(void)
{
	static const char text[] = "submit_s,duration_s,job_id\n5,1,a\n3,1,b\n5,1,c\n3,1,d\n0,1,e\n";
	struct trace *t = trace_open_memory("t", text, sizeof text - 1, NULL, NULL, &err);
	struct jobset *s = jobset_from(t, "t", &err);
	char order[8] = "";
	for (uint64_t i = 0; i < 5; i++)
		strcat(order, strtab_text(jobset_strings(s), jobset_at(s, i)->id));
	same_text(order, "ebdac", "jobs are sorted by submission, in file order on ties");
	struct jobcursor *c = jobset_open(s, 0);
	struct job_rec r;
	uint64_t n = 0;
	while (jobcursor_next(c, &r) && r.number == n)
		n++;
	ok(n == 5, "a cursor numbers them");
	jobcursor_close(c);
	jobset_free(s);
}

/* Checks mean gap and mean duration of n jobs against closed forms of the parameters. */
static void generated(const char *source, double gap, double duration, double tolerance)
{
	struct jobset *s = jobset_load(source, NULL, NULL, 7, &err);
	struct jobcursor *c = jobset_open(s, 0);
	struct job_rec r = { 0 };
	double sum = 0, n = 0;
	while (jobcursor_next(c, &r)) {
		sum += (double)r.duration_ns / 1e9;
		n++;
	}
	near_to((double)r.submit_ns / 1e9 / n / gap, 1, tolerance, source);
	near_to(sum / n / duration, 1, tolerance, "  the mean duration follows from the parameters");
	jobcursor_close(c);
	jobset_free(s);
}

static void generators(void)
{
	/* With 400,000 draws, the relative error of a mean is about sqrt(scv / n) = 0.0016 for a squared coefficient of variation of
	 * 1. */
	generated("poisson:rate=0.5,n=400000,mean=3", 2, 3, 0.01);
	generated("poisson:rate=4,n=400000,mean=3,service=det", 0.25, 3, 0.01);
	generated("poisson:rate=4,n=400000,mean=3,service=hyper,scv=9", 0.25, 3, 0.03);
	/* The mean rate is (600 x 1 + 3000 x 0.05) / 3600 = 0.2083 per second, so the mean gap is 4.8 s. */
	generated("mmpp:n=400000", 4.8, 1, 0.05);
	struct jobset *a = jobset_load("poisson:n=100", NULL, NULL, 1, &err);
	struct jobset *b = jobset_load("poisson:n=100,rate=0.50", NULL, NULL, 1, &err);
	struct jobset *d = jobset_load("poisson:n=100", NULL, NULL, 2, &err);
	same_text(jobset_hash(a), jobset_hash(b), "spellings of one value have the same hash");
	ok(strcmp(jobset_hash(a), jobset_hash(d)) != 0, "another seed changes the hash");
	struct jobcursor *x = jobset_open(a, 0), *y = jobset_open(a, 0), *z = jobset_open(d, 0);
	struct job_rec r, q, w;
	bool same = true, other = false;
	while (jobcursor_next(x, &r) && jobcursor_next(y, &q) && jobcursor_next(z, &w)) {
		same = same && !memcmp(&r, &q, sizeof r);
		other = other || r.submit_ns != w.submit_ns;
	}
	ok(same && other, "cursors agree, seeds differ");
	jobcursor_close(x);
	jobcursor_close(y);
	jobcursor_close(z);
	jobset_free(a);
	jobset_free(b);
	jobset_free(d);
	a = jobset_load("poisson:n=0", NULL, NULL, 1, &err);
	ok(jobset_count(a) == UINT64_MAX && !jobset_is_loaded(a), "n=0 has no end");
	jobset_free(a);
}

static void summaries(void)
{
	static const double v[] = { 4, 1, 3, 2 };
	struct trace_profile *p = trace_profile_new();
	for (int i = 0; i < 4; i++)
		trace_profile_value(p, "v", v[i]);
	trace_profile_close_lists(p);
	struct summary m = trace_profile_get_series(p, 0)->summary;
	/* The percentile p is at the index (n-1)p: p25 at 0.75, p90 at 2.7. The variance of 1..4 is 1.25. */
	ok(m.p25 == 1.75 && m.p50 == 2.5 && m.mean == 2.5 && m.sum == 10, "percentiles interpolate at (n-1)p");
	near_to(m.p90, 3.7, 1e-15, "p90");
	near_to(m.sd, sqrt(1.25), 1e-15, "sd");
	trace_profile_free(p);
	struct rng r;
	rng_init(&r, 1, "test", 0);
	static const struct quantile table[] = { { 0, 1 }, { 0.5, 100 }, { 1, 10000 } };
	int below = 0;
	for (int i = 0; i < 100000; i++)
		below += draw_quantile(&r, table) < 10;
	near_to(below / 100000.0, 0.25, 0.01, "a quantile table interpolates logarithmically");
}

static void throughputs(void)
{
	struct throughput *t = throughput_load(fixture("throughput.json"), &err);
	ok(t != NULL, "a throughput table loads %s", t ? "" : err.text);
	if (!t)
		return;
	ok(throughput_lookup(t, "V100", "A3C", 1) == 4.25 && throughput_lookup(t, "k80", "A3C", 1) == 1.5,
		"rates are found regardless of letter case");
	ok(throughput_lookup(t, "v100", "LM (batch size 5)", 2) == 9 && throughput_lookup(t, "v100", "LM (batch size 5)", 1) == 0,
		"scale is part of the key");
	ok(throughput_lookup_shared(t, "v100", "A3C", 1, "LM (batch size 5)", 2) == 2.5, "pairs");
	ok(throughput_lookup(t, "tpu", "A3C", 1) == 0, "a missing entry is 0");
	throughput_free(t);
	ok(!throughput_load(fixture("orrery.csv"), &err) && strstr(err.text, "orrery.csv:1:1: "), "invalid JSON");
}

int main(void)
{
	lines();
	formats();
	errors();
	sorting();
	generators();
	summaries();
	throughputs();
	return done();
}
