/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Oobleck: pipelines of several depths, from templates made in advance. Together they hold at least f + 1 copies of the model's
 * state, so that up to f simultaneous losses need no checkpoint.
 *
 * rules=clean: with a lost worker, the iteration in flight is lost. The remaining nodes form new pipelines from the templates,
 * by the fastest plan (templates.h); each node copies the layers that it lacks from other nodes (parts.h). If the nodes do not
 * suffice for f + 1 pipelines, the job waits. If some layer has no live copy, the job falls back to its last checkpoint, which
 * is written in the background. A node given notice is excluded at the end of the step. New instances are included if this
 * completes more steps before the next expected loss.
 *
 * A job without step times by shape but with a curve "oobleck" over nodes runs at the rate of the curve; a copy of the state is then
 * assumed to survive every loss.
 *
 * rules=artifact: as in the authors' simulation (artifact.h), every removal starts a rendezvous of the length of a
 * reconfiguration, new instances wait for the next one, and only the step in flight at its end is lost.
 *
 * Sources: Jang et al., "Oobleck", SOSP 2023; SymbioticLab/Oobleck, branch sosp23-artifact.
 */
#include <orrery/spot.h>

#include <math.h>

#include "artifact.h"
#include "parts.h"
#include "morph.h"
#include "templates.h"

static const struct orr_param params[] = { ORR_PARAM_CHOICE("rules", "clean", "clean|artifact",
						   "Oobleck's mechanism, or the rules of its artifact's simulator"),
	ORR_PARAM_INT("f", "1", 0, 15, "clean: number of simultaneous losses, f, that need no checkpoint: at least f + 1 pipelines run"),
	ORR_PARAM_INT("min_nodes", "0", 0, 256, "clean: nodes of the smallest template (0: the job's smallest depth)"),
	ORR_PARAM_INT("max_nodes", "0", 0, 256, "clean: nodes of the largest template (0: the job's largest depth)"),
	ORR_PARAM_TIME("reconfigure_time", "0", "reconfiguration time (0: the job's value, or setup and copying)"),
	ORR_PARAM_TIME("setup", "2s", "clean: time to set up groups and executors, if the job gives no reconfiguration time"),
	ORR_PARAM_REAL("node_Bps", "1.25e9", 1, 1e13, "clean: bytes per second at which a node copies missing layers"),
	ORR_PARAM_TIME("ckpt_interval", "1h", "clean: time between background checkpoints (0: no checkpoints)"),
	ORR_PARAM_BOOL("on_notice", true, "clean: a node given notice is excluded at the end of the step"),
	ORR_PARAM_CHOICE("absorb", "worth", "worth|at-loss|at-once",
		"clean: new instances are included when their inclusion pays off, at the next loss, or at the end of the step"),
	ORR_PARAM_TIME("horizon", "0", "clean: time within which including new instances must pay off (0: time so far / (losses + 1))"),
	ARTIFACT_PARAMS, ORR_PARAM_END };

enum phase { WAITING, RECONFIGURING, RUNNING };
enum { TAG_RECONFIGURED = 1, TAG_CHECKPOINT, TAG_WRITTEN };
enum { MAX_PIPELINES = 64 };

struct oobleck {
	bool is_artifact;
	struct artifact artifact;
	int64_t reconfigure_ns; /* time of a reconfiguration; 0: setup and copying */

	int64_t setup_ns, horizon_ns, ckpt_interval_ns;
	double node_Bps, state_bytes;
	bool on_notice;
	char absorb;        /* 'w'orth, at-'l'oss, at-'o'nce */
	uint64_t job_steps; /* 0: no end */

	struct templates templates;
	struct shapes shapes; /* shapes of a job with only a curve */
	struct parts parts;
	struct plan plan;
	enum phase phase;
	orr_inst *owner;
	size_t cap;
	uint64_t timer;                /* timer at the end of the state RECONFIGURING */
	uint64_t writer, written;      /* timer of the checkpoint in progress (0: none), and its number of steps */
	bool has_trained, has_written; /* steps were run; a checkpoint exists */
	bool reforms;                  /* decide() must form new pipelines */
	bool regroups;                 /* new pipelines must be formed at the end of the step */
	bool rests;                    /* no timer of checkpoints runs: there is nothing to save, and too few nodes to train */
	bool looks;                    /* an instance became ready: check whether its inclusion pays off */
	uint64_t losses;
};

/* ---- plans ---- */

static bool by_curve(const struct oobleck *v)
{
	return v->templates.max_depth == 0;
}

static struct plan plan_for(struct oobleck *v, uint32_t nodes)
{
	if (!by_curve(v))
		return templates_plan(&v->templates, nodes);
	const struct shape *s = shape_for(&v->shapes, nodes);
	return (struct plan){ .pipelines = s->pipelines, .nodes = s->nodes, .step_ns = s->step_ns, .depth = s->depth };
}

/* Lays out all pipelines with the depth of the deepest one: in shallower pipelines some nodes own several stages. */
static void lay_out(struct oobleck *v, struct orr_spot *w, const uint32_t *depth)
{
	uint32_t deepest = v->plan.depth;
	size_t n = (size_t)v->plan.pipelines * deepest;
	if (n > v->cap) {
		v->cap = 2 * n;
		v->owner = orr_realloc(v->owner, v->cap, sizeof *v->owner);
	}
	const struct part *stage = v->parts.stage;
	for (uint32_t i = 0; i < v->plan.pipelines; i++) {
		for (uint32_t s = 0; s < deepest; s++)
			v->owner[i * deepest + s] = stage[s * depth[i] / deepest].inst;
		stage += depth[i];
	}
	orr_layout(w, v->plan.pipelines, deepest, v->owner);
}

/* ---- reconfiguration ---- */

static void stop(struct oobleck *v, struct orr_spot *w)
{
	orr_steps_stop(w);
	if (v->phase == RECONFIGURING)
		orr_spot_cancel(w, v->timer);
	v->phase = WAITING;
}

/* Handles a layer without a live copy: loses all steps since the last checkpoint. Returns the time to read the checkpoint. */
static int64_t fall_back(struct oobleck *v, struct orr_spot *w)
{
	if (v->writer)
		orr_spot_cancel(w, v->writer);
	v->writer = 0;
	orr_lose(w, orr_steps_uncommitted(w));
	orr_spot_count(w, "fatal", 1);
	orr_spot_event(w, "fatal", "no copy of some layer");
	return v->has_written ? orr_checkpoint_time(w, v->plan.nodes) : 0;
}

static void reform(struct oobleck *v, struct orr_spot *w)
{
	uint32_t depth[MAX_PIPELINES] = { 0 };
	v->reforms = v->regroups = v->looks = false;
	stop(v, w);
	parts_find_nodes(&v->parts, w);
	v->plan = plan_for(v, v->parts.n_nodes);
	if (!v->plan.pipelines) {
		orr_spot_event(w, "waits", "%u nodes are too few", v->parts.n_nodes);
		orr_layout(w, 0, 0, NULL);
		return;
	}
	if (by_curve(v))
		depth[0] = v->plan.depth;
	else
		templates_depths(&v->templates, &v->plan, depth);
	bool is_fatal = v->has_trained && !by_curve(v) && !parts_are_whole(&v->parts);
	double copied, most = parts_assign(&v->parts, depth, v->plan.pipelines, &copied);
	bool copies = v->has_trained && !by_curve(v) && !is_fatal;
	int64_t pause = v->reconfigure_ns;
	if (!pause)
		pause = v->setup_ns + (copies ? llround(most * v->state_bytes / v->node_Bps * 1e9) : 0);
	if (is_fatal)
		pause += fall_back(v, w);
	orr_spot_count(w, "reconfigurations", 1);
	orr_spot_count(w, "copied_bytes", copies ? copied * v->state_bytes : 0);
	lay_out(v, w, depth);
	orr_pause_as(w, is_fatal ? ORR_RESTART : ORR_RECONFIGURE);
	v->phase = RECONFIGURING;
	if (v->rests) /* continues at the next multiple of the interval */
		orr_spot_timer(w, (orr_spot_now(w) / v->ckpt_interval_ns + 1) * v->ckpt_interval_ns, 1, TAG_CHECKPOINT);
	v->rests = false;
	v->timer = orr_spot_timer(w, orr_spot_now(w) + pause, 0, TAG_RECONFIGURED);
	orr_spot_event(w, "layout", "%u pipelines on %u nodes", v->plan.pipelines, v->plan.nodes);
}

static void run(struct oobleck *v, struct orr_spot *w)
{
	v->phase = RUNNING;
	v->has_trained = v->looks = true;
	parts_settle(&v->parts);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = v->plan.step_ns });
}

static void clean_timer(struct oobleck *v, struct orr_spot *w, uint64_t tag)
{
	int64_t now = orr_spot_now(w);
	if (tag == TAG_RECONFIGURED) {
		run(v, w);
	} else if (tag == TAG_WRITTEN) {
		v->writer = 0;
		v->has_written = true;
		orr_commit(w, v->written);
	} else {
		uint64_t unsaved = orr_steps_uncommitted(w);
		if (!v->writer && unsaved) {
			v->written = unsaved;
			v->writer = orr_spot_timer(w, now + orr_checkpoint_time(w, v->plan.nodes), 0, TAG_WRITTEN);
		}
		v->rests = v->phase == WAITING && !unsaved;
		if (!v->rests)
			orr_spot_timer(w, now + v->ckpt_interval_ns, 1, TAG_CHECKPOINT);
	}
}

static void clean_steps(struct oobleck *v, struct orr_spot *w)
{
	if (v->job_steps && orr_steps_done(w) >= v->job_steps)
		orr_commit(w, orr_steps_uncommitted(w));
	else if (v->regroups)
		reform(v, w);
}

/* ---- instances ---- */

static void heed(struct oobleck *v, struct orr_spot *w, orr_inst i)
{
	struct orr_inst_info info;
	int64_t ends;
	if (!v->on_notice || !orr_inst_get(w, i, &info) || !info.stages)
		return;
	if (v->phase == RECONFIGURING) {
		v->reforms = true;
	} else if (v->phase == RUNNING && !v->regroups && orr_steps_in_flight(w, NULL, &ends) && ends < info.goes_ns) {
		v->regroups = true;
		v->losses++;
		orr_spot_count(w, "notice_saves", 1);
		orr_steps_last(w);
	}
}

static void clean_instance(struct oobleck *v, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	if (event == ORR_INST_READY) {
		v->looks = true;
	} else if (event == ORR_INST_NOTICE) {
		heed(v, w, i);
	} else if (event == ORR_INST_GONE && v->phase != WAITING && orr_ownerless(w)) {
		stop(v, w);
		v->reforms = true;
		v->losses++;
	}
}

static bool is_worth(const struct oobleck *v, struct orr_spot *w, const struct plan *p)
{
	if (!p->step_ns || p->step_ns >= v->plan.step_ns || v->absorb == 'l')
		return false;
	int64_t pause = v->reconfigure_ns ? v->reconfigure_ns : v->setup_ns;
	int64_t horizon = v->horizon_ns ? v->horizon_ns : orr_spot_now(w) / (int64_t)(v->losses + 1);
	return v->absorb == 'o' || morph_is_worth(v->plan.step_ns, p->step_ns, pause, horizon);
}

static void clean_decide(struct oobleck *v, struct orr_spot *w)
{
	if (v->reforms || (v->looks && v->phase == WAITING)) {
		reform(v, w);
	} else if (v->looks && v->phase == RUNNING && !v->regroups) {
		v->looks = false;
		parts_find_nodes(&v->parts, w);
		struct plan p = plan_for(v, v->parts.n_nodes);
		v->regroups = is_worth(v, w, &p);
		if (v->regroups)
			orr_steps_last(w);
	}
}

/* ---- the artifact's rules ---- */

static void artifact_instance(struct oobleck *v, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct artifact *a = &v->artifact;
	bool gathers = event == ORR_INST_GONE || (event == ORR_INST_READY && rdv_ready(&a->rdv, w, i));
	if (!gathers)
		return;
	artifact_sync(a, w);
	if (event == ORR_INST_GONE) {
		a->fallback_s += (double)a->step_ns / 1e9;
		rdv_gone(&a->rdv, i);
	}
	artifact_gather(a, w, v->reconfigure_ns);
}

static void artifact_timer(struct oobleck *v, struct orr_spot *w, uint64_t tag)
{
	artifact_sync(&v->artifact, w);
	if (artifact_fires(&v->artifact, w, tag))
		artifact_run(&v->artifact, w, 0);
}

/* ---- calls of the world ---- */

static void oobleck_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct oobleck *v = self;
	if (v->is_artifact)
		artifact_instance(v, w, i, event);
	else
		clean_instance(v, w, i, event);
}

static void oobleck_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	struct oobleck *v = self;
	if (v->is_artifact)
		artifact_timer(v, w, tag);
	else
		clean_timer(v, w, tag);
}

static void oobleck_steps(void *self, struct orr_spot *w)
{
	struct oobleck *v = self;
	if (v->is_artifact)
		artifact_sync(&v->artifact, w);
	else
		clean_steps(v, w);
}

static void oobleck_decide(void *self, struct orr_spot *w)
{
	struct oobleck *v = self;
	if (!v->is_artifact)
		clean_decide(v, w);
}

static void oobleck_free(void *self)
{
	struct oobleck *v = self;
	if (!v)
		return;
	artifact_free(&v->artifact);
	templates_free(&v->templates);
	shapes_end(&v->shapes);
	parts_free(&v->parts);
	orr_free(v->owner);
	orr_free(v);
}

static int make_artifact(struct oobleck *v, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	v->is_artifact = true;
	if (!v->reconfigure_ns)
		return orr_fail(err, ORR_EINPUT,
			"rules=artifact: expected reconfigure_time, because the job has no number \"oobleck.reconfigure_s\"");
	return artifact_init(&v->artifact, w, args, "oobleck", err);
}

static int make_clean(struct oobleck *v, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	v->job_steps = job.steps;
	v->state_bytes = job.state_bytes;
	v->setup_ns = orr_arg_time_ns(args, "setup");
	v->node_Bps = orr_arg_real(args, "node_Bps");
	v->ckpt_interval_ns = orr_arg_time_ns(args, "ckpt_interval");
	v->on_notice = orr_arg_bool(args, "on_notice");
	v->absorb = orr_arg_text(args, "absorb")[0] == 'w' ? 'w' : orr_arg_text(args, "absorb")[3];
	v->horizon_ns = orr_arg_time_ns(args, "horizon");
	if (v->ckpt_interval_ns && v->ckpt_interval_ns < ORR_SECOND)
		return orr_fail(err, ORR_EINPUT, "ckpt_interval: expected 0 or at least 1s");
	orr_steps_are_provisional(w);
	orr_state_from_peers(w, 0);
	orr_spot_count(w, "reconfigurations", 0);
	orr_spot_count(w, "copied_bytes", 0);
	orr_spot_count(w, "notice_saves", 0);
	orr_spot_count(w, "fatal", 0);
	if (v->ckpt_interval_ns)
		orr_spot_timer(w, orr_spot_now(w) + v->ckpt_interval_ns, 1, TAG_CHECKPOINT);
	if (templates_init(&v->templates, w, (uint32_t)orr_arg_int(args, "min_nodes"), (uint32_t)orr_arg_int(args, "max_nodes"),
		    (uint32_t)orr_arg_int(args, "f") + 1, err))
		return -1;
	return by_curve(v) ? morph_begin(&v->shapes, w, "oobleck", err) : 0;
}

static void *oobleck_create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct oobleck *v = orr_alloc(1, sizeof *v);
	double figure = orr_figure(w, "oobleck.reconfigure_s");
	v->reconfigure_ns = orr_arg_time_ns(args, "reconfigure_time");
	if (!v->reconfigure_ns && !isnan(figure))
		v->reconfigure_ns = llround(figure * 1e9);
	bool is_artifact = orr_arg_text(args, "rules")[0] == 'a';
	if ((is_artifact ? make_artifact : make_clean)(v, w, args, err)) {
		oobleck_free(v);
		return NULL;
	}
	return v;
}

static void oobleck_end(void *self, struct orr_spot *w)
{
	struct oobleck *v = self;
	if (!v->is_artifact)
		return;
	artifact_sync_end(&v->artifact, w);
	artifact_report(&v->artifact, w);
}

static const struct orr_spot_ops ops = {
	.create = oobleck_create,
	.destroy = oobleck_free,
	.instance = oobleck_instance,
	.timer = oobleck_timer,
	.steps = oobleck_steps,
	.decide = oobleck_decide,
	.end = oobleck_end,
};

ORR_POLICY_SPOT(oobleck, "pipelines of several depths from templates; copies of the state instead of checkpoints (Oobleck)", params, ops);
