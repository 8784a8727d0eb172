/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the built-in policies say that their ops do to the parameters, tried on real SGD: policies that are
 * synchronous are all the same descent, DS-Sync's dispersion is its closed form, Ako delivers each gradient once,
 * asynchronous servers are as stale as they should be.
 */
#include "learn/train.h"
#include "tests/learn_drive.h"
#include "tests/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

extern const struct orr_policy orr_policy_allreduce, orr_policy_bytescheduler, orr_policy_parameter_server, orr_policy_local_sgd,
	orr_policy_zero, orr_policy_ds_sync, orr_policy_ako, orr_policy_stanza;

static struct orr_error error;
static const char network[] = "star:bw=10Gbps,lat=10us";
static bool is_slow;

static struct orr_args *args_of(const struct orr_param *table, const char *name, const char *settings)
{
	struct orr_args *a = args_new(table, name, &error);
	char *text = mem_strdup(settings), *save = NULL;
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		if (args_set_pair(a, s, &error)) {
			printf("Bail out! %s\n", error.text);
			exit(1);
		}
	mem_free(text);
	return a;
}

static const char logistic[] = "problem=logistic rows=512 inputs=16 batch=8 lr=0.5 eval_samples=0 eval_updates=4 seeds=1 ";

static int train(const char *cluster, const struct orr_policy *p, const char *settings, const char *learn, struct train_result *out)
{
	struct fixture *f = fixture_new(cluster, network, "alexnet", 8);
	struct orr_args *options = args_of(learn_options, "learn", learn), *own = args_of(p->params, p->name, settings);
	struct train_config c = { .step = &f->config, .options = options };
	fixture_set(f, "ignore_memory=true");
	int rc = train_run(&c, p, own, p->name, out, &error);
	args_free(own);
	args_free(options);
	fixture_free(f);
	return rc;
}

static struct train_result trained(const char *cluster, const struct orr_policy *p, const char *settings, const char *learn)
{
	struct train_result r = { 0 };
	char text[512];
	snprintf(text, sizeof text, "%s%s", logistic, learn);
	if (train(cluster, p, settings, text, &r)) {
		ok(false, "%s %s trains: %s", p->name, settings, error.text);
		r.n_seeds = 0;
	}
	return r;
}

/* ---- synchronous policies are one descent ---- */

static void is_synchronous(const struct train_result *want, const struct orr_policy *p, const char *settings)
{
	struct train_result got = trained("4x1:v100", p, settings, "max_samples=1600");
	if (!got.n_seeds)
		return;
	const struct train_seed *a = &want->seed[0], *b = &got.seed[0];
	size_t n = a->n_points < b->n_points ? a->n_points : b->n_points;
	double most = 0;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs(a->point[i].loss - b->point[i].loss));
	if (!ok(n > 40 && most < 1e-12 && b->dispersion < 1e-20, "%s %s: the losses of one all-reduce", p->name, settings))
		printf("# %zu points, largest difference %.3g, dispersion %.3g\n", n, most, b->dispersion);
	train_result_free(&got);
}

static void synchronous(void)
{
	struct train_result want = trained("4x1:v100", &orr_policy_allreduce, "overlap=false fusion=none", "max_samples=1600");
	ok(want.seed[0].final_loss < 0.5 && want.seed[0].point[0].loss > 0.69, "all-reduce: the loss falls");
	is_synchronous(&want, &orr_policy_allreduce, "");
	is_synchronous(&want, &orr_policy_allreduce, "fusion=horovod");
	is_synchronous(&want, &orr_policy_bytescheduler, "");
	is_synchronous(&want, &orr_policy_parameter_server, "servers=1");
	is_synchronous(&want, &orr_policy_parameter_server, "servers=1 push_overlap=false");
	is_synchronous(&want, &orr_policy_parameter_server, "servers=1 mode=ssp staleness=0");
	is_synchronous(&want, &orr_policy_local_sgd, "local_steps=1");
	is_synchronous(&want, &orr_policy_zero, "stage=1");
	is_synchronous(&want, &orr_policy_zero, "stage=2");
	is_synchronous(&want, &orr_policy_zero, "stage=3");
	is_synchronous(&want, &orr_policy_ds_sync, "schedule=explicit partitions=0-1-2-3 average=gradients");
	is_synchronous(&want, &orr_policy_ds_sync, "schedule=explicit partitions=0-1-2-3 fusion=tensor average=gradients");
	train_result_free(&want);
}

/* ---- DS-Sync ---- */

/* The points are taken after the step and before the averaging: noise of variance 1 - 1/N about the mean is on top. */
static void dispersion(const char *cluster, const char *settings, double n, double want)
{
	char learn[160];
	snprintf(learn, sizeof learn, "problem=noise noise=1 lr=1 inputs=64 batch=1 eval_updates=%g max_samples=%g", n, (is_slow ? 300 : 1500) * n);
	struct train_result t = trained(cluster, &orr_policy_ds_sync, settings, learn);
	if (!t.n_seeds)
		return;
	double sum = 0, count = 0;
	for (size_t i = 50; i + 1 < t.seed[0].n_points; i++, count++)
		sum += t.seed[0].point[i].dispersion / 64;
	double got = sum / count - (1 - 1 / n);
	printf("# %s: dispersion %.4f, expected %.4f\n", settings, got, want);
	ok(fabs(got - want) < 0.02 * (want + 1), "ds_sync %s: dispersion of its closed form", settings);
	train_result_free(&t);
}

/* ---- asynchronous servers ---- */

/* While a worker's gradient is on its way from pull to push, each of the other n - 1 pushes once in the mean, whatever the
 * speeds: staleness n - 1 = 3. With a lag of one iteration it is on its way for two, of which one ends with a push of the
 * worker itself: 2 (n - 1) + 1 = 7. */
static void servers(void)
{
	static const char *const settings[] = { "mode=asp servers=1 placement=dedicated", "mode=asp servers=1 placement=dedicated lag=1",
		"mode=asp servers=3 placement=colocated" };
	static const double want[] = { 3, 7, 3 };
	for (int i = 0; i < 3; i++) {
		struct train_result t = trained(i < 2 ? "5x1:v100" : "4x1:v100", &orr_policy_parameter_server, settings[i], "max_samples=8000");
		if (!t.n_seeds)
			continue;
		printf("# %s: staleness %.3f, loss %.4f\n", settings[i], t.seed[0].staleness, t.seed[0].final_loss);
		ok(fabs(t.seed[0].staleness - want[i]) < 0.25, "parameter_server %s: %g updates stale", settings[i], want[i]);
		ok(t.seed[0].final_loss < 0.4, "... and it learns");
		train_result_free(&t);
	}
}

/* ---- Ako: between two sendings of a slice to a peer lie exactly p gradients ---- */

enum { AKO_N = 4, AKO_MOST = 64 };

struct ako_watch {
	uint64_t gradients[AKO_N], at[AKO_N][AKO_N][AKO_MOST], messages, wrong, iterations;
};

static void ako_hear(void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates,
	const uint32_t *group, uint32_t n_group)
{
	struct ako_watch *w = ctx;
	(void)time_s, (void)op, (void)n_group;
	for (uint32_t i = 0; i < n_updates; i++) {
		if (u[i].kind == ORR_ACCUMULATE)
			w->gradients[group[0]] += is_end;
		if (u[i].kind != ORR_SEND_SLICE || is_end)
			continue;
		uint64_t *last = &w->at[group[0]][group[1]][u[i].slice], now = w->gradients[group[0]];
		w->wrong += *last ? now - *last != u[i].slices : now > u[i].slices;
		w->messages++;
		*last = now;
	}
}

static bool ako_enough(void *ctx, double time_s)
{
	(void)time_s;
	return ++((struct ako_watch *)ctx)->iterations == 200;
}

static void each_gradient_once(const char *settings, const char *slow_network)
{
	struct fixture *f = fixture_new("4x1:v100", slow_network, "alexnet", 8);
	struct ako_watch w = { 0 };
	fixture_set(f, "iterations=1000");
	fixture_set(f, "stragglers=lognormal");
	f->config.hook = ako_hear;
	f->config.hook_ctx = &w;
	f->config.stop = ako_enough;
	struct step_result r;
	int rc = fixture_run(f, &orr_policy_ako, settings, &r, &error);
	if (!ok(!rc && !w.wrong && w.messages > 1000, "ako %s, %s: each gradient is sent once", settings, slow_network))
		printf("# %s; %llu messages, %llu wrong\n", rc ? error.text : "ran", (unsigned long long)w.messages, (unsigned long long)w.wrong);
	if (!rc)
		step_result_free(&r);
	fixture_free(f);
}

static void ako(void)
{
	struct train_result t = trained("4x1:v100", &orr_policy_ako, "", "max_samples=4000");
	printf("# ako: loss %.4f\n", t.seed[0].final_loss);
	ok(t.seed[0].final_loss < 0.5, "ako learns");
	train_result_free(&t);
	t = trained("1x1:v100", &orr_policy_ako, "partitions=1", "max_samples=1600");
	struct train_result plain = trained("1x1:v100", &orr_policy_allreduce, "", "max_samples=1600");
	ok(t.seed[0].final_loss == plain.seed[0].final_loss, "ako with one worker is plain SGD");
	train_result_free(&t);
	train_result_free(&plain);
	each_gradient_once("partitions=4", "star:bw=10Gbps,lat=10us");
	each_gradient_once("partitions=1", "star:bw=1Gbps,lat=10us");
	each_gradient_once("partitions=3 slice_choice=peer", "star:bw=1Gbps,lat=10us");
	each_gradient_once("partitions=4 outstanding=3", "star:bw=1Gbps,lat=10us");
}

static void stanza(void)
{
	struct train_result ring = trained("4x1:v100", &orr_policy_stanza, "fc_workers=1", "max_samples=1600");
	ok(ring.n_seeds && ring.seed[0].dispersion < 1e-20, "stanza: CONV workers stay together");
	static const char *const other[] = { "fc_workers=1 conv_sync=server", "fc_workers=1 conv_sync=servers conv_servers=2",
		"fc_workers=1 overlap_conv_sync=true" };
	for (int i = 0; i < 3; i++) {
		struct train_result t = trained("4x1:v100", &orr_policy_stanza, other[i], "max_samples=1600");
		ok(t.n_seeds && fabs(t.seed[0].point[20].loss - ring.seed[0].point[20].loss) < 1e-12 && t.seed[0].dispersion < 1e-20,
			"stanza %s: the same losses", other[i]);
		if (t.n_seeds)
			train_result_free(&t);
	}
	train_result_free(&ring);
}

int main(void)
{
	is_slow = getenv("ORR_SANITIZED") != NULL;
	synchronous();
	dispersion("4x1:v100", "schedule=pairs", 4, 0.25);
	dispersion("16x1:v100", "schedule=grid", 16, 0.1875);
	dispersion("16x1:v100", "schedule=random", 16, 15. / 16 * 7 / 8);
	servers();
	ako();
	stanza();
	return done();
}
