/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the jobs of a set go that are in each other's way: by arithmetic (share.h) or in the step world. */
#include "jobs/places.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- by arithmetic ---- */

/* Growth of iterations is known at these stretches from runs with slower links, and linear between. */
static const double stretches[] = { 1, 2, 4, 8 };
enum { STRETCHES = sizeof stretches / sizeof *stretches };

struct by_share {
	struct orr_jobs *w;
	struct job **set;
	bool has_failed;
};

static double growth_at(struct by_share *s, struct job *job, uint32_t i)
{
	if (!i || job->growth[i] > 0)
		return i ? job->growth[i] : 1;
	const struct training *t = training_at(s->w, job->training);
	const struct steprate_value *v = steprate_alone(s->w->config->rates, t->class, job->place, stretches[i]);
	if (v->error.code) {
		world_fail(s->w, v->error.code, job, "%s", v->error.text);
		s->has_failed = true;
		return 1;
	}
	return job->growth[i] = fmax(1, job->alone->samples_per_s / v->samples_per_s);
}

static double growth(void *ctx, uint32_t j, double stretch)
{
	struct by_share *s = ctx;
	uint32_t i = 1;
	if (stretch <= 1)
		return 1;
	while (i + 1 < STRETCHES && stretches[i] < stretch)
		i++;
	double low = growth_at(s, s->set[j], i - 1), high = growth_at(s, s->set[j], i);
	double slope = fmax(0, (high - low) / (stretches[i] - stretches[i - 1]));
	return low + slope * (stretch - stretches[i - 1]);
}

/* The links of the set, or those of them that are contended, get numbers; to be forgotten. */
static uint32_t number_links(struct orr_jobs *w, struct job **set, uint32_t n, bool contended_only, uint32_t **all)
{
	struct places *p = w->places;
	uint32_t n_all = 0, cap = 0;
	*all = NULL;
	for (uint32_t j = 0; j < n; j++)
		for (uint32_t l = 0; l < set[j]->place->part.n_links; l++) {
			uint32_t link = set[j]->place->part.link[l];
			if (p->local[link] != NONE || (contended_only && !link_is_contended(w, link)))
				continue;
			MEM_GROW(*all, n_all, cap);
			p->local[link] = n_all;
			(*all)[n_all++] = link;
		}
	return n_all;
}

static void forget_links(struct orr_jobs *w, const uint32_t *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		w->places->local[all[i]] = NONE;
}

static int by_share(struct orr_jobs *w, struct job **set, uint32_t n, double *speed)
{
	struct by_share s = { .w = w, .set = set };
	uint32_t *all, n_all = number_links(w, set, n, true, &all);
	struct share_job *job = mem_zalloc(n, sizeof *job);
	double *capacity = mem_alloc((n_all + 1) * sizeof *capacity);
	for (uint32_t i = 0; i < n_all; i++)
		capacity[i] = w->places->ground->topo->link[all[i]].flow.capacity_Bps;
	for (uint32_t j = 0; j < n; j++) {
		const struct topo_part *part = &set[j]->place->part;
		struct share_use *use = mem_alloc((part->n_links + 1) * sizeof *use);
		for (uint32_t l = 0; l < part->n_links; l++) {
			const struct step_link *x = &set[j]->alone->link[l];
			if (x->busy > 0 && w->places->local[part->link[l]] != NONE)
				use[job[j].n++] = (struct share_use){ w->places->local[part->link[l]], x->busy, x->peak_Bps };
		}
		job[j].use = use;
	}
	forget_links(w, all, n_all);
	share_solve(&(struct share_problem){ job, n, n_all, capacity, growth, &s }, speed);
	for (uint32_t j = 0; j < n; j++)
		mem_free((void *)(uintptr_t)job[j].use);
	mem_free(job);
	mem_free(capacity);
	mem_free(all);
	return s.has_failed ? w->error.code : ORR_OK;
}

/* ---- in the step world ---- */

/* So that like sets are told in like order. Equal ones stay by number. */
static int by_shape(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
	int keys = strcmp(x->place->key, y->place->key);
	if (x->training != y->training)
		return x->training < y->training ? -1 : 1;
	return keys ? keys : x->number < y->number ? -1 : x->number > y->number;
}

/*
 * Jobs that began at random times are not in step. So that the answer depends on the set alone, member i begins at the
 * fraction i x 0.618.. (the golden section, which spreads any number evenly) of its own iteration.
 */
static double begins(const struct job *job, uint32_t i)
{
	const double golden = 0.6180339887498949;
	return fmod(i * golden, 1) * job->alone->samples / job->alone->samples_per_s;
}

static int by_simulation(struct orr_jobs *w, struct job **set, uint32_t n, double *speed)
{
	qsort(set, n, sizeof *set, by_shape);
	uint32_t *all, n_all = number_links(w, set, n, false, &all);
	struct steprate_member *m = mem_zalloc(n, sizeof *m);
	for (uint32_t j = 0; j < n; j++) {
		const struct topo_part *part = &set[j]->place->part;
		uint32_t *link = mem_alloc((part->n_links + 1) * sizeof *link);
		for (uint32_t l = 0; l < part->n_links; l++)
			link[l] = w->places->local[part->link[l]];
		m[j] = (struct steprate_member){ training_at(w, set[j]->training)->class, set[j]->place, link, begins(set[j], j) };
	}
	forget_links(w, all, n_all);
	const struct steprate_value *v = steprate_together(w->config->rates, m, n, all, n_all);
	char text[40];
	snprintf(text, sizeof text, "%p", (const void *)v);
	strtab_add_z(w->places->sets, text); /* only counted: answers have one place each */
	bool is_known = true;
	for (uint32_t j = 0; j < n && !v->error.code; j++) {
		speed[j] = fmin(1, v->of[j] / set[j]->alone->samples_per_s);
		is_known = is_known && speed[j] > 0;
	}
	if (v->error.code)
		world_fail(w, v->error.code, set[0], "%s", v->error.text);
	for (uint32_t j = 0; j < n; j++)
		mem_free((void *)(uintptr_t)m[j].link);
	mem_free(m);
	mem_free(all);
	return w->error.code || is_known ? w->error.code : by_share(w, set, n, speed);
}

int sharing_speeds(struct orr_jobs *w, struct job **set, uint32_t n, double *speed)
{
	bool is_simulated = w->config->sharing == JOBS_SHARING_SIMULATED && n <= w->sharing_most;
	w->places->by_arithmetic += w->config->sharing == JOBS_SHARING_SIMULATED && !is_simulated;
	return is_simulated ? by_simulation(w, set, n, speed) : by_share(w, set, n, speed);
}
