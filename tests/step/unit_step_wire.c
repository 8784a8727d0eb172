/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages in flight: capacities that change by a file, links without capacity, lanes that send differently, compressed
 * messages. Links carry 1e9 bytes/s without latency, so that times are easily computed by hand. Further tests: actions that are
 * forbidden for a policy that reacts.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

typedef void (*builder)(struct orr_step *s, uint64_t k);
static builder build_now;
static void (*create_now)(struct orr_step *s);
static void (*ended_now)(struct orr_step *s, orr_op op, struct orr_error *err);
static orr_op last, other;

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)a, (void)err;
	last = other = 0;
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

static void ended(void *self, struct orr_step *s, orr_op op, struct orr_error *err)
{
	(void)self;
	ended_now(s, op, err);
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops plain = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_step_ops reacting = { .create = create, .destroy = mem_free, .build = build, .ended = ended };
static struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, no_params, &plain, sizeof plain };

static struct step_result result;
static struct orr_error said;

/* Returns the end of the last iteration, or NAN after an error, which is in `said`. */
static double run(const char *cluster, const char *network, builder b, const char *set)
{
	struct fixture *f = fixture_new(cluster, network, "lenet5", 8);
	char *text = mem_strdup(set), *save = NULL;
	step_result_free(&result);
	said = (struct orr_error){ 0 };
	for (char *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save))
		fixture_set(f, p);
	mem_free(text);
	build_now = b;
	policy.ops = ended_now ? &reacting : &plain;
	int rc = fixture_run(f, &policy, "", &result, &said);
	fixture_free(f);
	return rc ? NAN : result.iteration[result.n_iterations - 1].end_s;
}

static const char star[] = "star:bw=1GBps,lat=0";

/* ---- capacities over time ---- */

static char path[] = "/tmp/orrery-wire.XXXXXX", link_changes[64];
static char link_0[64], link_1[64];

static void find_links(void)
{
	struct fixture *f = fixture_new("4x1:v100", star, "lenet5", 8);
	snprintf(link_0, sizeof link_0, "%s", f->topo->link[topo_nic(f->topo, 0, true)].name);
	snprintf(link_1, sizeof link_1, "%s", f->topo->link[topo_nic(f->topo, 2, true)].name);
	fixture_free(f);
}

/* Writes rows of the form TIME,LINK,RATE; LINK is 0 or 1, or any other text, which is written unchanged. */
static void changes(const char *const *row)
{
	FILE *f = fopen(path, "w");
	if (!f)
		exit(1);
	for (; *row; row++) {
		const char *comma = strchr(*row, ',');
		if (comma && (comma[1] == '0' || comma[1] == '1') && comma[2] == ',')
			fprintf(f, "%.*s,%s%s\n", (int)(comma - *row), *row, comma[1] == '0' ? link_0 : link_1, comma + 2);
		else
			fprintf(f, "%s\n", *row);
	}
	fclose(f);
}
#define CHANGES(...) changes((const char *const[]){ __VA_ARGS__, NULL })

/* Sends 3e9 bytes from device 0 to 1, and as many from 2 to 3. */
static void two_messages(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_transfer(s, 0, 1, 3e9);
	orr_transfer(s, 2, 3, 3e9);
}

/* Sends 3e9 bytes from device 0 to 1 after those of the iteration before. */
static void in_turn(struct orr_step *s, uint64_t k)
{
	static orr_op before;
	orr_op op = orr_transfer(s, 0, 1, 3e9);
	orr_after(s, op, k ? before : 0);
	before = op;
}

/* Adds a ring of two among devices 0 and 1: 8 steps of 0.5e9 bytes in each direction. */
static void ring(struct orr_step *s, uint64_t k)
{
	(void)k;
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 1e9, .repeat = 4 };
	orr_collective(s, &(struct orr_group){ (uint32_t[]){ 0, 1 }, 2 }, &c);
}

static void refused_rows(const char *row, const char *message)
{
	char wanted[200];
	CHANGES("time_s,link,bandwidth_Bps", "1,0,1e9", row);
	run("4x1:v100", star, two_messages, link_changes);
	snprintf(wanted, sizeof wanted, "%s:3: %s", path, message);
	ok(said.code == ORR_EINPUT && !strcmp(said.text, wanted), "%s: %s", row, said.text);
}

static void test_changes(void)
{
	snprintf(link_changes, sizeof link_changes, "iterations=1 link_changes=%s", path);
	CHANGES("time_s,link,bandwidth_Bps", "1,0,5e8");
	near_to(run("4x1:v100", star, two_messages, link_changes), 1 + 2e9 / 5e8, 1e-9, "half the capacity from 1 s on");
	CHANGES("1,0,5e8");
	near_to(run("4x1:v100", star, two_messages, link_changes), 5, 1e-9, "a file without a header");
	CHANGES("3,0,1e9", "1,0,5e8", "1,1,2.5e8");
	near_to(run("4x1:v100", star, two_messages, link_changes), 1 + 2e9 / 2.5e8, 1e-9, "rows in any order, and two links at one time");
	CHANGES("time_s,link,bandwidth_Bps", "3,0,1e9", "", "1,0,5e8\r");
	near_to(run("4x1:v100", star, two_messages, link_changes), 1 + 2 + 1, 1e-9,
		"empty rows and the line ends of Windows; 1e9 bytes by 1 s, 1e9 by 3 s, 1e9 by 4 s");
	CHANGES("0,0,5e8");
	near_to(run("4x1:v100", star, two_messages, link_changes), 6, 1e-9, "a change at the start");
	CHANGES("1,0,0", "2,0,1e9");
	near_to(run("4x1:v100", star, two_messages, link_changes), 4, 1e-9, "a second without capacity");
	CHANGES("1.25,0,5e8");
	near_to(run("4x1:v100", star, ring, link_changes), 1.25 + (4 - 1.25) / 0.5, 1e-9, "a change within a ring's steps");
	/* Ten iterations of 3 s, the third of which takes a second more. */
	snprintf(link_changes, sizeof link_changes, "iterations=10 link_changes=%s", path);
	CHANGES("7,0,0", "8,0,1e9");
	run("4x1:v100", star, in_turn, link_changes);
	near_to(result.iteration_s, (9 * 3 + 1) / 9., 1e-9, "the mean includes the time before and during a change");
	snprintf(link_changes, sizeof link_changes, "iterations=1 link_changes=%s", path);
	CHANGES("1,0,0");
	run("4x1:v100", star, two_messages, link_changes);
	ok(said.code == ORR_EFAIL && strstr(said.text, "op 0 of iteration 0 never ends: its messages make no progress"), "%s", said.text);
	CHANGES("0,0,0");
	run("4x1:v100", star, ring, link_changes);
	ok(said.code == ORR_EFAIL && strstr(said.text, "never ends"), "a ring over a link without capacity: %s", said.text);
}

static void test_bad_changes(void)
{
	static const char form[] = "expected time_s,link,bandwidth_Bps with numbers of at least 0, found ";
	static const char *const bad[] = { "-1,a,1", "1,a,-1", "1,a", "1", "x,a,1", "1,a,x", "1,a,1,2" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char message[160];
		snprintf(message, sizeof message, "%s\"%s\"", form, bad[i]);
		refused_rows(bad[i], message);
	}
	refused_rows("1,nowhere,1", "link: expected a link of the network, such as \"host0.up\", found \"nowhere\"");
}

/* ---- lanes ---- */

static void four_lanes(struct orr_step *s)
{
	orr_step_lanes(s, 4, 1, (uint32_t[]){ 0, 1, 2, 3 });
}

/* Sends an additional message in iteration 3. */
static void new_messages(struct orr_step *s, uint64_t k)
{
	orr_op a = orr_collective_lanes(s, 0, k == 3 ? 4 : 2, 1, &(struct orr_collective){ .op = ORR_ALL_REDUCE, .bytes = 1e9 });
	orr_after(s, a, last);
	last = a;
}

static void two_positions(struct orr_step *s)
{
	orr_step_lanes(s, 2, 2, (uint32_t[]){ 0, 1, 2, 3 });
}

static void new_transfer(struct orr_step *s, uint64_t k)
{
	orr_op a = k == 3 ? orr_transfer(s, 1, 0, 2e9) : orr_transfer(s, 0, 1, 1e9);
	orr_after(s, a, last);
	last = a;
}

static void test_lanes(void)
{
	create_now = four_lanes;
	near_to(run("4x1:v100", star, new_messages, "iterations=5 exact=true"), 4 * 1 + 1.5, 1e-9,
		"a run whose later iterations send other messages restarts with every lane");
	ok(!result.was_merged, "the result says that lanes were not merged");
	run("4x1:v100", star, new_messages, "iterations=5 exact=true merge=on");
	ok(said.code == ORR_EINPUT && strstr(said.text, "step.merge=on: iteration 3 sends new messages: expected the messages of earlier "
							"iterations, or step.merge=auto"),
		"merge=on refuses it: %s", said.text);
	create_now = two_positions;
	near_to(run("4x1:v100", star, new_transfer, "iterations=5 exact=true"), 4 * 1 + 2, 1e-9, "a transfer that earlier iterations lack");
	ok(!result.was_merged, "is not merged either");
	static const char *const refused[] = { "speeds=0:0.5", "stragglers=uniform", "contention_p=0.5", "background=0>1:1" };
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		char set[96];
		snprintf(set, sizeof set, "merge=on iterations=2 %s", refused[i]);
		run("4x1:v100", star, new_transfer, set);
		ok(said.code == ORR_EINPUT &&
				strstr(said.text, "step.merge=on: expected no stragglers, speeds, contention, background flows or "
						  "link changes"),
			"merge=on refuses %s", refused[i]);
		snprintf(set, sizeof set, "merge=on iterations=2 fidelity=analytic %s", refused[i]);
		double t = run("4x1:v100", star, new_transfer, set);
		if (i < 3)
			ok(said.code == ORR_EINPUT && strstr(said.text, "step.merge=on: expected no stragglers and no speeds"),
				"closed forms refuse it too: %s", said.text);
		else
			near_to(t, 2, 1e-9, "closed forms ignore other flows");
	}
	run("4x1:v100", "star:bw=1GBps,lat=0,routing=ecmp", new_transfer, "merge=on iterations=2");
	ok(said.code == ORR_EINPUT && !strcmp(said.text, "step.merge=on: expected routing=d-mod-k, found hashed routes (routing=ecmp)"),
		"and hashed routes: %s", said.text);
	create_now = NULL;
}

/* ---- compressed messages: encoding and decoding are charged to the sender before it sends ---- */

static void carried(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op w = orr_compute(s, 0, ORR_BACKWARD, 1), m = orr_transfer(s, 0, 1, 1e9);
	orr_carries(s, m, 0, 12);
	orr_after(s, m, w);
}

static void test_compressed(void)
{
	/* top-k of a tenth sends 0.1 x (4 + 4) / 4 = 0.2 of the bytes. At 1e9 bytes/s, encoding reads 1e9 bytes and decoding adds
	 * 0.2e9. */
	near_to(run("2x1:v100", star, carried, "iterations=1 compression=topk:density=0.1"), 1 + 0.2, 1e-9, "a fifth of the bytes");
	near_to(run("2x1:v100", star, carried, "iterations=1 compression=topk:density=0.1,compress_Bps=1e9"), 1 + 1.2 + 0.2, 1e-9,
		"after the work, 1.2 s of coding, then the message");
	near_to(result.device[0].codec_s, 1.2, 1e-9, "on the sender");
	near_to(run("2x1:v100", star, carried, "iterations=1"), 2, 1e-9, "without compression: all bytes");
}

/* ---- a policy that reacts ---- */

static void watch_two(struct orr_step *s, uint64_t k)
{
	(void)k;
	last = orr_compute(s, 0, ORR_FORWARD, 1);
	other = orr_compute(s, 1, ORR_FORWARD, 2);
	orr_watch(s, last);
}

static void cancels_running(struct orr_step *s, orr_op op, struct orr_error *err)
{
	(void)op, (void)err;
	orr_cancel(s, other);
}

static void fails(struct orr_step *s, orr_op op, struct orr_error *err)
{
	(void)s, (void)op;
	orr_fail(err, ORR_EINPUT, "the timer is too short");
}

static void counts_samples(struct orr_step *s, orr_op op, struct orr_error *err)
{
	(void)op, (void)err;
	orr_iteration_samples(s, 3);
}

static void nothing(struct orr_step *s, orr_op op, struct orr_error *err)
{
	(void)err;
	orr_cancel(s, 0);
	(void)op;
}

static void refused_end(void (*e)(struct orr_step *, orr_op, struct orr_error *), const char *message)
{
	ended_now = e;
	run("2x1:v100", star, watch_two, "iterations=1");
	ok(said.code && !strcmp(said.text, message), "refused: %s", said.text);
}

static void test_reacting(void)
{
	refused_end(cancels_running,
		"policy test: iteration 0: orr_cancel: op 1 of iteration 0 is running: expected an op that has not started");
	refused_end(fails, "policy test: iteration 0: the timer is too short");
	refused_end(counts_samples, "policy test: iteration 0: orr_iteration_samples: called outside build(): expected a call in build()");
	ended_now = nothing;
	near_to(run("2x1:v100", star, watch_two, "iterations=1"), 2, 1e-9, "cancelling no op changes nothing");
	create_now = four_lanes;
	run("4x1:v100", star, watch_two, "iterations=1");
	ok(said.code == ORR_EFAIL && !strcmp(said.text, "policy test: orr_step_lanes: expected a policy without a function ended()"), "%s",
		said.text);
	create_now = NULL;
	ended_now = NULL;
}

/* ---- iterations that end out of order ---- */

static void unordered(struct orr_step *s, uint64_t k)
{
	orr_op a = orr_delay(s, k % 2 ? 0.5 : 2);
	orr_counts(s, a, 4);
	if (k > 1)
		orr_after(s, a, last);
	last = other;
	other = a;
}

static void test_order(void)
{
	run("1x1:v100", star, unordered, "iterations=6");
	ok(result.n_iterations == 6 && !result.period, "iterations that end out of order are all simulated");
	near_to(result.iteration[1].end_s, 0.5, 1e-9, "the second ends first");
	near_to(result.iteration[4].end_s, 6, 1e-9, "even iterations follow one another");
	near_to(result.iteration[5].end_s, 4.5, 1e-9, "an iteration is built when the one before it has begun: at 4 s");
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	find_links();
	test_changes();
	test_bad_changes();
	test_lanes();
	test_compressed();
	test_reacting();
	test_order();
	step_result_free(&result);
	unlink(path);
	return done();
}
