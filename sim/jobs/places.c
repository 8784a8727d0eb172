/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/places.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void places_begin(struct orr_jobs *w)
{
	const struct jobs_config *c = w->config;
	if (!c->rates)
		return;
	struct places *p = w->places = mem_zalloc(1, sizeof *p);
	p->ground = steprate_ground(c->rates);
	uint32_t n_links = p->ground->topo->n_links;
	p->is_taken = mem_zalloc(c->cluster->gpus + 1, 1);
	p->local = mem_alloc((n_links + 1) * sizeof *p->local);
	memset(p->local, 0xff, n_links * sizeof *p->local);
	p->link = mem_zalloc(n_links + 1, sizeof *p->link);
	p->kinds = strtab_new();
	p->shapes = strtab_new();
	p->sets = strtab_new();
}

void places_free(struct orr_jobs *w)
{
	struct places *p = w->places;
	if (!p)
		return;
	for (uint32_t i = 0; i < w->n_running; i++) {
		mem_free(w->job[w->running[i]].gpu);
		place_free(w->job[w->running[i]].place);
	}
	for (size_t i = 0; i + 1 < strtab_count(p->kinds); i++)
		mem_free(p->training[i].on_type);
	for (uint32_t l = 0; l < p->ground->topo->n_links; l++)
		mem_free(p->link[l].user);
	strtab_free(p->kinds);
	strtab_free(p->shapes);
	strtab_free(p->sets);
	mem_free(p->training);
	mem_free(p->is_taken);
	mem_free(p->local);
	mem_free(p->link);
	mem_free(p->dirty);
	mem_free(p->fresh);
	mem_free(p);
}

/* ---- who is on a link ---- */

static void touch(struct places *p, uint32_t link)
{
	struct link_users *x = &p->link[link];
	if (x->is_dirty)
		return;
	x->is_dirty = true;
	MEM_GROW(p->dirty, p->n_dirty, p->cap_dirty);
	p->dirty[p->n_dirty++] = link;
}

/* Whether the job, alone, sends over a link that others may send over, too. */
static bool loads(const struct places *p, const struct job *job, uint32_t local)
{
	return job->alone->n_links && job->alone->link[local].busy > 0 && !p->ground->is_private[job->place->part.link[local]];
}

static void join_links(struct orr_jobs *w, const struct job *job)
{
	struct places *p = w->places;
	for (uint32_t l = 0; l < job->place->part.n_links; l++) {
		if (!loads(p, job, l))
			continue;
		struct link_users *x = &p->link[job->place->part.link[l]];
		MEM_GROW(x->user, x->n, x->cap);
		x->user[x->n++] = (struct link_user){ slot_of(w, job), l };
		touch(p, job->place->part.link[l]);
	}
}

static void leave_links(struct orr_jobs *w, const struct job *job)
{
	struct places *p = w->places;
	for (uint32_t l = 0; l < job->place->part.n_links; l++) {
		if (!loads(p, job, l))
			continue;
		struct link_users *x = &p->link[job->place->part.link[l]];
		uint32_t i = 0;
		while (x->user[i].job != slot_of(w, job))
			i++;
		x->user[i] = x->user[--x->n];
		touch(p, job->place->part.link[l]);
	}
}

/* ---- a job takes GPUs and leaves them ---- */

static void hold_gpus(struct orr_jobs *w, struct job *job)
{
	struct places *p = w->places;
	const struct pool_piece *x = pool_pieces(&job->alloc);
	uint32_t n = 0;
	job->gpu = mem_alloc((job->held + 1) * sizeof *job->gpu);
	for (uint32_t i = 0; i < job->alloc.n; i++) {
		uint32_t wanted = x[i].slot == POOL_WHOLE ? x[i].gpus : 0;
		for (uint32_t g = p->ground->first_gpu[x[i].node]; wanted && g < p->ground->first_gpu[x[i].node + 1]; g++) {
			if (p->is_taken[g])
				continue;
			p->is_taken[g] = 1;
			job->gpu[n++] = g;
			wanted--;
		}
	}
	job->n_gpu = n;
}

void places_take(struct orr_jobs *w, struct job *job)
{
	struct places *p = w->places;
	if (!p)
		return;
	if (job->training != NONE) {
		const struct pool_piece *x = pool_pieces(&job->alloc);
		struct place_node *node = mem_alloc((job->alloc.n + 1) * sizeof *node);
		for (uint32_t i = 0; i < job->alloc.n; i++)
			node[i] = (struct place_node){ .node = x[i].node, .gpus = x[i].gpus };
		job->place = place_new(p->ground, node, job->alloc.n, p->is_taken, p->local);
		mem_free(node);
		MEM_GROW(p->fresh, p->n_fresh, p->cap_fresh);
		p->fresh[p->n_fresh++] = slot_of(w, job);
	}
	hold_gpus(w, job);
}

void places_give(struct orr_jobs *w, struct job *job)
{
	struct places *p = w->places;
	if (!p)
		return;
	for (uint32_t i = 0; i < job->n_gpu; i++)
		p->is_taken[job->gpu[i]] = 0;
	mem_free(job->gpu);
	job->gpu = NULL;
	job->n_gpu = 0;
	if (job->alone)
		leave_links(w, job);
	place_free(job->place);
	job->place = NULL;
	job->alone = NULL;
}

/* ---- rates ---- */

static bool find_alone(struct orr_jobs *w, struct job *job)
{
	const struct training *t = training_at(w, job->training);
	const struct steprate_value *v = steprate_alone(w->config->rates, t->class, job->place, 1);
	if (v->error.code) {
		world_fail(w, v->error.code, job, "%s", v->error.text);
		return false;
	}
	char key[96];
	snprintf(key, sizeof key, "%u %s", t->class, job->place->key);
	strtab_add_z(w->places->shapes, key);
	job->alone = v;
	memset(job->growth, 0, sizeof job->growth);
	job->alone_rate = v->samples_per_s / t->reference->samples_per_s;
	join_links(w, job);
	return true;
}

/* Jobs can only be in each other's way where together they could send more than the link carries. */
bool link_is_contended(const struct orr_jobs *w, uint32_t link)
{
	const struct places *p = w->places;
	const struct link_users *x = &p->link[link];
	double sum = 0;
	for (uint32_t i = 0; i < x->n; i++)
		sum += w->job[x->user[i].job].alone->link[x->user[i].local].peak_Bps;
	return sum > p->ground->topo->link[link].flow.capacity_Bps * (1 + 1e-9);
}

static int by_number(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* All that are tied to the job by contended links, in order of number; to be freed. */
static struct job **set_of(struct orr_jobs *w, struct job *root, uint32_t *n)
{
	struct places *p = w->places;
	struct job **set = NULL;
	uint32_t cap = 0;
	*n = 0;
	MEM_GROW(set, *n, cap);
	set[(*n)++] = root;
	root->mark = p->mark;
	for (uint32_t i = 0; i < *n; i++)
		for (uint32_t l = 0; l < set[i]->place->part.n_links; l++) {
			uint32_t link = set[i]->place->part.link[l];
			if (p->link[link].n < 2 || !loads(p, set[i], l) || !link_is_contended(w, link))
				continue;
			for (uint32_t k = 0; k < p->link[link].n; k++) {
				struct job *job = &w->job[p->link[link].user[k].job];
				if (job->mark == p->mark)
					continue;
				job->mark = p->mark;
				MEM_GROW(set, *n, cap);
				set[(*n)++] = job;
			}
		}
	qsort(set, *n, sizeof *set, by_number);
	return set;
}

/* What the fixed point of share.h leaves undecided is no change. */
static const double same_rate = 1e-9;

static void rerate(struct orr_jobs *w, struct job *job, double speed)
{
	double rate = job->alone_rate * speed;
	if (job->has_rate && fabs(job->rate - rate) <= same_rate * rate)
		return;
	w->places->rerated += job->has_rate;
	life_rerate(w, job, rate);
}

static void settle_set(struct orr_jobs *w, struct job **set, uint32_t n)
{
	struct places *p = w->places;
	double one = 1, *speed = n > 1 ? mem_alloc(n * sizeof *speed) : &one;
	p->largest_set = n > p->largest_set ? n : p->largest_set;
	if (n > 1 && sharing_speeds(w, set, n, speed))
		n = 0; /* an error */
	for (uint32_t i = 0; i < n; i++)
		rerate(w, set[i], speed[i]);
	if (speed != &one)
		mem_free(speed);
}

static void settle_around(struct orr_jobs *w, struct job *job)
{
	uint32_t n;
	if (job->mark == w->places->mark || w->error.code)
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
		struct job *job = &w->job[p->fresh[i]];
		if (job->place && !job->alone)
			find_alone(w, job);
	}
	for (uint32_t i = 0; i < p->n_fresh && !w->error.code; i++)
		if (w->job[p->fresh[i]].alone)
			settle_around(w, &w->job[p->fresh[i]]);
	for (uint32_t i = 0; i < p->n_dirty; i++) {
		struct link_users *x = &p->link[p->dirty[i]];
		x->is_dirty = false;
		for (uint32_t k = 0; k < x->n; k++)
			settle_around(w, &w->job[x->user[k].job]);
	}
	p->n_fresh = p->n_dirty = 0;
}

void places_metrics(const struct orr_jobs *w, double *shapes, double *sets, double *rerated, double *largest)
{
	const struct places *p = w->places;
	*shapes = (double)strtab_count(p->shapes) - 1;
	*sets = (double)strtab_count(p->sets) - 1;
	*rerated = (double)p->rerated;
	*largest = (double)p->largest_set;
}
