/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/model_elastic.h"

#include "spot/elastic_cache.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>

static int print_json(cJSON *o)
{
	char *text = cJSON_Print(o);
	puts(text ? text : "");
	cJSON_free(text);
	cJSON_Delete(o);
	return ORR_OK;
}

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

/* ---- as JSON ---- */

static cJSON *head_json(const struct elastic *job)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "name", job->name);
	cJSON_AddStringToObject(o, "title", job->title);
	cJSON_AddStringToObject(o, "source", job->source);
	cJSON_AddStringToObject(o, "sha256", job->hash);
	cJSON_AddNumberToObject(o, "samples_per_step", job->samples_per_step);
	cJSON_AddNumberToObject(o, "steps", (double)job->steps);
	cJSON_AddNumberToObject(o, "state_bytes", job->state_bytes);
	cJSON_AddNumberToObject(o, "parameters", job->parameters);
	cJSON_AddNumberToObject(o, "pipelines", job->pipelines);
	cJSON_AddNumberToObject(o, "depth", job->depth);
	cJSON_AddNumberToObject(o, "on_demand_nodes", job->on_demand_nodes);
	cJSON_AddNumberToObject(o, "on_demand_step_s", seconds(job->on_demand_step_ns));
	cJSON_AddBoolToObject(o, "is_derived", job->step != NULL);
	return o;
}

static void add_points(cJSON *o, const struct elastic *job)
{
	static const char *const kinds[ELASTIC_KINDS] = { "step_s", "redundant_step_s", "degraded_step_s" };
	cJSON *list = cJSON_AddArrayToObject(o, "points");
	for (uint32_t i = 0; i < job->n_points; i++) {
		const struct elastic_point *p = &job->point[i];
		cJSON *x = cJSON_CreateObject();
		cJSON_AddNumberToObject(x, "pipelines", p->pipelines);
		cJSON_AddNumberToObject(x, "depth", p->depth);
		for (int k = 0; k < ELASTIC_KINDS; k++)
			if (p->step_ns[k])
				cJSON_AddNumberToObject(x, kinds[k], seconds(p->step_ns[k]));
		cJSON_AddNumberToObject(x, "failover_s", seconds(p->failover_ns));
		cJSON_AddNumberToObject(x, "redundant", p->redundant);
		cJSON_AddItemToArray(list, x);
	}
}

static void add_curves(cJSON *o, const struct elastic *job)
{
	cJSON *curves = cJSON_AddObjectToObject(o, "curves"), *figures = cJSON_AddObjectToObject(o, "figures");
	for (uint32_t i = 0; i < job->n_curves; i++) {
		cJSON *c = cJSON_AddObjectToObject(curves, job->curve[i].name);
		cJSON_AddNumberToObject(c, "first", job->curve[i].first);
		cJSON_AddItemToObject(c, "values", cJSON_CreateDoubleArray(job->curve[i].value, (int)job->curve[i].n));
	}
	for (uint32_t i = 0; i < job->n_figures; i++)
		cJSON_AddNumberToObject(figures, job->figure[i].name, job->figure[i].value);
}

/* ---- as text ---- */

/* Formats a shape as "4 x 12", or as "-" if the job states none. */
static const char *shape(uint32_t pipelines, uint32_t depth, char out[32])
{
	snprintf(out, 32, pipelines && depth ? "%" PRIu32 " x %" PRIu32 : "-", pipelines, depth);
	return out;
}

static const char *length(const struct elastic *job, char out[32])
{
	snprintf(out, 32, job->steps ? "%" PRIu64 : "-", job->steps);
	return out;
}

/* Returns the number of shapes with a known step time. */
static const char *shapes(const struct elastic *job, char out[32])
{
	snprintf(out, 32, job->step ? "derived" : job->n_points ? "%" PRIu32 : "-", job->n_points);
	return out;
}

static void put_line(const struct elastic *job)
{
	char a[32], b[32], c[32];
	printf("%-22s %12g %10s %9s %8s  %s\n", job->name, job->samples_per_step, length(job, a), shape(job->pipelines, job->depth, b),
		shapes(job, c), job->title);
}

static void put_time(int64_t ns)
{
	if (ns)
		printf(" %12.6g", seconds(ns));
	else
		printf(" %12s", "-");
}

static void put_points(const struct elastic *job)
{
	if (!job->n_points)
		return;
	printf("\n%9s %6s %12s %12s %12s %12s %10s\n", "pipelines", "depth", "step s", "redundant s", "degraded s", "failover s",
		"redundant");
	for (uint32_t i = 0; i < job->n_points; i++) {
		const struct elastic_point *p = &job->point[i];
		printf("%9" PRIu32 " %6" PRIu32, p->pipelines, p->depth);
		for (int k = 0; k < ELASTIC_KINDS; k++)
			put_time(p->step_ns[k]);
		put_time(p->failover_ns);
		printf(" %8.1f %%\n", 100 * p->redundant);
	}
}

static void show_text(const struct elastic *job)
{
	char text[32];
	printf("%s: %s\nsource      %s\n", job->name, job->title, job->source);
	printf("step        %g samples; %s steps in total\n", job->samples_per_step, length(job, text));
	printf("shape       %s (pipelines x depth), the default\n", shape(job->pipelines, job->depth, text));
	if (job->state_bytes > 0)
		printf("state       %.4g GB, %.4g parameters\n", job->state_bytes / 1e9, job->parameters);
	if (job->on_demand_nodes)
		printf(job->on_demand_step_ns ? "on demand   %" PRIu32 " nodes, a step in %g s\n" : "on demand   %" PRIu32 " nodes\n",
			job->on_demand_nodes, seconds(job->on_demand_step_ns));
	if (job->step)
		printf("times       derived: %s on nodes of one %s, %s, batch %" PRIu32 " in micro-batches of %" PRIu32
		       ", %g Gbps, %g us\n",
			job->step->model, job->step->device, job->step->precision, job->step->batch, job->step->micro_batch,
			job->step->node_Bps * 8 / 1e9, job->step->latency_s * 1e6);
	put_points(job);
	for (uint32_t i = 0; i < job->n_curves; i++) {
		const struct elastic_curve *c = &job->curve[i];
		printf("\n%s by nodes, from %" PRIu32 " on:\n ", c->name, c->first);
		for (uint32_t k = 0; k < c->n; k++)
			printf(" %g%s", c->value[k], k % 10 == 9 && k + 1 < c->n ? "\n " : "");
		putchar('\n');
	}
	if (job->n_figures)
		putchar('\n');
	for (uint32_t i = 0; i < job->n_figures; i++)
		printf("%-40s %.9g\n", job->figure[i].name, job->figure[i].value);
}

/* ---- verbs ---- */

int model_elastic_list(bool as_json, struct orr_error *err)
{
	cJSON *all = cJSON_CreateArray();
	if (!as_json)
		printf("%-22s %12s %10s %9s %8s  %s\n", "job", "samples/step", "steps", "shape", "shapes", "description");
	for (size_t i = 0; elastic_catalogue(i); i++) {
		struct elastic *job = elastic_load(elastic_catalogue(i), err);
		if (!job) {
			cJSON_Delete(all);
			return err->code;
		}
		if (as_json)
			cJSON_AddItemToArray(all, head_json(job));
		else
			put_line(job);
		elastic_free(job);
	}
	if (as_json)
		return print_json(all);
	cJSON_Delete(all);
	return ORR_OK;
}

int model_elastic_show(const char *name, bool as_json, struct orr_error *err)
{
	struct elastic *loaded = elastic_load(name, err);
	const struct elastic_entry *entry = loaded ? elastic_cached(loaded, err) : NULL;
	if (!entry)
		return err->code;
	const struct elastic *job = entry->job;
	if (as_json) {
		cJSON *o = head_json(job);
		add_points(o, job);
		add_curves(o, job);
		print_json(o);
	} else {
		show_text(job);
	}
	return ORR_OK;
}
