/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where each second of each instance and each dollar goes. */
#include "spot/world.h"

void accounts_add(struct orr_spot *w, enum orr_account a, wide ns, wide usd)
{
	w->account_ns[a] += ns;
	w->account_usd[a] += usd;
}

void accounts_charge(struct orr_spot *w, enum orr_account a, wide usd)
{
	w->account_usd[a] += usd;
	w->spent += usd;
}

static wide total_rate(const struct orr_spot *w)
{
	return (wide)w->rate[ROLE_STARTING] + w->rate[ROLE_IDLE] + w->rate[ROLE_OWNER];
}

void accounts_pass(struct orr_spot *w, int64_t dt)
{
	accounts_add(w, ORR_STARTING, (wide)w->count[ROLE_STARTING] * dt, (wide)w->rate[ROLE_STARTING] * dt);
	accounts_add(w, ORR_IDLE, (wide)w->count[ROLE_IDLE] * dt, (wide)w->rate[ROLE_IDLE] * dt);
	w->live_ns += (wide)(w->live[0] + w->live[1]) * dt;
	w->on_demand_ns += (wide)w->live[1] * dt;
	w->spent += total_rate(w) * dt;
	w->accrued += dt;
}

void accounts_accrue(struct orr_spot *w, int64_t t)
{
	int64_t dt = t - w->accrued;
	if (dt <= 0)
		return;
	wide ns = (wide)w->count[ROLE_OWNER] * dt, usd = (wide)w->rate[ROLE_OWNER] * dt;
	if (w->steps.is_in_flight) {
		w->steps.bucket_ns += ns;
		w->steps.bucket_usd += usd;
	} else {
		accounts_add(w, w->pause, ns, usd);
	}
	accounts_pass(w, dt);
}

double wide_usd(wide money)
{
	return (double)money / 3600e9 / 1e9;
}

double wide_seconds(wide ns)
{
	return (double)ns / 1e9;
}

void orr_pause_as(struct orr_spot *w, enum orr_account account)
{
	if (!spot_may_act(w, "orr_pause_as()"))
		return;
	if (account != ORR_CHECKPOINT && account != ORR_RESTART && account != ORR_RECONFIGURE && account != ORR_IDLE)
		spot_fail(w, ORR_EFAIL, NULL, "orr_pause_as(%d): expected ORR_CHECKPOINT, ORR_RESTART, ORR_RECONFIGURE or ORR_IDLE", (int)account);
	else
		w->pause = account;
}

void orr_egress(struct orr_spot *w, double bytes)
{
	if (!spot_may_act(w, "orr_egress()"))
		return;
	if (!(bytes >= 0 && bytes < 1e30))
		spot_fail(w, ORR_EFAIL, NULL, "orr_egress(): %g bytes; expected 0 or more", bytes);
	else
		accounts_charge(w, ORR_EGRESS, (wide)(bytes * w->egress_per_byte) * 3600 * 1000000000);
}
