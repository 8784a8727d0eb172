/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/dnn_plan.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct plan *plan_new(const char *name, const char *title, const char *input)
{
	struct plan *p = mem_zalloc(1, sizeof *p);
	p->d = mem_zalloc(1, sizeof *p->d);
	p->d->name = mem_strdup(name);
	p->d->title = mem_strdup(title);
	p->d->input = mem_strdup(input);
	return p;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		mem_free(p->layer[i].name);
	mem_free(p->layer);
	mem_free(p->repeat);
	mem_free(p->is_saved);
	mem_free(p->classifier);
	dnn_free(p->d);
	mem_free(p);
}

void dnn_free(struct dnn *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->n_layers; i++)
		mem_free(d->layer[i].name);
	mem_free(d->layer);
	mem_free(d->name);
	mem_free(d->title);
	mem_free(d->input);
	mem_free(d->profile_device);
	mem_free(d);
}

void plan_repeat_begin(struct plan *p, uint32_t count, uint32_t from, bool is_block)
{
	MEM_GROW(p->repeat, p->n_repeats, p->repeat_cap);
	p->repeat[p->n_repeats++] = (struct plan_repeat){ p->n, 0, count, from, is_block };
}

void plan_repeat_end(struct plan *p)
{
	struct plan_repeat *r = &p->repeat[p->n_repeats - 1];
	r->n_layers = p->n - r->first;
}

void plan_prefix(struct plan *p, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(p->prefix, sizeof p->prefix, format, ap);
	va_end(ap);
}

struct dnn_layer *plan_add(struct plan *p, enum orr_layer_kind kind, const char *name)
{
	char full[PLAN_MAX_NAME + 1];
	snprintf(full, sizeof full, "%s%s", p->prefix, name);
	MEM_GROW(p->layer, p->n, p->cap);
	struct dnn_layer *l = &p->layer[p->n++];
	*l = (struct dnn_layer){ .name = mem_strdup(full), .kind = kind, .block = DNN_NO_BLOCK };
	return l;
}

double plan_layers(const struct plan *p)
{
	double n = (double)p->n;
	for (size_t i = 0; i < p->n_repeats; i++)
		n += ((double)p->repeat[i].count - 1) * (double)p->repeat[i].n_layers;
	return n;
}

/* Returns the name with '#' replaced by `number`. The caller frees it. */
static char *numbered(const char *name, uint32_t number)
{
	const char *mark = strchr(name, '#');
	if (!mark)
		return mem_strdup(name);
	char out[PLAN_MAX_NAME + 16];
	snprintf(out, sizeof out, "%.*s%u%s", (int)(mark - name), name, number, mark + 1);
	return mem_strdup(out);
}

static void put(struct dnn *d, const struct dnn_layer *l, char *name, uint32_t block)
{
	struct dnn_layer *out = &d->layer[d->n_layers++];
	*out = *l;
	out->name = name;
	out->block = block;
	d->params += l->params;
	d->tensors += l->tensors;
}

static void write_out(struct plan *p)
{
	struct dnn *d = p->d;
	d->layer = mem_zalloc((size_t)plan_layers(p) + 1, sizeof *d->layer);
	size_t next = 0;
	for (size_t i = 0; i < p->n;) {
		const struct plan_repeat *r = next < p->n_repeats ? &p->repeat[next] : NULL;
		if (!r || i < r->first) {
			put(d, &p->layer[i], mem_strdup(p->layer[i].name), DNN_NO_BLOCK);
			i++;
			continue;
		}
		for (uint32_t k = 0; k < r->count; k++) {
			uint32_t block = r->is_block ? d->blocks++ : DNN_NO_BLOCK;
			for (size_t l = r->first; l < r->first + r->n_layers; l++)
				put(d, &p->layer[l], numbered(p->layer[l].name, r->from + k), block);
		}
		i = r->first + r->n_layers;
		next++;
	}
}

struct dnn *plan_expand(struct plan *p)
{
	write_out(p);
	struct dnn *d = p->d;
	d->fc_first = d->n_layers;
	for (uint32_t i = 0; p->classifier && i < d->n_layers; i++)
		if (!strcmp(d->layer[i].name, p->classifier)) {
			d->fc_first = i;
			break;
		}
	p->d = NULL;
	plan_free(p);
	return d;
}
