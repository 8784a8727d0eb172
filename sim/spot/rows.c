/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of nodes over time, of steps and of events. */
#include "spot/accounts.h"

#include "base/mem.h"

#include <string.h>

enum { BINS = 240 };

/* Returns the samples of committed and uncommitted steps. */
static double samples_now(const struct orr_spot *w)
{
	const struct steps *s = &w->steps;
	double x = s->samples_safe + s->alike.samples * (double)s->alike.count;
	for (size_t i = s->first; i < s->n; i++)
		x += s->run[i].samples * (double)s->run[i].count;
	return x;
}

/* Drops every second row, except the first. */
static void thin_out_nodes(struct orr_spot *w)
{
	size_t k = 0;
	for (size_t i = 0; i < w->n_node; i += 2, k++) {
		w->node[k] = w->node[i];
		w->samples_at[k] = w->samples_at[i];
	}
	w->n_node = k;
}

void rows_instant(struct orr_spot *w)
{
	uint32_t live = w->live[0] + w->live[1], ready = w->count[ROLE_IDLE] + w->count[ROLE_OWNER], in_use = w->count[ROLE_OWNER];
	struct node_row *last = w->n_node ? &w->node[w->n_node - 1] : NULL;
	if (last && last->live == live && last->ready == ready && last->in_use == in_use)
		return;
	if (last && last->time_ns == w->now)
		w->n_node--;
	if (w->n_node >= w->config->max_rows)
		thin_out_nodes(w);
	MEM_GROW(w->samples_at, w->n_node, w->cap_samples_at);
	MEM_GROW(w->node, w->n_node, w->cap_node);
	w->samples_at[w->n_node] = samples_now(w);
	w->node[w->n_node++] = (struct node_row){ w->now, live, ready, in_use, wide_usd(w->all.amount) };
}

static void thin_out_steps(struct orr_spot *w)
{
	size_t k = 0;
	for (size_t i = 0; i < w->n_iteration; i += 2)
		w->iteration[k++] = w->iteration[i];
	w->n_iteration = k;
	w->steps.rows_stride *= 2;
}

void rows_steps(struct orr_spot *w, uint64_t n, int64_t began, int64_t pace, double samples)
{
	struct steps *s = &w->steps;
	if (!s->rows_stride)
		s->rows_stride = 1;
	for (uint64_t i = 0; i < n; i++, s->rows_seen++, began += pace) {
		uint64_t skip = s->rows_seen % s->rows_stride ? s->rows_stride - s->rows_seen % s->rows_stride : 0;
		if (skip >= n - i) {
			s->rows_seen += n - i;
			return;
		}
		i += skip;
		s->rows_seen += skip;
		began += (int64_t)skip * pace;
		if (w->n_iteration >= w->config->max_rows) {
			thin_out_steps(w);
			if (s->rows_seen % s->rows_stride)
				continue;
		}
		MEM_GROW(w->iteration, w->n_iteration, w->cap_iteration);
		w->iteration[w->n_iteration++] =
			(struct iteration_row){ s->rows_seen, (double)began / 1e9, (double)(began + pace) / 1e9, samples };
	}
}

/* Sets the samples of the last n rows with samples to 0, because their steps are lost. */
void rows_lost(struct orr_spot *w, uint64_t n)
{
	if (w->steps.rows_stride != 1)
		return; /* no rows are recorded, or only some of them */
	for (size_t i = w->n_iteration; i-- && n;)
		if (w->iteration[i].samples > 0) {
			w->iteration[i].samples = 0;
			n--;
		}
}

/* ---- the end ---- */

/* Adds a series of samples per second with BINS equal intervals of the run. */
static void throughput_series(struct orr_spot *w)
{
	struct run_result *r = w->result;
	if (!w->n_node || w->now < BINS)
		return;
	struct series *s = mem_zalloc(1, sizeof *s);
	*s = (struct series){
		.name = "samples_per_s", .n = BINS, .time_ns = mem_zalloc(BINS, sizeof(int64_t)), .value = mem_zalloc(BINS, sizeof(double))
	};
	double before = 0, total = samples_now(w), width = (double)w->now / BINS;
	for (size_t b = 0, i = 0; b < BINS; b++) {
		double t = (double)(b + 1) * width, x;
		while (i + 1 < w->n_node && (double)w->node[i + 1].time_ns <= t)
			i++;
		bool is_last = i + 1 == w->n_node;
		double t0 = (double)w->node[i].time_ns, t1 = is_last ? (double)w->now : (double)w->node[i + 1].time_ns;
		double x0 = w->samples_at[i], x1 = is_last ? total : w->samples_at[i + 1];
		x = t1 > t0 ? x0 + (x1 - x0) * (t - t0) / (t1 - t0) : x1;
		s->time_ns[b] = (int64_t)((double)b * width);
		/* If losses in the bin discard more samples than were added, the bin is 0. */
		s->value[b] = x > before ? (x - before) / (width / 1e9) : 0;
		before = x;
	}
	r->series = s;
	r->n_series = 1;
}

void rows_end(struct orr_spot *w)
{
	struct run_result *r = w->result;
	r->rows_total = w->steps.rows_seen;
	r->iterations = w->iteration;
	r->n_iterations = w->n_iteration;
	w->iteration = NULL;
	if (!w->config->record_nodes)
		return;
	rows_instant(w);
	throughput_series(w);
	r->nodes = w->node;
	r->n_nodes = w->n_node;
	w->node = NULL;
	size_t notes = r->n_events;
	if (w->n_event) {
		r->events = mem_realloc(r->events, r->cap_events = notes + w->n_event, sizeof *r->events);
		memcpy(r->events + notes, w->event, w->n_event * sizeof *r->events);
		r->n_events = notes + w->n_event;
	}
}

void rows_free(struct orr_spot *w)
{
	mem_free(w->node);
	mem_free(w->samples_at);
	mem_free(w->event);
	mem_free(w->iteration);
}
