/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --check: equalities that hold exactly at every instant. */
#include "spot/accounts.h"

/* Returns a - b in USD. */
static double usd_above(timeline_sum a, timeline_sum b)
{
	return a >= b ? wide_usd(a - b) : -wide_usd(b - a);
}

static void time_and_money(struct orr_spot *w)
{
	const struct steps *s = &w->steps;
	struct ledger held = ledger_total(w->account, ORR_TIME_ACCOUNTS), lived = w->ended;
	timeline_sum other = w->account[ORR_ROUNDING].amount + w->account[ORR_EGRESS].amount;
	ledger_add(&held, s->bucket.ns + s->pending.ns, s->bucket.amount + s->pending.amount);
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i)) {
		const struct slot *x = live_slot(w, i);
		ledger_add(&lived, (uint64_t)(w->now - x->since), x->paid);
		ledger_hold(&lived, 0, x->price, w->now - x->paid_until);
	}
	if (held.ns != w->all.ns || lived.ns != w->all.ns)
		spot_fail(w, ORR_EFAIL, NULL,
			"check: instance-seconds: expected equal values, found %.9f in the accounts, %.9f as the sum of lifetimes, %.9f as "
			"the integral of live instances",
			wide_seconds(held.ns), wide_seconds(lived.ns), wide_seconds(w->all.ns));
	if (held.amount != lived.amount || held.amount + other != w->all.amount)
		spot_fail(w, ORR_EFAIL, NULL,
			"check: USD: expected equal sums, found %.12g in the accounts of time; the cost of instances differs from it by "
			"%.3g, "
			"the total without other charges by %.3g",
			wide_usd(held.amount), usd_above(lived.amount, held.amount), usd_above(w->all.amount, held.amount + other));
}

static void instances_and_stages(struct orr_spot *w)
{
	uint32_t n[ROLES] = { 0 }, live[2] = { 0 }, stages = 0, ownerless = 0, owned = 0;
	int64_t rate[ROLES] = { 0 };
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i)) {
		const struct slot *s = live_slot(w, i);
		n[s->role]++;
		rate[s->role] += s->price;
		live[s->is_on_demand]++;
		stages += s->stages;
		if ((s->role == ROLE_OWNER) != (s->stages > 0) || (s->stages && s->state != SLOT_READY))
			spot_fail(w, ORR_EFAIL, s, "check: this instance owns %u stages: expected none in its state (%d)", s->stages,
				s->state);
	}
	for (uint32_t i = 0; i < w->n_stages; i++) {
		owned += w->stage[i].owner != NONE;
		ownerless += w->stage[i].owner == NONE && !w->is_dropped[i / w->depth];
	}
	if (rate[0] + rate[1] + rate[2] != w->rate_all)
		spot_fail(w, ORR_EFAIL, NULL, "check: the total price is incorrect: expected the sum of the prices of live instances");
	for (int r = 0; r < ROLES; r++)
		if (n[r] != w->count[r] || rate[r] != w->rate[r])
			spot_fail(w, ORR_EFAIL, NULL,
				"check: %u instances in role %d at %.9f USD per hour: expected the counters' values, %u at %.9f", n[r], r,
				(double)rate[r] / 1e9, w->count[r], (double)w->rate[r] / 1e9);
	if (live[0] != w->live[0] || live[1] != w->live[1])
		spot_fail(w, ORR_EFAIL, NULL, "check: %u spot and %u on-demand instances: expected the counters' values, %u and %u",
			live[0], live[1], w->live[0], w->live[1]);
	if (stages != owned || ownerless != w->ownerless)
		spot_fail(w, ORR_EFAIL, NULL,
			"check: %u stages have owners, instances own %u: expected equal numbers; %u have no owner: expected the counter's "
			"value, %u",
			owned, stages, ownerless, w->ownerless);
}

static void samples(struct orr_spot *w)
{
	const struct steps *s = &w->steps;
	uint64_t pending = 0;
	for (size_t i = s->first; i < s->n; i++)
		pending += s->run[i].count;
	if (s->committed + pending != s->done)
		spot_fail(w, ORR_EFAIL, NULL, "check: %llu steps are done: expected the sum of %llu committed and %llu pending steps",
			(unsigned long long)s->done, (unsigned long long)s->committed, (unsigned long long)pending);
}

void check_instant(struct orr_spot *w)
{
	if (w->error.code)
		return;
	time_and_money(w);
	instances_and_stages(w);
	samples(w);
}
