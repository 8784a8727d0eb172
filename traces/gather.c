/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/gather.h"

#include "base/mem.h"

struct gather {
	struct strtab *texts, *keys;
	struct gathered *job;
	size_t n, cap, next;
	size_t *of_key; /* index + 1 of the job of a key, by number of the key */
	size_t n_keys;
};

struct gather *gather_new(void)
{
	struct gather *g = mem_zalloc(1, sizeof *g);
	g->texts = strtab_new();
	g->keys = strtab_new();
	return g;
}

void gather_free(struct gather *g)
{
	if (!g)
		return;
	strtab_free(g->texts);
	strtab_free(g->keys);
	mem_free(g->job);
	mem_free(g->of_key);
	mem_free(g);
}

static size_t *slot_of(struct gather *g, const char *key, size_t n)
{
	uint32_t number = strtab_add(g->keys, key, n);
	if (number >= g->n_keys) {
		size_t cap = 2 * (size_t)number + 64;
		g->of_key = mem_realloc(g->of_key, cap, sizeof *g->of_key);
		for (size_t i = g->n_keys; i < cap; i++)
			g->of_key[i] = 0;
		g->n_keys = cap;
	}
	return &g->of_key[number];
}

struct gathered *gather_job(struct gather *g, const char *key, size_t n, bool *is_new)
{
	size_t *slot = key ? slot_of(g, key, n) : NULL;
	*is_new = !slot || !*slot;
	if (!*is_new)
		return &g->job[*slot - 1];
	MEM_GROW(g->job, g->n, g->cap);
	struct gathered *j = &g->job[g->n++];
	*j = (struct gathered){ .start_ns = -1 };
	j->job.duration_ns = j->job.limit_ns = j->job.wait_ns = j->job.deadline_ns = -1;
	j->job.gpu_milli = 1000;
	if (slot)
		*slot = g->n;
	return j;
}

size_t gather_count(const struct gather *g)
{
	return g->n;
}

struct gathered *gather_at(struct gather *g, size_t i)
{
	return &g->job[i];
}

uint32_t gather_text(struct gather *g, const char *text, size_t n)
{
	return text ? strtab_add(g->texts, text, n) : 0;
}

const char *gather_text_of(const struct gather *g, uint32_t number)
{
	return number ? strtab_text(g->texts, number) : NULL;
}

bool gather_next(struct gather *g, struct orr_trace_job *row)
{
	while (g->next < g->n && g->job[g->next].is_gone)
		g->next++;
	if (g->next == g->n)
		return false;
	const struct gathered *j = &g->job[g->next++];
	*row = j->job;
	row->id = gather_text_of(g, j->id);
	row->user = gather_text_of(g, j->user);
	row->queue = gather_text_of(g, j->queue);
	row->model = gather_text_of(g, j->model);
	row->gpu_types = gather_text_of(g, j->gpu_types);
	row->status = gather_text_of(g, j->status);
	return true;
}

int gather_next_known(struct gather *g, enum mapped_unknown unknown, uint64_t *left_out, struct orr_trace_job *row)
{
	while (gather_next(g, row)) {
		if (row->duration_ns >= 0 || unknown == MAPPED_KEEP)
			return 1;
		if (unknown == MAPPED_ERROR)
			return -1;
		++*left_out;
	}
	return 0;
}
