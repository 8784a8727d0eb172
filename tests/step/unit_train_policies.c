/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The updates that the built-in policies report, applied to real SGD. All synchronous policies perform the same descent.
 * DS-Sync has the dispersion of its closed form, Ako delivers each gradient once, and asynchronous servers have the expected
 * staleness.
 */
#include "learn/train.h"
#include "tests/learn/learn_drive.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

extern const struct orr_policy orr_policy_allreduce, orr_policy_bytescheduler, orr_policy_parameter_server, orr_policy_local_sgd,
	orr_policy_zero, orr_policy_fsdp, orr_policy_ds_sync, orr_policy_ako, orr_policy_stanza, orr_policy_dual_pipe;

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

/* ---- synchronous policies perform the same descent ---- */

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
	is_synchronous(&want, &orr_policy_fsdp, "");
	is_synchronous(&want, &orr_policy_fsdp, "shard=2 prefetch=2");
	is_synchronous(&want, &orr_policy_fsdp, "shard=1");
	is_synchronous(&want, &orr_policy_ds_sync, "schedule=explicit partitions=0-1-2-3 average=gradients");
	is_synchronous(&want, &orr_policy_ds_sync, "schedule=explicit partitions=0-1-2-3 fusion=tensor average=gradients");
	is_synchronous(&want, &orr_policy_dual_pipe, "stages=2 micro_batches=4"); /* two replicas of two stages with the same parts */
	train_result_free(&want);
}

/* ---- DS-Sync ---- */

/* Tests the dispersion. Points are recorded after the step and before averaging, so noise of variance 1 - 1/N about the mean is added. */
static void dispersion(const char *cluster, const char *settings, double n, double want)
{
	char learn[160];
	snprintf(learn, sizeof learn, "problem=noise noise=1 lr=1 inputs=64 batch=1 eval_updates=%g max_samples=%g", n,
		(is_slow ? 300 : 1500) * n);
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

/* Tests DS-Sync's claim: in the public table of v1, every data set reaches BSP's accuracy within one standard deviation. The test
 * trains a perceptron on the same number of samples. It takes less time than BSP, because a ring of 2 moves two thirds of the bytes
 * of a ring of 4. */
static void same_loss_sooner(void)
{
	char learn[200];
	snprintf(learn, sizeof learn,
		"problem=mlp rows=1024 inputs=8 batch=16 lr=0.2 eval_updates=400 schedule=step decay=0.2 decay_samples=%d seeds=%d "
		"max_samples=%d",
		is_slow ? 4000 : 32000, is_slow ? 4 : 8, is_slow ? 8000 : 64000);
	struct train_result bsp = trained("4x1:v100", &orr_policy_allreduce, "overlap=false fusion=none", learn),
			    pairs = trained("4x1:v100", &orr_policy_ds_sync, "schedule=pairs", learn);
	double squares = 0, n = bsp.n_seeds;
	for (uint32_t i = 0; i < bsp.n_seeds; i++)
		squares += pow(bsp.seed[i].final_loss - bsp.final_loss.mean, 2);
	double deviation = sqrt(squares / (n - 1)), faster = bsp.seed[0].time_s / pairs.seed[0].time_s;
	printf("# BSP %.5f (standard deviation %.5f), pairs %.5f, in %.3f of the time\n", bsp.final_loss.mean, deviation,
		pairs.final_loss.mean, 1 / faster);
	ok(fabs(bsp.final_loss.mean - pairs.final_loss.mean) < deviation,
		"ds_sync ends at BSP's loss, within a standard deviation over seeds");
	ok(faster > 1.3 && faster < 1.5, "ds_sync ends sooner, by less than the factor 1.5 of communication alone");
	train_result_free(&bsp);
	train_result_free(&pairs);
}

/* ---- asynchronous servers ---- */

/* Tests asynchronous servers. Between the pull and the push of a worker's gradient, each of the other n - 1 workers pushes once on
 * average, at any speeds: staleness n - 1 = 3. With a lag of one iteration the gradient is in flight for nearly two iterations (minus
 * the time for which a pull waits for the previous one). One of them ends with a push of the worker itself, so the staleness is up to
 * 2 (n - 1) + 1 = 7. */
static void servers(void)
{
	static const char *const settings[] = { "mode=asp servers=1 placement=dedicated", "mode=asp servers=1 placement=dedicated lag=1",
		"mode=asp servers=3 placement=colocated" };
	static const double want[] = { 3, 7, 3 };
	for (int i = 0; i < 3; i++) {
		struct train_result t =
			trained(i < 2 ? "5x1:v100" : "4x1:v100", &orr_policy_parameter_server, settings[i], "max_samples=8000");
		if (!t.n_seeds)
			continue;
		printf("# %s: staleness %.3f, loss %.4f\n", settings[i], t.seed[0].staleness, t.seed[0].final_loss);
		ok(t.seed[0].staleness > want[i] - (want[i] > 3 ? 1 : 0.1) && t.seed[0].staleness < want[i] + 0.1,
			"parameter_server %s: %g updates stale", settings[i], want[i]);
		ok(t.seed[0].final_loss < 0.4, "parameter_server: the loss falls");
		train_result_free(&t);
	}
}

/* ---- Ako delivers each gradient once, with any waits ---- */

enum { AKO_N = 4, AKO_DIM = 24, AKO_MOST = 64, AKO_STEPS = 400 };

struct ako_watch {
	struct learn *l;
	double sum[AKO_N][AKO_STEPS + 8][AKO_DIM]; /* sums of a worker's gradients up to iteration - 1 */
	uint64_t delivered[AKO_N][AKO_N][AKO_MOST], own[AKO_N], messages, iterations;
	uint32_t slices;
	struct orr_error error;
};

static void ako_note(struct ako_watch *w, uint64_t iteration, const struct orr_update *u, const uint32_t *group)
{
	uint32_t d = group[0];
	if (u->kind == ORR_GRADIENT)
		for (int i = 0; i < AKO_DIM; i++)
			w->sum[d][iteration + 1][i] = w->sum[d][iteration][i] + learn_gradient(w->l, d)[i];
	if (u->kind == ORR_APPLY_INBOX)
		w->own[d] = iteration + 1;
	if (u->kind != ORR_SEND_SLICE)
		return;
	w->delivered[d][group[1]][u->slice] = iteration + 1;
	w->slices = u->slices;
	w->messages++;
}

static void ako_hear(void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates,
	const uint32_t *group, uint32_t n_group)
{
	struct ako_watch *w = ctx;
	if (w->error.code || (op >> 32) - 1 >= AKO_STEPS)
		return;
	if (!is_end) {
		learn_begin(w->l, time_s, op, u, n_updates, group, n_group, &w->error);
		return;
	}
	if (!learn_end(w->l, time_s, op, group[0], &w->error))
		for (uint32_t i = 0; i < n_updates; i++)
			ako_note(w, (op >> 32) - 1, &u[i], group);
}

static bool ako_enough(void *ctx, double time_s)
{
	(void)time_s;
	return ++((struct ako_watch *)ctx)->iterations == AKO_STEPS - 50;
}

/* Returns the largest difference between two sums: the applied and waiting updates of worker j, and its own and received gradients. */
static double ako_error(struct ako_watch *w)
{
	double most = 0;
	for (uint32_t j = 0; j < AKO_N; j++)
		for (uint32_t i = 0; i < AKO_DIM; i++) {
			uint32_t slice = 0;
			while (AKO_DIM * (slice + 1) / w->slices <= i)
				slice++;
			double want = w->sum[j][w->own[j]][i];
			for (uint32_t k = 0; k < AKO_N; k++)
				want += k != j ? w->sum[k][w->delivered[k][j][slice]][i] : 0;
			most = fmax(most, fabs(learn_inbox(w->l, j)[i] - learn_parameters(w->l, j)[i] - want));
		}
	return most;
}

static void each_gradient_once(const char *settings, const char *own_network)
{
	struct fixture *f = fixture_new("4x1:v100", own_network, "alexnet", 8);
	struct ako_watch *w = mem_zalloc(1, sizeof *w);
	struct learn_config c;
	learn_config_default(&c);
	c.problem = LEARN_NOISE;
	c.inputs = AKO_DIM;
	c.noise = c.lr = 1;
	c.eval_samples = 0;
	w->l = learn_new(&c, &error);
	fixture_set(f, "iterations=10000");
	fixture_set(f, "stragglers=lognormal");
	f->config.hook = ako_hear;
	f->config.hook_ctx = w;
	f->config.stop = ako_enough;
	struct step_result r;
	int rc = fixture_run(f, &orr_policy_ako, settings, &r, &error);
	double most = rc ? INFINITY : ako_error(w);
	if (!ok(most < 1e-9 && !w->error.code && w->messages > 1000, "ako %s, %s: each gradient arrives once", settings, own_network))
		printf("# %s%s; %llu messages, off by %.3g\n", rc ? error.text : "", w->error.text, (unsigned long long)w->messages, most);
	if (!rc)
		step_result_free(&r);
	learn_free(w->l);
	mem_free(w);
	fixture_free(f);
}

static void ako(void)
{
	static const char *const cuts[] = { "partitions=4", "partitions=16", "partitions=48" };
	double last = 0;
	bool grows = true;
	for (int i = 0; i < 3; i++) {
		struct train_result r = trained("4x1:v100", &orr_policy_ako, cuts[i], "max_samples=2000");
		printf("# ako %s: loss %.4f after %.0f samples\n", cuts[i], r.seed[0].final_loss, r.seed[0].samples);
		grows &= r.seed[0].final_loss > last && r.seed[0].final_loss < 0.6;
		last = r.seed[0].final_loss;
		train_result_free(&r);
	}
	ok(grows, "ako: the loss falls, more slowly with more partitions");
	struct train_result t = trained("1x1:v100", &orr_policy_ako, "partitions=1", "max_samples=1600");
	struct train_result plain = trained("1x1:v100", &orr_policy_allreduce, "", "max_samples=1600");
	ok(t.seed[0].final_loss == plain.seed[0].final_loss, "ako with one worker is plain SGD");
	train_result_free(&t);
	train_result_free(&plain);
	each_gradient_once("partitions=4", "star:bw=10Gbps,lat=10us");
	each_gradient_once("partitions=1", "star:bw=1Gbps,lat=10us");
	each_gradient_once("partitions=3 slice_choice=peer", "star:bw=1Gbps,lat=10us");
	each_gradient_once("partitions=4 outstanding=3", "star:bw=1Gbps,lat=10us");
	each_gradient_once("partitions=4 outstanding=3 staleness_bound=2", "star:bw=1Gbps,lat=10us");
	each_gradient_once("partitions=5 partition_method=layers", "star:bw=1Gbps,lat=10us");
}

/* Tests four CONV workers and two FC workers: training on the batches of the CONV workers is synchronous, regardless of the worker that
 * averages. */
static void stanza(void)
{
	struct train_result ring = trained("6x1:v100", &orr_policy_stanza, "fc_workers=2", "max_samples=1600");
	ok(ring.n_seeds && ring.seed[0].dispersion < 1e-20 && ring.seed[0].final_loss < 0.5,
		"stanza: CONV workers stay together and learn");
	static const char *const other[] = { "fc_workers=2 conv_sync=server", "fc_workers=2 conv_sync=servers conv_servers=2",
		"fc_workers=2 overlap_conv_sync=true", "fc_workers=2 overlap_conv_sync=true conv_sync=server" };
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		struct train_result t = trained("6x1:v100", &orr_policy_stanza, other[i], "max_samples=1600");
		if (!t.n_seeds)
			continue;
		double off = 0;
		for (size_t k = 0; k < 40; k++)
			off = fmax(off, fabs(t.seed[0].point[k].loss - ring.seed[0].point[k].loss));
		ok(off < 1e-12 && t.seed[0].n_points > 40, "stanza %s: the losses of the ring", other[i]);
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
	same_loss_sooner();
	servers();
	ako();
	stanza();
	return done();
}
