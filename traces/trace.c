/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/trace.h"

#include "traces/avail_format.h"
#include "traces/format.h"
#include "traces/load.h"
#include "traces/map_names.h"
#include "traces/req_format.h"

#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct trace {
	const struct trace_format *format;
	struct lines *in;
	struct orr_args *args, *common;
	void *state;
	uint64_t rows;
	char id[24];
	uint64_t repaired; /* wrong rows that were left out */
	uint64_t last_wrong;
	char *first_wrong; /* message of the first; NULL: none */
	bool ignores_types;
};

static void clear_job(struct orr_trace_job *row)
{
	/* Sets the fields one by one: a compound literal would compile to a slow "rep stos" per row. */
	row->id = row->user = row->queue = row->model = NULL;
	row->gpu_types = row->speedup = row->strategy = row->status = row->preceding = row->stages = NULL;
	row->think_ns = row->submit_ns = row->cpu_milli = row->mem_mib = row->gpu_mem_mib = 0;
	row->duration_ns = row->limit_ns = row->wait_ns = row->deadline_ns = -1;
	row->iterations = row->priority = row->batch = row->occupancy = 0;
	row->gpus = 0;
	row->gpu_milli = 1000;
	row->line = 0;
}

/* Returns a copy of the first line that is neither blank nor a comment of SWF. */
static char *first_line(const char *s, size_t n)
{
	const char *end = s + n;
	while (s < end) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		stop = stop ? stop : end;
		const char *text = s;
		while (text < stop && (*text == ' ' || *text == '\t' || *text == '\r'))
			text++;
		if (text < stop && *text != ';') {
			if (stop > text && stop[-1] == '\r')
				stop--;
			return mem_strndup(text, (size_t)(stop - text));
		}
		s = stop < end ? stop + 1 : end;
	}
	return mem_strdup("");
}

/* header: receives a copy of the first line. */
static const struct trace_format *sniff(struct lines *in, char **header, struct orr_error *err)
{
	struct trace_head head = { 0 };
	lines_peek(in, &head.text, &head.n);
	char *line = *header = first_line(head.text, head.n);
	head.line = line;
	const struct trace_format *found = NULL;
	for (size_t i = 0; trace_formats[i] && !found; i++)
		if (trace_formats[i]->sniff(&head))
			found = trace_formats[i];
	char *text;
	size_t n;
	int rc = found ? 1 : lines_next(in, &text, &n, err); /* reports a damaged file */
	struct sbuf columns = { 0 };
	if (!found && *line && rc >= 0 && map_suggest(line, &columns))
		lines_fail(in, err, "unknown trace format: %.640s", sbuf_text(&columns));
	else if (!found && *line && rc >= 0)
		lines_fail(in, err, "unknown trace format: expected a file of a format in 'orrery trace list' or --format, found \"%.80s\"",
			line);
	else if (!found && rc >= 0)
		lines_fail(in, err, "unknown trace format: the file is empty: expected rows");
	sbuf_free(&columns);
	return found;
}

/* Adds a --map to the message if the format of the file was recognised but a column has another name. */
static void add_map(const char *header, struct orr_error *err)
{
	struct sbuf text = { 0 }, map = { 0 };
	sbuf_puts(&text, err->text);
	if (header && strstr(err->text, ": expected a column \"") && map_suggest_map(header, &map))
		orr_fail(err, ORR_EINPUT, "%s; or name the columns: %s", sbuf_text(&text), sbuf_text(&map));
	sbuf_free(&text);
	sbuf_free(&map);
}

static const struct trace_format *by_name(const char *name, struct orr_error *err)
{
	struct sbuf all = { 0 };
	for (size_t i = 0; trace_formats[i]; i++) {
		if (!strcmp(trace_formats[i]->name, name)) {
			sbuf_free(&all);
			return trace_formats[i];
		}
		sbuf_printf(&all, "%s, ", trace_formats[i]->name);
	}
	orr_fail(err, ORR_EINPUT, "unknown trace format \"%.60s\": expected one of %sauto", name, sbuf_text(&all));
	sbuf_free(&all);
	return NULL;
}

/* ---- options ---- */

#define REPAIR_PARAM      \
	ORR_PARAM_CHOICE( \
		"repair", "none", "none|all", "treatment of wrong rows: an error with file and line; or left out and counted (--repair)")

const struct orr_param *trace_common_params(enum trace_kind kind)
{
	static const struct orr_param jobs[] = { REPAIR_PARAM, LOAD_PARAMS,
		ORR_PARAM_CHOICE("gpu_types", "keep", "keep|ignore", "GPU types that jobs name: kept, or ignored, so that any type serves"),
		ORR_PARAM_END };
	static const struct orr_param requests[] = { REPAIR_PARAM, ORR_PARAM_END };
	return kind == TRACE_JOBS ? jobs : kind == TRACE_REQUESTS ? requests : NULL;
}

const struct orr_args *trace_common(const struct trace *t)
{
	return t->common;
}

static bool is_named(const struct orr_param *p, const char *pair)
{
	size_t n = strcspn(pair, "=");
	for (; p && p->kind != ORR_KIND_END; p++)
		if (strlen(p->name) == n && !memcmp(p->name, pair, n))
			return true;
	return false;
}

static int set_options(struct trace *t, bool all, const char *const *options, struct orr_error *err)
{
	static const struct orr_param none[] = { ORR_PARAM_END };
	const struct orr_param *own = t->format->params ? t->format->params : none, *common = trace_common_params(t->format->kind);
	char where[64];
	snprintf(where, sizeof where, "trace format %s", t->format->name);
	t->args = args_new(own, where, err);
	t->common = args_new(common ? common : none, "trace", err);
	int rc = t->args && t->common ? ORR_OK : ORR_EINPUT;
	for (size_t i = 0; !rc && all && t->format->info_options && t->format->info_options[i]; i++)
		rc = args_set_pair(t->args, t->format->info_options[i], err);
	for (; !rc && options && *options; options++)
		rc = args_set_pair(is_named(common, *options) && !is_named(own, *options) ? t->common : t->args, *options, err);
	return rc;
}

/* Returns the format of a table whose columns the options name; NULL: they name none. */
static const char *format_of_map(const char *const *options)
{
	for (; options && *options; options++)
		if (!strncmp(*options, "map=", 4))
			return !strncmp(*options, "map=arrival", 11) || strstr(*options, ",arrival") ? "csv-requests" : "csv";
	return NULL;
}

struct trace *trace_open_lines(struct lines *in, const char *format, bool all, const char *const *options, struct orr_error *err)
{
	struct trace *t = mem_zalloc(1, sizeof *t);
	if (!format || !*format || !strcmp(format, "auto"))
		format = format_of_map(options);
	t->in = in;
	char *header = NULL;
	t->format = format ? by_name(format, err) : sniff(in, &header, err);
	bool is_set = t->format && !set_options(t, all, options, err);
	t->ignores_types = is_set && t->format->kind == TRACE_JOBS && !strcmp(orr_arg_text(t->common, "gpu_types"), "ignore");
	t->state = is_set ? t->format->open(in, t->args, err) : NULL;
	if (is_set && !t->state)
		add_map(header, err);
	mem_free(header);
	if (t->state)
		return t;
	trace_close(t);
	return NULL;
}

struct trace *trace_open_memory(
	const char *name, const void *data, size_t n, const char *format, const char *const *options, struct orr_error *err)
{
	return trace_open_lines(lines_open_memory(name, data, n), format, false, options, err);
}

static const char *put_number(char out[24], uint64_t v)
{
	char *s = out + 23;
	*s = '\0';
	do
		*--s = (char)('0' + v % 10);
	while (v /= 10);
	return s;
}

__attribute__((cold, noinline)) static int holds_other(const struct trace *t, enum trace_kind wanted, struct orr_error *err)
{
	static const char *const rows[TRACE_KINDS] = { "jobs", "requests", "availability of instances", "nodes" };
	const char *hint = "";
	if (wanted == TRACE_JOBS)
		hint = t->format->kind == TRACE_REQUESTS ? ": 'orrery serve' replays it"
		       : t->format->kind == TRACE_NODES  ? ": --cluster reads such a file"
							 : "";
	else
		hint = wanted == TRACE_REQUESTS ? ": 'orrery trace list' shows the formats of requests"
						: ": 'orrery trace list' shows the formats of availability";
	lines_fail(t->in, err, "format %s contains %s: expected %s%s", t->format->name, rows[t->format->kind], rows[wanted], hint);
	return -1;
}

/* ---- wrong rows ---- */

/* Returns whether a wrong row is left out, and counts it. */
__attribute__((cold, noinline)) static bool leaves_out(struct trace *t, struct orr_error *err)
{
	uint64_t line = lines_number(t->in);
	bool repairs = t->common && trace_common_params(t->format->kind) && !strcmp(orr_arg_text(t->common, "repair"), "all");
	if (!repairs || lines_are_broken(t->in) || (!t->format->is_by_item && line == t->last_wrong))
		return false;
	t->last_wrong = line;
	if (!t->repaired++)
		t->first_wrong = mem_strdup(err ? err->text : "");
	if (err)
		*err = (struct orr_error){ 0 };
	return true;
}

uint64_t trace_repaired(const struct trace *t, const char **first)
{
	*first = t->first_wrong ? t->first_wrong : "";
	return t->repaired;
}

bool trace_is_scaled(const struct trace *t)
{
	return t->format->kind == TRACE_JOBS && load_is_scaled(t->common);
}

int trace_next(struct trace *t, struct orr_trace_job *row, struct orr_error *err)
{
	if (t->format->kind != TRACE_JOBS)
		return holds_other(t, TRACE_JOBS, err);
	int rc;
	do {
		clear_job(row);
		rc = t->format->next(t->state, row, err);
	} while (rc < 0 && leaves_out(t, err));
	row->line = row->line ? row->line : lines_number(t->in);
	if (rc == 1 && !row->id)
		row->id = put_number(t->id, t->rows);
	if (t->ignores_types)
		row->gpu_types = NULL;
	t->rows += rc == 1;
	return rc;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	if (t->state)
		t->format->close(t->state);
	args_free(t->args);
	args_free(t->common);
	mem_free(t->first_wrong);
	lines_close(t->in);
	mem_free(t);
}

enum trace_kind trace_kind(const struct trace *t)
{
	return t->format->kind;
}

const char *trace_format(const struct trace *t)
{
	return t->format->name;
}

const char *trace_format_doc(const struct trace *t)
{
	return t->format->doc;
}

bool trace_is_absolute(const struct trace *t)
{
	return t->format->is_absolute || (t->format->is_dated && t->format->is_dated(t->state));
}

static bool trace_has_dates(const struct trace *t)
{
	return t->format->has_dates ? t->format->has_dates(t->state) : trace_is_absolute(t) && !t->format->has_no_date;
}

int trace_profile_rows(struct trace *t, struct trace_profile *p, struct orr_error *err)
{
	if (t->format->kind == TRACE_NODES)
		return t->format->describe(t->state, p, err);
	struct orr_trace_job row;
	double values[TRACE_MAX_EXTRAS];
	int rc;
	while ((rc = trace_next(t, &row, err)) == 1) {
		if (t->format->get_extras)
			t->format->get_extras(t->state, values);
		trace_profile_add(p, &row, t->format->extras, values);
	}
	if (!rc)
		trace_profile_finish(p, trace_has_dates(t));
	return rc;
}

const char *trace_hash(const struct trace *t)
{
	return lines_hash(t->in);
}

bool trace_fact(const struct trace *t, size_t index, struct trace_fact *out)
{
	return t->format->fact && t->format->fact(t->state, index, out);
}

uint64_t trace_left_out(const struct trace *t)
{
	return t->format->left_out ? t->format->left_out(t->state) : 0;
}

bool trace_has_flows(const struct trace *t)
{
	return t->format->take_flows != NULL;
}

struct flowset *trace_take_flows(struct trace *t)
{
	return t->format->take_flows ? t->format->take_flows(t->state) : NULL;
}

/* ---- requests ---- */

int trace_next_request(struct trace *t, struct req_row *row, struct orr_error *err)
{
	int rc;
	*row = (struct req_row){ .slo_ns = -1, .samples = 1 };
	if (t->format->kind != TRACE_REQUESTS)
		return holds_other(t, TRACE_REQUESTS, err);
	while ((rc = t->format->request(t->state, row, err)) < 0 && leaves_out(t, err))
		*row = (struct req_row){ .slo_ns = -1, .samples = 1 };
	return rc;
}

uint32_t trace_block_tokens(const struct trace *t)
{
	return t->format->block_tokens ? t->format->block_tokens(t->state) : 0;
}

void trace_arrange(const struct trace *t, struct request_rec *row, uint64_t n)
{
	if (t->format->arrange)
		t->format->arrange(t->state, row, n);
}

const struct orr_args *trace_args(const struct trace *t)
{
	return t->args;
}

uint64_t trace_line(const struct trace *t)
{
	return lines_number(t->in);
}

/* ---- availability ---- */

int trace_next_avail(struct trace *t, struct avail_row *row, struct orr_error *err)
{
	*row = (struct avail_row){ .usd_per_hour = -1 };
	if (t->format->kind != TRACE_AVAIL)
		return holds_other(t, TRACE_AVAIL, err);
	int rc = t->format->avail(t->state, row, err);
	row->line = row->line ? row->line : lines_number(t->in);
	return rc;
}

const char *trace_name(const struct trace *t)
{
	return lines_name(t->in);
}
