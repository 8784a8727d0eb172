/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads served models and evaluates their tables. The forms of language models: served_llm.c. */
#include "hwmodel/served_llm.h"

#include "base/mem.h"
#include "hwmodel/catalogue.h"

#include <math.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 };

/* ---- files and the catalogue ---- */

const char *served_catalogue(size_t i)
{
	return embedded_served[i].name;
}

struct served *served_load(const char *name_or_file, struct orr_error *err)
{
	struct catalogue_text t;
	if (catalogue_open(embedded_served, "served model", "orrery model list --served", name_or_file, MAX_BYTES, &t, err))
		return NULL;
	struct served *m = served_parse(t.path, t.text, t.n, err);
	if (m && t.owned)
		memcpy(m->hash, t.hash, sizeof m->hash);
	catalogue_close(&t);
	return m;
}

void served_free(struct served *m)
{
	if (!m)
		return;
	if (m->llm) {
		dnn_free(m->llm->dnn);
		mem_free(m->llm->prompt.x);
		mem_free(m->llm->prompt.y);
		mem_free(m->llm->decode.x);
		mem_free(m->llm->decode.y);
		mem_free(m->llm);
	}
	mem_free(m->name);
	mem_free(m->title);
	mem_free(m->source);
	mem_free(m->batch);
	mem_free(m->length);
	mem_free(m->latency_s);
	mem_free(m->memory);
	mem_free(m);
}

/* ---- tables ---- */

/* Position of a value among ascending sizes: between the indices `low` and `high`, at the fraction `part` of the way. */
struct spot {
	uint32_t low, high;
	double part;
};

/* Finds the position of v; returns false if the table refuses v. */
static bool find(const uint32_t *size, uint32_t n, uint32_t v, enum served_between between, struct spot *out)
{
	uint32_t lo = 0, hi = n;
	while (lo < hi) { /* binary search for the first size that is at least v */
		uint32_t mid = lo + (hi - lo) / 2;
		if (size[mid] < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	*out = (struct spot){ lo, lo, 0 };
	if (lo == n || v == 0)
		return false;
	if (size[lo] == v || between == SERVED_UP)
		return true;
	if (between == SERVED_REFUSE || lo == 0)
		return false;
	*out = (struct spot){ lo - 1, lo, (double)(v - size[lo - 1]) / (size[lo] - size[lo - 1]) };
	return true;
}

static double mix(double low, double high, double part)
{
	return part == 0 ? low : low + (high - low) * part;
}

static double row_latency(const struct served *m, uint32_t row, const struct spot *b)
{
	const double *s = m->latency_s + (size_t)row * m->n_batches;
	return mix(s[b->low], s[b->high], b->part);
}

double served_latency(const struct served *m, uint32_t samples, uint32_t length)
{
	struct spot b, l = { 0 };
	if (m->kind != SERVED_TABLE || !find(m->batch, m->n_batches, samples, m->between, &b))
		return NAN;
	if (m->n_lengths && !find(m->length, m->n_lengths, length, m->between, &l))
		return NAN;
	return mix(row_latency(m, l.low, &b), row_latency(m, l.high, &b), l.part);
}

uint32_t served_batch_for(const struct served *m, uint32_t samples)
{
	struct spot b;
	return m->kind == SERVED_TABLE && find(m->batch, m->n_batches, samples, SERVED_UP, &b) ? m->batch[b.low] : 0;
}

struct served_memory served_memory_of(const struct served *m, uint32_t samples)
{
	struct spot b;
	if (m->kind != SERVED_TABLE || !find(m->batch, m->n_batches, samples, m->between, &b))
		return (struct served_memory){ INFINITY, INFINITY, 0 };
	const struct served_memory *x = &m->memory[b.low], *y = &m->memory[b.high];
	return (struct served_memory){ mix(x->before, y->before, b.part), mix(x->peak, y->peak, b.part),
		mix(x->peak_from_s, y->peak_from_s, b.part) };
}
