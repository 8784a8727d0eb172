/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace synth and trace list. */
#include "cli/cmd_trace.h"

#include "traces/format.h"
#include "traces/generator.h"
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
	struct jobcursor *c = jobset_open(set);
	struct job_rec rec;
	int rc = ORR_OK;
	while (!rc && jobcursor_next(c, &rec)) {
		struct orr_trace_job row;
		jobset_row(set, &rec, &row);
		rc = writer_row(w, &row, err);
	}
	jobcursor_close(c);
	if (!rc)
		return writer_close(w, err);
	writer_discard(w);
	return rc;
}

static int no_such_model(const char *source, struct orr_error *err)
{
	const char *names[32] = { NULL };
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(source, ":"), source);
	for (size_t i = 0; generators[i] && i < 31; i++)
		names[i] = generators[i]->name;
	const char *near = nearest_name(name, names);
	return orr_fail(err, ORR_EINPUT, "trace synth: no model \"%s\"; %s%s", name,
		near ? "did you mean " : "'orrery trace list' shows them", near ? near : "");
}

int trace_synth(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "to", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 } };
	const char *to = "orrery", *out = "-";
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
		return orr_fail(err, ORR_EINPUT,
			"trace synth: expected one model; 'orrery trace list' shows them");
	const char *source = argv[optind];
	char with_colon[1024];
	snprintf(with_colon, sizeof with_colon, "%s%s", source, strchr(source, ':') ? "" : ":");
	if (!generator_find(with_colon))
		return no_such_model(source, err);
	struct jobset *set = jobset_load(with_colon, NULL, NULL, seed, err);
	if (!set)
		return ORR_EINPUT;
	uint64_t n = jobset_count(set);
	rc = n == UINT64_MAX ? orr_fail(err, ORR_EINPUT, "%s: has no end; set n", source)
			     : write_rows(set, to, out, err);
	jobset_free(set);
	if (!rc && strcmp(out, "-"))
		fprintf(stderr, "%s: %" PRIu64 " rows\n", out, n);
	return rc;
}

static void print_params(const struct orr_param *p)
{
	for (; p && p->kind != ORR_KIND_END; p++)
		printf("      %s=%-*s %s%s%s%s\n", p->name, (int)(strlen(p->name) < 21 ? 21 - strlen(p->name) : 0), p->def, p->doc,
			p->choices ? " (" : "", p->choices ? p->choices : "", p->choices ? ")" : "");
}

int trace_list(int argc, char **argv, struct orr_error *err)
{
	if (argc > 1)
		return orr_fail(err, ORR_EINPUT, "trace list: takes no \"%.60s\"", argv[1]);
	puts("formats (--format, options with -O):");
	for (size_t i = 0; trace_formats[i]; i++) {
		printf("  %-14s %s\n", trace_formats[i]->name, trace_formats[i]->doc);
		print_params(trace_formats[i]->params);
	}
	puts("\nmodels (trace synth, or in place of a file: NAME:name=value,..):");
	for (size_t i = 0; generators[i]; i++) {
		printf("  %-14s %s\n", generators[i]->name, generators[i]->doc);
		print_params(generators[i]->params);
	}
	return ORR_OK;
}
