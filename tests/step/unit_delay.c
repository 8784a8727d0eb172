/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter servers and real SGD: gradients that are `lag` steps late, every pair of options of asynchronous servers, the
 * history that late messages need, the limit on samples, and staleness.
 *
 * Expected: the recurrence x_{k+1} = x_k - eta g(x_{k-lag}), restated here on the same data, and its limit of stability,
 * eta L < 2 sin(pi / (2 (2 lag + 1))) (Levin and May 1976).
 */
#include "learn/train.h"
#include "tests/learn/learn_peek.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_allreduce, orr_policy_parameter_server, orr_policy_local_sgd, orr_policy_ako, orr_policy_stanza;

enum { MOST = 64 };
static struct orr_error error;
static bool is_slow;
static const char fast[] = "star:bw=1000Gbps,lat=0";

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

struct what {
	const char *cluster, *network, *step;
	const struct orr_policy *policy;
	const char *settings, *learn;
};

static int train(const struct what *w, struct train_result *out)
{
	struct fixture *f = fixture_new(w->cluster, w->network, "alexnet", 8);
	struct orr_args *options = args_of(learn_options, "learn", w->learn),
			*own = args_of(w->policy->params, w->policy->name, w->settings);
	struct train_config c = { .step = &f->config, .options = options };
	char *text = mem_strdup(w->step), *save = NULL;
	fixture_set(f, "ignore_memory=true");
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		fixture_set(f, s);
	mem_free(text);
	error = (struct orr_error){ 0 };
	*out = (struct train_result){ 0 };
	int rc = train_run(&c, w->policy, own, w->policy->name, out, &error);
	args_free(own);
	args_free(options);
	fixture_free(f);
	return rc;
}

/* ---- the recurrence ---- */

/* Returns the loss of the data, (a.x - y)^2 / 2, a mean over rows. */
static double loss_of(const struct problem *p, const double *x)
{
	double sum = 0;
	for (uint32_t r = 0; r < p->config.rows; r++) {
		double e = -p->y[r];
		for (size_t i = 0; i < p->dim; i++)
			e += p->a[r * p->dim + i] * x[i];
		sum += e * e / 2;
	}
	return sum / p->config.rows;
}

/* Computes the losses after 0, 1, .. `steps` updates on rows in order. Each update uses the gradient at the parameters from `lag`
 * updates before. */
static void recurrence(const struct learn_config *c, uint32_t lag, uint32_t steps, double *loss)
{
	struct learn *l = learn_new(c, &error);
	const struct problem *p = l->problem;
	double(*x)[MOST] = mem_zalloc(steps + 1, sizeof *x), v[MOST] = { 0 };
	for (uint32_t k = 0; k < steps; k++) {
		const double *old = x[k > lag ? k - lag : 0];
		double g[MOST] = { 0 };
		for (uint32_t b = 0; b < c->batch; b++) {
			uint32_t r = (k * c->batch + b) % c->rows;
			double e = -p->y[r];
			for (size_t i = 0; i < p->dim; i++)
				e += p->a[r * p->dim + i] * old[i];
			for (size_t i = 0; i < p->dim; i++)
				g[i] += e * p->a[r * p->dim + i] / c->batch;
		}
		for (size_t i = 0; i < p->dim; i++) {
			v[i] = c->momentum * v[i] + g[i];
			x[k + 1][i] = x[k][i] - c->lr * v[i];
		}
	}
	for (uint32_t k = 0; k <= steps; k++)
		loss[k] = loss_of(p, x[k]);
	mem_free(x);
	learn_free(l);
}

static void against_recurrence(void)
{
	enum { STEPS = 100 };
	static const char *const ways[] = { "", "push_overlap=false", "pull_overlap=true", "mode=ssp staleness=5", "priority=true",
		"pull=iteration message_bytes=1e15" };
	static const double momentum[] = { 0, 0.5 };
	for (uint32_t lag = 0; lag <= 3; lag++) {
		double off = 0, stale = 0, last = 0;
		size_t points = 0;
		for (size_t i = 0; i < 2 * (sizeof ways / sizeof *ways); i++) {
			char settings[160], learn[256];
			snprintf(settings, sizeof settings, "mode=asp placement=dedicated %s lag=%u", ways[i / 2], lag);
			snprintf(learn, sizeof learn,
				"problem=least-squares rows=64 inputs=8 batch=8 sampling=cycle lr=0.05 momentum=%g eval_samples=0 "
				"eval_updates=1 seeds=1 max_samples=%d",
				momentum[i % 2], 8 * STEPS);
			struct train_result t;
			if (train(&(struct what){ "2x1:v100", fast, "compute_s=1", &orr_policy_parameter_server, settings, learn }, &t)) {
				ok(false, "%s trains: %s", settings, error.text);
				continue;
			}
			struct learn_config c;
			struct orr_args *options = args_of(learn_options, "learn", learn);
			learn_config_read(&c, options);
			args_free(options);
			c.shards = 1;
			double want[STEPS + 1];
			recurrence(&c, lag, STEPS, want);
			const struct train_seed *s = &t.seed[0];
			for (size_t k = 0; k < s->n_points; k++, points++)
				off = fmax(off, fabs(s->point[k].loss / want[s->point[k].updates] - 1));
			last = fmax(last, fabs(s->final_loss / want[STEPS] - 1));
			stale = s->staleness;
			train_result_free(&t);
		}
		ok(points >= STEPS * 2 * sizeof ways / sizeof *ways && off < 1e-12 && last < 1e-12,
			"lag %u: all losses of %zu points are those of the recurrence (off by %.2g)", lag, points, off);
		/* The first updates have staleness 0, 1, .., the others `lag`. */
		near_to(stale, (lag * (lag - 1.) / 2 + lag * (STEPS - (double)lag)) / STEPS, 1e-12, "staleness of its updates");
	}
}

/* ---- the limit of stability ---- */

/* Returns the largest eigenvalue of A'A / rows, by power iteration. */
static double curvature(const struct learn_config *c)
{
	struct learn *l = learn_new(c, &error);
	const struct problem *p = l->problem;
	double x[MOST], norm = 0;
	for (size_t i = 0; i < p->dim; i++)
		x[i] = 1 + (double)i / 7;
	for (int k = 0; k < 3000; k++) {
		double y[MOST] = { 0 };
		for (uint32_t r = 0; r < c->rows; r++) {
			double e = 0;
			for (size_t i = 0; i < p->dim; i++)
				e += p->a[r * p->dim + i] * x[i];
			for (size_t i = 0; i < p->dim; i++)
				y[i] += e * p->a[r * p->dim + i] / c->rows;
		}
		norm = 0;
		for (size_t i = 0; i < p->dim; i++)
			norm += y[i] * y[i];
		norm = sqrt(norm);
		for (size_t i = 0; i < p->dim; i++)
			x[i] = y[i] / norm;
	}
	learn_free(l);
	return norm;
}

/* Returns (final loss - least loss) / (initial loss - least loss). */
static double grown(uint32_t lag, double lr)
{
	char settings[80], learn[256];
	snprintf(settings, sizeof settings, "mode=asp placement=dedicated push_overlap=false lag=%u", lag);
	snprintf(learn, sizeof learn,
		"problem=least-squares rows=16 inputs=4 condition=4 batch=16 sampling=cycle lr=%.17g eval_samples=0 seeds=1 max_samples=%d",
		lr, 16 * (is_slow ? 1500 : 5000));
	struct train_result t;
	if (train(&(struct what){ "2x1:v100", fast, "compute_s=1", &orr_policy_parameter_server, settings, learn }, &t)) {
		printf("# %s\n", error.text);
		return NAN;
	}
	double ratio = (t.seed[0].final_loss - t.floor) / (t.seed[0].point[0].loss - t.floor);
	train_result_free(&t);
	return ratio;
}

static void stability(void)
{
	struct learn_config c;
	learn_config_default(&c);
	c.problem = LEARN_LEAST_SQUARES;
	c.rows = 16;
	c.inputs = 4;
	c.condition = 4;
	double h = curvature(&c);
	for (uint32_t lag = 0; lag <= 4; lag++) {
		double bound = 2 * sin(M_PI / (2 * (2 * lag + 1))) / h, near = is_slow ? 0.06 : 0.02;
		double below = grown(lag, (1 - near) * bound), above = grown(lag, (1 + near) * bound);
		ok(below < 1e-3 && above > 1e3, "lag %u: stable %g %% below and unstable %g %% above the limit (loss times %.2g, %.2g)",
			lag, 100 * near, 100 * near, below, above);
	}
}

/* ---- every pair of options of asynchronous servers ---- */

static const char *const options[][4] = { { "staleness=0", "staleness=7" }, { "servers=2", "servers=1" },
	{ "placement=dedicated", "placement=colocated", "placement=gpu", "placement=cpu-nodes" }, { "shard=tensor", "shard=bytes" },
	{ "push_overlap=false", "push_overlap=true" }, { "pull_overlap=true", "pull_overlap=false" }, { "pull=iteration", "pull=message" },
	{ "message_bytes=1", "message_bytes=1e9" }, { "priority=true", "priority=false" }, { "node_sum=true", "node_sum=false" },
	{ "lag=1", "lag=4", "lag=100" }, { "server_Bps=1e8", "server_Bps=0" }, { "compress_pull=true", "compress_pull=false" },
	{ "step=sum", "step=mean" } };
enum { OPTIONS = sizeof options / sizeof *options };

static void pairs(void)
{
	unsigned runs = 0, wrong = 0;
	size_t n_params = 0;
	while (orr_policy_parameter_server.params[n_params].name)
		n_params++;
	ok(n_params == OPTIONS + 1, "the pairs cover all %zu options besides mode", n_params - 1);
	for (size_t i = 0; i < OPTIONS; i++)
		for (size_t j = i + 1; j < OPTIONS; j++)
			for (size_t a = 0; a < 4 && options[i][a]; a++)
				for (size_t b = 0; b < 4 && options[j][b]; b++) {
					if (is_slow && (i + j + a + b) % 8)
						continue;
					char settings[128];
					snprintf(settings, sizeof settings, "mode=asp %s %s", options[i][a], options[j][b]);
					struct train_result t;
					int rc = train(
						&(struct what){ "3x2:v100,2x0:v100", "star:bw=1Gbps",
							"compute_s=0.3 stragglers=exponential", &orr_policy_parameter_server, settings,
							"problem=least-squares rows=64 inputs=8 batch=4 lr=0.01 history=101 seeds=1 "
							"max_samples=130" },
						&t);
					runs++;
					/* The run has 32 gradients of 4 samples. */
					bool is_right = !rc && t.seed[0].samples == 128 && t.seed[0].updates == 32 &&
							isfinite(t.seed[0].final_loss);
					if (!is_right && wrong++ < 5)
						printf("# %s: %s, %g samples, %llu updates\n", settings, rc ? error.text : "",
							rc ? 0 : t.seed[0].samples, rc ? 0 : (unsigned long long)t.seed[0].updates);
					train_result_free(&t);
				}
	ok(runs > (is_slow ? 40 : 400) && !wrong, "all of %u pairs of options of asynchronous servers train on 128 of 130 samples", runs);
}

/* ---- the history of late messages ---- */

static void history(void)
{
	static const char settings[] = "mode=asp placement=dedicated priority=true lag=4";
	char learn[160];
	unsigned least = 0, asked = 0;
	for (unsigned h = 1; h <= 8 && !least; h++) {
		struct train_result t;
		snprintf(learn, sizeof learn, "problem=least-squares rows=64 inputs=8 batch=4 lr=0.01 seeds=1 max_samples=400 history=%u",
			h);
		int rc = train(
			&(struct what){ "5x1:v100", "star:bw=1Gbps", "compute_s=0.3", &orr_policy_parameter_server, settings, learn }, &t);
		const char *at = strstr(error.text, "expected at least ");
		if (!rc)
			least = h;
		else if (at && rc == ORR_EINPUT)
			asked = (unsigned)strtoul(at + strlen("expected at least "), NULL, 10);
		train_result_free(&t);
	}
	ok(least > 1 && least <= 5 && asked == least,
		"priority and lag 4: the error asks for learn.history=%u, which is the least that suffices (%u)", asked, least);
}

/* ---- the limit on samples ---- */

static void samples(void)
{
	static const struct {
		const struct orr_policy *policy;
		const char *settings;
		double want; /* samples */
	} rows[] = { { &orr_policy_parameter_server, "mode=asp", 200 }, { &orr_policy_parameter_server, "mode=ssp staleness=9", 200 },
		{ &orr_policy_parameter_server, "mode=asp lag=3", 200 }, { &orr_policy_ako, "partitions=2", 200 },
		{ &orr_policy_parameter_server, "mode=bsp", 192 }, { &orr_policy_parameter_server, "mode=ssp staleness=0", 192 },
		{ &orr_policy_allreduce, "", 192 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct train_result t;
		struct what w = { "4x1:v100", "star:bw=10Gbps", "compute_s=0.3 stragglers=exponential speeds=0:0.1", rows[i].policy,
			rows[i].settings,
			"problem=least-squares rows=64 inputs=8 batch=8 lr=0.01 eval_samples=0 eval_updates=1 seeds=1 max_samples=207" };
		int rc = train(&w, &t);
		double got = rc ? NAN : t.seed[0].samples;
		ok(got == rows[i].want, "%s %s: %g of at most 207 samples, in gradients (synchronous: iterations) of 8 (32)",
			rows[i].policy->name, rows[i].settings, got);
		bool is_server = rows[i].policy == &orr_policy_parameter_server;
		if (!rc && is_server)
			ok((double)t.seed[0].updates == rows[i].want / 8, "each of its gradients is applied");
		train_result_free(&t);
	}
	struct train_result t;
	struct what w = { "4x1:v100", fast, "", &orr_policy_allreduce, "", "batch=32 max_samples=100 seeds=1" };
	ok(train(&w, &t) == ORR_EINPUT && strstr(error.text, "max_samples=100: expected at least 128"),
		"a limit below one iteration is refused: %s", error.text);
	train_result_free(&t);
}

/* ---- staleness ---- */

static void staleness(void)
{
	static const struct {
		const struct orr_policy *policy;
		const char *settings;
	} rows[] = { { &orr_policy_parameter_server, "" }, { &orr_policy_parameter_server, "mode=ssp staleness=0" },
		{ &orr_policy_parameter_server, "pull_overlap=true servers=3 shard=tensor" },
		{ &orr_policy_parameter_server, "node_sum=true priority=true" }, { &orr_policy_stanza, "conv_sync=servers" } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct train_result t;
		struct what w = { "4x1:v100", "star:bw=10Gbps", "compute_s=0.3 stragglers=exponential", rows[i].policy, rows[i].settings,
			"problem=least-squares rows=64 inputs=8 batch=8 lr=0.01 seeds=1 max_samples=960" };
		if (train(&w, &t))
			ok(false, "%s: %s", rows[i].settings, error.text);
		else
			ok(t.seed[0].staleness == 0 && t.seed[0].updates > 50, "%s %s: synchronous, staleness 0 (%g)", rows[i].policy->name,
				rows[i].settings, t.seed[0].staleness);
		train_result_free(&t);
	}
}

int main(void)
{
	is_slow = getenv("ORR_SANITIZED") != NULL;
	against_recurrence();
	stability();
	pairs();
	history();
	samples();
	staleness();
	return done();
}
