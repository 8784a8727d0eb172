/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace synth and trace list. */
#include "cli/cmd_trace.h"

#include "traces/avail_format.h"
#include "traces/generator.h"
#include "traces/req_format.h"
#include "traces/trace.h"
#include "traces/writer.h"

#include "base/param.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int write_rows(const struct jobset *set, const char *to, const char *out, struct orr_error *err)
{
	struct writer *w = writer_open(out, to, err);
	if (!w)
		return err->code;
	struct jobcursor *c = jobset_open(set, 0);
	struct job_rec rec;
	int rc = ORR_OK;
	while (!rc && jobcursor_next(c, &rec)) {
		struct orr_trace_job row;
		jobset_row(set, &rec, &row);
		rc = jobset_check_submit(set, &rec, err);
		if (!rc)
			rc = writer_row(w, &row, err);
	}
	jobcursor_close(c);
	if (!rc)
		return writer_close(w, err);
	writer_discard(w);
	return rc;
}

static int synth_requests(const char *source, const char *to, const char *out, uint64_t seed, struct orr_error *err)
{
	struct trace_cut cut = { .out = out, .to = to, .from_ns = INT64_MIN, .until_ns = INT64_MAX, .count = INT64_MAX, .sample = 1 };
	struct reqset *set = reqset_load(source, NULL, NULL, seed, err);
	int rc = set ? trace_write_requests(set, &cut, err) : ORR_EINPUT;
	reqset_free(set);
	return rc;
}

static int synth_avail(const char *source, const char *to, const char *out, uint64_t seed, struct orr_error *err)
{
	struct trace_cut cut = { .out = out, .to = to, .from_ns = INT64_MIN, .until_ns = INT64_MAX, .count = INT64_MAX, .sample = 1 };
	struct availset *set = availset_load(source, NULL, NULL, seed, err);
	int rc = set ? trace_write_avail(set, &cut, err) : ORR_EINPUT;
	availset_free(set);
	return rc;
}

int trace_synth(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "to", required_argument, NULL, 't' }, { "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 } };
	const char *to = NULL, *out = "-";
	uint64_t seed = 1;
	int c, rc = ORR_OK;
	opterr = 0;
	optind = 1;
	while (!rc && (c = getopt_long(argc, argv, "o:", longs, NULL)) != -1) {
		if (c == 't')
			to = optarg;
		else if (c == 'o')
			out = optarg;
		else if (c == 's')
			rc = trace_seed(optarg, &seed, err);
		else
			rc = trace_bad_option(argv, longs, err);
	}
	if (rc)
		return rc;
	if (argc - optind != 1)
		return orr_fail(err, ORR_EINPUT, "trace synth: expected one model that 'orrery trace list' shows");
	const char *source = argv[optind];
	char with_colon[1024];
	snprintf(with_colon, sizeof with_colon, "%s%s", source, strchr(source, ':') ? "" : ":");
	if (trace_wants_requests(with_colon, to))
		return synth_requests(with_colon, to, out, seed, err);
	if (generator_find(TRACE_AVAIL, with_colon))
		return synth_avail(with_colon, to, out, seed, err);
	if (!generator_find(TRACE_JOBS, with_colon))
		return generator_unknown(source, err);
	struct jobset *set = jobset_load(with_colon, NULL, NULL, seed, err);
	if (!set)
		return ORR_EINPUT;
	uint64_t n = jobset_count(set);
	rc = jobset_flows(set) ? orr_fail(err, ORR_EINPUT,
					 "%s: the generator makes flows, whose operators no trace file can store: expected the generator "
					 "itself as the trace ('orrery jobs %s'), or a flow in JSON (docs/howto/run-a-workflow.md)",
					 source, source)
	     : n == UINT64_MAX ? orr_fail(err, ORR_EINPUT, "%s: this generator has no end: expected its parameter \"n\"", source)
			       : write_rows(set, to ? to : "orrery", out, err);
	jobset_free(set);
	if (!rc && strcmp(out, "-"))
		fprintf(stderr, "%s: %" PRIu64 " rows\n", out, n);
	return rc;
}

/* Options that all formats or all generators of instances have are printed once. */
static const struct orr_param every_avail[] = { AVAIL_PARAMS, ORR_PARAM_END };
static const struct orr_param every_request[] = { REQUEST_PARAMS, ORR_PARAM_END };
static const struct orr_param every_avail_generator[] = { AVAIL_SHIFT_PARAMS, ORR_PARAM_END };

static bool has_param(const struct orr_param *p, const char *name)
{
	for (; p && p->kind != ORR_KIND_END; p++)
		if (!strcmp(p->name, name))
			return true;
	return false;
}

static void print_params(const struct orr_param *p, const struct orr_param *but)
{
	for (; p && p->kind != ORR_KIND_END; p++)
		if (!has_param(but, p->name))
			printf("      %s=%-*s %s%s%s%s\n", p->name, (int)(strlen(p->name) < 21 ? 21 - strlen(p->name) : 0), p->def, p->doc,
				p->choices ? " (" : "", p->choices ? p->choices : "", p->choices ? ")" : "");
}

static void print_formats(enum trace_kind kind)
{
	for (size_t i = 0; trace_formats[i]; i++) {
		const struct trace_format *f = trace_formats[i];
		if ((f->kind == TRACE_NODES ? TRACE_JOBS : f->kind) != kind)
			continue;
		printf("  %-14s %s\n", f->name, f->doc);
		print_params(f->params, kind == TRACE_AVAIL ? every_avail : kind == TRACE_REQUESTS ? every_request : NULL);
	}
}

static void print_generators(enum trace_kind kind)
{
	for (size_t i = 0; generators[i]; i++) {
		if (generators[i]->kind != kind)
			continue;
		printf("  %-14s %s\n", generators[i]->name, generators[i]->doc);
		print_params(generators[i]->params, kind == TRACE_AVAIL ? every_avail_generator : NULL);
	}
}

int trace_list(int argc, char **argv, struct orr_error *err)
{
	if (argc > 1)
		return orr_fail(err, ORR_EINPUT, "trace list: unexpected argument \"%.60s\": expected none", argv[1]);
	puts("formats of jobs (--format, options with -O):");
	print_formats(TRACE_JOBS);
	puts("  (all of these)");
	print_params(trace_common_params(TRACE_JOBS), NULL);
	puts("\nformats of requests (orrery serve):");
	print_formats(TRACE_REQUESTS);
	puts("  (all of these)");
	print_params(every_request, NULL);
	print_params(trace_common_params(TRACE_REQUESTS), NULL);
	puts("\nformats of instance availability (orrery spot; several files: zones:ZONE=FILE,ZONE=FILE):");
	print_formats(TRACE_AVAIL);
	puts("  (all of these)");
	print_params(every_avail, NULL);
	puts("\nmodels of jobs (trace synth, or in place of a file: NAME:name=value,..):");
	print_generators(TRACE_JOBS);
	puts("\nmodels of requests (orrery serve; trace synth and info with --to or --format requests):");
	print_generators(TRACE_REQUESTS);
	puts("\nmodels of instance availability (orrery spot):");
	print_generators(TRACE_AVAIL);
	puts("  (all of these)");
	print_params(every_avail_generator, NULL);
	return ORR_OK;
}
