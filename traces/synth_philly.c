/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * synth_philly.c - a month like Microsoft's Philly list (2017)
 *
 * Fitted to the processed list of 82,247 jobs (docs/traces.md compares them). The model includes:
 *  - gaps: a renewal process with the measured distribution of gaps, which is
 *    bursty (half below 8 s, a tenth above 361 s);
 *  - cron: 4.8 % of the gaps are 599-601 s, and nearly all jobs after them are
 *    short one-GPU jobs of one virtual cluster, from a script that submits again and again;
 *  - virtual clusters: their shares, and runs of one cluster (a submission comes
 *    from the cluster of the previous one with probability 0.79);
 *  - GPUs given the virtual cluster, durations given the number of GPUs.
 * It omits the time of day and users.
 */
#include "traces/draw.h"
#include "traces/generator.h"

#include "base/num.h"

#include <math.h>

/* Gaps in seconds, without the cron gaps. */
static const struct quantile gaps[] = { { 0, 0 }, { 0.05, 0.01 }, { 0.1, 1 }, { 0.2, 2 }, { 0.3, 3 }, { 0.4, 5 }, { 0.5, 7 }, { 0.6, 12 },
	{ 0.7, 20 }, { 0.75, 29 }, { 0.8, 54 }, { 0.85, 116 }, { 0.9, 218 }, { 0.95, 380 }, { 0.97, 478 }, { 0.99, 598 }, { 0.995, 763.6 },
	{ 0.999, 2423.6 }, { 0.9999, 60925.4 }, { 1, 247199 } };

static const struct quantile cron_durations[] = { { 0, 15 }, { 0.01, 53 }, { 0.05, 57 }, { 0.1, 60 }, { 0.25, 64 }, { 0.5, 69 },
	{ 0.75, 74 }, { 0.9, 84 }, { 0.95, 107 }, { 0.97, 139 }, { 0.99, 1155 }, { 0.995, 1512 }, { 0.999, 14517 }, { 0.9999, 35609 },
	{ 1, 43447 } };

static const struct quantile one_gpu[] = { { 0, 1 }, { 0.01, 29 }, { 0.05, 52 }, { 0.1, 63 }, { 0.2, 103 }, { 0.25, 192 }, { 0.3, 325 },
	{ 0.4, 742 }, { 0.5, 1280 }, { 0.6, 1885 }, { 0.7, 2543 }, { 0.75, 2810 }, { 0.8, 3994 }, { 0.85, 5532 }, { 0.9, 8959 },
	{ 0.95, 20540 }, { 0.97, 47940 }, { 0.99, 142297 }, { 0.995, 281379 }, { 0.999, 893493 }, { 0.9999, 2633105 }, { 1, 3256045 } };

static const struct quantile few_gpus[] = { { 0, 2 }, { 0.01, 6 }, { 0.05, 11 }, { 0.1, 15 }, { 0.2, 19 }, { 0.25, 21 }, { 0.3, 25 },
	{ 0.4, 85 }, { 0.5, 367 }, { 0.6, 5581 }, { 0.7, 25476 }, { 0.75, 45447 }, { 0.8, 79264 }, { 0.85, 100034 }, { 0.9, 166142 },
	{ 0.95, 233266 }, { 0.97, 348294 }, { 0.99, 747349 }, { 0.995, 1122958 }, { 0.999, 2171959 }, { 0.9999, 2710468 }, { 1, 2750674 } };

static const struct quantile eight_gpus[] = { { 0, 1 }, { 0.01, 33 }, { 0.05, 125 }, { 0.1, 217 }, { 0.2, 797 }, { 0.25, 1886 },
	{ 0.3, 4075 }, { 0.4, 12392 }, { 0.5, 23683 }, { 0.6, 65536 }, { 0.7, 140768 }, { 0.75, 173268 }, { 0.8, 203095 }, { 0.85, 242266 },
	{ 0.9, 352195 }, { 0.95, 525625 }, { 0.97, 668052 }, { 0.99, 1060651 }, { 0.995, 2000693 }, { 0.999, 2656483 }, { 0.9999, 4305041 },
	{ 1, 4628226 } };

static const struct quantile many_gpus[] = { { 0, 1 }, { 0.01, 4 }, { 0.05, 35 }, { 0.1, 72 }, { 0.2, 345 }, { 0.25, 566 }, { 0.3, 890 },
	{ 0.4, 3167 }, { 0.5, 21137 }, { 0.6, 53750 }, { 0.7, 73311 }, { 0.75, 104218 }, { 0.8, 158991 }, { 0.85, 181582 }, { 0.9, 247972 },
	{ 0.95, 443240 }, { 0.97, 515350 }, { 0.99, 922629 }, { 0.995, 1274181 }, { 0.999, 1612502 }, { 1, 1710643 } };

static const struct quantile *const durations[] = { one_gpu, few_gpus, eight_gpus, many_gpus };
enum { N_CLASSES = 4 };

/* Sizes within a class: jobs of the list without cron jobs. */
static const uint32_t sizes[N_CLASSES][7] = { { 1 }, { 2, 4 }, { 8 }, { 12, 16, 24, 32, 64, 128 } };
static const double size_weight[N_CLASSES][7] = { { 1, -1 }, { 1817, 1869, -1 }, { 1, -1 }, { 7, 199, 7, 67, 6, 3, -1 } };

static const char *const clusters[] = { "6214e9", "11cb48", "6c71a0", "b436b2", "103959", "ee9e8c", "0e4a51", "ed69ec", "7f04ca", "2869ce",
	"e13805", "23dbec", "51b7ef", "795a4c", "925e2b", NULL };
enum { CRON_CLUSTER = 1 };
static const double cluster_weight[] = { 41226, 12123, 9953, 7423, 1933, 1510, 1435, 1137, 723, 421, 374, 8, 4, 3, 3, -1 };
/* Number of jobs by class for each cluster. */
static const double class_weight[][N_CLASSES + 1] = { { 40841, 194, 191, 0, -1 }, { 10640, 1454, 10, 19, -1 }, { 9054, 433, 455, 11, -1 },
	{ 7237, 75, 51, 60, -1 }, { 1570, 363, 0, 0, -1 }, { 597, 374, 420, 119, -1 }, { 1090, 345, 0, 0, -1 }, { 1137, 0, 0, 0, -1 },
	{ 204, 329, 179, 11, -1 }, { 64, 14, 292, 51, -1 }, { 215, 105, 36, 18, -1 }, { 2, 0, 6, 0, -1 }, { 4, 0, 0, 0, -1 },
	{ 3, 0, 0, 0, -1 }, { 1, 0, 2, 0, -1 } };

/* Cron gaps: 3971 of 82246. STICK makes consecutive jobs share their cluster with
 * probability stick + (1 - stick) x (sum of squared shares, 0.32) = 0.79. */
#define CRON 0.04828
#define STICK 0.70

struct philly {
	struct rng arrivals, service, mix;
	size_t cluster;
	double load;
	int64_t now_ns, end_ns;
	bool has_end, has_begun;
};

static const struct orr_param params[] = { ORR_PARAM_REAL("days", "30", 0, 36500, "length of the trace in days; 0: determined by n"),
	GENERATOR_PARAM_N("0"), ORR_PARAM_REAL("load", "1", 1e-3, 1e3, "divisor of all gaps: 2 doubles the jobs per day"),
	GENERATOR_PARAM_TRAINING, ORR_PARAM_END };

static bool ends(const struct orr_args *args)
{
	return orr_arg_real(args, "days") > 0;
}

static void start(void *state, const void *args, uint64_t seed, uint64_t index)
{
	struct philly *p = state;
	rng_init(&p->arrivals, seed, "arrivals", index);
	rng_init(&p->service, seed, "service", index);
	rng_init(&p->mix, seed, "mix", index);
	p->load = orr_arg_real(args, "load");
	p->has_end = ends(args);
	p->end_ns = draw_to_ns(orr_arg_real(args, "days") * 86400);
	p->cluster = draw_index(&p->mix, cluster_weight);
}

static void draw_job(struct philly *p, struct job_rec *row)
{
	if (rng_uniform(&p->mix) >= STICK)
		p->cluster = draw_index(&p->mix, cluster_weight);
	size_t class = draw_index(&p->mix, class_weight[p->cluster]);
	row->queue = (uint32_t)p->cluster + 1;
	row->gpus = sizes[class][draw_index(&p->mix, size_weight[class])];
	row->duration_ns = draw_to_ns(round(draw_quantile(&p->service, durations[class])));
}

static bool next(void *state, struct job_rec *row)
{
	struct philly *p = state;
	bool is_cron = rng_uniform(&p->arrivals) < CRON;
	double gap = is_cron ? 599 + (double)rng_below(&p->arrivals, 3) : round(draw_quantile(&p->arrivals, gaps));
	if (p->has_begun)
		p->now_ns = num_add_sat(p->now_ns, draw_to_ns(gap / p->load));
	p->has_begun = true;
	if (p->has_end && p->now_ns > p->end_ns)
		return false;
	row->submit_ns = p->now_ns;
	if (!is_cron) {
		draw_job(p, row);
		return true;
	}
	row->queue = CRON_CLUSTER + 1;
	row->duration_ns = draw_to_ns(round(draw_quantile(&p->service, cron_durations)));
	return true;
}

const struct generator generator_philly = {
	.name = "philly-like",
	.doc = "a month with the statistics of Microsoft Philly 2017: bursts, cron-like repeats, 15 virtual clusters",
	.params = params,
	.names = clusters,
	.state_size = sizeof(struct philly),
	.ends_by_itself = ends,
	.start = start,
	.next = next,
};
