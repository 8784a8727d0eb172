/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where each second of each instance and each dollar goes. */
#include "spot/world.h"

#define MAX_CHARGES 1e36 /* 2.8e14 USD: with what instances can cost at most, the sums hold it */

void accounts_charge(struct orr_spot *w, enum orr_account a, wide usd, uint64_t n)
{
	if ((double)usd * (double)n + (double)w->account_usd[a] > MAX_CHARGES) {
		spot_fail(w, ORR_EFAIL, NULL,
			"more than 2e14 USD of charges that are not for time: too many bytes, or spot.egress_usd_per_GB is too high");
		return;
	}
	w->account_usd[a] += usd * n;
	w->spent += usd * n;
}

wide accounts_egress(const struct orr_spot *w, double bytes)
{
	double nano_usd = bytes * w->egress_per_byte;
	return (wide)(nano_usd < 1e24 ? nano_usd : 1e24) * 3600 * 1000000000;
}

double wide_usd(wide money)
{
	return wide_double(money) / 3600e9 / 1e9;
}

double wide_seconds(wide ns)
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
		spot_fail(w, ORR_EFAIL, NULL, "orr_egress(): %g bytes; expected 0 or more", bytes);
	else
		accounts_charge(w, ORR_EGRESS, accounts_egress(w, bytes), 1);
}
