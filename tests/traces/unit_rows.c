/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of traces in memory: resampled blocks, compressed arrivals, training fields of generated jobs, words for states, dates, and
 * statistics computed by hand. */
#include "tests/tap.h"

#include "traces/avail_profile.h"
#include "traces/civil.h"
#include "traces/generator.h"
#include "traces/profile.h"
#include "traces/profile_rows.h"
#include "traces/requests.h"
#include "traces/status.h"
#include "traces/trace.h"

#include <inttypes.h>
#include <stdlib.h>

static struct orr_error err;

static struct jobset *jobs_of(const char *text)
{
	struct trace *t = trace_open_memory("x.csv", text, strlen(text), NULL, NULL, &err);
	struct jobset *s = t ? jobset_from(t, "x.csv", &err) : NULL;
	if (!s)
		printf("# %s\n", err.text);
	return s;
}

static struct reqset *requests_of(const char *text)
{
	struct trace *t = trace_open_memory("x.csv", text, strlen(text), NULL, NULL, &err);
	struct reqset *s = t ? reqset_from(t, "x.csv", &err) : NULL;
	if (!s)
		printf("# %s\n", err.text);
	return s;
}

/* ---- resampling ---- */

/*
 * Rows are at 0, 1, 5 and 12 s. In blocks of 5 s, relative to the start of their block, they are {0, 1}, {0} and {2}. Three blocks are
 * drawn with replacement; each one fills the next 5 s.
 */
static int block_at(const double *at, int n)
{
	return n == 2 && at[0] == 0 && at[1] == 1 ? 0 : n == 1 && at[0] == 0 ? 1 : n == 1 && at[0] == 2 ? 2 : -1;
}

static void check_jobs(void)
{
	struct jobset *s = jobs_of("job_id,submit_s,duration_s,gpus\na,0,10,1\nb,1,20,2\nc,5,30,3\nd,12,40,4\n");
	ok(s && !jobset_resample(s, 5 * ORR_SECOND, 7, &err) && jobset_blocks(s) == 3, "12 s are three blocks of 5 s");
	enum { DRAWS = 600 };
	uint32_t seen[3] = { 0 }, wrong = 0, differ = 0, by_place[3][3] = { { 0 } };
	uint64_t last_rows = 0;
	for (uint64_t r = 0; r < DRAWS; r++) {
		double at[3][4];
		int n[3] = { 0 };
		struct job_rec row;
		struct jobcursor *c = jobset_open(s, r);
		uint64_t i = 0;
		while (jobcursor_next(c, &row)) {
			double t = (double)row.submit_ns / 1e9;
			int place = (int)(t / 5);
			wrong += place < 0 || place > 2 || row.number != i || row.id || row.duration_ns != row.gpus * 10 * ORR_SECOND;
			if (place >= 0 && place <= 2 && n[place] < 4)
				at[place][n[place]++] = t - 5 * place;
			i++;
		}
		jobcursor_close(c);
		for (int place = 0; place < 3; place++) {
			int b = block_at(at[place], n[place]);
			wrong += b < 0;
			if (b >= 0)
				seen[b]++, by_place[place][b]++;
		}
		differ += i != last_rows;
		last_rows = i;
	}
	ok(wrong == 0, "each 5 s hold the rows of one block of the file, with new numbers instead of ids");
	/* 1800 draws of probability 1/3 have a standard deviation of 20. */
	ok(seen[0] > 500 && seen[0] < 700 && seen[1] > 500 && seen[1] < 700 && differ > 100, "blocks are drawn evenly: %u, %u, %u", seen[0],
		seen[1], seen[2]);
	ok(by_place[0][2] > 100 && by_place[2][0] > 100, "in any order");
	struct job_rec a, b;
	struct jobcursor *one = jobset_open(s, 3), *two = jobset_open(s, 3);
	bool is_same = true;
	while (jobcursor_next(one, &a))
		is_same = is_same && jobcursor_next(two, &b) && a.submit_ns == b.submit_ns && a.gpus == b.gpus;
	ok(is_same && !jobcursor_next(two, &b), "a replication is a function of its number");
	jobcursor_close(one);
	jobcursor_close(two);
	ok(jobset_count(s) == 4 && jobset_at(s, 3)->gpus == 4, "the rows of the file stay as they are");
	jobset_free(s);
	s = jobs_of("job_id,submit_s,duration_s\na,0,10\nb,40,20\n");
	ok(!jobset_resample(s, 4 * ORR_SECOND, 7, &err) && jobset_blocks(s) == 11, "40 s begin the eleventh block of 4 s");
	uint64_t rows = 0;
	for (uint64_t r = 0; r < 600; r++) {
		struct jobcursor *c = jobset_open(s, r);
		while (jobcursor_next(c, &a))
			rows++;
		jobcursor_close(c);
	}
	/* Of eleven blocks two have a row: a resampled trace has two rows on average. The mean of 600 traces has a standard deviation
	 * of 1.3 / sqrt(600). */
	ok(rows > 1070 && rows < 1330, "blocks without rows are drawn too: %" PRIu64 " rows in 600", rows);
	jobset_free(s);
	s = jobs_of("job_id,submit_s,duration_s\na,0,10\nb,10000000,20\n");
	ok(jobset_resample(s, ORR_SECOND, 7, &err) == ORR_EINPUT && strstr(err.text, "too many blocks: expected at most 10000000"),
		"ten million blocks are the most");
	jobset_free(s);
	s = jobset_load("poisson:n=5", NULL, NULL, 1, &err);
	ok(s && jobset_resample(s, ORR_SECOND, 7, &err) == ORR_EINPUT && strstr(err.text, "expected a file"),
		"a generator is not drawn again");
	jobset_free(s);
}

static void check_requests(void)
{
	struct reqset *s = requests_of("arrival_s,request_id,session\n0,a,3\n1,b,1\n5,c,0\n12,d,2\n");
	reqset_compress(s, 2);
	ok(s && reqset_at(s, 1)->arrival_ns == ORR_SECOND / 2 && reqset_at(s, 3)->arrival_ns == 6 * ORR_SECOND,
		"twice as dense: half the times");
	reqset_compress(s, 0);
	reqset_compress(s, -1);
	reqset_compress(s, INFINITY);
	reqset_compress(s, 0.5);
	ok(reqset_at(s, 3)->arrival_ns == 12 * ORR_SECOND, "half as dense again; 0, a negative and an infinite factor change nothing");
	ok(!reqset_resample(s, 5 * ORR_SECOND, 7, &err) && reqset_blocks(s) == 3, "requests are drawn like jobs");
	uint32_t wrong = 0, rows = 0;
	for (uint64_t r = 0; r < 100; r++) {
		struct reqcursor *c = reqset_open(s, r);
		struct request_rec x;
		for (uint64_t i = 0; reqcursor_next(c, &x); i++, rows++) {
			int place = (int)(x.arrival_ns / (5 * ORR_SECOND));
			double at = (double)x.arrival_ns / 1e9 - 5 * place;
			/* The largest session number is 3, so each further block adds three to its session numbers. */
			uint64_t session = at == 0 ? 3 : at == 1 ? 1 : 2;
			wrong += x.number != i || x.id || (x.session && x.session != session + 3 * (uint64_t)place) || place > 2;
			wrong += at == 1 && !x.session;
		}
		reqcursor_close(c);
	}
	ok(wrong == 0 && rows > 300, "sessions of drawn blocks are separate");
	reqset_free(s);
	s = reqset_load("poisson:rate=2,n=20", NULL, NULL, 1, &err);
	struct reqset *dense = reqset_load("poisson:rate=2,n=20", NULL, NULL, 1, &err);
	reqset_compress(dense, 4);
	struct reqcursor *c = reqset_open(s, 0), *d = reqset_open(dense, 0);
	struct request_rec x, y;
	uint64_t n = 0;
	bool is_quarter = true;
	while (reqcursor_next(c, &x) && reqcursor_next(d, &y)) {
		is_quarter = is_quarter && llabs(x.arrival_ns - 4 * y.arrival_ns) <= 2 && x.number == n && x.slo_ns == -1 && x.samples == 1;
		n++;
	}
	ok(is_quarter && n == 20, "arrivals of a generator are compressed as they are drawn");
	ok(reqset_resample(s, ORR_SECOND, 7, &err) == ORR_EINPUT, "and not drawn again");
	reqcursor_close(c);
	reqcursor_close(d);
	reqcursor_close(NULL);
	reqset_free(s);
	reqset_free(dense);
}

/* ---- generated jobs ---- */

static void check_training(void)
{
	struct jobset *s = jobset_load("poisson:n=400,models=resnet50|vgg16,strategy=data-parallel,batch=32", NULL, NULL, 3, &err);
	struct jobcursor *c = s ? jobset_open(s, 0) : NULL, *d = s ? jobset_open(s, 1) : NULL;
	struct job_rec row, other;
	uint32_t first = 0, differ = 0, wrong = 0, n = 0;
	for (; c && jobcursor_next(c, &row) && jobcursor_next(d, &other); n++) {
		struct orr_trace_job job;
		jobset_row(s, &row, &job);
		first += job.model && !strcmp(job.model, "resnet50");
		wrong += !job.model || (strcmp(job.model, "resnet50") && strcmp(job.model, "vgg16")) || !job.strategy ||
			 strcmp(job.strategy, "data-parallel") || job.batch != 32 || job.id || job.line || row.number != n ||
			 job.limit_ns != -1 || job.wait_ns != -1 || job.gpus != 1 || job.gpu_milli != 1000;
		differ += row.model != other.model;
	}
	jobcursor_close(c);
	jobcursor_close(d);
	ok(n == 400 && wrong == 0 && jobset_has_strategies(s), "generated jobs train one of the models with strategy and batch");
	ok(first > 150 && first < 250 && differ > 150, "models are drawn evenly, anew in each replication: %u of 400", first);
	jobset_free(s);
	s = jobset_load("poisson:n=4,gpus=0,models=vgg16", NULL, NULL, 3, &err);
	c = s ? jobset_open(s, 0) : NULL;
	ok(c && jobcursor_next(c, &row) && !row.model && !jobset_has_strategies(s), "a job without a GPU trains nothing");
	jobcursor_close(c);
	jobset_free(s);
	s = jobset_load("poisson:n=4,models=|vgg16|", NULL, NULL, 3, &err);
	c = s ? jobset_open(s, 0) : NULL;
	ok(c && jobcursor_next(c, &row) && row.model && row.batch == 0 && !row.strategy, "empty names in the list are ignored");
	jobcursor_close(c);
	ok(jobset_count(s) == 4, "the number of jobs is n");
	jobset_free(s);
	static const char *const alone[] = { "poisson:n=4,strategy=x", "poisson:n=4,batch=3" };
	for (int i = 0; i < 2; i++)
		ok(!jobset_load(alone[i], NULL, NULL, 3, &err) && strstr(err.text, "strategy and batch: expected these parameters only "
										   "together with models=, as in models=resnet50|vgg16"),
			"%s", alone[i]);
	s = jobset_load("poisson:n=0", NULL, NULL, 3, &err);
	ok(s && jobset_count(s) == UINT64_MAX, "n=0 is without end");
	c = s ? jobset_open(s, 0) : NULL;
	for (n = 0; c && n < 20000 && jobcursor_next(c, &row);)
		n++;
	ok(n == 20000, "and goes on");
	jobcursor_close(c);
	jobset_free(s);
}

static void suggests(const char *source, const char *says)
{
	err = (struct orr_error){ 0 };
	int rc = generator_suggest(source, &err);
	if (!ok(says ? rc == ORR_EINPUT && strstr(err.text, says) : rc == ORR_OK, "%s: %s", source, says ? says : "may be a file"))
		printf("# said: %s\n", err.text);
}

static void check_suggestions(void)
{
	suggests("poisson:rate=1",
		"poisson:rate=1: no such file: expected an existing file (poisson is a generator of jobs, and one of requests");
	suggests("poison", "file: did you mean the generator \"poisson\"?");
	suggests("philly-like", "philly-like is a generator of jobs");
	suggests("zzzzzzzz:x", "no such file, and no generator \"zzzzzzzz\": expected an existing file");
	suggests("zzzzzzzz", NULL);
	suggests("poisson.csv", NULL);
	suggests("./poisson", NULL);
	suggests("-", NULL);
	suggests(":x", NULL);
	generator_unknown("poison:n=1", &err);
	ok(strstr(err.text, "unknown model \"poison\": did you mean \"poisson\"?"), "an unknown generator: the nearest name");
	generator_unknown("zzzzzzzz", &err);
	ok(strstr(err.text, "unknown model \"zzzzzzzz\": expected a model that 'orrery trace list' shows"), "or the list");
}

/* ---- words and dates ---- */

static void check_states(void)
{
	static const struct {
		const char *text;
		enum trace_status status;
	} known[] = { { NULL, TRACE_STATUS_NONE }, { "", TRACE_STATUS_NONE }, { "1", TRACE_STATUS_COMPLETED },
		{ "3", TRACE_STATUS_COMPLETED }, { "COMPLETED", TRACE_STATUS_COMPLETED }, { "Pass", TRACE_STATUS_COMPLETED },
		{ "0", TRACE_STATUS_FAILED }, { "4", TRACE_STATUS_FAILED }, { "TIMEOUT", TRACE_STATUS_FAILED },
		{ "node_fail", TRACE_STATUS_FAILED }, { "5", TRACE_STATUS_KILLED }, { "canceled", TRACE_STATUS_KILLED },
		{ "Killed", TRACE_STATUS_KILLED }, { "2", TRACE_STATUS_OTHER }, { "running", TRACE_STATUS_OTHER },
		{ "complete!", TRACE_STATUS_OTHER } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		ok(trace_status_of(known[i].text) == known[i].status, "status %s", known[i].text ? known[i].text : "NULL");
}

static void check_dates(void)
{
	/* expected values from date -u -d "1970-01-01 00:00:00" +%s */
	static const struct {
		const char *text;
		int64_t seconds;
	} known[] = { { "1970-01-01 00:00:00", 0 }, { "1970-03-01 00:00:00", 5097600 }, { "2000-02-29 12:00:00", 951825600 },
		{ "2017-10-09 07:01:55", 1507532515 }, { "2100-03-01T00:00:00", 4107542400 }, { "2199-12-31 23:59:59", 7258118399 },
		{ "2023-02-29 00:00:00", -1 }, { "2024-02-29 00:00:00", 1709164800 }, { "2100-02-29 00:00:00", -1 },
		{ "2024-00-10 00:00:00", -1 }, { "2024-13-10 00:00:00", -1 }, { "2024-01-00 00:00:00", -1 }, { "2024-01-10 24:00:00", -1 },
		{ "2024-01-10 00:60:00", -1 }, { "2024-01-10 00:00:60", -1 }, { "1969-12-31 23:59:59", -1 }, { "2200-01-01 00:00:00", -1 },
		{ "2024-01-10x00:00:00", -1 }, { "2024/01-10 00:00:00", -1 }, { "2024-01/10 00:00:00", -1 }, { "2024-01-10 00.00:00", -1 },
		{ "2024-01-10 00:00.00", -1 }, { "2024-01-1a 00:00:00", -1 }, { "202a-01-10 00:00:00", -1 }, { "2a24-01-10 00:00:00", -1 },
		{ "2024-01-10 00:00:0", -1 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		int64_t want = known[i].seconds < 0 ? -1 : known[i].seconds * ORR_SECOND;
		ok(civil_ns(known[i].text, strlen(known[i].text)) == want, "%s", known[i].text);
	}
	/* The last day of each month is accepted, the day after it is refused; the months sum to the year. */
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int64_t sum = civil_ns("2023-01-01 00:00:00", 19), wrong = 0;
	for (int m = 1; m <= 12; m++) {
		char text[40];
		snprintf(text, sizeof text, "2023-%02d-01 00:00:00", m);
		wrong += civil_ns(text, 19) != sum;
		snprintf(text, sizeof text, "2023-%02d-%02d 00:00:00", m, days[m - 1]);
		wrong += civil_ns(text, 19) != sum + (days[m - 1] - 1) * 86400 * ORR_SECOND;
		snprintf(text, sizeof text, "2023-%02d-%02d 00:00:00", m, days[m - 1] + 1);
		wrong += civil_ns(text, 19) != -1;
		sum += days[m - 1] * 86400 * ORR_SECOND;
	}
	ok(wrong == 0, "the lengths of months");
	struct jobset *s =
		jobs_of("timestamp,duration,num_gpus,gpu_time,cluster\n1970-01-01 00:00:00,5,1,5,a\n1970-01-01 00:00:02,5,1,5,b\n");
	ok(s && jobset_count(s) == 2 && jobset_at(s, 1)->submit_ns == 2 * ORR_SECOND, "the first moment of 1970 is a time");
	jobset_free(s);
}

/* ---- statistics of rows ---- */

static double fact(const struct trace_profile *p, const char *name)
{
	for (size_t i = 0; trace_profile_get_fact(p, i); i++)
		if (!strcmp(trace_profile_get_fact(p, i)->name, name))
			return trace_profile_get_fact(p, i)->number;
	return NAN;
}

static const char *word(const struct trace_profile *p, const char *name)
{
	for (size_t i = 0; trace_profile_get_fact(p, i); i++)
		if (!strcmp(trace_profile_get_fact(p, i)->name, name))
			return trace_profile_get_fact(p, i)->text;
	return "";
}

static const struct trace_profile_entry *entry(const struct trace_profile *p, const char *tally, const char *key)
{
	for (size_t i = 0; trace_profile_get_tally(p, i); i++) {
		const struct trace_profile_tally *t = trace_profile_get_tally(p, i);
		for (size_t k = 0; !strcmp(t->name, tally) && k < t->n; k++)
			if (!strcmp(t->entry[k].key, key))
				return &t->entry[k];
	}
	return NULL;
}

static void check_profile(void)
{
	struct trace_profile *p = trace_profile_new();
	/* Jobs: 2 GPUs from 10 to 110 s; half a GPU from 10 s (after 5 s of waiting) to 45 s; 4 GPUs for no time; a job without a
	 * duration. */
	const struct orr_trace_job rows[] = {
		{ .submit_ns = 10 * ORR_SECOND,
			.duration_ns = 100 * ORR_SECOND,
			.limit_ns = 90 * ORR_SECOND,
			.wait_ns = -1,
			.gpus = 2,
			.gpu_milli = 1000,
			.id = "7",
			.user = "u" },
		{ .submit_ns = 10 * ORR_SECOND,
			.duration_ns = 30500000000,
			.limit_ns = -1,
			.wait_ns = 5 * ORR_SECOND,
			.gpus = 1,
			.gpu_milli = 500,
			.id = "9",
			.user = "v" },
		{ .submit_ns = 20 * ORR_SECOND,
			.duration_ns = 0,
			.limit_ns = 0,
			.wait_ns = 0,
			.gpus = 4,
			.gpu_milli = 1000,
			.id = "8",
			.gpu_types = "V100" },
		{ .submit_ns = 5 * ORR_SECOND, .duration_ns = -1, .limit_ns = -1, .wait_ns = -1, .gpus = 0, .gpu_milli = 1000, .id = "5" },
		{ .submit_ns = 5 * ORR_SECOND, .duration_ns = -1, .limit_ns = -1, .wait_ns = -1, .gpus = 1, .gpu_milli = 1000, .id = "6" },
		{ .submit_ns = 5 * ORR_SECOND, .duration_ns = -1, .limit_ns = -1, .wait_ns = -1, .gpus = 1, .gpu_milli = 1000, .id = "4" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		trace_profile_add(p, &rows[i], NULL, NULL);
	trace_profile_finish(p, false);
	static const struct {
		const char *name;
		double value;
	} facts[] = { { "rows", 6 }, { "first submission", 5 }, { "last submission", 20 }, { "span days", 15 / 86400.0 },
		{ "submitted at the time of the previous job", 3 }, { "duplicate rows", 1 }, { "duration unknown", 3 },
		{ "duration zero", 1 }, { "duration below 60 s", 2 }, { "duration not whole seconds", 1 }, { "no GPU", 1 },
		{ "share of one GPU", 1 }, { "one whole GPU", 2 }, { "GPUs requested, all jobs", 8.5 }, { "GPU types named", 1 },
		{ "wait recorded", 2 }, { "limit given", 2 }, { "ran longer than the limit", 1 }, { "GPU hours", (200 + 15.25) / 3600 },
		{ "makespan s", 105 }, { "GPU time / span", 215.25 / 15 }, { "GPU time / makespan", 215.25 / 105 },
		{ "peak GPUs without waiting", 2.5 }, { "lowest job number", 4 }, { "highest job number", 9 } };
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		double got = fact(p, facts[i].name);
		ok(fabs(got - facts[i].value) < 1e-12, "%s: %g", facts[i].name, got);
	}
	ok(!strcmp(word(p, "sorted by submission"), "no") && !strcmp(word(p, "job numbers rise"), "no"),
		"rows are not sorted, nor are their numbers");
	const struct trace_profile_entry *none = entry(p, "user", "(none)"), *u = entry(p, "user", "u");
	ok(none && none->count == 4 && none->gpu_hours == 0 && u && u->count == 1 && fabs(u->gpu_hours - 200 / 3600.0) < 1e-12,
		"jobs and GPU hours of each user");
	trace_profile_free(p);
	/* Wall-clock times, months, increasing numbers, and two rows that differ in only one text. */
	p = trace_profile_new();
	struct orr_trace_job row = { .submit_ns = 1507532515 * ORR_SECOND,
		.duration_ns = 60 * ORR_SECOND,
		.limit_ns = -1,
		.wait_ns = -1,
		.gpus = 1,
		.gpu_milli = 1000,
		.id = "1",
		.user = "a",
		.queue = "b" };
	trace_profile_add(p, &row, NULL, NULL);
	row.id = "2", row.user = "ab", row.queue = "";
	trace_profile_add(p, &row, NULL, NULL);
	row.id = "3", row.user = "", row.queue = "ab";
	trace_profile_add(p, &row, NULL, NULL);
	row.id = "4", row.user = "b", row.queue = "a", row.submit_ns += 86400 * 30 * ORR_SECOND;
	trace_profile_add(p, &row, NULL, NULL);
	trace_profile_finish(p, true);
	ok(fact(p, "duplicate rows") == 0, "texts of neighbouring fields are kept apart");
	same_text(word(p, "first submission"), "2017-10-09 07:01:55", "a wall-clock time");
	const struct trace_profile_entry *october = entry(p, PROFILE_MONTHS_TALLY, "2017-10"),
					 *november = entry(p, PROFILE_MONTHS_TALLY, "2017-11");
	ok(october && october->count == 3 && november && november->count == 1, "rows by month");
	ok(!strcmp(word(p, "sorted by submission"), "yes") && !strcmp(word(p, "job numbers rise"), "yes") &&
			fact(p, "duration below 60 s") == 0,
		"60 s are not below 60 s");
	trace_profile_free(p);
	p = trace_profile_new();
	trace_profile_finish(p, false);
	ok(fact(p, "rows") == 0 && isnan(fact(p, "span days")), "no rows, no statistics");
	trace_profile_free(p);
	trace_profile_free(NULL);
}

static double sum_of(const struct trace_profile *p, const char *name)
{
	for (size_t i = 0; trace_profile_get_series(p, i); i++)
		if (!strcmp(trace_profile_get_series(p, i)->name, name))
			return trace_profile_get_series(p, i)->summary.sum;
	return NAN;
}

/* Tests statistics of other rows: jobs of Muri, and instances. */
static void check_other_profiles(void)
{
	/* The ratio of 6000 ms to 100 iterations of 50 ms is 1.2. */
	static const char muri[] = "job_id,num_gpu,submit_time,iterations,model_name,duration,iteration_time,resource_time_0\n"
				   "a,1,0,100,vgg16,6000,50,1\nb,1,5,0,vgg16,6000,50,1\n";
	struct trace *t = trace_open_memory("x.csv", muri, sizeof muri - 1, NULL, NULL, &err);
	struct trace_profile *p = trace_profile_new();
	ok(t && !strcmp(trace_format(t), "muri") && !trace_describe(t, p, &err), "jobs of Muri");
	near_to(sum_of(p, "duration / (iterations x iteration_time)"), 1.2, 1e-12, "their durations over those of their iterations");
	near_to(sum_of(p, "iteration_time ms"), 100, 1e-12, "their iterations");
	trace_close(t);
	trace_profile_free(p);
	/* One instance is live from 0 to 20 s, another one from 10.5 s on: 29.5 instance-seconds. */
	static const char live[] =
		"time_s,event,node,zone,type,price\n0,add,a,us-a,p3,0.9\n0,price,,us-a,p3,0.9\n10.5,add,b,us-b,p3,\n20,remove,a,us-a,,\n";
	t = trace_open_memory("x.csv", live, sizeof live - 1, NULL, NULL, &err);
	p = trace_profile_new();
	ok(t && !avail_profile_trace(t, p, &err), "instances");
	static const struct {
		const char *name;
		double value;
	} facts[] = { { "span h", 20 / 3600.0 }, { "prices", 1 }, { "events", 3 }, { "additions", 2 }, { "removals", 1 },
		{ "most live", 2 }, { "minimum live from the first removal on", 1 }, { "mean live", 29.5 / 20 },
		{ "mean life h, of all until the end", 29.5 / 2 / 3600 }, { "removals per hour", 180 },
		{ "removals per instance and hour", 3600 / 29.5 }, { "instants of removal", 1 }, { "mean number removed at once", 1 },
		{ "mean life h of removed", 20 / 3600.0 } };
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		ok(fabs(fact(p, facts[i].name) / facts[i].value - 1) < 1e-12, "%s: %g", facts[i].name, fact(p, facts[i].name));
	trace_close(t);
	trace_profile_free(p);
}

static void check_bounds(void)
{
	static const struct {
		const char *text;
		bool is_good;
	} rows[] = { { "submit_s,duration_s,priority\n0,1,1000000000\n", true },
		{ "submit_s,duration_s,priority\n0,1,-1000000000\n", true }, { "submit_s,duration_s,priority\n0,1,1000000001\n", false },
		{ "submit_s,duration_s,priority\n0,1,-1000000001\n", false } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct trace *t = trace_open_memory("x.csv", rows[i].text, strlen(rows[i].text), NULL, NULL, &err);
		struct jobset *s = t ? jobset_from(t, "x.csv", &err) : NULL;
		ok(!s == !rows[i].is_good, "a priority %s 1e9", rows[i].is_good ? "of" : "beyond");
		jobset_free(s);
	}
	static const char *const mixes[] = { "poisson:model=a*0|b", "poisson:model=a*-1|b", "poisson:model=a*1000000001|b",
		"poisson:model=*2" };
	for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
		ok(!reqset_load(mixes[i], NULL, NULL, 1, &err) && strstr(err.text, "expected models separated by |"), "%s", mixes[i]);
	struct reqset *s = reqset_load("poisson:model=a*1000000000|b,n=3", NULL, NULL, 1, &err);
	ok(s != NULL, "a weight of 1e9");
	reqset_free(s);
}

/* Tests that a law that is not constant is drawn for each request, and that the other values stay unchanged. */
static void check_laws(void)
{
	static const struct {
		const char *source;
		bool varies[3]; /* samples, prompt, output */
	} known[] = { { "poisson:n=50,samples=4,prompt=100,output=7", { false, false, false } },
		{ "poisson:n=50,samples=4,prompt=exp:500,output=7", { false, true, false } },
		{ "poisson:n=50,samples=4,prompt=100,output=1-900", { false, false, true } },
		{ "poisson:n=50,samples=4-90,prompt=100,output=7", { true, false, false } } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct reqset *s = reqset_load(known[i].source, NULL, NULL, 1, &err);
		struct reqcursor *c = s ? reqset_open(s, 0) : NULL;
		struct request_rec x;
		uint32_t low[3] = { UINT32_MAX, UINT32_MAX, UINT32_MAX }, high[3] = { 0 };
		while (c && reqcursor_next(c, &x)) {
			const uint32_t v[] = { x.samples, x.prompt_tokens, x.output_tokens };
			for (int k = 0; k < 3; k++) {
				low[k] = v[k] < low[k] ? v[k] : low[k];
				high[k] = v[k] > high[k] ? v[k] : high[k];
			}
		}
		const uint32_t fixed[] = { 4, 100, 7 };
		bool is_right = true;
		for (int k = 0; k < 3; k++)
			is_right = is_right && (known[i].varies[k] ? low[k] < high[k] : low[k] == fixed[k] && high[k] == fixed[k]);
		ok(is_right, "%s", known[i].source);
		reqcursor_close(c);
		reqset_free(s);
	}
}

/* Tests that blanks around the names of columns are ignored, and that the first row determines the format if there is no header. */
static void check_formats(void)
{
	struct jobset *s = jobs_of(" submit_s ,duration_s\t, gpus \n1,2,3\n");
	ok(s && jobset_count(s) == 1 && jobset_at(s, 0)->gpus == 3 && jobset_at(s, 0)->duration_ns == 2 * ORR_SECOND,
		"blanks around the names of columns");
	jobset_free(s);
	static const struct {
		const char *text, *format;
	} known[] = { { "0,add,a\n5,remove,a\n", "bamboo" }, { "12.5,remove,a\n", "bamboo" } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct trace *t = trace_open_memory("x.csv", known[i].text, strlen(known[i].text), NULL, NULL, &err);
		ok(t && !strcmp(trace_format(t), known[i].format), "rows of %s", known[i].format);
		trace_close(t);
	}
}

/* Tests that zones are in order at one instant, each with all of its instances. */
static void check_zones(void)
{
	uint32_t wrong = 0, starts = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct availset *s = availset_load("renewal:zones=a|b|c,nodes=2,up=1000h,down=1s,length=10h", NULL, NULL, seed, &err);
		struct availcursor *c = s ? availset_open(s, 0) : NULL;
		struct avail_rec x;
		for (uint32_t i = 0; c && availcursor_next(c, &x) && x.t_ns == 0; i++) {
			wrong += strcmp(strtab_text(availset_strings(s), x.zone), i < 2   ? "a"
										  : i < 4 ? "b"
											  : "c") != 0 ||
				 x.instance != i || x.kind != AVAIL_ADD;
			starts++;
		}
		availcursor_close(c);
		availset_free(s);
	}
	ok(wrong == 0 && starts == 240, "zones start in their order, each with two instances (%u)", starts);
}

int main(void)
{
	check_jobs();
	check_requests();
	check_training();
	check_suggestions();
	check_states();
	check_dates();
	check_profile();
	check_other_profiles();
	check_bounds();
	check_zones();
	check_laws();
	check_formats();
	return done();
}
