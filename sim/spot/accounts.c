/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spot/accounts.h"

#define MAX_CHARGES 1e36 /* limit of 2.8e14 USD: together with the maximum cost of instances, sums do not overflow */

void accounts_charge(struct orr_spot *w, enum orr_account a, timeline_sum amount, uint64_t n)
{
	if ((double)amount * (double)n + (double)w->account[a].amount > MAX_CHARGES) {
		spot_fail(w, ORR_EFAIL, NULL,
			"charges other than for time exceed 2e14 USD: expected fewer bytes between zones, or a smaller "
			"spot.egress_usd_per_GB");
		return;
	}
	w->account[a].amount += amount * n;
	w->all.amount += amount * n;
}

timeline_sum accounts_egress(const struct orr_spot *w, double bytes)
{
	double nano_usd = bytes * w->egress_per_byte;
	return (timeline_sum)(nano_usd < 1e24 ? nano_usd : 1e24) * 3600 * 1000000000;
}

void accounts_charge_hour(struct orr_spot *w, const struct slot *s)
{
	const int64_t hour = 3600 * ORR_SECOND;
	int64_t over = (w->now - s->since) % hour;
	if (!over)
		return;
	w->used |= SPOT_USED_BILLING;
	accounts_charge(w, ORR_ROUNDING, ledger_product(s->price, hour - over), 1);
}

double wide_usd(timeline_sum amount)
{
	return ledger_usd(wide_double(amount));
}

double wide_seconds(timeline_sum ns)
{
	return wide_double(ns) / 1e9;
}

void orr_pause_as(struct orr_spot *w, enum orr_account account)
{
	if (!spot_may_act(w, "orr_pause_as()"))
		return;
	if (account != ORR_CHECKPOINT && account != ORR_RESTART && account != ORR_RECONFIGURE && account != ORR_IDLE)
		spot_fail(w, ORR_EFAIL, NULL, "orr_pause_as(%d): expected ORR_CHECKPOINT, ORR_RESTART, ORR_RECONFIGURE or ORR_IDLE",
			(int)account);
	else
		w->pause = account;
}

void orr_egress(struct orr_spot *w, double bytes)
{
	if (!spot_may_act(w, "orr_egress()"))
		return;
	if (!(bytes >= 0 && bytes < 1e30))
		spot_fail(w, ORR_EFAIL, NULL, "orr_egress(): expected 0 to 1e30 bytes, found %g", bytes);
	else
		accounts_charge(w, ORR_EGRESS, accounts_egress(w, bytes), 1);
	if (bytes > 0)
		w->used |= SPOT_USED_EGRESS;
}
