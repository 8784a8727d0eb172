/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_spot_zones.c - zones, prices, speeds of types and bytes between zones; expected values by hand (docs/models/spot.md) */
#include "tests/tap.h"

#include "tests/spot/spot_runs.h"

#include "base/mem.h"
#include "spot/speeds.h"

static struct orr_error err;
static const struct orr_param no_params[] = { ORR_PARAM_END };

/* ---- a run of a policy given by two functions: at the start, and by timers at 5 and 20 s ---- */

static void (*at_start)(struct orr_spot *w), (*at_timer)(struct orr_spot *w, uint64_t tag), (*in_create)(struct orr_spot *w);
static unsigned used, calls;

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)args, (void)e;
	if (in_create)
		in_create(w);
	orr_spot_timer(w, 5 * ORR_SECOND, 0, 5);
	orr_spot_timer(w, 20 * ORR_SECOND, 0, 20);
	return mem_zalloc(1, 8);
}

static void decide(void *self, struct orr_spot *w)
{
	(void)self;
	if (!calls++ && at_start)
		at_start(w);
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self;
	if (at_timer)
		at_timer(w, tag);
}

static struct run_result *go(const char *rows, const char *job, const char *options, double until_s)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .decide = decide, .timer = timer };
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, &ops, sizeof ops };
	struct spot_runs s;
	struct run_result *r = NULL;
	atomic_uint uses = 0;
	calls = 0;
	if (spot_runs_open(&s, NULL, rows, job, &policy, "", options, &err)) {
		s.config.until_ns = until_s > 0 ? (int64_t)(until_s * 1e9) : ORR_NEVER;
		s.config.used = &uses;
		r = spot_runs_run(&s, 0, &err);
	}
	if (!r)
		printf("# %s\n", err.text);
	used = atomic_load(&uses);
	spot_runs_close(&s);
	return r;
}

static double usd_of(const struct run_result *r, const char *account)
{
	for (size_t i = 0; r && i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, account))
			return r->accounts[i].usd;
	return NAN;
}

/* ---- zones, requests ---- */

static const char plain_job[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":10,\"points\":[[1,1,1000]]}";
static const char two_zones[] = "time_s,event,node,zone,type,price\n0,price,,x,,5\n0,add,a,x,,\n0,add,b,x,,\n0,add,c,y,,2\n"
				"10,add,d,y,,\n10,price,,y,,7\n100,end,,,,\n";

static void want_one_in_y(struct orr_spot *w)
{
	orr_want(w, ORR_ANY_ZONE, 0);
	orr_want(w, 1, 1);
}

static void ask_zones(struct orr_spot *w)
{
	struct orr_inst_info i;
	ok(orr_zones(w) == 2 && !strcmp(orr_zone_name(w, 0), "x") && !strcmp(orr_zone_name(w, 1), "y") && !*orr_zone_name(w, 2), "zones");
	ok(orr_inst_live(w) == 1 && orr_inst_zone(w, orr_inst_first(w)) == 1 && !orr_inst_zone(w, 0),
		"the request took one instance of zone y");
	ok(orr_inst_get(w, orr_inst_first(w), &i) && i.zone == 1 && i.usd_per_hour == 2, "the instance costs the price of its row");
	near_to(orr_spot_price(w, 0), 5, 0, "the price of zone x");
	near_to(orr_spot_price(w, 1), 3, 0, "the price of zone y is the default");
	near_to(orr_spot_price(w, 2), 3, 0, "no zone has the default price");
	ok(orr_offers(w, 0) == 2 && orr_offers(w, 1) == 0 && orr_offers(w, ORR_ANY_ZONE) == 2 && orr_offers(w, 2) == 0, "offers by zone");
}

static void request_some(struct orr_spot *w, uint64_t tag)
{
	if (tag == 5) {
		ok(orr_request(w, 1, 1) == 0, "no offer in zone y");
		return;
	}
	ok(orr_offers(w, 1) == 1 && orr_offers(w, ORR_ANY_ZONE) == 3, "an offer above the wanted number remains");
	near_to(orr_spot_price(w, 1), 7, 0, "the new price of zone y");
	ok(orr_request(w, ORR_ANY_ZONE, 5) == 3, "offers of all zones are taken in order of zones");
	orr_inst i = orr_inst_next(w, orr_inst_first(w));
	ok(orr_inst_zone(w, i) == 0 && orr_inst_zone(w, orr_inst_next(w, orr_inst_next(w, i))) == 1, "zone x first");
	orr_want(w, ORR_ANY_ZONE, 2);
	ok(orr_inst_live(w) == 4, "a smaller number releases nothing");
	orr_release(w, i);
	ok(orr_inst_live(w) == 3 && orr_offers(w, 0) == 1, "a released instance is offered again");
	orr_want(w, ORR_ANY_ZONE, 4);
	ok(orr_inst_live(w) == 4 && orr_offers(w, ORR_ANY_ZONE) == 0, "a larger number takes offers at once");
}

static void test_zones(void)
{
	in_create = want_one_in_y;
	at_start = ask_zones;
	at_timer = request_some;
	struct run_result *r = go(two_zones, plain_job, "price=3", 100);
	/* c costs 2 USD/h for 100 s; a and b (one of them twice) cost 5 for 80 s; d costs 7 for 80 s. */
	near_to(spot_runs_metric(r, "usd"), (100 * 2 + 160 * 5 + 80 * 7) / 3600., 1e-12, "each instance costs its price");
	near_to(spot_runs_metric(r, "refused"), 1 + 2, 0, "offers that were missing are counted as refused");
	ok(used & SPOT_USED_PRICES && !(used & SPOT_USED_PRICE), "prices of the trace were used, the default was not");
	result_free(r);
	in_create = NULL;
	at_start = NULL;
	at_timer = NULL;
	/* The price of zone x rises at 50 s for its instances, and falls at 80 s. */
	r = go("time_s,event,node,zone,type,price\n0,add,a,x,,\n0,add,b,y,,\n0,add,c,x,,4\n50,price,,x,,9\n80,price,,,,1\n100,end,,,,\n",
		plain_job, "price=3", 100);
	near_to(spot_runs_metric(r, "usd"), (50 * 3 + 30 * 9 + 20 * 1 + 80 * 3 + 20 * 1 + 100 * 4) / 3600., 1e-12,
		"a new price holds for instances without a price of their own");
	ok(used & SPOT_USED_PRICE, "the default price was used");
	result_free(r);
}

/* Tests that an instance of price 0 is free, also if the default price is positive. */
static void test_free(void)
{
	struct run_result *r = go("time_s,event,node,price\n0,add,a,0\n0,add,b,\n100,end,,\n", plain_job, "price=3.6", 100);
	near_to(spot_runs_metric(r, "usd"), 0.1, 1e-12, "a price of 0 is a price");
	result_free(r);
}

/* ---- limits on offers ---- */

static uint32_t live_at[2], offers_at[2];

static void count_instances(struct orr_spot *w, uint64_t tag)
{
	live_at[tag == 20] = orr_inst_live(w);
	offers_at[tag == 20] = orr_offers(w, ORR_ANY_ZONE);
}

static void test_limits(void)
{
	static const unsigned all = SPOT_USED_TARGET | SPOT_USED_QUOTA | SPOT_USED_MAX_PRICE;
	static const struct {
		const char *options;
		uint32_t live, offers; /* expected numbers at 5 s; c is removed at 10 s */
		uint32_t live_later;
		unsigned used;
	} cases[] = {
		{ "", 4, 0, 3, 0 },
		{ "target=4", 4, 0, 3, 0 },
		{ "target=3", 3, 1, 3, SPOT_USED_TARGET },
		{ "target=1", 1, 3, 1, SPOT_USED_TARGET },
		{ "quota=4", 4, 0, 3, 0 },
		{ "quota=2", 2, 2, 2, SPOT_USED_QUOTA },
		{ "quota=2 target=2", 2, 2, 2, 0 },
		{ "quota=3 target=2", 2, 2, 2, SPOT_USED_TARGET },
		{ "quota=2 target=3", 2, 2, 2, SPOT_USED_QUOTA },
		{ "max_price=1", 2, 0, 2, SPOT_USED_MAX_PRICE },
		{ "max_price=2", 3, 0, 2, SPOT_USED_MAX_PRICE },
		{ "max_price=3", 4, 0, 3, 0 },
		{ "max_price=2 quota=2", 2, 1, 2, SPOT_USED_QUOTA | SPOT_USED_MAX_PRICE },
	};
	at_timer = count_instances;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct run_result *r = go("time_s,event,node,price\n0,add,a,1\n0,add,d,3\n0,add,b,1\n0,add,c,2\n10,remove,c,\n30,end,,\n",
			plain_job, cases[i].options, 30);
		ok(r && live_at[0] == cases[i].live && offers_at[0] == cases[i].offers && live_at[1] == cases[i].live_later &&
				(used & all) == cases[i].used,
			"offers at 1, 3, 1 and 2 USD with \"%s\": %u live, %u offers, %u live, uses %x", cases[i].options, live_at[0],
			offers_at[0], live_at[1], used & all);
		result_free(r);
	}
	at_timer = NULL;
}

/* ---- bytes between zones: 10 steps of 8 samples at 1 USD/GB ---- */

static uint32_t shape[2];       /* pipelines, depth */
static const char *owners;      /* name of the owner of each stage */
static const char *then_owners; /* owners from 5 s on, after orr_steps_stop(); NULL: unchanged */
static uint32_t dropped;        /* pipeline that is dropped; UINT32_MAX: none */
static double own_bytes;
static uint64_t most;

static orr_inst named(struct orr_spot *w, char name)
{
	char text[16];
	for (orr_inst i = orr_inst_first(w); i; i = orr_inst_next(w, i))
		if (*orr_inst_name(w, i, text, sizeof text) == name)
			return i;
	return 0;
}

static void train_on(struct orr_spot *w, const char *names)
{
	orr_inst owner[16];
	for (uint32_t i = 0; i < shape[0] * shape[1]; i++)
		owner[i] = named(w, names[i]);
	orr_layout(w, shape[0], shape[1], owner);
	if (dropped < shape[0])
		orr_drop_pipeline(w, dropped);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND, .most = most, .egress_bytes = own_bytes });
}

static void begin_training(struct orr_spot *w)
{
	train_on(w, owners);
}

static bool ends_then; /* the stages change their owners while a step is in flight, and the run ends at this instant */

static void go_on(struct orr_spot *w, uint64_t tag)
{
	if (tag != 5 || !then_owners)
		return;
	for (uint32_t i = 0; ends_then && i < shape[1]; i++)
		orr_disown(w, 0, i, named(w, then_owners[i]));
	if (ends_then) {
		orr_spot_end(w);
		return;
	}
	orr_steps_stop(w);
	train_on(w, then_owners);
}

#define JOB(more)                                                                                                                \
	"{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":8,\"steps\":10,\"state_bytes\":4e9,\"parameters\":5e8," more \
	"\"points\":[[1,1,1000]]}"
static const char with_activations[] = JOB("\"figures\":{\"activation_bytes\":1e6},");
static const char with_gradients[] = JOB("\"figures\":{\"gradient_bytes\":3e6},");
static const char without[] = JOB("");
/* Instances a, b and c are in zone x, p and q in zone y, z in zone z. */
static const char three_zones[] = "time_s,event,node,zone\n0,add,a,x\n0,add,b,x\n0,add,c,x\n0,add,p,y\n0,add,q,y\n0,add,z,z\n100,end,,\n";

static double egress_of(const char *job, uint32_t pipelines, uint32_t depth, const char *names)
{
	shape[0] = pipelines;
	shape[1] = depth;
	owners = names;
	at_start = begin_training;
	at_timer = go_on;
	most = 0;
	struct run_result *r = go(three_zones, job, "egress_usd_per_GB=1", 0);
	double usd = usd_of(r, "egress");
	result_free(r);
	return usd;
}

static void test_egress(void)
{
	dropped = UINT32_MAX;
	then_owners = NULL;
	/* Bytes of activations: 2 c a b / D, in 10 steps. */
	near_to(egress_of(with_activations, 1, 2, "ap"), 10 * 2 * 1 * 1e6 * 8 / 1e9, 1e-12, "activations over one boundary");
	ok(used & SPOT_USED_EGRESS, "the price of bytes was used");
	near_to(egress_of(with_activations, 1, 3, "apb"), 10 * 2 * 2 * 1e6 * 8 / 1e9, 1e-12, "activations over two boundaries");
	near_to(egress_of(with_activations, 1, 3, "app"), 10 * 2 * 1 * 1e6 * 8 / 1e9, 1e-12, "activations within a zone are free");
	near_to(egress_of(with_activations, 1, 2, "ab"), 0, 0, "one zone");
	ok(!(used & SPOT_USED_EGRESS), "the price of bytes was not used");
	near_to(egress_of(with_activations, 2, 2, "apbq"), 10 * 2 * 2 * 1e6 * 8 / 2 / 1e9, 1e-12,
		"activations of two pipelines, each with half the samples; the gradients of a stage stay in its zone");
	/* Money is rounded to 1e-9 USD per step. The bytes are the sum over stages with z > 1 of z 2 (D - 1) / D G / P, with G = 1
	 * GB: two bytes per parameter. */
	near_to(egress_of(without, 2, 1, "ap"), 10 * 2 * 2 * 0.5 * 1, 1e-12, "gradients of two owners in two zones");
	near_to(egress_of(without, 3, 1, "apz"), 10 * 3 * 2 * (2 / 3.), 1e-8, "gradients in three zones");
	near_to(egress_of(without, 3, 1, "apq"), 10 * 2 * 2 * (2 / 3.), 1e-8, "gradients of three owners in two zones");
	near_to(egress_of(without, 3, 1, "paq"), 10 * 2 * 2 * (2 / 3.), 1e-8, "the order of owners does not matter");
	near_to(egress_of(without, 3, 1, "abc"), 0, 0, "gradients in one zone");
	near_to(egress_of(without, 2, 2, "abpc"), 10 * 2 * 2 * 0.5 / 2, 1e-12, "gradients of one of two stages");
	near_to(egress_of(without, 1, 2, "ap"), 0, 0, "one pipeline has no all-reduce");
	near_to(egress_of(with_gradients, 2, 1, "ap"), 10 * 2 * 2 * 0.5 * 3e6 / 1e9, 1e-12, "gradients as the job states them");
	dropped = 1;
	near_to(egress_of(with_activations, 2, 2, "apbq"), 10 * 2 * 1 * 1e6 * 8 / 1e9, 1e-12, "a dropped pipeline sends nothing");
	near_to(egress_of(without, 3, 1, "apb"), 0, 0, "a dropped pipeline's zone has no gradients");
	dropped = UINT32_MAX;
	own_bytes = 5e8;
	near_to(egress_of(with_activations, 1, 2, "ap"), 10 * (2 * 1e6 * 8 / 1e9 + 0.5), 1e-12, "bytes that the policy reports are added");
	near_to(egress_of(without, 1, 2, "ab"), 10 * 0.5, 1e-12, "bytes that the policy reports");
	own_bytes = 0;
}

/* ---- copies of state: 4 GB ---- */

static uint32_t successors;

static void copy_from_peers(struct orr_spot *w)
{
	orr_state_from_peers(w, successors);
}

static void test_copies(void)
{
	static const struct {
		const char *first, *then;
		uint32_t successors;
		double part; /* share of the state that comes from another zone */
		const char *name;
	} cases[] = {
		{ "ab", "ab", 0, 0, "the same owners" },
		{ "ab", "ac", 0, 0, "a copy within a zone" },
		{ "ab", "pb", 0, 0.5, "the first half goes to another zone" },
		{ "ab", "ap", 0, 0.5, "the second half goes to another zone" },
		{ "ab", "pq", 0, 1, "both halves go to another zone" },
		{ "ab", "ba", 0, 0, "owners change places" },
		{ "ap", "pa", 0, 1, "owners of two zones change places" },
		{ "ab", "pb", 1, 1, "with a copy of the successor's stage, p needs all of it" },
		{ "ab", "ap", 1, 1, "the first stage is the successor of the last one" },
		{ "ap", "ab", 1, 0, "a holds the stage of p too" },
		{ "ap", "qa", 1, 0, "q finds both stages with p; a needs what it holds" },
		/* z, the last of three stages, holds a third of its own and the first third, and takes over the latter from a. The
		 * largest part held elsewhere is two thirds, no more than z holds. */
		{ "apz", "zpz", 1, 0, "the last stage takes over the first stage, of which it holds a copy" },
		{ "aapp", "zzpp", 1, 0.75, "z needs its two stages and the next one" },
		{ "aapp", "zzpp", 2, 1, "z needs its two stages and the next two" },
	};
	in_create = copy_from_peers;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		successors = cases[i].successors;
		then_owners = cases[i].then;
		near_to(egress_of(without, 1, (uint32_t)strlen(cases[i].first), cases[i].first), 4 * cases[i].part, 1e-12, cases[i].name);
		then_owners = cases[i].then;
	}
	then_owners = "pq";
	ends_then = true;
	near_to(egress_of(without, 1, 2, "ab"), 0, 0, "a run that ends at the instant of the change copies nothing");
	ends_then = false;
	in_create = NULL;
	near_to(egress_of(without, 1, 2, "ab"), 0, 0, "a policy that does not copy from peers is not charged");
	then_owners = NULL;
}

/* ---- speeds ---- */

static void move_to_fast(struct orr_spot *w, uint64_t tag)
{
	if (tag == 5)
		orr_disown(w, 0, 0, named(w, 'f'));
}

static void slow_down(struct orr_spot *w, uint64_t tag)
{
	if (tag == 5)
		orr_steps_pace(w, 3 * ORR_SECOND);
}

/* From the step after the one in flight on, each step has a length of 1 ns on the job's own type. */
static void hurry(struct orr_spot *w, uint64_t tag)
{
	if (tag == 5)
		orr_steps_pace(w, 1);
}

static void hurry_on_fast(struct orr_spot *w, uint64_t tag)
{
	hurry(w, tag);
	move_to_fast(w, tag);
}

static void test_speeds(void)
{
	static const char types[] = "time_s,event,node,type\n0,add,s,slow\n0,add,f,fast\n0,add,o,other\n1000,end,,\n";
	static const struct {
		const char *names, *options;
		void (*then)(struct orr_spot *, uint64_t);
		double end_s;
	} cases[] = {
		{ "s", "speeds=slow=0.5,fast=2", NULL, 20 },
		{ "f", "speeds=slow=0.5,fast=2", NULL, 5 },
		{ "o", "speeds=slow=0.5,fast=2", NULL, 10 },
		{ "f", "speeds=fast=2", NULL, 5 },
		{ "fs", "speeds=slow=0.5,fast=2", NULL, 20 },
		{ "fo", "speeds=slow=0.5,fast=2", NULL, 10 },
		{ "s", "", NULL, 10 },
		/* Two and a half steps of 2 s run, and the third one ends at 6 s; seven steps of 0.5 s follow. */
		{ "s", "speeds=slow=0.5,fast=2", move_to_fast, 9.5 },
		{ "s", "", move_to_fast, 10 },
		/* The third step ends at 6 s; seven steps of 3 s follow at half the speed. */
		{ "s", "speeds=slow=0.5,fast=2", slow_down, 48 },
		{ "f", "speeds=slow=0.5,fast=2", slow_down, 5 },
		/* The fifth step ends at 5 s and is in flight until the timers of this instant have been called. */
		{ "o", "speeds=slow=0.5,fast=2", slow_down, 5 + 5 * 3 },
		/* Steps of 1 ns, and of 1 ns on the slow type. A step is never shorter than 1 ns. */
		{ "s", "speeds=slow=0.5,fast=2", hurry, 6 + 14e-9 },
		{ "s", "speeds=slow=0.5,fast=1000", hurry_on_fast, 6 + 7e-9 },
	};
	at_start = begin_training;
	most = 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		owners = cases[i].names;
		shape[0] = 1;
		shape[1] = (uint32_t)strlen(owners);
		at_timer = cases[i].then;
		struct run_result *r = go(types, without, cases[i].options, 0);
		near_to(spot_runs_metric(r, "makespan_s"), cases[i].end_s, 1e-12, "a step has the length of its slowest owner's type");
		result_free(r);
	}
	at_start = NULL;
	at_timer = NULL;
}

static void test_reading(void)
{
	static const char *const bad[] = { "a", "=1", "a=", "a=x", "a=1x", "a=0.0009", "a=1001", "a=-1", "a=nan", "a=1,,b=2", "a=1,b",
		",a=1" };
	struct speeds s;
	ok(!speeds_read(&s, "", &err) && !s.n && isnan(speeds_of(&s, "a")), "no speeds");
	speeds_free(&s);
	ok(!speeds_read(&s, "a=0.001,bc=1000,d=2.5", &err) && s.n == 3, "three speeds");
	near_to(speeds_of(&s, "a"), 0.001, 0, "the smallest");
	near_to(speeds_of(&s, "bc"), 1000, 0, "the largest");
	near_to(speeds_of(&s, "d"), 2.5, 0, "the last");
	ok(isnan(speeds_of(&s, "b")) && isnan(speeds_of(&s, "")), "a type that is not listed has no speed");
	speeds_free(&s);
	ok(!s.n, "freed");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int rc = speeds_read(&s, bad[i], &err);
		ok(rc == ORR_EINPUT && strstr(err.text, "expected TYPE=SPEED"), "no speeds: %s", bad[i]);
		speeds_free(&s);
	}
	speeds_read(&s, "a=1,oops,b=2", &err);
	ok(strstr(err.text, "spot.speeds: 'oops': expected") != NULL, "the error quotes the bad part: %s", err.text);
	speeds_free(&s);
}

int main(void)
{
	test_zones();
	test_free();
	test_limits();
	test_egress();
	test_copies();
	test_speeds();
	test_reading();
	return done();
}
