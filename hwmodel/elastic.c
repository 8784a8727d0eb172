/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loading elastic jobs, and looking up their points. How a file is read: elastic_json.c. */
#include "hwmodel/elastic.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "hwmodel/embedded.h"

#include <string.h>
#include <strings.h>

enum { MAX_BYTES = 1 << 22, MAX_NAMES = 256 };

const char *elastic_catalogue(size_t i)
{
	return embedded_elastic[i].name;
}

static struct elastic *load_embedded(const char *name, struct orr_error *err)
{
	const char *names[MAX_NAMES + 1] = { NULL };
	for (size_t i = 0; embedded_elastic[i].name; i++) {
		const struct embedded_file *f = &embedded_elastic[i];
		if (!strcasecmp(f->name, name))
			return elastic_parse(f->name, (const char *)f->text, f->n, err);
		if (i < MAX_NAMES)
			names[i] = f->name;
	}
	const char *near = nearest_name(name, names);
	orr_fail(err, ORR_EINPUT, "no elastic job \"%.80s\"; %s%s%sorrery model list --elastic shows all; a file ends in .json", name,
		near ? "did you mean " : "", near ? near : "", near ? "? " : "");
	return NULL;
}

struct elastic *elastic_load(const char *name_or_file, struct orr_error *err)
{
	size_t n, len = strlen(name_or_file);
	if (!strchr(name_or_file, '/') && (len < 5 || strcasecmp(name_or_file + len - 5, ".json")))
		return load_embedded(name_or_file, err);
	char hash[BYTES_HASH_SIZE];
	char *text = bytes_read_file(name_or_file, MAX_BYTES, &n, hash, err);
	if (!text)
		return NULL;
	struct elastic *job = elastic_parse(name_or_file, text, n, err);
	mem_free(text);
	if (job)
		memcpy(job->hash, hash, sizeof job->hash); /* of the file, packed or not */
	return job;
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

const struct elastic_point *elastic_find(const struct elastic *job, uint32_t pipelines, uint32_t depth)
{
	uint32_t lo = 0, hi = job->n_points;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct elastic_point *p = &job->point[mid];
		if (p->pipelines == pipelines && p->depth == depth)
			return p;
		if (p->pipelines < pipelines || (p->pipelines == pipelines && p->depth < depth))
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}
