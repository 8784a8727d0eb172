/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spot/elastic_cache.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sbuf.h"
#include "spot/derive.h"
#include "world/registry.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static struct elastic_entry **entries;
static size_t n_entries, cap_entries;

static int derive(struct elastic *job, struct orr_error *err)
{
	struct registry_entry entry;
	struct orr_error why = { 0 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int rc = registry_find("bamboo", world_named("step"), &entry, &why);
	struct derive d = { .policy = entry.policy, .threads = cores > 1 ? (uint32_t)cores : 1 };
	if (!rc)
		rc = elastic_derive(job, &d, &why);
	return rc ? orr_fail(err, rc, "job %.80s: %s", job->name, why.text) : ORR_OK;
}

static void hash_steps(const struct elastic *job, char out[65])
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%.17g %.17g %" PRId64 "\n", job->state_bytes, job->parameters, job->on_demand_step_ns);
	for (uint32_t i = 0; i < job->n_points; i++) {
		const struct elastic_point *p = &job->point[i];
		sbuf_printf(&b, "%" PRIu32 " %" PRIu32, p->pipelines, p->depth);
		for (int k = 0; k < ELASTIC_KINDS; k++)
			sbuf_printf(&b, " %" PRId64, p->step_ns[k]);
		sbuf_printf(&b, " %" PRId64 " %.17g %.17g\n", p->failover_ns, p->redundant, p->activation_bytes);
	}
	bytes_hash_text(sbuf_text(&b), b.len, out);
	sbuf_free(&b);
}

static const struct elastic_entry *find_or_add(struct elastic *job, struct orr_error *err)
{
	for (size_t i = 0; i < n_entries; i++)
		if (!strcmp(entries[i]->job->hash, job->hash) && !strcmp(entries[i]->job->name, job->name)) {
			elastic_free(job);
			return entries[i];
		}
	if (job->step && derive(job, err)) {
		elastic_free(job);
		return NULL;
	}
	struct elastic_entry *x = mem_zalloc(1, sizeof *x);
	x->job = job;
	if (job->step)
		hash_steps(job, x->steps_hash);
	MEM_GROW(entries, n_entries, cap_entries);
	entries[n_entries++] = x;
	return x;
}

const struct elastic_entry *elastic_cached(struct elastic *job, struct orr_error *err)
{
	const struct elastic_entry *x;
#pragma omp critical(orr_elastic_cache)
	x = find_or_add(job, err);
	return x;
}
