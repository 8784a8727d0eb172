/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_spot_parcae.c - the parts of parcae: forecasts, probabilities of losses, migration costs, the dynamic programme */
#include "policies/spot/parcae_odds.h"
#include "policies/spot/parcae_plan.h"
#include "policies/spot/parcae_predict.h"

#include "base/rng.h"
#include "tests/tap.h"

#include <stdlib.h>

/* ---- forecasts ---- */

/* Returns the log-likelihood of phi, at the best variance, for an AR(1) process that starts in its stationary law. */
static double likelihood(const double *w, uint32_t n, double phi)
{
	double s = (1 - phi * phi) * w[0] * w[0];
	for (uint32_t t = 1; t < n; t++)
		s += (w[t] - phi * w[t - 1]) * (w[t] - phi * w[t - 1]);
	return 0.5 * log(1 - phi * phi) - 0.5 * n * log(s / n);
}

/* Compares phi with statsmodels 0.15.0: SARIMAX(y, order=(1,1,0), simple_differencing=True), exact likelihood. Its optimiser stops
 * within 5e-5. */
static void test_maximum_likelihood(void)
{
	static const struct {
		uint32_t n;
		double y[12], phi;
	} series[] = {
		{ 12, { 18, 19, 19, 23, 23, 24, 25, 27, 27, 27, 29, 30 }, 0.17520993 },
		{ 12, { 32, 32, 31, 31, 28, 26, 26, 23, 23, 23, 26, 25 }, 0.08572141 },
		{ 12, { 20, 21, 23, 24, 26, 27, 29, 30, 30, 31, 31, 32 }, 0.68378346 },
		{ 8, { 20, 24, 19, 25, 20, 23, 18, 24 }, -0.96101315 },
	};
	for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
		double change[12], forecast[2], scratch[12];
		for (uint32_t t = 0; t + 1 < series[i].n; t++)
			change[t] = series[i].y[t + 1] - series[i].y[t];
		near_to(parcae_ar1(change, series[i].n - 1), series[i].phi, 5e-5, "phi equals that of an exact maximum-likelihood fit");
		double found = parcae_ar1(change, series[i].n - 1), top = likelihood(change, series[i].n - 1, found);
		ok(top > likelihood(change, series[i].n - 1, found - 1e-4) && top > likelihood(change, series[i].n - 1, found + 1e-4),
			"the likelihood decreases on both sides of the fitted phi");
		double phi = series[i].phi, last = series[i].y[series[i].n - 1], w = change[series[i].n - 2];
		parcae_arima(series[i].y, series[i].n, 2, forecast, scratch);
		near_to(forecast[1], last + w * (phi + phi * phi), 5e-5,
			"a forecast adds the predicted changes, which decay by phi per step");
	}
}

/* Tests two changes, for which the likelihood is greatest at 2 w1 w2 / (w1^2 + w2^2), because the cubic equation is linear. */
static void test_closed_forms(void)
{
	near_to(parcae_ar1((double[]){ 3, 1 }, 2), 0.6, 1e-12, "phi of two changes");
	near_to(parcae_ar1((double[]){ 3, -1 }, 2), -0.6, 1e-12, "phi of two changes of different signs");
	near_to(parcae_ar1((double[]){ 0, 0, 0 }, 3), 0, 0, "a constant series gives phi = 0");
	near_to(parcae_ar1((double[]){ 5 }, 1), 0, 0, "a single change does not determine phi: 0");
}

/* Tests cleaning and limits. A jump by 9 and back is removed as an outlier. An increase of 2 per interval gives phi = 1, so the
 * forecast is 30, 32, 34. It is clamped first to 28 + 3 and later to 29. */
static void test_cleaning_and_limits(void)
{
	double out[3], scratch[8], leap[] = { 20, 20, 29, 20, 20 }, back[] = { 20, 20, 14, 20, 20 }, step[] = { 20, 20, 29, 29, 29 };
	parcae_clean(leap, 5, 3, 8, 32);
	parcae_clean(back, 5, 3, 8, 32);
	parcae_clean(step, 5, 3, 8, 32);
	ok(leap[2] == 20 && back[2] == 20, "a jump that reverses at once is removed as an outlier");
	ok(step[2] == 29, "a jump that persists is kept");
	/* Steps of one sign, changes of just the limit, a jump at an end, and a jump whose return is small. */
	double stairs[] = { 10, 15, 20, 25 }, limit[] = { 20, 23, 20, 17, 20 }, ends[] = { 9, 20, 20, 31 }, slow[] = { 20, 26, 24, 20 };
	double twice[] = { 20, 26, 20, 27, 20 }, far[] = { 2, 8, 20, 32, 40 };
	parcae_clean(stairs, 4, 3, 8, 32);
	parcae_clean(limit, 5, 3, 8, 32);
	parcae_clean(ends, 4, 3, 8, 32);
	parcae_clean(slow, 4, 3, 8, 32);
	parcae_clean(twice, 5, 3, 8, 32);
	parcae_clean(far, 5, 30, 8, 32);
	ok(!memcmp(stairs, (double[]){ 10, 15, 20, 25 }, sizeof stairs), "steps in one direction are kept");
	ok(!memcmp(limit, (double[]){ 20, 23, 20, 17, 20 }, sizeof limit), "a change of just the limit is kept");
	ok(!memcmp(ends, (double[]){ 9, 20, 20, 31 }, sizeof ends), "the first and the last count are kept");
	ok(!memcmp(slow, (double[]){ 20, 26, 24, 20 }, sizeof slow), "a jump that reverses slowly is kept");
	ok(!memcmp(twice, (double[]){ 20, 20, 20, 20, 20 }, sizeof twice), "two jumps are removed");
	ok(!memcmp(far, (double[]){ 8, 8, 20, 32, 32 }, sizeof far), "counts are clamped to the bounds");
	double up[] = { 20, 22, 24, 26, 28 }, up2[] = { 20, 22, 24, 26, 28 }, down[] = { 12, 11, 10, 9 };
	parcae_forecast(up, 5, &(struct parcae_bounds){ 3, 8, 32 }, 3, out, scratch);
	ok(out[0] == 30 && out[1] == 31 && out[2] == 31, "a forecast changes by 3 at most");
	parcae_forecast(up2, 5, &(struct parcae_bounds){ 30, 8, 29 }, 3, out, scratch);
	ok(out[0] == 29 && out[2] == 29, "a forecast stays at or below its upper bound");
	parcae_forecast(down, 4, &(struct parcae_bounds){ 30, 8, 32 }, 3, out, scratch);
	ok(out[0] == 8 && out[2] == 8, "a forecast stays at or above its lower bound");
}

/* ---- odds ---- */

enum { MOST_WORKERS = 16 };

static struct parcae_loss loss_of(uint32_t pipelines, uint32_t depth, uint32_t lost_workers)
{
	struct parcae_loss loss = { .keep = pipelines };
	for (uint32_t s = 0; s < depth; s++) {
		uint32_t kept = 0;
		for (uint32_t d = 0; d < pipelines; d++)
			kept += !(lost_workers >> (d * depth + s) & 1);
		loss.workers += pipelines - kept;
		loss.keep = kept < loss.keep ? kept : loss.keep;
		loss.stages += kept == 0;
	}
	return loss;
}

/* Enumerates every set of losses. */
static void enumerate(uint32_t pipelines, uint32_t depth, uint32_t j, double *keep, double *lost)
{
	uint32_t workers = pipelines * depth;
	double sets = 0;
	memset(keep, 0, (pipelines + 1) * sizeof *keep);
	memset(lost, 0, (depth + 1) * sizeof *lost);
	for (uint32_t set = 0; set < 1u << workers; set++) {
		struct parcae_loss l = loss_of(pipelines, depth, set);
		if (l.workers != j)
			continue;
		sets++;
		lost[l.stages]++;
		for (uint32_t k = 0; k <= l.keep; k++)
			keep[k]++;
	}
	for (uint32_t k = 0; k <= pipelines; k++)
		keep[k] /= sets;
	for (uint32_t e = 0; e <= depth; e++)
		lost[e] /= sets;
}

static double furthest(const double *a, const double *b, uint32_t n, double far)
{
	for (uint32_t i = 0; i < n; i++)
		far = fmax(far, fabs(a[i] - b[i]));
	return far;
}

static void test_odds(void)
{
	static const uint32_t shape[][2] = { { 3, 4 }, { 4, 3 }, { 2, 6 }, { 6, 2 }, { 1, 5 }, { 5, 1 }, { 1, 1 }, { 7, 2 } };
	double worst = 0, drawn_worst = 0, a[2][MOST_WORKERS + 1], b[2][MOST_WORKERS + 1], c[2][MOST_WORKERS + 1];
	uint32_t draws = getenv("ORR_SANITIZED") ? 1000 : 10000;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
		for (uint32_t d = shape[i][0], p = shape[i][1], j = 0; j <= d * p; j++) {
			enumerate(d, p, j, a[0], a[1]);
			parcae_odds_exact(d, p, j, b[0], b[1]);
			memset(c, 0x41, sizeof c); /* numbers of 2e6; the function must overwrite all that it returns */
			parcae_odds_drawn(d, p, j, draws, 7, c[0], c[1]);
			worst = furthest(a[1], b[1], p + 1, furthest(a[0], b[0], d + 1, worst));
			drawn_worst = furthest(a[1], c[1], p + 1, furthest(a[0], c[0], d + 1, drawn_worst));
		}
	near_to(worst, 0, 1e-12, "exact odds are those of an enumeration of all sets of losses");
	/* The tolerance is 4.5 standard deviations of a share of 1/2, because several hundred shares are compared. */
	printf("# %u draws are off by %.4f at most\n", draws, drawn_worst);
	ok(drawn_worst > 0 && drawn_worst < 4.5 * 0.5 / sqrt(draws), "odds from draws are near the exact ones");
	parcae_odds_drawn(4, 3, 5, 100, 7, a[0], a[1]);
	parcae_odds_drawn(4, 3, 5, 100, 7, b[0], b[1]);
	parcae_odds_drawn(4, 3, 5, 100, 8, c[0], c[1]);
	ok(!memcmp(a[0], b[0], 5 * sizeof(double)) && !memcmp(a[1], b[1], 4 * sizeof(double)), "equal keys draw equal odds");
	ok(memcmp(a[0], c[0], 5 * sizeof(double)) != 0, "different keys draw different odds");
	/* 2 of 5 nodes are lost, 3 of which work: the probability is C(3,1) C(2,1) / C(5,2). */
	near_to(parcae_hit_chance(5, 3, 2, 1), 0.6, 1e-12, "chance that one of two losses hits a worker");
	near_to(parcae_hit_chance(5, 5, 2, 2), 1, 1e-12, "without idle instances both losses hit workers");
	near_to(parcae_hit_chance(5, 3, 4, 1), 0, 0, "four losses with two standby instances: the chance of exactly one lost worker is 0");
}

/* ---- migration costs, by hand from the constants ---- */

static void test_costs(void)
{
	struct parcae_cost gpt = parcae_cost_of(PARCAE_GPT_1P5B, 0), big = parcae_cost_of(PARCAE_GPT_6P7B, 0),
			   bert = parcae_cost_of(PARCAE_BERT, 0), vgg = parcae_cost_of(PARCAE_VGG19, 0),
			   resnet = parcae_cost_of(PARCAE_RESNET152, 0);
	near_to(parcae_p2p_s(100), 140e-6, 1e-12, "a small message: 140 us");
	near_to(parcae_p2p_s(16777216), 18622e-6, 1e-12, "16 MiB as measured");
	near_to(parcae_p2p_s(9 << 20), (1428 + (18622 - 1428) * 8.0 / 15) * 1e-6, 1e-12, "9 MiB: 8/15 of the way from 1 to 16");
	near_to(parcae_stage_bytes(&gpt, 8), 1576.4e6 * 12 / 8, 1e-12, "a stage of eight holds an eighth of the state");
	/* Process groups: 45 groups take 500 ms each plus 35 ms. Also 240 ms; the rendezvous takes 6.6 s; 6 layers take 430 ms each,
	 * and 328.4 MB of an embedding take 0.36947222 s. */
	near_to(parcae_restart_s(&gpt, 4, 8, true), 22.535 + 0.24 + 6.6 + 2.58 + 0.36947222, 1e-8,
		"migration cost of GPT-1.5B, 4x8, with one more instance");
	near_to(parcae_restart_s(&gpt, 4, 8, false), 1.8035 + 0.24 + 2.58 + 0.36947222, 1e-8,
		"migration cost of GPT-1.5B with fewer instances");
	near_to(parcae_intra_s(&gpt, 4, 8), 1.8035 + 0.24, 1e-12, "migration cost of GPT-1.5B within stages");
	/* A stage of 2.3646 GB takes 2.63362739 s. */
	near_to(parcae_inter_s(&gpt, 4, 8, 8, 0, false), 2.63362739 + 4.99297222, 1e-7, "stages are copied at the same time");
	near_to(parcae_inter_s(&gpt, 4, 8, 8, 2, false), 2 * 2.63362739 + 4.99297222, 1e-7, "lost stages come one after the other");
	near_to(parcae_restart_s(&big, 2, 12, false), 39 * 0.1156 + 0.035 + 0.24 + 7.961, 1e-12, "GPT-6.7B, 2x12");
	near_to(parcae_restart_s(&vgg, 16, 2, true), 32 * 0.44 + 0.035 + 0.03 + 8.6, 1e-12, "VGG-19, 16x2");
	near_to(parcae_restart_s(&resnet, 8, 2, true), 2.25 + 0.035 + 0.03 + 9.96, 1e-12, "ResNet-152, 8x2");
	near_to(parcae_restart_s(&bert, 4, 8, false), 1 + 0.035 + 0.03 + 0.531 + 1.221 / 7, 1e-12, "BERT, 4x8");
	near_to(parcae_build_s(&bert, 2), 1.752, 1e-12, "BERT's layers at depth 2 as measured");
	near_to(parcae_cost_of(PARCAE_BERT, 5).parameters, 5, 0, "parameters of the job go before the family's");
}

/* Tests the times of every family against the tables of parcae_cost.h: process groups in ms (pipelines D, depth P), building a stage,
 * starting, and the rendezvous of a migration that adds instances. */
static void test_families(void)
{
	static const struct {
		enum parcae_family family;
		uint32_t d, p;
		double group_ms, adding_ms, build_s, start_s, rendezvous_s;
	} known[] = {
		{ PARCAE_GPT_1P5B, 1, 1, 4 * 39.3, 4 * 500, 0.43 * 48, 0.24, 6.6 },
		{ PARCAE_GPT_1P5B, 3, 5, 24 * 39.3, 24 * 500, 0.43 * 10, 0.24, 6.6 },
		{ PARCAE_GPT_1P5B, 2, 48, 147 * 39.3, 147 * 500, 0.43, 0.24, 6.6 },
		{ PARCAE_GPT_6P7B, 2, 11, 36 * 115.6, 36 * 500, 7.961, 0.24, 8.6 },
		{ PARCAE_GPT_6P7B, 2, 13, 42 * 115.6, 42 * 500, 6.911, 0.24, 8.6 },
		{ PARCAE_GPT_6P7B, 2, 14, 45 * 115.6, 45 * 500, 6.926, 0.24, 8.6 },
		{ PARCAE_GPT_6P7B, 2, 15, 48 * 115.6, 48 * 500, 7.002, 0.24, 8.6 },
		{ PARCAE_GPT_6P7B, 2, 16, 51 * 115.6, 51 * 500, 7.195, 0.24, 8.6 },
		{ PARCAE_GPT_6P7B, 2, 17, 54 * 115.6, 54 * 500, 7.195, 0.24, 8.6 },
		{ PARCAE_BERT, 5, 1, 1000, 1500, 1.752, 0.03, 6.6 },
		{ PARCAE_BERT, 6, 2, 1500, 2250, 1.752, 0.03, 6.6 },
		{ PARCAE_BERT, 11, 4, 1500, 2250, 0.531 + 1.221 * 3 / 7, 0.03, 6.6 },
		{ PARCAE_BERT, 12, 16, 2000, 3000, 0.531, 0.03, 6.6 },
		{ PARCAE_BERT, 20, 32, 2000, 3000, 0.531, 0.03, 6.6 },
		{ PARCAE_VGG19, 4, 3, 12 * 340, 12 * 440, 0, 0.03, 8.6 },
		{ PARCAE_RESNET152, 4, 3, 1000, 1500, 0, 0.03, 9.96 },
	};
	double embedding = parcae_p2p_s(82.1e6 * 4);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct parcae_cost c = parcae_cost_of(known[i].family, 0);
		double build = known[i].build_s + (known[i].family == PARCAE_GPT_1P5B ? embedding : 0);
		double plain = 0.035 + known[i].group_ms / 1e3 + known[i].start_s;
		double added = 0.035 + known[i].adding_ms / 1e3 + known[i].start_s + known[i].rendezvous_s + build;
		bool good = fabs(parcae_build_s(&c, known[i].p) - build) < 1e-9 &&
			    fabs(parcae_intra_s(&c, known[i].d, known[i].p) - plain) < 1e-9 &&
			    fabs(parcae_restart_s(&c, known[i].d, known[i].p, false) - plain - build) < 1e-9 &&
			    fabs(parcae_restart_s(&c, known[i].d, known[i].p, true) - added) < 1e-9;
		ok(good, "%s, %ux%u: groups, start, rendezvous and stages", parcae_family_name[known[i].family], known[i].d, known[i].p);
	}
	static const double parameters[] = { 1576.4e6, 7276.4e6, 340.8e6, 140.01e6, 60.2e6 };
	static const char *const names[] = { "gpt-1.5b", "gpt-6.7b", "bert", "vgg19", "resnet152" };
	for (int f = 0; f < PARCAE_FAMILIES; f++) {
		struct parcae_cost c = parcae_cost_of((enum parcae_family)f, 0);
		near_to(c.parameters / parameters[f], 1, 1e-12, names[f]);
		ok(!strcmp(parcae_family_name[f], names[f]), "name of the family");
		/* For a stage of 2^30 bytes or more, the slope is that of the last two measured sizes. */
		double bytes = parcae_stage_bytes(&c, 2), mib = bytes / 1048576, us = 153551 + (1198256 - 153551) * (mib - 128) / 896;
		near_to(parcae_inter_s(&c, 2, 2, 4, 0, true), us / 1e6 + parcae_restart_s(&c, 2, 2, true), 1e-9, "all stages at once");
		near_to(parcae_inter_s(&c, 2, 2, 2, 3, false), 3 * us / 1e6 + parcae_restart_s(&c, 2, 2, false), 1e-9,
			"three lost stages in turn");
	}
	static const double at[][2] = { { 0, 140 }, { 1024, 140 }, { 1025, 140 + 54 / 64512. }, { 65536, 194 }, { 1048576, 1428 },
		{ 134217728, 153551 }, { 1073741824, 1198256 }, { 2147483648.0, 1198256 + (1198256 - 153551) * 1024 / 896. } };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		near_to(1e6 * parcae_p2p_s(at[i][0]), at[i][1], 1e-9, "time of a message");
}

/* ---- plans ---- */

static const struct parcae_shape shapes[] = { { 1, 2, 2, 10 }, { 1, 3, 3, 14 }, { 2, 2, 4, 19 }, { 2, 3, 6, 27 }, { 3, 2, 6, 28 },
	{ 4, 2, 8, 33 } };
enum { SHAPES = sizeof shapes / sizeof *shapes, PERIODS = 4 };

/* Enumerates every loss of r nodes out of n, of which the first ones work. */
static double enumerate_migration(struct parcae_planner *p, uint32_t from, uint32_t n, uint32_t r, uint32_t to)
{
	const struct parcae_shape *f = &shapes[from];
	double sum = 0, sets = 0;
	for (uint32_t set = 0; set < 1u << n; set++) {
		if ((uint32_t)__builtin_popcount(set) != r)
			continue;
		struct parcae_loss l = loss_of(f->pipelines, f->depth, set & ((1u << f->nodes) - 1));
		sum += parcae_migration_s(p, from, &l, to);
		sets++;
	}
	return sum / sets;
}

static void test_expected_migrations(struct parcae_planner *p)
{
	double worst = 0;
	for (uint32_t from = 0; from < SHAPES; from++)
		for (uint32_t n = shapes[from].nodes; n <= 10; n++)
			for (uint32_t r = 0; r <= n; r++)
				for (uint32_t to = 0; to < SHAPES; to++)
					worst = fmax(
						worst, fabs(parcae_expected_s(p, from, n, r, to) - enumerate_migration(p, from, n, r, to)));
	near_to(worst, 0, 1e-9, "expected migrations are the means over all sets of losses");
	struct parcae_loss one = { 1, 1, 0 }, none = { 0, 2, 0 };
	ok(parcae_migration_kind(p, 3, &none, 3) == PARCAE_NONE && parcae_migration_s(p, 3, &none, 3) == 0,
		"nothing lost, nothing changed: no migration");
	ok(parcae_migration_kind(p, 3, &one, 1) == PARCAE_INTRA, "dropping a pipeline at equal depth is a migration within stages");
	ok(parcae_migration_kind(p, 3, &one, 3) == PARCAE_INTER, "replacing a lost instance by an idle one is a migration between stages");
	ok(parcae_migration_kind(p, 3, &none, 4) == PARCAE_PIPELINE, "a change of depth migrates the whole pipeline");
	ok(parcae_migration_kind(p, SHAPES, &none, 4) == PARCAE_PIPELINE, "the start of training is a migration of the whole pipeline");
}

static double step_worth(
	struct parcae_planner *p, uint32_t from, uint32_t to, const struct parcae_loss *loss, const struct parcae_period *t)
{
	if (to == SHAPES)
		return 0;
	double cost = loss ? parcae_migration_s(p, from, loss, to) : parcae_expected_s(p, from, t[-1].nodes, t->lost, to);
	return shapes[to].rate * (t->length_s - cost);
}

/* Enumerates every sequence of shapes. */
static double best_sequence(struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, const struct parcae_period *t,
	uint32_t left, uint32_t *first)
{
	double best = -INFINITY;
	for (uint32_t to = 0; left && to <= SHAPES; to++) {
		uint32_t ignored;
		if (to < SHAPES && shapes[to].nodes > t->nodes)
			continue;
		double worth = step_worth(p, from, to, loss, t) + best_sequence(p, to, NULL, t + 1, left - 1, &ignored);
		if (worth > best) {
			best = worth;
			*first = to;
		}
	}
	return left ? best : 0;
}

static void test_plans(struct parcae_planner *p)
{
	struct rng rng;
	rng_init(&rng, 6, "plans", 0);
	uint32_t good = 0, same = 0, changes = 0, cases = 200;
	for (uint32_t i = 0; i < cases; i++) {
		struct parcae_period t[PERIODS + 1];
		uint32_t from = (uint32_t)rng_below(&rng, SHAPES + 1), choice, brute;
		uint32_t before = from < SHAPES ? shapes[from].nodes : 0;
		t[0] = (struct parcae_period){ before + (uint32_t)rng_below(&rng, 3), 0, 0 };
		for (uint32_t k = 1; k <= PERIODS; k++) {
			uint32_t lost = (uint32_t)rng_below(&rng, 3);
			lost = lost < t[k - 1].nodes ? lost : t[k - 1].nodes;
			t[k] = (struct parcae_period){ t[k - 1].nodes - lost + (uint32_t)rng_below(&rng, 3), lost,
				5 + 40 * rng_uniform(&rng) };
		}
		struct parcae_loss known = { 1, 0, from < SHAPES && shapes[from].pipelines == 1 };
		const struct parcae_loss *loss = i % 2 && from < SHAPES ? &known : NULL;
		double worth, best = best_sequence(p, from, loss, t + 1, PERIODS, &brute);
		parcae_plan(p, from, loss, t, PERIODS, &choice, &worth);
		good += fabs(worth - best) <= 1e-9 * fmax(1, fabs(best));
		same += choice == brute;
		changes += choice != from;
	}
	ok(good == cases, "the value of a plan equals the best of all sequences: %u of %u", good, cases);
	ok(same >= cases - 2, "plans begin with the shape of the best sequence, except ties within rounding: %u of %u", same, cases);
	ok(changes > cases / 5 && changes < cases - cases / 20,
		"the random cases include plans that keep the shape and plans that change it: %u change", changes);
}

/* Draws periods for a plan. Half of them last 60 s, like the policy's intervals, so that some tails repeat. */
static void draw_periods(struct rng *rng, struct parcae_period *t)
{
	t[0] = (struct parcae_period){ 4 + (uint32_t)rng_below(rng, 3), 0, 0 };
	for (uint32_t k = 1; k <= PERIODS; k++) {
		uint32_t lost = (uint32_t)rng_below(rng, 2);
		t[k] = (struct parcae_period){ t[k - 1].nodes - lost + (uint32_t)rng_below(rng, 2), lost,
			rng_below(rng, 2) ? 60 : 20 + 40 * rng_uniform(rng) };
	}
}

/* Tests that values kept from earlier plans leave new plans unchanged, also after so many different tails that all kept values were
 * dropped. */
static void test_kept_tails(struct parcae_planner *p)
{
	enum { PLANS = 3 * PARCAE_TAILS / PERIODS };
	struct rng rng;
	rng_init(&rng, 7, "tails", 0);
	uint32_t same = 0, dropped = 0, before = p->tails;
	for (uint32_t i = 0; i < PLANS; i++) {
		struct parcae_period t[PERIODS + 1];
		draw_periods(&rng, t);
		uint32_t from = (uint32_t)rng_below(&rng, SHAPES + 1), choice, fresh_choice;
		double worth, fresh_worth;
		p->is_fresh = i % 5 == 0;
		parcae_plan(p, from, NULL, t, PERIODS, &choice, &worth);
		dropped += p->tails < before;
		before = p->tails;
		struct parcae_planner fresh;
		parcae_planner_begin(&fresh, shapes, SHAPES, p->cost);
		fresh.is_fresh = p->is_fresh;
		parcae_plan(&fresh, from, NULL, t, PERIODS, &fresh_choice, &fresh_worth);
		parcae_planner_end(&fresh);
		same += choice == fresh_choice && memcmp(&worth, &fresh_worth, sizeof worth) == 0;
	}
	ok(same == PLANS, "a planner with kept tails makes the plans of a new planner: %u of %u", same, (unsigned)PLANS);
	ok(dropped >= 1, "the tails were dropped %u times", dropped);
}

/* Tests the rule of the throughput-optimal baseline: the first shape with the highest rate. */
static void test_fastest(void)
{
	static const struct parcae_shape ties[] = { { 1, 4, 4, 7 }, { 2, 2, 4, 9 }, { 4, 1, 4, 9 }, { 3, 2, 6, 8 } };
	ok(parcae_fastest(ties, 4, 6) == 1, "of two equally fast shapes the first is taken");
	ok(parcae_fastest(ties, 4, 3) == 4, "no shape is taken if none fits");
	ok(parcae_fastest(ties, 1, 4) == 0, "a shape that needs all instances is taken");
}

int main(void)
{
	test_maximum_likelihood();
	test_closed_forms();
	test_cleaning_and_limits();
	test_odds();
	test_costs();
	test_families();
	struct parcae_planner p;
	parcae_planner_begin(&p, shapes, SHAPES, parcae_cost_of(PARCAE_BERT, 0));
	test_expected_migrations(&p);
	test_plans(&p);
	test_kept_tails(&p);
	parcae_planner_end(&p);
	test_fastest();
	return done();
}
