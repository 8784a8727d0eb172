/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads elastic jobs and finds their points. The parser is in elastic_json.c. */
#include "hwmodel/elastic.h"

#include "base/mem.h"
#include "hwmodel/catalogue.h"

#include <string.h>

enum { MAX_BYTES = 1 << 22 };

const char *elastic_catalogue(size_t i)
{
	return embedded_elastic[i].name;
}

struct elastic *elastic_load(const char *name_or_file, struct orr_error *err)
{
	struct catalogue_text t;
	if (catalogue_open(embedded_elastic, "elastic job", "orrery model list --elastic", name_or_file, MAX_BYTES, &t, err))
		return NULL;
	struct elastic *job = elastic_parse(t.path, t.text, t.n, err);
	if (job && t.owned)
		memcpy(job->hash, t.hash, sizeof job->hash);
	catalogue_close(&t);
	return job;
}

uint32_t elastic_least(const struct elastic *job)
{
	uint32_t least = 0;
	for (uint32_t i = 0; i < job->n_points; i++) {
		uint32_t n = job->point[i].pipelines * job->point[i].depth;
		least = !least || n < least ? n : least;
	}
	return least;
}

void elastic_free(struct elastic *job)
{
	if (!job)
		return;
	for (uint32_t i = 0; i < job->n_curves; i++) {
		mem_free(job->curve[i].name);
		mem_free(job->curve[i].value);
	}
	for (uint32_t i = 0; i < job->n_figures; i++)
		mem_free(job->figure[i].name);
	if (job->step) {
		mem_free(job->step->model);
		mem_free(job->step->device);
		mem_free(job->step->precision);
		mem_free(job->step->optimizer);
		mem_free(job->step->recompute);
		mem_free(job->step->cut);
		mem_free(job->step->redundancy);
		mem_free(job->step);
	}
	mem_free(job->curve);
	mem_free(job->figure);
	mem_free(job->point);
	mem_free(job->name);
	mem_free(job->title);
	mem_free(job->source);
	mem_free(job);
}
