/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fleet_run.h - runs of the serving world under a policy that logs its calls
 *
 * Each replica serves its own requests in order, one at a time.
 */
#ifndef ORR_TESTS_FLEET_RUN_H
#define ORR_TESTS_FLEET_RUN_H

#include <orrery/serve.h>

#include "results/result.h"
#include "serve/serve.h"

#include "tests/tap.h"

/* A call of the policy. */
struct probe_event {
	char what; /* 'a' for arrive, 'f' finish, 'u' up, 'd' draining, 'x' down */
	double at_s;
	uint64_t number; /* number of the request */
	uint32_t replica;
	int how;
};
struct probe {
	struct probe_event *event;
	size_t n, cap;
	/* Called in each arrive() and schedule(); NULL: no call. */
	void (*seen)(struct orr_serve *w, char what, uint64_t subject);
	bool naps;   /* flag: the policy starts nothing in the first second of every ten */
	bool sleeps; /* flag: the policy starts nothing */
};
extern struct probe probe;                                                  /* log of the current run */
extern const struct orr_policy fleet_probe_policy, fleet_probe_busy_policy; /* the second policy claims to be work-conserving */

struct fleet_case {
	const char *requests;  /* rows of orrery's CSV with a header, or Mooncake's JSON lines; or a generator */
	const char *models[4]; /* JSON texts */
	struct serve_deployment deployment[4];
	const char *cluster;   /* "4x1" */
	const char *options;   /* "name=value name=value" */
	const char *failures;  /* CSV */
	double mtbf_s, mttr_s; /* failures by a hazard; 0: by the file */
	const double *usd_per_gpu_hour;
	const struct orr_policy *policy; /* NULL: the probe */
	const char *settings;
	double memory_bytes; /* bytes of memory of each GPU; 0: unknown */
	double until_s;      /* end of the run, s; 0: none */
	uint64_t seed, replication, max_rows;
	bool no_check;
	/* Replaces serve_run(), for a shared clock; NULL: serve_run(). */
	int (*drive)(const struct serve_config *c, const struct orr_policy *policy, const struct orr_args *args, struct run_result *r,
		struct orr_error *err);
};

/* Returns NULL if the run failed; *err is then filled in. Names in rows are NULL. */
struct run_result *fleet_run(const struct fleet_case *c, struct orr_error *err);
double fleet_metric(const struct run_result *r, const char *name); /* Returns the value of a metric, or NAN if the run lacks it. */

/* Calls fleet_run(); an error is a failed test. */
__attribute__((unused)) static struct run_result *fleet_must_run(const struct fleet_case *c, const char *what)
{
	struct orr_error err;
	struct run_result *r = fleet_run(c, &err);
	if (!r)
		ok(false, "%s: %s", what, err.text);
	return r;
}

#endif
