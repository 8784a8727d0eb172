/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every step policy with every choice of every parameter, on clusters of one GPU and more. A run ends or names an error,
 * and these properties hold for each run:
 *
 *	- a device's accounts (work, exposed, bubble, idle) add up to the iteration, 1e-9;
 *	- merged lanes agree with separate lanes, 1e-9;
 *	- extrapolation agrees with simulation, 1e-9;
 *	- --check finds no error;
 *	- more bandwidth for all links slows nothing down. (Exception: Ako chooses p; where the bandwidth just suffices for
 *	  fewer slices, p falls by one and messages take all of the NIC. So it is run with p given. ByteScheduler's ops run in
 *	  the order in which they become ready, and such lists have anomalies (Graham, SIAM J. Appl. Math. 17, 1969): 5e-6 of
 *	  the time was observed. ZB, ZB-V, V-Half and V-Min choose among orders for the time of a message, with the same anomalies,
 *	  up to 7 %; they are run with this time given.)
 *
 * Expected values come from the compared run only.
 */
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

enum { ITERATIONS = 24, TAIL = 4, MOST_COMPLAINTS = 3 };

static unsigned runs, refused, complaints;

static void complain(const char *of, const char *cluster, const char *model, const char *setting, const char *how, double got, double want)
{
	if (complaints++ < MOST_COMPLAINTS)
		printf("# %s %s %s %s: %s: %.17g, %.17g\n", of, cluster, model, setting, how, got, want);
}

static bool near(double a, double b, double scale)
{
	return fabs(a - b) <= 1e-9 * fabs(scale);
}

struct what {
	const struct orr_policy *p;
	const char *cluster, *model, *setting;
	struct fixture *f;
};

static void check_accounts(const struct what *w, const struct step_result *r, const char *how)
{
	for (size_t i = 0; i < r->n_devices; i++) {
		const struct step_device *d = &r->device[i];
		double sum = d->compute_s + d->optimizer_s + d->codec_s + d->exposed_s + d->bubble_s + d->idle_s;
		if (!near(sum, r->iteration_s, r->iteration_s))
			complain(w->p->name, w->cluster, w->model, w->setting, how, sum, r->iteration_s);
	}
}

/* Returns false, and prints the reason, if the run is refused. */
static bool run(const struct what *w, const char *a, const char *b, struct step_result *r)
{
	struct orr_error e = { 0 };
	fixture_set(w->f, a);
	fixture_set(w->f, b);
	int rc = fixture_run(w->f, w->p, w->setting, r, &e);
	runs++;
	refused += rc != 0;
	if (rc && (rc != ORR_EINPUT || strlen(e.text) < 10)) {
		complain(w->p->name, w->cluster, w->model, w->setting, e.text, rc, ORR_EINPUT);
	} else if (!rc) {
		check_accounts(w, r, a);
		if (!(r->iteration_s > 0) || !(r->samples_per_s > 0) || r->n_iterations != ITERATIONS)
			complain(w->p->name, w->cluster, w->model, w->setting, "no rate", r->iteration_s, r->samples_per_s);
	}
	return !rc;
}

static bool compare_ends(const struct what *w, const struct step_result *a, const struct step_result *b, size_t n, const char *how)
{
	double end = a->iteration[ITERATIONS - 1].end_s;
	for (size_t i = 0; i < n; i++)
		if (!near(a->iteration[i].end_s, b->iteration[i].end_s, end)) {
			complain(w->p->name, w->cluster, w->model, w->setting, how, a->iteration[i].end_s, b->iteration[i].end_s);
			return false;
		}
	return true;
}

static void compare(const struct what *w, const struct step_result *a, const struct step_result *b, const char *how)
{
	double end = a->iteration[ITERATIONS - 1].end_s;
	if (!compare_ends(w, a, b, ITERATIONS, how))
		return;
	if (!near(a->samples_per_s, b->samples_per_s, a->samples_per_s))
		complain(w->p->name, w->cluster, w->model, w->setting, how, a->samples_per_s, b->samples_per_s);
	for (size_t i = 0; i < a->n_devices && i < b->n_devices; i++)
		if (!near(a->device[i].exposed_s, b->device[i].exposed_s, end) || a->device[i].device != b->device[i].device ||
			!near(a->device[i].sent_bytes, b->device[i].sent_bytes, a->device[i].sent_bytes) ||
			!near(a->device[i].peak_memory_bytes, b->device[i].peak_memory_bytes, a->device[i].peak_memory_bytes)) {
			complain(w->p->name, w->cluster, w->model, w->setting, how, a->device[i].exposed_s, b->device[i].exposed_s);
			return;
		}
	if (a->n_devices != b->n_devices)
		complain(w->p->name, w->cluster, w->model, w->setting, how, (double)a->n_devices, (double)b->n_devices);
}

static void run_all(const struct what *w, bool is_deep)
{
	static const char *const fidelity[] = { "fidelity=flow", "fidelity=analytic" };
	for (int i = 0; i < 2; i++) {
		struct step_result merged, single, exact;
		fixture_set(w->f, fidelity[i]);
		if (!run(w, "merge=auto", "exact=false", &merged))
			continue;
		if (merged.was_merged && run(w, "merge=off", "exact=false", &single)) {
			compare(w, &merged, &single, i ? "merged, analytic" : "merged");
			step_result_free(&single);
		}
		if (is_deep && merged.period && run(w, "merge=auto", "exact=true", &exact)) {
			/* The last iterations are excluded, because no later messages share the network with theirs. */
			compare_ends(w, &merged, &exact, ITERATIONS - TAIL, i ? "extrapolated, analytic" : "extrapolated");
			step_result_free(&exact);
		}
		step_result_free(&merged);
	}
}

/* Tries the defaults, then each parameter with each choice or with some small numbers, the other parameters having their defaults. */
static void all_settings(struct what *w, bool is_deep)
{
	char text[256];
	w->setting = "";
	run_all(w, is_deep);
	w->setting = text;
	for (const struct orr_param *x = w->p->params; x->name; x++) {
		if (x->kind == ORR_KIND_CHOICE) {
			for (const char *c = x->choices; c && *c; c += strcspn(c, "|"), c += *c == '|') {
				snprintf(text, sizeof text, "%s=%.*s", x->name, (int)strcspn(c, "|"), c);
				if (strncmp(c, x->def, strcspn(c, "|")) || x->def[strcspn(c, "|")])
					run_all(w, is_deep);
			}
		} else if (x->kind == ORR_KIND_BOOL) {
			snprintf(text, sizeof text, "%s=%s", x->name, !strcmp(x->def, "true") ? "false" : "true");
			run_all(w, is_deep);
		} else if (x->kind == ORR_KIND_INT) {
			for (int n = 1; n <= 3; n++) {
				snprintf(text, sizeof text, "%s=%d", x->name, n);
				run_all(w, is_deep);
			}
		}
	}
	w->setting = "";
}

/* Returns the only kind of model that the policy accepts; NULL: any. */
static const char *own_model(const struct orr_policy *p)
{
	return !strcmp(p->name, "dorylus")           ? "gcn:vertices=400,edges=3000,widths=16-8-4"
	       : !strcmp(p->name, "expert_parallel") ? "moe:hidden=32,layers=2,heads=4,seq=16,vocab=64,experts=30,top_k=2,width=16"
						     : NULL;
}

static const char *model_of(const struct orr_policy *p, const char *model)
{
	return own_model(p) ? own_model(p) : model;
}

/* Returns whether the policy chooses among orders for the time of a message. */
static bool chooses_order(const struct orr_policy *p)
{
	static const char *const name[] = { "zb", "zb_v", "v_half", "v_min" };
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (!strcmp(p->name, name[i]))
			return true;
	return false;
}

static void more_bandwidth(const struct orr_policy *p, const char *cluster)
{
	bool needs_blocks = !strcmp(p->name, "tensor_parallel") || !strcmp(p->name, "megatron");
	double before = 0, tolerance = !strcmp(p->name, "bytescheduler") ? 1e-4 : 1e-9;
	bool can = true;
	for (unsigned i = 1; i <= 24 && can; i++) {
		char network[64];
		struct step_result r;
		struct orr_error e = { 0 };
		snprintf(network, sizeof network, "star:bw=%gGbps", i * (1 + i / 6.0));
		struct fixture *f = fixture_new(cluster, network, model_of(p, needs_blocks ? "bert_base_s128" : "lenet5"), 4);
		can = !fixture_run(f, p, !strcmp(p->name, "ako") ? "partitions=4" : chooses_order(p) ? "hop_s=1e-6" : "", &r, &e);
		if (can && r.samples_per_s < before * (1 - tolerance))
			complain(p->name, cluster, network, "", "more bandwidth", r.samples_per_s, before);
		before = can ? r.samples_per_s : 0;
		if (can)
			step_result_free(&r);
		fixture_free(f);
	}
}

int main(void)
{
	static const char *const clusters[] = { "1x1:v100", "1x4:v100", "4x1:v100", "3x2:v100", "5x1:v100:racks=2" };
	static const char *const models[] = { "lenet5", "bert_base_s128" };
	bool is_slow = getenv("ORR_SANITIZED") != NULL;
	for (const struct orr_policy *const *p = policies; *p; p++) {
		/* These policies need a file (tests/step/unit_graph.c, tests/step/zero_bubble.sh, tests/step/chakra_cli.sh). */
		if (strcmp((*p)->kind, "step") != 0 || !strcmp((*p)->name, "graph") || !strcmp((*p)->name, "given_order") ||
			!strncmp((*p)->name, "congestion_", 11))
			continue;
		complaints = runs = refused = 0;
		bool needs_blocks = !strcmp((*p)->name, "context_parallel"); /* refuses the first model, which is no transformer */
		for (int m = is_slow && needs_blocks; m < (is_slow && !needs_blocks ? 1 : own_model(*p) ? 1 : 2); m++)
			for (size_t c = 0; c < sizeof clusters / sizeof *clusters; c++) {
				const char *model = model_of(*p, models[m]);
				struct what w = { *p, clusters[c], model, "",
					fixture_new(clusters[c], "racks:oversubscription=2", model, 4) };
				fixture_set(w.f, "iterations=24");
				if (m && c != 3)
					run_all(&w, true);
				else
					all_settings(&w, !m);
				fixture_free(w.f);
			}
		more_bandwidth(*p, "4x1:v100");
		more_bandwidth(*p, "3x2:v100");
		ok(!complaints && runs > refused, "%s: %u runs, %u refused, %u wrong", (*p)->name, runs, refused, complaints);
	}
	return done();
}
