/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accuracy and epochs of the graph network by staleness bound, with default options (4,000 vertices, 6 classes) and 16 drifting chunks on
 * 4 servers. Each seed has its own graph, start and schedule.
 *
 * For S = 0, 1, 2 the accuracy must be within 0.5 points of that of synchronous training, and an accuracy within one point of the best of
 * the run must be reached in at most 10 % more epochs. The default is 2 seeds. ORRERY_SEEDS=20 adds intervals and takes two minutes.
 */
#include "tests/learn/gcn_drive.h"
#include "tests/tap.h"

#include "results/estimate.h"

enum { MOST_SEEDS = 100 };

/* Returns the first epoch, interpolated linearly, with an accuracy within one point of the best. */
static double epochs_to_best(const struct learn_point *p, size_t n)
{
	double best = 0;
	for (size_t i = 0; i < n; i++)
		best = fmax(best, p[i].accuracy);
	for (size_t i = 1; i < n; i++)
		if (p[i].accuracy >= best - 0.01)
			return (double)i - (p[i].accuracy - best + 0.01) / (p[i].accuracy - p[i - 1].accuracy);
	return 0;
}

int main(void)
{
	static double accuracy[4][MOST_SEEDS], epochs[4][MOST_SEEDS];
	const char *given = getenv("ORRERY_SEEDS");
	size_t seeds = given && atoi(given) > 0 && atoi(given) <= MOST_SEEDS ? (size_t)atoi(given) : 2;
	for (int bound = GCN_SYNCHRONOUS; bound <= 2; bound++) {
		double weights = 0, ghosts = 0, sum[2] = { 0 };
		for (size_t k = 0; k < seeds; k++) {
			struct learn_config c;
			struct orr_error err = { 0 };
			learn_config_default(&c);
			c.problem = LEARN_GCN;
			c.seed = c.data_seed = k + 1;
			struct gcn_drive d = { .l = learn_new(&c, &err),
				.chunks = 16,
				.servers = 4,
				.weight_servers = 1,
				.bound = bound,
				.epochs = (uint32_t)c.epochs + 2 };
			gcn_drive_run(&d, k + 1);
			size_t n;
			const struct learn_point *p = learn_series(d.l, &n);
			accuracy[bound + 1][k] = p[n - 1].accuracy;
			epochs[bound + 1][k] = epochs_to_best(p, n);
			sum[0] += p[n - 1].accuracy / (double)seeds;
			sum[1] += epochs[bound + 1][k] / (double)seeds;
			weights += learn_staleness(d.l) / (double)seeds;
			ghosts += learn_ghost_staleness(d.l) / (double)seeds;
			learn_free(d.l);
		}
		printf("# S %d: accuracy %.4f, %.2f epochs, weights %.2f steps old, ghosts %.2f epochs old\n", bound, sum[0], sum[1],
			weights, ghosts);
		if (bound < 0)
			continue;
		struct interval points = estimate_difference(accuracy[bound + 1], accuracy[0], seeds, 0.95);
		struct interval ratio = estimate_ratio(epochs[bound + 1], epochs[0], seeds, 0.95);
		if (isfinite(points.low) && isfinite(ratio.low))
			printf("# S %d, 95 %% intervals: accuracy %+.3f to %+.3f points, epochs %+.1f to %+.1f %%\n", bound,
				100 * points.low, 100 * points.high, 100 * (ratio.low - 1), 100 * (ratio.high - 1));
		ok(fabs(points.mean) <= 0.005, "S %d: accuracy within 0.5 points of synchronous training: %+.3f points", bound,
			100 * points.mean);
		ok(ratio.mean <= 1.1, "S %d: at most 10 %% more epochs: %+.1f %%", bound, 100 * (ratio.mean - 1));
	}
	ok(!drive_errors, "no call failed");
	return done();
}
