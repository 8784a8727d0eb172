/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Critical paths of iterations (--record explain), one case per cause: the sentence of an iteration whose path is known by hand, and
 * the time of the same graph without the cause.
 *
 * Links have 1e9 bytes/s and no latency: 1e9 bytes take 1 s.
 */
#include "results/parts.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

static void (*build_now)(struct orr_step *s, uint64_t k);
static void (*ended_now)(struct orr_step *s, orr_op op);
static double scale; /* of the blamed time */
static uint32_t first_function;
static bool has_functions;
static orr_op before[8];

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	static const struct orr_functions two = {
		.n = 2, .bandwidth_Bps = 1e9, .start_s = 0.25, .memory_bytes = 0x1p30, .usd_per_GB_s = 1e-5
	};
	(void)a, (void)err;
	if (has_functions)
		first_function = orr_functions(s, &two);
	return mem_zalloc(1, 1);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self, (void)err;
	build_now(s, k);
	return ORR_OK;
}

static void ended(void *self, struct orr_step *s, orr_op op, struct orr_error *err)
{
	(void)self, (void)err;
	ended_now(s, op);
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops plain = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_step_ops reacting = { .create = create, .destroy = mem_free, .build = build, .ended = ended };
static struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, no_params, &plain, sizeof plain };

/* Runs `iterations` iterations; returns the time of iteration k and, if sentence is not NULL, its sentence. */
static double run(void (*b)(struct orr_step *, uint64_t), unsigned iterations, uint64_t k, const char *set, struct sbuf *sentence)
{
	struct fixture *f = fixture_new("4x1:v100", "star:bw=1GBps,lat=0", "alexnet", 8);
	struct step_result r = { 0 };
	struct run_result *rows = result_new();
	struct orr_error e = { 0 };
	char text[40], name[24];
	snprintf(text, sizeof text, "iterations=%u", iterations);
	fixture_set(f, text);
	if (*set)
		fixture_set(f, set);
	build_now = b;
	policy.ops = ended_now ? &reacting : &plain;
	f->config.paths = sentence != NULL;
	double time = NAN;
	if (!fixture_run(f, &policy, "", &r, &e)) {
		time = r.iteration[k].end_s - r.iteration[k].start_s;
		path_parts(r.paths, rows);
		part_rows_form(rows);
	} else {
		printf("# %s\n", e.text);
	}
	for (size_t i = 0; sentence && i < rows->n_parts; i++) {
		size_t n = 0;
		while (i + n < rows->n_parts && rows->parts[i + n].subject == rows->parts[i].subject)
			n++;
		snprintf(name, sizeof name, "%llu", (unsigned long long)k);
		if (rows->parts[i].subject == k)
			part_sentence(sentence, name, rows->parts + i, n);
		i += n - 1;
	}
	result_free(rows);
	step_result_free(&r);
	fixture_free(f);
	return time;
}

/* Checks the sentence of iteration k, and that the iteration is shorter by `gain` if the blamed time is halved. */
static void expect_at(
	void (*b)(struct orr_step *, uint64_t), unsigned iterations, uint64_t k, const char *want, double gain, const char *what)
{
	struct sbuf sentence = { 0 };
	scale = 1;
	double before_s = run(b, iterations, k, "exact=true", &sentence), plainly = run(b, iterations, k, "exact=true", NULL);
	same_text(sbuf_text(&sentence), want, what);
	scale = 0.5;
	double after_s = run(b, iterations, k, "exact=true", NULL);
	ok(fabs(before_s - after_s - gain) < 1e-9 && before_s == plainly, "%s: halved, the cause gives %g s", what, before_s - after_s);
	sbuf_free(&sentence);
}

static void expect(void (*b)(struct orr_step *, uint64_t), const char *want, double gain, const char *what)
{
	expect_at(b, 1, 0, want, gain, what);
}

/* ---- compute ---- */

static void chain(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 0, ORR_BACKWARD, 2 * scale);
	orr_label(s, b, "layer %d", 7);
	orr_after(s, b, a);
}

/* The op on GPU 1 ends last; that on GPU 2 has slack. */
static void slowest(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 1, ORR_FORWARD, 3 * scale),
	       c = orr_compute(s, 2, ORR_FORWARD, 1.5), d = orr_mark(s), e = orr_compute(s, 0, ORR_OPTIMIZER, 0.5);
	orr_after(s, d, a);
	orr_after(s, d, b);
	orr_after(s, d, c);
	orr_after(s, e, d);
}

/* ---- communication ---- */

static void message(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_transfer(s, 0, 1, 2e9 * scale), c = orr_compute(s, 1, ORR_FORWARD, 0.5);
	orr_label(s, b, "activation");
	orr_after(s, b, a);
	orr_after(s, c, b);
}

/* Messages to GPU 3 share its link; the last one to end is the longest. Alone it would take 2 s. */
static void incast(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op m[3];
	for (uint32_t i = 0; i < 3; i++)
		m[i] = orr_transfer(s, i, 3, 2e9 * (i < 2 ? scale : 1));
	orr_op sum = orr_compute(s, 3, ORR_OTHER_WORK, 1);
	for (uint32_t i = 0; i < 3; i++)
		orr_after(s, sum, m[i]);
}

/* A ring all-reduce of 4e9 bytes among 4 ranks: 2 * 3 / 4 * 4 s. Computation of 3 s hides none of it, because it comes before. */
static void collective(struct orr_step *s, uint64_t k)
{
	uint32_t all[4] = { 0, 1, 2, 3 };
	struct orr_group g = { all, 4 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 4e9 * scale };
	orr_op sum = orr_collective(s, &g, &c);
	(void)k, (void)sum;
}

static void hidden(struct orr_step *s, uint64_t k)
{
	uint32_t all[4] = { 0, 1, 2, 3 };
	struct orr_group g = { all, 4 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 4e9 * scale };
	orr_op sum = orr_collective(s, &g, &c), work = orr_compute(s, 2, ORR_BACKWARD, 7), last = orr_compute(s, 0, ORR_OPTIMIZER, 1);
	(void)k;
	orr_after(s, last, sum);
	orr_after(s, last, work);
}

/* ---- streams ---- */

/* The second message is ready at 0 and waits for the stream of GPU 0 until 3 s. */
static void one_stream(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_transfer(s, 0, 1, 3e9 * scale), b = orr_transfer(s, 0, 2, 1e9);
	orr_on_stream(s, a, 1);
	orr_on_stream(s, b, 1);
	orr_label(s, a, "first");
}

/* The all-reduce needs the streams of GPUs 0 and 1, of which that of GPU 1 is free last. */
static void two_streams(struct orr_step *s, uint64_t k)
{
	(void)k;
	uint32_t pair[2] = { 0, 1 };
	struct orr_group g = { pair, 2 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 1e9 };
	orr_op a = orr_transfer(s, 0, 2, 1e9), b = orr_transfer(s, 1, 3, 2e9 * scale), sum = orr_collective(s, &g, &c);
	orr_on_stream(s, a, 1);
	orr_on_stream(s, b, 1);
	orr_on_stream(s, sum, 1);
}

/* ---- delays, functions ---- */

static void delay(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_delay(s, 2 * scale), b = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_label(s, a, "timeout");
	orr_after(s, b, a);
}

static void function(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op begin = orr_invoke(s, first_function + 1), work = orr_compute(s, first_function + 1, ORR_FORWARD, 1 * scale),
	       end = orr_transfer(s, first_function + 1, 0, 1e9);
	orr_after(s, work, begin);
	orr_after(s, end, work);
	orr_returns(s, end, first_function + 1);
}

/* ---- other iterations ---- */

/* The update of an iteration waits for the message of the previous one, which is detached. */
static void late_message(struct orr_step *s, uint64_t k)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 0, ORR_OPTIMIZER, 0.5), m = orr_transfer(s, 0, 1, 4e9 * scale);
	orr_detach(s, m);
	orr_after(s, b, a);
	orr_after(s, m, b);
	if (k) {
		orr_after(s, a, before[0]);
		orr_after(s, b, before[1]);
	}
	before[0] = b;
	before[1] = m;
}

/* The last op of iteration 0 waits for GPU 1, which runs an op of iteration 2. Iteration 2 is built when iteration 1 starts, at 1 s. */
static void ahead(struct orr_step *s, uint64_t k)
{
	if (k == 0) {
		orr_op a = orr_compute(s, 0, ORR_FORWARD, 1 * scale), b = orr_compute(s, 2, ORR_FORWARD, 2),
		       c = orr_compute(s, 1, ORR_FORWARD, 1);
		orr_after(s, c, b);
		before[0] = a;
	} else if (k == 1) {
		orr_after(s, orr_compute(s, 3, ORR_FORWARD, 1), before[0]);
	} else {
		orr_compute(s, 1, ORR_FORWARD, 3);
	}
}

/* ---- ops that a policy adds ---- */

static orr_op gate;

static void gated(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 2 * scale), b;
	gate = orr_gate(s);
	b = orr_compute(s, 1, ORR_FORWARD, 1);
	orr_watch(s, a);
	orr_after(s, b, gate);
}

static void adds(struct orr_step *s, orr_op op)
{
	orr_op more = orr_transfer(s, 0, 1, 1e9);
	orr_after(s, more, op);
	orr_open(s, gate, more);
}

/* ---- the bandwidth of the blamed link ---- */

/* Returns the time of iteration 0 if a link has twice its bandwidth. */
static double with_faster(void (*b)(struct orr_step *, uint64_t), const char *link)
{
	char file[] = "/tmp/orrery-link-XXXXXX", set[80];
	int fd = mkstemp(file);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NAN;
	fprintf(f, "0,%s,2e9\n", link);
	fclose(f);
	snprintf(set, sizeof set, "link_changes=%s", file);
	double time = run(b, 1, 0, set, NULL);
	unlink(file);
	return time;
}

static void links(void)
{
	scale = 1;
	ok(with_faster(incast, "host3.down") == 4 && with_faster(incast, "host0.up") == 7,
		"the blamed link with twice the bandwidth saves half of its 6 s, another link nothing (%g, %g)",
		with_faster(incast, "host3.down"), with_faster(incast, "host0.up"));
	ok(with_faster(hidden, "host0.up") == 8, "a path without messages ignores a faster link");
}

int main(void)
{
	expect(chain, "iteration 0 took 3 s: 2 s compute backward on GPU 0 (layer 7), 1 s compute forward on GPU 0", 1, "compute");
	expect(slowest, "iteration 0 took 3.5 s: 3 s compute forward on GPU 1, 500 ms compute optimizer on GPU 0", 1.5,
		"the slowest device");
	expect(message,
		"iteration 0 took 3.5 s: 2 s communication message from GPU 0 to GPU 1 over host0.up (activation), 1 s compute forward on "
		"GPU 0, "
		"500 ms compute forward on GPU 1",
		1, "a message");
	/* Halved, two messages of 1e9 bytes end after 3 s, and the third has 1e9 bytes left: 4 s. */
	expect(incast,
		"iteration 0 took 7 s: 6 s communication message from GPU 2 to GPU 3 over host3.down (3 flows on the link), 1 s compute "
		"work on GPU "
		"3",
		2, "a link that messages share");
	expect(collective, "iteration 0 took 6 s: 6 s communication all-reduce among 4 devices over host0.up", 3, "a collective");
	expect(hidden, "iteration 0 took 8 s: 7 s compute backward on GPU 2, 1 s compute optimizer on GPU 0", 0,
		"communication behind compute");
	expect(one_stream,
		"iteration 0 took 4 s: 3 s communication message from GPU 0 to GPU 1 over host0.up (first; an op waits for stream 1 of "
		"device "
		"0), 1 s communication message from GPU 0 to GPU 2 over host0.up",
		1.5, "a wait for a stream");
	expect(two_streams,
		"iteration 0 took 3 s: 2 s communication message from GPU 1 to GPU 3 over host1.up (an op waits for stream 1 of device 1), "
		"1 s communication all-reduce among 2 devices over host1.up",
		1, "a wait for two streams");
	expect(delay, "iteration 0 took 3 s: 2 s delay of the policy (timeout), 1 s compute forward on GPU 0", 1, "a delay");
	has_functions = true;
	expect(function,
		"iteration 0 took 2.25 s: 1 s compute forward on function 1, 1 s communication message from function 1 to GPU 0 over the "
		"link of "
		"function 1, 250 ms start of function 1",
		0.5, "a function");
	has_functions = false;
	expect_at(late_message, 4, 2,
		"iteration 2 took 4.5 s: 4 s communication message from GPU 0 to GPU 1 over host0.up of the previous iteration, 500 ms "
		"compute "
		"optimizer on GPU 0",
		2, "a message of the previous iteration");
	expect_at(ahead, 3, 0,
		"iteration 0 took 5 s: 3 s compute forward on GPU 1 of a later iteration (an op waits for stream 0 of device 1), 1 s "
		"compute "
		"forward on GPU 0, 1 s compute forward on GPU 1",
		0.5, "an op of a later iteration, and what led to its build");
	ended_now = adds;
	expect(gated,
		"iteration 0 took 4 s: 2 s compute forward on GPU 0, 1 s communication message from GPU 0 to GPU 1 over host0.up, 1 s "
		"compute forward "
		"on GPU 1",
		1, "ops added during the run, and a gate");
	ended_now = NULL;
	links();
	return done();
}
