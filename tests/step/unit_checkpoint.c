/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checkpoints of training (step.checkpoint_every): pauses, writes in the background and shared links, computed by hand. Every
 * policy with checkpoints: merged and separate lanes, and skipped and simulated iterations, have equal times.
 *
 * A checkpoint has 4e9 bytes, 1e9 on each of four nodes. NICs have 1e9 bytes/s and no latency.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/step/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/step/policies.def"
	NULL
};

/* ---- graphs by hand ---- */

typedef void (*builder)(struct orr_step *s, uint64_t k);
static builder build_now;
static bool has_lanes;
static uint32_t period = 1;
static orr_op last;

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	static const uint32_t map[] = { 0, 1, 2, 3 };
	(void)a, (void)err;
	last = 0;
	orr_step_period(s, period);
	if (has_lanes)
		orr_step_lanes(s, 4, 1, map);
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
static const struct orr_policy by_hand = { ORR_ABI_VERSION, sizeof by_hand, "test", "", "step", 0, no_params, &ops, sizeof ops };

/* 1 s of work on each device. */
static void work(struct orr_step *s, uint64_t k)
{
	orr_op all = 0;
	(void)k;
	for (uint32_t d = 0; d < (has_lanes ? 1 : 4); d++) {
		orr_op op = orr_compute(s, d, ORR_FORWARD, 1);
		orr_after(s, op, last);
		all = op;
	}
	last = all;
}

/* 1 s, and 4 s in every third iteration. */
static void uneven(struct orr_step *s, uint64_t k)
{
	orr_op op = orr_compute(s, 0, ORR_FORWARD, k % 3 == 2 ? 4 : 1);
	orr_after(s, op, last);
	last = op;
}

/* An all-reduce of 2e9 bytes in a ring of four: 6 steps of 0.5e9 bytes, 3 s. */
static void sum(struct orr_step *s, uint64_t k)
{
	static const uint32_t device[] = { 0, 1, 2, 3 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 2e9 };
	struct orr_group g = { device, 4 };
	(void)k;
	orr_op op = has_lanes ? orr_collective_lanes(s, 0, 4, 1, &c) : orr_collective(s, &g, &c);
	orr_after(s, op, last);
	last = op;
}

/* Iterations of which none waits for the previous one: each device has its own pace. */
static void apart(struct orr_step *s, uint64_t k)
{
	static orr_op before[4];
	for (uint32_t d = 0; d < 4; d++) {
		orr_op op = orr_compute(s, d, ORR_FORWARD, 1 + d);
		orr_after(s, op, k ? before[d] : 0);
		before[d] = op;
	}
}

struct asked {
	builder build;
	const char *set; /* "name=value name=value" */
	bool lanes, link_use;
	const char *network; /* NULL: star */
};

static int try(const struct asked *q, struct step_result *r, struct orr_error *e)
{
	struct fixture *f = fixture_new("4x1:v100:racks=2", q->network ? q->network : "star:bw=1GBps,lat=0", "lenet5", 8);
	char bytes[64];
	snprintf(bytes, sizeof bytes, "checkpoint_bytes=%.17g", 4e9 / f->dnn->params);
	fixture_set(f, bytes);
	*e = (struct orr_error){ 0 };
	for (const char *p = q->set; *p;) {
		size_t n = strcspn(p, " ");
		char *pair = mem_strndup(p, n);
		fixture_set(f, pair);
		mem_free(pair);
		p += n + (p[n] == ' ');
	}
	build_now = q->build;
	has_lanes = q->lanes;
	f->config.link_use = q->link_use;
	int rc = fixture_run(f, &by_hand, "", r, e);
	fixture_free(f);
	return rc;
}

static struct step_result run(const struct asked *q)
{
	struct step_result r;
	struct orr_error e;
	if (try(q, &r, &e)) {
		printf("Bail out! %s: %s\n", q->set, e.text);
		exit(1);
	}
	return r;
}

#define SYNC "checkpoint_every=2 storage_bw=10GBps iterations=8"
#define ASYNC SYNC " checkpoint_mode=async snapshot_bw=4GBps"

static double end(const struct step_result *r, size_t k)
{
	return r->iteration[k].end_s;
}

/* Pause = bytes / min(storage, sum of the NICs that are used). */
static void test_sync(void)
{
	static const struct {
		const char *set, *what;
		double pause_s;
	} cases[] = { { SYNC, "sync: the NICs of four nodes are the limit", 1 },
		{ SYNC " storage_bw=2GBps", "sync: the storage is the limit", 2 },
		{ SYNC " checkpoint_nodes=1", "sync: one node writes all", 4 }, { SYNC " checkpoint_nodes=2", "sync: two nodes", 2 },
		{ SYNC " storage_network=dedicated storage_nic_bw=500MBps", "sync: storage NICs are the limit", 2 },
		{ SYNC " storage_network=dedicated storage_nic_bw=500MBps storage_bw=8Gbps", "sync: a rate in bits", 4 },
		{ SYNC " fidelity=analytic storage_bw=2GBps", "sync: closed form", 2 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int lanes = 0; lanes < 2; lanes++) {
			struct step_result r = run(&(struct asked){ work, cases[i].set, .lanes = lanes });
			double p = cases[i].pause_s;
			bool good = r.n_iterations == 8 && r.checkpoints.n == 4 && fabs(r.checkpoints.pause_s - 4 * p) < 1e-9 &&
				    fabs(r.checkpoints.write_s - p) < 1e-9 && fabs(r.checkpoints.iteration_s - 1) < 1e-9 &&
				    fabs(r.checkpoints.bytes - 4e9) < 1 && fabs(r.iteration_s - (1 + p / 2)) < 1e-9;
			/* Iteration 1 ends with the first pause, and iteration 2 starts at its end. */
			good = good && fabs(end(&r, 0) - 1) < 1e-9 && fabs(end(&r, 1) - 2 - p) < 1e-9 &&
			       fabs(r.iteration[2].start_s - 2 - p) < 1e-9 && fabs(end(&r, 7) - 8 - 4 * p) < 1e-8;
			ok(good, "%s%s", cases[i].what, lanes ? ", lanes" : "");
			step_result_free(&r);
		}
}

static void test_async(void)
{
	/* 1e9 bytes of each GPU at 4e9 bytes/s; the write of 1 s ends before the next pause. */
	struct step_result r = run(&(struct asked){ work, ASYNC });
	near_to(r.checkpoints.pause_s, 4 * 0.25, 1e-9, "async: the pause is the copy to host memory");
	near_to(r.checkpoints.write_s, 1, 1e-9, "async: time of a write");
	near_to(r.iteration_s, 1 + 0.25 / 2, 1e-9, "async: iteration time");
	step_result_free(&r);
	/* One iteration of 1 s between checkpoints, writes of 2 s: after the first one, each pause is 1 s of waiting and 0.25 s. */
	r = run(&(struct asked){ work, ASYNC " checkpoint_every=1 storage_bw=2GBps" });
	near_to(end(&r, 0), 1.25, 1e-9, "async: the first checkpoint waits for none");
	near_to(end(&r, 1) - end(&r, 0), 2.25, 1e-9, "async: the next one waits for the write");
	near_to(r.checkpoints.pause_s, 0.25 + 7 * 1.25, 1e-9, "async: pauses with waiting");
	near_to(r.iteration_s, 2.25, 1e-9, "async: iterations as long as a write and a copy");
	step_result_free(&r);
	/* The device's PCIe rate. */
	struct orr_error e = { 0 };
	struct device *d = device_load("v100", &e);
	r = run(&(struct asked){ work, SYNC " checkpoint_mode=async" });
	near_to(r.checkpoints.pause_s / 4, 1e9 / d->pcie_Bps, 1e-9, "async: the rate of the copy is the device's PCIe rate by default");
	device_free(d);
	step_result_free(&r);
}

/* The write and the all-reduce have half of each NIC for 2 s, in which 1e9 of the 3e9 bytes that each NIC sends are sent. The rest
 * takes 2 s: 4 s in place of 3 s. */
static void test_sharing(void)
{
	for (int lanes = 0; lanes < 3; lanes++) {
		struct step_result r = run(&(struct asked){ sum, lanes == 1 ? ASYNC " merge=off" : ASYNC, .lanes = lanes > 0 });
		const char *how = lanes == 2 ? ", merged" : lanes ? ", lanes" : "";
		ok(r.was_merged == (lanes == 2), "merged or not%s", how);
		ok(fabs(end(&r, 1) - 6.25) < 1e-9 && fabs(end(&r, 2) - 10.25) < 1e-9 && fabs(end(&r, 3) - 13.5) < 1e-9,
			"an all-reduce on links that are half taken by a write: %.9g, %.9g, %.9g%s", end(&r, 1), end(&r, 2), end(&r, 3),
			how);
		ok(fabs(r.checkpoints.write_s - 2) < 1e-9, "the write takes twice its time, too%s", how);
		ok(fabs(r.iteration_s - 3.625) < 1e-9 && fabs(r.checkpoints.iteration_s - 3) < 1e-9, "mean over a cycle%s", how);
		step_result_free(&r);
	}
	/* Storage of 0.4e9 bytes/s: 0.1e9 bytes/s of each NIC for 10 s; the all-reduce has 0.9e9. */
	struct step_result r = run(&(struct asked){ sum, ASYNC " storage_bw=400MBps checkpoint_every=4" });
	near_to(end(&r, 4) - end(&r, 3), 3 / 0.9, 1e-9, "slow storage takes a tenth of each NIC");
	step_result_free(&r);
	/* Storage NICs of their own disturb nothing. */
	r = run(&(struct asked){ sum, ASYNC " storage_network=dedicated storage_nic_bw=500MBps", .lanes = true });
	near_to(r.iteration_s, 3.125, 1e-9, "dedicated storage NICs: iterations are longer by the copy only");
	near_to(r.checkpoints.write_s, 2, 1e-9, "dedicated storage NICs: time of a write");
	step_result_free(&r);
	/* One node writes 4e9 bytes: its NIC is shared for 6 s, in which the ring sends half of its bytes. */
	r = run(&(struct asked){ sum, ASYNC " checkpoint_nodes=1 snapshot_bw=40GBps checkpoint_every=4", .lanes = true });
	near_to(end(&r, 4) - end(&r, 3), 6, 1e-9, "one node writes: the ring has the pace of its slowest link");
	near_to(end(&r, 5) - end(&r, 4), 4, 1e-9, "until the write has ended");
	step_result_free(&r);
}

/* Each of two racks has an uplink of 2e9 / 4 bytes/s for the 2e9 bytes of its nodes. */
static void test_uplinks(void)
{
	static const char racks[] = "racks:bw=1GBps,lat=0,switch_lat=0,oversubscription=4";
	for (int lanes = 0; lanes < 3; lanes++) {
		const char *how = lanes == 2 ? "merged" : lanes ? "lanes" : "no lanes", *off = " merge=off";
		char set[200];
		snprintf(set, sizeof set, "%s%s", SYNC, lanes == 1 ? off : "");
		struct step_result r = run(&(struct asked){ work, set, .lanes = lanes > 0, .network = racks });
		ok(fabs(r.checkpoints.pause_s - 4 * 4) < 1e-9, "uplinks of racks are on the way to the storage, %s: %.9g", how,
			r.checkpoints.pause_s);
		step_result_free(&r);
		/* Alone, each step of the ring sends 0.5e9 bytes over each uplink: 1 s, 6 s in all. Beside the writes of the two nodes of a
		 * rack it has a third of the uplink: 3 s. After two such steps the writes have ended. */
		snprintf(set, sizeof set, "%s checkpoint_every=4%s", ASYNC, lanes == 1 ? off : "");
		r = run(&(struct asked){ sum, set, .lanes = lanes > 0, .network = racks });
		ok(fabs(end(&r, 0) - 6) < 1e-9, "a ring over the uplinks, %s: %.9g", how, end(&r, 0));
		ok(fabs(end(&r, 4) - end(&r, 3) - 10) < 1e-9 && fabs(end(&r, 7) - end(&r, 3) - 28.25) < 1e-9 &&
				fabs(r.checkpoints.write_s - 6) < 1e-9,
			"the ring and the write share them, %s: %.9g, %.9g, write %.9g", how, end(&r, 4) - end(&r, 3),
			end(&r, 7) - end(&r, 3), r.checkpoints.write_s);
		step_result_free(&r);
	}
}

/* Bytes on host0.up = 3e9 of each all-reduce + 1e9 of each checkpoint. */
static void test_bytes(void)
{
	struct fixture *f = fixture_new("4x1:v100", "star:bw=1GBps,lat=0", "lenet5", 8);
	uint32_t up = topo_nic(f->topo, 0, true);
	fixture_free(f);
	for (int is_async = 0; is_async < 2; is_async++) {
		struct step_result r = run(&(struct asked){ sum, is_async ? ASYNC : SYNC, .link_use = true });
		/* From the end of iteration 0 to the end of the run, or of the last write: 1 s after it, if in the background. */
		double time = end(&r, 7) - end(&r, 0) + (is_async ? 1 : 0), bytes = r.link[up].bytes_per_s * time;
		near_to(bytes, 7 * 3e9 + 4 * 1e9, 1e-9, is_async ? "bytes of a link, async" : "bytes of a link, sync");
		ok(!r.period && r.simulated == 8, "if links are measured, every iteration is simulated");
		step_result_free(&r);
	}
}

static void test_barrier(void)
{
	/* Device d takes 1 + d s. With 4 iterations between checkpoints, iterations end with the slowest device: 16 s. */
	struct step_result r = run(&(struct asked){ apart, SYNC " checkpoint_every=4" });
	ok(fabs(end(&r, 3) - 17) < 1e-9 && fabs(r.iteration[4].start_s - 17) < 1e-9 && fabs(end(&r, 7) - 34) < 1e-9,
		"a checkpoint is a barrier: %.9g, %.9g", end(&r, 3), end(&r, 7));
	step_result_free(&r);
}

/* Without a cycle the last whole intervals count; with a period, the last whole multiples of both. */
static void test_whole(void)
{
	static const char change[] = "time_s,link,bandwidth_Bps\n1.5,host0.up,1e9\n";
	char path[] = "/tmp/orrery-checkpoint.XXXXXX", changed[160];
	FILE *f = fdopen(mkstemp(path), "w");
	fputs(change, f);
	fclose(f);
	snprintf(changed, sizeof changed, SYNC " checkpoint_every=20 iterations=90 link_changes=%s", path);
	const struct {
		builder build;
		uint32_t period;
		const char *set, *what;
		double iteration_s, without_s;
		uint64_t first;
	} cases[] = { { work, 0, SYNC, "no cycle: three intervals of two iterations", 1.5, 1, 2 },
		{ uneven, 3, SYNC, "a period of 3, intervals of 2: six iterations", 2.5, 2, 2 },
		/* Iterations 2 to 5 take 4 + 1 + 1 + 4 s, and two pauses of 1 s. */
		{ uneven, 3, SYNC " iterations=6", "six iterations do not fit: two intervals", 3, 2.5, 2 },
		{ work, 1, changed, "a change of a link in the second iteration: no cycle", 1.05, 1, 10 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int exact = 0; exact < 2; exact++) {
			char set[240];
			period = cases[i].period;
			snprintf(set, sizeof set, "%s%s", cases[i].set, exact ? " exact=true" : "");
			struct step_result r = run(&(struct asked){ cases[i].build, set, .lanes = false });
			double of = r.device[0].compute_s + r.device[0].idle_s;
			ok(fabs(r.iteration_s - cases[i].iteration_s) < 1e-9 && fabs(of - r.iteration_s) < 1e-9 &&
					fabs(r.device[0].compute_s - cases[i].without_s) < 1e-9 &&
					fabs(r.checkpoints.iteration_s - cases[i].without_s) < 1e-9 && r.first == cases[i].first &&
					(i < 3 || exact || r.simulated < 60),
				"%s%s: %.9g, %.9g without, compute %.9g, first %llu, %llu simulated", cases[i].what, exact ? ", exact" : "",
				r.iteration_s, r.checkpoints.iteration_s, r.device[0].compute_s, (unsigned long long)r.first,
				(unsigned long long)r.simulated);
			step_result_free(&r);
		}
	period = 1;
	remove(path);
}

static void test_none(void)
{
	struct step_result r = run(&(struct asked){ work, SYNC " checkpoint_every=9" });
	ok(!r.checkpoints.n && !(r.used & STEP_USED_CHECKPOINT) && r.iteration_s == 1, "no checkpoint in a shorter run");
	step_result_free(&r);
	r = run(&(struct asked){ work, SYNC " checkpoint_every=8" });
	ok(r.checkpoints.n == 1 && fabs(end(&r, 7) - 9) < 1e-9, "a checkpoint at the end of the run");
	step_result_free(&r);
}

static void test_errors(void)
{
	static const struct {
		const char *set, *text;
	} cases[] = { { "checkpoint_every=2", "step.storage_bw: expected a rate such as 100GBps (bytes) or 800Gbps (bits), because "
					      "step.checkpoint_every is set, found \"\"" },
		{ SYNC " storage_bw=0GBps", "step.storage_bw: expected a rate such as 100GBps" },
		{ SYNC " storage_bw=-1GBps", "step.storage_bw: expected a rate" },
		{ SYNC " storage_bw=nan", "step.storage_bw: expected a rate" }, { SYNC " storage_bw=fast", "found \"fast\"" },
		{ SYNC " storage_network=dedicated",
			"step.storage_nic_bw: expected a rate such as 100GBps (bytes) or 800Gbps (bits), because "
			"step.storage_network is dedicated, found \"\"" },
		{ ASYNC " snapshot_bw=0", "step.snapshot_bw: expected a rate" },
		{ SYNC " checkpoint_nodes=5", "step.checkpoint_nodes: expected at most the 4 nodes of the cluster, found 5" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct step_result r;
		struct orr_error e;
		int rc = try(&(struct asked){ work, cases[i].set, false, false }, &r, &e);
		if (!ok(rc == ORR_EINPUT && strstr(e.text, cases[i].text), "%s", cases[i].set))
			printf("# %d %s\n", rc, e.text);
	}
	/* A link without capacity. */
	struct step_result r;
	struct orr_error e;
	int rc = try(&(struct asked){ work, SYNC " background=0>1:1e9", false, false }, &r, &e);
	ok(rc == ORR_EFAIL && strstr(e.text, "a checkpoint is never written"), "a write that never ends: %s", e.text);
	rc = try(&(struct asked){ work, SYNC " background=0>1:1e9 fidelity=analytic", false, false }, &r, &e);
	ok(rc == ORR_EFAIL && strstr(e.text, "a checkpoint is never written"), "the same in closed form: %s", e.text);
}

/* Two checkpoints or 200: the same number of simulated iterations. */
static void test_speed(void)
{
	struct step_result r = run(&(struct asked){ sum, ASYNC " checkpoint_every=500 iterations=100000", .lanes = true });
	ok(r.n_iterations == 100000 && r.simulated < 30 && r.checkpoints.n == 200 && r.period == 500, "100,000 iterations, %llu simulated",
		(unsigned long long)r.simulated);
	/* 499 iterations of 3 s and one of 4 s, and the pause. */
	near_to(r.iteration_s, 3 + 1.25 / 500, 1e-9, "their mean");
	near_to(end(&r, 99999), 300000 + 199 * 1.25 + 0.25, 1e-9, "the end of the last one");
	step_result_free(&r);
	/* Storage of 4e6 bytes/s takes a thousandth of each NIC for 1000 s: 1501 s in place of 1500 s. Iterations with the same share are
	 * skipped, too. */
	for (int merged = 0; merged < 2; merged++) {
		r = run(&(struct asked){ sum,
			merged ? ASYNC " checkpoint_every=500 iterations=10000 storage_bw=4MBps"
			       : ASYNC " checkpoint_every=500 iterations=10000 storage_bw=4MBps merge=off",
			.lanes = true });
		ok(r.simulated < 40 && fabs(r.iteration_s - 1501.25 / 500) < 1e-9 && fabs(r.checkpoints.write_s - 1000) < 1e-6,
			"a write over 333 iterations, %llu simulated: %.12g, %.12g", (unsigned long long)r.simulated, r.iteration_s,
			r.checkpoints.write_s);
		step_result_free(&r);
	}
	/* A write of 2000 s outlasts the interval: the next checkpoint waits for its end. */
	r = run(&(struct asked){ sum, ASYNC " checkpoint_every=500 iterations=10000 storage_bw=2MBps", .lanes = true });
	ok(r.simulated < 60 && fabs(r.iteration_s * 500 - 2000.25) < 1e-6, "a write that outlasts the interval, %llu simulated: %.12g",
		(unsigned long long)r.simulated, r.iteration_s * 500);
	step_result_free(&r);
}

/* ---- every policy ---- */

enum { ITERATIONS = 70, TAIL = 4 };
static unsigned runs, wrong;

static bool policy_run(struct fixture *f, const struct orr_policy *p, const char *merge, const char *exact, struct step_result *r)
{
	struct orr_error e = { 0 };
	fixture_set(f, merge);
	fixture_set(f, exact);
	int rc = fixture_run(f, p, "", r, &e);
	if (rc == ORR_EFAIL) {
		printf("# %s: %s\n", p->name, e.text);
		wrong++;
	}
	runs += !rc;
	return !rc;
}

static void compare(const struct orr_policy *p, const struct step_result *a, const struct step_result *b, size_t n, const char *what)
{
	double scale = b->iteration[b->n_iterations - 1].end_s;
	for (size_t k = 0; k < n; k++)
		if (fabs(a->iteration[k].end_s - b->iteration[k].end_s) > 1e-9 * scale ||
			fabs(a->iteration[k].start_s - b->iteration[k].start_s) > 1e-9 * scale) {
			printf("# %s, %s: iteration %zu ends at %.12g, %.12g\n", p->name, what, k, a->iteration[k].end_s,
				b->iteration[k].end_s);
			wrong++;
			return;
		}
}

static void accounts(const struct orr_policy *p, const struct step_result *r)
{
	for (size_t i = 0; i < r->n_devices; i++) {
		const struct step_device *d = &r->device[i];
		double all = d->compute_s + d->optimizer_s + d->codec_s + d->exposed_s + d->bubble_s + d->idle_s;
		if (fabs(all - r->iteration_s) > 1e-9 * r->iteration_s) {
			printf("# %s: device %u: accounts %.12g, iteration %.12g\n", p->name, d->device, all, r->iteration_s);
			wrong++;
			return;
		}
	}
}

static void test_policy(const struct orr_policy *p, const char *const *set)
{
	const char *model = !strcmp(p->name, "dorylus") ? "gcn:vertices=400,edges=3000,widths=16-8-4"
			    : !strcmp(p->name, "expert_parallel")
				    ? "moe:hidden=32,layers=2,heads=4,seq=16,vocab=64,experts=30,top_k=2,width=16"
				    : "lenet5";
	struct fixture *f = fixture_new("3x2:v100", "star:bw=5Gbps", model, 4);
	struct step_result merged, single, exact;
	char text[32];
	snprintf(text, sizeof text, "iterations=%d", ITERATIONS);
	fixture_set(f, text);
	for (; *set; set++)
		fixture_set(f, *set);
	if (policy_run(f, p, "merge=auto", "exact=false", &merged)) {
		accounts(p, &merged);
		if (policy_run(f, p, "merge=off", "exact=false", &single)) {
			compare(p, &merged, &single, ITERATIONS, "merged");
			step_result_free(&single);
		}
		if (merged.simulated < ITERATIONS && policy_run(f, p, "merge=auto", "exact=true", &exact)) {
			compare(p, &merged, &exact, ITERATIONS - TAIL, "skipped");
			if (!merged.period && fabs(merged.iteration_s - exact.iteration_s) > 1e-9 * exact.iteration_s) {
				printf("# %s: mean %.12g, exact %.12g\n", p->name, merged.iteration_s, exact.iteration_s);
				wrong++;
			}
			step_result_free(&exact);
		}
		step_result_free(&merged);
	}
	fixture_free(f);
}

static void test_policies(void)
{
	static const char *const sets[][6] = { { "checkpoint_every=23", "storage_bw=1GBps" },
		{ "checkpoint_every=23", "storage_bw=300MBps", "checkpoint_mode=async" },
		{ "checkpoint_every=1", "storage_bw=1GBps", "checkpoint_mode=async" },
		{ "checkpoint_every=33", "storage_bw=100MBps", "checkpoint_mode=async", "checkpoint_bytes=10000" },
		{ "checkpoint_every=50", "storage_bw=1GBps", "checkpoint_mode=async", "checkpoint_nodes=1" },
		{ "checkpoint_every=7", "storage_bw=1GBps", "storage_network=dedicated", "storage_nic_bw=10Gbps", "checkpoint_mode=async" },
		{ "checkpoint_every=33", "storage_bw=100MBps", "fidelity=analytic", "checkpoint_mode=async", "checkpoint_bytes=10000" } };
	for (size_t i = 0; i < (getenv("ORR_SANITIZED") ? 2 : sizeof sets / sizeof *sets); i++) {
		unsigned before = wrong;
		runs = 0;
		for (const struct orr_policy *const *p = policies; *p; p++)
			if (!i || strcmp((*p)->name, "dorylus")) /* slow, because it reacts: each iteration is simulated */
				test_policy(*p, sets[i]);
		ok(wrong == before && runs > 50, "%u runs of all policies with %s, %s: accounts, lanes and skipped iterations agree", runs,
			sets[i][0], sets[i][2] ? sets[i][2] : "sync");
	}
}

int main(void)
{
	test_sync();
	test_async();
	test_sharing();
	test_uplinks();
	test_bytes();
	test_barrier();
	test_whole();
	test_none();
	test_errors();
	test_speed();
	test_policies();
	return done();
}
