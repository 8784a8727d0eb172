/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery trace convert, orrery trace slice: some or all rows in another format */
#include "cli/cmd_trace.h"

#include "base/mem.h"
#include "base/rng.h"
#include "traces/avail.h"
#include "traces/requests.h"
#include "traces/trace.h"
#include "traces/writer.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct wish {
	const char *source, *format, *to, *out;
	struct trace_options options;
	char *map; /* text of --map in options */
	bool is_sorted, is_rebased;
	int64_t from_ns, until_ns, low_gpus, high_gpus, count;
	double sample;
	const char *queue, *user;
	uint64_t seed;
};

struct cut {
	const struct wish *wish;
	struct writer *out;
	struct rng rng;
	int64_t kept, zero_ns;
};

static bool is_wanted(struct cut *c, const struct orr_trace_job *row)
{
	const struct wish *w = c->wish;
	/* Draws once per row, so that other conditions do not change the sample. */
	bool is_drawn = w->sample >= 1 || rng_uniform(&c->rng) < w->sample;
	return is_drawn && row->submit_ns >= w->from_ns && row->submit_ns < w->until_ns && row->gpus >= w->low_gpus &&
	       row->gpus <= w->high_gpus && (!w->queue || (row->queue && !strcmp(row->queue, w->queue))) &&
	       (!w->user || (row->user && !strcmp(row->user, w->user)));
}

static int take(struct cut *c, struct orr_trace_job *row, struct orr_error *err)
{
	if (c->kept == c->wish->count || !is_wanted(c, row))
		return ORR_OK;
	if (!c->kept++ && c->wish->is_rebased)
		c->zero_ns = row->submit_ns;
	row->submit_ns -= c->zero_ns;
	if (row->submit_ns < 0)
		return orr_fail(err, ORR_EINPUT,
			"line %" PRIu64 ": this row was submitted before the first row kept: expected rows in order of time, or --sort",
			row->line);
	return writer_row(c->out, row, err);
}

static int copy_stream(struct trace *t, struct cut *c, struct orr_error *err)
{
	struct orr_trace_job row;
	int rc;
	while ((rc = trace_next(t, &row, err)) == 1) {
		rc = take(c, &row, err);
		if (rc)
			return rc;
	}
	return rc ? ORR_EINPUT : ORR_OK;
}

static int copy_sorted(struct jobset *s, struct cut *c, struct orr_error *err)
{
	int rc = ORR_OK;
	for (uint64_t i = 0; !rc && i < jobset_count(s); i++) {
		struct orr_trace_job row;
		jobset_row(s, jobset_at(s, i), &row);
		rc = take(c, &row, err);
	}
	return rc;
}

static struct trace_cut cut_of(const struct wish *w)
{
	return (struct trace_cut){ .out = w->out,
		.to = w->to,
		.from_ns = w->from_ns,
		.until_ns = w->until_ns,
		.count = w->count,
		.sample = w->sample,
		.seed = w->seed,
		.is_rebased = w->is_rebased };
}

static bool chooses_jobs(const struct wish *w)
{
	return w->queue || w->user || w->low_gpus || w->high_gpus < INT64_MAX;
}

/* Converts availability. t NULL: the source is not a single file. */
static int run_avail(struct trace *t, const struct wish *w, struct orr_error *err)
{
	if (chooses_jobs(w)) {
		trace_close(t);
		return orr_fail(err, ORR_EINPUT,
			"%s: this trace holds instances, which have no queue, user or GPUs: expected a selection by time only (--from and "
			"--until)",
			w->source);
	}
	struct trace_cut cut = cut_of(w);
	struct availset *s = t ? availset_from(t, w->source, err) : availset_load(w->source, w->format, w->options.text, w->seed, err);
	int rc = s ? trace_write_avail(s, &cut, err) : ORR_EINPUT;
	availset_free(s);
	return rc;
}

static int run_requests(struct trace *t, const struct wish *w, struct orr_error *err)
{
	if (chooses_jobs(w)) {
		trace_close(t);
		return orr_fail(err, ORR_EINPUT,
			"%s: this trace holds requests, which have no queue, user or GPUs: expected none of --queue, --user and --gpus",
			w->source);
	}
	struct trace_cut cut = cut_of(w);
	struct reqset *s = reqset_from(t, w->source, err);
	int rc = s ? trace_write_requests(s, &cut, err) : ORR_EINPUT;
	reqset_free(s);
	return rc;
}

static int run(const struct wish *w, struct orr_error *err)
{
	struct cut c = { .wish = w };
	int rc = ORR_EINPUT;
	if (!strncmp(w->source, "zones:", 6))
		return run_avail(NULL, w, err);
	struct trace *t = trace_open(w->source, w->format, w->options.text, err);
	if (!t)
		return ORR_EINPUT;
	if (trace_kind(t) == TRACE_AVAIL)
		return run_avail(t, w, err);
	if (trace_kind(t) == TRACE_REQUESTS)
		return run_requests(t, w, err);
	if (trace_has_flows(t)) {
		trace_close(t);
		return orr_fail(err, ORR_EINPUT,
			"%s: this trace holds flows, and no other format can store their operators: expected a trace of jobs", w->source);
	}
	rng_init(&c.rng, w->seed, "sample", 0);
	c.out = writer_open(w->out, w->to ? w->to : "orrery", err);
	if (!c.out) {
		trace_close(t);
		return err->code;
	}
	struct jobset *s = NULL;
	if (w->is_sorted || trace_is_absolute(t) || trace_is_scaled(t)) {
		s = jobset_read(t, w->source, err);
		rc = s ? copy_sorted(s, &c, err) : ORR_EINPUT;
	} else {
		rc = copy_stream(t, &c, err);
	}
	if (!rc)
		rc = writer_close(c.out, err);
	else
		writer_discard(c.out);
	if (!rc && strcmp(w->out, "-"))
		fprintf(stderr, "%s: %" PRId64 " rows\n", w->out, c.kept);
	const char *first;
	uint64_t repaired = trace_repaired(t, &first);
	if (!rc)
		trace_tell_left_out(w->source, trace_left_out(t), repaired, first);
	jobset_free(s);
	trace_close(t);
	return rc;
}

/* ---- arguments ---- */

static int bad_value(const char *option, const char *expected, const char *text, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "--%s: expected %s, found \"%.60s\"", option, expected, text);
}

static int parse_gpus(const char *text, struct wish *w, struct orr_error *err)
{
	size_t n = strcspn(text, "-");
	bool good = num_int(text, n, &w->low_gpus) && w->low_gpus >= 0;
	w->high_gpus = w->low_gpus;
	if (good && text[n] == '-')
		good = num_int(text + n + 1, strlen(text + n + 1), &w->high_gpus) && w->high_gpus >= w->low_gpus;
	return good ? ORR_OK : bad_value("gpus", "a count or a range like 1-8", text, err);
}

static int parse_time(const char *option, const char *text, int64_t *out, struct orr_error *err)
{
	return num_duration_ns(text, strlen(text), out) ? ORR_OK : bad_value(option, "a time like 36h or 90000", text, err);
}

static int set_filter(int c, const char *text, struct wish *w, struct orr_error *err)
{
	switch (c) {
	case 'F':
		return parse_time("from", text, &w->from_ns, err);
	case 'U':
		return parse_time("until", text, &w->until_ns, err);
	case 'n':
		return num_int(text, strlen(text), &w->count) && w->count >= 0 ? ORR_OK
									       : bad_value("count", "a whole number from 0", text, err);
	case 'p':
		return num_real(text, strlen(text), &w->sample) && w->sample > 0 && w->sample <= 1
			       ? ORR_OK
			       : bad_value("sample", "a probability above 0 and at most 1", text, err);
	case 'g':
		return parse_gpus(text, w, err);
	case 'q':
		w->queue = text;
		return ORR_OK;
	case 'u':
		w->user = text;
		return ORR_OK;
	default:
		w->is_rebased = true;
		return ORR_OK;
	}
}

static const struct option longs[] = { { "format", required_argument, NULL, 'f' }, { "to", required_argument, NULL, 't' },
	{ "sort", no_argument, NULL, 'S' }, { "seed", required_argument, NULL, 's' }, { "from", required_argument, NULL, 'F' },
	{ "until", required_argument, NULL, 'U' }, { "count", required_argument, NULL, 'n' }, { "sample", required_argument, NULL, 'p' },
	{ "gpus", required_argument, NULL, 'g' }, { "queue", required_argument, NULL, 'q' }, { "user", required_argument, NULL, 'u' },
	{ "rebase", no_argument, NULL, 'r' }, { "map", required_argument, NULL, 'm' }, { "repair", no_argument, NULL, 'R' },
	{ NULL, 0, NULL, 0 } };

static int parse(int argc, char **argv, struct wish *w, struct orr_error *err)
{
	int c, rc = ORR_OK;
	bool is_slice = !strcmp(argv[0], "slice");
	opterr = 0;
	optind = 1;
	while (!rc && (c = getopt_long(argc, argv, "O:o:", longs, NULL)) != -1) {
		if (c == 'f')
			w->format = optarg;
		else if (c == 't')
			w->to = optarg;
		else if (c == 'o')
			w->out = optarg;
		else if (c == 'S')
			w->is_sorted = true;
		else if (c == 's')
			rc = trace_seed(optarg, &w->seed, err);
		else if (c == 'O')
			rc = trace_options_add(&w->options, optarg, err);
		else if (c == 'R')
			rc = trace_options_add(&w->options, "repair=all", err);
		else if (c == 'm')
			rc = trace_options_map(&w->options, optarg, &w->map, err);
		else if (c == '?')
			rc = trace_bad_option(argv, longs, err);
		else if (is_slice)
			rc = set_filter(c, optarg, w, err);
		else
			rc = orr_fail(err, ORR_EINPUT,
				"trace convert: this verb writes all rows: expected 'orrery trace slice' for a selection of rows");
	}
	return rc;
}

int trace_convert(int argc, char **argv, struct orr_error *err)
{
	struct wish w = {
		.out = "-", .from_ns = INT64_MIN, .until_ns = INT64_MAX, .high_gpus = INT64_MAX, .count = INT64_MAX, .sample = 1, .seed = 1
	};
	int rc = parse(argc, argv, &w, err);
	if (!rc && argc - optind != 1)
		rc = orr_fail(err, ORR_EINPUT, "trace %s: expected the name of one file; 'orrery trace --help' shows the forms", argv[0]);
	w.source = argv[optind];
	if (!rc)
		rc = run(&w, err);
	mem_free(w.map);
	return rc;
}
