/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_shared_link.c - a link shared equally: closed forms, and random flows against the general solver of net/flow.h
 */
#include "tests/tap.h"

#include "base/rng.h"
#include "net/flow.h"
#include "net/share.h"

#include <stdlib.h>
#include <time.h>

static void run_to_end(struct share *s, double *received)
{
	uint64_t tag;
	double t;
	while ((t = share_next(s)) < INFINITY && share_pop(s, t, &tag, &t))
		received[tag] = t;
}

/* Tests two flows on a link of 10 B/s. Each gets 5 B/s until the shorter one ends at 2 s; then the longer one has the link alone. Its
 * 10 + 20 B take 3 s. */
static void by_hand(void)
{
	double received[4];
	struct share *s = share_new(10, 0.5);
	share_start(s, 0, 10, 0);
	share_start(s, 0, 20, 1);
	ok(share_flows(s) == 2, "two flows drain");
	near_to(share_next(s), 2.5, 1e-15, "the shorter flow is received one latency after 10 bytes at half the rate");
	run_to_end(s, received);
	near_to(received[0], 2.5, 1e-15, "two flows: the shorter one");
	near_to(received[1], 3.5, 1e-15, "two flows: the longer one");
	near_to(share_bytes(s, 9), 30, 1e-15, "the link has carried the bytes of both");
	near_to(share_busy_s(s, 9), 3, 1e-15, "the link was busy while bytes drained");

	/* The second flow starts at 11.2 s. The first one (10 B from 10 to 11 s) has drained by then but is still in its latency. */
	share_start(s, 10, 10, 0);
	share_start(s, 11.2, 5, 1);
	run_to_end(s, received);
	near_to(received[0], 11.5, 1e-15, "a flow that has drained is not slowed by a later one");
	near_to(received[1], 12.2, 1e-15, "and does not slow it");

	/* At 20 s, a (10 B) and b (20 B) start. At 21 s each has drained 5 B. Then a is cancelled, and the other 15 B of b take 1.5 s. */
	uint32_t a = share_start(s, 20, 10, 2);
	share_start(s, 20, 20, 3);
	near_to(share_cancel(s, 21, a), 5, 1e-15, "a cancelled flow returns the bytes that it has not drained");
	received[2] = -1;
	run_to_end(s, received);
	near_to(received[3], 23, 1e-15, "the other flow has the link alone from then on");
	ok(received[2] < 0, "a cancelled flow is not received");

	/* The flow is cancelled after it has drained and before it is received. */
	a = share_start(s, 30, 10, 2);
	ok(share_cancel(s, 31.2, a) <= 0 && share_next(s) >= INFINITY, "a flow is cancelled on its way");
	share_start(s, 31.3, 0, 0);
	near_to(share_next(s), 31.8, 1e-15, "a flow without bytes takes the latency");
	run_to_end(s, received);
	same_text(share_verify(s) ? share_verify(s) : "none", "none", "no law is broken");
	share_free(s);
}

enum { FLOWS = 400 };

/* Compares random flows, in bursts, with equal and different sizes, with the general solver on one link. */
static void against_solver(uint64_t seed)
{
	struct rng rng;
	rng_init(&rng, seed, "share", 0);
	double capacity = 1 + 99 * rng_uniform(&rng), latency = seed % 3 ? rng_uniform(&rng) : 0, worst = 0, at = 0;
	struct flow_link link = { capacity, latency };
	struct flow_hop hop = { 0, 1 };
	struct flownet *f = flownet_new(&link, 1, FLOW_MAX_MIN);
	struct share *s = share_new(capacity, latency);
	double a[FLOWS], b[FLOWS];
	uint64_t tag;
	double t;
	bool is_sound = true;
	for (uint64_t i = 0; i < FLOWS; i++) {
		at += rng_below(&rng, 3) ? 0.4 * rng_exponential(&rng, 50 / capacity) : 0;
		double bytes = rng_below(&rng, 4) ? (double)(10 + rng_below(&rng, 5)) : 100 * rng_uniform(&rng);
		while (flownet_next(f) <= at)
			flownet_advance(f, flownet_next(f));
		flownet_advance(f, at);
		flownet_start(f, bytes, 0, &hop, 1, i);
		while (share_pop(s, at, &tag, &t))
			b[tag] = t;
		share_start(s, at, bytes, i);
		is_sound &= !share_verify(s);
	}
	while ((t = flownet_next(f)) < INFINITY)
		flownet_advance(f, t);
	while (flownet_pop(f, &tag, &t))
		a[tag] = t;
	run_to_end(s, b);
	for (int i = 0; i < FLOWS; i++)
		worst = fmax(worst, fabs(a[i] - b[i]) / a[i]);
	ok(worst < 1e-9 && is_sound, "seed %d: %d flows end as in the general solver (largest relative difference %.1e)", (int)seed, FLOWS,
		worst);
	share_free(s);
	flownet_free(f);
}

/* Returns the processor seconds of @count flows over a link at 95 % of its capacity, negative if one is lost. */
static double flows_cpu_s(uint64_t count)
{
	struct rng rng;
	rng_init(&rng, 1, "share", 0);
	struct share *s = share_new(1e6, 1e-3);
	uint64_t tag, received = 0;
	double at = 0, t;
	clock_t begin = clock();
	for (uint64_t i = 0; i < count; i++) {
		at += rng_exponential(&rng, 1e-3 / 0.95);
		for (; share_pop(s, at, &tag, &t); received++)
			;
		share_start(s, at, 1000, i);
	}
	for (; share_pop(s, INFINITY, &tag, &t); received++)
		;
	share_free(s);
	return received == count ? (double)(clock() - begin) / CLOCKS_PER_SEC : -1;
}

/* The work per flow must not grow with the number of flows. */
static void speed(void)
{
	enum { FEW = 100000, MANY = 1000000 };
	double few_s = flows_cpu_s(FEW), many_s = flows_cpu_s(MANY);
	ok(few_s > 0 && many_s > 0 && many_s < 20 * few_s,
		"ten times the flows over a link at 95 %% of its capacity take %.1f times as long, below 20", many_s / few_s);
}

int main(void)
{
	by_hand();
	for (uint64_t seed = 1; seed <= 12; seed++)
		against_solver(seed);
	speed();
	return done();
}
