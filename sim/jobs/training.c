/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/training.h"

#include "base/mem.h"
#include "jobs/places.h"
#include "jobs/world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The key of a training. It has no padding, because it is compared as bytes. */
struct kind {
	uint32_t model, strategy, gpus, zero;
	double batch;
};

static void find_reference(struct orr_jobs *w, struct training *t)
{
	const struct cluster *c = w->config->cluster;
	uint32_t first = *w->options.reference_type ? cluster_type(c, w->options.reference_type, strlen(w->options.reference_type)) : 0;
	t->reference = NULL;
	if (first >= c->n_types)
		return; /* refused before the run (scenario.c) */
	for (uint32_t i = 0; i < c->n_types && !t->reference; i++) {
		uint32_t type = (first + i) % c->n_types;
		if (t->types >> type & 1)
			t->reference = t->on_type[type];
		if (*w->options.reference_type)
			break;
	}
}

static void measure(struct orr_jobs *w, struct training *t, const struct kind *k)
{
	const struct strtab *text = w->strings;
	const struct cluster *c = w->config->cluster;
	if (steprate_class(w->config->rates, strtab_text(text, k->model), strtab_text(text, k->strategy), k->batch, &t->class, &t->error))
		return;
	t->on_type = mem_zalloc(c->n_types + 1, sizeof *t->on_type);
	struct orr_error why = { 0 };
	for (uint32_t type = 0; type < c->n_types; type++) {
		const struct steprate_value *v = t->on_type[type] = steprate_reference(w->config->rates, t->class, k->gpus, type);
		w->totals.used |= v ? v->used : 0;
		if (v && !v->error.code)
			t->types |= UINT64_C(1) << type;
		else if (v && !why.code)
			why = v->error;
	}
	find_reference(w, t);
	if (!t->reference && why.code)
		t->error = why;
}

static uint32_t training_of(struct orr_jobs *w, uint32_t model, uint32_t strategy, double batch, uint32_t gpus)
{
	struct places *p = w->places;
	if (!p || !strategy || !gpus)
		return NONE;
	struct kind k = { model, strategy, gpus, 0, batch };
	size_t before = strtab_count(p->kinds);
	uint32_t i = strtab_add(p->kinds, (const char *)&k, sizeof k) - 1;
	if (strtab_count(p->kinds) > before) {
		MEM_GROW(p->training, (size_t)i, p->cap_training);
		p->training[i] = (struct training){ 0 };
		measure(w, &p->training[i], &k);
	}
	return i;
}

const struct training *training_at(const struct orr_jobs *w, uint32_t training)
{
	return &w->places->training[training];
}

uint32_t training_of_row(struct orr_jobs *w, const struct job_rec *r, bool *ok)
{
	uint32_t i = training_of(w, r->model, r->strategy, r->batch, r->gpus);
	*ok = true;
	if (i == NONE || !training_at(w, i)->error.code)
		return i;
	char line[24] = "";
	if (r->line)
		snprintf(line, sizeof line, "%llu:", (unsigned long long)r->line);
	orr_fail(&w->error, ORR_EINPUT, "%s:%s job %llu: %s", jobset_source(w->config->jobs), line, (unsigned long long)r->number,
		training_at(w, i)->error.text);
	*ok = false;
	return i;
}

double training_iteration_s(const struct orr_jobs *w, uint32_t training)
{
	const struct steprate_value *v = training_at(w, training)->reference;
	return v ? v->samples / v->samples_per_s : 0;
}

uint64_t training_types(const struct orr_jobs *w, uint32_t training)
{
	return training_at(w, training)->types;
}

double training_rate_on(const struct orr_jobs *w, uint32_t training, uint32_t type)
{
	const struct training *t = training_at(w, training);
	return t->reference && t->types >> type & 1 ? t->on_type[type]->samples_per_s / t->reference->samples_per_s : 0;
}

double training_rate_at(struct orr_jobs *w, const struct job *job, uint32_t gpus)
{
	uint32_t i = training_of(w, job->model, job->strategy, job->batch, gpus);
	const struct steprate_value *at = training_at(w, i)->reference, *base = training_at(w, job->training)->reference;
	return at && base ? at->samples_per_s / base->samples_per_s : 0;
}
