/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_jobs_speeds.c - speeds by GPU type: identities of the class mean and of draws, stated speeds, notes, and refusals */
#include "base/mem.h"
#include "cluster/cluster.h"
#include "jobs/type_speed.h"
#include "tests/tap.h"

#define MEAN UINT32_MAX

static struct orr_error err;

struct made {
	struct cluster *cluster;
	struct type_speeds *speeds;
};

static struct made make(const char *cluster, const char *reference, const char *profile)
{
	struct made m = { .cluster = cluster_load(cluster, &err) };
	err = (struct orr_error){ 0 };
	struct type_speed_config c = {
		.cluster = m.cluster, .reference = reference, .profile = profile, .precision = PRECISION_FP32, .batch = 32, .seed = 7
	};
	m.speeds = m.cluster ? type_speeds_new(&c, &err) : NULL;
	return m;
}

static void made_free(struct made *m)
{
	type_speeds_free(m->speeds);
	cluster_free(m->cluster);
}

static void says(const struct type_speeds *s, const char *want, const char *what)
{
	char *text = s ? type_speeds_say(s) : NULL;
	ok(text && !strncmp(text, want, strlen(want)), "%s", what);
	if (!text || strncmp(text, want, strlen(want)))
		printf("# %s\n", text ? text : err.text);
	mem_free(text);
}

/* ---- without a reference ---- */

static void test_stated(void)
{
	struct made m = make("1x1:v100,1x1:k80", "", "auto");
	ok(m.speeds && type_speed_of(m.speeds, NULL, MEAN, 0) == 1 && type_speed_of(m.speeds, NULL, MEAN, 1) == 1 &&
			!type_speeds_has_class(m.speeds),
		"without a reference every speed is 1");
	says(m.speeds, "a job takes its recorded duration on every GPU type (jobs.reference_type scales it)", "which is said");
	ok(type_speeds_model(m.speeds, "resnet50") == MEAN, "and no model is in a class");
	made_free(&m);
	m = make("1x1:v100,1x1:a:speed=2.5,1x1:b:speed=0.5", "", "auto");
	ok(m.speeds && type_speed_of(m.speeds, NULL, MEAN, 0) == 1 && type_speed_of(m.speeds, NULL, MEAN, 1) == 2.5 &&
			type_speed_of(m.speeds, NULL, 3, 2) == 0.5,
		"stated speeds");
	says(m.speeds, "a job takes its recorded duration on GPU types without a stated speed; v100 1; a 2.5 (stated); b 0.5 (stated)",
		"stated speeds are listed");
	struct type_draw *d = type_draw_new(m.speeds, 1, &err);
	ok(d && type_draw_model(d, 5) == MEAN && type_speed_of(m.speeds, d, MEAN, 1) == 2.5, "draws change nothing without a class");
	type_draw_free(d);
	made_free(&m);
}

/* ---- the class ---- */

/* Returns the number of models in the class: models of the catalogue have ascending numbers. */
static uint32_t count_models(const struct type_draw *d)
{
	uint32_t most = 0;
	for (uint64_t job = 0; job < 20000; job++) {
		uint32_t m = type_draw_model(d, job);
		most = m > most ? m : most;
	}
	return most + 1;
}

static void test_class(void)
{
	struct made m = make("1x1:k80,1x1:v100,1x1:x:speed=4", "v100", "none"), back = make("1x1:v100,1x1:k80", "k80", "none");
	if (!ok(m.speeds && back.speeds && type_speeds_has_class(m.speeds), "k80 relative to v100"))
		return;
	struct type_draw *d = type_draw_new(m.speeds, 1, &err);
	uint32_t n = count_models(d), model = type_speeds_model(m.speeds, "resnet50_v1");
	double log_sum = 0, worst = 0;
	for (uint32_t i = 0; i < n; i++) {
		double rate = type_speed_of(m.speeds, NULL, i, 0);
		log_sum += log(rate);
		worst = fmax(worst, fabs(rate * type_speed_of(back.speeds, NULL, i, 0) - 1));
	}
	ok(n > 30 && model < n && type_speeds_model(m.speeds, "no such model") == MEAN, "%u models, resnet50_v1 among them", n);
	near_to(type_speed_of(m.speeds, NULL, MEAN, 0), exp(log_sum / n), 1e-12, "the class mean is the geometric mean over models");
	ok(worst < 1e-12, "the other way round each speed is the inverse");
	double of_one = type_speed_of(m.speeds, NULL, model, 0);
	ok(of_one < 1 && of_one > 0.02 && of_one != type_speed_of(m.speeds, NULL, MEAN, 0), "a model has its own speed (%g)", of_one);
	ok(type_speed_of(m.speeds, NULL, MEAN, 1) == 1 && type_speed_of(m.speeds, NULL, model, 1) == 1, "the reference has speed 1");
	ok(type_speed_of(m.speeds, NULL, MEAN, 2) == 4 && type_speed_of(m.speeds, NULL, model, 2) == 4, "a stated speed goes first");
	char want[200];
	snprintf(want, sizeof want,
		"recorded durations refer to v100; k80 %.3g (class mean, 10 to 90 %% of models: ", type_speed_of(m.speeds, NULL, MEAN, 0));
	says(m.speeds, want, "the class mean is said");
	char *text = type_speeds_say(m.speeds);
	snprintf(want, sizeof want,
		"; v100 1; x 4 (stated); class: step times of %u models of the catalogue on one GPU by the cost model, fp32, batch 32", n);
	ok(strstr(text, want), "and the other types, and the class");
	mem_free(text);
	const char *device, *profile;
	bool has[5] = { false };
	for (uint32_t i = 0; i < 5; i++)
		has[i] = type_speeds_input(m.speeds, i, &device, &profile) && *device && !*profile;
	ok(has[0] && !has[1] && !has[2] && has[3] && !type_speeds_input(m.speeds, 4, &device, &profile),
		"devices of the class are inputs, last the reference");
	type_draw_free(d);
	made_free(&m);
	made_free(&back);
}

/* Draws of the models of jobs are uniform, and depend on the job and the sample only. */
static void test_draws(void)
{
	enum { JOBS = 20000 };
	struct made m = make("1x1:k80", "v100", "none");
	struct type_draw *a = type_draw_new(m.speeds, 1, &err), *b = type_draw_new(m.speeds, 2, &err),
			 *c = type_draw_new(m.speeds, 1, &err);
	uint32_t n = count_models(a), equal = 0, same = 0, count[2000] = { 0 }, odd = 0;
	for (uint64_t job = 0; job < JOBS; job++) {
		uint32_t i = type_draw_model(a, job);
		equal += i == type_draw_model(c, job);
		same += i == type_draw_model(b, job);
		count[i % 2000]++;
	}
	double mean = (double)JOBS / n;
	for (uint32_t i = 0; i < n; i++)
		odd += fabs(count[i] - mean) > 5 * sqrt(mean);
	ok(equal == JOBS, "equal samples draw equal models");
	ok(same < 3 * mean, "other samples draw other models (%u of %d are equal)", same, JOBS);
	ok(odd == 0, "every model is drawn equally often");
	ok(type_speed_of(m.speeds, a, 3, 0) == type_speed_of(m.speeds, NULL, 3, 0), "without a profile, no law is drawn");
	type_draw_free(a);
	type_draw_free(b);
	type_draw_free(c);
	made_free(&m);
}

/* ---- refusals ---- */

static void refused(const char *cluster, const char *reference, const char *profile, const char *want)
{
	struct made m = make(cluster, reference, profile);
	if (!ok(!m.speeds && strstr(err.text, want), "refused: %s", want))
		printf("# %s\n", m.speeds ? "accepted" : err.text);
	made_free(&m);
}

int main(void)
{
	test_stated();
	test_class();
	test_draws();
	refused("1x1:v100", "v10", "auto", "jobs.reference_type: unknown device \"v10\"");
	refused("1x1:gpu", "v100", "auto", "jobs.reference_type=v100: the speed of GPU type \"gpu\" relative to the reference is unknown");
	refused("1x1:v100,1x1:banana", "v100", "auto", "the speed of GPU type \"banana\" relative to the reference is unknown");
	refused("1x1:k80", "v100", "no-such-profile", "no-such-profile");
	return done();
}
