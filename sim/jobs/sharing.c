/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates of the jobs that train: alone, or in a set of jobs that slow each other. A formula (share.h) or the step world gives the
 * slowdown. */
#include "jobs/places.h"

#include "base/mem.h"
#include "jobs/life.h"
#include "jobs/share.h"
#include "jobs/training.h"
#include "jobs/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Jobs slow each other down on a link only if the sum of their peaks exceeds its capacity. */
static bool link_is_contended(const struct orr_jobs *w, uint32_t link)
{
	const struct places *p = w->places;
	const struct link_users *x = &p->link[link];
	double sum = 0;
	for (uint32_t i = 0; i < x->n; i++)
		sum += w->slots.job[x->user[i].job].seat.alone->link[x->user[i].local].peak_Bps;
	return sum > p->ground->topo->link[link].flow.capacity_Bps * (1 + 1e-9);
}

/* ---- slowdown from bandwidth shares ---- */

/* Iterations are simulated at these stretches, with slower links. Between them the growth is interpolated linearly. */
static const double stretches[] = { 1, 2, 4, 8 };
enum { STRETCHES = sizeof stretches / sizeof *stretches };

struct by_share {
	struct orr_jobs *w;
	struct job **set;
	bool has_failed;
};

static double growth_at(struct by_share *s, struct job *job, uint32_t i)
{
	if (!i || job->seat.growth[i] > 0)
		return i ? job->seat.growth[i] : 1;
	const struct training *t = training_at(s->w, job->training);
	const struct steprate_value *v = steprate_alone(s->w->config->rates, t->class, job->seat.place, stretches[i]);
	s->w->totals.used |= v->used;
	if (v->error.code) {
		world_fail(s->w, v->error.code, job, "%s", v->error.text);
		s->has_failed = true;
		return 1;
	}
	return job->seat.growth[i] = fmax(1, job->seat.alone->samples_per_s / v->samples_per_s);
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

/* Numbers the links of the set, or only the contended ones, in p->local; forget_links() undoes it. */
static uint32_t number_links(struct orr_jobs *w, struct job **set, uint32_t n, bool contended_only, uint32_t **all)
{
	struct places *p = w->places;
	uint32_t n_all = 0, cap = 0;
	*all = NULL;
	for (uint32_t j = 0; j < n; j++)
		for (uint32_t l = 0; l < set[j]->seat.place->part.n_links; l++) {
			uint32_t link = set[j]->seat.place->part.link[l];
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
		const struct topo_part *part = &set[j]->seat.place->part;
		struct share_use *use = mem_alloc((part->n_links + 1) * sizeof *use);
		for (uint32_t l = 0; l < part->n_links; l++) {
			const struct step_link *x = &set[j]->seat.alone->link[l];
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

/* Sorts equivalent sets in the same way, so that they are simulated equally. Ties are broken by number. */
static int by_shape(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
	int keys = strcmp(x->seat.place->key, y->seat.place->key);
	if (x->training != y->training)
		return x->training < y->training ? -1 : 1;
	return keys ? keys : x->number < y->number ? -1 : x->number > y->number;
}

/*
 * Jobs that started at random times are not synchronised. Member i begins at the fraction i x 0.618.. of its own iteration:
 * multiples of the golden section are spread evenly for any number of members, and the result depends only on the set.
 */
static double begins(const struct job *job, uint32_t i)
{
	const double golden = 0.6180339887498949;
	return fmod(i * golden, 1) * job->seat.alone->samples / job->seat.alone->samples_per_s;
}

static int by_simulation(struct orr_jobs *w, struct job **set, uint32_t n, double *speed)
{
	qsort(set, n, sizeof *set, by_shape);
	uint32_t *all, n_all = number_links(w, set, n, false, &all);
	struct steprate_member *m = mem_zalloc(n, sizeof *m);
	for (uint32_t j = 0; j < n; j++) {
		const struct topo_part *part = &set[j]->seat.place->part;
		uint32_t *link = mem_alloc((part->n_links + 1) * sizeof *link);
		for (uint32_t l = 0; l < part->n_links; l++)
			link[l] = w->places->local[part->link[l]];
		m[j] = (struct steprate_member){ training_at(w, set[j]->training)->class, set[j]->seat.place, link, begins(set[j], j) };
	}
	forget_links(w, all, n_all);
	const struct steprate_value *v = steprate_together(w->config->rates, m, n, all, n_all);
	w->totals.used |= v->used;
	char text[40];
	snprintf(text, sizeof text, "%p", (const void *)v);
	strtab_add_z(w->places->sets, text); /* counts the distinct sets */
	bool is_known = true;
	for (uint32_t j = 0; j < n && !v->error.code; j++) {
		speed[j] = fmin(1, v->of[j] / set[j]->seat.alone->samples_per_s);
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

/* Sets speed[i] of set[i] relative to its speed alone; may reorder the set. */
static int find_speeds(struct orr_jobs *w, struct job **set, uint32_t n, double *speed)
{
	bool is_simulated = w->config->sharing == JOBS_SHARING_SIMULATED && n <= w->options.sharing_most;
	return is_simulated ? by_simulation(w, set, n, speed) : by_share(w, set, n, speed);
}

/* ---- settling ---- */

static bool find_alone(struct orr_jobs *w, struct job *job)
{
	const struct training *t = training_at(w, job->training);
	const struct steprate_value *v = steprate_alone(w->config->rates, t->class, job->seat.place, 1);
	w->totals.used |= v->used;
	if (v->error.code) {
		world_fail(w, v->error.code, job, "%s", v->error.text);
		return false;
	}
	char key[96];
	snprintf(key, sizeof key, "%u %s", t->class, job->seat.place->key);
	strtab_add_z(w->places->shapes, key);
	job->seat.alone = v;
	memset(job->seat.growth, 0, sizeof job->seat.growth);
	job->seat.alone_rate = v->samples_per_s / t->reference->samples_per_s;
	places_join_links(w, job);
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the jobs connected to the job by contended links, in order of number. The caller frees the array. */
static struct job **set_of(struct orr_jobs *w, struct job *root, uint32_t *n)
{
	struct places *p = w->places;
	struct job **set = NULL;
	uint32_t cap = 0;
	*n = 0;
	MEM_GROW(set, *n, cap);
	set[(*n)++] = root;
	root->seat.mark = p->mark;
	for (uint32_t i = 0; i < *n; i++)
		for (uint32_t l = 0; l < set[i]->seat.place->part.n_links; l++) {
			uint32_t link = set[i]->seat.place->part.link[l];
			if (p->link[link].n < 2 || !places_loads(p, set[i], l) || !link_is_contended(w, link))
				continue;
			for (uint32_t k = 0; k < p->link[link].n; k++) {
				struct job *job = &w->slots.job[p->link[link].user[k].job];
				if (job->seat.mark == p->mark)
					continue;
				job->seat.mark = p->mark;
				MEM_GROW(set, *n, cap);
				set[(*n)++] = job;
			}
		}
	qsort(set, *n, sizeof *set, by_number);
	return set;
}

/* Rates that differ by less than the tolerance of the fixed point in share.h count as equal. */
static const double same_rate = 1e-9;

static void rerate(struct orr_jobs *w, struct job *job, double speed)
{
	double rate = job->seat.alone_rate * speed;
	if (job->work.has_rate && fabs(job->work.rate - rate) <= same_rate * rate)
		return;
	w->places->rerated += job->work.has_rate;
	life_rerate(w, job, rate);
}

static void settle_set(struct orr_jobs *w, struct job **set, uint32_t n)
{
	struct places *p = w->places;
	double one = 1, *speed = n > 1 ? mem_alloc(n * sizeof *speed) : &one;
	p->largest_set = n > p->largest_set ? n : p->largest_set;
	w->totals.used |= n > 1 ? JOBS_USED_SHARING : 0;
	if (n > 1 && find_speeds(w, set, n, speed))
		n = 0; /* after an error, rates are not set */
	for (uint32_t i = 0; i < n; i++)
		rerate(w, set[i], speed[i]);
	if (speed != &one)
		mem_free(speed);
}

static void settle_around(struct orr_jobs *w, struct job *job)
{
	uint32_t n;
	if (job->seat.mark == w->places->mark || w->error.code)
		return;
	struct job **set = set_of(w, job, &n);
	settle_set(w, set, n);
	mem_free(set);
}

void places_settle(struct orr_jobs *w)
{
	struct places *p = w->places;
	if (!p || (!p->n_fresh && !p->n_dirty))
		return;
	p->mark++;
	for (uint32_t i = 0; i < p->n_fresh && !w->error.code; i++) {
		struct job *job = &w->slots.job[p->fresh[i]];
		if (job->seat.place && !job->seat.alone)
			find_alone(w, job);
	}
	for (uint32_t i = 0; i < p->n_fresh && !w->error.code; i++)
		if (w->slots.job[p->fresh[i]].seat.alone)
			settle_around(w, &w->slots.job[p->fresh[i]]);
	for (uint32_t i = 0; i < p->n_dirty; i++) {
		struct link_users *x = &p->link[p->dirty[i]];
		x->is_dirty = false;
		for (uint32_t k = 0; k < x->n; k++)
			settle_around(w, &w->slots.job[x->user[k].job]);
	}
	p->n_fresh = p->n_dirty = 0;
}
