/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * accounts.h - accounts of instance time and of cost
 *
 * Inlined: called once per instant or per run of steps.
 */
#ifndef ORR_SPOT_ACCOUNTS_H
#define ORR_SPOT_ACCOUNTS_H

#include "spot/spot_parts.h"

/* Charges money without time, n times. */
void accounts_charge(struct orr_spot *w, enum orr_account a, timeline_sum amount, uint64_t n);
timeline_sum accounts_egress(const struct orr_spot *w, double bytes);
/* Charges the rest of the hour that the instance has started. */
void accounts_charge_hour(struct orr_spot *w, const struct slot *s);
/* Same if spot.billing=hour, else a no-op. */
static inline void accounts_round_up(struct orr_spot *w, const struct slot *s)
{
	if (w->bills_hours)
		accounts_charge_hour(w, s);
}
/* Like a cast, within 1 ulp, and fast for small numbers. */
static inline double wide_double(timeline_sum x)
{
	return (double)(uint64_t)(x >> 64) * 0x1p64 + (double)(uint64_t)x;
}
double wide_usd(timeline_sum amount);
double wide_seconds(timeline_sum ns);

static inline void accounts_add(struct orr_spot *w, enum orr_account a, const struct ledger *l)
{
	ledger_add(&w->account[a], l->ns, l->amount);
}

static inline struct ledger accounts_of_role(const struct orr_spot *w, enum role role, int64_t dt)
{
	struct ledger l = { 0, 0 };
	ledger_hold(&l, w->count[role], w->rate[role], dt);
	return l;
}

/* Adds a period of dt ns to all accounts except that of the owners' time. */
static inline void accounts_pass(struct orr_spot *w, int64_t dt)
{
	if (w->count[ROLE_STARTING])
		ledger_hold(&w->account[ORR_STARTING], w->count[ROLE_STARTING], w->rate[ROLE_STARTING], dt);
	if (w->count[ROLE_IDLE])
		ledger_hold(&w->account[ORR_IDLE], w->count[ROLE_IDLE], w->rate[ROLE_IDLE], dt);
	if (w->live[1])
		w->on_demand_ns += ledger_product(w->live[1], dt);
	ledger_hold(&w->all, w->live[0] + w->live[1], w->rate_all, dt);
	w->accrued += dt;
}

/* Accounts for the time up to t. */
static inline void accounts_accrue(struct orr_spot *w, int64_t t)
{
	int64_t dt = t - w->accrued;
	if (dt <= 0)
		return;
	if (w->parts && !w->steps.is_in_flight)
		spot_parts_pause(w, w->accrued, t);
	ledger_hold(w->steps.is_in_flight ? &w->steps.bucket : &w->account[w->pause], w->count[ROLE_OWNER], w->rate[ROLE_OWNER], dt);
	accounts_pass(w, dt);
}

#endif
