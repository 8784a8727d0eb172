/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor of the step world on graphs that are small enough to compute their times by hand. The policies are functions of
 * this file, so only the executor is tested.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

/* Links have 1e9 bytes/s and no latency: one byte takes one nanosecond. */
static const char network[] = "star:bw=1GBps,lat=0";

typedef void (*builder)(struct orr_step *s, uint64_t k);
static builder build_now;
static void (*create_now)(struct orr_step *s);

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)a;
	(void)err;
	if (create_now)
		create_now(s);
	return mem_zalloc(1, 1);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self;
	(void)err;
	build_now(s, k);
	return ORR_OK;
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops ops = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, no_params, &ops, sizeof ops };

static int run(const char *cluster, const char *set, builder b, void (*c)(struct orr_step *), struct step_result *r, struct orr_error *e)
{
	struct fixture *f = fixture_new(cluster, network, "alexnet", 8);
	char *text = mem_strdup(set), *save = NULL;
	*e = (struct orr_error){ 0 };
	for (char *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save))
		fixture_set(f, p);
	mem_free(text);
	build_now = b;
	create_now = c;
	f->config.spans = 1;
	int rc = fixture_run(f, &policy, "", r, e);
	fixture_free(f);
	return rc;
}

/* ---- graphs ---- */

static orr_op last_op[64]; /* the ops on which the next iteration depends */

static void two_computes(struct orr_step *s, uint64_t k)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 0, ORR_BACKWARD, 2);
	orr_after(s, b, a);
	if (k)
		orr_after(s, a, last_op[0]);
	last_op[0] = b;
}

/* Adds work of 1 + i s, a ring all-reduce of 4e9 bytes (2 * 3/4 * 4 = 6 s), and an update of 0.5 s. */
static void bsp(struct orr_step *s, uint64_t k)
{
	uint32_t all[4] = { 0, 1, 2, 3 };
	struct orr_group g = { all, 4 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 4e9 };
	orr_op sum = orr_collective(s, &g, &c);
	(void)sum;
	(void)k;
}

static void bsp_ordered(struct orr_step *s, uint64_t k)
{
	uint32_t all[4] = { 0, 1, 2, 3 };
	struct orr_group g = { all, 4 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 4e9 };
	orr_op work[4];
	for (uint32_t i = 0; i < 4; i++) {
		work[i] = orr_compute(s, i, ORR_BACKWARD, 1 + i);
		if (k)
			orr_after(s, work[i], last_op[i]);
	}
	orr_op sum = orr_collective(s, &g, &c);
	for (uint32_t i = 0; i < 4; i++)
		orr_after(s, sum, work[i]);
	for (uint32_t i = 0; i < 4; i++) {
		last_op[i] = orr_compute(s, i, ORR_OPTIMIZER, 0.5);
		orr_after(s, last_op[i], sum);
	}
}

/* Adds two messages of 1 s that share a NIC: they take 2 s together; on one stream they run in sequence. */
static bool on_stream;
static void two_messages(struct orr_step *s, uint64_t k)
{
	orr_op a = orr_transfer(s, 0, 1, 1e9), b = orr_transfer(s, 0, 2, 1e9), e = orr_compute(s, 1, ORR_OTHER_WORK, 0.25);
	if (on_stream) {
		orr_on_stream(s, a, 1);
		orr_on_stream(s, b, 1);
		orr_priority(s, a, 2);
		orr_priority(s, b, 1);
	}
	orr_after(s, e, a);
	if (k) {
		orr_after(s, a, last_op[0]);
		orr_after(s, b, last_op[0]);
	}
	last_op[0] = e;
	last_op[1] = b;
}

static void alternating(struct orr_step *s, uint64_t k)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, k % 3 == 1 ? 2 : 1);
	orr_after(s, a, last_op[0]);
	last_op[0] = a;
}

/* Adds four lanes of two positions: work, a message inside the lane, a collective among lanes. */
static void lanes(struct orr_step *s)
{
	uint32_t map[8];
	for (uint32_t i = 0; i < 8; i++)
		map[i] = i;
	orr_step_lanes(s, 4, 2, map);
	memset(last_op, 0, sizeof last_op);
}

static void lanes_build(struct orr_step *s, uint64_t k)
{
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 4e9 };
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), m = orr_transfer(s, 0, 1, 2e9), b = orr_compute(s, 1, ORR_BACKWARD, 3);
	orr_takes(s, a, 0, 5e9);
	orr_gives(s, b, 0, 5e9);
	orr_after(s, a, last_op[0]);
	orr_after(s, a, last_op[1]);
	orr_after(s, m, a);
	orr_after(s, b, m);
	orr_op x = orr_collective_lanes(s, 1, 4, 1, &c), y = orr_collective_lanes(s, 0, 2, 2, &c);
	orr_after(s, x, b);
	orr_after(s, y, x);
	last_op[0] = x;
	last_op[1] = y;
}

/* Adds a ring of many rounds, disturbed by messages at odd times: as one collective, or as single steps by its definition. */
static bool by_hand;
static void disturbed_ring(struct orr_step *s, uint64_t k)
{
	enum { N = 4, ROUNDS = 5, STEPS = ROUNDS * 2 * (N - 1) };
	uint32_t all[N] = { 0, 1, 2, 3 };
	const double bytes = 4e6;
	(void)k;
	if (!by_hand) {
		struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = bytes, .repeat = ROUNDS };
		orr_collective(s, &(struct orr_group){ all, N }, &c);
	}
	orr_op barrier = 0;
	for (int i = 0; i < STEPS && by_hand; i++) {
		orr_op step[N], next = 0;
		for (uint32_t w = 0; w < N; w++) {
			step[w] = orr_transfer(s, w, (w + 1) % N, bytes / N);
			orr_after(s, step[w], barrier);
		}
		next = orr_mark(s);
		for (uint32_t w = 0; w < N; w++)
			orr_after(s, next, step[w]);
		barrier = next;
	}
	for (uint32_t i = 0; i < 9; i++) {
		orr_op when = orr_delay(s, 0.0007 + 0.00291 * i * (1 + 0.13 * i)), m = orr_transfer(s, i % N, 4 + i % 4, 7e5 * (1 + i % 3));
		orr_after(s, m, when);
	}
}

/* Bounded staleness: a fast worker may be up to two iterations ahead of a slow one. */
static orr_op slow_end[64];
static void run_apart(struct orr_step *s, uint64_t k)
{
	orr_op fast = orr_compute(s, 0, ORR_BACKWARD, 1), slow = orr_compute(s, 1, ORR_BACKWARD, 3);
	orr_counts(s, fast, 1);
	orr_counts(s, slow, 1);
	if (k)
		orr_after(s, fast, last_op[0]), orr_after(s, slow, last_op[1]);
	if (k > 2)
		orr_after(s, fast, slow_end[k - 3]);
	last_op[0] = fast;
	last_op[1] = slow_end[k] = slow;
}

static void too_much_twice(struct orr_step *s)
{
	orr_hold(s, 0, ORR_MEMORY_WEIGHTS, 10e9, "stage 3");
	orr_hold(s, 0, ORR_MEMORY_OPTIMIZER, 10e9, "stage 3");
}

static void too_much(struct orr_step *s)
{
	orr_hold(s, 0, ORR_MEMORY_WEIGHTS, 30e9, "stage 3");
}

/* ---- invalid graphs ---- */

static void twice(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_collective(s, &(struct orr_group){ (uint32_t[]){ 0, 1, 0 }, 3 }, &(struct orr_collective){ .bytes = 1 });
}
static void cycle(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, b, a);
	orr_after(s, a, b);
}
static void negative(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_transfer(s, 0, 1, -1);
}
static void nowhere(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_compute(s, 99, ORR_FORWARD, 1);
}
static void marks(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_mark(s);
}
static void nothing(struct orr_step *s, uint64_t k)
{
	(void)s;
	(void)k;
}
static void endless(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_detach(s, orr_compute(s, 0, ORR_FORWARD, 1));
}

static void refuses(builder b, const char *wanted)
{
	struct step_result r;
	struct orr_error e;
	int rc = run("4x1:v100", "", b, NULL, &r, &e);
	if (!ok(rc == ORR_EFAIL && strstr(e.text, wanted) && strstr(e.text, "policy test"), "refused: %s", wanted))
		printf("# %d: %s\n", rc, e.text);
}

static double sum_of(const struct step_device *d)
{
	return d->compute_s + d->optimizer_s + d->codec_s + d->exposed_s + d->bubble_s + d->idle_s;
}

static void test_timing(void)
{
	struct step_result r;
	struct orr_error e;
	ok(!run("1x1:v100", "iterations=10", two_computes, NULL, &r, &e), "one device runs (%s)", e.text);
	near_to(r.iteration_s, 3, 1e-12, "work on one device adds up");
	ok(r.period == 1 && r.simulated < 10 && r.n_iterations == 10, "a steady state is found and the rest extrapolated");
	near_to(r.iteration[9].end_s, 30, 1e-9, "extrapolated iterations end where simulated ones would");
	near_to(r.samples_per_s, 8 / 3.0, 1e-12, "throughput is batch / duration");
	char last[32];
	snprintf(last, sizeof last, "iterations=%u", (unsigned)r.simulated);
	step_result_free(&r);
	ok(!run("1x1:v100", last, two_computes, NULL, &r, &e) && !r.period,
		"nothing is extrapolated when the last iteration was simulated");
	near_to(r.samples_per_s, 8 / 3.0, 1e-12, "throughput is unchanged");
	step_result_free(&r);

	ok(!run("4x1:v100", "iterations=8", bsp_ordered, NULL, &r, &e), "BSP runs (%s)", e.text);
	near_to(r.iteration_s, 4 + 6 + 0.5, 1e-9, "BSP: slowest work + ring 2(n-1)/n M/B + update");
	for (size_t i = 0; i < r.n_devices && i < 4; i++)
		near_to(sum_of(&r.device[i]), r.iteration_s, 1e-9, "a device's accounts add up to the iteration");
	near_to(r.device[0].exposed_s, 6, 1e-9, "exposed communication is the time of the ring");
	near_to(r.device[0].bubble_s, 3, 1e-9, "the wait for the slowest is bubble");
	near_to(r.device[3].bubble_s, 0, 1e-9, "the slowest device has no bubble");
	near_to(r.device[0].sent_bytes, 6e9, 1e-9, "each sends 2(n-1)/n M");
	step_result_free(&r);
	ok(!run("4x1:v100", "iterations=8 fidelity=analytic", bsp_ordered, NULL, &r, &e), "the graph runs with fidelity=analytic (%s)",
		e.text);
	near_to(r.iteration_s, 10.5, 1e-9, "closed form and flows agree on an idle network");
	step_result_free(&r);
	ok(!run("4x1:v100", "iterations=3 speeds=3:0.5", bsp_ordered, NULL, &r, &e), "a slow device (%s)", e.text);
	near_to(r.iteration_s, 8 + 6 + 1, 1e-9, "half the speed doubles its work");
	step_result_free(&r);
	ok(!run("4x1:v100", "iterations=3 background=0>1:5e8", bsp_ordered, NULL, &r, &e), "background (%s)", e.text);
	near_to(r.iteration_s, 4 + 12 + 0.5, 1e-9, "a ring runs at the pace of a link that background flows half fill");
	step_result_free(&r);
	ok(!run("4x1:v100", "iterations=3", bsp, NULL, &r, &e), "iterations without dependencies on earlier ones (%s)", e.text);
	ok(r.iteration[2].end_s > 17.9, "such iterations run in parallel and share the links");
	step_result_free(&r);
}

static void test_streams(void)
{
	struct step_result r;
	struct orr_error e;
	on_stream = false;
	ok(!run("4x1:v100", "iterations=5", two_messages, NULL, &r, &e), "messages share (%s)", e.text);
	near_to(r.iteration_s, 2.25, 1e-9, "two messages through one NIC take twice as long");
	step_result_free(&r);
	on_stream = true;
	ok(!run("4x1:v100", "iterations=5", two_messages, NULL, &r, &e), "messages queue (%s)", e.text);
	near_to(r.iteration_s, 2.25, 1e-9, "on one stream the first waits for the one of higher priority");
	ok(r.n_spans == 3 && r.span[0].peer == 2 && r.span[0].end_s - r.span[0].start_s < 1.0001,
		"the message of higher priority has the NIC to itself");
	step_result_free(&r);
	last_op[0] = 0;
	ok(!run("1x1:v100", "iterations=30", alternating, NULL, &r, &e), "a run with a period of three ends without an error (%s)", e.text);
	ok(r.period == 3 && r.simulated < 30, "a period of three is found");
	near_to(r.iteration[29].end_s, 40, 1e-9, "iterations that are not simulated are extrapolated from the period");
	step_result_free(&r);
	ok(!run("2x1:v100", "iterations=40", run_apart, NULL, &r, &e), "asynchronous workers (%s)", e.text);
	near_to(r.samples_per_s, 2 / 3.0, 0.05, "bounded staleness: both have the slow one's pace in the end");
	step_result_free(&r);
}

static void test_lanes(void)
{
	struct step_result a, b;
	struct orr_error e;
	/* An iteration takes 1 + 2 + 3 s of work; rings of 4 and of 2 take 6 and 4 s. */
	ok(!run("8x1:v100", "iterations=6", lanes_build, lanes, &a, &e), "merged lanes run (%s)", e.text);
	ok(!run("8x1:v100", "iterations=6 merge=off", lanes_build, lanes, &b, &e), "single lanes run (%s)", e.text);
	ok(a.was_merged && !b.was_merged, "lanes are merged by default and separate with merge=off");
	near_to(a.iteration_s, 16, 1e-9, "the merged step takes the time of the formula");
	near_to(b.iteration_s, a.iteration_s, 1e-12, "the merged step takes as long as the unmerged one");
	ok(a.n_devices == 8 && b.n_devices == 8, "merged and unmerged runs report every device");
	bool same = true;
	for (size_t i = 0; i < a.n_devices; i++)
		same &= fabs(a.device[i].exposed_s - b.device[i].exposed_s) < 1e-9 &&
			a.device[i].peak_memory_bytes == b.device[i].peak_memory_bytes &&
			fabs(a.device[i].sent_bytes - b.device[i].sent_bytes) < 1;
	ok(same, "merged and unmerged runs have the same accounts per device");
	near_to(a.device[0].peak_memory_bytes, 5e9, 0, "memory is taken and given back");
	step_result_free(&a);
	step_result_free(&b);
}

static void test_leaps(void)
{
	static const char *const sets[] = { "iterations=1", "iterations=1 background=1>2:3e8" };
	for (int j = 0; j < 2; j++) {
		struct step_result a, b;
		struct orr_error e;
		by_hand = false;
		ok(!run("8x1:v100", sets[j], disturbed_ring, NULL, &a, &e), "a disturbed ring runs (%s)", e.text);
		by_hand = true;
		ok(!run("8x1:v100", sets[j], disturbed_ring, NULL, &b, &e), "the ring written step by step runs (%s)", e.text);
		near_to(a.iteration_s, b.iteration_s, 1e-12, "repeats taken in one leap and interrupted end when single steps do");
		ok(a.flows == b.flows, "leaps and single steps count the same flows");
		step_result_free(&a);
		step_result_free(&b);
	}
}

static void test_errors(void)
{
	struct step_result r;
	struct orr_error e;
	refuses(twice, "in the group twice: expected it once");
	refuses(cycle, "no cycles");
	refuses(negative, "bytes of at least 0");
	refuses(nowhere, "device 99");
	refuses(marks, "has only marks");
	refuses(nothing, "created no op");
	refuses(endless, "all ops are detached");
	int rc = run("1x1:v100", "", two_computes, too_much, &r, &e);
	ok(rc == ORR_EINPUT && strstr(e.text, "stage 3") && strstr(e.text, "weights"), "a stage that does not fit is named (%s)", e.text);
	rc = run("1x1:v100", "", two_computes, too_much_twice, &r, &e);
	ok(rc == ORR_EINPUT && strstr(e.text, "needs at least 18.63 GiB") && strstr(e.text, "largest part is weights (9.313 GiB)"),
		"the first of two equal parts is named (%s)", e.text);
	rc = run("1x1:v100", "ignore_memory=true", two_computes, too_much, &r, &e);
	ok(!rc, "ignore_memory=true lets the stage run");
	step_result_free(&r);
	rc = run("4x1:v100", "background=0-1:3", bsp_ordered, NULL, &r, &e);
	ok(rc == ORR_EINPUT && strstr(e.text, "step.background"), "a wrong option is named (%s)", e.text);
}

static void test_repeatable(void)
{
	struct step_result a, b;
	struct orr_error e;
	const char *set = "iterations=12 stragglers=lognormal contention_p=0.3";
	ok(!run("4x1:v100", set, bsp_ordered, NULL, &a, &e) && !run("4x1:v100", set, bsp_ordered, NULL, &b, &e), "random runs (%s)",
		e.text);
	ok(a.n_iterations == 12 && a.period == 0 && a.simulated == 12,
		"a merged run with stragglers and contention simulates every iteration");
	bool same = true;
	for (size_t i = 0; i < 12; i++)
		same &= a.iteration[i].end_s == b.iteration[i].end_s;
	ok(same, "merged and unmerged runs with stragglers and contention agree to the bit");
	ok(a.iteration_s > 10.5, "slowed NICs and stragglers cost time");
	step_result_free(&a);
	step_result_free(&b);
}

int main(void)
{
	test_timing();
	test_streams();
	test_lanes();
	test_leaps();
	test_errors();
	test_repeatable();
	return done();
}
