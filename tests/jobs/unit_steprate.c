/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that train: keys of places, their rates from the step world, jobs that share links. Expected values are closed forms (1/n of a
 * link; max-min shares on two links; 2(n-1)/n of the bytes in a ring), runs of the step world on a cluster that has only the nodes of
 * the place, or equivalent queries.
 */
#include "base/mem.h"
#include "base/param.h"
#include "jobs/share.h"
#include "jobs/steprate.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

extern const struct orr_policy orr_policy_allreduce, orr_policy_parameter_server;

/* Checks |got - want| <= tolerance. */
__attribute__((format(printf, 4, 5))) static void near(double got, double want, double tolerance, const char *fmt, ...)
{
	char what[200];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	if (!(fabs(got - want) <= tolerance))
		printf("# got %.17g, want %.17g\n", got, want);
	ok(fabs(got - want) <= tolerance, "%s", what);
}

/* ---- share_solve() ---- */

/* Returns the growth of a job that sends during the whole iteration: its time grows like the stretch. */
static double as_stretched(void *ctx, uint32_t job, double stretch)
{
	(void)ctx, (void)job;
	return stretch;
}

/* Returns the growth of a job that sends during half of the iteration. */
static double half_stretched(void *ctx, uint32_t job, double stretch)
{
	(void)ctx, (void)job;
	return 1 + 0.5 * (stretch - 1);
}

static void on_one_link(uint32_t n)
{
	const struct share_use use = { 0, 1, 10 };
	const double capacity = 10;
	struct share_job *job = mem_zalloc(n, sizeof *job);
	double *speed = mem_zalloc(n, sizeof *speed), worst = 0;
	for (uint32_t j = 0; j < n; j++)
		job[j] = (struct share_job){ &use, 1 };
	share_solve(&(struct share_problem){ job, n, 1, &capacity, as_stretched, NULL }, speed);
	for (uint32_t j = 0; j < n; j++)
		worst = fmax(worst, fabs(speed[j] * n - 1));
	near(worst, 0, 1e-12, "%u jobs that only send get 1/%u of a link each", n, n);
	mem_free(job);
	mem_free(speed);
}

/* Bertsekas and Gallager, 6.5.2: flow a uses links 0 and 1, b uses link 0, c uses link 1. Flows a and b each get half of link 0
 * (capacity 1). Flow c gets the rest of link 1 (capacity 2), at most its peak. */
static void on_two_links(void)
{
	const struct share_use a[] = { { 0, 1, 1 }, { 1, 1, 1 } }, b = { 0, 1, 1 }, c = { 1, 1, 2 };
	const struct share_job job[] = { { a, 2 }, { &b, 1 }, { &c, 1 } };
	const double capacity[] = { 1, 2 };
	double speed[3];
	share_solve(&(struct share_problem){ job, 3, 2, capacity, as_stretched, NULL }, speed);
	near(speed[0], 0.5, 1e-12, "the job on both links gets half of the narrow link");
	near(speed[1], 0.5, 1e-12, "the other job on the narrow link gets half of it");
	near(speed[2], 0.75, 1e-12, "the third job gets the rest of the wide link: 1.5 of its 2");
	const double wide[] = { 2, 4 };
	share_solve(&(struct share_problem){ job, 3, 2, wide, as_stretched, NULL }, speed);
	ok(speed[0] == 1 && speed[1] == 1 && speed[2] == 1, "links with room for all peaks slow no job");
}

/* Two jobs that each send during half of their time alone. The stretch is s = 1 / (1 - q/2) with q = 0.5 s / (1 + 0.5 (s - 1)),
 * solved by bisection. */
static void half_of_the_time(void)
{
	double low = 1, high = 2;
	for (int i = 0; i < 200; i++) {
		double s = (low + high) / 2, q = 0.5 * s / (1 + 0.5 * (s - 1));
		if (1 / (1 - q / 2) > s)
			low = s;
		else
			high = s;
	}
	const struct share_use use = { 0, 0.5, 1 };
	const struct share_job job[] = { { &use, 1 }, { &use, 1 } };
	const double capacity = 1;
	double speed[2];
	share_solve(&(struct share_problem){ job, 2, 1, &capacity, half_stretched, NULL }, speed);
	near(speed[0], 1 / (1 + 0.5 * (low - 1)), 1e-9, "jobs that send half of the time overlap at random");
	ok(speed[0] == speed[1], "equal jobs have equal speeds");
}

/* Returns the rate of a job that sends all the time with the given peak, on a link of capacity 10 that it shares with n jobs with
 * peaks of `other`. */
static double beside(double peak, uint32_t n, double other)
{
	const struct share_use use[] = { { 0, 1, peak }, { 0, 1, other } };
	const struct share_job job[] = { { &use[0], 1 }, { &use[1], 1 }, { &use[1], 1 }, { &use[1], 1 } };
	const double capacity = 10;
	double speed[4];
	share_solve(&(struct share_problem){ job, n + 1, 1, &capacity, as_stretched, NULL }, speed);
	return speed[0] * peak;
}

static void two_sizes(void)
{
	near(beside(10, 1, 10), 5, 1e-9, "two equal flows: half each");
	near(beside(10, 1, 2), 8, 1e-9, "a flow beside a small one gets the rest");
	near(beside(3, 3, 10), 2.5, 1e-9, "a flow beside large ones gets an equal share");
	near(beside(2, 3, 10), 2, 1e-9, "a small flow gets its demand");
}

/* ---- a cluster with rates ---- */

struct rig {
	struct fixture *f;
	struct steprate *rates;
};

static int find(const char *name, const struct orr_policy **out, char hash[65], struct orr_error *err)
{
	hash[0] = '\0';
	*out = !strcmp(name, "allreduce") ? &orr_policy_allreduce : !strcmp(name, "ps") ? &orr_policy_parameter_server : NULL;
	return *out ? ORR_OK : orr_fail(err, ORR_EINPUT, "no policy %s", name);
}

static struct rig rig_new(const char *cluster, const char *network, const char *set)
{
	struct orr_error e = { 0 };
	struct rig r = { .f = fixture_new(cluster, network, "alexnet", 32) };
	if (set)
		fixture_set(r.f, set);
	struct steprate_config c = { .cluster = r.f->cluster,
		.topo = r.f->topo,
		.device = r.f->device,
		.options = r.f->options,
		.batch = 32,
		.seed = 1,
		.link_use = true,
		.tolerance = 1e-6,
		.most_iterations = 64,
		.most_flows = 10000000,
		.find = find };
	r.rates = steprate_new(&c, &e);
	steprate_check(r.rates, true);
	return r;
}

static void rig_free(struct rig *r)
{
	steprate_free(r->rates);
	fixture_free(r->f);
}

/* Parses "2,2 5,1" into node 2 with 2 GPUs and node 5 with 1 GPU. */
static struct place *place_at(const struct rig *r, const char *text)
{
	struct place_node node[16];
	uint32_t n = 0, links = r->f->topo->n_links;
	for (const char *p = text; *p; n++) {
		unsigned a, b;
		int len;
		if (sscanf(p, "%u,%u %n", &a, &b, &len) != 2)
			break;
		node[n] = (struct place_node){ .node = a, .gpus = b };
		p += len;
	}
	uint32_t *local = mem_alloc((links + 1) * sizeof *local);
	memset(local, 0xff, links * sizeof *local);
	struct place *p = place_new(steprate_ground(r->rates), node, n, NULL, local);
	mem_free(local);
	return p;
}

static bool same_key(const struct rig *r, const char *a, const char *b)
{
	struct place *x = place_at(r, a), *y = place_at(r, b);
	bool is_same = !strcmp(x->key, y->key);
	place_free(x);
	place_free(y);
	return is_same;
}

static uint32_t class_of(const struct rig *r, const char *strategy)
{
	struct orr_error e = { 0 };
	uint32_t class = 0;
	if (steprate_class(r->rates, "alexnet", strategy, 0, &class, &e))
		printf("# %s\n", e.text);
	return class;
}

/* ---- shapes ---- */

static void shapes(void)
{
	struct rig r = rig_new("4x4:v100:racks=2,4x4:v100:racks=2", "racks:bw=10Gbps,oversubscription=2", NULL);
	ok(same_key(&r, "0,2 1,1", "6,1 7,2"), "racks: the same GPUs per node in one rack are equivalent");
	ok(same_key(&r, "0,2 2,1", "7,1 1,2"), "racks: the same GPUs per node in two racks are equivalent");
	ok(!same_key(&r, "0,2 1,1", "0,2 2,1"), "racks: one rack and two racks differ");
	ok(!same_key(&r, "0,3", "0,2 1,1"), "one node and two nodes differ");
	ok(same_key(&r, "0,1 0,2", "3,3"), "pieces on one node are merged");
	rig_free(&r);
	r = rig_new("4x4:v100,4x4:p100", "star:bw=10Gbps", NULL);
	ok(!same_key(&r, "0,2", "4,2"), "GPUs of another type have another key");
	rig_free(&r);
	/* Under D-mod-k, destinations 1 and 3 are reached over one of the two spines, destinations 2 and 3 over both. */
	r = rig_new("8x1:v100", "leaf-spine:leaves=4,spines=2,bw=10Gbps", NULL);
	ok(!same_key(&r, "0,1 3,1 5,1", "0,1 2,1 5,1"), "leaf-spine: places with colliding routes have another key");
	ok(same_key(&r, "0,1 3,1", "2,1 5,1"), "places with equivalent routes have the same key");
	rig_free(&r);
	r = rig_new("8x1:v100", "leaf-spine:leaves=4,spines=2,bw=10Gbps,routing=ecmp", NULL);
	ok(!same_key(&r, "0,1 3,1", "2,1 5,1"), "hashed routes: every place has its own key");
	rig_free(&r);
}

static bool reference_is(const struct rig *r, uint32_t gpus, uint32_t type, const char *want)
{
	struct place *p = place_reference(steprate_ground(r->rates), gpus, type);
	char text[200] = "";
	for (uint32_t i = 0; p && i < p->n_nodes; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u,%u", i ? " " : "", p->node[i].node, p->node[i].gpus);
	place_free(p);
	if (strcmp(text, want))
		printf("# got %s, expected %s\n", text, want);
	return !strcmp(text, want);
}

static void references(void)
{
	struct rig r = rig_new("1x2:v100,4x4:v100:racks=2,2x4:p100", "star:bw=10Gbps", NULL);
	ok(reference_is(&r, 2, 0, "0,2"), "two GPUs: on one node of the first rack that has one");
	ok(reference_is(&r, 6, 0, "1,4 2,2"), "six GPUs: on two nodes of one rack");
	ok(reference_is(&r, 10, 0, "1,4 2,4 0,2"), "ten GPUs: three nodes, two racks");
	ok(reference_is(&r, 18, 0, "1,4 2,4 3,4 4,4 0,2"), "all GPUs of a type");
	ok(reference_is(&r, 8, 1, "5,4 6,4"), "GPUs of another type");
	ok(reference_is(&r, 19, 0, ""), "more GPUs than the type has: no place");
	rig_free(&r);
}

/* ---- rates ---- */

static double alone(const struct rig *r, uint32_t class, const char *where)
{
	struct place *p = place_at(r, where);
	const struct steprate_value *v = steprate_alone(r->rates, class, p, 1);
	place_free(p);
	if (v->error.code)
		printf("# %s\n", v->error.text);
	return v->samples_per_s;
}

/* Returns the rate of orrery step on a cluster of exactly these nodes. */
static double by_itself(const char *cluster, const char *network, const char *settings)
{
	struct orr_error e = { 0 };
	struct step_result out;
	struct fixture *f = fixture_new(cluster, network, "alexnet", 32);
	double rate = fixture_run(f, &orr_policy_allreduce, settings, &out, &e) ? 0 : out.samples_per_s;
	if (e.code)
		printf("# %s\n", e.text);
	step_result_free(&out);
	fixture_free(f);
	return rate;
}

static void parts_of_a_cluster(void)
{
	static const char *const networks[] = { "star:bw=10Gbps", "racks:bw=10Gbps,hosts=4", "fat-tree:k=4,bw=10Gbps", "torus:dims=4x4" };
	struct orr_error e = { 0 };
	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
		struct rig r = rig_new("16x2:v100", networks[i], NULL);
		struct step_result out;
		double whole = fixture_run(r.f, &orr_policy_allreduce, "", &out, &e) ? 0 : out.samples_per_s;
		step_result_free(&out);
		near(alone(&r, class_of(&r, "allreduce"), "0,2 1,2 2,2 3,2 4,2 5,2 6,2 7,2 8,2 9,2 10,2 11,2 12,2 13,2 14,2 15,2"), whole,
			1e-12 * whole, "%s: all of the cluster as a part of itself", networks[i]);
		rig_free(&r);
	}
	struct rig r = rig_new("16x2:v100", "fat-tree:k=4,bw=10Gbps", NULL);
	uint32_t class = class_of(&r, "allreduce:fusion=none");
	double two = by_itself("2x2:v100", "star:bw=10Gbps,lat=5us", "fusion=none");
	near(alone(&r, class, "6,2 7,2"), two, 1e-12 * two, "two nodes on one edge switch: as two nodes on a star");
	near(alone(&r, class, "0,2"), by_itself("1x2:v100", "star", "fusion=none"), 1e-12 * two, "one node needs no network");
	rig_free(&r);
	r = rig_new("4x2:v100", "star:bw=10Gbps", NULL);
	ok(alone(&r, class_of(&r, "ps:servers=2"), "1,1 3,1") > 0, "parameter servers on hosts have routes too");
	rig_free(&r);
}

/* A ring of n sends 2(n-1)/n of the gradient over each NIC per iteration. */
static void use_of_links(void)
{
	struct rig r = rig_new("8x1:v100:racks=2", "racks:bw=10Gbps,oversubscription=4,lat=0,switch_lat=0", "compute_s=1e-9");
	struct place *p = place_at(&r, "0,1 1,1 4,1 5,1");
	const struct steprate_value *v = steprate_alone(r.rates, class_of(&r, "allreduce:fusion=none,overlap=no"), p, 1);
	double gradient = 4 * r.f->dnn->params, most = 0, want = 1.5 * gradient * v->samples_per_s / v->samples;
	uint32_t used = 0;
	for (uint32_t l = 0; l < v->n_links; l++) {
		used += v->link[l].busy > 0;
		most = fmax(most, fabs(v->link[l].bytes_per_s / want - 1) * (v->link[l].busy > 0));
	}
	ok(used == 4 * 2 + 2 * 2, "a ring over two racks: four NICs and two uplinks, both ways (%u links)", used);
	near(most, 0, 1e-6, "each link of the ring carries 2(n-1)/n of the gradient per iteration");
	place_free(p);
	rig_free(&r);
}

/* ---- together ---- */

static void together(const struct rig *r, uint32_t class, const char *a, const char *b, double *of)
{
	struct place *p[2] = { place_at(r, a), place_at(r, b) };
	uint32_t *all = mem_alloc((p[0]->part.n_links + p[1]->part.n_links + 1) * sizeof *all), n = 0, *link[2];
	struct steprate_member m[2];
	for (int i = 0; i < 2; i++) {
		const struct topo_part *part = &p[i]->part;
		link[i] = mem_alloc((part->n_links + 1) * sizeof *link[i]);
		for (uint32_t l = 0; l < part->n_links; l++) {
			uint32_t k = 0;
			while (k < n && all[k] != part->link[l])
				k++;
			if (k == n)
				all[n++] = part->link[l];
			link[i][l] = k;
		}
		m[i] = (struct steprate_member){ class, p[i], link[i], 0.01 * i };
	}
	const struct steprate_value *v = steprate_together(r->rates, m, 2, all, n);
	if (v->error.code)
		printf("# %s\n", v->error.text);
	of[0] = v->error.code ? 0 : v->of[0];
	of[1] = v->error.code ? 0 : v->of[1];
	for (int i = 0; i < 2; i++) {
		mem_free(link[i]);
		place_free(p[i]);
	}
	mem_free(all);
}

static void pairs(void)
{
	double of[2];
	struct rig r = rig_new("4x1:v100:racks=2", "racks:bw=10Gbps,oversubscription=2,lat=0,switch_lat=0", "compute_s=1e-9");
	fixture_set(r.f, "update_cost=none");
	uint32_t class = class_of(&r, "allreduce:fusion=none,overlap=no");
	double one = alone(&r, class, "0,1 2,1");
	together(&r, class, "0,1 2,1", "1,1 3,1", of);
	near(of[0], one / 2, 1e-8 * one, "two rings on one uplink, without compute time: half the rate");
	near(of[1], one / 2, 1e-8 * one, "the other ring on the uplink gets half of its rate");
	together(&r, class, "0,1 1,1", "2,1 3,1", of);
	near(of[0], alone(&r, class, "0,1 1,1"), 1e-9 * one, "rings in separate racks do not slow each other");
	rig_free(&r);
	r = rig_new("4x1:v100:racks=2", "racks:bw=10Gbps,oversubscription=1,lat=0,switch_lat=0", "compute_s=1e-9");
	class = class_of(&r, "allreduce:fusion=none,overlap=no");
	together(&r, class, "0,1 2,1", "1,1 3,1", of);
	near(of[0], alone(&r, class, "0,1 2,1"), 1e-9 * one, "rings on an uplink with room for both do not slow each other");
	rig_free(&r);
	/* Sets of places that differ in one member have separate answers. */
	r = rig_new("4x2:v100", "star:bw=10Gbps", NULL);
	class = class_of(&r, "allreduce");
	together(&r, class, "0,1 1,1", "2,1 3,1", of);
	double narrow = of[0];
	together(&r, class, "0,2 1,2", "2,1 3,1", of);
	near(of[0], alone(&r, class, "0,2 1,2"), 1e-6 * of[0], "four GPUs beside two");
	ok(fabs(of[0] / narrow - 1) > 0.01, "which is another rate than that of two beside two");
	together(&r, class, "0,2 1,2", "2,2 3,2", of);
	near(of[1], of[0], 1e-6 * of[0], "four beside four");
	rig_free(&r);
}

/* ---- memoised answers ---- */

static void *ask_all(void *ctx)
{
	const struct rig *r = ctx;
	static const char *const where[] = { "0,1 1,1", "2,1 3,1", "0,2", "3,2", "1,2 2,2" };
	for (int i = 0; i < 200; i++)
		alone(r, class_of(r, i % 2 ? "allreduce" : "allreduce:fusion=none"), where[i % 5]);
	return NULL;
}

static void memo(void)
{
	struct rig r = rig_new("4x2:v100", "star:bw=10Gbps", NULL);
	uint64_t runs, sets, unsettled;
	pthread_t thread[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, ask_all, &r);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	steprate_count(r.rates, &runs, &sets, &unsettled);
	ok(runs == 6 && !sets, "800 questions of 4 threads, 3 places and 2 strategies: 6 runs (%u)", (unsigned)runs);
	rig_free(&r);
}

static void mistakes(void)
{
	struct rig r = rig_new("4x2:v100", "star", NULL);
	struct orr_error e = { 0 };
	uint32_t class;
	ok(steprate_class(r.rates, "alexnot", "allreduce", 0, &class, &e) == ORR_EINPUT && strstr(e.text, "model: "),
		"an unknown model: %s", e.text);
	ok(steprate_class(r.rates, "alexnet", "allredoce", 0, &class, &e) == ORR_EINPUT && strstr(e.text, "strategy: "),
		"an unknown strategy: %s", e.text);
	ok(steprate_class(r.rates, "alexnet", "allreduce:fusion=yes", 0, &class, &e) == ORR_EINPUT && strstr(e.text, "fusion"),
		"a wrong parameter: %s", e.text);
	fixture_set(r.f, "speeds=0:0.5");
	struct steprate_config c = { .cluster = r.f->cluster, .topo = r.f->topo, .options = r.f->options };
	ok(!steprate_new(&c, &e) && strstr(e.text, "step.speeds"), "options of single devices are refused: %s", e.text);
	rig_free(&r);
}

int main(void)
{
	two_sizes();
	on_one_link(2);
	on_one_link(5);
	on_one_link(40);
	on_two_links();
	half_of_the_time();
	shapes();
	references();
	parts_of_a_cluster();
	use_of_links();
	pairs();
	memo();
	mistakes();
	return done();
}
