/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads served models and evaluates their tables. The forms of language models: served_llm.c; tables by layers: served_network.c. */
#include "hwmodel/served_llm.h"
#include "hwmodel/served_network.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "hwmodel/catalogue.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MAX_SPEC = 400 };
static const char largest_key[] = "largest=";

/* ---- files and the catalogue ---- */

const char *served_catalogue(size_t i)
{
	return embedded_served[i].name;
}

/* Returns whether the name is a DNN: dimensions ("vit:width=384"), measured layers, or a name of the catalogue of DNNs. */
static bool names_network(const char *name)
{
	size_t n = strlen(name);
	if (n > 5 && !strcmp(name + n - 5, ".json"))
		return false;
	for (const struct embedded_file *f = embedded_served; f->name; f++)
		if (!strcmp(f->name, name))
			return false;
	return strchr(name, ':') || dnn_catalogue_name(name);
}

/* Separates "largest=N" from the DNN's text. */
static int split_largest(const char *spec, char *dnn, uint32_t *largest, struct orr_error *err)
{
	int64_t n = 0;
	if (strlen(spec) >= MAX_SPEC)
		return orr_fail(err, ORR_EINPUT, "model \"%.80s..\": expected a name of at most %d bytes", spec, MAX_SPEC - 1);
	strcpy(dnn, spec);
	char *at = strstr(dnn, largest_key);
	*largest = 0;
	if (!at || at == dnn || (at[-1] != ',' && at[-1] != ':'))
		return ORR_OK;
	const char *value = at + strlen(largest_key);
	if (!num_int(value, strlen(value), &n) || n < 1 || n > SERVED_MAX_BATCHES)
		return orr_fail(err, ORR_EINPUT,
			"%.120s: expected \"largest=\" with a whole number from 1 to %d at the end, found \"%.40s\"", spec,
			SERVED_MAX_BATCHES, value);
	*largest = (uint32_t)n;
	at[-1] = '\0';
	return ORR_OK;
}

/* Makes the table of a DNN. A last dimension "largest=N" sets the largest batch. */
static struct served *from_network(const char *spec, struct orr_error *err)
{
	char dnn[MAX_SPEC];
	uint32_t largest;
	if (split_largest(spec, dnn, &largest, err))
		return NULL;
	struct served *m = mem_zalloc(1, sizeof *m);
	m->kind = SERVED_TABLE;
	m->utilisation = m->occupancy = 1;
	m->slo_s = INFINITY;
	m->n_batches = largest;
	m->name = mem_strdup(spec);
	if (served_network_open(m, dnn, err)) {
		served_free(m);
		return NULL;
	}
	m->title = mem_strdup(m->network->dnn->title ? m->network->dnn->title : spec);
	m->source = mem_strdup(served_network_source);
	char text[MAX_SPEC + 80];
	snprintf(text, sizeof text, "%s %s", spec, m->network->dnn->hash);
	bytes_hash_text(text, strlen(text), m->hash);
	return m;
}

struct served *served_load(const char *name_or_file, struct orr_error *err)
{
	struct catalogue_text t;
	if (names_network(name_or_file))
		return from_network(name_or_file, err);
	if (catalogue_open(embedded_served, "served model", "orrery model list --served", name_or_file, MAX_BYTES, &t, err))
		return NULL;
	struct served *m = served_parse(t.path, t.text, t.n, err);
	if (m && t.owned && !m->network)
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
		mem_free(m->llm->fit);
		mem_free(m->llm->moe);
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
	mem_free(m->stage_s);
	mem_free(m->network_bytes);
	served_network_free(m->network);
	mem_free(m);
}

/* ---- on a place ---- */

struct served *served_placed(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	struct served *x = mem_zalloc(1, sizeof *x);
	*x = *m;
	x->network = NULL;
	x->length = NULL;
	x->source = NULL;
	x->name = mem_strdup(m->name);
	x->title = mem_strdup(m->title);
	x->batch = mem_alloc(m->n_batches * sizeof *x->batch);
	x->memory = mem_alloc(m->n_batches * sizeof *x->memory);
	memcpy(x->batch, m->batch, m->n_batches * sizeof *x->batch);
	memcpy(x->memory, m->memory, m->n_batches * sizeof *x->memory);
	if (!served_network_place(m, p, x, err))
		return x;
	served_free(x);
	return NULL;
}

/* ---- tables ---- */

/* Position of a value among ascending sizes: between the indices `low` and `high`, at the fraction `part` of the interval. */
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
	if (m->kind != SERVED_TABLE || !m->latency_s || !find(m->batch, m->n_batches, samples, m->between, &b))
		return NAN;
	if (m->n_lengths && !find(m->length, m->n_lengths, length, m->between, &l))
		return NAN;
	return mix(row_latency(m, l.low, &b), row_latency(m, l.high, &b), l.part);
}

double served_stage(const struct served *m, uint32_t samples, uint32_t length)
{
	struct spot b;
	if (!m->stage_s || !find(m->batch, m->n_batches, samples, m->between, &b))
		return served_latency(m, samples, length);
	return mix(m->stage_s[b.low], m->stage_s[b.high], b.part);
}

double served_sent(const struct served *m, uint32_t samples)
{
	struct spot b;
	bool has = m->network_bytes && find(m->batch, m->n_batches, samples, m->between, &b);
	return has ? mix(m->network_bytes[b.low], m->network_bytes[b.high], b.part) : 0;
}

bool served_has_batch(const struct served *m, uint32_t samples, uint32_t length)
{
	struct spot b;
	return m->network ? find(m->batch, m->n_batches, samples, m->between, &b) : !isnan(served_latency(m, samples, length));
}

uint32_t served_batch_for(const struct served *m, uint32_t samples)
{
	struct spot b;
	return m->kind == SERVED_TABLE && find(m->batch, m->n_batches, samples, SERVED_UP, &b) ? m->batch[b.low] : 0;
}

uint32_t served_length_for(const struct served *m, uint32_t length)
{
	struct spot l;
	return m->n_lengths && find(m->length, m->n_lengths, length, SERVED_UP, &l) ? m->length[l.low] : length;
}

double served_occupancy(const struct served *m, uint32_t samples)
{
	return m->n_batches ? fmin(1, m->occupancy * fmax(1, (double)samples / m->batch[0])) : m->occupancy;
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
