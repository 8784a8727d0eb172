/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Varuna: a job changes its shape with the available instances ("job morphing"). It is checkpointed and restarted at the
 * fastest (pipelines, depth) on these instances, with the same global batch.
 *
 * rules=clean: with a lost worker, the step in flight and all steps since the last complete checkpoint are lost; the job
 * restarts at the best shape for the remaining instances. After a notice the steps are saved if time allows: steps continue
 * while one more step and a checkpoint fit (if the step in flight does not fit, it is stopped and the steps before it are
 * saved); then the job restarts without the instances that were given notice. New instances are included, by checkpoint and
 * restart, if this completes more steps before the next expected loss. Checkpoints are written one at a time, in the background
 * or while training is paused.
 *
 * rules=artifact: as in the simulation of Oobleck's authors (varuna_artifact.h).
 *
 * Sources: Athlur et al., "Varuna", EuroSys 2022; microsoft/varuna; SymbioticLab/Oobleck, branch sosp23-artifact.
 */
#include <orrery/spot.h>

#include <math.h>

#include "morph.h"
#include "varuna_artifact.h"

static const struct orr_param params[] = { ORR_PARAM_CHOICE("rules", "clean", "clean|artifact",
						   "Varuna's mechanism, or the rules of the Oobleck artifact's simulator"),
	ORR_PARAM_INT("ckpt_steps", "10", 1, 1000, "steps between checkpoints"),
	ORR_PARAM_TIME("ckpt_time", "0",
		"clean: time to write a checkpoint (0: the job's value, or computed from the size of its state and the storage)"),
	ORR_PARAM_TIME("restart_time", "0",
		"clean: time of a restart (0: the job's value minus the time of a checkpoint; without such a value, setup plus the time to "
		"read the state)"),
	ORR_PARAM_TIME("setup", "30s", "clean: time for rendezvous and start of workers, if the job gives no restart time"),
	ORR_PARAM_BOOL("background", true, "clean: steps continue while a checkpoint is written"),
	ORR_PARAM_BOOL("on_notice", true, "clean: a notice causes a checkpoint that saves the steps"),
	ORR_PARAM_CHOICE("absorb", "worth", "worth|at-loss|at-once",
		"clean: new instances are included when their inclusion pays off, at the next loss, or at the end of the step"),
	ORR_PARAM_TIME("horizon", "0", "clean: time within which including new instances must pay off (0: time so far / (losses + 1))"),
	VARUNA_ARTIFACT_PARAMS, ORR_PARAM_END };

enum phase { WAITING, RESTARTING, RUNNING, SAVING };
enum { TAG_RESTARTED = 1, TAG_SAVED, TAG_WRITTEN, TAG_HEED };

struct varuna {
	struct varuna_artifact *artifact; /* rules=artifact: the fields below are unused */

	uint64_t every;
	int64_t ckpt_ns, restart_ns, setup_ns, horizon_ns;
	bool background, on_notice;
	char absorb; /* 'w'orth, at-'l'oss, at-'o'nce */
	int restart_curve;
	uint64_t job_steps; /* 0: no end */

	struct shapes shapes;
	enum phase phase;
	struct shape shape;
	orr_inst *usable; /* ready, without notice */
	uint32_t cap;
	uint64_t timer; /* timer at the end of the state RESTARTING or SAVING */
	uint64_t heed;  /* timer at the latest time to act on a notice; 0: none */
	int64_t heed_at;
	uint64_t writer,
		written; /* background: timer of the checkpoint in progress (0: none), and the number of steps that this checkpoint saves */
	uint64_t since;  /* number of steps since the start of the last checkpoint */
	uint64_t last_done; /* orr_steps_done() when `since` was computed */
	bool has_state;     /* a checkpoint for a restart exists */
	bool is_lost;       /* the restart is due to a loss */
	bool restarts;      /* decide() restarts the job */
	bool morphs;        /* the job restarts after this checkpoint */
	bool looks;         /* an instance became ready: check whether its inclusion pays off */
	uint64_t losses;
};

/* ---- times ---- */

static int64_t seconds(double s)
{
	return llround(s * 1e9);
}

static int64_t ckpt_time(const struct varuna *v, struct orr_spot *w)
{
	double figure = orr_figure(w, "varuna.checkpoint_s");
	if (v->ckpt_ns)
		return v->ckpt_ns;
	return isnan(figure) ? orr_checkpoint_time(w, v->shape.nodes) : seconds(figure);
}

/* Returns the time of a restart. The job's own times of a restart include a checkpoint. */
static int64_t restart_time(const struct varuna *v, struct orr_spot *w, uint32_t nodes)
{
	double figure = v->restart_curve >= 0 ? orr_curve_at(w, v->restart_curve, nodes) : orr_figure(w, "varuna.restart_s");
	double first = orr_figure(w, "varuna.first_restart_s"), ckpt = orr_figure(w, "varuna.checkpoint_s");
	if (!v->has_state && !isnan(first))
		figure = first;
	if (v->restart_ns)
		return v->restart_ns;
	if (!isnan(figure))
		return seconds(isnan(ckpt) || ckpt > figure ? figure : figure - ckpt);
	return v->setup_ns + (v->has_state ? orr_checkpoint_time(w, nodes) : 0);
}

/* ---- shapes ---- */

static uint32_t find_usable(struct varuna *v, struct orr_spot *w)
{
	uint32_t n = 0, live = orr_inst_live(w);
	if (live > v->cap) {
		v->cap = 2 * live;
		v->usable = orr_realloc(v->usable, v->cap, sizeof *v->usable);
	}
	for (orr_inst i = orr_inst_first(w); i; i = orr_inst_next(w, i))
		if (orr_inst_is_ready(w, i) && !orr_inst_is_noticed(w, i))
			v->usable[n++] = i;
	return n;
}

static void forget_writer(struct varuna *v, struct orr_spot *w)
{
	if (v->writer)
		orr_spot_cancel(w, v->writer);
	v->writer = 0;
}

static void forget_heed(struct varuna *v, struct orr_spot *w)
{
	if (v->heed)
		orr_spot_cancel(w, v->heed);
	v->heed = 0;
}

static void restart(struct varuna *v, struct orr_spot *w)
{
	if (v->phase == RESTARTING)
		orr_spot_cancel(w, v->timer);
	uint32_t n = find_usable(v, w);
	v->shape = *shape_for(&v->shapes, n);
	v->morphs = v->restarts = v->looks = false;
	forget_heed(v, w);
	if (!v->shape.step_ns) {
		orr_layout(w, 0, 0, NULL);
		v->phase = WAITING;
		return;
	}
	orr_layout(w, v->shape.pipelines, v->shape.depth, v->usable);
	orr_pause_as(w, v->is_lost && v->has_state ? ORR_RESTART : ORR_RECONFIGURE);
	v->phase = RESTARTING;
	v->timer = orr_spot_timer(w, orr_spot_now(w) + restart_time(v, w, v->shape.nodes), 0, TAG_RESTARTED);
	orr_spot_event(w, "layout", "%ux%u", v->shape.pipelines, v->shape.depth);
}

/* ---- checkpoints ---- */

static void note_steps(struct varuna *v, struct orr_spot *w)
{
	uint64_t done = orr_steps_done(w);
	v->since += done - v->last_done;
	v->last_done = done;
}

static void run_on(struct varuna *v, struct orr_spot *w)
{
	v->phase = RUNNING;
	v->last_done = orr_steps_done(w);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = v->shape.step_ns, .most = v->since < v->every ? v->every - v->since : 1 });
}

static void save(struct varuna *v, struct orr_spot *w)
{
	forget_writer(v, w);
	v->since = 0;
	v->phase = SAVING;
	orr_pause_as(w, ORR_CHECKPOINT);
	v->timer = orr_spot_timer(w, orr_spot_now(w) + ckpt_time(v, w), 0, TAG_SAVED);
}

/* Saves the steps by that time; the job then restarts without the instances given notice. */
static void save_by(struct varuna *v, struct orr_spot *w, int64_t latest)
{
	int64_t ends;
	forget_heed(v, w);
	v->morphs = true;
	v->losses++;
	orr_spot_count(w, "notice_saves", 1);
	if (v->phase == SAVING || !orr_steps_in_flight(w, NULL, &ends))
		return;
	if (ends <= latest) {
		orr_steps_last(w);
		return;
	}
	orr_steps_stop(w);
	save(v, w);
}

/* Handles the end of a run of steps: a checkpoint is due, the job is done, or a notice requires a checkpoint. */
static void varuna_steps(void *self, struct orr_spot *w)
{
	struct varuna *v = self;
	if (v->artifact) {
		varuna_artifact_steps(v->artifact, w);
		return;
	}
	note_steps(v, w);
	if (v->morphs || !v->background || (v->job_steps && v->last_done >= v->job_steps)) {
		save(v, w);
		return;
	}
	if (!v->writer && v->since >= v->every) {
		v->since = 0;
		v->written = orr_steps_uncommitted(w);
		v->writer = orr_spot_timer(w, orr_spot_now(w) + ckpt_time(v, w), 0, TAG_WRITTEN);
	}
	run_on(v, w);
}

static void varuna_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	struct varuna *v = self;
	if (v->artifact) {
		varuna_artifact_timer(v->artifact, w, tag);
		return;
	}
	if (tag == TAG_WRITTEN) {
		v->writer = 0;
		v->has_state = true;
		orr_commit(w, v->written);
		return;
	}
	if (tag == TAG_HEED) {
		v->heed = 0;
		if (!v->morphs && (v->phase == RUNNING || v->phase == SAVING))
			save_by(v, w, orr_spot_now(w) + v->shape.step_ns);
		return;
	}
	if (tag == TAG_SAVED) {
		v->has_state = true;
		orr_commit(w, orr_steps_uncommitted(w));
	}
	if (tag == TAG_SAVED && v->morphs) {
		restart(v, w);
		return;
	}
	v->looks = true;
	v->is_lost = false;
	run_on(v, w);
}

/* ---- instances ---- */

/* Handles the end of a worker: the steps since the last checkpoint are lost. */
static void lose(struct varuna *v, struct orr_spot *w)
{
	orr_steps_stop(w);
	forget_writer(v, w);
	if (v->phase == SAVING || v->phase == RESTARTING)
		orr_spot_cancel(w, v->timer);
	orr_lose(w, orr_steps_uncommitted(w));
	orr_layout(w, 0, 0, NULL);
	orr_pause_as(w, ORR_RESTART);
	v->phase = WAITING;
	v->since = 0;
	v->is_lost = v->restarts = true;
	v->losses++;
	orr_spot_count(w, "restarts", 1);
}

/* Handles a notice. Steps continue while one more step fits before the end, so that several notices share one checkpoint. The checkpoint
 * must be complete before the removal, which precedes timers of its instant. */
static void heed(struct varuna *v, struct orr_spot *w, orr_inst i)
{
	struct orr_inst_info info;
	if (!v->on_notice || !orr_inst_get(w, i, &info) || !info.stages)
		return;
	if (v->phase == RESTARTING)
		v->restarts = true; /* restart without the instance, from the same checkpoint */
	int64_t now = orr_spot_now(w), latest = info.goes_ns - 1 - ckpt_time(v, w), at = latest - v->shape.step_ns;
	if (latest < now || v->morphs || (v->phase != RUNNING && v->phase != SAVING))
		return;
	if (at <= now) {
		save_by(v, w, latest);
	} else if (!v->heed || at < v->heed_at) {
		forget_heed(v, w);
		v->heed_at = at;
		v->heed = orr_spot_timer(w, at, 0, TAG_HEED);
	}
}

static void varuna_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct varuna *v = self;
	if (v->artifact)
		varuna_artifact_instance(v->artifact, w, i, event);
	else if (event == ORR_INST_READY)
		v->looks = true;
	else if (event == ORR_INST_NOTICE)
		heed(v, w, i);
	else if (event == ORR_INST_GONE && orr_ownerless(w))
		lose(v, w);
}

static bool is_worth(const struct varuna *v, struct orr_spot *w, const struct shape *s)
{
	if (s->step_ns >= v->shape.step_ns || v->absorb == 'l')
		return false;
	int64_t pause = ckpt_time(v, w) + restart_time(v, w, s->nodes);
	int64_t horizon = v->horizon_ns ? v->horizon_ns : orr_spot_now(w) / (int64_t)(v->losses + 1);
	return v->absorb == 'o' || morph_is_worth(v->shape.step_ns, s->step_ns, pause, horizon);
}

static void varuna_decide(void *self, struct orr_spot *w)
{
	struct varuna *v = self;
	if (v->artifact || (!v->looks && !v->restarts))
		return;
	if (v->restarts || v->phase == WAITING) {
		restart(v, w);
	} else if (v->phase == RUNNING && !v->morphs) {
		v->looks = false;
		struct shape s = *shape_for(&v->shapes, find_usable(v, w));
		v->morphs = is_worth(v, w, &s);
		if (!v->morphs)
			return;
		orr_spot_count(w, "morphs", 1);
		orr_steps_last(w);
	}
}

/* ---- the object ---- */

static void varuna_free(void *self)
{
	struct varuna *v = self;
	if (!v)
		return;
	varuna_artifact_free(v->artifact);
	shapes_end(&v->shapes);
	orr_free(v->usable);
	orr_free(v);
}

static int make_clean(struct varuna *v, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	v->every = (uint64_t)orr_arg_int(args, "ckpt_steps");
	v->ckpt_ns = orr_arg_time_ns(args, "ckpt_time");
	v->restart_ns = orr_arg_time_ns(args, "restart_time");
	v->setup_ns = orr_arg_time_ns(args, "setup");
	v->horizon_ns = orr_arg_time_ns(args, "horizon");
	v->background = orr_arg_bool(args, "background");
	v->on_notice = orr_arg_bool(args, "on_notice");
	v->absorb = orr_arg_text(args, "absorb")[0] == 'w' ? 'w' : orr_arg_text(args, "absorb")[3];
	v->restart_curve = orr_curve_find(w, "varuna.restart_s");
	v->job_steps = job.steps;
	orr_steps_are_provisional(w);
	orr_spot_count(w, "restarts", 0);
	orr_spot_count(w, "morphs", 0);
	orr_spot_count(w, "notice_saves", 0);
	return morph_begin(&v->shapes, w, "varuna", err);
}

static void *varuna_create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct varuna *v = orr_alloc(1, sizeof *v);
	bool ok;
	if (orr_arg_text(args, "rules")[0] == 'a') {
		v->artifact = varuna_artifact_new(w, args, err);
		ok = v->artifact;
	} else {
		ok = !make_clean(v, w, args, err);
	}
	if (ok)
		return v;
	varuna_free(v);
	return NULL;
}

static void varuna_end(void *self, struct orr_spot *w)
{
	struct varuna *v = self;
	if (v->artifact)
		varuna_artifact_end(v->artifact, w);
}

static const struct orr_spot_ops ops = {
	.create = varuna_create,
	.destroy = varuna_free,
	.instance = varuna_instance,
	.timer = varuna_timer,
	.steps = varuna_steps,
	.decide = varuna_decide,
	.end = varuna_end,
};

ORR_POLICY_SPOT(varuna, "job morphing: checkpoint and restart at the fastest shape for the available instances (Varuna)", params, ops);
