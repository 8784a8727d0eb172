/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The candidate with most tokens of the prompt in its prefix cache; ties: fewest live requests. With load_factor > 0 the load is bounded
 * (Mirrokni, Thorup, Zadimoghaddam, "Consistent hashing with bounded loads", SODA 2018): candidates that would have more than
 * load_factor times the mean number of live requests, rounded up and with the new request, are left out.
 */
#include <orrery/router.h>

#include <math.h>

static const struct orr_param params[] = {
	ORR_PARAM_REAL("load_factor", "0", 0, 1e6,
		"largest number of live requests of a chosen replica, as a multiple of the mean; 0: no limit; else at least 1"),
	ORR_PARAM_END
};

struct state {
	double load_factor;
};

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w;
	double factor = orr_arg_real(args, "load_factor");
	if (factor > 0 && factor < 1) {
		orr_fail(err, ORR_EINPUT, "load_factor=%g: expected 0, or at least 1 (a smaller factor leaves out every replica)", factor);
		return NULL;
	}
	struct state *s = orr_alloc(1, sizeof *s);
	s->load_factor = factor;
	return s;
}

/* Returns the largest number of live requests, the new one included. */
static double limit(const struct state *s, const struct orr_serve *w, uint32_t model, uint32_t n)
{
	uint64_t live = 1;
	if (!(s->load_factor > 0))
		return INFINITY;
	for (uint32_t i = 0; i < n; i++)
		live += orr_replica_routed(w, orr_candidate(w, model, i));
	return ceil(s->load_factor * (double)live / n);
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	const uint64_t *hash;
	uint32_t model = orr_req_model(w, r), n = orr_candidates(w, model), best = ORR_NO_REPLICA, most = 0;
	if (!orr_req_hashes(w, r, &hash))
		return orr_candidate_least(w, model);
	double most_load = limit(self, w, model, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = orr_candidate(w, model, i), cached = orr_prefix_cached(w, x, r);
		bool is_tie = best != ORR_NO_REPLICA && cached == most;
		if (orr_replica_routed(w, x) + 1.0 > most_load)
			continue;
		if (best == ORR_NO_REPLICA || cached > most || (is_tie && orr_replica_routed(w, x) < orr_replica_routed(w, best))) {
			best = x;
			most = cached;
		}
	}
	return best;
}

static const struct orr_router_ops ops = { .create = create, .destroy = orr_free, .pick = pick };

ORR_ROUTER(prefix_aware, "most prompt tokens in the prefix cache, optionally with bounded load", params, ops);
