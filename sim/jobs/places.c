/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/places.h"

#include "base/mem.h"
#include "jobs/steprate.h"
#include "jobs/training.h"
#include "jobs/world.h"

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
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		mem_free(w->slots.job[w->slots.running[i]].seat.gpu);
		place_free(w->slots.job[w->slots.running[i]].seat.place);
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

/* ---- links ---- */

static void touch(struct places *p, uint32_t link)
{
	struct link_users *x = &p->link[link];
	if (x->is_dirty)
		return;
	x->is_dirty = true;
	MEM_GROW(p->dirty, p->n_dirty, p->cap_dirty);
	p->dirty[p->n_dirty++] = link;
}

bool places_loads(const struct places *p, const struct job *job, uint32_t local)
{
	return job->seat.alone->n_links && job->seat.alone->link[local].busy > 0 &&
	       !p->ground->is_private[job->seat.place->part.link[local]];
}

void places_join_links(struct orr_jobs *w, const struct job *job)
{
	struct places *p = w->places;
	bool is_off = w->config->sharing == JOBS_SHARING_OFF;
	for (uint32_t l = 0; l < job->seat.place->part.n_links; l++) {
		struct link_users *x = &p->link[job->seat.place->part.link[l]];
		w->totals.used |= is_off && x->n_over ? JOBS_USED_SHARING : 0;
		x->n_over += is_off;
		if (!places_loads(p, job, l))
			continue;
		MEM_GROW(x->user, x->n, x->cap);
		x->user[x->n++] = (struct link_user){ slot_of(w, job), l };
		touch(p, job->seat.place->part.link[l]);
	}
}

static void leave_links(struct orr_jobs *w, const struct job *job)
{
	struct places *p = w->places;
	for (uint32_t l = 0; l < job->seat.place->part.n_links; l++) {
		struct link_users *x = &p->link[job->seat.place->part.link[l]];
		x->n_over -= w->config->sharing == JOBS_SHARING_OFF;
		if (!places_loads(p, job, l))
			continue;
		uint32_t i = 0;
		while (x->user[i].job != slot_of(w, job))
			i++;
		x->user[i] = x->user[--x->n];
		touch(p, job->seat.place->part.link[l]);
	}
}

/* ---- GPUs ---- */

static void hold_gpus(struct orr_jobs *w, struct job *job)
{
	struct places *p = w->places;
	const struct pool_piece *x = pool_pieces(&job->alloc);
	uint32_t n = 0;
	job->seat.gpu = mem_alloc((job->held + 1) * sizeof *job->seat.gpu);
	for (uint32_t i = 0; i < job->alloc.n; i++) {
		uint32_t wanted = x[i].slot == POOL_WHOLE ? x[i].gpus : 0;
		for (uint32_t g = p->ground->first_gpu[x[i].node]; wanted && g < p->ground->first_gpu[x[i].node + 1]; g++) {
			if (p->is_taken[g])
				continue;
			p->is_taken[g] = 1;
			job->seat.gpu[n++] = g;
			wanted--;
		}
	}
	job->seat.n_gpu = n;
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
		job->seat.place = place_new(p->ground, node, job->alloc.n, p->is_taken, p->local);
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
	for (uint32_t i = 0; i < job->seat.n_gpu; i++)
		p->is_taken[job->seat.gpu[i]] = 0;
	mem_free(job->seat.gpu);
	job->seat.gpu = NULL;
	job->seat.n_gpu = 0;
	if (job->seat.alone)
		leave_links(w, job);
	place_free(job->seat.place);
	job->seat.place = NULL;
	job->seat.alone = NULL;
}

void places_metrics(const struct orr_jobs *w, double *shapes, double *sets, double *rerated, double *largest)
{
	const struct places *p = w->places;
	*shapes = (double)strtab_count(p->shapes) - 1;
	*sets = (double)strtab_count(p->sets) - 1;
	*rerated = (double)p->rerated;
	*largest = (double)p->largest_set;
}
