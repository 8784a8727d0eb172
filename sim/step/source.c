/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sources of the compute times of a run, and the number of kernels outside the range of their laws.
 *
 * A policy queries costs by batch and shards. Each of the first MOST_ASKED distinct queries is recorded; at the end the model's
 * kernels are checked for each. */
#include "step/world.h"

#include "hwmodel/profile.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ASKED = 64 };

struct asked {
	uint32_t n;
	struct question {
		uint32_t type, shards;
		double batch;
		bool is_sequence_parallel;
	} of[MOST_ASKED];
};

void source_begin(struct orr_step *s)
{
	s->asked = mem_zalloc(1, sizeof *s->asked);
}

void source_free(struct orr_step *s)
{
	mem_free(s->asked);
}

void source_asked(const struct orr_step *s, uint32_t device, double batch, uint32_t shards, bool is_sequence_parallel)
{
	struct asked *a = s->asked;
	uint32_t type = s->type_of[device];
	for (uint32_t i = a->n; i-- > 0;) {
		const struct question *q = &a->of[i];
		if (q->type == type && q->shards == shards && q->batch == batch && q->is_sequence_parallel == is_sequence_parallel)
			return;
	}
	if (a->n < MOST_ASKED)
		a->of[a->n++] = (struct question){ type, shards, batch, is_sequence_parallel };
}

/* ---- the text of the source ---- */

static void put_outside(struct sbuf *b, const struct cost_coverage *c)
{
	const char *before = " (";
	if (!c->outside)
		return;
	sbuf_printf(
		b, "; outside the range of its laws: %llu of %llu kernels", (unsigned long long)c->outside, (unsigned long long)c->by_law);
	for (int f = 0; f < COST_FAMILIES; f++)
		if (c->outside_of[f]) {
			sbuf_printf(b, "%s%s %llu", before, cost_family_name((enum cost_family)f), (unsigned long long)c->outside_of[f]);
			before = ", ";
		}
	sbuf_puts(b, ")");
}

/* Says how far the batches that were asked for are from the one at which layers were measured: their times are in proportion. */
static void put_proportion(const struct orr_step *s, uint32_t type, struct sbuf *b)
{
	double measured = s->config->dnn->profile_batch, low = INFINITY, high = 0;
	for (uint32_t i = 0; i < s->asked->n; i++)
		if (s->asked->of[i].type == type) {
			low = fmin(low, s->asked->of[i].batch);
			high = fmax(high, s->asked->of[i].batch);
		}
	if (!(measured > 0) || !(high > 0) || (low == measured && high == measured))
		return;
	sbuf_printf(b, ", times in proportion for batches of %.4g", low);
	if (high > low)
		sbuf_printf(b, " to %.4g", high);
}

static bool has_gpus(const struct orr_step *s, uint32_t type)
{
	for (uint32_t g = 0; g < s->facts.gpus; g++)
		if (s->type_of[g] == type)
			return true;
	return false;
}

static void put_type(const struct orr_step *s, uint32_t type, struct sbuf *b, struct step_result *out)
{
	const struct cost *c = s->config->cost[type];
	struct cost_coverage cover = { 0 };
	double error = cost_profile_error(c);
	for (uint32_t i = 0; i < s->asked->n; i++) {
		const struct question *q = &s->asked->of[i];
		if (q->type == type)
			cost_cover(c, q->batch, q->shards, q->is_sequence_parallel, &cover);
	}
	if (b->len)
		sbuf_puts(b, "; ");
	if (s->config->cluster->n_types > 1)
		sbuf_printf(b, "%s: ", s->config->cluster->type_name[type]);
	sbuf_puts(b, cost_source(c, s->config->batch));
	put_proportion(s, type, b);
	put_outside(b, &cover);
	if (!s->is_scaled) {
		cost_put_precision(c, b);
		cost_put_published(c, b);
	}
	out->kernels += cover.kernels;
	out->kernels_by_law += cover.by_law;
	out->kernels_outside += cover.outside;
	out->profile_error = isnan(out->profile_error) ? error : fmax(out->profile_error, error);
}

void source_result(const struct orr_step *s, struct step_result *out)
{
	struct sbuf b = { 0 };
	out->profile_error = NAN;
	out->is_transformer_on_sgd =
		s->facts.hidden > 0 && (*s->uses & STEP_USED_UPDATE) && !strcmp(orr_arg_text(s->config->options, "optimizer"), "sgd");
	if (s->is_scaled)
		sbuf_printf(&b, "%.9g s for the batch (step.compute_s), shares of layers by the cost model",
			orr_arg_real(s->config->options, "compute_s"));
	for (uint32_t t = 0; t < s->config->cluster->n_types; t++)
		if (s->config->cost[t] && has_gpus(s, t)) {
			put_type(s, t, &b, out);
			out->has_large_scores |= s->asked->n && !s->is_scaled && cost_scores_share(s->config->cost[t]) > 0.5;
		}
	if (s->inside)
		sbuf_printf(&b, "; collectives inside a node by all-reduces measured on %s", s->inside);
	snprintf(out->cost_source, sizeof out->cost_source, "%s", sbuf_text(&b));
	sbuf_free(&b);
}
