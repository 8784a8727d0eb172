/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans: checks and copies. */
#include "plan/world.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

uint32_t stage_shards(const struct orr_plan_stage *x)
{
	return x->shards ? x->shards : 1;
}

uint32_t stage_groups(const struct orr_plan_stage *x)
{
	return x->n_gpus / stage_shards(x);
}

double stage_share(const struct orr_plan_stage *x, uint32_t group)
{
	return x->share ? x->share[group] : 1.0 / stage_groups(x);
}

uint32_t draft_interleave(const struct orr_plan_draft *d)
{
	return d->interleave ? d->interleave : 1;
}

/* ---- checks ---- */

static int check_pieces(const struct orr_plan *p, const struct orr_plan_draft *d, struct orr_error *err)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < d->stages; i++) {
		const struct orr_plan_stage *x = &d->stage[i];
		if (x->first > at)
			return orr_fail(err, ORR_EFAIL,
				"stage %u: piece %u of the model is missing: expected it as the first piece, found %u", i, at, x->first);
		if (x->first < at || !x->count)
			return orr_fail(err, ORR_EFAIL,
				"stage %u: expected at least one piece from piece %u on, found %u pieces from piece %u on", i, at, x->count,
				x->first);
		if (x->count > p->facts.pieces - at)
			return orr_fail(err, ORR_EFAIL, "stage %u: expected at most %u pieces from piece %u on, found %u", i,
				p->facts.pieces - at, at, x->count);
		at += x->count;
	}
	return at == p->facts.pieces ? ORR_OK
				     : orr_fail(err, ORR_EFAIL, "the last stage: piece %u of the model is missing: expected all %u pieces",
					       at, p->facts.pieces);
}

static int check_split(const struct orr_plan *p, const struct orr_plan_stage *x, uint32_t i, struct orr_error *err)
{
	uint32_t t = stage_shards(x);
	if (!x->n_gpus || x->n_gpus % t)
		return orr_fail(err, ORR_EFAIL,
			"stage %u: expected a number of GPUs that is a multiple of the %u shards of the stage, found %u", i, t, x->n_gpus);
	if (t > 1 && (!p->facts.blocks || p->facts.heads % t))
		return orr_fail(err, ORR_EFAIL,
			"stage %u: %u shards: expected 1, or a divisor of the attention heads of a transformer without experts, found %u",
			i, t, p->facts.heads);
	double sum = 0;
	for (uint32_t g = 0; x->share && g < stage_groups(x); g++) {
		if (!(x->share[g] > 0))
			return orr_fail(
				err, ORR_EFAIL, "stage %u: share of group %u: expected a number above 0, found %g", i, g, x->share[g]);
		sum += x->share[g];
	}
	return x->share && fabs(sum - 1) > 1e-6 ? orr_fail(err, ORR_EFAIL, "stage %u: shares: expected the sum 1, found %.9g", i, sum)
						: ORR_OK;
}

static int check_gpus(const struct orr_plan *p, const struct orr_plan_draft *d, struct orr_error *err)
{
	uint32_t sets = d->stages / draft_interleave(d);
	uint32_t *user = mem_zalloc(p->facts.gpus, sizeof *user);
	int rc = ORR_OK;
	for (uint32_t i = 0; i < d->stages && !rc; i++) {
		const struct orr_plan_stage *x = &d->stage[i];
		rc = check_split(p, x, i, err);
		for (uint32_t k = 0; k < x->n_gpus && !rc; k++) {
			uint32_t g = x->gpu[k];
			if (g >= p->facts.gpus)
				rc = orr_fail(err, ORR_EFAIL, "stage %u: GPU %u: expected a number from 0 to %u", i, g, p->facts.gpus - 1);
			else if (i < sets && user[g])
				rc = orr_fail(err, ORR_EFAIL, "stage %u: GPU %u is already in stage %u: expected each GPU once", i, g,
					user[g] - 1);
			else if (i >= sets && (k >= d->stage[i - sets].n_gpus || d->stage[i - sets].gpu[k] != g))
				rc = orr_fail(err, ORR_EFAIL,
					"stage %u: the GPUs differ from those of stage %u: expected the same GPUs (interleave %u)", i,
					i - sets, d->interleave);
			else
				user[g] = i % sets + 1;
		}
	}
	mem_free(user);
	return rc;
}

int draft_check(const struct orr_plan *p, const struct orr_plan_draft *d, struct orr_error *err)
{
	uint32_t v = draft_interleave(d);
	if (!d->stages || !d->stage || d->stages % v)
		return orr_fail(err, ORR_EFAIL, "expected a number of stages that is a multiple of interleave, %u, found %u", v, d->stages);
	double m = p->facts.global_batch / d->micro_batch;
	if (!(d->micro_batch > 0) || fabs(m - round(m)) > 1e-9 * m || m > 1e6)
		return orr_fail(err, ORR_EFAIL, "micro-batch: expected a divisor of the %g samples of an iteration, found %g",
			p->facts.global_batch, d->micro_batch);
	int rc = check_pieces(p, d, err);
	return rc ? rc : check_gpus(p, d, err);
}

/* ---- recognising grids ---- */

static bool is_ordered(const struct orr_plan_draft *d, uint32_t sets, uint32_t tp, uint32_t dp, bool is_dp_inner)
{
	for (uint32_t i = 0; i < sets; i++)
		for (uint32_t k = 0; k < tp * dp; k++) {
			uint32_t shard = k % tp, replica = k / tp;
			uint32_t want = is_dp_inner ? shard + tp * (replica + dp * i) : shard + tp * (i + sets * replica);
			if (d->stage[i].gpu[k] != want)
				return false;
		}
	return true;
}

static bool has_equal_shares(const struct orr_plan_stage *x)
{
	for (uint32_t g = 0; x->share && g < stage_groups(x); g++)
		if (fabs(x->share[g] * stage_groups(x) - 1) > 1e-9)
			return false;
	return true;
}

enum draft_order draft_order(const struct orr_plan *p, const struct orr_plan_draft *d)
{
	uint32_t sets = d->stages / draft_interleave(d), tp = stage_shards(&d->stage[0]), gpus = d->stage[0].n_gpus;
	bool is_plain = draft_interleave(d) == 1 && !d->zero && !d->sequence_parallel;
	if ((uint64_t)sets * gpus != p->facts.gpus || (is_plain && !p->facts.blocks))
		return ORDER_NONE;
	for (uint32_t i = 0; i < d->stages; i++)
		if (d->stage[i].n_gpus != gpus || stage_shards(&d->stage[i]) != tp || !has_equal_shares(&d->stage[i]))
			return ORDER_NONE;
	if (is_ordered(d, sets, tp, gpus / tp, true))
		return ORDER_TP_DP_PP;
	return is_ordered(d, sets, tp, gpus / tp, false) ? ORDER_TP_PP_DP : ORDER_NONE;
}

/* ---- copies ---- */

void plan_copy(struct plan_copy *to, const struct orr_plan_draft *d, const struct orr_plan_value *value)
{
	size_t gpus = 0, groups = 0, g = 0, s = 0;
	for (uint32_t i = 0; i < d->stages; i++) {
		gpus += d->stage[i].n_gpus;
		groups += d->stage[i].share ? stage_groups(&d->stage[i]) : 0;
	}
	struct plan_copy c = { .d = *d, .value = *value };
	c.stage = mem_alloc(d->stages * sizeof *c.stage);
	c.gpu = mem_alloc((gpus + 1) * sizeof *c.gpu);
	c.share = mem_alloc((groups + 1) * sizeof *c.share);
	for (uint32_t i = 0; i < d->stages; i++) {
		const struct orr_plan_stage *x = &d->stage[i];
		struct orr_plan_stage *y = &c.stage[i];
		*y = *x;
		y->gpu = memcpy(c.gpu + g, x->gpu, x->n_gpus * sizeof *x->gpu);
		g += x->n_gpus;
		if (x->share) {
			y->share = memcpy(c.share + s, x->share, stage_groups(x) * sizeof *x->share);
			s += stage_groups(x);
		}
	}
	c.d.stage = c.stage;
	plan_copy_free(to);
	*to = c;
}

void plan_copy_free(struct plan_copy *c)
{
	mem_free(c->stage);
	mem_free(c->gpu);
	mem_free(c->share);
	*c = (struct plan_copy){ 0 };
}

static bool is_equal_stage(const struct orr_plan_stage *a, const struct orr_plan_stage *b)
{
	if (a->first != b->first || a->count != b->count || a->n_gpus != b->n_gpus || stage_shards(a) != stage_shards(b) ||
		!a->share != !b->share)
		return false;
	for (uint32_t g = 0; a->share && g < stage_groups(a); g++)
		if (a->share[g] < b->share[g] || a->share[g] > b->share[g])
			return false;
	return !memcmp(a->gpu, b->gpu, a->n_gpus * sizeof *a->gpu);
}

bool draft_is_equal(const struct orr_plan_draft *a, const struct orr_plan_draft *b)
{
	bool is_same = a->stages == b->stages && !(a->micro_batch < b->micro_batch) && !(a->micro_batch > b->micro_batch) &&
		       draft_interleave(a) == draft_interleave(b) && a->recompute == b->recompute &&
		       a->sequence_parallel == b->sequence_parallel && a->zero == b->zero;
	for (uint32_t i = 0; is_same && i < a->stages; i++)
		is_same = is_equal_stage(&a->stage[i], &b->stage[i]);
	return is_same;
}
