/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * philly_raw.c - the job log of Microsoft's Philly cluster (2017) as it was published: cluster_job_log, one JSON list
 *
 * {"status", "vc", "jobid", "submitted_time", "user", "attempts": [{"start_time", "end_time", "detail": [{"ip", "gpus": [..]}]}]} (Jeon et
 * al., USENIX ATC 2019). GPUs are those of the first attempt, as in the authors' notebook; the run time, too, is that of the notebook:
 * from the first start to the last end. The list that the format philly reads sums the attempts instead (duration=attempts).
 *
 * Times have no zone; other files of the log name PST and PDT, so they are Pacific time. The hour from 01:00 on 2017-11-05 occurs twice: a
 * time in it is the first one, or the second if the first would be earlier than the time before it.
 */
#define _GNU_SOURCE /* memmem() */
#include "traces/civil.h"
#include "traces/format.h"
#include "traces/items.h"
#include "traces/mapped.h"

#include <cjson/cJSON.h>

#include "base/mem.h"
#include "base/param.h"

#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("duration", "span", "span|attempts",
						   "run time: from the first start to the last end, or the sum of the attempts"),
	ORR_PARAM_CHOICE("zone", "pacific", "pacific|utc", "zone of the times; utc: read as they are"),
	ORR_PARAM_CHOICE(
		"unknown_runtime", "drop", "drop|keep|error", "treatment of jobs without attempts, or whose last attempt has no end"),
	ORR_PARAM_END };

static const char *const info_options[] = { "unknown_runtime=keep", NULL };

struct philly {
	struct lines *in;
	struct items *items;
	bool sums_attempts, is_utc;
	enum mapped_unknown unknown;
	uint64_t no_attempts, no_end, left_out;
	const cJSON *job;
};

static bool sniff(const struct trace_head *head)
{
	return memmem(head->text, head->n, "\"submitted_time\"", 16) && memmem(head->text, head->n, "\"attempts\"", 10);
}

static void close_philly(void *state)
{
	struct philly *p = state;
	items_free(p->items);
	mem_free(p);
}

static void *open_philly(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct items *items = items_new(in, "jobs", err);
	if (!items)
		return NULL;
	struct philly *p = mem_zalloc(1, sizeof *p);
	p->in = in;
	p->items = items;
	p->sums_attempts = !strcmp(orr_arg_text(args, "duration"), "attempts");
	p->is_utc = !strcmp(orr_arg_text(args, "zone"), "utc");
	p->unknown = mapped_unknown_of(args);
	return p;
}

/* ---- times ---- */

#define HOUR_NS (INT64_C(3600) * ORR_SECOND)

/* Returns the time of 02:00 on the n-th Sunday of the month that begins at first_ns, 00:00. */
static int64_t change_in(int64_t first_ns, int nth)
{
	int64_t day = first_ns / (24 * HOUR_NS);
	int64_t sunday = day + (10 - day % 7) % 7; /* 1970-01-04 was a Sunday */
	return (sunday + 7 * (nth - 1)) * 24 * HOUR_NS + 2 * HOUR_NS;
}

/* Returns a civil time in UTC. before: a time that is not later. */
static int64_t from_pacific(int64_t t, const char *civil, int64_t before)
{
	char march[] = "2017-03-01 00:00:00", november[] = "2017-11-01 00:00:00";
	memcpy(march, civil, 4);
	memcpy(november, civil, 4);
	int64_t spring = change_in(civil_ns(march, 19), 2), autumn = change_in(civil_ns(november, 19), 1); /* the rule since 2007 */
	if (t < spring || t >= autumn)
		return t + 8 * HOUR_NS;
	bool is_second = t >= autumn - HOUR_NS && t + 7 * HOUR_NS < before;
	return t + (is_second ? 8 : 7) * HOUR_NS;
}

/* Reads a time; *out -1: null, "" or "None". Returns 0 or an error code. */
static int moment(struct philly *p, const cJSON *o, const char *name, int64_t before, int64_t *out, struct orr_error *err)
{
	const char *s = items_text(o, name);
	const cJSON *v = items_get(o, name);
	*out = -1;
	if (!v || (cJSON_IsString(v) && (!*s || !strcmp(s, "None"))))
		return ORR_OK;
	int64_t t = civil_ns(s, strlen(s));
	if (t < 0)
		return lines_fail(
			p->in, err, "%s: expected a time from 1970 to 2199 such as 2017-10-07 01:11:39, found \"%.60s\"", name, s);
	*out = p->is_utc ? t : from_pacific(t, s, before);
	return ORR_OK;
}

/* ---- attempts ---- */

static int64_t gpus_of(const cJSON *attempt)
{
	const cJSON *node;
	int64_t n = 0;
	cJSON_ArrayForEach(node, items_get(attempt, "detail")) n += cJSON_GetArraySize(items_get(node, "gpus"));
	return n;
}

/* Reads all attempts. *run -1: unknown. */
static int read_attempts(struct philly *p, const cJSON *attempts, struct orr_trace_job *row, int64_t *run, struct orr_error *err)
{
	const cJSON *a;
	int64_t first = -1, last = row->submit_ns, sum = 0;
	bool ends = false;
	cJSON_ArrayForEach(a, attempts)
	{
		int64_t start, end;
		int rc = moment(p, a, "start_time", last, &start, err);
		if (!rc)
			rc = moment(p, a, "end_time", start < 0 ? last : start, &end, err);
		if (rc)
			return rc;
		if (start >= 0 && end >= 0 && end < start)
			return lines_fail(p->in, err, "end_time: expected at least start_time, found \"%.60s\"", items_text(a, "end_time"));
		first = first < 0 ? start : first;
		ends = end >= 0;
		last = end >= 0 ? end : last;
		sum += start >= 0 && end >= 0 ? end - start : 0;
	}
	*run = first < 0 || !ends ? -1 : p->sums_attempts ? sum : last - first;
	if (first >= 0 && first < row->submit_ns)
		return lines_fail(p->in, err, "start_time: expected at least submitted_time");
	row->wait_ns = first < 0 ? -1 : first - row->submit_ns;
	return ORR_OK;
}

static int read_job(struct philly *p, struct orr_trace_job *row, struct orr_error *err)
{
	const cJSON *attempts = items_get(p->job, "attempts");
	if (!cJSON_IsObject(p->job) || !*items_text(p->job, "jobid") || (attempts && !cJSON_IsArray(attempts)))
		return lines_fail(p->in, err, "expected a job {\"jobid\": .., \"submitted_time\": .., \"attempts\": [..]}");
	int rc = moment(p, p->job, "submitted_time", 0, &row->submit_ns, err);
	if (!rc && row->submit_ns < 0)
		rc = lines_fail(p->in, err, "submitted_time: expected a time such as 2017-10-07 01:11:39, found nothing");
	if (!rc)
		rc = read_attempts(p, attempts, row, &row->duration_ns, err);
	int64_t gpus = gpus_of(attempts ? attempts->child : NULL);
	if (!rc && gpus > TRACE_MAX_GPUS)
		rc = lines_fail(p->in, err, "gpus: expected at most %d", TRACE_MAX_GPUS);
	row->gpus = (uint32_t)gpus;
	row->id = items_text(p->job, "jobid");
	row->user = *items_text(p->job, "user") ? items_text(p->job, "user") : NULL;
	row->queue = *items_text(p->job, "vc") ? items_text(p->job, "vc") : NULL;
	row->status = *items_text(p->job, "status") ? items_text(p->job, "status") : NULL;
	return rc;
}

static int next_philly(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct philly *p = state;
	for (;;) {
		int rc = items_next(p->items, &p->job, err);
		if (rc <= 0)
			return rc;
		if (read_job(p, row, err))
			return -1;
		if (row->duration_ns >= 0)
			return 1;
		bool has_attempts = cJSON_GetArraySize(items_get(p->job, "attempts")) > 0;
		p->no_attempts += !has_attempts;
		p->no_end += has_attempts;
		if (p->unknown == MAPPED_KEEP)
			return 1;
		if (p->unknown == MAPPED_ERROR) {
			lines_fail(p->in, err, "attempts: expected a start and an end (unknown_runtime=drop leaves such jobs out)");
			return -1;
		}
		p->left_out++;
	}
}

static bool fact(const void *state, size_t index, struct trace_fact *out)
{
	const struct philly *p = state;
	if (index > 1)
		return false;
	out->name = index ? "last attempt without an end (left out)" : "without attempts (left out)";
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)(index ? p->no_end : p->no_attempts));
	return true;
}

static uint64_t left_out(const void *state)
{
	return ((const struct philly *)state)->left_out;
}

const struct trace_format format_philly_raw = {
	.is_by_item = true,
	.name = "philly-raw",
	.doc = "Microsoft Philly 2017, the published cluster_job_log: a JSON list with attempts",
	.params = params,
	.is_absolute = true,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_philly,
	.next = next_philly,
	.fact = fact,
	.left_out = left_out,
	.close = close_philly,
};
