/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "varuna_artifact.h"

#include <math.h>

enum {
	RECENT = 4096, /* number of latest steps for which the policy keeps whether they count */
	MAX_PENDING = 8,
	TAG_RESUME = 1,
	RANK_RESUME = 7
};

struct checkpoint {
	uint64_t at;    /* number of steps completed at its start */
	uint64_t count; /* step counter at the start of the checkpoint: like `at`, minus the steps of failed checkpoints */
	int64_t done_ns;
};

struct varuna_artifact {
	struct artifact a;
	uint64_t every; /* steps between checkpoints */
	bool rolls_back, is_twice, after_removal;
	int64_t stand_ns; /* pause of training per checkpoint */
	double ckpt_s, restart_s;
	int restart_curve; /* -1: one value for all numbers of nodes */

	uint64_t count;   /* step counter: a checkpoint is due at multiples of `every` */
	bool had_removal; /* a removal since the last completed step */
	bool has_good;
	uint64_t good; /* number of steps at the start of the last complete checkpoint */
	struct checkpoint pending[MAX_PENDING];
	uint32_t n_pending;
	bool stands; /* timer until which training is paused for a checkpoint */
	uint64_t resume;

	bool is_kept[RECENT]; /* whether each step counts */
	uint64_t committed;   /* number of steps that are safe */
};

static double figure_or(struct orr_spot *w, const char *name, double other)
{
	double v = orr_figure(w, name);
	return isnan(v) ? other : v;
}

static int read_figures(struct varuna_artifact *v, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	v->restart_curve = orr_curve_find(w, "varuna.restart_s");
	v->ckpt_s = orr_figure(w, "varuna.checkpoint_s");
	double restart = figure_or(w, "varuna.restart_s", v->restart_curve < 0 ? NAN : 0);
	v->restart_s = figure_or(w, "varuna.first_restart_s", restart);
	if (isnan(v->ckpt_s) || isnan(restart) || v->restart_s <= v->ckpt_s)
		return orr_fail(err, ORR_EINPUT,
			"rules=artifact: \"figures\" of the job: expected \"varuna.checkpoint_s\" and a larger "
			"\"varuna.restart_s\" (or \"varuna.first_restart_s\" and a curve \"varuna.restart_s\")");
	v->stand_ns = orr_arg_bool(args, "free_checkpoints") ? 0 : llround(1000 * v->ckpt_s) * 1000000;
	return 0;
}

struct varuna_artifact *varuna_artifact_new(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct varuna_artifact *v = orr_alloc(1, sizeof *v);
	v->every = (uint64_t)orr_arg_int(args, "ckpt_steps");
	v->rolls_back = orr_arg_bool(args, "rollback");
	v->is_twice = orr_arg_bool(args, "ckpt_twice");
	v->after_removal = orr_arg_bool(args, "ckpt_after_removal");
	if (artifact_init(&v->a, w, args, "varuna", err) || read_figures(v, w, args, err)) {
		varuna_artifact_free(v);
		return NULL;
	}
	v->a.pause_account = ORR_RESTART;
	if (v->rolls_back)
		orr_steps_are_provisional(w);
	orr_spot_count(w, "failed_checkpoints", 0);
	return v;
}

void varuna_artifact_free(struct varuna_artifact *v)
{
	if (v)
		artifact_free(&v->a);
	orr_free(v);
}

/* ---- steps that count ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t back(uint64_t at, uint64_t n)
{
	return at > n ? at - n : 0;
}

/* Returns the number of steps in [from, to) that count. */
static uint64_t kept(const struct varuna_artifact *v, uint64_t from, uint64_t to)
{
	uint64_t n = 0;
	for (uint64_t i = from; i < to; i++)
		n += v->is_kept[i % RECENT];
	return n;
}

/* Commits the steps before the last good checkpoint and before the steps of checkpoints that may still fail. */
static void commit_safe(struct varuna_artifact *v, struct orr_spot *w)
{
	if (!v->rolls_back)
		return;
	uint64_t reach = v->n_pending ? v->pending[0].at : v->a.steps;
	uint64_t safe = v->has_good ? least(v->good, back(reach, v->every)) : 0;
	if (safe <= v->committed)
		return;
	orr_commit(w, kept(v, v->committed, safe));
	v->committed = safe;
}

static void lose_from(struct varuna_artifact *v, struct orr_spot *w, uint64_t from)
{
	if (!v->rolls_back)
		return;
	if (from < v->committed)
		from = v->committed;
	uint64_t n = kept(v, from, v->a.steps);
	for (uint64_t i = from; i < v->a.steps; i++)
		v->is_kept[i % RECENT] = false;
	v->a.lost += n;
	orr_lose(w, n);
}

static void note_steps(struct varuna_artifact *v, uint64_t n)
{
	v->count += n;
	for (uint64_t i = v->a.steps - n; i < v->a.steps; i++)
		v->is_kept[i % RECENT] = true;
}

static void sync_steps(struct varuna_artifact *v, struct orr_spot *w)
{
	note_steps(v, artifact_sync(&v->a, w));
	if (v->rolls_back && v->a.steps - v->committed > RECENT)
		orr_spot_give_up(w, "rules=artifact: too many steps since the last good checkpoint: expected a smaller ckpt_steps");
}

/* ---- checkpoints ---- */

/* Marks checkpoints that are complete by now as good, all others as failed. Returns the first step that may not count. */
static uint64_t settle(struct varuna_artifact *v, struct orr_spot *w, bool others_fail)
{
	uint64_t first = UINT64_MAX;
	uint32_t left = 0;
	for (uint32_t i = 0; i < v->n_pending; i++) {
		struct checkpoint *c = &v->pending[i];
		if (c->done_ns <= orr_spot_now(w)) {
			v->has_good = true;
			v->good = c->at;
		} else if (!others_fail) {
			v->pending[left++] = *c;
		} else {
			uint64_t off = least(c->count, v->every);
			v->count -= off;
			for (uint32_t j = i + 1; j < v->n_pending; j++)
				v->pending[j].count -= off;
			first = least(first, back(c->at, v->every));
			v->a.fallback_s += (double)v->every * (double)v->a.step_ns / 1e9;
			orr_spot_count(w, "failed_checkpoints", 1);
		}
	}
	v->n_pending = left;
	return first;
}

static void run_on(struct varuna_artifact *v, struct orr_spot *w)
{
	bool soon = v->had_removal && v->after_removal;
	artifact_run(&v->a, w, soon ? 1 : v->every - v->count % v->every);
}

static void checkpoint(struct varuna_artifact *v, struct orr_spot *w)
{
	v->had_removal = false;
	settle(v, w, false);
	if (v->n_pending == MAX_PENDING) {
		orr_spot_give_up(w, "rules=artifact: checkpoints take longer than the steps between them: expected a larger ckpt_steps");
		return;
	}
	int64_t now = orr_spot_now(w);
	v->pending[v->n_pending++] = (struct checkpoint){ v->a.steps, v->count, now + (v->is_twice ? 2 : 1) * v->stand_ns };
	v->a.checkpoint_s += (double)v->stand_ns / 1e9;
	orr_pause_as(w, ORR_CHECKPOINT);
	v->stands = true;
	v->resume = orr_spot_timer(w, now + v->stand_ns, RANK_RESUME, TAG_RESUME);
}

void varuna_artifact_steps(struct varuna_artifact *v, struct orr_spot *w)
{
	sync_steps(v, w);
	commit_safe(v, w);
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	if (job.steps && orr_steps_done(w) >= job.steps)
		orr_commit(w, orr_steps_uncommitted(w));
	else if (v->count % v->every == 0 || (v->had_removal && v->after_removal))
		checkpoint(v, w);
	else
		run_on(v, w);
}

/* ---- removals ---- */

static int64_t pause_ns(const struct varuna_artifact *v)
{
	return llround(1000 * (v->restart_s - v->ckpt_s)) * 1000000;
}

/* Adds to the artifact's accounts. Its curve has two points per step; the point of the checkpoint itself is not counted. */
static void book_fallback(struct varuna_artifact *v, struct orr_spot *w)
{
	uint64_t n = v->a.steps - v->good;
	if (!v->has_good)
		v->a.fallback_s += (double)orr_spot_now(w) / 1e9;
	else if (n)
		v->a.fallback_s += (double)(2 * n - 1) * (double)v->a.step_ns / 1e9;
}

static void forget_resume(struct varuna_artifact *v, struct orr_spot *w)
{
	if (!v->stands)
		return;
	orr_spot_cancel(w, v->resume);
	v->stands = false;
	v->a.effective_s += (double)v->a.step_ns / 1e9; /* counted already when the step was scheduled */
}

static void gone(struct varuna_artifact *v, struct orr_spot *w, orr_inst i)
{
	sync_steps(v, w);
	uint64_t from = settle(v, w, true);
	book_fallback(v, w);
	lose_from(v, w, least(from, v->has_good ? v->good : 0));
	commit_safe(v, w);
	v->had_removal = true;
	rdv_gone(&v->a.rdv, i);
	if (!v->a.steps_in_pause)
		forget_resume(v, w);
	artifact_gather(&v->a, w, pause_ns(v));
	if (v->after_removal)
		orr_steps_last(w); /* a checkpoint follows that step */
}

void varuna_artifact_instance(struct varuna_artifact *v, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	if (event == ORR_INST_GONE)
		gone(v, w, i);
	else if (event == ORR_INST_READY && rdv_ready(&v->a.rdv, w, i)) {
		sync_steps(v, w);
		artifact_gather(&v->a, w, pause_ns(v));
	}
}

void varuna_artifact_timer(struct varuna_artifact *v, struct orr_spot *w, uint64_t tag)
{
	sync_steps(v, w);
	if (tag == TAG_RESUME) {
		v->stands = false;
		orr_pause_as(w, v->a.pause_account);
		run_on(v, w);
		return;
	}
	uint32_t n = v->a.rdv.n_members;
	uint64_t version = v->a.rdv.version;
	bool runs = artifact_fires(&v->a, w, tag);
	if (v->a.rdv.version != version)
		forget_resume(v, w);
	if (!runs)
		return;
	if (v->restart_curve >= 0)
		v->restart_s = orr_curve_at(w, v->restart_curve, n);
	run_on(v, w);
}

void varuna_artifact_end(struct varuna_artifact *v, struct orr_spot *w)
{
	note_steps(v, artifact_sync_end(&v->a, w));
	uint64_t from = settle(v, w, true);
	if (from != UINT64_MAX)
		lose_from(v, w, from);
	if (v->stands)
		v->a.effective_s += (double)v->a.step_ns / 1e9;
	artifact_report(&v->a, w);
}
