/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges of unequal messages, times by lane, in the step world. Expected values by hand. */
#include "tests/step/call_policy.h"
#include "tests/tap.h"

static const double three[9] = { 0, 3e9, 1e9, 2e9, 0, 0, 1e9, 4e9, 0 };
static uint32_t number, times;
static orr_op before;

static void declare(struct orr_step *s)
{
	number = orr_step_messages(s, 3, three, 0.5);
	before = 0;
}

static void exchange(struct orr_step *s)
{
	static const uint32_t member[3] = { 0, 1, 2 };
	orr_op op = orr_exchange(s, &(struct orr_group){ member, 3 }, number);
	orr_after(s, op, before);
	before = op;
}

static double run(void (*c)(struct orr_step *), void (*b)(struct orr_step *), const char *cluster, const char *set, struct orr_error *err)
{
	struct fixture *f = fixture_new(cluster, "star:bw=1GBps,lat=0,gpu_bw=4GBps,gpu_lat=0", "lenet5", 1);
	struct step_result r;
	double seconds = NAN;
	create_now = c;
	build_now = b;
	fixture_set(f, "iterations=3");
	if (*set)
		fixture_set(f, set);
	if (!fixture_run(f, call_policy(), "", &r, err)) {
		seconds = r.iteration_s;
		step_result_free(&r);
	}
	fixture_free(f);
	return seconds;
}

/* Lanes 0..3 of one position; groups of two lanes exchange after computing for 1, 2, 3, 4 s. */
static void declare_lanes(struct orr_step *s)
{
	static const uint32_t map[4] = { 0, 1, 2, 3 };
	static const double seconds[4] = { 1, 2, 3, 4 }, two[4] = { 0, 1e9, 2e9, 0 };
	orr_step_lanes(s, 4, 1, map);
	times = orr_step_lane_seconds(s, seconds);
	number = orr_step_messages(s, 2, two, 0);
	before = 0;
}

static void build_lanes(struct orr_step *s)
{
	orr_op work = orr_compute_lanes(s, 0, ORR_FORWARD, times), op = orr_exchange_lanes(s, 0, 2, 1, number);
	orr_after(s, work, before);
	orr_after(s, op, work);
	before = op;
}

static void declare_equal(struct orr_step *s)
{
	static const uint32_t map[4] = { 0, 1, 2, 3 };
	static const double seconds[4] = { 3, 3, 3, 3 }, two[4] = { 0, 1e9, 1e9, 0 };
	orr_step_lanes(s, 4, 1, map);
	times = orr_step_lane_seconds(s, seconds);
	number = orr_step_messages(s, 2, two, 0);
	before = 0;
}

static void wrong_number(struct orr_step *s)
{
	static const uint32_t member[3] = { 0, 1, 2 };
	orr_exchange(s, &(struct orr_group){ member, 3 }, 7);
}

static void wrong_size(struct orr_step *s)
{
	static const uint32_t member[2] = { 0, 1 };
	orr_exchange(s, &(struct orr_group){ member, 2 }, number);
}

static void late(struct orr_step *s)
{
	orr_step_messages(s, 3, three, 0);
}

static void negative(struct orr_step *s)
{
	static const double bytes[4] = { 0, -1, 0, 0 };
	orr_step_messages(s, 2, bytes, 0);
}

static void without_lanes(struct orr_step *s)
{
	static const double seconds[1] = { 1 };
	orr_step_lane_seconds(s, seconds);
}

static void wrong_times(struct orr_step *s)
{
	orr_compute_lanes(s, 0, ORR_FORWARD, 3);
}

static void check_error(void (*c)(struct orr_step *), void (*b)(struct orr_step *), const char *set, const char *text)
{
	struct orr_error err = { 0 };
	double seconds = run(c, b, "4x1:v100", set, &err);
	ok(isnan(seconds) && strstr(err.text, text), "refused: %s", err.text);
}

/* Two nodes of four GPUs; GPU i sends (i + 1) x 1e6 bytes to each GPU of the other node. */
static void declare_rails(struct orr_step *s)
{
	double bytes[64] = { 0 };
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t j = 0; j < 8; j++)
			bytes[8 * i + j] = i / 4 == j / 4 ? 0 : (i + 1) * 1e6;
	number = orr_step_messages(s, 8, bytes, 0);
	before = 0;
}

static void build_rails(struct orr_step *s)
{
	static const uint32_t member[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	orr_op op = orr_exchange(s, &(struct orr_group){ member, 8 }, number);
	orr_after(s, op, before);
	before = op;
}

/* With PXN every NIC of a node sends what the node's GPUs have for the other node's GPU of its rail: node 0: 1 + 2 + 3 + 4 = 10e6 bytes,
 * node 1: 5 + 6 + 7 + 8 = 26e6. Without it a NIC sends what its GPU has for all: 4 x 1e6 .. 4 x 8e6, and 3/4 of that crosses the spine. */
static void check_rails(void)
{
	for (int pxn = 0; pxn < 2; pxn++) {
		struct fixture *f =
			fixture_new("2x4:v100", "leaf-spine:bw=10GBps,lat=0,nics=4,rails=true,gpu_bw=100GBps,gpu_lat=0", "lenet5", 1);
		struct step_result r;
		struct orr_error err = { 0 };
		double spine = 0, nic[9] = { 0 };
		uint32_t n = 0;
		create_now = declare_rails;
		build_now = build_rails;
		fixture_set(f, "iterations=3");
		fixture_set(f, "nic_efficiency=1");
		fixture_set(f, pxn ? "pxn=true" : "pxn=false");
		f->config.link_use = true;
		if (fixture_run(f, call_policy(), "", &r, &err)) {
			ok(false, "%s", err.text);
			fixture_free(f);
			continue;
		}
		for (size_t l = 0; l < r.n_links; l++) {
			const char *name = f->topo->link[l].name;
			spine += strstr(name, "spine") ? r.link[l].bytes_per_s * r.iteration_s : 0;
		}
		for (uint32_t g = 0; g < 8; g++) {
			uint32_t out = topo_nic(f->topo, g, true);
			nic[n++] = out < r.n_links ? r.link[out].bytes_per_s * r.iteration_s : NAN;
		}
		for (uint32_t g = 0; g < 8; g++) {
			double want = pxn ? (g < 4 ? 10e6 : 26e6) : 4 * (g + 1) * 1e6;
			ok(fabs(nic[g] - want) <= 1e-6 * want, "NIC of GPU %u, %s: %.0f bytes, expected %.0f", g, pxn ? "PXN" : "without",
				nic[g], want);
		}
		ok(pxn ? spine == 0 : spine > 0, "%s: %.0f bytes over links of the spine", pxn ? "PXN" : "without", spine);
		step_result_free(&r);
		fixture_free(f);
	}
}

int main(void)
{
	struct orr_error err = { 0 };
	/* GPU 1 receives 3 + 4 = 7e9 bytes at 1e9 B/s; every message starts 0.5 s later. */
	near_to(run(declare, exchange, "3x1:v100", "", &err), 7.5, 1e-9, "the busiest link of a rank");
	/* In one node: 4 GB/s links, GPU 1 is still the busiest: 7 / 4 s. */
	near_to(run(declare, exchange, "1x3:v100", "", &err), 0.5 + 7 / 4., 1e-9, "inside a node");
	near_to(run(declare, exchange, "3x1:v100", "fidelity=analytic", &err), 7.5, 1e-9, "in closed form");
	near_to(run(declare, exchange, "1x3:v100", "fidelity=analytic", &err), 0.5 + 7 / 4., 1e-9, "in closed form, inside a node");
	/* Groups take 2 + 2 s and 4 + 2 s. Lanes of a group wait for one another. */
	near_to(run(declare_lanes, build_lanes, "4x1:v100", "", &err), 6, 1e-9, "each lane computes for its own time");
	near_to(run(declare_equal, build_lanes, "4x1:v100", "merge=on", &err), 4, 1e-9, "lanes with equal times are merged");
	near_to(run(declare_equal, build_lanes, "4x1:v100", "merge=off", &err), 4, 1e-9, "and take the same time each");
	check_rails();
	check_error(declare_lanes, build_lanes, "merge=on", "lanes compute for different times");
	check_error(declare, wrong_number, "", "messages 7: expected");
	check_error(declare, wrong_size, "", "expected 3 ranks");
	check_error(declare, late, "", "outside create()");
	check_error(negative, exchange, "", "expected at least 0 bytes");
	check_error(without_lanes, exchange, "", "after orr_step_lanes()");
	check_error(declare, wrong_times, "", "times 3: expected");
	return done();
}
