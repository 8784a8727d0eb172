/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "artifact.h"

#include <math.h>

enum { MEMBERS_TO_RUN = 12 }; /* coordinates as in Bamboo's simulator, with pipelines of 12 stages */

int artifact_init(struct artifact *a, struct orr_spot *w, const struct orr_args *args, const char *curve, struct orr_error *err)
{
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	*a = (struct artifact){ .batch = job.samples_per_step, .first_ns = -1 };
	a->rdv.keeps_timers = orr_arg_bool(args, "compat_timers");
	a->steps_in_pause = orr_arg_bool(args, "steps_in_pause");
	a->pause_account = ORR_RECONFIGURE;
	a->curve = orr_curve_find(w, curve);
	if (a->curve < 0)
		return orr_fail(err, ORR_EINPUT,
			"rules=artifact: job %s lacks a table: expected a curve \"%s\" (samples per second by nodes)", job.name, curve);
	orr_spot_count(w, "artifact_effective_s", 0);
	orr_spot_count(w, "artifact_rendezvous_s", 0);
	orr_spot_count(w, "artifact_checkpoint_s", 0);
	orr_spot_count(w, "artifact_fallback_s", 0);
	return 0;
}

void artifact_free(struct artifact *a)
{
	rdv_free(&a->rdv);
}

/* Adds the run's steps that have ended by t to the totals; returns their number. */
static uint64_t sync_at(struct artifact *a, int64_t t)
{
	if (!a->has_run)
		return 0;
	uint64_t n = (uint64_t)((t - a->run_ns) / a->step_ns) - a->run_steps;
	a->run_steps += n;
	a->steps += n;
	a->effective_s += (double)n * (double)a->step_ns / 1e9;
	if (n)
		a->last_ns = a->run_ns + (int64_t)a->run_steps * a->step_ns;
	return n;
}

uint64_t artifact_sync(struct artifact *a, struct orr_spot *w)
{
	int64_t began;
	bool in_flight = orr_steps_in_flight(w, &began, NULL);
	uint64_t n = sync_at(a, in_flight ? began : orr_spot_now(w));
	a->has_run = a->has_run && in_flight;
	return n;
}

uint64_t artifact_sync_end(struct artifact *a, struct orr_spot *w)
{
	return sync_at(a, orr_spot_now(w) - 1);
}

static void stop(struct artifact *a, struct orr_spot *w)
{
	if (a->has_run)
		a->effective_s += (double)a->step_ns / 1e9;
	a->has_run = false;
	orr_steps_stop(w);
}

void artifact_gather(struct artifact *a, struct orr_spot *w, int64_t length_ns)
{
	if (!a->steps_in_pause)
		stop(a, w);
	orr_pause_as(w, a->pause_account);
	a->rdv.length_ns[RDV_GLOBAL] = length_ns;
	a->rendezvous_s += (double)length_ns / 1e9;
	rdv_start(&a->rdv, w, RDV_GLOBAL);
}

bool artifact_fires(struct artifact *a, struct orr_spot *w, uint64_t tag)
{
	if (!rdv_fires(&a->rdv, w, tag))
		return false;
	stop(a, w);
	if (a->first_ns < 0)
		a->first_ns = orr_spot_now(w);
	uint32_t n = a->rdv.n_members;
	bool runs = n >= MEMBERS_TO_RUN;
	if (runs) {
		double rate = orr_curve_at(w, a->curve, n);
		a->step_ns = rate > 0 ? (int64_t)(1000 * a->batch / rate) * 1000000 : 0;
		orr_layout(w, 1, n, a->rdv.member);
	} else {
		orr_layout(w, 0, 0, NULL);
		orr_pause_as(w, ORR_IDLE);
	}
	rdv_settle(&a->rdv, w, runs, 0);
	return runs;
}

void artifact_run(struct artifact *a, struct orr_spot *w, uint64_t most)
{
	if (!a->step_ns)
		return;
	orr_steps_run(w, &(struct orr_steps){
				 .step_ns = a->step_ns,
				 .most = most,
				 .flags = a->steps_in_pause ? ORR_STEPS_ORPHANED : 0,
			 });
	a->has_run = true;
	a->run_ns = orr_spot_now(w);
	a->run_steps = 0;
}

void artifact_report(struct artifact *a, struct orr_spot *w)
{
	if (a->has_run)
		a->effective_s += (double)a->step_ns / 1e9;
	orr_spot_count(w, "artifact_effective_s", a->effective_s);
	orr_spot_count(w, "artifact_rendezvous_s", a->rendezvous_s);
	orr_spot_count(w, "artifact_checkpoint_s", a->checkpoint_s);
	orr_spot_count(w, "artifact_fallback_s", a->fallback_s);
	double kept = (double)(a->steps - a->lost) * a->batch;
	orr_spot_report(w, "artifact_samples_per_s", a->last_ns > 0 ? kept / ((double)(a->last_ns - a->first_ns) / 1e9) : 0);
}
