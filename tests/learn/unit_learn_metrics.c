/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics and series of a learner over seeds, computed by hand. */
#include "learn/train.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

static double value(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

/* Returns a seed without values for the metrics that only some problems have. */
static struct train_seed seed_of(struct learn_point *point, size_t n, double time_s, double samples, double loss)
{
	return (struct train_seed){ .time_s = time_s,
		.samples = samples,
		.final_loss = loss,
		.worst = NAN,
		.accuracy = NAN,
		.ghost_staleness = NAN,
		.point = point,
		.n_points = n };
}

static void metrics(void)
{
	struct learn_point one_seed[] = { { .time_s = 0, .loss = 1 }, { .time_s = 4, .loss = 0.75 }, { .time_s = 4, .loss = 0.6 },
		{ .time_s = 10, .loss = 0.5 } };
	struct learn_point other_seed[] = { { .time_s = 0, .loss = 3 }, { .time_s = 20, .loss = 1 } };
	struct train_seed seed[] = { seed_of(one_seed, 4, 10, 100, 0.5), seed_of(other_seed, 2, 20, 300, 1) };
	seed[0].dispersion = 2, seed[0].staleness = 3;
	seed[1].dispersion = 4, seed[1].staleness = 6;
	struct train_result t = { .seed = seed,
		.n_seeds = 2,
		.reached = 1,
		.target = NAN,
		.floor = 0.125,
		.time_to_target_s = { NAN, NAN, NAN },
		.samples_to_target = { NAN, NAN, NAN },
		.final_loss = { 0.75, 0.5, 1 },
		.samples_per_s = { 12.5, 10, 15 },
		.accuracy = { NAN, NAN, NAN },
		.best_accuracy = { NAN, NAN, NAN },
		.epochs_within = { NAN, NAN, NAN },
		.time_within_s = { NAN, NAN, NAN },
		.final_loss_sd = 0.25 };
	struct run_result *r = result_new();
	train_metrics(&t, r);
	near_to(value(r, "learn_samples"), 200, 0, "samples are a mean over seeds");
	near_to(value(r, "dispersion"), 3, 0, "the dispersion is a mean over seeds");
	near_to(value(r, "staleness"), 4.5, 0, "the staleness is a mean over seeds");
	near_to(value(r, "seeds"), 2, 0, "seeds");
	near_to(value(r, "seeds_reached"), 1, 0, "seeds that reached the target");
	near_to(value(r, "least_loss"), 0.125, 0, "the least loss");
	near_to(value(r, "final_loss_sd"), 0.25, 0, "the deviation of the final loss");
	const struct metric *m = result_find(r, "learn_samples_per_s");
	ok(m && m->value == 12.5 && m->ci_low == 10 && m->ci_high == 15, "throughput with its interval");
	ok(!result_find(r, "time_to_target_s") && !result_find(r, "samples_to_target") && !result_find(r, "target_loss") &&
			!result_find(r, "worst_replica_loss"),
		"unknown values are left out");
	const struct series *s = r->series;
	ok(r->n_series == 1 && s->n == 201 && !strcmp(s->name, "loss") && s->time_ns[0] == 0 && s->time_ns[200] == 10000000000,
		"a series of losses until the first seed ends, at 10 s");
	near_to(s->value[0], 2, 1e-15, "the mean of both starts");
	near_to(s->value[40], (0.875 + 2.8) / 2, 1e-12, "at 2 s: on the line between points");
	near_to(s->value[80], (0.6 + 2.6) / 2, 1e-12, "at 4 s: the last point of an instant");
	near_to(s->value[140], (0.55 + 2.3) / 2, 1e-12, "at 7 s");
	near_to(s->value[200], (0.5 + 2) / 2, 1e-12, "at 10 s");
	result_free(r);
	seed[0].final_loss = NAN;
	r = result_new();
	train_metrics(&t, r);
	ok(!r->n_series && !result_find(r, "accuracy") && !result_find(r, "ghost_staleness"), "a problem without a loss has no series");
	result_free(r);
	one_seed[0].accuracy = 0.2;
	one_seed[1].accuracy = one_seed[2].accuracy = one_seed[3].accuracy = 0.8;
	other_seed[0].accuracy = 0.4;
	other_seed[1].accuracy = 0.8;
	seed[0].accuracy = seed[1].accuracy = 0.8;
	seed[0].ghost_staleness = 0.25;
	seed[1].ghost_staleness = 0.75;
	t.accuracy = (struct interval){ 0.8, 0.7, 0.9 };
	t.best_accuracy = (struct interval){ 0.85, 0.8, 0.9 };
	t.epochs_within = (struct interval){ 30, 20, 40 };
	t.time_within_s = (struct interval){ 3, 2, 4 };
	r = result_new();
	train_metrics(&t, r);
	m = result_find(r, "accuracy");
	ok(m && m->value == 0.8 && m->ci_low == 0.7 && m->ci_high == 0.9, "accuracy with its interval");
	ok(value(r, "best_accuracy") == 0.85 && value(r, "epochs_to_best") == 30 && value(r, "time_to_best_s") == 3,
		"the best accuracy, epochs and time to a point below it");
	near_to(value(r, "ghost_staleness"), 0.5, 0, "the staleness of ghosts is a mean over seeds");
	ok(r->n_series == 1 && !strcmp(r->series->name, "accuracy") && fabs(r->series->value[40] - (0.5 + 0.44) / 2) < 1e-12,
		"a series of accuracies, at 2 s on the lines between points");
	result_free(r);
}

int main(void)
{
	metrics();
	return done();
}
