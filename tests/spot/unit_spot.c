/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_spot.c - the spot world: closed forms of small runs, a policy that acts at random, impossible actions */
#include "tests/tap.h"

#include "spot/spot.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct orr_error err;

/* ---- a run of a policy given as functions ---- */

static const struct orr_param no_params[] = { ORR_PARAM_END };

struct setting {
	const char *rows;      /* bamboo's format */
	const char *generator; /* or a generator */
	const char *job;
	const char *options[8];
	int64_t until;
	bool exact, quiet;
	unsigned flags;
	uint64_t seed;
};

static const char small_job[] =
	"{\"name\":\"small\",\"source\":\"a "
	"test\",\"samples_per_step\":10,\"steps\":100,\"state_bytes\":1e9,\"points\":[[1,1,1000],[1,2,600],[2,2,400]]}";

static struct availset *rows_of(const struct setting *s)
{
	char path[] = "/tmp/unit_spot_XXXXXX";
	if (s->generator)
		return availset_load(s->generator, NULL, NULL, s->seed, &err);
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fputs(s->rows, f);
	fclose(f);
	struct availset *set = availset_load(path, "bamboo", NULL, 1, &err);
	unlink(path);
	return set;
}

static int run(const struct setting *s, const struct orr_spot_ops *ops, struct run_result *r)
{
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", s->flags, no_params, ops,
		sizeof(struct orr_spot_ops) };
	memset(&err, 0, sizeof err);
	struct availset *set = rows_of(s);
	struct elastic *job = elastic_parse("job", s->job ? s->job : small_job, strlen(s->job ? s->job : small_job), &err);
	struct orr_args *options = args_new(spot_options, "spot", &err), *none = args_new(no_params, "script", &err);
	int rc = !set || !job;
	for (int i = 0; s->options[i]; i++)
		rc |= args_set_pair(options, s->options[i], &err);
	struct spot_config c = { .capacity = set,
		.job = job,
		.options = options,
		.seed = s->seed,
		.until_ns = s->until ? s->until : ORR_NEVER,
		.exact = s->exact,
		.check = true,
		.record_iterations = true,
		.record_nodes = true,
		.max_rows = 1000000,
		.policy_timeout_s = 60 };
	if (!rc)
		rc = spot_run(&c, &policy, none, "script", r, &err);
	if (rc && !s->quiet)
		printf("# %s\n", err.text);
	args_free(options);
	args_free(none);
	elastic_free(job);
	availset_free(set);
	return rc;
}

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

static double account(const struct run_result *r, const char *name, bool usd)
{
	for (size_t i = 0; i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, name))
			return usd ? r->accounts[i].usd : r->accounts[i].node_s;
	return NAN;
}

/* ---- one instance ---- */

static char told[4096];

static void note(const char *what, int64_t t)
{
	size_t n = strlen(told);
	snprintf(told + n, sizeof told - n, "%s@%g ", what, (double)t / 1e9);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)w, (void)args, (void)e;
	return mem_zalloc(1, 64);
}

static const char *const event_names[] = { "added", "ready", "notice", "gone" };

static void start_if_ready(struct orr_spot *w)
{
	orr_inst i;
	if (orr_inst_ready_list(w, &i, 1) && !orr_steps_in_flight(w, NULL, NULL)) {
		orr_layout(w, 1, 1, &i);
		orr_steps_run(w, &(struct orr_steps){ .step_ns = orr_step_time(w, 1, 1, ORR_STEP_PLAIN), .redundant = 0.25 });
	}
}

static void simple_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self, (void)i;
	note(event_names[event], orr_spot_now(w));
	if (event == ORR_INST_GONE && orr_ownerless(w))
		orr_steps_stop(w);
	if (event != ORR_INST_ADDED && event != ORR_INST_NOTICE)
		start_if_ready(w);
}

static const struct orr_spot_ops simple = { .create = create, .destroy = mem_free, .instance = simple_instance };

/* Tests 100 steps of 1 s from 5 s on. The instance is removed at 50.5 s, during step 46. Another one, ready at 85 s, runs the other
 * 55 steps. */
static void test_closed_form(void)
{
	struct run_result *r = result_new();
	struct setting s = { .rows = "0,add,a\n50500,remove,a\n80000,add,b\n500000,remove,b\n", .options = { "startup=5s", "price=3.6" } };
	told[0] = 0;
	ok(!run(&s, &simple, r), "a run with a loss ends well");
	same_text(told, "added@0 ready@5 gone@50.5 added@80 ready@85 ", "instance() reports every event until the job is over");
	near_to(metric(r, "makespan_s"), 140, 1e-12, "45 steps, a gap, 55 steps: over at 140 s");
	near_to(metric(r, "steps"), 100, 0, "100 steps count");
	near_to(metric(r, "samples"), 1000, 0, "each step has 10 samples");
	near_to(metric(r, "preemptions"), 1, 0, "one preemption before the end");
	near_to(account(r, "useful", false), 75, 1e-12, "useful: three quarters of 100 s");
	near_to(account(r, "redundant", false), 25, 1e-12, "redundant: one quarter");
	near_to(account(r, "wasted", false), 0.5, 1e-12, "wasted: the aborted step");
	near_to(account(r, "starting", false), 10, 1e-12, "starting: twice 5 s");
	near_to(account(r, "idle", false), 0, 0, "idle: never");
	near_to(metric(r, "usd"), 110.5 * 0.001, 1e-12, "3.6 USD per hour is a thousandth of a USD per second");
	near_to(metric(r, "samples_per_s"), 1000 / 135.0, 1e-12, "throughput from the first step's beginning to the last one's end");
	near_to(metric(r, "usd_per_hour"), 110.5 * 3.6 / 140, 1e-12, "cost rate from 0 to the last step's end");
	/* The value is the time average of throughput over cost rate. 99 steps of 1 s have 10 samples/s and 3.6 USD/h; one step of 36
	 * s has 0.5 + 5 + 1 paid seconds. */
	double long_step = 10.0 / (6.5 * 0.001 * 3600) * 36;
	near_to(metric(r, "value"), (99 * 10 / 3.6 + long_step) / 135, 1e-12, "value is the time average over the steps");
	near_to((double)r->n_iterations, 100, 0, "a row for each step");
	near_to(r->iterations[45].start_s, 85, 1e-12, "the 46th step begins when the second instance is ready");
	result_free(r);
}

static void test_billing(void)
{
	struct run_result *r = result_new();
	struct setting s = { .rows = "0,add,a\n50500,remove,a\n80000,add,b\n500000,remove,b\n",
		.options = { "price=3.6", "billing=hour" } };
	told[0] = 0;
	ok(!run(&s, &simple, r), "a run with spot.billing=hour");
	near_to(metric(r, "usd"), 7.2, 1e-12, "two instances for less than an hour each cost two hours");
	near_to(account(r, "rounding", true), 7.2 - 0.001 * (50.5 + metric(r, "makespan_s") - 80), 1e-9,
		"the unused rest of an hour is in the account rounding");
	result_free(r);
}

static void test_notice(void)
{
	struct run_result *r = result_new();
	struct setting s = {
		.rows = "0,add,a\n20000,add,b\n50500,remove,a\n60000,remove,b\n", .options = { "notice=35s" }, .until = 55 * ORR_SECOND
	};
	told[0] = 0;
	ok(!run(&s, &simple, r), "with notices");
	same_text(told, "added@0 ready@0 notice@15.5 added@20 ready@20 notice@25 gone@50.5 ",
		"notice is given spot.notice before the end, or when the offer is taken");
	near_to(metric(r, "makespan_s"), 55, 1e-12, "--until ends the run");
	near_to(metric(r, "is_complete"), 0, 0, "--until: the job is not complete");
	near_to(metric(r, "steps"), 50 + 4, 0, "--until: a step that ends at that instant does not count");
	result_free(r);
}

/* ---- offers and on-demand ---- */

static void picky_decide(void *self, struct orr_spot *w)
{
	uint64_t *phase = self;
	char text[64];
	snprintf(text, sizeof text, "offers=%u", orr_offers(w, ORR_ANY_ZONE));
	note(text, orr_spot_now(w));
	if (*phase == 0) {
		ok(orr_request(w, 0, 2) == 2 && orr_request(w, 0, 5) == 1 && orr_request(w, 0, 1) == 0,
			"requests are granted in part, then refused");
		ok(orr_request_on_demand(w, 0, 3) == 2, "requests above the quota are refused");
		orr_spot_timer(w, 10 * ORR_SECOND, 0, 1);
	}
	++*phase;
}

static void picky_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self;
	orr_release(w, orr_inst_first(w));
	ok(tag == 1 && orr_offers(w, 0) == 1 && orr_inst_live(w) == 4, "a released instance is offered again");
}

static void *picky_create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)args, (void)e;
	orr_want(w, ORR_ANY_ZONE, 0);
	return mem_zalloc(1, 64);
}

static void test_offers(void)
{
	const struct orr_spot_ops picky = { .create = picky_create, .destroy = mem_free, .timer = picky_timer, .decide = picky_decide };
	struct run_result *r = result_new();
	struct setting s = { .rows = "0,add,a\n0,add,b\n0,add,c\n20000,remove,a\n",
		.options = { "on_demand_quota=2", "price=1", "on_demand_price=4" },
		.until = 30 * ORR_SECOND };
	told[0] = 0;
	ok(!run(&s, &picky, r), "a run with on-demand and spot instances");
	/* decide() is called twice at 0 s, because instances join and become ready; at 10 s by the timer; at 20 s because an offer
	 * ends. */
	ok(strstr(told, "offers=3@0 ") == told && strstr(told, "offers=1@10 offers=0@20"),
		"decide() is called at each instant with an event: %s", told);
	near_to(metric(r, "usd"), (10 + 30 + 30 + 4 * 60) / 3600.0, 1e-12, "each instance is paid from acceptance to release");
	near_to(metric(r, "on_demand_hours"), 60 / 3600.0, 1e-12, "on_demand_hours counts the hours on demand");
	near_to(metric(r, "preemptions"), 0, 0, "the end of an offer that was not accepted is no preemption");
	result_free(r);
}

/* ---- impossible actions ---- */

static int trick;

static void trick_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	orr_inst two[2] = { i, i };
	struct orr_future f;
	(void)self;
	if (event == ORR_INST_ADDED && trick == 0)
		orr_layout(w, 1, 1, &i);
	if (event == ORR_INST_READY && !orr_steps_in_flight(w, NULL, NULL)) {
		if (trick == 1)
			orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND });
		orr_layout(w, 1, 2, two);
		if (trick == 2)
			orr_own(w, 0, 1, i);
		if (trick == 3)
			orr_steps_run(w, &(struct orr_steps){ .step_ns = orr_step_time(w, 7, 7, ORR_STEP_PLAIN) });
		if (trick == 4)
			orr_commit(w, 1);
		if (trick == 5)
			orr_spot_future(w, ORR_NEVER, &f, 1);
		if (trick == 6)
			orr_own(w, 1, 0, i);
		orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND });
		if (trick == 7)
			orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND });
		if (trick == 8)
			orr_spot_timer(w, orr_spot_now(w) - 1, 0, 0);
		if (trick == 12)
			orr_layout(w, 0, 0, NULL);
	}
	if (event == ORR_INST_GONE && trick == 9)
		orr_own(w, 0, 0, i);
	if (event == ORR_INST_GONE && trick == 10) {
		*(orr_inst *)self = i;
		orr_steps_stop(w);
		orr_spot_timer(w, orr_spot_now(w) + 1, 0, 0);
	}
	/* Mistake 11: a stage has no owner during a step. */
}

static void trick_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)tag;
	orr_release(w, *(orr_inst *)self);
}

static void test_impossible(void)
{
	static const char *const expected[] = {
		("instance a at 0.000000000 s: orr_layout(): the owner of stage 0 of pipeline 0 is still starting: expected an instance "
		 "that is ready"),
		"orr_steps_run(): no instance has a stage", "orr_own(): stage 1 of pipeline 0 has an owner, a", "a step of 0 ns",
		"orr_commit(): 1 steps: expected at most 0, the number of uncommitted steps",
		"reads the future: expected a policy that declares ORR_NEEDS_ORACLE",
		"orr_own(): stage 0 of pipeline 1: expected one of the layout's 1 x 2", "orr_steps_run() while a step is in flight",
		"at 0.999999999 s: expected a time from now on", "orr_own(): the instance has ended: expected a live instance",
		"orr_release(): the instance has ended or never existed: expected a live instance",
		"a step is in flight although stage 0 of pipeline 0 has no live owner", "orr_layout() while a step is in flight"
	};
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .instance = trick_instance, .timer = trick_timer };
	for (trick = 0; trick < (int)(sizeof expected / sizeof *expected); trick++) {
		struct run_result *r = result_new();
		struct setting s = { .rows = "0,add,a\n5000,remove,a\n", .options = { "startup=1s" }, .quiet = true };
		int rc = run(&s, &ops, r);
		bool good = rc == ORR_EFAIL && strstr(err.text, expected[trick]) && strstr(err.text, "policy script");
		ok(good, "impossible: %s", expected[trick]);
		if (!good)
			printf("# rc %d: %s\n", rc, err.text);
		result_free(r);
	}
}

/* ---- a policy that acts at random, within the rules ---- */

struct chance {
	struct rng rng;
	bool is_provisional;
};

static void *chance_create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)args, (void)e;
	struct chance *c = mem_zalloc(1, sizeof *c);
	rng_init(&c->rng, (uint64_t)(orr_spot_uniform(w) * 1e9), "chance", 0);
	c->is_provisional = rng_below(&c->rng, 2);
	if (c->is_provisional)
		orr_steps_are_provisional(w);
	if (rng_below(&c->rng, 3) == 0)
		orr_want(w, ORR_ANY_ZONE, (uint32_t)rng_below(&c->rng, 12));
	return c;
}

static void relayout(struct chance *c, struct orr_spot *w)
{
	orr_inst all[64];
	uint32_t n = orr_inst_ready_list(w, all, 64), pipelines, depth;
	if (n > 64)
		n = 64;
	if (!n)
		return;
	pipelines = 1 + (uint32_t)rng_below(&c->rng, n);
	depth = 1 + (uint32_t)rng_below(&c->rng, 4);
	orr_inst *owner = mem_alloc(pipelines * depth * sizeof *owner);
	for (uint32_t i = 0; i < pipelines * depth; i++)
		owner[i] = all[rng_below(&c->rng, n)];
	orr_layout(w, pipelines, depth, owner);
	mem_free(owner);
}

static void chance_decide(void *self, struct orr_spot *w)
{
	struct chance *c = self;
	uint64_t left = orr_steps_uncommitted(w);
	switch (rng_below(&c->rng, 10)) {
	case 0:
		orr_commit(w, left ? rng_below(&c->rng, left + 1) : 0);
		break;
	case 1:
		orr_lose(w, left ? rng_below(&c->rng, left + 1) : 0);
		break;
	case 2:
		orr_steps_last(w);
		break;
	case 3:
		orr_steps_stretch(w, (int64_t)rng_below(&c->rng, 5000000000));
		break;
	case 4:
		orr_steps_pace(w, 1 + (int64_t)rng_below(&c->rng, 3000000000));
		break;
	case 5:
		if (orr_inst_first(w))
			orr_release(w, orr_inst_first(w));
		break;
	case 6:
		orr_request_on_demand(w, 0, 1);
		break;
	case 7:
		orr_spot_timer(w, orr_spot_now(w) + (int64_t)rng_below(&c->rng, 100) * ORR_SECOND, (uint32_t)rng_below(&c->rng, 8), 3);
		break;
	case 8:
		orr_pause_as(w, ORR_CHECKPOINT + (enum orr_account)rng_below(&c->rng, 3));
		break;
	default:
		orr_egress(w, 1e6);
		break;
	}
	if (orr_ownerless(w))
		orr_steps_stop(w);
	if (!orr_steps_in_flight(w, NULL, NULL) && orr_inst_ready(w) && orr_steps_done(w) < 100000) {
		relayout(c, w);
		orr_steps_run(w, &(struct orr_steps){ .step_ns = 1 + (int64_t)rng_below(&c->rng, 4000000000),
					 .most = rng_below(&c->rng, 50),
					 .redundant = (double)rng_below(&c->rng, 3) / 3,
					 .samples = (double)rng_below(&c->rng, 3),
					 .egress_bytes = (double)rng_below(&c->rng, 2) * 1e9 });
	}
}

static void chance_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self, (void)i;
	if (event == ORR_INST_GONE && orr_ownerless(w))
		orr_steps_stop(w);
}

static void chance_steps(void *self, struct orr_spot *w)
{
	struct chance *c = self;
	if (orr_steps_done(w) == 100000)
		orr_commit(w, orr_steps_uncommitted(w));
	else if (orr_ownerless(w) == 0 && rng_below(&c->rng, 2))
		orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND, .most = 7 });
}

static bool same_results(const struct run_result *a, const struct run_result *b)
{
	bool same = a->n_metrics == b->n_metrics && a->n_iterations == b->n_iterations && a->n_nodes == b->n_nodes &&
		    a->n_accounts == b->n_accounts;
	for (size_t i = 0; same && i < a->n_metrics; i++)
		if (strcmp(a->metrics[i].name, b->metrics[i].name) || a->metrics[i].value != b->metrics[i].value) {
			printf("# %s: %.17g and %.17g\n", a->metrics[i].name, a->metrics[i].value, b->metrics[i].value);
			same = false;
		}
	for (size_t i = 0; same && i < a->n_iterations; i++)
		same = !memcmp(&a->iterations[i], &b->iterations[i], sizeof *a->iterations);
	for (size_t i = 0; same && i < a->n_nodes; i++)
		same = a->nodes[i].time_ns == b->nodes[i].time_ns && a->nodes[i].live == b->nodes[i].live &&
		       a->nodes[i].usd == b->nodes[i].usd;
	for (size_t i = 0; same && i < a->n_accounts; i++)
		same = a->accounts[i].node_s == b->accounts[i].node_s && a->accounts[i].usd == b->accounts[i].usd;
	return same;
}

static void test_chance(void)
{
	const struct orr_spot_ops ops = {
		.create = chance_create, .destroy = mem_free, .instance = chance_instance, .steps = chance_steps, .decide = chance_decide
	};
	static const char *const generators[] = { "hazard:p=0.5,slots=20,length=6h", "renewal:up=20m,down=10m,nodes=8,length=4h",
		"churn:slots=6,rate=3,length=5h", "bulk:slots=24,every=10m,length=5h" };
	static const char job[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":3,\"steps\":100000,\"points\":[[1,1,1000]]}";
	int n = getenv("ORR_SANITIZED") ? 40 : 400, n_good = 0, n_same = 0, n_ran = 0;
	for (int i = 0; i < n; i++) {
		struct setting s = { .generator = generators[i % 4],
			.job = job,
			.seed = (uint64_t)i + 1,
			.until = 5 * 3600 * ORR_SECOND,
			.options = { i % 3 ? "startup=45s" : "startup=0", i % 2 ? "billing=hour" : "billing=second",
				i % 5 ? "notice=0" : "notice=120s", i % 7 ? "quota=0" : "quota=5", "egress_usd_per_GB=0.02",
				i % 11 ? "on_demand_quota=3" : "on_demand_quota=0" } };
		struct run_result *a = result_new(), *b = result_new();
		int rc = run(&s, &ops, a);
		s.exact = true;
		int rc2 = run(&s, &ops, b);
		n_good += !rc && !rc2;
		n_same += same_results(a, b);
		n_ran += !rc && metric(a, "steps") > 100;
		result_free(a);
		result_free(b);
	}
	ok(n_good == n, "%d of %d runs of a policy that acts at random keep the laws", n_good, n);
	ok(n_same == n, "%d of %d are the same, byte for byte, with each step an event of its own", n_same, n);
	ok(n_ran > n / 2, "%d of them trained", n_ran);
}

int main(void)
{
	test_closed_form();
	test_billing();
	test_notice();
	test_offers();
	test_impossible();
	test_chance();
	return done();
}
