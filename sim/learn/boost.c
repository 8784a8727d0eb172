/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boosting and bagging of sub-learners; parameters. */
#include "learn/boost.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/rng.h"
#include "learn/vec.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- one sub-learner ---- */

/* Training of sub-learner k. */
struct course {
	const struct boost_config *c;
	struct boost_net net;
	double *image; /* rows x inputs */
	const uint32_t *label;
	const double *before; /* rows x classes: sum of the logits of earlier sub-learners; NULL: bagging */
	uint32_t *order;
	double *g, *velocity, *hidden, *logit, *error;
};

static double *shrink(const struct boost_config *c, const struct boost_data *d, uint32_t rows, uint32_t to)
{
	size_t pixels = (size_t)c->size * c->size, inputs = (size_t)to * to;
	double *out = mem_alloc(rows * inputs * sizeof *out);
	for (uint32_t i = 0; i < rows; i++)
		boost_shrink(d->pixel + i * pixels, c->size, to, out + i * inputs);
	return out;
}

/* Draws W1 with variance 2 / inputs (He et al., ICCV 2015). W2 is 0, so that training starts at the sum of the earlier sub-learners. */
static void start(struct boost_net *n, struct rng *r)
{
	size_t first = (size_t)n->width * n->inputs;
	n->w = mem_zalloc(boost_net_dim(n), sizeof *n->w);
	for (size_t i = 0; i < first; i++)
		n->w[i] = gsl_ran_gaussian_ziggurat(rng_gsl(r), sqrt(2. / n->inputs));
}

static void shuffle(uint32_t *order, uint32_t n, struct rng *r)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)rng_below(r, i), was = order[j];
		order[j] = order[i - 1];
		order[i - 1] = was;
	}
}

/* Does one step of SGD with momentum on rows order[first .. first + n). */
static void step(struct course *t, uint32_t first, uint32_t n, double lr)
{
	const struct boost_config *c = t->c;
	size_t dim = boost_net_dim(&t->net);
	double own = t->before ? c->supervised : 1, weight = t->before ? 1 / (n * (1 + own)) : 1. / n;
	memset(t->g, 0, dim * sizeof *t->g);
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t row = t->order[i];
		const double *image = t->image + (size_t)row * t->net.inputs;
		boost_net_forward(&t->net, image, t->hidden, t->logit);
		boost_net_gradient(&t->net, image, t->label[row], t->before ? t->before + (size_t)row * c->classes : NULL, own, weight,
			t->hidden, t->logit, t->error, t->g);
	}
	vec_axpy(t->velocity, t->g, c->momentum, t->velocity, dim);
	vec_axpy(t->net.w, t->net.w, -lr, t->velocity, dim);
}

/* Trains for the epochs; the learning rate falls linearly to 0. */
static void fit(struct course *t, struct rng *r)
{
	const struct boost_config *c = t->c;
	uint64_t steps = (uint64_t)c->epochs * ((c->rows + c->batch - 1) / c->batch), done = 0;
	for (uint32_t e = 0; e < c->epochs; e++) {
		shuffle(t->order, c->rows, r);
		for (uint32_t first = 0; first < c->rows; first += c->batch, done++)
			step(t, first, c->rows - first < c->batch ? c->rows - first : c->batch, c->lr * (1 - (double)done / (double)steps));
	}
}

/* Returns rows x classes logits. */
static double *logits_of(struct course *t, const double *image, uint32_t rows)
{
	double *out = mem_alloc((size_t)rows * t->c->classes * sizeof *out);
	for (uint32_t i = 0; i < rows; i++)
		boost_net_forward(&t->net, image + (size_t)i * t->net.inputs, t->hidden, out + (size_t)i * t->c->classes);
	return out;
}

/* Trains sub-learner k; returns its logits for the training images and, in *tested, for the test images. */
static double *train_one(const struct boost_config *c, uint32_t k, const struct boost_learner *l, const struct boost_data *train,
	const struct boost_data *test, const double *before, double **tested, double *weights)
{
	struct rng r;
	struct course t = { .c = c, .net = { l->size * l->size, l->width, c->classes, NULL }, .label = train->label, .before = before };
	size_t dim = boost_net_dim(&t.net);
	rng_init(&r, c->seed, "boost.start", k);
	start(&t.net, &r);
	t.image = shrink(c, train, c->rows, l->size);
	t.order = mem_alloc(c->rows * sizeof *t.order);
	t.g = mem_zalloc(dim, sizeof *t.g);
	t.velocity = mem_zalloc(dim, sizeof *t.velocity);
	t.hidden = mem_zalloc(l->width, sizeof *t.hidden);
	t.logit = mem_zalloc(c->classes, sizeof *t.logit);
	t.error = mem_zalloc(c->classes + l->width, sizeof *t.error);
	rng_init(&r, c->seed, "boost.order", k);
	for (uint32_t i = 0; i < c->rows; i++)
		t.order[i] = c->method == BOOST_BAGGING && c->bootstrap ? (uint32_t)rng_below(&r, c->rows) : i;
	fit(&t, &r);
	double *image = shrink(c, test, c->tested, l->size), *out = logits_of(&t, t.image, c->rows);
	*tested = logits_of(&t, image, c->tested);
	*weights += (double)dim;
	double *const all[] = { image, t.image, t.g, t.velocity, t.hidden, t.logit, t.error, t.net.w };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		mem_free(all[i]);
	mem_free(t.order);
	return out;
}

/* ---- an ensemble ---- */

static double cross_entropy(const double *logit, const uint32_t *label, uint32_t rows, uint32_t classes)
{
	double all = 0;
	for (uint32_t i = 0; i < rows; i++) {
		const double *z = logit + (size_t)i * classes;
		double top = z[0], sum = 0;
		for (uint32_t k = 1; k < classes; k++)
			top = z[k] > top ? z[k] : top;
		for (uint32_t k = 0; k < classes; k++)
			sum += exp(z[k] - top);
		all += log(sum) + top - z[label[i]];
	}
	return all / rows;
}

double boost_accuracy(const double *const *logit, uint32_t n, uint32_t rows, uint32_t classes, const uint32_t *label, uint32_t received)
{
	uint32_t right = 0;
	if (!received)
		return 1. / classes;
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t best = 0;
		double top = -INFINITY;
		for (uint32_t c = 0; c < classes; c++) {
			double sum = 0;
			for (uint32_t k = 0; k < n; k++)
				if (received >> k & 1)
					sum += logit[k][(size_t)i * classes + c];
			if (sum > top) {
				top = sum;
				best = c;
			}
		}
		right += best == label[i];
	}
	return (double)right / rows;
}

/* Returns a learner of the largest input size that has about as many weights as all sub-learners together (whole width). */
static struct boost_learner wide(const struct boost_config *c)
{
	double weights = 0;
	struct boost_learner l = { 0, 0 };
	for (uint32_t k = 0; k < c->n; k++) {
		struct boost_net n = { c->learner[k].size * c->learner[k].size, c->learner[k].width, c->classes, NULL };
		weights += (double)boost_net_dim(&n);
		l.size = c->learner[k].size > l.size ? c->learner[k].size : l.size;
	}
	l.width = (uint32_t)((weights - c->classes) / (l.size * l.size + 1. + c->classes) + 0.5);
	return l;
}

void boost_train(const struct boost_config *c, const struct boost_data *train, const struct boost_data *test, struct boost_result *out)
{
	struct boost_learner one = wide(c);
	const struct boost_learner *learner = c->method == BOOST_WIDE ? &one : c->learner;
	uint32_t n = c->method == BOOST_WIDE ? 1 : c->n;
	size_t numbers = (size_t)c->rows * c->classes;
	double *sum = mem_zalloc(numbers, sizeof *sum), *tested[BOOST_MOST];
	*out = (struct boost_result){ .n = n };
	out->loss[0] = cross_entropy(sum, train->label, c->rows, c->classes);
	for (uint32_t k = 0; k < n; k++) {
		const double *before = c->method == BOOST_BOOSTING ? sum : NULL;
		double *logit = train_one(c, k, &learner[k], train, test, before, &tested[k], &out->weights);
		vec_axpy(sum, sum, 1, logit, numbers);
		mem_free(logit);
		out->loss[k + 1] = cross_entropy(sum, train->label, c->rows, c->classes);
	}
	for (uint32_t received = 0; received < 1u << n; received++)
		out->accuracy[received] = boost_accuracy((const double *const *)tested, n, c->tested, c->classes, test->label, received);
	for (uint32_t k = 0; k < n; k++)
		mem_free(tested[k]);
	mem_free(sum);
}

/* ---- several seeds ---- */

void boost_run(const struct boost_config *c, struct boost_result *mean, struct boost_result *each)
{
	struct boost_result *r = each ? each : mem_zalloc(c->seeds, sizeof *r);
#ifdef _OPENMP
	int most = c->threads > 0 ? c->threads : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1) num_threads(most) if (most > 1)
#endif
	for (uint32_t i = 0; i < c->seeds; i++) {
		struct boost_config own = *c;
		struct boost_data train, test;
		own.data_seed = c->data_seed + i;
		own.seed = c->seed + i;
		boost_data_new(&own, &train, &test);
		boost_train(&own, &train, &test, &r[i]);
		boost_data_free(&train);
		boost_data_free(&test);
	}
	*mean = (struct boost_result){ .n = r[0].n, .weights = r[0].weights };
	for (uint32_t i = 0; i < c->seeds; i++) {
		for (uint32_t m = 0; m < BOOST_MASKS; m++)
			mean->accuracy[m] += r[i].accuracy[m] / c->seeds;
		for (uint32_t k = 0; k <= BOOST_MOST; k++)
			mean->loss[k] += r[i].loss[k] / c->seeds;
	}
	if (!each)
		mem_free(r);
}

double boost_all(const struct boost_result *r)
{
	return r->accuracy[(1u << r->n) - 1];
}

double boost_one_missing(const struct boost_result *r, double *worst)
{
	double sum = 0, low = INFINITY;
	for (uint32_t k = 0; k < r->n; k++) {
		double a = r->accuracy[((1u << r->n) - 1) & ~(1u << k)];
		sum += a;
		low = a < low ? a : low;
	}
	if (worst)
		*worst = low;
	return sum / r->n;
}

/* ---- parameters ---- */

const struct orr_param boost_params[] = { ORR_PARAM_TEXT(
						  "widths", "8|12|16|24", "hidden units of each sub-learner, in the order of training"),
	ORR_PARAM_TEXT("sizes", "4|6|8|12", "pixels per side of the input of each sub-learner"),
	ORR_PARAM_CHOICE("method", "boosting", "boosting|bagging|wide",
		"boosting: trained one after another, each to lower the loss of the sum so far; bagging: trained independently; wide: one "
		"learner with the same total number of weights"),
	ORR_PARAM_REAL("supervised", "1", 0, 1e6, "boosting: weight of the loss of a sub-learner alone, relative to the loss of the sum"),
	ORR_PARAM_BOOL("bootstrap", true, "bagging: each sub-learner is trained on images drawn with replacement"),
	ORR_PARAM_INT("size", "12", 1, 256, "pixels per side of an image"), ORR_PARAM_INT("classes", "10", 2, 1000, "number of classes"),
	ORR_PARAM_INT("rows", "20000", 1, 1e6, "training images"), ORR_PARAM_INT("tested", "4000", 1, 1e6, "test images, for the accuracy"),
	ORR_PARAM_REAL("noise", "1", 0, 1e6, "standard deviation of a pixel's noise, relative to that of a class's images"),
	ORR_PARAM_INT("epochs", "5", 0, 1e6, "passes over the training images"),
	ORR_PARAM_INT("batch", "32", 1, 1e6, "images of a mini-batch"),
	ORR_PARAM_REAL("lr", "0.05", 0, 1e6, "initial learning rate; it falls linearly to 0"),
	ORR_PARAM_REAL("momentum", "0.9", 0, 0.999999, "heavy-ball momentum"),
	ORR_PARAM_INT("seed", "1", 0, 9e15, "seed of the first ensemble and its images"),
	ORR_PARAM_INT("seeds", "10", 1, 10000, "ensembles, each with its own images; accuracies are means"), ORR_PARAM_END };

/* Reads "8|12|16"; returns the number of values, 0 on error. */
static uint32_t read_list(const struct orr_args *a, const char *name, double most, uint32_t *out, struct orr_error *err)
{
	const char *text = orr_arg_text(a, name);
	uint32_t n = 0;
	for (const char *p = text;;) {
		size_t len = strcspn(p, "|");
		double v;
		if (n == BOOST_MOST || !num_real(p, len, &v) || !(v >= 1 && v <= most) || v != floor(v)) {
			orr_fail(err, ORR_EINPUT, "boost: %s: expected 1 to %d whole numbers from 1 to %g, such as 8|12, found \"%.60s\"",
				name, BOOST_MOST, most, text);
			return 0;
		}
		out[n++] = (uint32_t)v;
		if (!p[len])
			return n;
		p += len + 1;
	}
}

static int read_values(struct boost_config *c, const struct orr_args *a, struct orr_error *err)
{
	uint32_t width[BOOST_MOST], size[BOOST_MOST], sizes;
	const char *method = orr_arg_text(a, "method");
	*c = (struct boost_config){ .method = !strcmp(method, "wide")      ? BOOST_WIDE
					      : !strcmp(method, "bagging") ? BOOST_BAGGING
									   : BOOST_BOOSTING,
		.supervised = orr_arg_real(a, "supervised"),
		.bootstrap = orr_arg_bool(a, "bootstrap"),
		.size = (uint32_t)orr_arg_int(a, "size"),
		.classes = (uint32_t)orr_arg_int(a, "classes"),
		.rows = (uint32_t)orr_arg_int(a, "rows"),
		.tested = (uint32_t)orr_arg_int(a, "tested"),
		.noise = orr_arg_real(a, "noise"),
		.epochs = (uint32_t)orr_arg_int(a, "epochs"),
		.batch = (uint32_t)orr_arg_int(a, "batch"),
		.lr = orr_arg_real(a, "lr"),
		.momentum = orr_arg_real(a, "momentum"),
		.data_seed = (uint64_t)orr_arg_int(a, "seed"),
		.seed = (uint64_t)orr_arg_int(a, "seed"),
		.seeds = (uint32_t)orr_arg_int(a, "seeds") };
	if (!(c->n = read_list(a, "widths", 1e5, width, err)) || !(sizes = read_list(a, "sizes", c->size, size, err)))
		return ORR_EINPUT;
	if (sizes != c->n)
		return orr_fail(err, ORR_EINPUT, "boost: sizes: expected %u values, one per width, found %u", c->n, sizes);
	for (uint32_t k = 0; k < c->n; k++)
		c->learner[k] = (struct boost_learner){ width[k], size[k] };
	return ORR_OK;
}

int boost_config_read(struct boost_config *c, const char *spec, struct orr_error *err)
{
	struct orr_args *a = args_new(boost_params, "boost", err);
	int rc = a ? args_set_pairs(a, spec, ',', err) : ORR_EFAIL;
	if (!rc)
		rc = read_values(c, a, err);
	args_free(a);
	return rc;
}
