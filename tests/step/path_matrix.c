/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Critical paths under every step policy. For every iteration of each run:
 *
 *	- the parts follow one another and add up to the time of the iteration, to the ns; no part is without a named cause;
 *	- the run has the same result without paths.
 *
 * For runs of one iteration, the causes are confirmed by reruns. With twice the bandwidth between nodes, an iteration whose path has
 * communication between nodes takes less time; otherwise it takes the same time. With twice the speed of a GPU on the path, the
 * iteration takes less time. Each gain is at most half of the blamed time. Exceptions, of which the test states the number: a faster op
 * changes the order or the sharing of later messages (Graham, SIAM J. Appl. Math. 17, 1969).
 */
#include "results/parts.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include <stdlib.h>

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/step/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/step/policies.def"
	NULL
};

enum { MOST_COMPLAINTS = 5, MOST_GPUS = 8 };
static unsigned runs, iterations, parts, complaints;

static void complain(const struct orr_policy *p, const char *cluster, const char *setting, const char *what, double got, double want)
{
	if (complaints++ < MOST_COMPLAINTS)
		printf("# %s %s %s: %s: %.17g, %.17g\n", p->name, cluster, setting, what, got, want);
}

static const char *model_of(const struct orr_policy *p, bool has_blocks)
{
	return !strcmp(p->name, "dorylus")           ? "gcn:vertices=400,edges=3000,widths=16-8-4"
	       : !strcmp(p->name, "expert_parallel") ? "moe:hidden=32,layers=2,heads=4,seq=16,vocab=64,experts=30,top_k=2,width=16"
	       : has_blocks                          ? "bert_base_s128"
						     : "lenet5";
}

static bool same_iterations(const struct step_result *a, const struct step_result *b)
{
	bool same = a->n_iterations == b->n_iterations && a->flows == b->flows && a->iteration_s == b->iteration_s;
	for (size_t i = 0; same && i < a->n_iterations; i++)
		same = a->iteration[i].start_s == b->iteration[i].start_s && a->iteration[i].end_s == b->iteration[i].end_s;
	return same;
}

/* Checks the parts of each iteration; an iteration without duration has none. */
static void check_sums(
	const struct orr_policy *p, const char *cluster, const char *setting, const struct step_result *r, const struct run_result *rows)
{
	size_t at = 0;
	for (size_t k = 0; k < r->n_iterations; k++) {
		if (isnan(r->iteration[k].end_s))
			continue;
		int64_t begin = llround(r->iteration[k].start_s * 1e9), end = llround(r->iteration[k].end_s * 1e9), now = begin;
		for (; at < rows->n_parts && rows->parts[at].subject == k; at++) {
			if (rows->parts[at].begin_ns != now || rows->parts[at].end_ns <= now)
				complain(p, cluster, setting, "a gap or an overlap", (double)rows->parts[at].begin_ns, (double)now);
			if (!strcmp(rows->parts[at].kind, "unnamed"))
				complain(p, cluster, setting, "a part without cause", (double)k, 0);
			now = rows->parts[at].end_ns;
			parts++;
		}
		if (now != end)
			complain(p, cluster, setting, "the sum of the parts", (double)now, (double)end);
		iterations++;
	}
	if (at != rows->n_parts)
		complain(p, cluster, setting, "parts of other iterations", (double)at, (double)rows->n_parts);
}

static void try_setting(const struct orr_policy *p, const char *cluster, bool has_blocks, const char *setting)
{
	struct step_result with, without;
	struct orr_error e = { 0 };
	struct fixture *f = fixture_new(cluster, "racks:oversubscription=2", model_of(p, has_blocks), 4);
	const char *own = !strcmp(p->name, "context_parallel") ? "cp=2" : ""; /* 128 tokens are not divisible by 6 GPUs */
	fixture_set(f, "iterations=12");
	fixture_set(f, setting);
	if (!fixture_run(f, p, own, &without, &e)) {
		struct run_result *rows = result_new();
		f->config.paths = true;
		if (fixture_run(f, p, own, &with, &e)) {
			complain(p, cluster, setting, e.text, 0, 0);
		} else {
			runs++;
			if (!same_iterations(&with, &without))
				complain(p, cluster, setting, "the result with paths", with.iteration_s, without.iteration_s);
			path_parts(with.paths, rows);
			part_rows_form(rows);
			check_sums(p, cluster, setting, &with, rows);
			step_result_free(&with);
		}
		result_free(rows);
		step_result_free(&without);
	}
	fixture_free(f);
}

/* ---- causes, confirmed by reruns ---- */

/* beyond: gains above half of the blamed time, because other messages leave the links of those on the path earlier too. */
static unsigned confirmed, refuted, beyond;

static void judge(const struct orr_policy *p, const char *cluster, const char *what, double gain, double blamed)
{
	double rounding = 1e-6 * blamed + 1e-8;
	bool is_sign = blamed > 1e-8 ? gain > 1e-9 : fabs(gain) <= 1e-8;
	if (is_sign)
		confirmed++;
	else
		refuted++;
	beyond += is_sign && gain > blamed / 2 + rounding;
	if (!is_sign && refuted < 4)
		printf("# %s %s: %s: saves %.9g s of %.9g s blamed\n", p->name, cluster, what, gain, blamed);
}

/* Returns the time of the first iteration, or NAN. */
static double time_of(const struct orr_policy *p, const char *cluster, const char *network, bool has_blocks, const char *setting,
	double *comm, double *on)
{
	struct step_result r;
	struct orr_error e = { 0 };
	double time = NAN;
	struct fixture *f = fixture_new(cluster, network, model_of(p, has_blocks), 4);
	fixture_set(f, "iterations=1");
	fixture_set(f, "stragglers=lognormal"); /* else several GPUs end last, and one of them alone delays nothing */
	fixture_set(f, setting);
	f->config.paths = comm != NULL;
	if (!fixture_run(f, p, !strcmp(p->name, "ako") ? "partitions=4" : "", &r, &e)) {
		struct run_result *rows = result_new();
		time = r.iteration[0].end_s - r.iteration[0].start_s;
		path_parts(r.paths, rows);
		part_rows_form(rows);
		for (size_t i = 0; i < rows->n_parts; i++) {
			const struct part_row *x = &rows->parts[i];
			const char *gpu = strstr(x->cause, " on GPU ");
			double seconds = (double)(x->end_ns - x->begin_ns) / 1e9;
			if (!strcmp(x->kind, "communication") && strstr(x->cause, " over host")) /* not inside a node */
				*comm += seconds;
			else if (!strcmp(x->kind, "compute") && gpu && atoi(gpu + 8) < MOST_GPUS)
				on[atoi(gpu + 8)] += seconds;
		}
		result_free(rows);
		step_result_free(&r);
	}
	fixture_free(f);
	return time;
}

static void confirm(const struct orr_policy *p, const char *cluster, bool has_blocks, double Gbps)
{
	char slow[60], fast[60], setting[60];
	double comm = 0, on[MOST_GPUS] = { 0 };
	snprintf(slow, sizeof slow, "star:bw=%gGbps,lat=0", Gbps);
	snprintf(fast, sizeof fast, "star:bw=%gGbps,lat=0", 2 * Gbps);
	double time = time_of(p, cluster, slow, has_blocks, "merge=off", &comm, on);
	if (isnan(time))
		return;
	judge(p, cluster, "twice the bandwidth", time - time_of(p, cluster, fast, has_blocks, "merge=off", NULL, NULL), comm);
	for (int g = 0; g < MOST_GPUS; g++) {
		if (!(on[g] > 1e-8))
			continue;
		snprintf(setting, sizeof setting, "speeds=%d:2", g);
		judge(p, cluster, setting, time - time_of(p, cluster, slow, has_blocks, setting, NULL, NULL), on[g]);
	}
}

int main(void)
{
	static const char *const clusters[] = { "1x1:v100", "4x1:v100", "3x2:v100" };
	static const char *const settings[] = { "exact=false", "exact=true", "merge=off", "fidelity=analytic", "stragglers=lognormal",
		"contention_p=0.5", "compression=topk:density=0.01,compress_Bps=1e9" };
	for (const struct orr_policy *const *p = policies; *p; p++) {
		if (strcmp((*p)->kind, "step") != 0 || !strcmp((*p)->name, "graph") || !strcmp((*p)->name, "given_order") ||
			!strncmp((*p)->name, "congestion_", 11)) /* these policies need a file */
			continue;
		complaints = runs = iterations = parts = 0;
		for (int blocks = 0; blocks < 2; blocks++)
			for (size_t c = blocks ? 2 : 0; c < sizeof clusters / sizeof *clusters; c++)
				for (size_t i = 0; i < (blocks ? 3 : sizeof settings / sizeof *settings); i++)
					try_setting(*p, clusters[c], blocks, settings[i]);
		ok(!complaints && runs, "%s: %u runs, %u iterations, %u parts, %u wrong", (*p)->name, runs, iterations, parts, complaints);
	}
	for (const struct orr_policy *const *p = policies; *p; p++)
		if (!strcmp((*p)->kind, "step") && strcmp((*p)->name, "graph") != 0 && strcmp((*p)->name, "given_order") != 0 &&
			strncmp((*p)->name, "congestion_", 11) != 0)
			for (int blocks = 0; blocks < 2; blocks++)
				for (double Gbps = blocks ? 100 : 1; Gbps < 2000; Gbps *= 10) {
					confirm(*p, "4x1:v100", blocks, Gbps);
					confirm(*p, "2x2:v100", blocks, Gbps);
				}
	ok(confirmed > 200 && refuted * 50 < confirmed && beyond * 20 < confirmed,
		"%u causes confirmed by reruns, %u refuted; %u gains exceed half of the blamed time", confirmed, refuted, beyond);
	return done();
}
