/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/result.h"

#include "base/mem.h"
#include "base/strtab.h"

#include <string.h>

/* The arena is a table of strings: users, queues and models repeat a lot. */

struct run_result *result_new(void)
{
	struct run_result *r = mem_zalloc(1, sizeof *r);
	r->strings = strtab_new();
	return r;
}

void result_free(struct run_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_series; i++) {
		mem_free(r->series[i].time_ns);
		mem_free(r->series[i].value);
	}
	mem_free(r->series);
	mem_free(r->jobs);
	mem_free(r->metrics);
	mem_free(r->events);
	mem_free(r->iterations);
	mem_free(r->devices);
	mem_free(r->spans);
	mem_free(r->requests);
	mem_free(r->label);
	mem_free(r->policy);
	mem_free(r->world);
	mem_free(r->scenario);
	mem_free(r->hash);
	mem_free(r->seed_text);
	strtab_free(r->strings);
	mem_free(r);
}

const char *result_text(struct run_result *r, const char *s)
{
	if (!s)
		return NULL;
	struct strtab *t = r->strings;
	return strtab_text(t, strtab_add_z(t, s));
}

void result_metric(struct run_result *r, const char *name, double value, double lo, double hi)
{
	if (r->n_metrics >= r->cap_metrics) {
		r->cap_metrics = r->n_metrics < 8 ? 16 : r->n_metrics * 2;
		r->metrics = mem_realloc(r->metrics, r->cap_metrics, sizeof *r->metrics);
	}
	r->metrics[r->n_metrics++] = (struct metric){ result_text(r, name), value, lo, hi };
}

const struct metric *result_find(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_metrics; i++)
		if (!strcmp(r->metrics[i].name, name))
			return &r->metrics[i];
	return NULL;
}

/* Notes are few: the array grows by one. */
void result_note(struct run_result *r, const char *kind, const char *text)
{
	if (!text || !*text)
		return;
	r->events = mem_realloc(r->events, r->n_events + 1, sizeof *r->events);
	r->events[r->n_events++] = (struct event_row){ .kind = result_text(r, kind), .detail = result_text(r, text) };
}

const char *result_find_note(const struct run_result *r, const char *kind)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (!strcmp(r->events[i].kind, kind))
			return r->events[i].detail;
	return NULL;
}
