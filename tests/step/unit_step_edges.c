/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Edge cases of the step world: false steady states, capacities that change under background flows or contention, unequal lanes,
 * iterations that overtake one another. Graphs are small enough to compute their times by hand; one byte takes one nanosecond.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

typedef void (*builder)(struct orr_step *s, uint64_t k);
static builder build_now;
static void (*create_now)(struct orr_step *s);
static orr_op last[4];

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)a, (void)err;
	memset(last, 0, sizeof last);
	if (create_now)
		create_now(s);
	return mem_zalloc(1, 1);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self, (void)err;
	build_now(s, k);
	return ORR_OK;
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops ops = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, no_params, &ops, sizeof ops };

struct asked {
	const char *cluster, *network;
	builder build;
	void (*create)(struct orr_step *s);
	const char *set[4];
	uint32_t spans;
};

static int run(const struct asked *q, struct step_result *r, struct orr_error *e)
{
	struct fixture *f = fixture_new(q->cluster, q->network ? q->network : "star:bw=1GBps,lat=0", "lenet5", 8);
	*e = (struct orr_error){ 0 };
	for (int i = 0; i < 4 && q->set[i]; i++)
		fixture_set(f, q->set[i]);
	build_now = q->build;
	create_now = q->create;
	f->config.spans = q->spans;
	f->config.check = false;
	int rc = fixture_run(f, &policy, "", r, e);
	fixture_free(f);
	return rc;
}

static void good(const struct asked *q, struct step_result *r, const char *what)
{
	struct orr_error e;
	if (run(q, r, &e)) {
		printf("Bail out! %s: %s\n", what, e.text);
		exit(1);
	}
}

/* ---- false steady states ---- */

/* Device 0 needs 1 s plus half a second that delays no other device; device 1 needs 1.01 s. Iteration k (from 1 on) ends at max(k +
 * 0.5, 1.01 k) s. For 50 iterations this is one second after the previous end. */
static void drift(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 1, ORR_FORWARD, 1.01), c = orr_delay(s, 0.5);
	orr_after(s, a, last[0]);
	orr_after(s, b, last[1]);
	orr_after(s, c, a);
	last[0] = a;
	last[1] = b;
}

/* Adds the same drift with messages: 1.01 s of messages in sequence. */
static void drift_on_wire(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_transfer(s, 2, 3, 1.01e9), c = orr_delay(s, 0.5);
	orr_after(s, a, last[0]);
	orr_after(s, b, last[1]);
	orr_after(s, c, a);
	last[0] = a;
	last[1] = b;
}

static void message(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_transfer(s, 0, 1, 1e9);
	orr_after(s, a, last[0]);
	last[0] = a;
}

/* Writes a file with one capacity change of the link on which endpoint 0 sends. */
static void change_file(const char *path, double time_s, double Bps)
{
	struct fixture *f = fixture_new("4x1:v100", "star:bw=1GBps,lat=0", "lenet5", 8);
	FILE *file = fopen(path, "w");
	if (!file) {
		printf("Bail out! %s\n", path);
		exit(1);
	}
	fprintf(file, "time_s,link,bandwidth_Bps\n%g,%s,%g\n", time_s, f->topo->link[topo_nic(f->topo, 0, true)].name, Bps);
	fclose(file);
	fixture_free(f);
}

static void test_steady(void)
{
	struct step_result r;
	const struct asked slow = { .cluster = "4x1:v100", .build = drift, .set = { "iterations=100" } };
	good(&slow, &r, "drift");
	near_to(r.iteration[99].end_s, 101, 1e-9, "a device that falls behind is detected before it is the last to end");
	near_to(r.iteration[39].end_s, 40.5, 1e-9, "no steady state is found before a device falls behind");
	step_result_free(&r);
	struct asked wire = slow;
	wire.build = drift_on_wire;
	good(&wire, &r, "drift on the wire");
	near_to(r.iteration[99].end_s, 101, 1e-9, "a chain of messages that falls behind is detected");
	step_result_free(&r);

	char path[] = "/tmp/orrery-edges.XXXXXX", option[64];
	int fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	snprintf(option, sizeof option, "link_changes=%s", path);
	change_file(path, 50, 0.5e9);
	const struct asked later = { .cluster = "4x1:v100", .build = message, .set = { "iterations=60", option } };
	good(&later, &r, "a capacity change after 50 iterations");
	near_to(r.iteration[59].end_s, 50 + 10 * 2, 1e-9, "a capacity that changes after 50 equal iterations changes the rest");
	ok(r.simulated > 50, "no extrapolation before the last capacity change");
	step_result_free(&r);
	change_file(path, 2, 0.6e9);
	const struct asked both = { .cluster = "4x1:v100", .build = message, .set = { "iterations=20", option, "background=0>1:2e8" } };
	good(&both, &r, "a change under background flows");
	/* 1.6e9 bytes are sent until 2 s. From then on 0.4e9 of the 0.6e9 bytes/s are free. */
	near_to(r.iteration[19].end_s, 2 + (20e9 - 1.6e9) / 0.4e9, 1e-9, "background flows stay when a capacity changes");
	step_result_free(&r);
	unlink(path);

	const struct asked hashed = {
		.cluster = "16x1:v100", .network = "fat-tree:k=4,routing=ecmp,bw=1GBps,lat=0", .build = message, .set = { "iterations=12" }
	};
	good(&hashed, &r, "hashed routes");
	ok(!r.period && r.simulated == 12, "messages with a new route each time never settle");
	step_result_free(&r);
}

/* Tests that the period is DS-Sync's list of partitions: seven rounds inside nodes, then one across nodes. */
static void test_ds_sync(void)
{
	extern const struct orr_policy orr_policy_ds_sync;
	struct step_result r[2];
	for (int exact = 0; exact < 2; exact++) {
		struct orr_error e = { 0 };
		struct fixture *f = fixture_new("2x2:v100", "star:bw=1GBps,lat=0", "lenet5", 8);
		fixture_set(f, "iterations=64");
		fixture_set(f, exact ? "exact=true" : "exact=false");
		int rc = fixture_run(f, &orr_policy_ds_sync,
			"schedule=explicit "
			"partitions=0-1,2-3;0-1,2-3;0-1,2-3;0-1,2-3;0-1,2-3;0-1,2-3;0-1,2-3;0-2,1-3",
			&r[exact], &e);
		fixture_free(f);
		if (!ok(!rc, "DS-Sync runs (%s)", e.text))
			return;
	}
	near_to(r[0].iteration[63].end_s, r[1].iteration[63].end_s, 1e-9 * r[1].iteration[63].end_s,
		"all rounds of a period are simulated if they differ");
	ok(r[0].period == 8, "iterations repeat with the period of the list");
	step_result_free(&r[0]);
	step_result_free(&r[1]);
}

/* ---- iterations that overtake ---- */

static void overtaking(struct orr_step *s, uint64_t k)
{
	orr_delay(s, 10 - (double)k);
}

static void test_overtaking(void)
{
	struct step_result r;
	good(&(struct asked){ .cluster = "1x1:v100", .build = overtaking, .set = { "iterations=5" } }, &r, "overtaking");
	near_to(r.iteration_s, 10 / 5.0, 1e-12, "five iterations that all end by 10 s take 2 s each, whatever their order");
	ok(r.samples_per_s > 0, "overtaking iterations give a throughput");
	step_result_free(&r);
}

/* ---- one NIC shared by several devices ---- */

static void in_turn(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_transfer(s, 0, 2, 1e9), b = orr_transfer(s, 1, 3, 1e9);
	orr_after(s, a, last[0]);
	orr_after(s, b, a);
	last[0] = b;
}

static void test_contention(void)
{
	struct step_result r;
	good(&(struct asked){ .cluster = "2x2:v100", .build = in_turn, .set = { "iterations=60", "contention_p=0.4", "contention_f=0.5" } },
		&r, "contention");
	unsigned slow = 0, mixed = 0;
	for (size_t i = 1; i < 60; i++) {
		double t = r.iteration[i].end_s - r.iteration[i - 1].end_s;
		slow += fabs(t - 4) < 1e-3;
		mixed += fabs(t - 4) > 1e-3 && fabs(t - 2) > 1e-3;
	}
	ok(slow > 10 && slow < 59, "NICs are slowed in some iterations (%u of 59)", slow);
	ok(!mixed, "for all devices of the node alike (%u iterations are half and half)", mixed);
	step_result_free(&r);
}

/* ---- lanes ---- */

static void two_lanes(struct orr_step *s)
{
	orr_step_lanes(s, 2, 1, (uint32_t[]){ 0, 1 });
}

/* Adds an op that fits only on the larger of the two devices. */
static void takes_much(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_takes(s, a, 0, 30e9);
	orr_gives(s, a, 0, 30e9);
	orr_after(s, a, last[0]);
	last[0] = a;
}

static void four_lanes(struct orr_step *s)
{
	orr_step_lanes(s, 4, 1, (uint32_t[]){ 0, 1, 2, 3 });
}

static void counted_groups(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_collective_lanes(s, 0, 2, 1, &(struct orr_collective){ .bytes = 1e9 });
	orr_after(s, a, last[0]);
	orr_counts(s, a, 3);
	last[0] = a;
}

static void asks_bandwidth(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_collective_lanes(s, 0, 2, 1, &(struct orr_collective){ .bytes = 1e9 });
	orr_op b = orr_delay(s, orr_bandwidth_now(s, 3, 0) / 1e9);
	orr_after(s, a, last[0]);
	orr_after(s, b, a);
	last[0] = b;
}

static void test_lanes(void)
{
	struct step_result r;
	struct orr_error e;
	const struct asked unlike = { .cluster = "1x1:a100,1x1:v100", .build = takes_much, .create = two_lanes };
	int rc = run(&unlike, &r, &e);
	ok(rc == ORR_EINPUT && strstr(e.text, "GPU 1 needs"), "the lane with the smaller device is checked itself (%s)", e.text);
	double rate[2];
	for (int i = 0; i < 2; i++) {
		good(&(struct asked){ .cluster = "4x1:v100",
			     .build = counted_groups,
			     .create = four_lanes,
			     .set = { i ? "merge=off" : "merge=on" } },
			&r, "counts");
		rate[i] = r.samples_per_s;
		step_result_free(&r);
	}
	near_to(rate[0], rate[1], 1e-9, "a group counts once, merged or not");
	near_to(rate[1], 2 * 3 / 1.0, 1e-9, "two groups of 3 samples in the second that 2 (n - 1) / n of 1e9 bytes take");
	good(&(struct asked){ .cluster = "4x1:v100", .build = asks_bandwidth, .create = four_lanes, .set = { "merge=on" } }, &r,
		"bandwidth");
	near_to(r.iteration_s, 1 + 1, 1e-9, "the bandwidth of a route is available in a merged run");
	step_result_free(&r);
}

/* ---- memory ---- */

static void labelled(struct orr_step *s, uint64_t k)
{
	for (unsigned i = 0; i < 8; i++) {
		orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
		orr_label(s, a, "iteration %llu, piece %u of those that take memory", (unsigned long long)k, i);
		orr_after(s, a, last[0]);
		last[0] = a;
	}
}

static void test_spans(void)
{
	struct step_result r;
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	good(&(struct asked){ .cluster = "1x1:v100", .build = labelled, .set = { "iterations=100000", "exact=true" }, .spans = 2 }, &r,
		"spans");
	getrusage(RUSAGE_SELF, &after);
	double grown = (double)(after.ru_maxrss - before.ru_maxrss) / 1024;
	ok(r.n_spans == 2 * 8 && r.span[0].iteration == 99998 &&
			!strcmp(r.span[15].label, "iteration 99999, piece 7 of those that take memory"),
		"the spans of the last two iterations are kept (%zu)", r.n_spans);
	/* 800,000 spans of 64 bytes with their labels would take 100 MiB. */
	if (getenv("ORR_SANITIZED"))
		skip("memory use differs under the sanitizers");
	else
		ok(grown < 30, "the spans of earlier iterations are dropped (%.1f MiB)", grown);
	step_result_free(&r);
}

int main(void)
{
	test_steady();
	test_ds_sync();
	test_overtaking();
	test_contention();
	test_lanes();
	test_spans();
	return done();
}
