/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * account.h - GPU-time of jobs and replicas, by GPU type and over time, and its cost
 *
 * Most events change no GPU, so the accounts are updated only after changes of the pool.
 *
 * Invariant: up to `until_ns`, every ns of every GPU of a node that was up is in exactly one account. A GPU shared by jobs
 * counts as one GPU; `jobs_milli` counts the parts. A fenced GPU (world.h) is idle.
 */
#ifndef ORR_MIXED_ACCOUNT_H
#define ORR_MIXED_ACCOUNT_H

#include "cluster/ledger.h"
#include "cluster/pool.h"
#include "results/result.h"

enum account { BY_JOBS, BY_SERVE, IDLE, ACCOUNTS };

struct accounts {
	struct ledger gpu[CLUSTER_MAX_TYPES][ACCOUNTS]; /* only times; prices are applied at the end of the run */
	struct ledger jobs_milli;                       /* time and money of jobs, in units of 1/1000 GPU */
	struct ledger up;                               /* all GPUs of nodes that are up, counted separately */
	/* The accounts are complete up to until_ns. From then to seen_ns the GPUs were held as of_type[], milli and total say, which are
	 * valid until the pool changes. */
	int64_t until_ns, seen_ns;
	uint64_t pool_changes;
	uint32_t of_type[CLUSTER_MAX_TYPES][ACCOUNTS], n_types, total;
	int64_t milli;
	struct timeline held[ACCOUNTS];
};

/* GPUs held now, by type; all other GPUs that are not free belong to jobs. */
struct holding {
	const struct pool *pool;
	uint32_t serve[CLUSTER_MAX_TYPES], fenced[CLUSTER_MAX_TYPES];
	int64_t others_milli; /* GPUs of replicas and fences, 1/1000 GPU */
};

void accounts_begin(struct accounts *a);
/* Accounts for the time from the last call to t, during which h was valid. h may change only if h->pool->changes does. */
void accounts_until(struct accounts *a, int64_t t, const struct holding *h);
/* Completes the accounts up to the time of the last call. */
void accounts_end(struct accounts *a);
/* Call accounts_end() before the following. Adds metrics of hours and dollars, and series. usd_per_gpu_hour: by type; NULL or NAN: unknown,
 * so no dollars. */
void accounts_put(struct accounts *a, uint32_t n_types, const double *usd_per_gpu_hour, struct run_result *r);
/* Checks the accounts, also against the GPU-hours of the worlds (NULL: no such world). Returns NULL, or the error. */
const char *accounts_check(const struct accounts *a, uint32_t n_types, const struct run_result *of_jobs, const struct run_result *of_serve);

#endif
