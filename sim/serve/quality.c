/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/quality.h"

#include "base/mem.h"
#include "base/num.h"
#include "learn/boost.h"
#include "results/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct quality {
	bool is_trained; /* has results */
	struct boost_config config;
	struct boost_result mean, *each;
	uint32_t n, seeds; /* sub-learners that may answer; ensembles: 0 for a list */
};

static const char prefix[] = "boost:";

static struct quality *wrong(struct quality *q, const char *text, struct orr_error *err)
{
	orr_fail(err, ORR_EINPUT,
		"serve.quality: expected boost:NAME=VALUE,.. or a list of 2^n accuracies from 0 to 1, one for each set of received "
		"answers, found \"%.80s\"",
		text);
	quality_free(q);
	return NULL;
}

static struct quality *read_list(struct quality *q, const char *text, struct orr_error *err)
{
	uint32_t n = 0;
	for (const char *p = text;;) {
		size_t len = strcspn(p, ",");
		double v;
		if (n == BOOST_MASKS || !num_real(p, len, &v) || !(v >= 0 && v <= 1))
			return wrong(q, text, err);
		q->mean.accuracy[n++] = v;
		if (!p[len])
			break;
		p += len + 1;
	}
	if (n < 2 || (n & (n - 1)))
		return wrong(q, text, err);
	while (1u << q->n < n)
		q->n++;
	q->mean.n = q->n;
	q->is_trained = true;
	return q;
}

struct quality *quality_new(const char *text, struct orr_error *err)
{
	if (!*text)
		return NULL;
	struct quality *q = mem_zalloc(1, sizeof *q);
	if (strncmp(text, prefix, sizeof prefix - 1))
		return read_list(q, text, err);
	if (boost_config_read(&q->config, text + sizeof prefix - 1, err)) {
		quality_free(q);
		return NULL;
	}
	q->n = q->config.method == BOOST_WIDE ? 1 : q->config.n;
	q->seeds = q->config.seeds;
	return q;
}

void quality_free(struct quality *q)
{
	if (q)
		mem_free(q->each);
	mem_free(q);
}

uint32_t quality_members(const struct quality *q)
{
	return q ? q->n : 0;
}

void quality_train(struct quality *q)
{
	if (!q)
		return;
#ifdef _OPENMP
#pragma omp critical(orr_quality)
#endif
	if (!q->is_trained) {
		q->each = mem_zalloc(q->seeds, sizeof *q->each);
		boost_run(&q->config, &q->mean, q->each);
		q->is_trained = true;
	}
}

double quality_of(const struct quality *q, uint64_t received)
{
	if (!q || received >> q->n)
		return NAN;
	return q->mean.accuracy[received];
}

/* Adds the metric: the mean of f over ensembles, or f of the list. */
static void put(const struct quality *q, const char *name, double (*f)(const struct boost_result *r, uint32_t i), uint32_t i, double level,
	struct run_result *r)
{
	struct interval v = { f(&q->mean, i), NAN, NAN };
	if (q->seeds) {
		double *of = mem_alloc(q->seeds * sizeof *of);
		for (uint32_t s = 0; s < q->seeds; s++)
			of[s] = f(&q->each[s], i);
		v = estimate_mean(of, q->seeds, ESTIMATE_NON_NEGATIVE, level);
		mem_free(of);
	}
	result_metric(r, name, v.mean, v.low, v.high);
}

static double all(const struct boost_result *r, uint32_t i)
{
	(void)i;
	return boost_all(r);
}

static double one_missing(const struct boost_result *r, uint32_t i)
{
	(void)i;
	return boost_one_missing(r, NULL);
}

static double worst_missing(const struct boost_result *r, uint32_t i)
{
	double worst;
	(void)i;
	boost_one_missing(r, &worst);
	return worst;
}

static double first(const struct boost_result *r, uint32_t i)
{
	return r->accuracy[(1u << i) - 1];
}

static double alone(const struct boost_result *r, uint32_t i)
{
	return r->accuracy[1u << (i - 1)];
}

static double without(const struct boost_result *r, uint32_t i)
{
	return r->accuracy[((1u << r->n) - 1) & ~(1u << (i - 1))];
}

/* Returns the mean over the sets of i answers. */
static double by_count(const struct boost_result *r, uint32_t i)
{
	double sum = 0, sets = 0;
	for (uint64_t set = 0; set >> r->n == 0; set++) {
		uint32_t n = 0;
		for (uint64_t left = set; left; left &= left - 1)
			n++;
		sum += n == i ? r->accuracy[set] : 0;
		sets += n == i;
	}
	return sum / sets;
}

static double loss(const struct boost_result *r, uint32_t i)
{
	return r->loss[i];
}

void quality_metrics(const struct quality *q, double level, struct run_result *r)
{
	static const struct {
		const char *name;
		double (*of)(const struct boost_result *r, uint32_t i);
		bool is_trained; /* training needs images */
	} by_learner[] = { { "accuracy_first", first, false }, { "accuracy_alone", alone, false }, { "accuracy_without", without, false },
		{ "accuracy_any", by_count, false }, { "training_loss_first", loss, true } };
	if (!q)
		return;
	put(q, "accuracy_all", all, 0, level, r);
	put(q, "accuracy_one_missing", one_missing, 0, level, r);
	put(q, "accuracy_one_missing_worst", worst_missing, 0, level, r);
	for (size_t k = 0; k < sizeof by_learner / sizeof *by_learner; k++)
		for (uint32_t i = 1; i <= q->n && (q->seeds || !by_learner[k].is_trained); i++) {
			char name[48];
			snprintf(name, sizeof name, "%s_%u", by_learner[k].name, i);
			put(q, name, by_learner[k].of, i, level, r);
		}
}
