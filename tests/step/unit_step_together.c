/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several runs over one network (step_run_together), computed by hand. An iteration trains 2 GPUs x 8 samples, and a message
 * takes 1 s on an idle link.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

static const double SAMPLES = 16;

/* State of a policy in which each iteration follows the previous one. Members differ in their labels. */
struct state {
	orr_op last;
	double compute_s, sent;
	bool counts;
};

static const char *option_now; /* options of the step world; NULL: none */

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)s;
	if (orr_arg_real(a, "compute_s") > 50) {
		orr_fail(err, ORR_EINPUT, "compute_s: expected at most 50");
		return NULL;
	}
	struct state *x = mem_zalloc(1, sizeof *x);
	x->compute_s = orr_arg_real(a, "compute_s");
	x->sent = orr_arg_real(a, "sent_GB") * 1e9;
	x->counts = orr_arg_bool(a, "counts");
	return x;
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)err;
	struct state *x = self;
	if (!(x->compute_s > 0)) {
		orr_mark(s);
		return ORR_OK;
	}
	orr_op work = orr_compute(s, 0, ORR_BACKWARD, x->compute_s), end = work;
	if (k)
		orr_after(s, work, x->last);
	if (x->sent > 0) {
		end = orr_transfer(s, 0, 1, x->sent);
		orr_after(s, end, work);
	}
	if (x->counts)
		orr_counts(s, work, 3);
	x->last = end;
	return ORR_OK;
}

static const struct orr_param params[] = { ORR_PARAM_REAL("compute_s", "1", 0, 100, ""), ORR_PARAM_REAL("sent_GB", "0", 0, 100, ""),
	ORR_PARAM_BOOL("counts", false, ""), ORR_PARAM_END };
static const struct orr_step_ops ops = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, params, &ops, sizeof ops };

struct given {
	const char *set[3]; /* parameters of the member, terminated by NULL */
	double start_s;
};

struct limits {
	uint64_t most, most_flows;
};

static struct step_together run(const struct given *g, uint32_t n, struct limits limits, double *rate, struct orr_error *e)
{
	struct fixture *f = fixture_new("2x1:v100", "star:bw=1GBps,lat=0", "alexnet", 8);
	struct step_member m[3];
	struct step_together out = { .tolerance = 1e-6, .most = limits.most, .most_flows = limits.most_flows, .samples_per_s = rate };
	f->config.check = true;
	if (option_now)
		fixture_set(f, option_now);
	*e = (struct orr_error){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		struct orr_args *a = args_new(params, "test", e);
		for (int k = 0; k < 3 && g[i].set[k]; k++)
			args_set_pair(a, g[i].set[k], e);
		m[i] = (struct step_member){ &f->config, &policy, a, "test", g[i].start_s };
		rate[i] = -1;
	}
	if (!e->code)
		step_run_together(m, n, &out, e);
	for (uint32_t i = 0; i < n; i++)
		args_free((struct orr_args *)(uintptr_t)m[i].args);
	fixture_free(f);
	if (e->code)
		printf("# %s\n", e->text);
	return out;
}

static const struct limits wide = { 1000, 1000000 };

static void test_failures(void)
{
	struct orr_error e;
	double rate[3];
	const struct given unable[] = { { { "compute_s=3" }, 0 }, { { "compute_s=77" }, 0 } };
	run(unable, 2, wide, rate, &e);
	ok(e.code == ORR_EINPUT && !strcmp(e.text, "policy test: compute_s: expected at most 50") && rate[0] == 0 && rate[1] == 0,
		"a member that cannot be created ends all: %s", e.text);
	const struct given idle[] = { { { "compute_s=3" }, 0 }, { { "compute_s=0" }, 0 } };
	run(idle, 2, wide, rate, &e);
	ok(e.code == ORR_EFAIL && strstr(e.text, "has only marks: expected an op that takes time"), "a member without work: %s", e.text);
	const struct given sending[] = { { { "compute_s=1", "sent_GB=1" }, 0 } };
	option_now = "background=0>1:1e9";
	run(sending, 1, wide, rate, &e);
	option_now = NULL;
	ok(e.code == ORR_EFAIL && strstr(e.text, "test and others: no event is pending: expected one, because iterations are in flight"),
		"a message over a link without capacity: %s", e.text);
}

int main(void)
{
	test_failures();
	struct orr_error e;
	double rate[3];
	struct step_together t;

	const struct given alone[] = { { { "compute_s=3", "sent_GB=1" }, 0 } };
	t = run(alone, 1, wide, rate, &e);
	near_to(rate[0], SAMPLES / 4, 1e-12, "a member alone: 3 s of work and a message of 1 s");
	ok(!e.code && t.has_settled && t.iterations >= 8, "the set is steady after the second checkpoint");

	const struct given apart[] = { { { "compute_s=3" }, 0 }, { { "compute_s=5" }, 0.5 } };
	run(apart, 2, wide, rate, &e);
	near_to(rate[0], SAMPLES / 3, 1e-12, "members that only compute do not slow each other: the first");
	near_to(rate[1], SAMPLES / 5, 1e-12, "members that only compute: the second");

	/* Both messages begin 1 s after the start of each iteration and share the link until 3 s. */
	const struct given at_once[] = { { { "sent_GB=1" }, 0 }, { { "sent_GB=1" }, 0 } };
	run(at_once, 2, wide, rate, &e);
	near_to(rate[0], SAMPLES / 3, 1e-9, "messages at the same time take twice as long: the first");
	near_to(rate[1], SAMPLES / 3, 1e-9, "messages at the same time: the second");

	/* The second member computes while the first sends. */
	const struct given in_turn[] = { { { "sent_GB=1" }, 0 }, { { "sent_GB=1" }, 1 } };
	run(in_turn, 2, wide, rate, &e);
	near_to(rate[0], SAMPLES / 2, 1e-9, "messages in turn have the link to themselves: the first");
	near_to(rate[1], SAMPLES / 2, 1e-9, "messages in turn: the second member, which starts 1 s later");

	const struct given three[] = { { { "sent_GB=1" }, 0 }, { { "sent_GB=1" }, 0 }, { { "compute_s=7" }, 0 } };
	run(three, 3, wide, rate, &e);
	near_to(rate[0], SAMPLES / 3, 1e-9, "three members: two that share");
	near_to(rate[2], SAMPLES / 7, 1e-9, "rate of the member that does not share the link");

	/* 3 samples end every 2 s; a long window contains whole periods. */
	const struct given counted[] = { { { "compute_s=2", "counts=true" }, 0 } };
	t = run(counted, 1, wide, rate, &e);
	near_to(rate[0], 3 / 2.0, 1e-12, "a member that counts its samples: 3 in 2 s");

	t = run(at_once, 2, (struct limits){ 1000, 3 }, rate, &e);
	ok(!e.code && !t.has_settled && t.iterations <= 6, "a limit on messages ends the run (%u iterations)", (unsigned)t.iterations);
	t = run(at_once, 2, (struct limits){ 4, 1000000 }, rate, &e);
	ok(!e.code && !t.has_settled && t.iterations >= 8 && t.iterations <= 10,
		"a limit on iterations ends it at the first checkpoint (%u)", (unsigned)t.iterations);
	near_to(rate[0], SAMPLES / 3, 1e-9, "a run that ends at its limit has the rates measured so far");
	return done();
}
