/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * account.h - who held the GPUs, by type and over time, and what that cost
 *
 * Invariant: up to `until_ns`, every ns of every GPU of a node that was up is in exactly one account. A GPU that jobs share by parts
 * counts as theirs whole; `jobs_milli` counts the parts. A GPU kept free of a node that is about to go is idle.
 */
#ifndef ORR_MIXED_ACCOUNT_H
#define ORR_MIXED_ACCOUNT_H

#include "cluster/ledger.h"
#include "cluster/pool.h"
#include "results/result.h"

enum account { BY_JOBS, BY_SERVE, IDLE, ACCOUNTS };

struct accounts {
	struct ledger gpu[CLUSTER_MAX_TYPES][ACCOUNTS]; /* time alone: prices are applied at the end */
	struct ledger jobs_milli;                       /* in 1/1000 GPU */
	struct ledger up;                               /* all GPUs of nodes that are up, counted separately */
	int64_t until_ns;
	struct timeline held[ACCOUNTS];
};

/* What is held now, by GPU type; the rest is the jobs'. */
struct holding {
	const struct pool *pool;
	uint32_t serve[CLUSTER_MAX_TYPES], fenced[CLUSTER_MAX_TYPES];
	int64_t others_milli; /* replicas and what is kept free, in 1/1000 GPU */
};

void accounts_begin(struct accounts *a);
/* It was so from a->until_ns to t. */
void accounts_until(struct accounts *a, int64_t t, const struct holding *h);
/* Metrics of hours and, where prices are known, of dollars (usd_per_gpu_hour by type, NULL or NAN: not known), and series. */
void accounts_put(struct accounts *a, uint32_t n_types, const double *usd_per_gpu_hour, struct run_result *r);
/* NULL, or what is wrong: the accounts, and the GPU-hours that the worlds found themselves (NULL: no such world). */
const char *accounts_check(const struct accounts *a, uint32_t n_types, const struct run_result *of_jobs, const struct run_result *of_serve);

#endif
