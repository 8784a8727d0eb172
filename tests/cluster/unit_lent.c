/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests random instances of a capacity source against a plain array that is searched from the front. Compared are the known instances
 * and, for a node of each type, the longest waiting instance.
 */
#include "cluster/lent.h"

#include "base/rng.h"
#include "tests/tap.h"

enum { MOST = 3000, TYPES = 3 };

struct known {
	bool is_known, waits;
	uint32_t gpu_type, zone;
	uint64_t waits_since;
};

static struct known known[MOST];

/* Returns the index of the longest waiting instance that fits a node of the type; MOST: none. Instances of any type, like those of
 * one type, are numbered in order of addition. */
static uint32_t longest(uint32_t type)
{
	uint32_t best = MOST;
	for (uint32_t i = 0; i < MOST; i++)
		if (known[i].waits && (known[i].gpu_type == type || known[i].gpu_type == UINT32_MAX) &&
			(best == MOST || known[i].waits_since < known[best].waits_since))
			best = i;
	return best;
}

static void at_random(uint64_t seed, uint32_t spread)
{
	struct lent l;
	struct rng r;
	uint32_t next = 0, n_waiting = 0, n_known = 0;
	bool is_right = true;
	lent_init(&l, TYPES);
	rng_init(&r, seed, "lent", 0);
	memset(known, 0, sizeof known);
	while (next < MOST) {
		uint32_t type = (uint32_t)rng_below(&r, TYPES), i = (uint32_t)rng_below(&r, next + 1), want;
		struct lent_instance *x;
		switch (rng_below(&r, 4)) {
		case 0:
		case 1: /* adds a new instance, which waits */
			x = lent_get(&l, next * spread);
			is_right = is_right && x->number == next * spread && x->node == UINT32_MAX && !x->is_there && !x->zone;
			x->is_there = true;
			x->zone = next + 1;
			x->gpu_type = rng_below(&r, 4) ? type : UINT32_MAX;
			known[next] = (struct known){ true, true, x->gpu_type, next + 1, next };
			lent_wait(&l, x);
			next++, n_waiting++, n_known++;
			break;
		case 2: /* one ends */
			if (!known[i].is_known)
				break;
			lent_drop(&l, i * spread);
			n_waiting -= known[i].waits, n_known--;
			known[i] = (struct known){ 0 };
			break;
		default: /* gives a node to one instance */
			want = longest(type);
			x = lent_next_waiting(&l, type);
			is_right = is_right && (x ? x->number == want * spread && x->zone == want + 1 : want == MOST);
			if (x && is_right) {
				x->node = 5;
				known[want].waits = false;
				n_waiting--;
			}
		}
		is_right = is_right && l.waiting == n_waiting && l.n == n_known;
	}
	for (uint32_t i = 0; i < MOST; i++)
		if (known[i].is_known) {
			const struct lent_instance *x = lent_get(&l, i * spread);
			is_right = is_right && x->zone == i + 1 && x->gpu_type == known[i].gpu_type && l.n == n_known;
		}
	ok(is_right, "instances with numbers %u apart: the result equals that of an array", spread);
	lent_drop(&l, MOST * spread);
	ok(l.n == n_known, "dropping an unknown instance changes nothing");
	lent_free(&l);
}

int main(void)
{
	at_random(1, 1);
	at_random(2, 64);
	at_random(3, 65537);
	return done();
}
