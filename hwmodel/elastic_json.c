/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads an elastic job from JSON (docs/elastic-job.schema.json). */
#include "hwmodel/elastic.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "hwmodel/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MS 1e12 /* longest step: 31 years */
#define MAX_VALUE 1e18
#define NS_PER_MS 1e6

enum {
	MAX_TEXT = 600,
	MAX_NAME = 80,
	MAX_SHAPE = 4096,
	MAX_POINTS = 65536,
	MAX_CURVES = 64,
	MAX_NODES = 65536,
	MAX_FIGURES = 256,
	MAX_DERIVED = 256
};

/* State while a file is read. */
struct reader {
	const char *path;
	const cJSON *root;
	struct elastic *job;
	struct orr_error *err;
};

/* ---- values ---- */

static int wrong(const struct reader *r, const char *at, const char *expected, const cJSON *found)
{
	return json_wrong(r->path, at, expected, found, r->err);
}

static const cJSON *item(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

static int get_text(const struct reader *r, const cJSON *o, const char *where, const char *key, const char *def, char **out)
{
	const cJSON *v = item(o, key);
	char at[160];
	if (!v && def) {
		*out = mem_strdup(def);
		return ORR_OK;
	}
	bool is_good = cJSON_IsString(v) && *v->valuestring && strlen(v->valuestring) <= MAX_TEXT;
	for (const char *c = is_good ? v->valuestring : ""; *c; c++)
		is_good &= (unsigned char)*c >= ' ' && *c != 0x7f;
	snprintf(at, sizeof at, "%s.%s", where, key);
	if (!is_good)
		return wrong(r, at, "a string of 1 to 600 bytes on one line", v);
	*out = mem_strdup(v->valuestring);
	return ORR_OK;
}

/* Reads a number. A missing key leaves *out unchanged. */
static int get_real(const struct reader *r, const cJSON *o, const char *where, const char *key, double low, double high, double *out)
{
	return json_real(r->path, where, o, key, low, high, false, out, r->err);
}

static bool is_whole(const cJSON *v, double low, double high)
{
	return cJSON_IsNumber(v) && v->valuedouble >= low && v->valuedouble <= high && v->valuedouble == floor(v->valuedouble);
}

static int wrong_whole(const struct reader *r, const char *at, double low, double high, const cJSON *v)
{
	char expected[80];
	snprintf(expected, sizeof expected, "a whole number from %.15g to %.15g", low, high);
	return wrong(r, at, expected, v);
}

static int get_whole(
	const struct reader *r, const cJSON *o, const char *where, const char *key, double low, double high, bool is_needed, uint64_t *out)
{
	const cJSON *v = item(o, key);
	char at[160];
	if (!v && !is_needed)
		return ORR_OK;
	snprintf(at, sizeof at, "%s.%s", where, key);
	if (!is_whole(v, low, high))
		return wrong_whole(r, at, low, high, v);
	*out = (uint64_t)v->valuedouble;
	return ORR_OK;
}

static int get_u32(
	const struct reader *r, const cJSON *o, const char *where, const char *key, double low, double high, bool is_needed, uint32_t *out)
{
	uint64_t v = *out;
	int rc = get_whole(r, o, where, key, low, high, is_needed, &v);
	*out = (uint32_t)v;
	return rc;
}

/* Reads a time in units of unit_ns; at least 1 ns, or 0 with may_be_zero. */
static int get_ns(const struct reader *r, const cJSON *v, const char *at, double unit_ns, bool may_be_zero, int64_t *out)
{
	char expected[80];
	double most = MAX_MS * NS_PER_MS / unit_ns;
	bool is_good = cJSON_IsNumber(v) && (may_be_zero ? v->valuedouble >= 0 : v->valuedouble > 0) && v->valuedouble <= most;
	if (is_good)
		*out = (int64_t)llround(v->valuedouble * unit_ns);
	if (is_good && (*out > 0 || v->valuedouble == 0))
		return ORR_OK;
	snprintf(expected, sizeof expected, "a number %s 0, of at least 1 ns, up to %g", may_be_zero ? "from" : "above", most);
	return wrong(r, at, expected, v);
}

/* Checks a name that policies look up: letters, digits and "._-". */
static int check_name(const struct reader *r, const char *where, const cJSON *v)
{
	bool is_good = *v->string && strlen(v->string) <= MAX_NAME;
	for (const char *c = v->string; *c; c++)
		is_good &= isalnum((unsigned char)*c) || strchr("._-", *c);
	if (is_good)
		return ORR_OK;
	return orr_fail(r->err, ORR_EINPUT, "%.200s: %s: expected keys of 1 to 80 letters, digits, \".\", \"_\" and \"-\", found \"%.60s\"",
		r->path, where, v->string);
}

/* ---- points ---- */

/* Reads [pipelines, depth, ms]. */
static int get_triple(const struct reader *r, const cJSON *v, const char *at, struct elastic_point *p)
{
	char where[80];
	if (cJSON_GetArraySize(v) != 3)
		return wrong(r, at, "[pipelines, depth, ms of a step]", v);
	const cJSON *d = v->child, *depth = d->next;
	snprintf(where, sizeof where, "%s[0]", at);
	if (!is_whole(d, 1, MAX_SHAPE))
		return wrong_whole(r, where, 1, MAX_SHAPE, d);
	snprintf(where, sizeof where, "%s[1]", at);
	if (!is_whole(depth, 1, MAX_SHAPE))
		return wrong_whole(r, where, 1, MAX_SHAPE, depth);
	snprintf(where, sizeof where, "%s[2]", at);
	p->pipelines = (uint32_t)d->valuedouble;
	p->depth = (uint32_t)depth->valuedouble;
	int rc = get_ns(r, depth->next, where, NS_PER_MS, false, &p->step_ns[ELASTIC_PLAIN]);
	p->step_ns[ELASTIC_REDUNDANT] = p->step_ns[ELASTIC_PLAIN];
	return rc;
}

/* Reads a point as an object, with the fields that a list of three numbers lacks. */
static int get_point_object(const struct reader *r, const cJSON *v, const char *at, struct elastic_point *p)
{
	static const char *const keys[] = { "pipelines", "depth", "step_ms", "redundant_step_ms", "degraded_step_ms", "failover_ms",
		"redundant", NULL };
	static const struct {
		const char *key;
		int kind;
	} times[] = { { "step_ms", ELASTIC_PLAIN }, { "redundant_step_ms", ELASTIC_REDUNDANT }, { "degraded_step_ms", ELASTIC_DEGRADED } };
	char where[80];
	if (json_keys(r->path, at, v, keys, r->err) || get_u32(r, v, at, "pipelines", 1, MAX_SHAPE, true, &p->pipelines) ||
		get_u32(r, v, at, "depth", 1, MAX_SHAPE, true, &p->depth))
		return ORR_EINPUT;
	for (int i = 0; i < 3; i++) {
		const cJSON *t = item(v, times[i].key);
		snprintf(where, sizeof where, "%s.%s", at, times[i].key);
		if ((t || i == 0) && get_ns(r, t, where, NS_PER_MS, false, &p->step_ns[times[i].kind]))
			return ORR_EINPUT;
		if (i == 0)
			p->step_ns[ELASTIC_REDUNDANT] = p->step_ns[ELASTIC_PLAIN];
	}
	snprintf(where, sizeof where, "%s.failover_ms", at);
	if (item(v, "failover_ms") && get_ns(r, item(v, "failover_ms"), where, NS_PER_MS, true, &p->failover_ns))
		return ORR_EINPUT;
	return get_real(r, v, at, "redundant", 0, 1, &p->redundant);
}

static int by_shape(const void *a, const void *b)
{
	const struct elastic_point *x = a, *y = b;
	if (x->pipelines != y->pipelines)
		return x->pipelines < y->pipelines ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int get_points(const struct reader *r, const cJSON *v)
{
	struct elastic *job = r->job;
	const cJSON *e;
	int n = cJSON_IsArray(v) ? cJSON_GetArraySize(v) : 0;
	if (n < 1 || n > MAX_POINTS)
		return wrong(r, "$.points", "a list of 1 to 65536 points", v);
	job->point = mem_zalloc((size_t)n, sizeof *job->point);
	cJSON_ArrayForEach(e, v)
	{
		char at[40];
		snprintf(at, sizeof at, "$.points[%u]", job->n_points);
		struct elastic_point *p = &job->point[job->n_points++];
		if (!cJSON_IsArray(e) && !cJSON_IsObject(e))
			return wrong(r, at, "[pipelines, depth, ms of a step] or an object", e);
		if (cJSON_IsArray(e) ? get_triple(r, e, at, p) : get_point_object(r, e, at, p))
			return ORR_EINPUT;
	}
	qsort(job->point, job->n_points, sizeof *job->point, by_shape);
	for (uint32_t i = 1; i < job->n_points; i++)
		if (!by_shape(&job->point[i - 1], &job->point[i]))
			return orr_fail(r->err, ORR_EINPUT,
				"%.200s: $.points: duplicate point of %u pipelines of depth %u: expected it once", r->path,
				job->point[i].pipelines, job->point[i].depth);
	return ORR_OK;
}

/* ---- curves and single numbers ---- */

static int get_curve(const struct reader *r, const cJSON *v, struct elastic_curve *c)
{
	static const char *const keys[] = { "first", "values", NULL };
	char at[MAX_NAME + 24], where[MAX_NAME + 64];
	c->name = mem_strdup(v->string);
	snprintf(at, sizeof at, "$.curves.%s", v->string);
	if (json_keys(r->path, at, v, keys, r->err) || get_u32(r, v, at, "first", 1, MAX_NODES, true, &c->first))
		return ORR_EINPUT;
	const cJSON *values = item(v, "values"), *e;
	int n = cJSON_IsArray(values) ? cJSON_GetArraySize(values) : 0;
	snprintf(where, sizeof where, "%s.values", at);
	if (n < 1 || n > MAX_NODES)
		return wrong(r, where, "a list of 1 to 65536 numbers", values);
	c->value = mem_zalloc((size_t)n, sizeof *c->value);
	cJSON_ArrayForEach(e, values)
	{
		if (!cJSON_IsNumber(e) || !(e->valuedouble >= 0) || e->valuedouble > MAX_VALUE) {
			snprintf(where, sizeof where, "%s.values[%u]", at, c->n);
			return wrong(r, where, "a number from 0 to 1e18", e);
		}
		c->value[c->n++] = e->valuedouble;
	}
	return ORR_OK;
}

static int get_curves(const struct reader *r, const cJSON *v)
{
	struct elastic *job = r->job;
	const cJSON *e;
	int n = cJSON_IsObject(v) ? cJSON_GetArraySize(v) : 0;
	if (n < 1 || n > MAX_CURVES)
		return wrong(r, "$.curves", "an object of 1 to 64 curves", v);
	job->curve = mem_zalloc((size_t)n, sizeof *job->curve);
	cJSON_ArrayForEach(e, v)
	{
		if (check_name(r, "$.curves", e) || get_curve(r, e, &job->curve[job->n_curves++]))
			return ORR_EINPUT;
	}
	return ORR_OK;
}

static int get_figures(const struct reader *r, const cJSON *v)
{
	struct elastic *job = r->job;
	const cJSON *e;
	int n = cJSON_IsObject(v) ? cJSON_GetArraySize(v) : 0;
	if (n < 1 || n > MAX_FIGURES)
		return wrong(r, "$.figures", "an object of 1 to 256 numbers", v);
	job->figure = mem_zalloc((size_t)n, sizeof *job->figure);
	cJSON_ArrayForEach(e, v)
	{
		if (check_name(r, "$.figures", e))
			return ORR_EINPUT;
		char at[MAX_NAME + 24];
		snprintf(at, sizeof at, "$.figures.%s", e->string);
		if (!cJSON_IsNumber(e) || !(fabs(e->valuedouble) <= MAX_VALUE))
			return wrong(r, at, "a number from -1e18 to 1e18", e);
		job->figure[job->n_figures++] = (struct elastic_figure){ mem_strdup(e->string), e->valuedouble };
	}
	return ORR_OK;
}

/* ---- total work, the step world, the on-demand baseline ---- */

/* Reads hours of work on one node, in steps of step_s, as a table of one point. */
static int get_work(const struct reader *r, const cJSON *v)
{
	static const char *const keys[] = { "hours", "step_s", NULL };
	struct elastic *job = r->job;
	double hours = 0;
	int64_t step_ns = 0;
	if (json_keys(r->path, "$.work", v, keys, r->err) || json_real(r->path, "$.work", v, "hours", 1e-9, 1e6, true, &hours, r->err) ||
		get_ns(r, item(v, "step_s"), "$.work.step_s", 1e9, false, &step_ns))
		return ORR_EINPUT;
	double steps = hours * 3600e9 / (double)step_ns;
	if (fabs(steps - nearbyint(steps)) > 1e-6 || steps < 0.5 || steps > 1e15)
		return orr_fail(r->err, ORR_EINPUT,
			"%.200s: $.work.step_s: expected a divisor of the %.15g hours of \"hours\", found %.15g", r->path, hours,
			item(v, "step_s")->valuedouble);
	job->steps = (uint64_t)nearbyint(steps);
	job->point = mem_zalloc(1, sizeof *job->point);
	job->n_points = 1;
	job->point[0] = (struct elastic_point){ .pipelines = 1, .depth = 1, .step_ns = { step_ns, step_ns, 0 } };
	job->depth = job->pipelines = job->on_demand_nodes = 1;
	job->on_demand_step_ns = step_ns;
	return ORR_OK;
}

static int get_choice(const struct reader *r, const cJSON *o, const char *where, const char *key, const char *const *names, char **out)
{
	const cJSON *v = item(o, key);
	char at[160], expected[160] = "one of ";
	for (int i = 0; names[i]; i++) {
		if (v ? cJSON_IsString(v) && !strcmp(v->valuestring, names[i]) : i == 0) {
			*out = mem_strdup(names[i]);
			return ORR_OK;
		}
		size_t n = strlen(expected);
		snprintf(expected + n, sizeof expected - n, "%s%s", i ? ", " : "", names[i]);
	}
	snprintf(at, sizeof at, "%s.%s", where, key);
	return wrong(r, at, expected, v);
}

/* The first choice of each key is the default. */
static int get_step_choices(const struct reader *r, const cJSON *v, struct elastic_step *s)
{
	static const char *const precisions[] = { "fp32", "tf32", "fp16", "bf16", NULL };
	static const char *const optimizers[] = { "adam", "momentum", "sgd", NULL };
	static const char *const recomputes[] = { "none", "selective", "full", "stage", NULL };
	static const char *const cuts[] = { "time", "memory", "blocks", NULL };
	static const char *const redundancies[] = { "eager", "lazy", "both", "none", NULL };
	if (get_choice(r, v, "$.step", "precision", precisions, &s->precision) ||
		get_choice(r, v, "$.step", "optimizer", optimizers, &s->optimizer) ||
		get_choice(r, v, "$.step", "recompute", recomputes, &s->recompute) || get_choice(r, v, "$.step", "cut", cuts, &s->cut))
		return ORR_EINPUT;
	return get_choice(r, v, "$.step", "redundancy", redundancies, &s->redundancy);
}

static int get_step(const struct reader *r, const cJSON *v)
{
	static const char *const keys[] = { "model", "device", "precision", "batch", "micro_batch", "node_Gbps", "latency_us",
		"max_pipelines", "min_depth", "max_depth", "max_nodes", "optimizer", "recompute", "cut", "redundancy", NULL };
	struct elastic_step *s = r->job->step = mem_zalloc(1, sizeof *s);
	double gbps = 0, latency_us = 0;
	*s = (struct elastic_step){ .max_pipelines = 4, .min_depth = 1, .max_depth = 16, .max_nodes = 64 };
	if (json_keys(r->path, "$.step", v, keys, r->err) || get_text(r, v, "$.step", "model", NULL, &s->model) ||
		get_text(r, v, "$.step", "device", NULL, &s->device) || get_step_choices(r, v, s) ||
		get_u32(r, v, "$.step", "batch", 1, 1e9, true, &s->batch) ||
		get_u32(r, v, "$.step", "micro_batch", 1, s->batch, true, &s->micro_batch) ||
		json_real(r->path, "$.step", v, "node_Gbps", 1e-3, 1e5, true, &gbps, r->err) ||
		get_real(r, v, "$.step", "latency_us", 0, 1e9, &latency_us) ||
		get_u32(r, v, "$.step", "max_pipelines", 1, MAX_DERIVED, false, &s->max_pipelines) ||
		get_u32(r, v, "$.step", "min_depth", 1, MAX_DERIVED, false, &s->min_depth) ||
		get_u32(r, v, "$.step", "max_depth", s->min_depth, MAX_DERIVED, false, &s->max_depth) ||
		get_u32(r, v, "$.step", "max_nodes", s->min_depth, MAX_DERIVED, false, &s->max_nodes))
		return ORR_EINPUT;
	if (s->max_depth < s->min_depth) /* the file gives only min_depth */
		s->max_depth = s->min_depth;
	if (s->max_nodes < s->min_depth)
		s->max_nodes = s->min_depth;
	s->node_Bps = gbps * 1e9 / 8;
	s->latency_s = latency_us * 1e-6;
	return ORR_OK;
}

static int get_on_demand(const struct reader *r, const cJSON *v)
{
	static const char *const keys[] = { "nodes", "step_s", NULL };
	if (json_keys(r->path, "$.on_demand", v, keys, r->err) ||
		get_u32(r, v, "$.on_demand", "nodes", 1, MAX_NODES, true, &r->job->on_demand_nodes))
		return ORR_EINPUT;
	if (!item(v, "step_s") && r->job->step)
		return ORR_OK; /* step time derived from the step world */
	return get_ns(r, item(v, "step_s"), "$.on_demand.step_s", 1e9, false, &r->job->on_demand_step_ns);
}

/* ---- the file ---- */

/* Reads the step times: the file has exactly one of the keys points, work and step, or only curves. */
static int get_times(const struct reader *r)
{
	static const struct {
		const char *key;
		int (*get)(const struct reader *r, const cJSON *v);
	} forms[] = { { "points", get_points }, { "work", get_work }, { "step", get_step } };
	int found = -1;
	for (int i = 0; i < 3; i++) {
		if (!item(r->root, forms[i].key))
			continue;
		if (found >= 0)
			return orr_fail(r->err, ORR_EINPUT,
				"%.200s: $: expected only one of the keys \"points\", \"work\" and \"step\", found \"%s\" and \"%s\"",
				r->path, forms[found].key, forms[i].key);
		found = i;
	}
	if (found >= 0)
		return forms[found].get(r, item(r->root, forms[found].key));
	if (item(r->root, "curves"))
		return ORR_OK;
	return orr_fail(r->err, ORR_EINPUT, "%.200s: $: expected one of the keys \"points\", \"work\", \"step\" and \"curves\", found none",
		r->path);
}

static int get_sizes(const struct reader *r)
{
	struct elastic *job = r->job;
	bool has_work = item(r->root, "work");
	if (has_work || job->step)
		job->samples_per_step = has_work ? 1 : job->step->batch;
	if (job->step && item(r->root, "samples_per_step"))
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.samples_per_step: expected either this key or $.step.batch", r->path);
	if (has_work && item(r->root, "steps"))
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.steps: expected either this key or $.work", r->path);
	if (json_real(
		    r->path, "$", r->root, "samples_per_step", 1e-9, 1e15, !(job->samples_per_step > 0), &job->samples_per_step, r->err) ||
		get_real(r, r->root, "$", "state_bytes", 0, MAX_VALUE, &job->state_bytes) ||
		get_real(r, r->root, "$", "parameters", 0, MAX_VALUE, &job->parameters) ||
		get_whole(r, r->root, "$", "steps", 0, 1e15, false, &job->steps) ||
		get_u32(r, r->root, "$", "depth", 1, MAX_SHAPE, false, &job->depth))
		return ORR_EINPUT;
	return get_u32(r, r->root, "$", "pipelines", 1, MAX_SHAPE, false, &job->pipelines);
}

static int get_job(const struct reader *r)
{
	static const char *const keys[] = { "name", "title", "source", "samples_per_step", "steps", "state_bytes", "parameters", "depth",
		"pipelines", "on_demand", "points", "work", "step", "curves", "figures", NULL };
	struct elastic *job = r->job;
	const cJSON *curves = item(r->root, "curves"), *figures = item(r->root, "figures"), *on_demand = item(r->root, "on_demand");
	if (!cJSON_IsObject(r->root))
		return wrong(r, "$", "an object", r->root);
	if (json_keys(r->path, "$", r->root, keys, r->err) || get_text(r, r->root, "$", "name", NULL, &job->name) ||
		get_text(r, r->root, "$", "title", job->name, &job->title) || get_text(r, r->root, "$", "source", NULL, &job->source) ||
		get_times(r) || get_sizes(r) || (curves && get_curves(r, curves)) || (figures && get_figures(r, figures)) ||
		(on_demand && get_on_demand(r, on_demand)))
		return ORR_EINPUT;
	return ORR_OK;
}

struct elastic *elastic_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	cJSON *root = json_parse(path, text, n, err);
	if (!root)
		return NULL;
	struct reader r = { path, root, mem_zalloc(1, sizeof *r.job), err };
	int rc = get_job(&r);
	cJSON_Delete(root);
	if (rc) {
		elastic_free(r.job);
		return NULL;
	}
	bytes_hash_text(text, n, r.job->hash);
	return r.job;
}
