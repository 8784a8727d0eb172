/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cmd_trace.h"

#include "traces/avail_profile.h"
#include "traces/generator.h"
#include "traces/profile.h"
#include "traces/req_profile.h"
#include "traces/trace.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "cli/cli.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_LIST = 15 }; /* number of keys of a tally in the text form */

struct subject {
	const char *source, *format, *doc, *hash;
	struct trace *trace; /* NULL: a generator */
	const struct trace_profile *profile;
};

/* ---- text ---- */

/* Formats whole numbers without decimals, others with at most three. */
static const char *show(double v, char out[40])
{
	if (isnan(v))
		return "-";
	snprintf(out, 40, "%.3f", v);
	size_t n = strlen(out);
	while (out[n - 1] == '0')
		out[--n] = '\0';
	if (out[n - 1] == '.')
		out[n - 1] = '\0';
	return out;
}

static void print_series(const struct trace_profile *p)
{
	const struct trace_profile_series *s;
	printf("\n%-38s %9s %12s %12s %10s %10s %10s %10s %10s %10s %10s %12s %14s\n", "distribution", "n", "mean", "sd", "min", "p25",
		"p50", "p75", "p90", "p95", "p99", "max", "sum");
	for (size_t i = 0; (s = trace_profile_get_series(p, i)); i++) {
		const struct summary *m = &s->summary;
		char t[11][40];
		if (!m->n || (m->max <= 0 && m->min >= 0)) /* the series has only zeros, so no row has this value */
			continue;
		printf("%-38s %9" PRIu64 " %12s %12s %10s %10s %10s %10s %10s %10s %10s %12s %14s\n", s->name, m->n, show(m->mean, t[0]),
			show(m->sd, t[1]), show(m->min, t[2]), show(m->p25, t[3]), show(m->p50, t[4]), show(m->p75, t[5]),
			show(m->p90, t[6]), show(m->p95, t[7]), show(m->p99, t[8]), show(m->max, t[9]), show(m->sum, t[10]));
	}
}

static void print_tally(const struct trace_profile_tally *t)
{
	char number[40];
	size_t width = 8;
	for (size_t i = 0; i < t->n && i < SHORT_LIST; i++)
		width = strlen(utf8_shown(t->entry[i].key)) > width ? strlen(utf8_shown(t->entry[i].key)) : width;
	printf("\n%s: %zu%s%s\n", t->name, t->n, t->weight ? "; jobs, " : "", t->weight ? t->weight : "");
	for (size_t i = 0; i < t->n && i < SHORT_LIST; i++)
		printf("  %-*s %9" PRIu64 " %16s\n", (int)width, utf8_shown(t->entry[i].key), t->entry[i].count,
			t->weight ? show(t->entry[i].gpu_hours, number) : "");
	if (t->n > SHORT_LIST)
		printf("  and %zu more (--json lists all)\n", t->n - SHORT_LIST);
}

/* Returns whether a tally is printed: not if all rows have the default value. */
static bool is_telling(const struct trace_profile_tally *t)
{
	const char *only = t->n == 1 ? t->entry[0].key : "";
	return t->n && strcmp(only, "(none)") && !(!strcmp(t->name, "gpu_milli") && !strcmp(only, "1000"));
}

static void print_text(const struct subject *s)
{
	const struct trace_profile_fact *f;
	const struct trace_profile_tally *t;
	struct trace_fact extra;
	printf("%-42s %s\n%-42s %s (%s)\n%-42s %s\n", "trace", utf8_shown(s->source), "format", s->format, s->doc, "sha256", s->hash);
	for (size_t i = 0; (f = trace_profile_get_fact(s->profile, i)); i++)
		printf("%-42s %s\n", f->name, utf8_shown(f->text));
	for (size_t i = 0; s->trace && trace_fact(s->trace, i, &extra); i++)
		printf("%-42s %s\n", extra.name, utf8_shown(extra.value));
	if (trace_profile_get_series(s->profile, 0))
		print_series(s->profile);
	for (size_t i = 0; (t = trace_profile_get_tally(s->profile, i)); i++)
		if (is_telling(t))
			print_tally(t);
}

/* ---- JSON ---- */

static void add_number(cJSON *to, const char *name, double v)
{
	if (isnan(v))
		cJSON_AddNullToObject(to, name);
	else
		cJSON_AddNumberToObject(to, name, v);
}

static void add_series(cJSON *root, const struct trace_profile *p)
{
	const struct trace_profile_series *s;
	cJSON *all = cJSON_AddObjectToObject(root, "distributions");
	for (size_t i = 0; (s = trace_profile_get_series(p, i)); i++) {
		const struct summary *m = &s->summary;
		const struct {
			const char *name;
			double value;
		} v[] = { { "n", (double)m->n }, { "mean", m->mean }, { "sd", m->sd }, { "min", m->min }, { "p25", m->p25 },
			{ "p50", m->p50 }, { "p75", m->p75 }, { "p90", m->p90 }, { "p95", m->p95 }, { "p99", m->p99 }, { "max", m->max },
			{ "sum", m->sum } };
		cJSON *one = cJSON_AddObjectToObject(all, s->name);
		for (size_t k = 0; k < sizeof v / sizeof *v; k++)
			add_number(one, v[k].name, v[k].value);
	}
}

static void add_tallies(cJSON *root, const struct trace_profile *p)
{
	const struct trace_profile_tally *t;
	cJSON *all = cJSON_AddObjectToObject(root, "tallies");
	for (size_t i = 0; (t = trace_profile_get_tally(p, i)); i++) {
		cJSON *list = cJSON_AddArrayToObject(all, t->name);
		for (size_t k = 0; k < t->n; k++) {
			cJSON *one = cJSON_CreateObject();
			cJSON_AddStringToObject(one, "key", t->entry[k].key);
			cJSON_AddNumberToObject(one, "count", (double)t->entry[k].count);
			if (t->weight)
				add_number(one, t->weight, t->entry[k].gpu_hours);
			cJSON_AddItemToArray(list, one);
		}
	}
}

static void print_json(const struct subject *s)
{
	const struct trace_profile_fact *f;
	struct trace_fact extra;
	cJSON *root = cJSON_CreateObject();
	cJSON_AddStringToObject(root, "trace", s->source);
	cJSON_AddStringToObject(root, "format", s->format);
	cJSON_AddStringToObject(root, "sha256", s->hash);
	cJSON *facts = cJSON_AddObjectToObject(root, "facts");
	for (size_t i = 0; (f = trace_profile_get_fact(s->profile, i)); i++) {
		if (isnan(f->number))
			cJSON_AddStringToObject(facts, f->name, utf8_shown(f->text));
		else
			cJSON_AddNumberToObject(facts, f->name, f->number);
	}
	cJSON *header = cJSON_AddObjectToObject(root, "file");
	for (size_t i = 0; s->trace && trace_fact(s->trace, i, &extra); i++)
		cJSON_AddStringToObject(header, extra.name, extra.value);
	add_series(root, s->profile);
	add_tallies(root, s->profile);
	cli_put_json(root);
	cJSON_Delete(root);
}

/* ---- the command ---- */

struct request {
	const char *source, *format;
	struct trace_options options;
	char *map; /* the text "map=.." in options, owned */
	uint64_t seed;
	bool is_json;
};

static int info_of_file(const struct request *q, struct orr_error *err)
{
	struct trace *t = trace_open_all(q->source, q->format, q->options.text, err);
	if (!t)
		return ORR_EINPUT;
	struct trace_profile *p = trace_profile_new();
	int rc = trace_describe(t, p, err) ? ORR_EINPUT : ORR_OK;
	struct subject s = { q->source, trace_format(t), trace_format_doc(t), trace_hash(t), t, p };
	if (!rc)
		(q->is_json ? print_json : print_text)(&s);
	const char *first;
	uint64_t repaired = trace_repaired(t, &first);
	if (!rc)
		trace_tell_left_out(q->source, 0, repaired, first);
	trace_profile_free(p);
	trace_close(t);
	return rc;
}

static int info_of_generator(const struct generator *g, const struct request *q, struct orr_error *err)
{
	struct jobset *set = jobset_load(q->source, NULL, NULL, q->seed, err);
	if (!set)
		return ORR_EINPUT;
	if (jobset_count(set) == UINT64_MAX) {
		jobset_free(set);
		return orr_fail(err, ORR_EINPUT, "%s: this generator has no end: expected its parameter \"n\"", q->source);
	}
	struct trace_profile *p = trace_profile_new();
	struct jobcursor *c = jobset_open(set, 0);
	struct job_rec rec;
	int rc = ORR_OK;
	while (!rc && jobcursor_next(c, &rec)) {
		struct orr_trace_job row;
		rc = jobset_check_submit(set, &rec, err);
		jobset_row(set, &rec, &row);
		trace_profile_add(p, &row, NULL, NULL);
	}
	jobcursor_close(c);
	trace_profile_finish(p, false);
	struct subject s = { q->source, g->name, g->doc, jobset_hash(set), NULL, p };
	if (!rc)
		(q->is_json ? print_json : print_text)(&s);
	trace_profile_free(p);
	jobset_free(set);
	return rc;
}

static int info_of_requests(const struct request *q, struct orr_error *err)
{
	struct reqset *set = reqset_load(q->source, q->format, q->options.text, q->seed, err);
	if (!set)
		return ORR_EINPUT;
	if (reqset_count(set) == UINT64_MAX) {
		reqset_free(set);
		return orr_fail(err, ORR_EINPUT, "%s: this generator has no end: expected its parameter \"n\"", q->source);
	}
	struct trace_profile *p = trace_profile_new();
	req_profile(set, p);
	struct subject s = { q->source, reqset_format(set), generator_find(TRACE_REQUESTS, q->source)->doc, reqset_hash(set), NULL, p };
	(q->is_json ? print_json : print_text)(&s);
	trace_profile_free(p);
	reqset_free(set);
	return ORR_OK;
}

static int info_of_avail(const struct request *q, struct orr_error *err)
{
	const struct generator *g = generator_find(TRACE_AVAIL, q->source);
	struct availset *set = availset_load(q->source, q->format, q->options.text, q->seed, err);
	if (!set)
		return ORR_EINPUT;
	if (!availset_has_end(set)) {
		availset_free(set);
		return orr_fail(err, ORR_EINPUT, "%s: this generator has no end: expected its parameter \"length\"", q->source);
	}
	struct trace_profile *p = trace_profile_new();
	avail_profile(set, p);
	struct subject s = { q->source, availset_format(set), g ? g->doc : "several merged files", availset_hash(set), NULL, p };
	(q->is_json ? print_json : print_text)(&s);
	trace_profile_free(p);
	availset_free(set);
	return ORR_OK;
}

static int run_info(int argc, char **argv, struct request *q, struct orr_error *err)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' }, { "format", required_argument, NULL, 'f' },
		{ "seed", required_argument, NULL, 's' }, { "map", required_argument, NULL, 'm' }, { "repair", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 } };
	int c, rc = ORR_OK;
	opterr = 0;
	optind = 1;
	while (!rc && (c = getopt_long(argc, argv, "O:", longs, NULL)) != -1) {
		if (c == 'j')
			q->is_json = true;
		else if (c == 'f')
			q->format = optarg;
		else if (c == 's')
			rc = trace_seed(optarg, &q->seed, err);
		else if (c == 'O')
			rc = trace_options_add(&q->options, optarg, err);
		else if (c == 'r')
			rc = trace_options_add(&q->options, "repair=all", err);
		else if (c == 'm')
			rc = trace_options_map(&q->options, optarg, &q->map, err);
		else
			rc = trace_bad_option(argv, longs, err);
	}
	if (rc)
		return rc;
	if (argc - optind != 1)
		return orr_fail(err, ORR_EINPUT, "trace info: expected the name of one file; 'orrery trace --help' shows the forms");
	q->source = argv[optind];
	if (trace_wants_requests(q->source, q->format))
		return info_of_requests(q, err);
	if (trace_wants_avail(q->source, q->format))
		return info_of_avail(q, err);
	const struct generator *g = q->format ? NULL : generator_find(TRACE_JOBS, q->source);
	return g ? info_of_generator(g, q, err) : info_of_file(q, err);
}

int trace_info(int argc, char **argv, struct orr_error *err)
{
	struct request q = { .seed = 1 };
	int rc = run_info(argc, argv, &q, err);
	mem_free(q.map);
	return rc;
}
