/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/warmup.h"

#include "base/mem.h"

#include <math.h>

enum { BATCH = 5, LEAST_BATCHES = 10, LAST_BATCHES = 5 };

/* Returns the number of batches to remove. Sums run from the last batch to the first, so each candidate takes constant time. */
static size_t mser(const double *batch, size_t n)
{
	double sum = 0, squares = 0, least = INFINITY, shift = batch[n - 1]; /* the shift limits cancellation */
	size_t best = 0;
	for (size_t d = n; d-- > 0;) {
		double x = batch[d] - shift, count = (double)(n - d);
		sum += x;
		squares += x * x;
		/* The last few batches may be equal by chance (Hoad, Robinson and Davies 2010, 3.2). */
		double error = fmax(squares - sum * sum / count, 0) / (count * count);
		if (n - d > LAST_BATCHES && error <= least) {
			least = error;
			best = d;
		}
	}
	return best;
}

size_t warmup_mser5(const double *v, size_t n, bool *is_determined)
{
	size_t batches = n / BATCH;
	*is_determined = false;
	if (batches < LEAST_BATCHES)
		return 0;
	double *batch = mem_zalloc(batches, sizeof *batch);
	for (size_t k = 0; k < batches * BATCH; k++)
		batch[k / BATCH] += v[k] / BATCH;
	size_t d = mser(batch, batches);
	mem_free(batch);
	*is_determined = 2 * d <= batches;
	return *is_determined ? BATCH * d : 0;
}

/* Values in ascending order of their indices. */
struct ordered {
	double *value;
	uint32_t *index;
	size_t n;
};

static struct ordered ordered_of(const struct hist *h)
{
	struct ordered o = { .n = 0 };
	o.value = hist_ordered(h, &o.index, &o.n);
	return o;
}

static void ordered_free(struct ordered *o)
{
	mem_free(o->value);
	mem_free(o->index);
}

struct warmup_cut warmup_find(const struct warmup *w, const struct hist *h, uint64_t by_time)
{
	struct warmup_cut c = { .first = 0 };
	struct ordered o = { .n = 0 };
	if (w->kind != WARMUP_NONE)
		o = ordered_of(h);
	if (o.n && w->kind == WARMUP_MSER5) {
		c.removed = warmup_mser5(o.value, o.n, &c.is_determined);
		c.first = c.removed ? o.index[c.removed] : 0;
	} else if (o.n) {
		while (c.removed < o.n && o.index[c.removed] < by_time)
			c.removed++;
		c.first = by_time;
		c.is_determined = true;
	}
	ordered_free(&o);
	return c;
}

void warmup_apply(const struct warmup_cut *c, struct hist **h, struct blocks *b)
{
	if (!c->removed)
		return;
	struct ordered o = ordered_of(*h);
	struct hist *kept = hist_new();
	if (b)
		blocks_init(b);
	for (size_t i = 0; i < o.n; i++) {
		if (o.index[i] < c->first)
			continue;
		hist_add_at(kept, o.index[i] - c->first, o.value[i]);
		if (b)
			blocks_add(b, o.index[i] - c->first, o.value[i]);
	}
	ordered_free(&o);
	hist_free(*h);
	*h = kept;
}

void warmup_put(const struct warmup *w, const struct warmup_cut *c, struct run_result *r)
{
	if (w->kind == WARMUP_NONE)
		return;
	result_metric(r, "warmup_removed", (double)c->removed, NAN, NAN);
	result_metric(r, "warmup_determined", c->is_determined, NAN, NAN);
}
