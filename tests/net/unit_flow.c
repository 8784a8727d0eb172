/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_flow.c - flows that share links: closed forms, and the incremental solver against progressive filling from scratch
 * on random small networks
 *
 * Expected values: arithmetic next to each case; else tests/net/flow_model.c, which recomputes every rate at every event by
 * raising all rates together until a link is full (Bertsekas and Gallager, Data Networks, 2nd ed., 6.5.2).
 */
#include "tests/net/flow_model.h"
#include "tests/net/flow_peek.h"
#include "tests/tap.h"

#include "base/rng.h"
#include "net/flow.h"

#include <stdlib.h>
#include <time.h>

static void run_to_end(struct flownet *f, double *finish)
{
	uint64_t tag;
	double t;
	while ((t = flownet_next(f)) < INFINITY) {
		flownet_advance(f, t);
		while (flownet_pop(f, &tag, &t))
			finish[tag] = t;
	}
}

/* Tests two flows on a link of 10 B/s. Each gets 5 B/s until the shorter one ends at 2 s. Then the other gets 10 B/s, so 10 + 20 B
 * take 3 s. */
static void two_flows_on_one_link(void)
{
	struct flow_link link = { 10, 0 };
	struct flow_hop hop = { 0, 1 };
	double finish[2];
	struct flownet *f = flownet_new(&link, 1, FLOW_MAX_MIN);
	flownet_start(f, 10, 0, &hop, 1, 0);
	uint32_t b = flownet_start(f, 20, 0, &hop, 1, 1);
	near_to(flownet_rate(f, b), 5, 0, "two flows on a link get half of it each");
	near_to(flownet_link_rate(f, 0), 10, 0, "two flows fill the link");
	run_to_end(f, finish);
	near_to(finish[0], 2, 1e-15, "the shorter ends when it has sent its bytes at half the rate");
	near_to(finish[1], 3, 1e-15, "after the shorter flow the longer one has the link alone");
	near_to(flownet_link_bytes(f, 0), 30, 1e-15, "the link has carried the bytes of both");
	flownet_free(f);
}

/* Tests the parking lot: a and b share link 1 of 10 B/s (5 each); a and c share link 2 of 20 B/s, so c gets 15. */
static void parking_lot(void)
{
	struct flow_link link[] = { { 10, 0 }, { 20, 0 } };
	struct flow_hop both[] = { { 0, 1 }, { 1, 1 } };
	struct flownet *f = flownet_new(link, 2, FLOW_MAX_MIN);
	uint32_t a = flownet_start(f, 100, 0, both, 2, 0), b = flownet_start(f, 100, 0, both, 1, 1);
	uint32_t c = flownet_start(f, 100, 0, both + 1, 1, 2);
	ok(flownet_rate(f, a) == 5 && flownet_rate(f, b) == 5 && flownet_rate(f, c) == 15,
		"parking lot: flows limited elsewhere leave the rest to others");
	flownet_cancel(f, b);
	ok(flownet_rate(f, a) == 10 && flownet_rate(f, c) == 10, "a cancelled flow gives its share back");
	flownet_set_capacity(f, 1, 4);
	ok(flownet_rate(f, a) == 2 && flownet_rate(f, c) == 2, "a link that shrinks slows down all its flows");
	flownet_set_capacity(f, 1, 0);
	ok(flownet_rate(f, a) == 0 && flownet_next(f) == INFINITY, "nothing moves over a link without capacity");
	flownet_advance(f, 7);
	flownet_set_capacity(f, 1, 40);
	double finish[3] = { 0 };
	run_to_end(f, finish);
	/* Flow a has 10 B/s on link 0 and sends 100 B from 7 s on; flow c has 30 B/s. */
	near_to(finish[0], 17, 1e-15, "a stalled flow continues when the link is back");
	near_to(finish[2], 7 + 100. / 30, 1e-15, "a flow beside the stalled one continues at its rate");
	flownet_free(f);
}

/* Weights 1 and 1/2 give 2/3 and 1/3 of 9 B/s. On 12 B/s, flows with loads of 2 and 1 get 4 B/s each. */
static void weights_and_loads(void)
{
	struct flow_link link[] = { { 9, 1 }, { 1000, 1 }, { 12, 0 } };
	struct flow_hop route[] = { { 0, 1 }, { 1, 1 } }, twice = { 2, 2 }, once = { 2, 1 };
	struct flownet *f = flownet_new(link, 3, FLOW_RTT_WEIGHTED);
	uint32_t a = flownet_start(f, 100, 0, route, 1, 0), b = flownet_start(f, 100, 0, route, 2, 1);
	ok(flownet_rate(f, a) == 0, "a flow has no rate during its latency");
	flownet_advance(f, 1);
	near_to(flownet_rate(f, a), 9, 1e-15, "the first to drain has the link alone");
	flownet_advance(f, 2);
	near_to(flownet_rate(f, a), 6, 1e-15, "RTT-weighted: half the latency, twice the share");
	near_to(flownet_rate(f, b), 3, 1e-15, "twice the latency, half the share");
	uint32_t c = flownet_start(f, 8, 0, &twice, 1, 2), d = flownet_start(f, 8, 0, &once, 1, 3);
	ok(flownet_rate(f, c) == 4 && flownet_rate(f, d) == 4, "a load of 2 counts as two flows of one rate");
	near_to(flownet_link_rate(f, 2), 12, 1e-15, "a load of 2 takes twice the flow's rate of the link");
	flownet_free(f);
}

static void the_odd_cases(void)
{
	struct flow_link link = { 10, 0.5 };
	struct flow_hop hop = { 0, 1 };
	struct flownet *f = flownet_new(&link, 1, FLOW_MAX_MIN);
	double finish[4] = { -1, -1, -1, -1 }, t;
	uint64_t tag;
	ok(flownet_next(f) == INFINITY, "an empty network has no next event");
	flownet_start(f, 5, 0, NULL, 0, 0);
	ok(flownet_next(f) == 0, "a flow without links ends as it starts");
	flownet_advance(f, 0);
	ok(flownet_pop(f, &tag, &t) && tag == 0 && t == 0, "a flow without links is reported at once");
	flownet_start(f, 0, 0.25, &hop, 1, 1);
	uint32_t gone = flownet_start(f, 1, 0, &hop, 1, 2);
	flownet_start(f, 10, 0, &hop, 1, 3);
	ok(flownet_active(f) == 3, "three flows are in flight");
	flownet_cancel(f, gone);
	ok(flownet_active(f) == 2, "two flows are in flight after one is cancelled during its latency");
	run_to_end(f, finish);
	ok(finish[1] == 0.75, "a flow without bytes takes its latency alone");
	ok(finish[2] == -1, "a cancelled flow is not reported");
	ok(finish[3] == 1.5, "latency first, then the bytes");
	/* At a time of 1.5e9 s, one ulp corresponds to more than a byte at 1e9 B/s. */
	flownet_advance(f, 1.5e9);
	flownet_set_capacity(f, 0, 1e9);
	for (uint64_t i = 0; i < 4; i++)
		flownet_start(f, (double)i * 1e-3, 0, &hop, 1, i);
	run_to_end(f, finish);
	ok(finish[3] == 1.5e9 + 0.5 && flownet_active(f) == 0, "late in a run small flows still end");
	flownet_free(f);
}

/* Tests that equal flows that start together end together, in the order of start. */
static void ends_are_in_order(void)
{
	struct flow_link link[20];
	struct flownet *f;
	bool is_ordered = true;
	uint64_t tag, n = 0;
	double t, last = 0;
	for (int i = 0; i < 20; i++)
		link[i] = (struct flow_link){ 7e9 / 3, 0 };
	f = flownet_new(link, 20, FLOW_MAX_MIN);
	for (uint32_t i = 0; i < 100; i++) {
		struct flow_hop hop[] = { { i * 7 % 10, 1 }, { 10 + i * 7 / 10 % 10, 1 } };
		flownet_start(f, 1e6, 0, hop, 2, i);
	}
	while ((t = flownet_next(f)) < INFINITY) {
		flownet_advance(f, t);
		for (; flownet_pop(f, &tag, &t); n++) {
			is_ordered &= tag == n && (n == 0 || t == last);
			last = t;
		}
	}
	ok(n == 100 && is_ordered, "equal flows end at one instant, in the order of their start");
	flownet_free(f);
}

/* ---- against the model ---- */

static double pick_capacity(struct rng *r)
{
	static const double some[] = { 0, 1, 1, 2, 5, 10, 1e-3, 1e6 };
	uint64_t i = rng_below(r, 12);
	return i < 8 ? some[i] : rng_uniform(r) * 10;
}

static double pick_time(struct rng *r)
{
	return rng_below(r, 2) ? (double)rng_below(r, 5) : rng_uniform(r) * 5;
}

/* Makes an incast: most flows use one common link, and each flow has another link, which is faster in most cases. */
static void make_incast(struct model *m, struct rng *r)
{
	m->n_links = MODEL_LINKS;
	for (uint32_t i = 0; i < m->n_links; i++)
		m->link[i] = (struct flow_link){ 1 + (double)rng_below(r, 9) * (i ? 10 : 1), m->is_weighted ? rng_uniform(r) : 0 };
	for (uint32_t i = 0; i < m->n_flows; i++) {
		uint32_t sender = 1 + (uint32_t)rng_below(r, MODEL_LINKS - 1);
		m->flow[i].n_hops = rng_below(r, 12) ? 2 : 1;
		m->flow[i].hop[0] = (struct flow_hop){ sender, 1 };
		m->flow[i].hop[1] = (struct flow_hop){ 0, 1 + (uint32_t)rng_below(r, 2) };
		m->flow[i].start /= 4;
	}
}

static void make_case(struct model *m, struct rng *r)
{
	memset(m, 0, sizeof *m);
	m->is_weighted = rng_below(r, 2);
	m->n_links = 1 + (uint32_t)rng_below(r, MODEL_LINKS);
	bool has_zero = !rng_below(r, 4), has_latency = m->is_weighted || rng_below(r, 2);
	for (uint32_t i = 0; i < m->n_links; i++) {
		do
			m->link[i].capacity_Bps = pick_capacity(r);
		while (!has_zero && m->link[i].capacity_Bps == 0);
		m->link[i].latency_s = has_latency && rng_below(r, 3) ? rng_uniform(r) : 0;
	}
	m->n_flows = 1 + (uint32_t)rng_below(r, MODEL_FLOWS);
	for (uint32_t i = 0; i < m->n_flows; i++) {
		struct model_flow *x = &m->flow[i];
		x->start = pick_time(r);
		x->bytes = rng_below(r, 2) ? (double)rng_below(r, 4) : rng_uniform(r) * 10;
		x->cancel = rng_below(r, 6) ? INFINITY : x->start + rng_uniform(r);
		x->n_hops = (uint32_t)rng_below(r, (m->n_links < 5 ? m->n_links : 5) + 1);
		uint32_t first = (uint32_t)rng_below(r, m->n_links);
		for (uint32_t h = 0; h < x->n_hops; h++)
			x->hop[h] = (struct flow_hop){ (first + h) % m->n_links, rng_below(r, 4) ? 1 : 1 + (uint32_t)rng_below(r, 4) };
	}
	if (!rng_below(r, 3))
		make_incast(m, r);
	m->n_changes = (uint32_t)rng_below(r, MODEL_CHANGES + 1);
	for (uint32_t i = 0; i < m->n_changes; i++)
		m->change[i] = (struct model_change){ rng_uniform(r) * 6, (uint32_t)rng_below(r, m->n_links), pick_capacity(r) };
}

/* State of a replay, which applies the model's events to the flownet. */
struct replay {
	const struct model *m;
	struct flownet *f;
	uint32_t handle[MODEL_FLOWS];
	double finish[MODEL_FLOWS];
	unsigned long wrong_order;
};

static double next_input(const struct model *m, double now)
{
	double t = INFINITY;
	for (uint32_t i = 0; i < m->n_flows; i++) {
		if (m->flow[i].start > now)
			t = fmin(t, m->flow[i].start);
		if (m->flow[i].cancel > now)
			t = fmin(t, m->flow[i].cancel);
	}
	for (uint32_t i = 0; i < m->n_changes; i++)
		if (m->change[i].t > now)
			t = fmin(t, m->change[i].t);
	return t;
}

static void apply_inputs(struct replay *p, double t)
{
	const struct model *m = p->m;
	for (uint32_t i = 0; i < m->n_changes; i++)
		if (m->change[i].t == t)
			flownet_set_capacity(p->f, m->change[i].link, m->change[i].capacity);
	for (uint32_t i = 0; i < m->n_flows; i++) {
		if (m->flow[i].start == t)
			p->handle[i] = flownet_start(p->f, m->flow[i].bytes, 0, m->flow[i].hop, m->flow[i].n_hops, i);
		if (m->flow[i].cancel == t && p->finish[i] == INFINITY) {
			flownet_cancel(p->f, p->handle[i]);
			p->finish[i] = NAN;
		}
	}
}

static void collect(struct replay *p)
{
	uint64_t tag;
	double t;
	while (flownet_pop(p->f, &tag, &t)) {
		p->wrong_order += t != flownet_now(p->f) || p->finish[tag] != INFINITY;
		p->finish[tag] = t;
	}
}

static bool replay_case(const struct model *m, unsigned long *bad_rates, char *why, size_t n_why)
{
	struct replay p = { .m = m };
	struct orr_error err = { 0 };
	bool is_good = true;
	p.f = flownet_new(m->link, m->n_links, m->is_weighted ? FLOW_RTT_WEIGHTED : FLOW_MAX_MIN);
	for (uint32_t i = 0; i < m->n_flows; i++)
		p.finish[i] = INFINITY;
	double input = next_input(m, -1), next;
	while ((next = fmin(input, flownet_next(p.f))) < INFINITY) {
		flownet_advance(p.f, next);
		collect(&p);
		if (next == input) {
			apply_inputs(&p, input);
			input = next_input(m, input);
		}
		if (!flownet_verify(p.f, &err) && is_good) {
			is_good = false;
			snprintf(why, n_why, "%s", err.text);
		}
	}
	for (uint32_t i = 0; i < m->n_flows; i++) {
		double want = m->flow[i].finish, got = p.finish[i];
		bool same = isnan(want) ? isnan(got) : want == got || fabs(got - want) <= 1e-9 * want;
		if (!same && is_good)
			snprintf(why, n_why, "flow %u ends at %.17g, the model's at %.17g", i, got, want);
		*bad_rates += !same;
		is_good &= same;
	}
	is_good &= !p.wrong_order;
	flownet_free(p.f);
	return is_good;
}

static void random_networks(void)
{
	struct rng r;
	unsigned cases = getenv("ORR_SANITIZED") ? 500 : 4000, bad = 0;
	unsigned long flows = 0, wrong = 0;
	struct model m;
	char why[800];
	rng_init(&r, 3, "flows", 0);
	for (unsigned i = 0; i < cases; i++) {
		make_case(&m, &r);
		model_run(&m);
		flows += m.n_flows;
		if (!replay_case(&m, &wrong, why, sizeof why) && bad++ < 5)
			printf("# case %u: %s\n", i, why);
	}
	ok(!bad, "%u random networks: every end within 1e-9 of filling from scratch (%lu of %lu flows differ, %u networks bad)", cases,
		wrong, flows, bad);
}

/* ---- larger networks, and many flows ---- */

/* Simulates networks of hosts, leaves and spines with loads and weights. At every instant each flow must have a bottleneck, which
 * certifies max-min fairness. At the end the bytes of each link are checked. Wide changes use other code paths of the solver. */
static bool churn(struct rng *r, uint32_t hosts, bool is_weighted, bool has_waves)
{
	enum { FLOWS = 600 };
	struct flow_link link[256];
	struct orr_error err = { 0 };
	double sent[256] = { 0 }, t;
	uint32_t n_links = 2 * hosts + 2 * hosts / 4, started = 0, ended = 0;
	uint64_t tag;
	bool is_good = true;
	for (uint32_t i = 0; i < n_links; i++)
		link[i] = (struct flow_link){ 1e9 * (double)(1 + rng_below(r, 4)), is_weighted ? 1e-6 * (double)(1 + rng_below(r, 3)) : 0 };
	struct flownet *f = flownet_new(link, n_links, is_weighted ? FLOW_RTT_WEIGHTED : FLOW_MAX_MIN);
	double next_start = 0;
	while (ended < FLOWS && is_good) {
		t = fmin(started < FLOWS ? next_start : INFINITY, flownet_next(f));
		flownet_advance(f, t);
		while (flownet_pop(f, &tag, &t))
			ended++;
		for (uint32_t k = 0; started < FLOWS && flownet_now(f) >= next_start && k < (has_waves ? 200u : 1u); k++) {
			uint32_t src = (uint32_t)rng_below(r, hosts), dst = (uint32_t)rng_below(r, hosts),
				 load = 1 + (uint32_t)rng_below(r, 2);
			struct flow_hop hop[] = { { src, 1 }, { 2 * hosts + src / 4, load }, { 2 * hosts + hosts / 4 + dst / 4, load },
				{ hosts + dst, 1 } };
			bool is_far = src / 4 != dst / 4;
			if (!is_far)
				hop[1] = hop[3];
			double bytes = floor(rng_exponential(r, 1e6));
			flownet_start(f, bytes, 0, hop, is_far ? 4 : 2, started++);
			for (uint32_t h = 0; h < (is_far ? 4u : 2u); h++)
				sent[hop[h].link] += bytes * hop[h].load;
		}
		if (flownet_now(f) >= next_start)
			next_start = flownet_now(f) + rng_exponential(r, has_waves ? 3e-3 : 1e-5);
		is_good = flownet_verify(f, &err);
	}
	if (!is_good)
		printf("# %s\n", err.text);
	for (uint32_t i = 0; i < n_links; i++)
		is_good &= fabs(flownet_link_bytes(f, i) - sent[i]) <= 1e-9 * sent[i];
	flownet_free(f);
	return is_good;
}

static void larger_networks(void)
{
	unsigned bad = 0, cases = getenv("ORR_SANITIZED") ? 8 : 40;
	struct rng r;
	rng_init(&r, 3, "churn", 0);
	for (unsigned i = 0; i < cases; i++)
		bad += !churn(&r, i & 4 ? 8 : 64, i & 1, i & 2);
	ok(!bad, "larger networks: at every instant each flow has a bottleneck, each link carries its flows' bytes (%u of %u bad)", bad,
		cases);
}

/* Tests that a group whose clock ran for a long time at a high level stays exact at a low level. The fast link is cut to 2 B/s;
 * 1000/3 bytes at 1 B/s must take 1000/3 s within 1e-9. */
static void clocks_keep_their_digits(void)
{
	struct flow_link link = { 1e9, 0 };
	struct flow_hop hop = { 0, 1 };
	struct flownet *f = flownet_new(&link, 1, FLOW_MAX_MIN);
	double t, last = 0;
	uint64_t tag;
	flownet_start(f, 1e15 / 3, 0, &hop, 1, 0);
	for (int i = 0; i < 1000; i++) {
		flownet_start(f, 1e9 / 7, 0, &hop, 1, 1);
		flownet_advance(f, flownet_now(f) + 300);
		while (flownet_pop(f, &tag, &t))
			last = t;
	}
	flownet_start(f, 1000. / 3, 0, &hop, 1, 2);
	flownet_set_capacity(f, 0, 2);
	double begun = flownet_now(f);
	while (tag != 2 && (t = flownet_next(f)) < INFINITY) {
		flownet_advance(f, t);
		while (flownet_pop(f, &tag, &t))
			last = t;
	}
	near_to((last - begun) / 1000, 1. / 3, 1e-9, "a clock that ran for long at a high level is exact at a low one");
	flownet_free(f);
}

/* n senders with a link each send s, 2s, .., ns bytes from time 0 to one receiver of C B/s. When the k-th flow ends, earlier flows
 * have sent all their bytes, and each later one as many as the k-th. So t_k = s (k (k + 1) / 2 + (n - k) k) / C. The test also limits
 * the run time: if each end cost work per active flow, n = 20,000 would take above 10 s (measured: 0.02 s). */
static void a_crowd_at_one_link(void)
{
	enum { SENDERS = 20000 };
	struct flow_link *link = calloc(SENDERS + 1, sizeof *link);
	double t, worst = 0;
	uint64_t k, n_ended = 0;
	for (int i = 0; i <= SENDERS; i++)
		link[i] = (struct flow_link){ 1e9, 0 };
	struct flownet *f = flownet_new(link, SENDERS + 1, FLOW_MAX_MIN);
	clock_t begun = clock();
	for (uint32_t i = 1; i <= SENDERS; i++)
		flownet_start(f, 1000. * i, 0, (struct flow_hop[]){ { i, 1 }, { 0, 1 } }, 2, i);
	while ((t = flownet_next(f)) < INFINITY) {
		flownet_advance(f, t);
		for (; flownet_pop(f, &k, &t); n_ended++) {
			double want = 1000. * (double)k * ((double)k + 1 + 2 * (SENDERS - (double)k)) / 2 / 1e9;
			worst = fmax(worst, fabs(t - want) / want);
		}
	}
	ok(n_ended == SENDERS && worst < 1e-12, "20,000 senders, one receiver: ends by the closed form (off by %.1e)", worst);
	ok((double)(clock() - begun) / CLOCKS_PER_SEC < 4, "the end of a flow costs no work per active flow");
	flownet_free(f);
	free(link);
}

void *__real_mem_alloc(size_t size);
void *__real_mem_zalloc(size_t count, size_t size);
void *__real_mem_realloc(void *p, size_t count, size_t size);
void *__wrap_mem_alloc(size_t size);
void *__wrap_mem_zalloc(size_t count, size_t size);
void *__wrap_mem_realloc(void *p, size_t count, size_t size);
static unsigned long allocations;

void *__wrap_mem_alloc(size_t size)
{
	allocations++;
	return __real_mem_alloc(size);
}
void *__wrap_mem_zalloc(size_t count, size_t size)
{
	allocations++;
	return __real_mem_zalloc(count, size);
}
void *__wrap_mem_realloc(void *p, size_t count, size_t size)
{
	allocations++;
	return __real_mem_realloc(p, count, size);
}

/* Runs rounds of the same 240 flows on a star of 16: after some rounds all arrays must have their final size. */
static void steady_state_allocates_nothing(void)
{
	struct flow_link link[32];
	for (int i = 0; i < 32; i++)
		link[i] = (struct flow_link){ 1e9, 1e-6 };
	struct flownet *f = flownet_new(link, 32, FLOW_MAX_MIN);
	unsigned long before = 0;
	uint64_t tag;
	double t;
	for (int round = 0; round < 50; round++) {
		if (round == 10)
			before = allocations;
		for (uint32_t i = 0; i < 256; i++) {
			struct flow_hop hop[] = { { i / 16, 1 }, { 16 + i % 16, 1 } };
			if (i / 16 != i % 16)
				flownet_start(f, 1000 + (double)(i * 7919 % 1000), 0, hop, 2, i);
		}
		while ((t = flownet_next(f)) < INFINITY) {
			flownet_advance(f, t);
			while (flownet_pop(f, &tag, &t))
				;
		}
	}
	ok(before > 0 && allocations == before, "flows that come and go allocate nothing once the arrays have grown (%lu)",
		allocations - before);
	flownet_free(f);
}

int main(void)
{
	two_flows_on_one_link();
	parking_lot();
	weights_and_loads();
	the_odd_cases();
	ends_are_in_order();
	random_networks();
	larger_networks();
	clocks_keep_their_digits();
	a_crowd_at_one_link();
	steady_state_allocates_nothing();
	return done();
}
